"""How elementwise work is done by machine code: plans for functions and operands of certain dtypes and layouts. See Note [Elementwise work].

Contiguous operands of one shape have one plan, whatever that shape is. Operands that broadcast, or are parts of wider arrays, are read as they are, row
by row: Note [Rows by their offsets]. So is what is summed to a shape, the gradient of an operand that was broadcast: that of a column `c` in
`x * c` is the sum along each row of `grad * x`, that of a row the sum of all rows. A sum along a row is one in float32 with four times eight parts; for sums
of rows see Note [Sums over rows] in compiler/rows.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from types import FunctionType
from typing import Any

import numpy as np

from .. import native
from ..compiler import trace
from ..compiler.rows import ELEMENTS, Rows
from ..compiler.values import Value
from ..copies.convert import cast_operand, is_half
from ..copies.order import order_of
from ..native import Kernel
from ..reduce import column_sum
from ..rows import GROUP
from ..waiting_threads import over
from . import Elementwise, _plans, attempt
from .layout import Layout, layout_of
from .strategies import (
    CHEAP_GRAIN,
    COMPILED,
    COMPILED_FROM,
    GRAIN,
    LONG,
    MOST_PLANS,
    MOST_SUMMED,
    MOST_VARIANTS,
    SUMMED,
)

_FLOAT, _BOOL = np.dtype(np.float32), np.dtype(np.bool_)
_dtype_of, _size_of = attrgetter("dtype"), attrgetter("size")
_NEVER = 1 << 62  # elements
NUMPY: Any = "NumPy"  # the plan where there is no machine code
BY_VALUE: Any = "by value"  # the plan of a function that looks at scalars: it has one for each of their values


class Plan:
    """A compiled kernel and how it is called."""

    def __init__(self, kernel: Kernel, dtype: np.dtype[Any], least: int = 0) -> None:
        self.kernel, self.dtype, self.least = kernel, dtype, least
        self.run, self.partial = kernel.run, kernel.partial
        self.grain = GRAIN if kernel.length > LONG else CHEAP_GRAIN
        self.most = 2 * self.grain  # elements; more are shared between threads
        self.uneven = 7 * kernel.narrow  # bits of the number of elements that must be 0

    def may_hold(self, out: np.ndarray, shape: tuple[int, ...] | None) -> bool:
        """Whether a result may be written to an array that may be an operand: what a partial kernel has written over cannot be computed again."""
        if self.partial or out.shape != shape or out.dtype != self.dtype:
            return False
        if not out.flags.writeable:
            raise ValueError("output array is read-only")
        return True

    def share(self, size: int, arrays: list[np.ndarray], out: np.ndarray, scalars: list[Any]) -> None:
        """Run over contiguous arrays: by several threads if they are large, and on the last elements that fill no vector apart."""
        numbers = [float(scalar) for scalar in scalars]
        rest = size & self.uneven
        over(self.run, size - rest, self.grain, *arrays, out, *numbers, multiple=8)
        if rest:
            _run_rest(self.run, [*arrays, out], rest, numbers, [len(arrays)])


def _run_rest(run: Any, arrays: list[np.ndarray], rest: int, numbers: list[float], written: list[int]) -> None:
    """Run a flat kernel on the last elements, in arrays of eight. See Note [Narrow arrays]."""
    ends = [array.reshape(-1)[-rest:] for array in arrays]
    padded = [np.zeros(8, array.dtype) for array in arrays]
    for whole, end in zip(padded, ends, strict=True):
        whole[:rest] = end
    run(0, 8, *padded, *numbers)
    for i in written:
        ends[i][...] = padded[i][:rest]


class _Broadcast(Plan):
    """For operands of one shape, some of which are one number everywhere."""

    def __init__(self, kernel: Kernel, dtype: np.dtype[Any], shape: tuple[int, ...], which: tuple[int, ...]) -> None:
        super().__init__(kernel, dtype)
        self.shape, self.which = shape, which

    def execute(
        self, arrays: list[np.ndarray], scalars: list[Any], out: np.ndarray | None, *_: Any
    ) -> np.ndarray | None:
        """The result."""
        if out is None:
            out = np.empty(self.shape, self.dtype)
        elif not self.may_hold(out, self.shape):
            return None
        numbers = [arrays[i][(0,) * len(self.shape)] for i in self.which]
        self.share(out.size, [a for i, a in enumerate(arrays) if i not in self.which], out, [*numbers, *scalars])
        return None if self.partial and has_nan(out) else out


class _Rows(Plan):
    """For operands whose rows lie anywhere: see Note [Rows by their offsets]. Some of them are `widened` to float32 first."""

    def __init__(self, kernel: Kernel, dtype: np.dtype[Any], layout: Layout, widened: tuple[int, ...]) -> None:
        super().__init__(kernel, dtype)
        self.layout, self.widened = layout, widened
        self.table: Any = layout.table() if layout.is_small else None
        self.grain = self.grain // layout.columns + 1
        self.alone = self.table is not None and not widened and len(self.table) < 2 * self.grain

    def execute(
        self, arrays: list[np.ndarray], scalars: list[Any], out: np.ndarray | None, *_: Any
    ) -> np.ndarray | None:
        """The result."""
        if out is None:
            out = np.empty(self.layout.shape, self.dtype)
        elif not self.may_hold(out, self.layout.shape):
            return None
        if self.alone and not scalars:
            self.run(0, len(self.table), self.layout.columns, *arrays, out, self.table)
        else:
            self.over_rows(arrays, scalars, out)
        return None if self.partial and has_nan(out) else out

    def over_rows(self, arrays: list[np.ndarray], scalars: list[Any], out: np.ndarray) -> None:
        """Run the kernel over all rows."""
        table = self.layout.table() if self.table is None else self.table
        if self.widened:
            arrays = widened(arrays, self.widened)
        rows, columns = len(table), self.layout.columns
        self.kernel.over(rows, self.grain, columns, *arrays, out, table, *map(float, scalars))


class _Sums(_Rows):
    """The same, where what is computed is summed: `down` over all rows, else along each row."""

    def __init__(
        self, kernel: Kernel, layout: Layout, widened: tuple[int, ...], down: bool, shape: tuple[int, ...]
    ) -> None:
        super().__init__(kernel, _FLOAT, layout, widened)
        self.down, self.shape = down, shape
        self.grain = max(GROUP if down else 1, self.grain - 1)

    def execute(
        self, arrays: list[np.ndarray], scalars: list[Any], out: np.ndarray | None, *_: Any
    ) -> np.ndarray | None:
        """The sums."""
        rows, columns = self.layout.rows, self.layout.columns
        out = np.zeros((-(-rows // GROUP), columns), _FLOAT) if self.down else np.empty(rows, _FLOAT)
        self.over_rows(arrays, scalars, out)
        return (column_sum(out) if self.down and len(out) > 1 else out).reshape(self.shape)


class _InMemoryOrder:
    """For operands that are dense in another order of dimensions, all in the same one: they are seen in the order of memory."""

    def __init__(self, order: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
        self.order, self.back = order

    def execute(
        self, arrays: Any, scalars: Any, out: np.ndarray | None, function: Any, values: tuple[Any, ...]
    ) -> np.ndarray | None:
        """The result."""
        seen = [v.transpose(self.order) if type(v) is np.ndarray and v.ndim else v for v in values]
        if out is not None:
            out = out.transpose(self.order)
        result = attempt(function, tuple(seen), out)
        return None if result is None else result.transpose(self.back)


# ----- Making plans ---------------------------------------------------------------------------------------------------


def make(
    plan_key: tuple[Any, ...], function: Any, values: tuple[Any, ...], arrays: list[np.ndarray], out: np.ndarray | None,
    flat: bool, sum_to: tuple[int, ...] | None, by_value: bool = False,
) -> Any:  # fmt: skip
    """The plan for a function and such values, which is kept at `plan_key`."""
    if len(_plans) >= MOST_PLANS:
        _plans.clear()
    body = body_of(function, values, len(arrays), by_value)
    plan = NUMPY if not arrays else _plan(function, body, values, arrays, out, flat, sum_to)
    if plan is NUMPY and not by_value and arrays and any(type(value) in (int, float) for value in values):
        plan = BY_VALUE
    elif plan is not NUMPY and by_value and isinstance(function, Elementwise):
        function.by_value = True
    _plans[plan_key] = plan
    return plan


def _plan(
    function: Any, body: Body, values: tuple[Any, ...], arrays: list[np.ndarray], out: np.ndarray | None,
    flat: bool, sum_to: tuple[int, ...] | None,
) -> Any:  # fmt: skip
    dtypes = {value.dtype for value in values if type(value) is np.ndarray}
    if any(kind_of(dtype) is None for dtype in dtypes):
        return NUMPY
    if sum_to is not None:
        return _sums(body, arrays, sum_to)
    if not flat and (order := _common_order(arrays)) is not None:
        return _InMemoryOrder(order)
    floats = dtypes - {_BOOL}
    if len(floats) > 1 and not isinstance(function, Elementwise):
        floats = {array.dtype for array in arrays} - {_BOOL}
        if not all(map(is_half, floats)) or len(floats) > 1:  # beside which there may be a number in float32
            return NUMPY
    if out is not None:
        results = [out.dtype]
    elif isinstance(function, Elementwise):
        results = [arrays[0].dtype]
    else:  # whether the result is a number or a truth value shows when the kernel is made
        results = [*floats, _BOOL]
    once = isinstance(function, Elementwise) or getattr(function, "rounds_once", False)
    for dtype in results:
        plan = _plan_for(function, body, arrays, dtype, flat, once)
        if plan is not NUMPY:
            return plan
    return NUMPY


def _common_order(arrays: list[np.ndarray]) -> Any:
    """The order of memory that all arrays have, if it is another than that of their dimensions, which must be the same."""
    orders = {(order_of(array), array.shape) for array in arrays}
    order = orders.pop()[0]
    return None if orders or order is None or order[0] == tuple(range(len(order[0]))) else order


def _plan_for(function: Any, body: Body, arrays: list[np.ndarray], dtype: np.dtype[Any], flat: bool, once: bool) -> Any:
    """The plan for a result of this dtype; of 16 bits, it is rounded once, or whatever is computed on the way too."""
    result = "int32" if dtype == np.int32 else kind_of(dtype)
    types = [*[kind_of(a.dtype) for a in arrays], result]
    if result is None:
        return NUMPY
    precision = "float32" if once else next((kind for kind in types if kind != "bool"), "float32")
    shape = arrays[0].shape
    if flat:
        kernel = compiled(trace.define_flat, body, body.key, tuple(types), body.scalars, precision=precision)
        if kernel is None:
            return NUMPY
        return Plan(kernel, dtype, _least(function, kernel, arrays[0]))
    which = tuple([i for i, a in enumerate(arrays) if not a.flags.c_contiguous])
    if all(a.shape == shape for a in arrays):
        if len(which) == len(arrays) and not any(any(a.strides) for a in arrays):
            return NUMPY
        if not any(any(arrays[i].strides) or arrays[i].dtype == _BOOL for i in which):
            kernel = compiled(trace.define_flat, body, body.key, tuple(types), body.scalars, which, precision=precision)
            return NUMPY if kernel is None else _Broadcast(kernel, dtype, shape, which)
    found = placed(arrays, types[:-1], dtype.itemsize)
    if found is None or ((found[0].columns % 8) and any(kind not in ("float32", "float64") for kind in types)):
        return NUMPY
    layout, wide, kinds = found
    kernel = compiled(
        trace.define_rows, body, body.key, (*kinds, f"vector {result}"), body.scalars, precision=precision
    )
    return NUMPY if kernel is None else _Rows(kernel, dtype, layout, wide)


def _least(function: Any, kernel: Kernel, first: np.ndarray) -> int:
    """From how many elements on a kernel is used on contiguous arrays."""
    if isinstance(function, Elementwise):
        return COMPILED if kernel.narrow else 0
    if type(function) is not np.ufunc or is_half(first.dtype):
        return 0
    return COMPILED_FROM.get(function, _NEVER)


def _sums(body: Body, arrays: list[np.ndarray], shape: tuple[int, ...]) -> Any:
    """The plan for a result that is summed to a shape."""
    if any(a.dtype != _FLOAT for a in arrays):
        return NUMPY
    found = _summed_dimensions(np.broadcast_shapes(*[a.shape for a in arrays]), shape)
    if found is None:
        return NUMPY
    cut, down = found
    rows = placed(arrays, ["float32"] * len(arrays), None, cut)
    if rows is None or not (down or rows[0].columns <= MOST_SUMMED):
        return NUMPY
    layout, wide, kinds = rows
    kernel = compiled(define_sums, body, body.key, (*kinds, "result float32"), body.scalars, down=down)
    return NUMPY if kernel is None or kernel.partial else _Sums(kernel, layout, wide, down, shape)


def _summed_dimensions(whole: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, bool] | None:
    """(first dimension of a row, whether rows are summed up) if a sum to `shape` is over the first dimensions, or the last."""
    padded = (1,) * (len(whole) - len(shape)) + shape
    gone = [i for i, (n, m) in enumerate(zip(whole, padded, strict=True)) if n != m]
    kept = [i for i, (n, m) in enumerate(zip(whole, padded, strict=True)) if n == m != 1]
    if not gone or not kept:
        return None
    if gone[-1] < kept[0]:
        return kept[0], True
    return (gone[0], False) if kept[-1] < gone[0] else None


def define_sums(rows: Rows, body: Callable[..., Any], arrays: tuple[str, ...], numbers: int, down: bool) -> None:
    """The kernel of what is computed for placed arrays, summed."""
    element, result = trace.placed_element(rows, body, arrays, numbers), rows.sums() if down else rows.per_row()

    def value() -> Value:
        return element().value

    if down:
        rows.each(lambda: result.add(value()))
    else:
        result.put(rows.total(value, unroll=4))


def placed(
    arrays: list[np.ndarray], types: list[Any], result: int | None, cut: int | None = None
) -> tuple[Layout, tuple[int, ...], list[str]] | None:
    """The layout of arrays of these kinds, which of them must be `widened` for it, and what `define_rows` calls them."""
    layout = layout_of(arrays, [a.itemsize for a in arrays], result, cut)
    if layout is None:
        return None
    wide = tuple([i for i, kind in enumerate(types) if not layout.vectors[i] and kind not in ("float32", "float64")])
    if wide:
        arrays = widened(arrays, wide)
        layout = layout_of(arrays, [a.itemsize for a in arrays], result, cut)
        assert layout is not None
    return (
        layout,
        wide,
        [f"{'vector' if v else 'column'} {kind}" for v, kind in zip(layout.vectors, types, strict=False)],
    )


def widened(arrays: list[np.ndarray], which: tuple[int, ...]) -> list[np.ndarray]:
    """The arrays, some of them as float32, repeated where they were: a kernel that goes by their layout must find the same one."""
    return [cast_operand(a, _FLOAT) if i in which else a for i, a in enumerate(arrays)]


# ----- Compiling ------------------------------------------------------------------------------------------------------


class Body:
    """What is traced: called with the arrays, the result, and the scalars that are passed."""

    def __init__(self, function: Any, roles: tuple[Any, ...], arrays: int) -> None:
        self.function, self.roles, self.arrays = function, roles, arrays
        self.scalars = roles.count("scalar")
        self.key = signature(function), tuple([signature(role) for role in roles])
        self.__name__ = getattr(function, "__name__", "elementwise")

    def __call__(self, *given: Any) -> None:
        function, out = self.function, given[self.arrays]
        taken = {"array": iter(given[: self.arrays]), "scalar": iter(given[self.arrays + 1 :])}
        values = [next(taken[role]) if type(role) is str else _namespace(role[0]) for role in self.roles]
        if isinstance(function, Elementwise):
            function.body(*values[: function.arrays], out, *values[function.arrays :])
        elif type(function) is np.ufunc:
            function(*values, out=out)
        else:
            result = function(*values)
            if any(result is value for value in values):
                raise trace.Untraceable  # it hands an operand on, which needs no copy
            out[...] = result


def body_of(function: Any, values: tuple[Any, ...], arrays: int, by_value: bool) -> Body:
    """The body of a function; an operand is an array, a scalar that is passed, or itself, in a tuple."""
    roles: list[Any] = []
    for value in values:
        if type(value) is np.ndarray:
            roles.append("array" if value.ndim else "scalar")
        else:
            roles.append("scalar" if not by_value and type(value) in (int, float) else (value,))
    return Body(function, tuple(roles), arrays)


class _Namespace:
    """Stands for `xp`, with a `where` for stand-ins."""

    def __init__(self, namespace: Any) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        return trace.where if name == "where" else getattr(self._namespace, name)


def _namespace(value: Any) -> Any:
    """The namespace that a rule runs in made fit for stand-ins; anything else as it is."""
    return _Namespace(value) if type(getattr(value, "exp", None)) is np.ufunc else value


@lru_cache(None)
def kind_of(dtype: np.dtype[Any]) -> str | None:
    """What a kernel calls this dtype; None if it knows none of it."""
    name = dtype.name
    return name if name in ELEMENTS and name[:3] != "int" and dtype.isnative else None


def signature(value: Any) -> Any:
    """What makes a function what it is: its code and all that it holds, which must not change; hashable if that is."""
    if type(value) is FunctionType:
        held = value.__closure__ or ()
        return value.__code__, value.__defaults__, *[signature(cell.cell_contents) for cell in held]
    if type(value) is tuple:
        return tuple([signature(v) for v in value])
    return repr(value) if type(value) in (float, bool) else value  # NaN is itself, -0.0 is not 0.0, True is not 1


def _without_scalars(signature: Any) -> Any:
    if type(signature) is not tuple:
        return signature
    return tuple([_without_scalars(part) for part in signature if type(part) not in (str, int, float, bool)])


_kernels: dict[Any, Kernel | None] = {}
_updates: dict[Any, Kernel | None] = {}
_variants: Counter[Any] = Counter()


def compiled(
    define: Callable[..., None],
    body: Any,
    identity: Any,
    arrays: Any,
    scalars: int,
    broadcast: tuple[int, ...] = (),
    **options: Any,
) -> Kernel | None:
    """The kernel of a body by a definition of compiler/trace.py, compiled at the first call; None if it cannot be."""
    key = (identity, define, arrays, scalars, broadcast, *options.values())
    try:
        return _kernels[key]
    except KeyError:
        pass
    except TypeError:
        return None  # it holds an array, or the like
    family = _without_scalars(identity), define, arrays
    _variants[family] += 1
    if _variants[family] > MOST_VARIANTS:
        return None
    try:
        made = Kernel(
            define, define is trace.define_flat, broadcast, body=body, arrays=arrays, numbers=scalars, **options
        )
    except Exception:  # whatever is wrong, NumPy does the work, or says so
        made = None
    _kernels[key] = made
    return made


def has_nan(x: np.ndarray) -> bool:
    """Whether there is NaN among floats."""
    if x.itemsize == 2:
        return bool(np.isnan(x).any())
    square = np.vdot(x, x)  # NaN then and only then, and found in one pass
    return bool(square != square)


# ----- Bodies that update their arrays, or whose results are summed up -------------------------------------------------


def update(body: Callable[..., None], arrays: list[np.ndarray], scalars: list[float]) -> bool:
    """Do what `body(*arrays, *scalars)` does to contiguous arrays of one size, which may be written over; whether there is machine code for it."""
    if not native.available():
        return False
    key = signature(body), len(scalars), *map(_dtype_of, arrays)
    try:
        kernel = _updates[key]
    except KeyError:
        kinds = tuple([kind_of(array.dtype) for array in arrays])
        kernel = None if None in kinds else compiled(trace.define_flat, body, key[0], kinds, len(scalars))
        _updates[key] = kernel = None if kernel is None or kernel.partial else kernel
    if kernel is None:
        return False
    size = arrays[0].size
    if {*map(_size_of, arrays)} != {size}:
        raise ValueError(f"a kernel over {size} elements got arrays of {[array.size for array in arrays]}")
    rest = size % 8 if kernel.narrow else 0
    over(kernel.run, size - rest, GRAIN if kernel.length > LONG else CHEAP_GRAIN, *arrays, *scalars, multiple=8)
    if rest:
        _run_rest(kernel.run, arrays, rest, scalars, kernel.written)
    return True


def total(function: Elementwise, arrays: list[np.ndarray], scalars: tuple[float, ...]) -> float | None:
    """The sum of what a kernel gives for contiguous arrays of float32 and of one size; None if there is no machine code for it.

    It is a sum in float64 of sums of 4096 in float32, which in turn have eight parts.
    """
    if not native.available() or any(array.dtype != _FLOAT for array in arrays):
        return None
    kernel = compiled(trace.define_total, function.body, signature(function.body), len(arrays), len(scalars))
    if kernel is None or kernel.partial:
        return None
    rows, rest = divmod(arrays[0].size, SUMMED)
    out = np.zeros(rows + (rest > 0), np.float32)
    kernel.over(rows, GRAIN // SUMMED, SUMMED, *arrays, out, *scalars)
    if rest:
        ends = [array.reshape(-1)[rows * SUMMED :] for array in arrays]
        kernel.run(0, 1, rest, *ends, out[rows:], *scalars)
    return float(out.sum(dtype=np.float64))
