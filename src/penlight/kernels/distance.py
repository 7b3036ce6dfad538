"""Distances between all pairs of rows as loops in machine code, see Note [Compiled loops] in native/loops.py. The same in NumPy: ops/distance.py."""

from __future__ import annotations

import math

import numpy as np

from .native.loops import Floats, fma, run_of
from .waiting_threads import over

_GRAIN = 1 << 16  # differences that are worth waking a thread for
_MOST = 1 << 17  # numbers in all pairs of rows; for more, a product of matrices makes the gradient sooner


def _all_pairs(begin: int, end: int, x: Floats, out: Floats, rows: int, columns: int, *, squared: bool) -> None:
    """Two rows at a time against an earlier one, whose numbers are read once for both. The last may have to be both."""
    whole = columns // 4 * 4
    for first in range(begin, end):
        start = first * columns
        place = first * (2 * rows - first - 1) // 2
        second = first + 1
        while second < rows:
            m = second * columns
            n = m
            if second + 1 < rows:
                n = m + columns
            a, b, c, d = 0.0, 0.0, 0.0, 0.0
            for k in range(start, start + whole, 4):
                p = x[k]
                q = p - x[m]
                a = fma(q, q, a) if squared else a + abs(q)
                q = p - x[n]
                c = fma(q, q, c) if squared else c + abs(q)
                p = x[k + 1]
                q = p - x[m + 1]
                b = fma(q, q, b) if squared else b + abs(q)
                q = p - x[n + 1]
                d = fma(q, q, d) if squared else d + abs(q)
                p = x[k + 2]
                q = p - x[m + 2]
                a = fma(q, q, a) if squared else a + abs(q)
                q = p - x[n + 2]
                c = fma(q, q, c) if squared else c + abs(q)
                p = x[k + 3]
                q = p - x[m + 3]
                b = fma(q, q, b) if squared else b + abs(q)
                q = p - x[n + 3]
                d = fma(q, q, d) if squared else d + abs(q)
                m += 4
                n += 4
            for k in range(start + whole, start + columns):
                p = x[k]
                q = p - x[m]
                a = fma(q, q, a) if squared else a + abs(q)
                q = p - x[n]
                c = fma(q, q, c) if squared else c + abs(q)
                m += 1
                n += 1
            out[place] = math.sqrt(a + b) if squared else a + b
            if second + 1 < rows:
                out[place + 1] = math.sqrt(c + d) if squared else c + d
            place += 2
            second += 2


def _euclid_back(
    begin: int, end: int, grad: Floats, x: Floats, result: Floats, out: Floats, rows: int, columns: int
) -> None:
    for i in range(rows * columns):
        out[i] = 0.0
    place = 0
    for first in range(begin, end):
        start = first * columns
        for second in range(first + 1, rows):
            scale = 0.0
            if result[place] != 0.0:
                scale = grad[place] / result[place]
            place += 1
            m = second * columns
            for k in range(start, start + columns):
                push = scale * (x[k] - x[m])
                out[k] += push
                out[m] -= push
                m += 1


def all_pairs(x: np.ndarray, p: float) -> np.ndarray | None:
    """The distances between all pairs of rows of a contiguous matrix: 0 to 1, 0 to 2, ..., 1 to 2, ...

    None where NumPy has to do it, as for norms other than 1 and 2.
    """
    if p not in (1, 2):
        return None
    run = run_of(_all_pairs, x.dtype, squared=p == 2)
    if run is None or not x.size or type(x) is not np.ndarray or not x.flags.c_contiguous:
        return None
    rows, columns = x.shape
    out = np.empty(rows * (rows - 1) // 2, x.dtype)
    over(run, rows, _GRAIN // (rows * columns) + 1, x, out, rows, columns)
    return out


def euclid_backward(grad: np.ndarray, x: np.ndarray, result: np.ndarray) -> np.ndarray | None:
    """The gradient of Euclidean distances between all pairs of a few rows; rows that are equal don't push each other."""
    run = run_of(_euclid_back, x.dtype)
    rows, columns = x.shape
    if run is None or not 0 < rows * rows * columns <= _MOST:
        return None
    for array in (grad, x, result):
        if type(array) is not np.ndarray or array.dtype != x.dtype:
            return None
    grad, x, result = [np.ascontiguousarray(array) for array in (grad, x, result)]
    if not grad.size == result.size == rows * (rows - 1) // 2:
        return None
    out = np.empty(x.shape, x.dtype)
    run(0, rows, grad, x, result, out, rows, columns)
    return out
