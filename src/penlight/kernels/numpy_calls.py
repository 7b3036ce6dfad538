"""Faster versions of NumPy functions that are written in Python: on small arrays their overhead exceeds the work.

Each returns the same as NumPy's function of that name; `take_along` and `put_along` are `take_along_axis` and `put_along_axis`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from itertools import accumulate
from math import prod
from operator import mul
from typing import Any, TypeVar

import numpy as np

from .copies import contiguous

F = TypeVar("F", bound=Callable[..., Any])
Shape = tuple[int, ...]


def kept(size: Callable[..., int], most: int = 1 << 12, count: int = 64) -> Callable[[F], F]:
    """A decorator for functions that make arrays that nobody writes to: the last `count` of at most `most` elements are cached. `size`
    gives the number of elements for the function's arguments."""

    def decorate(make: F) -> F:
        cached = lru_cache(count)(make)

        @wraps(make)
        def run(*arguments: Any) -> Any:
            return (cached if size(*arguments) <= most else make)(*arguments)

        return run  # type: ignore[return-value]

    return decorate


def contiguous_strides(shape: Shape, itemsize: int) -> Shape:
    """The strides of a contiguous array."""
    return tuple(accumulate((itemsize, *shape[:0:-1]), mul))[::-1] if shape else ()


def broadcast_shapes(a: Shape, b: Shape) -> Shape:
    """The shape that two shapes broadcast to.

    >>> broadcast_shapes((3, 1), (2, 1, 4))
    (2, 3, 4)
    """
    if a == b:
        return a
    if len(a) < len(b):
        a, b = b, a
    lead = len(a) - len(b)
    out = list(a)
    for d, n in enumerate(b, lead):
        if out[d] == 1:
            out[d] = n
        elif n != 1 and n != out[d]:
            raise ValueError(f"shape mismatch: objects of shapes {a} and {b} cannot be broadcast to a single shape")
    return tuple(out)


def broadcasts_to(shape: Shape, target: Shape) -> bool:
    """Whether an array of a shape broadcasts to another shape.

    >>> broadcasts_to((3, 1), (2, 3, 4)), broadcasts_to((2, 3, 4), (3, 1))
    (True, False)
    """
    lead = len(target) - len(shape)
    return lead >= 0 and all([n == 1 or n == m for n, m in zip(shape, target[lead:], strict=True)])


def broadcast_to(array: np.ndarray, shape: Shape) -> np.ndarray:
    """A view broadcast to a larger shape. If the array already has that shape, it is returned itself, and is writable."""
    return array if array.shape == shape else np.broadcast_to(array, shape)


def expand_dims(array: np.ndarray, axis: int) -> np.ndarray:
    """A view with a new dimension of size one before `axis`. The others keep their strides, which `reshape` may change; the new
    one gets the stride that PyTorch gives it, where indexing with None gives 0."""
    shape = array.shape
    if array.flags.c_contiguous:
        out = array.reshape((*shape[:axis], 1, *shape[axis:]))
        if 1 not in shape or (*out.strides[:axis], *out.strides[axis + 1 :]) == array.strides:
            return out
    return array[_NEW_DIM[axis]]


_NEW_DIM = [(*[slice(None)] * axis, None) for axis in range(65)]


def moveaxis(array: np.ndarray, source: int, target: int) -> np.ndarray:
    """A view with one dimension moved to another position."""
    order = list(range(array.ndim))
    order.insert(target % array.ndim, order.pop(source))
    return array.transpose(order)


@kept(lambda shape, axis: prod(shape) // max(shape[axis], 1))
def _bases(shape: Shape, axis: int) -> np.ndarray:
    """The memory offsets of the first elements along an axis, with that axis of size one."""
    inner = prod(shape[axis + 1 :])
    outer = np.arange(prod(shape[:axis]))[:, None] * (shape[axis] * inner)
    return (outer + np.arange(inner)).reshape(*shape[:axis], 1, *shape[axis + 1 :])


def positions(shape: Shape, index: np.ndarray, axis: int) -> Any:
    """Flat offsets, in a contiguous array, of the elements that indices along an axis select; the other dimensions are the array's."""
    inner = prod(shape[axis + 1 :])
    size = prod(shape)
    if size == shape[axis] * inner and inner == 1:
        return index  # one row
    return (index if inner == 1 else index * inner) + _bases(shape, axis)


@kept(lambda rows, columns: rows)
def row_starts(rows: int, columns: int) -> np.ndarray:
    """The flat offset of each row of a contiguous matrix, as a column. Read-only."""
    return np.arange(0, rows * columns, columns)[:, None]


def take_along(array: np.ndarray, index: np.ndarray, axis: int) -> np.ndarray:
    """The elements that indices along an axis select. The indices must be in bounds and not negative.

    >>> take_along(np.array([[5, 6], [7, 8]]), np.array([[1], [0]]), 1)
    array([[6],
           [7]])
    """
    shape, other = array.shape, index.shape
    if not array.flags.c_contiguous or shape[:axis] != other[:axis] or shape[axis + 1 :] != other[axis + 1 :]:
        return np.take_along_axis(array, index, axis)
    return array.take(positions(shape, index, axis))


def put_along(array: np.ndarray, index: np.ndarray, values: Any, axis: int) -> None:
    """Write values into a contiguous array at indices along an axis. The indices must not be negative."""
    array.reshape(-1)[positions(array.shape, index, axis)] = values


@kept(lambda rows, columns, *_: rows * columns)
def lower(rows: int, columns: int, diagonal: int = 0) -> np.ndarray:
    """The mask of a matrix's lower triangle, up to a diagonal. Read-only."""
    return np.tri(rows, columns, diagonal, bool)


@kept(lambda rows, columns, _: rows * columns)
def eye(rows: int, columns: int, dtype: np.dtype) -> np.ndarray:
    """Ones on the diagonal, zeros elsewhere. Read-only."""
    out = np.zeros((rows, columns), dtype)
    out.reshape(-1)[: columns * columns : columns + 1] = 1
    return out


def tril(array: np.ndarray, diagonal: int = 0) -> np.ndarray:
    """The lower triangles of matrices, with zeros above.

    >>> tril(np.ones((2, 2), int))
    array([[1, 0],
           [1, 1]])
    """
    array = contiguous(array)
    return np.where(lower(array.shape[-2], array.shape[-1], diagonal), array, _zero(array.dtype))


def triu(array: np.ndarray, diagonal: int = 0) -> np.ndarray:
    """The upper triangles of matrices, with zeros below."""
    array = contiguous(array)
    return np.where(lower(array.shape[-2], array.shape[-1], diagonal - 1), _zero(array.dtype), array)


@lru_cache(32)
def _zero(dtype: np.dtype) -> np.ndarray:
    return np.zeros((), dtype)


def flip(array: np.ndarray, axes: Shape) -> np.ndarray:
    """A view with some axes reversed."""
    where = [slice(None)] * array.ndim
    for axis in axes:
        where[axis] = slice(None, None, -1)
    return array[tuple(where)]


def roll(array: np.ndarray, shift: int, axis: int) -> np.ndarray:
    """A copy with the elements shifted along one axis; the last ones wrap around to the front.

    >>> roll(np.arange(4), 1, 0)
    array([3, 0, 1, 2])
    """
    n = array.shape[axis]
    out = np.empty(array.shape, array.dtype)
    if not out.size:
        return out
    shift %= n
    lead = (slice(None),) * axis
    out[(*lead, slice(shift, None))] = array[(*lead, slice(0, n - shift))]
    out[(*lead, slice(0, shift))] = array[(*lead, slice(n - shift, None))]
    return out


def tile(array: np.ndarray, times: Shape) -> np.ndarray:
    """The array repeated this many times along each axis; there are at least as many counts as axes.

    >>> tile(np.arange(2), (2, 2))
    array([[0, 1, 0, 1],
           [0, 1, 0, 1]])
    """
    shape = (1,) * (len(times) - array.ndim) + array.shape
    out = np.empty([n for pair in zip(times, shape, strict=True) for n in pair], array.dtype)
    out[...] = array.reshape([n for size in shape for n in (1, size)])
    return out.reshape([t * n for t, n in zip(times, shape, strict=True)])
