"""Householder reflectors by LAPACK, and their products. See Note [LAPACK by address] in kernels/linalg/lapack_calls.py."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from . import lapack_calls as calls
from .lapack_calls import BLOCK, DOUBLE, Each, Plan, columns_of, finite, given_back

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]


@lru_cache(256)
def _geqrf(dtype: Any, batch: Ints, m: int, n: int) -> Plan | None:
    size, k = dtype.itemsize, min(m, n)
    if not k:
        return None
    return calls.plan(
        "geqrf", dtype, batch, m, n, Each(size * m * n), m, Each(size * k), Each(0, size * BLOCK * n), BLOCK * n, None
    )  # fmt: skip


def geqrf(A: Array) -> tuple[Array, Array] | None:
    """R above the diagonal and reflectors below it, and the reflectors' factors."""
    dtype, batch, (m, n) = A.dtype, A.shape[:-2], A.shape[-2:]
    wide = DOUBLE.get(dtype)
    if wide is None or not calls.there():
        return None
    found = _geqrf(wide, batch, m, n)
    if found is None:
        return None
    H, tau, work = columns_of(A, wide, batch), np.empty((*batch, min(m, n)), wide), np.empty(BLOCK * n, wide)
    found(H, tau, work)
    return given_back(H, dtype), tau.astype(dtype, copy=False)


@lru_cache(256)
def _orgqr(dtype: Any, batch: Ints, m: int, n: int, k: int) -> Plan | None:
    size = dtype.itemsize
    if not k:
        return None
    return calls.plan(
        "ungqr" if dtype.kind == "c" else "orgqr", dtype, batch, m, n, k, Each(size * m * n), m, Each(size * k),
        Each(0, size * BLOCK * n), BLOCK * n, None,
    )  # fmt: skip


def _multiply_out(Q: Array, tau: Array, batch: Ints) -> bool:
    """Overwrite column-major reflectors by their product; return whether that was possible."""
    n, m = Q.shape[-2:]
    found = _orgqr(Q.dtype, batch, m, n, tau.shape[-1])
    if found is None:
        return False
    work = np.empty(BLOCK * n, Q.dtype)
    found(Q, tau, work)
    return True


def householder_product(A: Array, tau: Array) -> Array | None:
    """The leading columns, as many as A has, of the product of its reflectors."""
    dtype, batch = A.dtype, A.shape[:-2]
    wide = DOUBLE.get(dtype)
    if wide is None or not calls.there():
        return None
    Q = columns_of(A, wide, batch)
    return finite(Q, dtype) if _multiply_out(Q, np.ascontiguousarray(tau, wide), batch) else None


@lru_cache(256)
def _ormqr(dtype: Any, batch: Ints, shape: Ints, k: int, other: Ints, left: bool, transpose: bool) -> Plan | None:
    (rows, width), (m, n), size = shape, other, dtype.itemsize
    if not k * m * n:
        return None
    name, transposed = ("unmqr", b"C") if dtype.kind == "c" else ("ormqr", b"T")
    return calls.plan(
        name, dtype, batch, b"L" if left else b"R", transposed if transpose else b"N", m, n, k, Each(size * rows * width), rows, Each(size * k),
        Each(size * m * n), m, Each(0, size * _room(m, n)), _room(m, n), None,
    )  # fmt: skip


def _room(m: int, n: int) -> int:
    return BLOCK * (max(m, n) + BLOCK + 1)


def ormqr(A: Array, tau: Array, C: Array, left: bool, transpose: bool) -> Array | None:
    """The product of all reflectors, or its adjoint, times C, or C times that."""
    dtype, batch = A.dtype, A.shape[:-2]
    wide = DOUBLE.get(dtype)
    if wide is None or not calls.there():
        return None
    found = _ormqr(wide, batch, A.shape[-2:], tau.shape[-1], C.shape[-2:], left, transpose)
    if found is None:
        return None
    H, factors, X = columns_of(A, wide, batch), np.ascontiguousarray(tau, wide), columns_of(C, wide, batch)
    work = np.empty(_room(*C.shape[-2:]), wide)
    found(H, factors, X, work)
    return finite(X, dtype)
