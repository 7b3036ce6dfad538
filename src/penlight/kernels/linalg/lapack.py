"""Linear systems and triangular factors by LAPACK. See Note [LAPACK by address] in kernels/linalg/lapack_calls.py."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..numpy_calls import lower
from . import lapack_calls as calls
from .lapack_calls import BLOCK, DOUBLE, INT, LONG, Each, Plan, columns_of, common, entry, finite, given_back, readable

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]

# ----- Systems of equations ---------------------------------------------------------------------------------------------


@lru_cache(512)
def _trsm(
    dtype: Any, batch: Ints, n: int, shape: Ints, upper: bool, left: bool, unit: bool, transposed: bool
) -> Plan | None:
    (m, k), size = shape, dtype.itemsize
    if not m * k:
        return None
    return calls.plan(
        "trsm", dtype, batch, b"L" if left else b"R", b"U" if upper is not transposed else b"L", b"T" if transposed else b"N",
        b"U" if unit else b"N", m, k, entry(dtype, 1.0), Each(size * n * n), n, Each(size * m * k), m,
    )  # fmt: skip


def solve_triangular(A: Array, B: Array, upper: bool, left: bool, unit: bool) -> Array | None:
    """X with A X = B (X A = B if not `left`), reading only one triangle of A; batches broadcast."""
    dtype = B.dtype
    wide = DOUBLE.get(dtype)
    if wide is None or not calls.there():
        return None
    batch = common(A, B)
    matrices, transposed = readable(A, wide, batch)
    found = _trsm(wide, batch, A.shape[-1], B.shape[-2:], upper, left, unit, transposed)
    if found is None:
        return None
    X = columns_of(B, wide, batch)
    found(matrices, X)
    return finite(X, dtype)


@lru_cache(512)
def _solver(name: str, letter: bytes, dtype: Any, batch: Ints, n: int, k: int, pivots: bool) -> Plan | None:
    """The plan of a routine that solves systems by a factorisation."""
    size = dtype.itemsize
    if not n * k:
        return None
    exchanged = (Each(8 * n),) if pivots else ()
    return calls.plan(name, dtype, batch, letter, n, k, Each(size * n * n), n, *exchanged, Each(size * n * k), n, None)


def _whole(pivots: Array, batch: Ints) -> Array:
    """The pivots of a batch as LAPACK's integers."""
    if pivots.shape[:-1] != batch:
        pivots = np.broadcast_to(pivots, (*batch, pivots.shape[-1]))
    return np.ascontiguousarray(pivots, LONG)


def _solved(name: str, letter: bytes, factors: Array, pivots: Array | None, B: Array) -> Array | None:
    dtype = B.dtype
    wide = DOUBLE.get(dtype)
    if wide is None or not calls.there():
        return None
    batch = common(factors, B)
    found = _solver(name, letter, wide, batch, *B.shape[-2:], pivots is not None)
    if found is None:
        return None
    X, matrices = columns_of(B, wide, batch), columns_of(factors, wide, batch)
    if pivots is None:
        found(matrices, X)
    else:
        rows = _whole(pivots, batch)
        found(matrices, rows, X)
    return finite(X, dtype)


def lu_solve(LU: Array, pivots: Array, B: Array, adjoint: bool) -> Array | None:
    """X with A X = B, or with the adjoint of A, from A's LU factorisation."""
    return _solved("getrs", b"C" if adjoint else b"N", LU, pivots, B)


def cholesky_solve(L: Array, B: Array, upper: bool) -> Array | None:
    """X with A X = B from the Cholesky factor of A."""
    return _solved("potrs", b"U" if upper else b"L", L, None, B)


def ldl_solve(LD: Array, pivots: Array, B: Array, hermitian: bool) -> Array | None:
    """X with A X = B from the LDL factorisation of A."""
    return _solved("hetrs" if hermitian and B.dtype.kind == "c" else "sytrs", b"L", LD, pivots, B)


# ----- Triangular factors -----------------------------------------------------------------------------------------------


@lru_cache(256)
def _getrf(dtype: Any, batch: Ints, m: int, n: int) -> Plan | None:
    k = min(m, n)
    return calls.plan("getrf", dtype, batch, m, n, Each(dtype.itemsize * m * n), m, Each(8 * k), Each(8)) if k else None


def lu_factor(A: Array) -> tuple[Array, Array, Array] | None:
    """L and U in one matrix, the pivots (row exchanges, 1-based), and the first zero pivot (1-based; 0 if none)."""
    dtype, batch, (m, n) = A.dtype, A.shape[:-2], A.shape[-2:]
    if dtype not in DOUBLE or not calls.there():
        return None
    found = _getrf(dtype, batch, m, n)
    if found is None:
        return None
    LU, pivots, info = columns_of(A, dtype, batch), np.empty((*batch, min(m, n)), LONG), np.empty(batch, LONG)
    found(LU, pivots, info)
    return given_back(LU, dtype), pivots.astype(INT), info.astype(INT)


@lru_cache(256)
def _laswp(dtype: Any, batch: Ints, m: int, n: int, k: int, back: bool) -> Plan | None:
    """The plan that exchanges rows of m by n matrices by k pivots, or undoes that."""
    if not n * k:
        return None
    return calls.plan("laswp", dtype, batch, n, Each(dtype.itemsize * m * n), m, 1, k, Each(8 * k), -1 if back else 1)


def exchange_rows(pivots: Array, M: Array, back: bool) -> Array | None:
    """M with its rows exchanged by the pivots, or exchanged back."""
    dtype, batch, (m, n) = M.dtype, pivots.shape[:-1], M.shape[-2:]
    if dtype not in DOUBLE or M.shape[:-2] != batch or not calls.there():
        return None
    found = _laswp(dtype, batch, m, n, pivots.shape[-1], back)
    if found is None:
        return None
    X, rows = columns_of(M, dtype, batch), _whole(pivots, batch)
    found(X, rows)
    return given_back(X, dtype)


def permutation_matrix(pivots: Array, one: Array) -> Array | None:
    """P with A = P L U, from the identity."""
    P = exchange_rows(pivots, np.broadcast_to(one, (*pivots.shape[:-1], *one.shape)), False)
    return None if P is None else P.swapaxes(-1, -2)


@lru_cache(256)
def _sytrf(name: str, dtype: Any, batch: Ints, n: int) -> Plan | None:
    if not n:
        return None
    room = BLOCK * n
    return calls.plan(
        name, dtype, batch, b"L", n, Each(dtype.itemsize * n * n), n, Each(8 * n), Each(0, dtype.itemsize * room), room, Each(8)
    )  # fmt: skip


def ldl_factor(A: Array, hermitian: bool) -> tuple[Array, Array, Array] | None:
    """L and D in the lower triangle, the pivots (negative, twice, for a 2 by 2 block of D), the first zero pivot."""
    dtype, batch, n = A.dtype, A.shape[:-2], A.shape[-1]
    if dtype not in DOUBLE or not calls.there():
        return None
    found = _sytrf("hetrf" if hermitian and dtype.kind == "c" else "sytrf", dtype, batch, n)
    if found is None:
        return None
    LD, pivots, info = columns_of(A, dtype, batch), np.empty((*batch, n), LONG), np.empty(batch, LONG)
    work = np.empty(BLOCK * n, dtype)
    found(LD, pivots, work, info)
    np.copyto(LD, 0, where=lower(n, n, -1))
    return given_back(LD, dtype), pivots.astype(INT), info.astype(INT)
