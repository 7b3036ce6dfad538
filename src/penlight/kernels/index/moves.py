"""Moves of elements to and from places that indices or masks name, by machine code: see kernels/index/move_kernels.py.

Each function says that it cannot (with None or False) where elements are of a kind that is not served, or so few that NumPy is as quick.
Indices are int64 and neither negative nor too large, which `all_inside` tells.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from .. import native
from ..copies import contiguous
from ..lazy import lazy_import
from ..waiting_threads import over
from . import LEAST_MOVED

_kernels = lazy_import(globals(), "_kernels", ".move_kernels")

_GRAIN = 1 << 15  # elements that are worth waking a thread for
_INDEX = np.dtype(np.int64)
_SIZES = (1, 2, 4, 8)


def _moving() -> Any:
    """The kernels, or None where there are none."""
    return _kernels if native.available() else None


def all_inside(index: np.ndarray, limit: int) -> bool:
    """Whether 0 <= index < limit for all."""
    move_kernels = (
        _moving() if index.size >= LEAST_MOVED and index.dtype == _INDEX and index.flags.c_contiguous else None
    )
    if move_kernels is None:
        return not index.size or bool(index.min() >= 0 and index.max() < limit)
    result = np.empty(1, _INDEX)
    move_kernels.inside_kernel()(index.size, limit, index, result)
    return result.item() >= 0


class _Walk:
    """How a kernel walks along indices of a shape into an array of another, along a dimension."""

    __slots__ = ("along", "count", "index_stride", "rows", "step", "stride", "total")

    def __init__(self, shape: tuple[int, ...], index: tuple[int, ...], dim: int, size: int) -> None:
        inner = prod(shape[dim + 1 :])
        self.along = inner > 1
        self.stride = shape[dim] * inner * size
        self.step = inner * size
        self.count = prod(index[dim + 1 :]) if self.along else index[dim]
        self.rows = index[dim] if self.along else 1
        self.total = prod(index[:dim]) * self.rows
        self.index_stride = 8 * self.count

    def run(self, kernel: Any, array: np.ndarray, index: np.ndarray, others: np.ndarray, shared: bool) -> None:
        arguments = self.count, self.stride, array, index, others, self.rows, self.step, self.index_stride
        if not shared or index.size < 2 * _GRAIN:
            kernel(0, self.total, *arguments)
            return
        over(kernel, self.total, -(-_GRAIN // self.count), *arguments)


@lru_cache(1024)
def _along(
    shape: tuple[int, ...], index: tuple[int, ...], dim: int, dtype: np.dtype[Any], way: str
) -> tuple[Any, _Walk] | None:
    """The kernel for indices of a shape into an array of another along a dimension, and how it walks; None if there is none. The index may
    be smaller than the array in its first dimension, or in the one behind `dim`."""
    move_kernels = _moving()
    if move_kernels is None or len(index) != len(shape) or dtype.kind == "O" or not prod(index):
        return None
    if index[1:dim] != shape[1:dim] or (index[dim + 1 :] != shape[dim + 1 :] and len(shape) != dim + 2):
        return None
    if way == "take" or way == "put":
        kind, served = "", dtype.itemsize in (_SIZES if way == "put" else (*_SIZES, 16))
    else:
        kind, served = dtype.kind, dtype in _ADDED and (way == "add" or dtype.kind == "f")
    walk = _Walk(shape, index, dim, dtype.itemsize)
    return (move_kernels.along_kernel(way, kind, dtype.itemsize, walk.along), walk) if served else None


_ADDED = frozenset((np.dtype(np.float32), np.dtype(np.float64), _INDEX))


def take_along(array: np.ndarray, index: np.ndarray, dim: int) -> np.ndarray | None:
    """The elements that indices along a dimension point at, or None."""
    if index.size < LEAST_MOVED or index.dtype != _INDEX or not array.flags.c_contiguous:
        return None
    found = _along(array.shape, index.shape, dim, array.dtype, "take")
    if found is None:
        return None
    index = contiguous(index)
    out = np.empty(index.shape, array.dtype)
    found[1].run(found[0], array, index, out, True)
    return out


def reduce_along(out: np.ndarray, index: np.ndarray, values: np.ndarray, dim: int, way: str = "add") -> bool:
    """Add values, of the shape of the index, to the elements that indices along a dimension point at; floats also by "mul", "max" and "min", and
    any by "put", which replaces them. Whether that was possible."""
    if index.dtype != _INDEX or (values.dtype != out.dtype and values.dtype != out.dtype):
        return False
    found, flags = _along(out.shape, index.shape, dim, out.dtype, way), out.flags
    if found is None or not flags.c_contiguous or not flags.writeable or values.shape != index.shape:
        return False
    kernel, walk = found
    walk.run(kernel, out, contiguous(index), contiguous(values), walk.rows == 1)
    return True


def put_along(out: np.ndarray, index: np.ndarray, values: np.ndarray, dim: int) -> bool:
    """Put values, of the shape of the index, where indices along a dimension point; whether that was possible."""
    return reduce_along(out, index, values, dim, "put")


def take_slices(array: np.ndarray, index: np.ndarray, dim: int) -> np.ndarray:
    """`np.take`."""
    last = (
        dim == array.ndim - 1
        and dim
        and index.ndim == 1
        and array.size * index.size >= LEAST_MOVED * array.shape[-1] > 0
    )
    if last and array.flags.c_contiguous and index.dtype == _INDEX and all_inside(index, array.shape[-1]):
        columns = take_columns(array.reshape(-1, array.shape[-1]), index)
        if columns is not None:
            return columns.reshape(*array.shape[:-1], index.size)
    return np.take(array, index, dim)


def take_columns(array: np.ndarray, index: np.ndarray) -> np.ndarray | None:
    """Of each row of a contiguous matrix the elements that one index points at, or None."""
    rows, columns = array.shape
    total = rows * index.size
    if total < LEAST_MOVED or array.itemsize not in (*_SIZES, 16) or array.dtype.kind == "O" or index.dtype != _INDEX:
        return None
    move_kernels = _moving()
    if move_kernels is None:
        return None
    index = contiguous(index)
    out = np.empty((rows, index.size), array.dtype)
    walk = _Walk((rows, columns), out.shape, 1, array.itemsize)
    walk.index_stride = 0
    walk.run(move_kernels.along_kernel("take", "", array.itemsize, False), array, index, out, True)
    return out


def add_columns(out: np.ndarray, index: np.ndarray, values: np.ndarray) -> bool:
    """Add the columns of a matrix to those columns of another, contiguous one that an index names; whether that was possible."""
    if values.size < LEAST_MOVED or out.dtype not in _ADDED or values.dtype != out.dtype or not out.flags.writeable:
        return False
    move_kernels = _moving()
    if move_kernels is None or index.dtype != _INDEX or not out.flags.c_contiguous:
        return False
    index, values = contiguous(index), contiguous(values)
    walk = _Walk(out.shape, values.shape, 1, out.itemsize)
    walk.index_stride = 0
    walk.run(move_kernels.along_kernel("add", out.dtype.kind, out.itemsize, False), out, index, values, True)
    return True


def plain_mask(mask: np.ndarray) -> np.ndarray:
    """A mask whose bytes are 0 and 1: those of one that was read from a file, or is a view of other numbers, may be anything, and what is not 0 holds."""
    return mask.view(np.uint8) != 0


def _is_served(mask: np.ndarray) -> Any:
    return _moving() if mask.size >= LEAST_MOVED and mask.dtype == np.bool_ and mask.flags.c_contiguous else None


def select(array: np.ndarray, mask: np.ndarray) -> np.ndarray | None:
    """The elements of an array where a mask of its shape holds, or None."""
    move_kernels = _is_served(mask)
    if move_kernels is None or array.shape != mask.shape or array.itemsize not in _SIZES or array.dtype.kind == "O":
        return None
    array, mask = contiguous(array), plain_mask(mask)
    few = np.empty(np.count_nonzero(mask), array.dtype)
    move_kernels.select_kernel("elements", array.itemsize)(mask.size, few.size, mask, array, few)
    return few


def spread(array: np.ndarray, mask: np.ndarray, few: np.ndarray) -> bool:
    """Replace the elements of a contiguous array where a mask of its shape holds, in order; whether that was possible."""
    move_kernels = _is_served(mask)
    if move_kernels is None or array.shape != mask.shape or array.itemsize not in _SIZES or array.dtype.kind == "O":
        return False
    if few.dtype != array.dtype or not (array.flags.c_contiguous and array.flags.writeable and few.flags.c_contiguous):
        return False
    mask = plain_mask(mask)
    count = int(np.count_nonzero(mask))
    if few.size != count or np.may_share_memory(array, few):
        return False
    move_kernels.select_kernel("spread", array.itemsize)(mask.size, count, mask, array, few)
    return True


def fill(array: np.ndarray, mask: np.ndarray, number: Any) -> None:
    """Replace the elements of an array where a mask of its shape holds by a number."""
    move_kernels = _is_served(mask)
    if (
        move_kernels is None
        or array.itemsize not in _SIZES
        or array.dtype.hasobject
        or mask.shape != array.shape
        or not array.flags.c_contiguous
        or not array.flags.writeable
    ):
        np.copyto(array, number, where=mask)
        return
    one = np.empty(1, array.dtype)
    one[...] = number
    move_kernels.select_kernel("fill", array.itemsize)(mask.size, 0, plain_mask(mask), array, one)


def places(mask: np.ndarray) -> np.ndarray:
    """The coordinates where an array is not zero, of shape (dimensions, number)."""
    if mask.size >= LEAST_MOVED and mask.dtype.kind != "b" and mask.dtype.kind in "fiu":
        mask = mask != 0
    move_kernels = _is_served(mask)
    if mask.dtype == np.bool_:
        mask = plain_mask(mask)
    if move_kernels is None or mask.ndim == 0:
        return np.array(mask.nonzero(), _INDEX)
    count = int(np.count_nonzero(mask))
    out = np.empty((mask.ndim, count), _INDEX)
    if mask.ndim == 1:
        move_kernels.select_kernel("places", 8)(mask.size, count, mask, None, out)
        return out
    last = out[-2:]
    move_kernels.coordinates_kernel()(prod(mask.shape[:-1]), mask.shape[-1], count, mask, last)
    for dim in range(mask.ndim - 2, 0, -1):
        np.divmod(out[dim], mask.shape[dim], out=(out[dim - 1], out[dim]))
    return out


def swap_in_turn(numbers: np.ndarray, targets: np.ndarray) -> bool:
    """Exchange each of some int64 in turn with the one at its target, where all targets are places among them; whether that was possible."""
    move_kernels = _moving()
    if move_kernels is None or numbers.dtype != _INDEX or targets.dtype != _INDEX or not targets.flags.c_contiguous:
        return False
    move_kernels.swap_kernel()(numbers.size, numbers, targets)
    return True
