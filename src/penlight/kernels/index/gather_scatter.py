"""Reads, writes and reductions of elements at indices or masks, by the compiled loops of kernels.py.

Each function refuses (with None or False) unsupported dtypes, and arrays so small that NumPy is as fast. Indices are int64 and in
bounds, which `all_inside` checks.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..call import Unfit
from ..compiler.loops import FLOATS, compile_loops
from ..copies import contiguous
from ..copies.convert import plain_mask
from ..lazy import lazy_import
from ..waiting_threads import over
from . import LEAST_FILLED, LEAST_MOVED

kernels = lazy_import(globals(), "kernels", ".kernels")

_GRAIN = 1 << 15  # elements per thread, at least
_INDEX = np.dtype(np.int64)
# The dtypes as which elements of so many bytes are moved.
_MOVED: dict[int, np.dtype[Any]] = {1: np.dtype(np.uint8), 2: np.dtype(np.int16), 4: np.dtype(np.int32), 8: _INDEX}


def all_inside(index: np.ndarray, limit: int) -> bool:
    """Whether 0 <= index < limit for all indices. `argmax` and `item` are NumPy's fastest way to the largest element of a small array."""
    if not index.size:
        return True
    bits = index.view(f"u{index.itemsize}")
    # Negative ones are huge as unsigned integers.
    return bool((bits.item(bits.argmax()) if index.size < LEAST_MOVED else bits.max()) < limit)


@lru_cache(1024)
def _along(
    shape: tuple[int, ...], index: tuple[int, ...], dim: int, dtype: np.dtype[Any], act: str, shared: bool
) -> Any:
    """The kernel for indices into an array along a dimension, given both shapes, the dtype as which it sees elements, and its
    arguments after the arrays; None if there is none. The index may be smaller than the array in its first dimension, or in the
    one after `dim`."""
    if len(index) != len(shape) or dtype.hasobject or not prod(index):
        return None
    if index[1:dim] != shape[1:dim] or (index[dim + 1 :] != shape[dim + 1 :] and len(shape) != dim + 2):
        return None
    if act in ("take", "put"):
        seen = _MOVED.get(dtype.itemsize)
    elif act in ("add", "mul"):
        seen = dtype if dtype in FLOATS or (dtype == _INDEX and act == "add") else None
    else:  # NumPy's extrema take a quarter of the time of scalar branches
        seen = None
    if seen is None:
        return None
    inner = prod(shape[dim + 1 :])
    if inner > 1:
        run = compile_loops(kernels.along_inner, seen, act=act)
    else:
        run = compile_loops(kernels.along, seen, act=act, shared=shared)
    if run is None:
        return None
    count, rows = (prod(index[dim + 1 :]), index[dim]) if inner > 1 else (index[dim], 1)
    return run, seen, prod(index[:dim]) * rows, (count, prod(shape[:dim]), rows, shape[dim], inner)


def _run_along(
    array: np.ndarray, index: np.ndarray, others: np.ndarray, dim: int, act: str, shared: bool = False
) -> bool:
    """Move or combine elements of a contiguous array, selected by indices along a dimension, with others; return whether that was possible."""
    found = _along(array.shape, others.shape, dim, array.dtype, act, shared)
    if found is None or index.dtype != _INDEX or others.dtype != array.dtype or not array.flags.c_contiguous:
        return False
    run, seen, total, sizes = found
    arrays = array.view(seen), contiguous(index), contiguous(others).view(seen)
    grain = -(-_GRAIN // sizes[0]) if act == "take" or sizes[2] == 1 else total  # threads write to disjoint parts
    try:
        over(run, total, grain, *arrays, *sizes)
    except Unfit:  # read-only, or overlapping
        return False
    return True


def take_along(array: np.ndarray, index: np.ndarray, dim: int) -> np.ndarray | None:
    """The elements that indices along a dimension select, or None."""
    if index.size < LEAST_MOVED:
        return None
    out = np.empty(index.shape, array.dtype)
    return out if _run_along(array, index, out, dim, "take") else None


def reduce_along(out: np.ndarray, index: np.ndarray, values: np.ndarray, dim: int, act: str = "add") -> bool:
    """Add values, of the index's shape, to the elements that indices along a dimension select; for floats also "mul", and for any
    dtype "put", which replaces them. Returns whether that was possible."""
    return values.shape == index.shape and _run_along(out, index, values, dim, act)


def put_along(out: np.ndarray, index: np.ndarray, values: np.ndarray, dim: int) -> bool:
    """Write values, of the index's shape, at indices along a dimension; return whether that was possible."""
    return reduce_along(out, index, values, dim, "put")


def take_slices(array: np.ndarray, index: np.ndarray, dim: int) -> np.ndarray:
    """`np.take`."""
    if dim == array.ndim - 1 > 0 and index.ndim == 1 and array.size * index.size >= LEAST_MOVED * array.shape[-1] > 0:
        if array.flags.c_contiguous and index.dtype == _INDEX and all_inside(index, array.shape[-1]):
            columns = take_columns(array.reshape(-1, array.shape[-1]), index)
            if columns is not None:
                return columns.reshape(*array.shape[:-1], index.size)
    if not array.flags.c_contiguous and 2 * index.size < array.shape[dim]:  # `take` copies all of such an array
        return np.array(array[(slice(None),) * dim + (index,)], order="C")
    return np.take(array, index, dim)


def take_columns(array: np.ndarray, index: np.ndarray) -> np.ndarray | None:
    """The columns of a contiguous matrix at an index, or None."""
    out = np.empty((len(array), index.size), array.dtype)
    return out if out.size >= LEAST_MOVED and _run_along(array, index, out, 1, "take", True) else None


def add_columns(out: np.ndarray, index: np.ndarray, values: np.ndarray) -> bool:
    """Add the columns of a matrix to the columns at an index of another, contiguous one; return whether that was possible."""
    return values.size >= LEAST_MOVED and _run_along(out, index, values, 1, "add", True)


def reduce_rows(target: np.ndarray, index: np.ndarray, rows: np.ndarray, act: str = "add") -> bool:
    """target[index] += rows for contiguous float matrices, counting every repetition; also "mul", "max" and "min". Returns
    whether that was possible."""
    count, columns = rows.shape
    if target.shape[1:] != (columns,) or index.shape != (count,) or not rows.size or rows.dtype not in FLOATS:
        return False
    run = compile_loops(kernels.reduce_rows, rows.dtype, act=act)
    if run is None or index.dtype != _INDEX:
        return False
    if not all_inside(index, len(target)):
        raise IndexError("index out of range in self")
    try:
        run(0, count, target, index, rows, len(target), columns)
    except Unfit:
        return False
    return True


def bag_sums(table: np.ndarray, picks: np.ndarray, bounds: np.ndarray) -> np.ndarray | None:
    """The sums of bags of rows of a float table; bag i is rows `picks[bounds[i] : bounds[i + 1]]`. None if that is not possible."""
    run = compile_loops(kernels.bag_sums, table.dtype) if table.dtype in FLOATS else None
    if run is None or not len(picks) or not table.size or not all_inside(picks, len(table)):
        return None
    if bounds[0] < 0 or bounds[-1] > len(picks) or (bounds[1:] < bounds[:-1]).any():
        return None
    count, columns = len(bounds) - 1, table.shape[1]
    grain = -(-_GRAIN * count // (len(picks) * columns))
    arrays = table, picks, bounds, (count, columns)
    try:
        return over(run, count, grain, *arrays, len(picks), len(table), columns)
    except Unfit:
        return None


# ----- Masks ------------------------------------------------------------------------------------------------------------------


def _run_masked(array: np.ndarray, mask: np.ndarray, chosen: np.ndarray, act: str) -> bool:
    """Move elements of an array that a plain mask of its shape selects, from or to `chosen`; return whether that was possible."""
    seen = None if array.dtype.hasobject or array.shape != mask.shape else _MOVED.get(array.itemsize)
    if seen is None or not array.flags.c_contiguous:
        return False
    run = compile_loops(kernels.masked, seen, act=act)
    if run is None:
        return False
    if chosen.size:
        flat, blocks = mask.reshape(-1).view(np.uint8), mask.size // 8
        words = flat[: 8 * blocks].view(np.int64)
        try:
            run(mask.size, blocks, flat, words, array.view(seen), chosen.view(seen), chosen.size)
        except Unfit:
            return False
    return True


def take_masked(array: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    """The elements of an array where a mask of its shape holds, or None."""
    if mask.size < LEAST_MOVED or mask.dtype != np.bool_:
        return None
    mask = plain_mask(contiguous(mask))
    chosen = np.empty(np.count_nonzero(mask), array.dtype)
    return chosen if _run_masked(contiguous(array), mask, chosen, "take") else None


def put_masked(array: np.ndarray, mask: np.ndarray, chosen: np.ndarray) -> bool:
    """Replace the elements of a contiguous array where a mask of its shape holds, in order; return whether that was possible."""
    if mask.size < LEAST_MOVED or mask.dtype != np.bool_ or chosen.dtype != array.dtype:
        return False
    mask = plain_mask(contiguous(mask))
    return chosen.size == np.count_nonzero(mask) and _run_masked(array, mask, chosen, "put")


def fill_masked(array: np.ndarray, mask: np.ndarray, number: Any) -> None:
    """Set the elements of an array to a scalar where a mask of its shape holds."""
    if mask.size >= LEAST_FILLED and mask.dtype == np.bool_ and array.dtype.kind != "O":
        one = np.empty(1, array.dtype)
        one[...] = number
        if _run_masked(array, plain_mask(contiguous(mask)), one, "fill"):
            return
    np.copyto(array, number, where=mask)


def nonzero(mask: np.ndarray) -> np.ndarray:
    """The coordinates of nonzero elements, of shape (dimensions, count)."""
    if mask.size >= LEAST_MOVED and mask.dtype.kind in "fiu":
        mask = mask != 0
    if mask.dtype == np.bool_:
        mask = plain_mask(mask)
    run = compile_loops(kernels.coordinates, _INDEX) if mask.ndim > 1 and mask.size >= LEAST_MOVED else None
    count = int(np.count_nonzero(mask))
    if run is None or mask.dtype != np.bool_ or not mask.flags.c_contiguous or not count:
        return np.array(mask.nonzero(), _INDEX)
    out = np.empty((mask.ndim, count), _INDEX)
    run(mask.view(np.uint8), out[-2:], prod(mask.shape[:-1]), mask.shape[-1], count)
    for dim in range(mask.ndim - 2, 0, -1):
        np.divmod(out[dim], mask.shape[dim], out=(out[dim - 1], out[dim]))
    return out


def swap_in_turn(numbers: np.ndarray, targets: np.ndarray) -> bool:
    """Swap each int64, in turn, with the one at its target, an index in the same array; return whether that was possible."""
    run = compile_loops(kernels.swap, _INDEX) if len(numbers) == len(targets) > 0 else None
    if run is None:
        return False
    run(numbers, targets, numbers.size)
    return True
