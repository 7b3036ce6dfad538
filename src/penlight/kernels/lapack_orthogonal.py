"""Householder reflectors by LAPACK: QR, and products of reflectors. See Note [LAPACK by address] in lapack_calls.py."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import lapack_calls as calls
from .lapack_calls import BLOCK, DOUBLE, address, columns_of, each, finite, given_back, number

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]
_LONG = np.dtype(np.int64)


def _reflect(A: Array, wide: np.dtype[Any], batch: Ints) -> tuple[Array, Array] | None:
    """R with the reflectors below its diagonal, by columns, and the reflectors' factors."""
    m, n = A.shape[-2:]
    k = min(m, n)
    routine = calls.find("geqrf", wide, 0, 8, batch, k)
    if routine is None:
        return None
    H, tau = columns_of(A, wide, batch), np.empty((*batch, k), wide)
    work, info, room = np.empty(BLOCK * n, wide), np.empty(1, _LONG), number(BLOCK * n)
    words = number(m), number(n), address(H), number(m), address(tau), address(work), room, address(info)
    each(routine, batch, words, (2, wide.itemsize * m * n), (4, wide.itemsize * k))
    return H, tau


def geqrf(A: Array) -> tuple[Array, Array] | None:
    """R above the diagonal and reflectors below it, and the reflectors' factors."""
    wide = DOUBLE.get(A.dtype)
    found = wide and _reflect(A, wide, A.shape[:-2])
    if not found:
        return None
    H, tau = found
    return given_back(H, A.dtype), (tau if tau.dtype is A.dtype else tau.astype(A.dtype))


def _multiply_out(Q: Array, tau: Array, batch: Ints) -> bool:
    """Put the product of reflectors, which are given by columns, in their place; whether that was possible."""
    n, m, k, wide = *Q.shape[-2:], tau.shape[-1], Q.dtype
    routine = calls.find("ungqr" if wide.kind == "c" else "orgqr", wide, 0, 9, batch, n)
    if routine is None:
        return False
    work, info = np.empty(BLOCK * n, wide), np.empty(1, _LONG)
    sizes = number(m), number(n), number(k)
    words = *sizes, address(Q), sizes[0], address(tau), address(work), number(BLOCK * n), address(info)
    each(routine, batch, words, (3, wide.itemsize * m * n), (5, wide.itemsize * k))
    return True


def qr(A: Array, mode: str) -> tuple[Array, Array] | None:
    """Q and R of each matrix; `mode` is "reduced" or "complete", or "r" for R alone."""
    batch, (m, n), dtype = A.shape[:-2], A.shape[-2:], A.dtype
    wide = DOUBLE.get(dtype)
    copy = calls.find("lacpy", wide, 1, 6, batch, min(m, n))
    found = copy and wide and _reflect(A, wide, batch)
    if not found or copy is None or wide is None:
        return None
    H, tau = found
    k = m if mode == "complete" else min(m, n)
    R, size = np.zeros((*batch, n, k), wide), wide.itemsize
    words = b"U", number(min(m, k)), number(n), address(H), number(m), address(R), number(k), 1
    each(copy, batch, words, (3, size * m * n), (5, size * n * k))
    if mode == "r":
        return np.zeros(0, dtype), given_back(R, dtype)
    if k == n:
        Q = H
    elif k < n:
        Q = np.array(H[..., :k, :])
    else:
        Q = np.zeros((*batch, k, m), wide)
        Q[..., :n, :] = H
    if not _multiply_out(Q, tau, batch):
        return None
    return given_back(Q, dtype), given_back(R, dtype)


def householder_product(A: Array, tau: Array) -> Array | None:
    """The first columns, as many as A has, of the product of its reflectors."""
    wide, batch = DOUBLE.get(A.dtype), A.shape[:-2]
    if wide is None or not tau.size:
        return None
    Q = columns_of(A, wide, batch)
    return finite(Q, A.dtype) if _multiply_out(Q, np.ascontiguousarray(tau, wide), batch) else None


def ormqr(A: Array, tau: Array, C: Array, left: bool, transpose: bool) -> Array | None:
    """The product of all reflectors, or its adjoint, times C, or C times that."""
    wide, batch = DOUBLE.get(A.dtype), A.shape[:-2]
    words = 2
    name = "unmqr" if wide is not None and wide.kind == "c" else "ormqr"
    routine = calls.find(name, wide, words, 11, batch, tau.size and C.size)
    if routine is None or wide is None:
        return None
    H, factors, X = columns_of(A, wide, batch), np.ascontiguousarray(tau, wide), columns_of(C, wide, batch)
    (rows, width), k, (m, n), size = A.shape[-2:], tau.shape[-1], C.shape[-2:], wide.itemsize
    room = BLOCK * (max(m, n) + BLOCK + 1)
    work, info = np.empty(room, wide), np.empty(1, _LONG)
    turn = b"N" if not transpose else b"C" if wide.kind == "c" else b"T"
    each(
        routine, batch,
        (b"L" if left else b"R", turn, number(m), number(n), number(k), address(H), number(rows), address(factors), address(X), number(m),
         address(work), number(room), address(info), 1, 1),
        (5, size * rows * width), (7, size * k), (8, size * m * n),
    )  # fmt: skip
    return finite(X, A.dtype)
