"""The largest element or the mean of each window of short sequences: a tap of all windows at a time.

For what needs no positions, a few calls of NumPy do that. Functions give None where `kernels/pool/` has to do it.
"""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

_SMALL = 8192  # elements
_MOST = 8  # taps


def _suits(x: np.ndarray, kernel: int) -> bool:
    return x.size <= _SMALL and kernel <= _MOST and x.dtype.char in "fd" and x.flags.c_contiguous


def largest(x: np.ndarray, kernel: int, stride: int, padding: int, dilation: int, count: int) -> np.ndarray | None:
    """The largest elements of `count` windows along the last dimension."""
    if not _suits(x, kernel):
        return None
    size, last = x.shape[-1], (count - 1) * stride + 1
    if not padding and last + dilation * (kernel - 1) <= size:
        return _folded(np.maximum, x, kernel, stride, dilation, last)
    result = np.full((*x.shape[:-1], count), -inf, x.dtype)
    for i in range(kernel):
        first = i * dilation - padding
        low, high = max(0, -(first // stride)), min(count, (size - 1 - first) // stride + 1)
        if low < high:
            part = result[..., low:high]
            np.maximum(part, x[..., first + low * stride : first + (high - 1) * stride + 1 : stride], part)
    return result


def mean(x: np.ndarray, kernel: int, stride: int, count: int) -> np.ndarray | None:
    """The means of `count` windows along the last dimension, which all lie inside."""
    if not _suits(x, kernel):
        return None
    result = _folded(np.add, x, kernel, stride, 1, (count - 1) * stride + 1)
    result /= kernel
    return result


def _folded(function: Any, x: np.ndarray, kernel: int, stride: int, dilation: int, last: int) -> np.ndarray:
    """The taps of windows that lie inside, combined; the last window begins before `last`."""
    result: np.ndarray = x[..., :last:stride]
    if kernel == 1:
        return result.copy()
    result = function(result, x[..., dilation : dilation + last : stride])
    for first in range(2 * dilation, kernel * dilation, dilation):
        function(result, x[..., first : first + last : stride], result)
    return result
