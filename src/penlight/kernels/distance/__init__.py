"""Distances between all pairs of rows, and cosine similarities, as compiled loops, see Note [Compiled loops] in compiler/loops.py.

Functions return None if ops/nn/distance.py has to do the work, in NumPy.
"""

from __future__ import annotations

import math
from math import prod

import numpy as np

from ..compiler.loops import Floats, checked, compile_loops, reassociated
from ..waiting_threads import over

_GRAIN = 1 << 16  # differences per thread, at least
_MOST_PAIRS = 1 << 17  # elements of all pairs of rows; for more, a matrix product computes the gradient faster
_MOST_COSINES = 1 << 12  # elements; for more, NumPy's passes are faster


def _all_pairs(
    begin: int, end: int, x: Floats, out: Floats, rows: int, columns: int, pairs: int, *, squared: bool
) -> None:
    for first in range(begin, end):
        for second in range(first + 1, rows):
            total = 0.0
            for k in reassociated(range(columns)):
                distance = x[first * columns + k] - x[second * columns + k]
                total += distance * distance if squared else abs(distance)
            pair = first * (2 * rows - first - 1) // 2 + second - first - 1
            out[checked(pair, pairs)] = math.sqrt(total) if squared else total


def _euclid_back(
    begin: int, end: int, grad: Floats, x: Floats, result: Floats, out: Floats, rows: int, columns: int, pairs: int
) -> None:
    for i in range(rows * columns):
        out[i] = 0.0
    pair = 0
    for first in range(begin, end):
        start = first * columns
        for second in range(first + 1, rows):
            at = checked(pair, pairs)
            scale = 0.0
            if result[at] != 0.0:
                scale = grad[at] / result[at]
            pair += 1
            m = second * columns
            for k in range(columns):
                push = scale * (x[start + k] - x[m + k])
                out[start + k] += push
                out[m + k] -= push


def all_pairs(x: np.ndarray, p: float) -> np.ndarray | None:
    """The distances between all pairs of rows of a contiguous matrix: 0 to 1, 0 to 2, ..., 1 to 2, ...

    None if NumPy has to do it, as for norms other than 1 and 2.
    """
    if p not in (1, 2):
        return None
    run = compile_loops(_all_pairs, x.dtype, squared=p == 2)
    if run is None or not x.size or type(x) is not np.ndarray or not x.flags.c_contiguous:
        return None
    rows, columns = x.shape
    pairs = rows * (rows - 1) // 2
    if not pairs:
        return np.empty(0, x.dtype)
    out: np.ndarray = over(run, rows, _GRAIN // (rows * columns) + 1, x, (pairs,), rows, columns, pairs)
    return out


def euclid_backward(grad: np.ndarray, x: np.ndarray, result: np.ndarray) -> np.ndarray | None:
    """The gradient of Euclidean distances between all pairs of a few rows; equal rows contribute nothing to each other."""
    run = compile_loops(_euclid_back, x.dtype)
    rows, columns = x.shape
    if run is None or not 0 < rows * rows * columns <= _MOST_PAIRS:
        return None
    for array in (grad, x, result):
        if type(array) is not np.ndarray or array.dtype != x.dtype:
            return None
    grad, x, result = [np.ascontiguousarray(array) for array in (grad, x, result)]
    if not 0 < grad.size == result.size == rows * (rows - 1) // 2:
        return None
    out: np.ndarray = run(0, rows, grad, x, result, x.shape, rows, columns, grad.size)
    return out


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


def cosines(x: np.ndarray, y: np.ndarray, dim: int, eps: float) -> np.ndarray | None:
    """The cosines of the angles between vectors of two small arrays of one shape and dtype."""
    run = compile_loops(_cosines, x.dtype, True)
    if run is None or not 0 < x.size <= _MOST_COSINES or type(x) is not np.ndarray or type(y) is not np.ndarray:
        return None
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    shape = x.shape[:dim] + x.shape[dim + 1 :]
    out: np.ndarray = run(0, prod(x.shape[:dim]), x, y, shape, x.shape[dim], prod(x.shape[dim + 1 :]), float(eps))
    return out
