"""Plans: machine code for elementwise functions of operands with given dtypes and layouts. See Note [Elementwise work].

Contiguous operands of one shape share a plan for all shapes. Operands that broadcast, or are slices of wider arrays, are read in
place, row by row: Note [Rows by their offsets]. Results that are summed to a shape, the gradients of broadcast operands, are
computed in the same way: the gradient of a column `c` in `x * c` is the sum along each row of `grad * x`, that of a row the sum
of all rows. A sum along a row is taken in float32, in four times eight partial sums; for sums of rows see Note [Sums over rows]
in compiler/rows.py.
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
NUMPY: Any = "NumPy"  # the plan if there is no machine code
BY_VALUE: Any = "by value"  # the plan of a function that branches on scalars: it has one for each of their values


class Plan:
    """A compiled kernel and how it is called."""

    def __init__(self, kernel: Kernel, dtype: np.dtype[Any], least: int = 0) -> None:
        self.kernel, self.dtype, self.least = kernel, dtype, least
        self.run, self.partial = kernel.run, kernel.partial
        self.grain = GRAIN if kernel.length > LONG else CHEAP_GRAIN
        self.most = 2 * self.grain  # elements; more are shared between threads
        self.uneven = 7 * kernel.narrow  # low bits of the size that must be 0

    def may_hold(self, out: np.ndarray, shape: tuple[int, ...] | None) -> bool:
        """Whether the result may be written to `out`, which may be an operand: after a partial kernel has overwritten it, NumPy
        could not recompute."""
        if self.partial or out.shape != shape or out.dtype != self.dtype:
            return False
        if not out.flags.writeable:
            raise ValueError("output array is read-only")
        return True

    def share(self, size: int, arrays: list[np.ndarray], out: np.ndarray, scalars: list[Any]) -> None:
        """Run over contiguous arrays: on several threads if they are large, and separately on the tail that fills no vector."""
        numbers = [float(scalar) for scalar in scalars]
        rest = size & self.uneven
        over(self.run, size - rest, self.grain, *arrays, out, *numbers, multiple=8)
        if rest:
            _run_rest(self.run, [*arrays, out], rest, numbers, [len(arrays)])


def _run_rest(run: Any, arrays: list[np.ndarray], rest: int, numbers: list[float], written: list[int]) -> None:
    """Run a flat kernel on the tail, in arrays of eight elements. See Note [Narrow arrays]."""
    ends = [array.reshape(-1)[-rest:] for array in arrays]
    padded = [np.zeros(8, array.dtype) for array in arrays]
    for whole, end in zip(padded, ends, strict=True):
        whole[:rest] = end
    run(0, 8, *padded, *numbers)
    for i in written:
        ends[i][...] = padded[i][:rest]


class _Broadcast(Plan):
    """For operands of one shape, some of which are scalars broadcast to it."""

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
    """For operands whose rows have arbitrary offsets: see Note [Rows by their offsets]. Some of them are `widened` to float32 first."""

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
    """Like `_Rows`, with a sum of the result: `down` over all rows, else along each row."""

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
    """For dense operands with the same permuted strides: they are viewed in memory order."""

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
    """The plan for a function and such values, cached under `plan_key`."""
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
        if not all(map(is_half, floats)) or len(floats) > 1:  # a single one may be combined with a float32 scalar
            return NUMPY
    if out is not None:
        results = [out.dtype]
    elif isinstance(function, Elementwise):
        results = [arrays[0].dtype]
    else:  # tracing the kernel shows whether the result is a float or a bool
        results = [*floats, _BOOL]
    once = isinstance(function, Elementwise) or getattr(function, "rounds_once", False)
    for dtype in results:
        plan = _plan_for(function, body, arrays, dtype, flat, once)
        if plan is not NUMPY:
            return plan
    return NUMPY


def _common_order(arrays: list[np.ndarray]) -> Any:
    """The memory order that all arrays share, if it differs from the order of dimensions; their shapes must be equal."""
    orders = {(order_of(array), array.shape) for array in arrays}
    order = orders.pop()[0]
    return None if orders or order is None or order[0] == tuple(range(len(order[0]))) else order


def _plan_for(function: Any, body: Body, arrays: list[np.ndarray], dtype: np.dtype[Any], flat: bool, once: bool) -> Any:
    """The plan for a result of this dtype. A 16-bit result is rounded only `once`, or after every operation."""
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
    """The least number of contiguous elements for which a kernel is used."""
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
    """(first dimension of a row, whether rows are summed) if a sum to `shape` is over the first dimensions or the last."""
    padded = (1,) * (len(whole) - len(shape)) + shape
    gone = [i for i, (n, m) in enumerate(zip(whole, padded, strict=True)) if n != m]
    kept = [i for i, (n, m) in enumerate(zip(whole, padded, strict=True)) if n == m != 1]
    if not gone or not kept:
        return None
    if gone[-1] < kept[0]:
        return kept[0], True
    return (gone[0], False) if kept[-1] < gone[0] else None


def define_sums(rows: Rows, body: Callable[..., Any], arrays: tuple[str, ...], numbers: int, down: bool) -> None:
    """The kernel that sums the body's results for `placed` arrays."""
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
    """The layout of arrays of these types, which of them it needs `widened`, and their types for `define_rows`."""
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
    """The arrays, some converted to float32. Broadcast dimensions stay broadcast, so that the kernel finds the same layout."""
    return [cast_operand(a, _FLOAT) if i in which else a for i, a in enumerate(arrays)]


# ----- Compiling ------------------------------------------------------------------------------------------------------


class Body:
    """The function that is traced: called with the arrays, the result, and the scalar arguments."""

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
                raise trace.Untraceable  # it returns an operand, which needs no copy
            out[...] = result


def body_of(function: Any, values: tuple[Any, ...], arrays: int, by_value: bool) -> Body:
    """The body of a function; an operand is an array, a scalar argument, or a constant, in a tuple."""
    roles: list[Any] = []
    for value in values:
        if type(value) is np.ndarray:
            roles.append("array" if value.ndim else "scalar")
        else:
            roles.append("scalar" if not by_value and type(value) in (int, float) else (value,))
    return Body(function, tuple(roles), arrays)


class _Namespace:
    """A replacement for `xp` whose `where` accepts placeholders."""

    def __init__(self, namespace: Any) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        return trace.where if name == "where" else getattr(self._namespace, name)


def _namespace(value: Any) -> Any:
    """The namespace of a rule, adapted to placeholders; any other value unchanged."""
    return _Namespace(value) if type(getattr(value, "exp", None)) is np.ufunc else value


@lru_cache(None)
def kind_of(dtype: np.dtype[Any]) -> str | None:
    """A kernel's name for this dtype; None if kernels do not support it."""
    name = dtype.name
    return name if name in ELEMENTS and name[:3] != "int" and dtype.isnative else None


def signature(value: Any) -> Any:
    """The identity of a function: its code and its closure's values, which must not change; hashable if they are."""
    if type(value) is FunctionType:
        held = value.__closure__ or ()
        return value.__code__, value.__defaults__, *[signature(cell.cell_contents) for cell in held]
    if type(value) is tuple:
        return tuple([signature(v) for v in value])
    return repr(value) if type(value) in (float, bool) else value  # for NaN, -0.0 (not 0.0) and True (not 1) as keys


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
    """The kernel of a body by a definition of compiler/trace.py, compiled at the first call; None if that is not possible."""
    key = (identity, define, arrays, scalars, broadcast, *options.values())
    try:
        return _kernels[key]
    except KeyError:
        pass
    except TypeError:
        return None  # its closure holds an array, or another unhashable value
    family = _without_scalars(identity), define, arrays
    _variants[family] += 1
    if _variants[family] > MOST_VARIANTS:
        return None
    try:
        made = Kernel(
            define, define is trace.define_flat, broadcast, body=body, arrays=arrays, numbers=scalars, **options
        )
    except Exception:  # whatever went wrong, NumPy does the work, or raises the error
        made = None
    _kernels[key] = made
    return made


def has_nan(x: np.ndarray) -> bool:
    """Whether there is NaN among floats."""
    if x.itemsize == 2:
        return bool(np.isnan(x).any())
    square = np.vdot(x, x)  # NaN if and only if x has one; a single pass
    return bool(square != square)


# ----- Bodies that update their arrays, or whose results are summed up -------------------------------------------------


def update(body: Callable[..., None], arrays: list[np.ndarray], scalars: list[float]) -> bool:
    """Run `body(*arrays, *scalars)`, which may overwrite contiguous arrays of one size, by machine code; return whether there is any."""
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
    """The sum of a kernel's results for contiguous float32 arrays of one size; None if there is no machine code for it.

    It is a float64 sum of float32 sums of 4096 elements, each in eight partial sums.
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
