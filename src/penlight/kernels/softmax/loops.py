"""Softmax and cosines along a dimension of small arrays, as loops in machine code; see Note [Compiled loops] in native/loops.py.

Arrays are (outer, size, inner), and `size` is the dimension. Functions give None where NumPy has to do it.
"""

from __future__ import annotations

import math
from math import prod

import numpy as np

from ..native.loops import Floats, run_of

_MOST = 1 << 12  # elements; for more, exponentials of several numbers at once are quicker
_DOUBLE = np.dtype(np.float64)


def _softmax(begin: int, end: int, x: Floats, out: Floats, size: int, inner: int, *, logs: bool) -> None:
    for row in range(begin, end):
        start = row // inner * size * inner + row % inner
        stop = start + size * inner
        top = -math.inf
        for i in range(start, stop, inner):
            top = x[i] if x[i] != x[i] else max(top, x[i])
        total = 0.0
        for i in range(start, stop, inner):
            value = math.exp(x[i] - top)
            total += value
            if not logs:
                out[i] = value
        if logs:
            total = math.log(total)
        for i in range(start, stop, inner):
            if logs:
                out[i] = x[i] - top - total
            else:
                out[i] /= total


def _cosines(begin: int, end: int, x: Floats, y: Floats, out: Floats, size: int, inner: int, eps: float) -> None:
    for row in range(begin, end):
        start = row // inner * size * inner + row % inner
        stop = start + size * inner
        a, b = 0.0, 0.0
        for i in range(start, stop, inner):
            a += x[i] * x[i]
            b += y[i] * y[i]
        a, b = max(math.sqrt(a), eps), max(math.sqrt(b), eps)
        total = 0.0
        for i in range(start, stop, inner):
            total += (x[i] / a) * (y[i] / b)
        out[row] = total


def softmax(x: np.ndarray, dim: int, logs: bool) -> np.ndarray | None:
    """Softmax of a small array of float64, or its logarithm."""
    if x.dtype != _DOUBLE or not 0 < x.size <= _MOST or type(x) is not np.ndarray:
        return None
    run = run_of(_softmax, x.dtype, logs=logs)
    if run is None:
        return None
    x = x if x.flags.c_contiguous else np.ascontiguousarray(x)
    out = np.empty(x.shape, x.dtype)
    size = x.shape[dim]
    run(0, x.size // size, x, out, size, prod(x.shape[dim + 1 :]))
    return out


def cosines(x: np.ndarray, y: np.ndarray, dim: int, eps: float) -> np.ndarray | None:
    """The cosines of the angles between vectors of two small arrays of one shape and dtype."""
    run = run_of(_cosines, x.dtype, True)
    if run is None or not 0 < x.size <= _MOST or type(x) is not np.ndarray or type(y) is not np.ndarray:
        return None
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    out = np.empty(x.shape[:dim] + x.shape[dim + 1 :], x.dtype)
    run(0, out.size, x, y, out, x.shape[dim], prod(x.shape[dim + 1 :]), float(eps))
    return out
