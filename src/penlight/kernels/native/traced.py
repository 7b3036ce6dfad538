"""Elementwise kernels that are written in NumPy, as machine code.

Note [Bodies as machine code]
The body of an elementwise kernel, say `def body(x, g, out): np.multiply(x, x, out); out *= g`, is a list of ufuncs, whether it is
called with arrays or with anything else that answers to them. Called with stand-ins, which write down an instruction for each ufunc,
it becomes a native kernel (Note [Native kernels]) that does the same arithmetic, in the same order, in one pass: results
that are made of sums, products, quotients and roots only are the same to the last bit. So there is one definition of a kernel.
A body that does anything that a stand-in cannot do (it looks at values or shapes, or calls a ufunc that has no machine code here)
runs in NumPy as it is.

What a body holds in its closure, numbers above all, is part of its identity: another slope of a leaky relu is another kernel. A body
whose numbers keep changing is not compiled any more after `_VARIANTS` of them. So numbers that change from call to call are passed to
the body instead, behind its arrays; there they may only meet arrays, since Python computes with more digits than the kernel.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from types import FunctionType
from typing import Any

import numpy as np

from .. import native
from . import _functions as f
from ._build import KINDS, Builder, Value
from ._compile import Kernel
from ._ufuncs import (
    COMPARISONS,
    EXACT,
    INQUIRIES,
    LOGICAL,
    SPECIAL,
    SPECIAL_OF_DOUBLES,
    UFUNCS,
    UFUNCS_OF_DOUBLES,
    Untraceable,
)
from ._x86 import Pooled

_VARIANTS = 64
_LONG = 40  # operations that are written down; a kernel of fewer waits for memory most of the time
_GRAIN, _CHEAP_GRAIN = 1 << 15, 1 << 16  # elements that are worth waking a thread for: of a long kernel, of a short one
_ROW = 4096  # elements that are summed in float32
_FLOAT, _DOUBLE, _BOOL = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.bool_)
_ONES = Pooled(0xFFFFFFFF)


class Stand(np.lib.mixins.NDArrayOperatorsMixin):
    """Stands for an array of float32, or float64, while a body is traced."""

    ndim = 1
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self, read: Callable[[], Value] | None = None, value: Value | None = None, double: bool = False
    ) -> None:
        self._read, self._value, self._double, self.written = read, value, double, False

    @property
    def dtype(self) -> np.dtype[Any]:
        """What the array's would be."""
        known = self._double if self._value is None else self._value.builder.double
        return _DOUBLE if known else _FLOAT

    @property
    def value(self) -> Value:
        """What the array holds now, loaded when it is first looked at."""
        if self._value is None:
            if self._read is None:
                raise Untraceable("reads what nobody wrote")
            self._value = self._read()
        return self._value

    def write(self, value: Value) -> Stand:
        self._value, self.written = value, True
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
        return out[0].write(result.value)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if function is not np.where or len(args) != 3 or kwargs:
            raise Untraceable
        return where(*args)

    def special(self, name: str) -> Stand:
        """A function that is no ufunc."""
        table = SPECIAL if self.dtype == _FLOAT else SPECIAL_OF_DOUBLES
        if name not in table:
            raise Untraceable
        return Stand(value=table[name](self.value))

    def clip(self, low: float, high: float, out: Stand | None = None) -> Stand:
        value = self.value
        if low != -np.inf:
            value = value.builder.emit("vmaxps", value.builder.constant(_number(low, value)), value)  # NaN stays
        if high != np.inf:
            value = value.builder.emit("vminps", value.builder.constant(_number(high, value)), value)
        return Stand(value=value) if out is None else out.write(value)

    def copy(self) -> Stand:
        return Stand(value=self.value)

    def __setitem__(self, where: Any, values: Any) -> None:
        if where is not ... or type(values) is not type(self):
            raise Untraceable
        self.write(values.value)

    def drop(self, dropped: Mask, out: Stand) -> None:
        """out = 0 where `dropped`, else this."""
        out.write(f.without(dropped.value, self.value))

    def blend(self, other: Any, chosen: Mask) -> None:
        """`other` where `chosen`."""
        yes = other.value if isinstance(other, Stand) else f.full(self.value, _number(other, self.value))
        self.write(f.where(chosen.value, yes, self.value))


def where(chosen: Any, yes: Any, no: Any) -> Stand:
    """`np.where` of stand-ins."""
    if type(chosen) is not Mask or type(yes) is Mask or type(no) is Mask:
        raise Untraceable
    like = chosen.value
    one, other = (v.value if isinstance(v, Stand) else f.full(like, _number(v, like)) for v in (yes, no))
    return Stand(value=f.where(like, one, other))


class Mask(Stand):
    """Stands for the result of a comparison."""

    dtype = _BOOL  # type: ignore[assignment]


class Factor(Stand):
    """Stands for a number that is passed to a body."""


def _number(operand: Any, beside: Value) -> float:
    """A number among a ufunc's operands that does not change the result's dtype."""
    double = beside.builder.double
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
        inputs = tuple([_as_numbers(operand) if mask else operand for operand, mask in zip(inputs, masks)])
    beside = next((operand.value for operand in inputs if type(operand) is Stand), None)
    if beside is None:
        raise Untraceable  # see the note on numbers
    if ufunc in LOGICAL or ufunc is np.logical_not:
        numbers = [operand for operand in inputs if not isinstance(operand, Stand)]
        if numbers or "bitwise" in ufunc.__name__:
            raise Untraceable
        return Mask(value=_on_masks(ufunc, [f.not_equal(operand.value, 0.0) for operand in inputs]))
    double = beside.builder.double
    operands = [operand.value if isinstance(operand, Stand) else _number(operand, beside) for operand in inputs]
    if ufunc in INQUIRIES:
        if ufunc is np.signbit and double:
            raise Untraceable
        return Mask(value=INQUIRIES[ufunc](*operands))
    if ufunc in COMPARISONS:
        straight, exchanged = COMPARISONS[ufunc]
        a, b = operands
        return Mask(value=straight(a, b) if isinstance(a, Value) else exchanged(b, a))
    table = UFUNCS_OF_DOUBLES if double else UFUNCS
    if ufunc not in table:
        raise Untraceable
    value = table[ufunc](*operands)
    builder = value.builder
    value.short = ufunc in EXACT and all(_is_short(operand, builder.precision) for operand in operands)
    return Stand(value=builder.rounded(value, builder.precision))


def _is_short(operand: Any, precision: str) -> bool:
    """Whether a value or a number has no more digits than a precision of 16 bits."""
    if isinstance(operand, Value):
        return operand.short
    if precision == "float16":
        return abs(operand) < 65520 and float(np.float16(operand)) == operand
    return not np.float32(operand).view(np.uint32) & 0xFFFF


def _as_numbers(mask: Stand) -> Stand:
    """0 and 1 for truth values."""
    return Stand(value=f.only(mask.value, f.full(mask.value, 1.0)))


def _on_masks(ufunc: np.ufunc, values: list[Value]) -> Value:
    if ufunc in (np.invert, np.logical_not):
        return values[0].builder.emit("vxorps", values[0], _ONES)
    return values[0].builder.emit(LOGICAL[ufunc], *values)


@lru_cache(None)
def kind_of(dtype: np.dtype[Any]) -> str | None:
    """What a kernel calls this dtype, see `_build.KINDS`; None if it knows none of it."""
    name = dtype.name
    return name if name in KINDS and dtype.isnative else None


def define_flat(
    b: Builder, body: Callable[..., Any], arrays: tuple[str, ...], numbers: int, precision: str = "float32"
) -> None:
    """The kernel of a body that takes arrays of these kinds, then numbers, and rounds what it computes to this precision."""
    b.precision = precision
    if "float64" in arrays and len(set(arrays)) > 1:
        raise Untraceable  # see Note [Kernels of float64]
    places = [b.array(kind=kind) for kind in arrays]
    factors = [b.number() for _ in range(numbers)]

    def element() -> None:
        stands = [
            (Mask if kind == "bool" else Stand)(place.load, None, b.double) for place, kind in zip(places, arrays)
        ]
        body(*stands, *[Factor(factor) for factor in factors])
        written = [(place, stand) for place, stand in zip(places, stands) if stand.written]
        if not written:
            raise Untraceable
        for place, stand in written:
            place.store(stand.value)

    b.each(element)


def _define_total(b: Builder, body: Callable[..., Any], arrays: int, numbers: int) -> None:
    """The sums over rows of what a body would write to its last array."""
    places = [b.array() for _ in range(arrays)]
    sums = b.per_row()
    factors = [b.number() for _ in range(numbers)]

    def element() -> Value:
        out = Stand()
        body(*[Stand(place.load) for place in places], out, *[Factor(factor) for factor in factors])
        return out.value

    sums.put(b.total(element))


def define_rows(
    b: Builder, body: Callable[..., Any], arrays: tuple[str, ...], numbers: int, precision: str = "float32"
) -> None:
    """The kernel of a body on arrays whose rows lie anywhere, of which the last is written; then it takes the table of their places.

    An array is a "vector", with elements beside each other, or a "column", with one number for each row, and one of KINDS. Columns
    of other kinds than float64 are given as float32. See Note [Rows by their places].
    """
    element = placed_element(b, body, arrays, numbers, precision)
    b.table()
    b.each(element)


def placed_element(
    b: Builder, body: Callable[..., Any], arrays: tuple[str, ...], numbers: int, precision: str = "float32"
) -> Callable[[], Stand]:
    """What a body does to one element of placed arrays, whose last, unless it is "result", is stored to; it gives that one."""
    b.precision = precision
    shapes, kinds = zip(*[array.split() for array in arrays])
    if "float64" in kinds:
        if len(set(kinds)) > 1:
            raise Untraceable
        b.double = True
    places: list[Any] = []
    for shape, kind in zip(shapes, kinds):
        if shape == "vector":
            places.append(b.array(kind=kind, placed=True))
        elif shape == "column":
            places.append(b.per_row(placed=True))
    factors = [b.number() for _ in range(numbers)]
    held: dict[int, Value] = {}
    stand = {kind: Mask if kind == "bool" else Stand for kind in kinds}

    def element() -> Stand:
        stands = [
            stand[kinds[i]](None if i in held or i >= len(places) else places[i].load, held.get(i))
            for i in range(len(arrays))
        ]
        body(*stands, *[Factor(factor) for factor in factors])
        if shapes[-1] != "result":
            places[-1].store(stands[-1].value)
        return stands[-1]

    for i, place in enumerate(places):
        if shapes[i] == "column":
            number = place.get()
            held[i] = f.not_equal(number, 0.0) if kinds[i] == "bool" else number
    return element


def signature(value: Any) -> Any:
    """What makes a body what it is: its code and all that it holds, which must not change; hashable if that is."""
    if type(value) is FunctionType:
        held = value.__closure__ or ()
        return value.__code__, value.__defaults__, *[signature(cell.cell_contents) for cell in held]
    if type(value) is tuple:
        return tuple([signature(v) for v in value])
    return repr(value) if type(value) is float else value  # NaN is itself, -0.0 is not 0.0


def _without_numbers(signature: Any) -> Any:
    if type(signature) is not tuple:
        return signature
    return tuple([_without_numbers(part) for part in signature if type(part) not in (str, int, float, bool)])


_kernels: dict[Any, Kernel | None] = {}
_variants: Counter[Any] = Counter()


def kernel_of(
    define: Callable[..., None],
    body: Callable[..., Any],
    arrays: Any,
    numbers: int,
    spread: tuple[int, ...] = (),
    **options: Any,
) -> Kernel | None:
    """The kernel of a body by one of the definitions above, compiled at the first call; None if it cannot be."""
    key = (signature(body), define, arrays, numbers, spread, *options.values())
    try:
        return _kernels[key]
    except KeyError:
        pass
    except TypeError:
        return None  # it holds an array, or the like
    family = _without_numbers(key[0])
    _variants[family] += 1
    if _variants[family] > _VARIANTS:
        return None
    try:
        made = Kernel(define, define is define_flat, spread, body=body, arrays=arrays, numbers=numbers, **options)
    except Exception:  # whatever is wrong, NumPy does the work, or says so
        made = None
    _kernels[key] = made
    return made


def run(body: Callable[..., Any], *arrays: np.ndarray, numbers: tuple[float, ...] = ()) -> bool:
    """Do what `body(*arrays, *numbers)` does, in machine code; whether that was possible.

    All arrays have one size; one that is a number everywhere (without strides, as `broadcast_to` makes them) is passed as that. They may
    be written over, but must not overlap unless they are the same elements.
    """
    spread = _spread_of(arrays)
    if spread is None:
        return False
    made = kernel_of(define_flat, body, tuple([kind_of(array.dtype) for array in arrays]), len(numbers), spread)
    if made is None or made.partial:
        return False
    run_kernel(made, arrays, numbers, spread)
    return True


def grain_of(kernel: Kernel) -> int:
    """How many elements are worth waking a thread for."""
    return _GRAIN if kernel.length > _LONG else _CHEAP_GRAIN


def total(body: Callable[..., Any], *arrays: np.ndarray, numbers: tuple[float, ...] = ()) -> float | None:
    """The sum of what `body(*arrays, out, *numbers)` would write to `out`; None if there is no machine code for it.

    It is a sum in float64 of sums of 4096 in float32, which in turn have eight parts.
    """
    spread = _spread_of(arrays)
    if spread is None or any(array.dtype != _FLOAT for array in arrays):
        return None
    made = kernel_of(_define_total, body, len(arrays), len(numbers), spread)
    if made is None or made.partial:
        return None
    size = _common_size(arrays)
    flat = [array.reshape(-1) for i, array in enumerate(arrays) if i not in spread]
    numbers = (*_numbers_of(arrays, spread), *numbers)
    rows, rest = divmod(size, _ROW)
    sums = np.zeros(rows + (rest > 0), np.float32)
    made.over(rows, _GRAIN // _ROW, _ROW, *flat, sums, *numbers)
    if rest:
        ends = [*[array[rows * _ROW :] for array in flat], sums[rows:]]
        made.run(0, 1, rest, *ends, *numbers)
    return float(sums.sum(dtype=np.float64))


def _spread_of(arrays: tuple[np.ndarray, ...]) -> tuple[int, ...] | None:
    """Which of the arrays are one number everywhere; None if there are no native kernels for them."""
    if not native.available():
        return None
    spread: tuple[int, ...] = ()
    for i, array in enumerate(arrays):
        if array.dtype != _FLOAT and kind_of(array.dtype) is None:
            return None
        if not array.flags.c_contiguous:
            if any(array.strides) or array.dtype == _BOOL:
                return None
            spread = (*spread, i)
    return spread


def _common_size(arrays: tuple[np.ndarray, ...]) -> int:
    size = arrays[0].size
    for array in arrays:
        if array.size != size:
            raise ValueError(f"a native kernel over {size} elements got an array of {array.size}")
    return size


def _numbers_of(arrays: tuple[np.ndarray, ...], spread: tuple[int, ...]) -> list[float]:
    return [float(arrays[i][(0,) * arrays[i].ndim]) for i in spread]


def run_kernel(
    kernel: Kernel, arrays: tuple[np.ndarray, ...], numbers: tuple[float, ...], spread: tuple[int, ...]
) -> None:
    """Run a kernel of `kernel_of`, shared between threads if there is much to do."""
    size = _common_size(arrays)
    if spread:
        numbers = (*_numbers_of(arrays, spread), *numbers)
        arrays = tuple(array for i, array in enumerate(arrays) if i not in spread)
    rest = size % 8 if kernel.narrow else 0
    kernel.over(size - rest, grain_of(kernel), *arrays, *numbers)
    if rest:
        _run_rest(kernel, arrays, rest, numbers)


def _run_rest(kernel: Kernel, arrays: tuple[np.ndarray, ...], rest: int, numbers: tuple[float, ...]) -> None:
    """Run a flat kernel on the last elements, in arrays of eight. See Note [Narrow arrays]."""
    ends = [array.reshape(-1)[-rest:] for array in arrays]
    padded = [np.zeros(8, array.dtype) for array in arrays]
    for whole, end in zip(padded, ends):
        whole[:rest] = end
    kernel.run(0, 8, *padded, *numbers)
    for i in kernel.written:
        ends[i][...] = padded[i][:rest]
