"""Traces elementwise kernels that are written in NumPy to IR.

Note [Bodies as machine code]
The body of an elementwise kernel, say `def body(x, g, out): np.multiply(x, x, out); out *= g`, is a list of ufuncs, whether its
arguments are arrays or other objects that implement ufuncs. Called with placeholders, which record IR for each ufunc, it becomes
a kernel (Note [The compiler]) that does the same arithmetic, in the same order, in one pass: results of sums, products, quotients
and roots are the same to the last bit. So there is one definition of a kernel. A body that does anything that a placeholder does
not support (it looks at values or shapes, or calls a ufunc that has no machine code here) runs in NumPy.

The values in a body's closure, mostly scalars, are part of its identity: another slope of a leaky relu is another kernel. A body
whose scalars keep changing is no longer compiled after MOST_VARIANTS of them (elementwise/strategies.py). So scalars that change
from call to call are passed to the body instead, after its arrays; there they may only be combined with arrays, since Python
computes with more digits than the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import values as v
from .ir import Type
from .rows import Rows, Tracing, rounded_to
from .ufuncs import (
    COMPARISONS,
    EXACT,
    INQUIRIES,
    LOGICAL,
    SPECIAL,
    SPECIAL_OF_DOUBLES,
    UFUNCS,
    UFUNCS_OF_DOUBLES,
    Untraceable as Untraceable,
)
from .values import Value

_FLOAT, _DOUBLE, _BOOL = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.bool_)


class Stand(np.lib.mixins.NDArrayOperatorsMixin):
    """A placeholder for an array of float32 or float64 while a body is traced.

    It is `short` if the kernel's precision has 16 bits and its elements have no more digits than that.
    """

    ndim = 1
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        read: Callable[[], Value] | None = None,
        value: Value | None = None,
        double: bool = False,
        short: bool = False,
    ) -> None:
        self._read, self._value, self._double, self.short, self.written = read, value, double, short, False

    @property
    def dtype(self) -> np.dtype[Any]:
        """The array's dtype."""
        known = self._double if self._value is None else self._value.is_double
        return _DOUBLE if known else _FLOAT

    @property
    def value(self) -> Value:
        """The array's current value, loaded at the first use."""
        if self._value is None:
            if self._read is None:
                raise Untraceable("reads what nobody wrote")
            self._value = self._read()
        return self._value

    def write(self, stand: Stand) -> Stand:
        self._value, self.short, self.written = stand.value, stand.short, True
        return self

    def __bool__(self) -> bool:
        raise Untraceable

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if method != "__call__" or options:
            raise Untraceable
        result = _apply(ufunc, inputs)
        if out is None:
            return result
        if type(out[0]) is not type(result):
            raise Untraceable
        return out[0].write(result)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is not np.where or len(args) != 3 or kwargs:
            raise Untraceable
        return where(*args)

    def special(self, name: str) -> Stand:
        """A function that is not a ufunc."""
        table = SPECIAL if self.dtype == _FLOAT else SPECIAL_OF_DOUBLES
        if name not in table:
            raise Untraceable
        return Stand(value=table[name](self.value))

    def clip(self, low: float, high: float, out: Stand | None = None) -> Stand:
        value = self.value
        if low != -np.inf:
            value = v.at_least_number(value, _number(low, value.is_double))
        if high != np.inf:
            value = v.at_most_number(value, _number(high, value.is_double))
        return Stand(value=value) if out is None else out.write(Stand(value=value))

    def copy(self) -> Stand:
        return Stand(value=self.value, short=self.short)

    def __setitem__(self, where: Any, values: Any) -> None:
        if where is not ... or type(values) is not type(self):
            raise Untraceable
        self.write(values)

    def drop(self, dropped: Mask, out: Stand) -> None:
        """out = 0 where `dropped`, else this."""
        out.write(Stand(value=v.without(dropped.value, self.value)))

    def blend(self, other: Any, chosen: Mask) -> None:
        """`other` where `chosen`."""
        yes = other.value if isinstance(other, Stand) else v.full(self.value, _number(other, self.value.is_double))
        self.write(Stand(value=v.where(chosen.value, yes, self.value)))


def where(chosen: Any, yes: Any, no: Any) -> Stand:
    """`np.where` of placeholders."""
    if type(chosen) is not Mask or type(yes) is Mask or type(no) is Mask:
        raise Untraceable
    mask = chosen.value
    one, other = (x.value if isinstance(x, Stand) else _beside(mask, x) for x in (yes, no))
    return Stand(value=v.where(mask, one, other))


class Mask(Stand):
    """A placeholder for the result of a comparison."""

    dtype = _BOOL


class Factor(Stand):
    """A placeholder for a scalar argument of a body."""


def _beside(mask: Value, number: Any) -> Value:
    """A scalar in all lanes, of the mask's type."""
    double = mask.type.lanes == 4
    type_ = Type.of("f64" if double else "f32", mask.type.lanes)
    return Value(mask.build, mask.build.const(_number(number, double), type_))


def _number(operand: Any, double: bool) -> float:
    """A scalar operand of a ufunc that does not change the result's dtype."""
    if type(operand) in (int, float, np.float32) or (double and type(operand) is np.float64):
        return float(operand)
    if type(operand) is np.ndarray and operand.size == 1 and operand.dtype == (_DOUBLE if double else _FLOAT):
        return float(operand.reshape(())[()])
    raise Untraceable


def _apply(ufunc: np.ufunc, inputs: tuple[Any, ...]) -> Stand:
    masks = [type(operand) is Mask for operand in inputs]
    if any(masks):
        if all(masks) and (ufunc in LOGICAL or ufunc in (np.invert, np.logical_not)):
            return Mask(value=_on_masks(ufunc, [operand.value for operand in inputs]))
        if all(masks) or ufunc not in (np.add, np.subtract, np.multiply, np.divide):
            raise Untraceable
        inputs = tuple([_as_numbers(operand) if mask else operand for operand, mask in zip(inputs, masks, strict=True)])
    beside = next((operand.value for operand in inputs if type(operand) is Stand), None)
    if beside is None:
        raise Untraceable  # see the note on scalars
    if ufunc in LOGICAL or ufunc is np.logical_not:
        numbers = [operand for operand in inputs if not isinstance(operand, Stand)]
        if numbers or "bitwise" in ufunc.__name__:
            raise Untraceable
        return Mask(value=_on_masks(ufunc, [v.not_equal(operand.value, 0.0) for operand in inputs]))
    double, build = beside.is_double, beside.build
    assert isinstance(build, Tracing)
    operands = [operand.value if isinstance(operand, Stand) else _number(operand, double) for operand in inputs]
    if ufunc in INQUIRIES:
        return Mask(value=INQUIRIES[ufunc](*operands))
    if ufunc in COMPARISONS:
        straight, exchanged = COMPARISONS[ufunc]
        a, b = operands
        return Mask(value=straight(a, b) if isinstance(a, Value) else exchanged(b, a))
    table = UFUNCS_OF_DOUBLES if double else UFUNCS
    if ufunc not in table:
        raise Untraceable
    value = table[ufunc](*operands)
    short = ufunc in EXACT and all([_is_short(operand, build.precision) for operand in inputs])
    return _rounded(value, short)


def _rounded(value: Value, short: bool) -> Stand:
    """A value rounded to the kernel's precision."""
    build = value.build
    assert isinstance(build, Tracing)
    if build.precision in ("float16", "bfloat16"):
        value, short = value if short else rounded_to(value, build.precision), True
    return Stand(value=value, short=short)


def _is_short(operand: Any, precision: str) -> bool:
    """Whether a placeholder or a scalar has no more digits than a 16-bit precision."""
    if isinstance(operand, Stand):
        return operand.short
    if precision == "float16":
        return bool(abs(operand) < 65520 and float(np.float16(operand)) == operand)
    return not np.float32(operand).view(np.uint32) & 0xFFFF


def _as_numbers(mask: Stand) -> Stand:
    """A mask as floats 0 and 1."""
    return Stand(value=v.only(mask.value, _beside(mask.value, 1.0)))


def _on_masks(ufunc: np.ufunc, values: list[Value]) -> Value:
    if ufunc in (np.invert, np.logical_not):
        return ~values[0]
    return LOGICAL[ufunc](*values)


# ----- Definitions ----------------------------------------------------------------------------------------------------


def define_flat(
    rows: Rows, body: Callable[..., Any], arrays: tuple[str, ...], numbers: int, precision: str = "float32"
) -> None:
    """The kernel of a body that takes arrays of these kinds, then scalars, and rounds its results to this precision."""
    rows.build.precision = precision
    if "float64" in arrays and len(set(arrays)) > 1:
        raise Untraceable  # see Note [Kernels of float64]
    buffers = [rows.array(kind=kind) for kind in arrays]
    factors = [rows.number() for _ in range(numbers)]

    def element() -> None:
        stands = [
            (Mask if kind == "bool" else Stand)(buffer.load, None, rows.double, kind == precision)
            for buffer, kind in zip(buffers, arrays, strict=True)
        ]
        body(*stands, *[Factor(factor) for factor in factors])
        written = [(buffer, stand) for buffer, stand in zip(buffers, stands, strict=True) if stand.written]
        if not written:
            raise Untraceable
        for buffer, stand in written:
            buffer.store(stand.value)

    rows.each(element)


def define_total(rows: Rows, body: Callable[..., Any], arrays: int, numbers: int) -> None:
    """The kernel that sums, over rows, the values that a body would write to its last array."""
    buffers = [rows.array() for _ in range(arrays)]
    sums = rows.per_row()
    factors = [rows.number() for _ in range(numbers)]

    def element() -> Value:
        out = Stand()
        body(*[Stand(buffer.load) for buffer in buffers], out, *[Factor(factor) for factor in factors])
        return out.value

    sums.put(rows.total(element))


def define_rows(
    rows: Rows, body: Callable[..., Any], arrays: tuple[str, ...], numbers: int, precision: str = "float32"
) -> None:
    """The kernel of a body on arrays whose rows have arbitrary offsets; the last array is written, and the table of offsets follows it.

    An array is a "vector", with contiguous elements, or a "column", with one scalar per row, and one of ELEMENTS. Columns of
    kinds other than float64 are passed as float32. See Note [Rows by their offsets].
    """
    rows.each(placed_element(rows, body, arrays, numbers, precision))


def placed_element(
    rows: Rows, body: Callable[..., Any], arrays: tuple[str, ...], numbers: int, precision: str = "float32"
) -> Callable[[], Stand]:
    """Apply a body to one element of placed arrays; store to the last one, unless it is "result", and return its value."""
    rows.build.precision = precision
    shapes, kinds = zip(*[array.split() for array in arrays], strict=True)
    if "float64" in kinds:
        if len(set(kinds)) > 1:
            raise Untraceable
        rows.lanes = 4
    rows.table(len(arrays) - shapes.count("result"))
    buffers: list[Any] = []
    for shape, kind in zip(shapes, kinds, strict=True):
        if shape == "vector":
            buffers.append(rows.array(kind=kind, placed=True))
        elif shape == "column":
            buffers.append(rows.per_row(placed=True))
    factors = [rows.number() for _ in range(numbers)]
    held: dict[int, Value] = {}

    def element() -> Stand:
        stands = [
            (Mask if kinds[i] == "bool" else Stand)(
                None if i in held or i >= len(buffers) else buffers[i].load,
                held.get(i),
                short=kinds[i] == precision and i not in held,
            )
            for i in range(len(arrays))
        ]
        body(*stands, *[Factor(factor) for factor in factors])
        if shapes[-1] != "result":
            buffers[-1].store(stands[-1].value)
        return stands[-1]

    for i, buffer in enumerate(buffers):
        if shapes[i] == "column":
            number = buffer.get()
            held[i] = v.not_equal(number, 0.0) if kinds[i] == "bool" else number
    return element
