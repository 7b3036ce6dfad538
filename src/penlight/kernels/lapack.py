"""Systems of equations and triangular factors by LAPACK. See Note [LAPACK by address] in lapack_calls.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import lapack_calls as calls
from .lapack_calls import BLOCK, DOUBLE, address, columns_of, common, each, entry, finite, given_back, number, readable

Array = np.ndarray[Any, Any]
_INT, _LONG = np.dtype(np.int32), np.dtype(np.int64)


def solve_triangular(A: Array, B: Array, upper: bool, left: bool, unit: bool) -> Array | None:
    """X with A X = B (X A = B if not `left`), reading one triangle of A only; batches broadcast."""
    batch, n = common(A, B), A.shape[-1]
    wide = DOUBLE.get(B.dtype)
    routine = calls.find("trsm", wide, 4, 7, batch, n)
    if routine is None or wide is None or not B.size:
        return None
    X = columns_of(B, wide, batch)
    matrices, turned = readable(A, wide, batch)
    m, k = B.shape[-2:]
    rows, size = number(m), wide.itemsize
    words = (
        b"L" if left else b"R",
        b"U" if upper is not turned else b"L",
        b"T" if turned else b"N",
        b"U" if unit else b"N",
    )
    each(
        routine, batch, (*words, rows, number(k), entry(wide, 1.0), address(matrices), number(n), address(X), rows, 1, 1, 1, 1),
        (7, size * n * n), (9, size * m * k),
    )  # fmt: skip
    return finite(X, B.dtype)


def lu_factor(A: Array) -> tuple[Array, Array, Array] | None:
    """L and U in one matrix, the rows exchanged (counted from 1), and the first zero pivot (counted from 1; 0 if none)."""
    batch, (m, n), dtype = A.shape[:-2], A.shape[-2:], A.dtype
    k = min(m, n)
    routine = calls.find("getrf", dtype, 0, 6, batch, k)
    if routine is None:
        return None
    LU = columns_of(A, dtype, batch)
    pivots, info = np.empty((*batch, k), _LONG), np.empty(batch, _LONG)
    words = number(m), number(n), address(LU), number(m), address(pivots), address(info)
    each(routine, batch, words, (2, dtype.itemsize * m * n), (4, 8 * k), (5, 8))
    return given_back(LU, dtype), pivots.astype(_INT), info.astype(_INT)


def _solved_by(routine: Any, first: tuple[Any, ...], factors: Array, extra: tuple[Array, int] | None, X: Array) -> None:
    """Call a routine that solves systems with a factorisation; `extra` are pivots, and how many bytes of them a matrix has."""
    n, k, size = X.shape[-1], X.shape[-2], X.itemsize
    info, rows, place = np.empty(1, _LONG), number(n), len(first)
    words: tuple[Any, ...] = (*first, rows, number(k), address(factors), rows)
    going = [(place + 2, size * n * n)]
    if extra is not None:
        going.append((len(words), extra[1]))
        words = (*words, address(extra[0]))
    going.append((len(words), size * n * k))
    each(routine, X.shape[:-2], (*words, address(X), rows, address(info), 1), *going)


def _whole(pivots: Array, batch: tuple[int, ...]) -> tuple[Array, int]:
    """Pivots of a batch as LAPACK's numbers, and how many bytes each matrix has of them."""
    n = pivots.shape[-1]
    if pivots.shape[:-1] != batch:
        pivots = np.broadcast_to(pivots, (*batch, n))
    return np.ascontiguousarray(pivots, _LONG), 8 * n


def lu_solve(LU: Array, pivots: Array, B: Array, adjoint: bool) -> Array | None:
    """X with A X = B, or with the adjoint of A, from A's LU factorisation."""
    batch = common(LU, B)
    wide = DOUBLE.get(B.dtype)
    routine = calls.find("getrs", wide, 1, 8, batch, B.size)
    if routine is None or wide is None:
        return None
    X, factors = columns_of(B, wide, batch), columns_of(LU, wide, batch)
    _solved_by(routine, (b"C" if adjoint else b"N",), factors, _whole(pivots, batch), X)
    return finite(X, B.dtype)


def cholesky_solve(L: Array, B: Array, upper: bool) -> Array | None:
    """X with A X = B from the Cholesky factor of A."""
    batch = common(L, B)
    wide = DOUBLE.get(B.dtype)
    routine = calls.find("potrs", wide, 1, 7, batch, B.size)
    if routine is None or wide is None:
        return None
    X, factors = columns_of(B, wide, batch), columns_of(L, wide, batch)
    _solved_by(routine, (b"U" if upper else b"L",), factors, None, X)
    return finite(X, B.dtype)


def ldl_solve(LD: Array, pivots: Array, B: Array, hermitian: bool) -> Array | None:
    """X with A X = B from the LDL factorisation of A."""
    batch = common(LD, B)
    wide = DOUBLE.get(B.dtype)
    name = "hetrs" if hermitian and wide is not None and wide.kind == "c" else "sytrs"
    routine = calls.find(name, wide, 1, 8, batch, B.size)
    if routine is None or wide is None:
        return None
    X, factors = columns_of(B, wide, batch), columns_of(LD, wide, batch)
    _solved_by(routine, (b"L",), factors, _whole(pivots, batch), X)
    return finite(X, B.dtype)


def ldl_factor(A: Array, hermitian: bool) -> tuple[Array, Array, Array] | None:
    """L and D in the lower triangle, the rows exchanged (negative, twice, for a 2 by 2 block of D), the first zero pivot."""
    batch, n, dtype = A.shape[:-2], A.shape[-1], A.dtype
    routine = calls.find("hetrf" if hermitian and dtype.kind == "c" else "sytrf", dtype, 1, 7, batch, n)
    if routine is None:
        return None
    LD = columns_of(A, dtype, batch)
    pivots, info, work = np.empty((*batch, n), _LONG), np.empty(batch, _LONG), np.empty(BLOCK * n, dtype)
    rows = number(n)
    words = b"L", rows, address(LD), rows, address(pivots), address(work), number(BLOCK * n), address(info), 1
    each(routine, batch, words, (2, dtype.itemsize * n * n), (4, 8 * n), (7, 8))
    _clear(LD, batch, lower=False)
    return given_back(LD, dtype), pivots.astype(_INT), info.astype(_INT)


def cholesky(A: Array, upper: bool) -> Array | None:
    """The triangular factors; NaNs for what is not positive definite."""
    batch, n, dtype = A.shape[:-2], A.shape[-1], A.dtype
    wide = DOUBLE.get(dtype)
    routine = calls.find("potrf", wide, 1, 4, batch, n)
    if routine is None or wide is None:
        return None
    L, info, rows = columns_of(A, wide, batch), np.empty(batch, _LONG), number(n)
    words = b"U" if upper else b"L", rows, address(L), rows, address(info), 1
    each(routine, batch, words, (2, wide.itemsize * n * n), (4, 8))
    if info.any() if batch else info.item():
        L[info != 0] = np.nan
    _clear(L, batch, lower=upper)
    return given_back(L, dtype)


_NOTHING = {dtype: np.zeros((), dtype) for dtype in DOUBLE}


def _clear(turned: Array, batch: tuple[int, ...], lower: bool) -> None:
    """Zeros below the diagonals of square matrices, or above, their columns being the array's rows."""
    n, dtype = turned.shape[-1], turned.dtype
    routine = calls.find("laset", dtype, 1, 6, batch, n - 1)
    if routine is None:
        return
    size, zero, less = dtype.itemsize, address(_NOTHING[dtype]), number(n - 1)
    first = address(turned) + (size if lower else size * n)
    words = b"L" if lower else b"U", less, less, zero, zero, first, number(n), 1
    each(routine, batch, words, (5, size * n * n))
