"""Elementwise work by NumPy: in one call, or in blocks that fit in the cache, on several threads. See Note [Elementwise work].

A ufunc runs on one range per thread, directly into its part of the result. A rule like `grad * (1 - result * result)` runs on blocks of BLOCK
elements: its temporaries are as small as a block and stay in the cache, where full-size ones would each be written to memory and
read again. Contiguous operands of one shape are split as flat arrays, others along the first dimension; operands that broadcast
along it are passed in full. Operands that cannot be split, and functions that turn out not to be elementwise, run in one call.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..copies.convert import is_half, to_half, to_single
from ..copies.order import order_of
from ..lazy import lazy_import
from ..numpy_warnings import hush, silent, unhush
from ..parallel import parallel_for, thread_count
from ..rows import each_block, narrow, widen
from . import Elementwise
from .strategies import BLOCK, CHEAP, CHEAP_NUMPY_GRAIN, IN_SINGLE, NUMPY_GRAIN

faster_ufuncs = lazy_import(globals(), "faster_ufuncs", "..faster_ufuncs")
plans = lazy_import(globals(), "plans", ".plans")
tables = lazy_import(globals(), "tables", ".tables")
trace = lazy_import(globals(), "trace", "..compiler.trace")
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def run(function: Any, values: tuple[Any, ...]) -> Any:
    """function(*values), of a ufunc or of an elementwise function of arrays."""
    made, inner = None, getattr(function, "__wrapped__", function)
    if type(inner) is not np.ufunc or inner in IN_SINGLE:
        made = tables.looked_up(function, values, _run)
    return _run(function, values) if made is None else made


def _run(function: Any, values: tuple[Any, ...]) -> Any:
    if type(function) is not np.ufunc:
        return function(*values) if _calls_kernels(function, values) else _in_blocks(function, values)
    if function in IN_SINGLE and _are_halves(values):
        return _by_singles(function, values)
    if function in faster_ufuncs.FASTER and faster_ufuncs.fits(function, values):
        return faster_ufuncs.run(function, *values)
    size = max([getattr(value, "size", 1) for value in values])
    grain = CHEAP_NUMPY_GRAIN if function in CHEAP else NUMPY_GRAIN
    token = hush()
    try:
        if size < 2 * grain or thread_count() < 2:
            return function(*values)
        return _in_ranges(function, values, grain)
    finally:
        unhush(token)


def _calls_kernels(function: Any, values: tuple[Any, ...]) -> bool:
    """Whether a rule uses more than ufuncs of its namespace: kernels, which have their own blocks and threads."""
    spaces = [value for value in values if type(getattr(value, "exp", None)) is np.ufunc]
    names = function.__code__.co_names if spaces else ()
    return any(type(getattr(spaces[0], name, np.exp)) is not np.ufunc for name in names)


class _Cut(NamedTuple):
    """Operands that are split into ranges."""

    shape: tuple[int, ...]  # of the result
    length: int  # of what is split: all elements, or the first dimension
    values: list[Any]
    parted: list[bool]  # which operands are split
    flat: bool  # whether they are split as flat arrays

    def part(self, low: int, high: int) -> list[Any]:
        """The operands in a range."""
        return [value[low:high] if parted else value for value, parted in zip(self.values, self.parted, strict=True)]

    def of(self, result: np.ndarray) -> np.ndarray:
        """The result, viewed as it is split."""
        return result.reshape(-1) if self.flat else result


def _cut(values: tuple[Any, ...]) -> _Cut | None:
    """How operands are split; None if they are not.

    They are split only if the result is contiguous either way: strides must not depend on the size.
    """
    arrays = [v for v in values if type(v) is np.ndarray and v.ndim]
    if not arrays:
        return None
    shape = arrays[0].shape if len(arrays) == 1 else np.broadcast_shapes(*[a.shape for a in arrays])
    flat, anchored = True, False
    for a in arrays:
        if a.dtype not in _FLOATS and a.dtype.kind != "b":
            return None
        if a.shape == shape and a.flags.c_contiguous:
            anchored = True
        elif a.flags.c_contiguous or not any(a.strides):
            flat = False
        else:
            return None
    if not anchored:
        return None
    if flat:
        ready = [v.reshape(-1) if type(v) is np.ndarray and v.ndim else v for v in values]
        return _Cut(shape, arrays[0].size, ready, [type(v) is np.ndarray and v.ndim > 0 for v in values], True)
    parted = [type(v) is np.ndarray and v.ndim == len(shape) and v.shape[0] == shape[0] for v in values]
    return _Cut(shape, shape[0], list(values), parted, False)


def _in_ranges(ufunc: Any, operands: tuple[Any, ...], grain: int) -> Any:
    cut = _cut(operands)
    if cut is None or cut.length < 2:
        return ufunc(*operands)
    probe = ufunc(*cut.part(0, 1))
    if type(probe) is not np.ndarray:
        return ufunc(*operands)
    result = np.empty(cut.shape, probe.dtype)
    out = cut.of(result)

    def body(low: int, high: int) -> None:
        ufunc(*cut.part(low, high), out=out[low:high])

    parallel_for(body, cut.length, max(1, cut.length * grain // result.size), blas=False)
    return result


def _in_blocks(rule: Callable[..., Any], values: tuple[Any, ...]) -> Any:
    """Run a rule on blocks, and copy their results into one array."""
    cut = _cut(values)
    if cut is None:
        return rule(*values)
    size = prod(cut.shape)
    step = max(1, BLOCK * cut.length // max(size, 1))
    if size < 2 * BLOCK or step >= cut.length:
        return rule(*values)
    given = cut.part(0, step)
    first = rule(*given)
    expected = (step,) if cut.flat else (step, *cut.shape[1:])
    if (
        type(first) is not np.ndarray
        or first.shape != expected
        or first.base is not None
        or any(first is value for value in given)
    ):
        return rule(*values)  # returns an operand, or is not elementwise
    result = np.empty(cut.shape, first.dtype)
    out = cut.of(result)
    out[:step] = first

    def body(low: int, high: int) -> None:
        for start in range(low + step, high + step, step):
            end = min(start + step, high + step)
            out[start:end] = rule(*cut.part(start, end))

    parallel_for(body, cut.length - step, max(step, NUMPY_GRAIN * cut.length // size), blas=False)
    return result


def _are_halves(operands: tuple[Any, ...]) -> bool:
    """Whether all are contiguous arrays of float16 of one shape."""
    shape = getattr(operands[0], "shape", None)
    alike = [
        type(o) is np.ndarray and o.dtype == np.float16 and o.shape == shape and o.flags.c_contiguous for o in operands
    ]
    return all(alike)


def _by_singles(ufunc: Any, operands: tuple[Any, ...]) -> Any:
    """A ufunc on halves, in float32. NumPy also computes it in float32, but element by element."""
    dtype = ufunc.resolve_dtypes((*(_FLOATS[0],) * ufunc.nin, None))[-1]
    result = np.empty(operands[0].shape, np.float16 if dtype == np.float32 else dtype)
    *flat, out = [o.reshape(-1) for o in (*operands, result)]

    def body(part: slice) -> None:
        made = ufunc(*[to_single(o[part]) for o in flat])
        out[part] = to_half(made) if made.dtype == np.float32 else made

    with silent():
        each_block(body, out.size, 1)
    return result


# ----- Bodies ---------------------------------------------------------------------------------------------------------


def fill(kernel: Elementwise, values: tuple[Any, ...]) -> Any:
    """The result of a kernel for values that machine code does not accept directly."""
    arrays, scalars = values[: kernel.arrays], values[kernel.arrays :]
    for a in arrays:
        if type(a) is not np.ndarray or not a.ndim or not a.flags.c_contiguous or is_half(a.dtype):
            return _fill_converted(kernel, arrays, scalars)
    out = np.empty(arrays[0].shape, arrays[0].dtype)
    token = hush()
    try:
        if out.size <= BLOCK:
            kernel.body(*arrays, out, *scalars)
        else:
            flat = [a.reshape(-1) for a in (*arrays, out)]
            each_block(lambda part: kernel.body(*[a[part] for a in flat], *scalars), out.size, 1)
        return out
    finally:
        unhush(token)


def _fill_converted(kernel: Elementwise, arrays: tuple[Any, ...], scalars: tuple[Any, ...]) -> Any:
    """Like `fill`, for operands that are not contiguous arrays: placeholders, scalars, 16-bit floats, arrays with gaps."""
    if not isinstance(arrays[0], (np.ndarray, np.generic)):  # a placeholder: the kernel's caller is being traced
        out: Any = trace.Stand()
        kernel.body(*arrays, out, *scalars)
        return out
    first: Any = arrays[0]
    if not all([type(a) is np.ndarray and a.ndim for a in arrays]):  # 0-d arrays, or NumPy's scalars
        shape = first.shape
        found = kernel(*[np.asarray(a).reshape(-1) if not np.ndim(a) else a for a in arrays], *scalars)
        return found.reshape(shape)
    if is_half(first.dtype):
        made = tables.looked_up(kernel, (*arrays, *scalars), _fill_halves)
        return _fill_halves(kernel, (*arrays, *scalars)) if made is None else made
    order = order_of(first)
    if order is not None and all([a.strides == first.strides for a in arrays]):
        seen = kernel(*[a.transpose(order[0]) for a in arrays], *scalars)
        return seen.transpose(order[1])
    return kernel(*[np.ascontiguousarray(a) for a in arrays], *scalars)


def _fill_halves(kernel: Elementwise, values: tuple[Any, ...]) -> Any:
    """16-bit floats are computed in float32 and rounded once."""
    arrays, scalars = values[: kernel.arrays], values[kernel.arrays :]
    with silent():
        return narrow(kernel(*map(widen, arrays), *scalars), arrays[0].dtype)


def total(kernel: Elementwise, *values: Any) -> float:
    """The sum of a kernel's results, without storing them."""
    arrays, scalars = values[: kernel.arrays], values[kernel.arrays :]
    flat = [np.ascontiguousarray(widen(a)).reshape(-1) for a in arrays]
    found: float | None = plans.total(kernel, flat, scalars) if flat[0].size else None
    if found is not None:
        return found
    dtype = flat[0].dtype
    sums: dict[int, float] = {}

    def block(part: slice) -> None:
        out = np.empty(part.stop - part.start, dtype)
        kernel.body(*[a[part] for a in flat], out, *scalars)
        sums[part.start] = float(np.add.reduce(out))

    with silent():
        each_block(block, flat[0].size, 1)
    return sum(sums[start] for start in sorted(sums))
