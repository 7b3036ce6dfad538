"""Ufuncs, traced programs and plain functions of ufuncs on operands of any kind, as native kernels.

See Note [Bodies as machine code]. Operands that are numbers, in whatever form, are passed as numbers; one that broadcasts, or is a part of a
wider array, is read as it is: Note [Rows by their offsets].
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from .. import native
from ..compiler import trace
from ..copies.convert import cast_operand, is_half
from ..copies.order import order_of
from ..fused import Program
from ..numpy_warnings import hush, unhush
from ..reduce.large import fold
from . import Kernel, traced
from .layout import Layout, layout_of

MOST_PLANS = 4096
_FLOAT, _BOOL = np.dtype(np.float32), np.dtype(np.bool_)


class _Plan(NamedTuple):
    """What is done for a function and operands of certain kinds, shapes and layouts."""

    kernel: Kernel
    shape: tuple[int, ...]  # of the result
    dtype: np.dtype[Any]
    broadcast: tuple[int, ...] = ()  # which arrays are one number everywhere
    layout: Layout | None = None  # if the kernel runs over placed rows
    widened: tuple[int, ...] = ()  # which arrays are given as float32 instead
    size: int = (
        0  # if not 0, the kernel is flat, without numbers for arrays or narrow ones, and runs over so many elements,
    )
    grain: int = 0  # of which a thread takes at least so many
    table: Any = None  # of where rows are, unless it is too large to be kept, or arrays are widened; then the grain is one of rows


_plans: dict[Any, _Plan | None] = {}


class _Flat(NamedTuple):
    """A kernel of a function and contiguous operands of certain dtypes and one shape, whatever that is. See Note [The same again]."""

    run: Any
    most: int  # elements; more are shared between threads, if there are any
    uneven: int  # which bits of the number of elements must be 0
    dtype: np.dtype[Any]
    partial: bool


_flats: dict[Any, _Flat | None] = {}


def run(steps: Any, values: tuple[Any, ...], out: np.ndarray | None = None) -> np.ndarray | None:
    """The result of a program, a ufunc or a function for these values; None if there is no machine code for that.

    Operands must be ordered in memory as their dimensions are, so that the result's layout is NumPy's. A function may look at
    numbers, other than arrays of no dimension, so they are part of its identity. `out`, contiguous, may be one of the operands.

    # Note [The same again]
    An array of 20,000 numbers is done in two or three microseconds, and to find out what is to be done with it takes as long. What was done to
    contiguous operands of one shape is therefore kept by what the operands are, which is quickly told, and done again with whatever their size is.
    """
    if not native.available():
        return None
    key: list[Any] = [steps]
    arrays: list[np.ndarray] = []
    numbers: list[float] = []
    first: Any = None
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            key.append(value.dtype)
            if not value.ndim:
                if value.dtype.kind == "c":
                    return None
                key.append("number")
                numbers.append(float(value))
            elif not value.flags.c_contiguous:
                return _run_turned(steps, values, out)
            else:
                if first is None:
                    first, shape = value, value.shape
                elif value.shape != shape:
                    return _run_planned(steps, values, out)
                arrays.append(value)
        elif kind is float or kind is int:
            key.append(kind)
            if _passes_numbers(steps):
                numbers.append(float(value))
            elif value:  # 0.0 and -0.0 are one key
                key.append(value)
            else:
                return _run_planned(steps, values, out)
        elif kind is tuple or kind is FunctionType:
            return _run_planned(steps, values, out)
        else:
            key.append(kind)
            key.append(value)
    place = tuple(key)
    try:
        flat = _flats[place]
    except KeyError:
        return _run_planned(steps, values, out, place)
    except TypeError:
        return None  # a value that cannot be looked up
    if flat is None:
        return None
    size = first.size
    if size >= flat.most or size & flat.uneven or not size:
        return _run_planned(steps, values, out)
    if out is None:
        out = np.empty(shape, flat.dtype)
    elif not _may_hold(out, shape, flat.dtype, flat.partial):
        return None
    flat.run(0, size, *arrays, out, *numbers)
    return None if flat.partial and _has_nan(out) else out


def _run_turned(steps: Any, values: tuple[Any, ...], out: np.ndarray | None) -> np.ndarray | None:
    """What `run` does, if not all arrays are contiguous: those that are not in the same way are seen in the order of memory."""
    orders = {order_of(value) for value in values if type(value) is np.ndarray and value.ndim}
    order = orders.pop()
    if out is not None or orders or order is None:
        return _run_planned(steps, values, out)
    transposed = [v.transpose(order[0]) if type(v) is np.ndarray and v.ndim else v for v in values]
    if len({v.shape for v in transposed if type(v) is np.ndarray and v.ndim}) > 1:
        return _run_planned(steps, values, out)  # what broadcasts has its own way
    result = run(steps, tuple(transposed))
    return None if result is None else result.transpose(order[1])


def _may_hold(out: np.ndarray, shape: tuple[int, ...], dtype: np.dtype[Any], partial: bool) -> bool:
    """Whether a result may be written to an array that may be an operand: what a partial kernel has written over cannot be computed again."""
    if partial or out.shape != shape or out.dtype != dtype:
        return False
    if not out.flags.writeable:
        raise ValueError("output array is read-only")
    return True


def _run_planned(
    steps: Any, values: tuple[Any, ...], out: np.ndarray | None, place: tuple[Any, ...] | None = None
) -> np.ndarray | None:
    """What `run` does, for operands of any shapes and layouts; a kernel that serves all sizes is kept at `place`."""
    found = _plan_of(steps, values)
    if place is not None:
        _keep(place, None if found is None else found[0])
    if found is None:
        return None
    plan, arrays, numbers = found
    kernel = plan.kernel
    if out is None:
        out = np.empty(plan.shape, plan.dtype)
    elif not _may_hold(out, plan.shape, plan.dtype, kernel.partial):
        return None
    if plan.size:  # the shapes are those that the plan was made for: nothing is left to check
        kernel.over(plan.size, plan.grain, *arrays, out, *numbers)
    elif plan.layout is not None and plan.table is not None:
        kernel.over(len(plan.table), plan.grain, plan.layout.columns, *arrays, out, plan.table, *numbers)
    elif plan.layout is not None:
        run_rows(kernel, plan.layout, widened(arrays, plan.widened), out, numbers)
    else:
        traced.run_kernel(kernel, (*arrays, out), tuple(numbers), plan.broadcast)
    return None if kernel.partial and _has_nan(out) else out


def _keep(place: tuple[Any, ...], plan: _Plan | None) -> None:
    """Remember what is done with contiguous operands of one shape, or that there is no machine code for them."""
    if len(_flats) >= MOST_PLANS:
        _flats.clear()
    flat = None
    if plan is not None:
        kernel = plan.kernel
        flat = _Flat(kernel.run, 2 * traced.grain_of(kernel), 7 * kernel.narrow, plan.dtype, kernel.partial)
    _flats[place] = flat


def _plan_of(steps: Any, values: tuple[Any, ...]) -> tuple[_Plan, list[np.ndarray], list[float]] | None:
    """(what is to be done, the arrays, the numbers)."""
    sorted_out = sort_out(steps, values)
    if sorted_out is None:
        return None
    place, arrays, numbers = sorted_out
    try:
        plan = _plans[place]
    except KeyError:
        if len(_plans) >= MOST_PLANS:
            _plans.clear()
        plan = _plans[place] = _plan(steps, values, arrays, len(numbers))
    except TypeError:
        return None  # a value that cannot be looked up
    return None if plan is None else (plan, arrays, numbers)


def _passes_numbers(steps: Any) -> bool:
    """Whether numbers among a function's values are passed to its kernel; else they are a part of it."""
    return type(steps) is Program or type(steps) is np.ufunc


def sort_out(steps: Any, values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[np.ndarray], list[float]] | None:
    """(what a plan for these values goes by, the arrays, the numbers); None if there are arrays that kernels don't know."""
    arrays: list[np.ndarray] = []
    numbers: list[float] = []
    key: list[Any] = [steps]
    passes_numbers = _passes_numbers(steps)
    for value in values:
        kind = type(value)
        if kind is np.ndarray:
            if value.dtype != _FLOAT:
                if traced.kind_of(value.dtype) is None:
                    return None
                key.append(value.dtype)
            if value.ndim:
                arrays.append(value)
                key.append(value.shape if value.flags.c_contiguous else (value.shape, value.strides))
            else:
                numbers.append(float(value))
                key.append("number")
        elif passes_numbers and (kind is float or kind is int):
            numbers.append(float(value))
            key.append("number")
        else:
            key.append(("given", kind, traced.signature(value)))
    return tuple(key), arrays, numbers


def _has_nan(x: np.ndarray) -> bool:
    """Whether there is NaN among floats, or infinities of both signs."""
    total = fold(x, "sum")
    if total is None:
        token = hush()
        total = np.add.reduce(x, None)
        unhush(token)
    return bool(total != total)


def _plan(steps: Any, values: tuple[Any, ...], arrays: list[np.ndarray], numbers: int) -> _Plan | None:
    if not arrays:
        return None
    floats = {value.dtype for value in values if type(value) is np.ndarray and value.dtype != _BOOL}
    if len(floats) > 1:
        floats = {value.dtype for value in arrays if value.dtype != _BOOL}
        if not all(map(is_half, floats)) or len(floats) > 1:  # beside which there may be a number in float32
            return None
    body = body_of(steps, values, len(arrays))
    for dtype in (*floats, _BOOL):  # whether the result is a number or a truth value shows when the kernel is made
        plan = _plan_for(body, arrays, numbers, dtype, getattr(steps, "rounds_once", False))
        if plan is not None:
            return plan
    return None


def _plan_for(
    body: Callable[..., None], arrays: list[np.ndarray], numbers: int, dtype: np.dtype[Any], once: bool
) -> _Plan | None:
    """The plan for a result of this dtype; of 16 bits, it is rounded once, or whatever is computed on the way too."""
    shape = arrays[0].shape
    types = [traced.kind_of(a) for a in (*[a.dtype for a in arrays], dtype)]
    precision = "float32" if once else next((kind for kind in types if kind != "bool"), "float32")
    if all(a.shape == shape for a in arrays):
        broadcast = tuple([i for i, a in enumerate(arrays) if not a.flags.c_contiguous])
        if len(broadcast) == len(arrays) and not any(any(a.strides) for a in arrays):
            return None
        if not any(any(arrays[i].strides) or arrays[i].dtype == _BOOL for i in broadcast):
            kernel = traced.kernel_of(trace.define_flat, body, tuple(types), numbers, broadcast, precision=precision)
            if kernel is None or broadcast or kernel.narrow:
                return None if kernel is None else _Plan(kernel, shape, dtype, broadcast)
            return _Plan(kernel, shape, dtype, size=prod(shape), grain=traced.grain_of(kernel))
    found = placed(arrays, types[:-1], dtype.itemsize)
    if found is None or ((found[0].columns % 8) and any(kind not in ("float32", "float64") for kind in types)):
        return None
    layout, wide, kinds = found
    kernel = traced.kernel_of(trace.define_rows, body, (*kinds, f"vector {types[-1]}"), numbers, precision=precision)
    if kernel is None:
        return None
    table = None if wide or not layout.is_small else layout.table()
    grain = traced.grain_of(kernel) // layout.columns + 1
    return _Plan(kernel, layout.shape, dtype, layout=layout, widened=wide, grain=grain, table=table)


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
    return layout, wide, [f"{'vector' if v else 'column'} {kind}" for v, kind in zip(layout.vectors, types)]


def widened(arrays: list[np.ndarray], which: tuple[int, ...]) -> list[np.ndarray]:
    """The arrays, some of them as float32, repeated where they were: a kernel that goes by their layout must find the same one."""
    return [cast_operand(a, _FLOAT) if i in which else a for i, a in enumerate(arrays)] if which else arrays


def run_rows(kernel: Kernel, layout: Layout, arrays: list[np.ndarray], out: np.ndarray, numbers: list[float]) -> None:
    """Run a kernel of placed rows on arrays of this layout."""
    table = layout.table()
    grain = traced.grain_of(kernel) // layout.columns + 1
    kernel.over(len(table), grain, layout.columns, *arrays, out, table, *numbers)


def _role(value: Any, passes_numbers: bool) -> Any:
    """What a value is to a body: an array, a number that is passed, or itself, in a tuple."""
    if type(value) is np.ndarray:
        return "array" if value.ndim else "number"
    return "number" if passes_numbers and type(value) in (int, float) else (value,)


def body_of(steps: Any, values: tuple[Any, ...], arrays: int) -> Callable[..., None]:
    """What is traced: called with the arrays, the result, and the numbers."""
    passes_numbers = _passes_numbers(steps)
    pattern = tuple([_role(value, passes_numbers) for value in values])
    return _body_of(steps, pattern, arrays)


def _body_of(steps: Any, pattern: tuple[Any, ...], arrays: int) -> Callable[..., None]:

    def body(*given: Any) -> None:
        places = {"array": iter(given[:arrays]), "number": iter(given[arrays + 1 :])}
        leaves = [_namespace(kind[0]) if type(kind) is tuple else next(places[kind]) for kind in pattern]
        out = given[arrays]
        if type(steps) is Program:
            steps.run(leaves, [trace.Stand() for _ in range(steps.registers)], out)
        elif type(steps) is np.ufunc:
            steps(*leaves, out=out)
        else:
            result = steps(*leaves)
            if any(result is leaf for leaf in leaves):
                raise trace.Untraceable  # it hands an operand on, which needs no copy
            out[...] = result

    return body


class _Namespace:
    """Stands for `xp`, with a `where` for stand-ins."""

    def __init__(self, namespace: Any) -> None:
        self._namespace = namespace

    def __getattr__(self, name: str) -> Any:
        return trace.where if name == "where" else getattr(self._namespace, name)


def _namespace(value: Any) -> Any:
    """The namespace that a rule runs in made fit for stand-ins; anything else as it is."""
    return _Namespace(value) if type(getattr(value, "exp", None)) is np.ufunc else value
