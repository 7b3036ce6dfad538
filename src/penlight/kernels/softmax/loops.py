"""Softmax and cosines along a dimension of small arrays, see Note [Compiled loops] in compiler/loops.py.

Arrays are (outer, size, inner), and `size` is the dimension. Functions give None where NumPy has to do it.
"""

from __future__ import annotations

import math
from math import prod

import numpy as np

from ..compiler.loops import Floats, compile_loops

_MOST = 1 << 12  # elements; for more, exponentials of several numbers at once are quicker
_DOUBLE = np.dtype(np.float64)


def _softmax(begin: int, end: int, x: Floats, out: Floats, size: int, inner: int, *, logs: bool) -> None:
    for outer in range(begin, end):
        for j in range(inner):
            start = outer * size * inner + j
            top = -math.inf
            for i in range(size):
                value = x[start + i * inner]
                top = value if value != value else max(top, value)
            total = 0.0
            for i in range(size):
                value = math.exp(x[start + i * inner] - top)
                total += value
                if not logs:
                    out[start + i * inner] = value
            if logs:
                total = math.log(total)
            for i in range(size):
                if logs:
                    out[start + i * inner] = x[start + i * inner] - top - total
                else:
                    out[start + i * inner] /= total


def _cosines(begin: int, end: int, x: Floats, y: Floats, out: Floats, size: int, inner: int, eps: float) -> None:
    for outer in range(begin, end):
        for j in range(inner):
            start = outer * size * inner + j
            a, b = 0.0, 0.0
            for i in range(size):
                p, q = x[start + i * inner], y[start + i * inner]
                a += p * p
                b += q * q
            a, b = max(math.sqrt(a), eps), max(math.sqrt(b), eps)
            total = 0.0
            for i in range(size):
                total += (x[start + i * inner] / a) * (y[start + i * inner] / b)
            out[outer * inner + j] = total


def softmax(x: np.ndarray, dim: int, logs: bool) -> np.ndarray | None:
    """Softmax of a small array of float64, or its logarithm."""
    if x.dtype != _DOUBLE or not 0 < x.size <= _MOST or type(x) is not np.ndarray:
        return None
    run = compile_loops(_softmax, x.dtype, logs=logs)
    if run is None:
        return None
    x = x if x.flags.c_contiguous else np.ascontiguousarray(x)
    out: np.ndarray = run(0, prod(x.shape[:dim]), x, x.shape, x.shape[dim], prod(x.shape[dim + 1 :]))
    return out


def cosines(x: np.ndarray, y: np.ndarray, dim: int, eps: float) -> np.ndarray | None:
    """The cosines of the angles between vectors of two small arrays of one shape and dtype."""
    run = compile_loops(_cosines, x.dtype, True)
    if run is None or not 0 < x.size <= _MOST or type(x) is not np.ndarray or type(y) is not np.ndarray:
        return None
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    shape = x.shape[:dim] + x.shape[dim + 1 :]
    out: np.ndarray = run(0, prod(x.shape[:dim]), x, y, shape, x.shape[dim], prod(x.shape[dim + 1 :]), float(eps))
    return out
