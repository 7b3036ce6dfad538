"""Reduces gradients to the shapes of their tensors."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..kernels.copies.convert import cast
from ..kernels.reduce import reduce_sum

_BY_BLAS = 1 << 18  # elements
_MANY = 1 << 15  # elements; below, NumPy's own sums are fastest
_FLOAT = np.dtype(np.float32)
_add_up: Any = np.add.reduce  # `ndarray.sum` without its Python wrappers


@lru_cache(64)
def _ones(count: int, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return np.ones(count, dtype)


def sum_to(grad: Any, shape: tuple[int, ...]) -> Any:
    """Sum a gradient (an array) over the dimensions that broadcasting added or expanded.

    The sum over the rows of a matrix, which is the gradient of every bias, is a matrix product with ones: it takes a third of the time of
    NumPy's sum, up to the size at which BLAS starts its threads. From there the summation kernel is as fast, and more accurate.
    """
    if grad.ndim == 2 and len(shape) == 1 and shape[0] == grad.shape[1] != 1:
        dtype = grad.dtype
        if dtype.kind == "f" and dtype.itemsize >= 4:
            if grad.size <= _BY_BLAS:
                return _ones(grad.shape[0], dtype).dot(grad)
            if grad.flags.c_contiguous:
                return reduce_sum(grad, (0,))
    dtype = grad.dtype
    if dtype.itemsize == 2 and dtype.kind in "fV":  # accumulate in float32: in bfloat16, 256 + 1 is 256
        return cast(sum_to(cast(grad, _FLOAT), shape), dtype)
    extra = grad.ndim - len(shape)
    if extra > 0:
        grad = _sum(grad, tuple(range(extra)), False)
    axes = tuple([i for i, n in enumerate(shape) if n == 1 and grad.shape[i] != 1])
    return _sum(grad, axes, True) if axes else grad


def _sum(grad: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if grad.size >= _MANY and grad.dtype.kind == "f":
        return reduce_sum(grad, axes, keepdims)
    return _add_up(grad, axes, None, None, keepdims)


def fitted(grad: Any, shape: tuple[int, ...]) -> Any:
    """A gradient reduced to its leaf's shape; raises PyTorch's error if that is impossible."""
    extra = grad.ndim - len(shape)
    if extra < 0 or any(m not in (1, n) for n, m in zip(grad.shape[extra:], shape)):
        raise RuntimeError(
            f"invalid gradient at index 0 - got {list(grad.shape)} but expected shape compatible with {list(shape)}"
        )
    return sum_to(grad, shape)
