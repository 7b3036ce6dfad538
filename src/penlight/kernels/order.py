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
