"""NumPy's own LAPACK and BLAS called directly: what NumPy exposes of them comes with 5 to 20 microseconds of Python around it,
and triangular systems, LU factors and reflectors it does not expose at all.

Note [LAPACK by address]
The routines are functions of the shared library that NumPy's modules are linked with; all their arguments are addresses. They
read and write matrices column by column, so each function here lays its arguments out that way, and gives results in that layout.
Arithmetic is in double precision for single precision arguments too, as it is in `np.linalg`, except for factorisations that
NumPy has not. Each function gives None where the routines cannot be had (another BLAS, another system), where a batch is of many
small matrices (for which one call each is slower than NumPy's loops), and where something is singular or not finite: the callers
have a way for all of that.
"""

from __future__ import annotations

from cmath import isfinite
from functools import lru_cache
from math import prod
from struct import Struct
from typing import Any

import numpy as np

from . import parallel
from ._rowtools import quiet
from .native import _pages

Array = np.ndarray[Any, Any]

_LETTERS = {np.dtype(t): letter for t, letter in zip((np.float32, np.float64, np.complex64, np.complex128), "sdcz")}
_DOUBLE = {np.dtype(t): np.dtype(d) for t, d in zip("fdFD", "ddDD")}
_MOST = 64  # matrices of a batch that are handled one by one; more if they are of some size
_SOME = 8
_WORK = 64  # rows of a block, for which LAPACK wants room
_number = lru_cache(1024)(Struct("<q").pack)  # a whole number as LAPACK wants it; never written to
_ONES = {np.dtype(np.float64): Struct("<d").pack(1.0), np.dtype(np.complex128): Struct("<dd").pack(1.0, 0.0)}


@lru_cache(1)
def _library() -> Any:
    return parallel.numpy_library() if _pages.available() else None


@lru_cache(64)
def _routine(name: str, dtype: np.dtype[Any], words: int, rest: int) -> Any:
    """A routine of so many letters first, and other arguments; None if it cannot be had."""
    import ctypes

    function = getattr(_library(), f"scipy_{_LETTERS[dtype]}{name}_64_", None)
    if function is not None:
        # Fortran's compilers expect the lengths of letters behind all arguments.
        function.argtypes = [ctypes.c_char_p] * words + [ctypes.c_void_p] * rest + [ctypes.c_size_t] * words
        function.restype = None
    return function


def _find(name: str, dtype: np.dtype[Any], words: int, rest: int, batch: tuple[int, ...], size: int) -> Any:
    """The routine for matrices of a dtype and size, if it is the one to take for this batch."""
    if dtype not in _LETTERS or not size or (size < _SOME and prod(batch) > _MOST) or 0 in batch:
        return None
    return _routine(name, dtype, words, rest)


@lru_cache(1)
def _reader() -> Any:
    import ctypes

    return ctypes.c_void_p.from_address


def _address(array: Array) -> int:
    place: int = _reader()(id(array) + _pages.DATA_OFFSET).value
    return place


def _by_columns(array: Array, dtype: np.dtype[Any], batch: tuple[int, ...]) -> Array:
    """A copy of matrices that has their columns as its rows."""
    turned = array.swapaxes(-1, -2)
    if array.shape[:-2] != batch:
        turned = np.broadcast_to(turned, (*batch, *turned.shape[-2:]))
    return np.array(turned, dtype, order="C")


def _read(array: Array, dtype: np.dtype[Any], batch: tuple[int, ...]) -> tuple[Array, bool]:
    """Square matrices that are only read, and whether the array has their rows as its rows: then LAPACK sees them transposed."""
    if array.shape[:-2] != batch:
        array = np.broadcast_to(array, (*batch, *array.shape[-2:]))
    if array.flags.c_contiguous:
        return np.ascontiguousarray(array, dtype), True
    return np.ascontiguousarray(array.swapaxes(-1, -2), dtype), False


@quiet
def _given_back(turned: Array, dtype: np.dtype[Any]) -> Array | None:
    """Results that are all finite, the matrices' columns being the array's rows."""
    flat = turned.reshape(-1)
    if not isfinite(
        flat.dot(flat)
    ):  # in one pass and without a temporary; sums that overflow may well go the other way
        return None
    back = turned.swapaxes(-1, -2)
    return back if back.dtype is dtype else back.astype(dtype)


def _batch(a: Array, b: Array) -> tuple[int, ...]:
    first, second = a.shape[:-2], b.shape[:-2]
    return first if first == second else np.broadcast_shapes(first, second)


def solve_triangular(A: Array, B: Array, upper: bool, left: bool, unit: bool) -> Array | None:
    """X with A X = B (X A = B if not `left`), reading one triangle of A only; batches broadcast."""
    batch, n = _batch(A, B), A.shape[-1]
    wide = _DOUBLE.get(B.dtype)
    run = wide and B.size and _find("trsm", wide, 4, 7, batch, n)
    if not run:
        return None
    X = _by_columns(B, wide, batch)  # type: ignore[arg-type]
    matrices, turned = _read(A, wide, batch)  # type: ignore[arg-type]
    words = (
        b"L" if left else b"R",
        b"U" if upper is not turned else b"L",
        b"T" if turned else b"N",
        b"U" if unit else b"N",
    )
    sizes = _number(B.shape[-2]), _number(B.shape[-1]), _ONES[wide]  # type: ignore[index]
    a, b, apart = _address(matrices), _address(X), _number(n)
    for _ in range(prod(batch)):
        run(*words, *sizes, a, apart, b, sizes[0], 1, 1, 1, 1)
        a += matrices.itemsize * n * n
        b += X.itemsize * X.shape[-1] * X.shape[-2]
    return _given_back(X, B.dtype)


def lu_factor(A: Array) -> tuple[Array, Array, Array] | None:
    """L and U in one matrix, the rows exchanged (counted from 1), and the first zero pivot (counted from 1; 0 if none)."""
    *lead, m, n = A.shape
    batch, k = tuple(lead), min(m, n)
    run = _find("getrf", A.dtype, 0, 6, batch, k)
    if not run:
        return None
    LU = _by_columns(A, A.dtype, batch)
    pivots, info = np.empty((*batch, k), np.int64), np.empty(batch, np.int64)
    a, p, i, rows, columns = _address(LU), _address(pivots), _address(info), _number(m), _number(n)
    for _ in range(info.size):
        run(rows, columns, a, rows, p, i)
        a += LU.itemsize * m * n
        p += 8 * k
        i += 8
    return LU.swapaxes(-1, -2), pivots.astype(np.int32), info.astype(np.int32)


def lu_solve(LU: Array, pivots: Array, B: Array, adjoint: bool) -> Array | None:
    """X with A X = B, or with the adjoint of A, from A's LU factorisation."""
    batch, n = _batch(LU, B), LU.shape[-1]
    wide = _DOUBLE.get(B.dtype)
    run = wide and B.size and _find("getrs", wide, 1, 8, batch, n)
    if not run:
        return None
    X, factors = _by_columns(B, wide, batch), _by_columns(LU, wide, batch)  # type: ignore[arg-type]
    rows = np.ascontiguousarray(
        pivots if pivots.shape[:-1] == batch else np.broadcast_to(pivots, (*batch, n)), np.int64
    )
    info, word, size, count = np.empty(1, np.int64), b"C" if adjoint else b"N", _number(n), _number(B.shape[-1])
    a, p, b, i = _address(factors), _address(rows), _address(X), _address(info)
    for _ in range(prod(batch)):
        run(word, size, count, a, size, p, b, size, i, 1)
        a += X.itemsize * n * n
        p += 8 * n
        b += X.itemsize * n * X.shape[-2]
    return _given_back(X, B.dtype)


def cholesky_solve(L: Array, B: Array, upper: bool) -> Array | None:
    """X with A X = B from the Cholesky factor of A."""
    batch, n = _batch(L, B), L.shape[-1]
    wide = _DOUBLE.get(B.dtype)
    run = wide and B.size and _find("potrs", wide, 1, 7, batch, n)
    if not run:
        return None
    X, factors = _by_columns(B, wide, batch), _by_columns(L, wide, batch)  # type: ignore[arg-type]
    info, word, size, count = np.empty(1, np.int64), b"U" if upper else b"L", _number(n), _number(B.shape[-1])
    a, b, i = _address(factors), _address(X), _address(info)
    for _ in range(prod(batch)):
        run(word, size, count, a, size, b, size, i, 1)
        a += X.itemsize * n * n
        b += X.itemsize * n * X.shape[-2]
    return _given_back(X, B.dtype)


def householder_product(A: Array, tau: Array) -> Array | None:
    """The first columns, as many as A has, of the product of its reflectors."""
    *lead, m, n = A.shape
    batch, k = tuple(lead), tau.shape[-1]
    wide = _DOUBLE.get(A.dtype)
    run = wide and k and _find("ungqr" if wide.kind == "c" else "orgqr", wide, 0, 9, batch, n)
    if not run:
        return None
    Q, factors = _by_columns(A, wide, batch), np.ascontiguousarray(tau, wide)  # type: ignore[arg-type]
    room = _WORK * n
    work, info = np.empty(room, wide), np.empty(1, np.int64)
    sizes, rows, length = (_number(m), _number(n), _number(k)), _number(m), _number(room)
    a, t, w, i = _address(Q), _address(factors), _address(work), _address(info)
    for _ in range(prod(batch)):
        run(*sizes, a, rows, t, w, length, i)
        a += Q.itemsize * m * n
        t += Q.itemsize * k
    return _given_back(Q, A.dtype)


def ldl_factor(A: Array, hermitian: bool) -> tuple[Array, Array, Array] | None:
    """L and D in the lower triangle, the rows exchanged (negative, twice, for a 2 by 2 block of D), the first zero pivot."""
    batch, n = A.shape[:-2], A.shape[-1]
    run = _find("hetrf" if hermitian and A.dtype.kind == "c" else "sytrf", A.dtype, 1, 7, batch, n)
    if not run:
        return None
    LD = _by_columns(A, A.dtype, batch)
    pivots, info, work = np.empty((*batch, n), np.int64), np.empty(batch, np.int64), np.empty(_WORK * n, A.dtype)
    a, p, i, w, size, length = (
        _address(LD),
        _address(pivots),
        _address(info),
        _address(work),
        _number(n),
        _number(_WORK * n),
    )
    for _ in range(info.size):
        run(b"L", size, a, size, p, w, length, i, 1)
        a += LD.itemsize * n * n
        p += 8 * n
        i += 8
    return LD.swapaxes(-1, -2), pivots.astype(np.int32), info.astype(np.int32)
