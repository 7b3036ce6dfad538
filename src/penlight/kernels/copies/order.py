"""Arrays that fill their memory without gaps, but not in the order of their dimensions, as transposed ones do: elementwise kernels see them in that order."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

Order = tuple[tuple[int, ...], tuple[int, ...]]


@lru_cache(1024)
def _order(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> Order | None:
    order = sorted(range(len(shape)), key=lambda d: (-strides[d], shape[d] > 1))
    step = itemsize
    for d in reversed(order):
        if shape[d] != 1 and strides[d] != step:
            return None
        step *= shape[d]
    return tuple(order), tuple(sorted(range(len(order)), key=order.__getitem__))


def order_of(array: np.ndarray) -> Order | None:
    """The order of an array's dimensions in memory, and the way back; None if there are gaps.

    >>> order_of(np.zeros((2, 3, 4)).transpose(2, 0, 1))
    ((1, 2, 0), (2, 0, 1))
    """
    return _order(array.shape, array.strides, array.itemsize)


def in_memory_order(kernel: Callable[..., Any], array: np.ndarray, *rest: Any) -> Any:
    """`kernel(array, *rest)` of an elementwise kernel, which sees a dense array in the order of memory, so that its results have it too."""
    order = order_of(array)
    if order is None:
        return kernel(array, *rest)
    found = kernel(array.transpose(order[0]), *rest)
    return tuple([part.transpose(order[1]) for part in found]) if type(found) is tuple else found.transpose(order[1])


# Note [Copies of expanded arrays]
# A copy of an array with gaps has its dimensions in the order of their steps. A dimension that was expanded has step 0 and so no place in that order:
# PyTorch leaves it where it is among its neighbours, NumPy's copies (`astype`, `np.array`) make it the innermost.


@lru_cache(1024)
def _steps_order(shape: tuple[int, ...], strides: tuple[int, ...]) -> Order:
    """PyTorch's order of the dimensions, the outermost first, and the way back: an insertion sort that passes over steps of 0."""
    inner = list(range(len(shape) - 1, -1, -1))
    for last in range(1, len(inner)):
        place = last
        for before in range(last - 1, -1, -1):
            a, b = inner[before], inner[place]
            if not strides[a] or not strides[b]:
                continue
            if strides[a] > strides[b] or (strides[a] == strides[b] and shape[a] > shape[b]):
                inner[before], inner[place], place = b, a, before
            elif strides[a] < strides[b]:
                break
    order = tuple(reversed(inner))
    return order, tuple(sorted(range(len(order)), key=order.__getitem__))


def empty_like_expanded(array: np.ndarray, dtype: Any = None) -> np.ndarray:
    """Memory for a copy of an array some of whose steps are 0. See Note [Copies of expanded arrays].

    >>> empty_like_expanded(np.broadcast_to(np.zeros(3), (2, 3))).strides
    (24, 8)
    """
    order, back = _steps_order(array.shape, array.strides)
    return np.empty([array.shape[d] for d in order], array.dtype if dtype is None else dtype).transpose(back)


def astype(array: np.ndarray, dtype: Any) -> np.ndarray:
    """A copy in another dtype. See Note [Copies of expanded arrays]."""
    if 0 in array.strides:
        out = empty_like_expanded(array, dtype)
        out[...] = array
        return out
    return array.astype(dtype)
