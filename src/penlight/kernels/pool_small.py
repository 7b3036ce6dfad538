"""Pooling of small batches of images by windows that tile them, in as few calls of NumPy as there can be.

The usual windows do not overlap and leave nothing over. Then a batch (N, C, H, W) is (N, C, h, kh, w, kw), and the windows are two
of its dimensions. Each function returns None for everything else, which `kernels/pool.py` does.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

SMALL = 8192
_CODES = [np.uint8(k) for k in range(1, 16)]
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
Ints = tuple[int, ...]


def _tiles(shape: Ints, dtype: np.dtype, kernel: Ints, stride: Ints, padding: Ints) -> bool:
    return (
        len(kernel) == 2
        and len(shape) == 4
        and kernel == stride
        and padding == (0, 0)
        and shape[2] % kernel[0] == 0
        and shape[3] % kernel[1] == 0
        and dtype in _FLOATS
        and 0 not in shape
    )


@lru_cache(64)
def _places(shape: Ints, kernel: Ints) -> tuple[np.ndarray, np.ndarray]:
    """Where each window begins in the plane, and how far each of its elements lies from there."""
    height, width = shape
    kh, kw = kernel
    corners = np.arange(0, height, kh)[:, None] * width + np.arange(0, width, kw)
    return corners, (np.arange(kh)[:, None] * width + np.arange(kw)).reshape(-1)


@lru_cache(64)
def _planes(count: int, size: int) -> np.ndarray:
    return np.arange(count)[:, None] * size


def max_pool(x: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> tuple[Any, Any] | None:
    """The largest element of each window, and its position in the flattened plane."""
    if dilation != (1, 1) or not _tiles(x.shape, x.dtype, kernel, stride, padding):
        return None
    n, c, height, width = x.shape
    kh, kw = kernel
    if not 1 < kh * kw <= 16:
        return None
    taps = x.reshape(n, c, height // kh, kh, width // kw, kw).transpose(3, 5, 0, 1, 2, 4)
    taps = taps.reshape(kh * kw, n, c, height // kh, width // kw)  # a copy: each element of all windows in one row
    values = taps[0]
    best: Any = None
    for code, tap in zip(_CODES, taps[1:]):
        larger = np.greater(tap, values).view(np.uint8)
        values = np.maximum(values, tap)
        larger *= code
        best = larger if best is None else np.maximum(best, larger, out=best)
    if np.isnan(np.maximum.reduce(values, None)):
        return None  # of several NaNs the last counts
    corners, offsets = _places((height, width), kernel)
    indices = offsets.take(best)
    indices += corners
    return values, indices


def max_pool_backward(grad: np.ndarray, indices: np.ndarray, shape: Ints) -> np.ndarray | None:
    """Each gradient at the place it came from, where no place gets two."""
    if grad.dtype not in _FLOATS or not grad.size:
        return None
    result = np.zeros(shape, grad.dtype)
    planes = shape[0] * shape[1]
    at = indices.reshape(planes, -1) + _planes(planes, result.size // planes)
    result.reshape(-1)[at] = grad.reshape(planes, -1)
    return result


def avg_pool(x: np.ndarray, kernel: Ints, stride: Ints, padding: Ints) -> np.ndarray | None:
    """The mean of each window."""
    if not _tiles(x.shape, x.dtype, kernel, stride, padding):
        return None
    kh, kw = kernel
    total = x[..., ::kw] + x[..., 1::kw] if kw > 1 else x
    for k in range(2, kw):
        total += x[..., k::kw]
    result = total[:, :, ::kh] + total[:, :, 1::kh] if kh > 1 else total
    for k in range(2, kh):
        result += total[:, :, k::kh]
    return result / (kh * kw)


def avg_pool_backward(grad: np.ndarray, shape: Ints, kernel: Ints, stride: Ints, padding: Ints) -> np.ndarray | None:
    """Each element's share of its window's gradient."""
    if not _tiles(shape, grad.dtype, kernel, stride, padding):
        return None
    n, c, height, width = shape
    kh, kw = kernel
    result = np.empty((n, c, height // kh, kh, width // kw, kw), grad.dtype)
    result[...] = (grad / (kh * kw)).reshape(n, c, height // kh, 1, width // kw, 1)
    return result.reshape(shape)
