"""The LDL^T (LDL^H) factorisation of symmetric (Hermitian) matrices with the pivoting of Bunch and Kaufman, as LAPACK's sytrf."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..numpy_warnings import silent
from . import lapack

Array = np.ndarray[Any, Any]

_ALPHA = (1 + math.sqrt(17)) / 8  # bounds the growth of elements


def _size(x: Any) -> Any:
    return np.abs(x.real) + np.abs(x.imag)


def ldl_factor(A: Array, hermitian: bool) -> tuple[Array, Array, Array]:
    """L and D in the lower triangle, the pivots (negative, twice, for a 2 by 2 block of D), the first zero pivot."""
    n = A.shape[-1]
    found = lapack.ldl_factor(A, hermitian)
    if found is not None:
        return found
    LD = np.tril(A)
    flat = LD.reshape(math.prod(A.shape[:-2]), n, n)
    pivots = np.zeros((len(flat), n), np.int32)
    info = np.zeros(len(flat), np.int32)
    with silent():
        for index in range(len(flat)):
            info[index] = _factor(flat[index], pivots[index], hermitian and A.dtype.kind == "c")
    return flat.reshape(A.shape), pivots.reshape(*A.shape[:-2], n), info.reshape(A.shape[:-2])


def _factor(A: Array, pivots: Array, hermitian: bool) -> int:
    n, k, info = len(A), 0, 0
    if hermitian:
        np.fill_diagonal(A, A.diagonal().real)
    while k < n:
        step, other, zero = _choose(A, k)
        if zero:
            info, pivots[k], k = info or k + 1, k + 1, k + 1
            continue
        last = k + step - 1
        if other != last:
            _exchange(A, k, last, other, step, hermitian)
        if step == 1:
            _one(A, k, hermitian)
            pivots[k] = other + 1
        else:
            _two(A, k, hermitian)
            pivots[k] = pivots[k + 1] = -(other + 1)
        k += step
    return info


def _choose(A: Array, k: int) -> tuple[int, int, bool]:
    """The size of the next block of D, the row to move to its end, and whether there are only zeros."""
    n = len(A)
    here = _size(A[k, k])
    column = _size(A[k + 1 :, k])
    top = int(column.argmax()) if k + 1 < n else 0
    largest = column[top] if k + 1 < n else 0.0
    if max(here, largest) == 0 or np.isnan(here):
        return 1, k, True
    if here >= _ALPHA * largest:
        return 1, k, False
    row = k + 1 + top
    beside = max(_size(A[row, k:row]).max(), _size(A[row + 1 :, row]).max(initial=0))
    if here >= _ALPHA * largest * (largest / beside):
        return 1, k, False
    return (1, row, False) if _size(A[row, row]) >= _ALPHA * beside else (2, row, False)


def _exchange(A: Array, k: int, one: int, other: int, step: int, hermitian: bool) -> None:
    """Exchange two rows and columns of the remaining matrix; only the lower triangle is stored."""
    turn = np.conj if hermitian else np.asarray
    A[other + 1 :, [one, other]] = A[other + 1 :, [other, one]]
    column = A[one + 1 : other, one].copy()
    A[one + 1 : other, one] = turn(A[other, one + 1 : other])
    A[other, one + 1 : other] = turn(column)
    A[other, one] = turn(A[other, one])
    A[one, one], A[other, other] = A[other, other], A[one, one]
    if step == 2:
        A[k + 1, k], A[other, k] = A[other, k], A[k + 1, k]


def _one(A: Array, k: int, hermitian: bool) -> None:
    rest = slice(k + 1, None)
    column = A[rest, k] / A[k, k]
    other = A[rest, k].conj() if hermitian else A[rest, k]
    A[rest, rest] -= np.tril(np.multiply.outer(column, other))
    A[rest, k] = column
    if hermitian:
        np.fill_diagonal(A[rest, rest], A[rest, rest].diagonal().real)


def _two(A: Array, k: int, hermitian: bool) -> None:
    rest, both = slice(k + 2, None), slice(k, k + 2)
    D = A[both, both].copy()
    D[0, 1] = D[1, 0].conj() if hermitian else D[1, 0]
    rows = A[rest, both]
    weights = rows @ np.linalg.inv(D)
    A[rest, rest] -= np.tril(weights @ (rows.conj() if hermitian else rows).T)
    A[rest, both] = weights
    if hermitian:
        np.fill_diagonal(A[rest, rest], A[rest, rest].diagonal().real)


def ldl_solve(LD: Array, pivots: Array, B: Array, hermitian: bool) -> Array:
    """X with A X = B from the factorisation of A; batches broadcast."""
    _check_pivots(pivots, LD.shape[-1])
    found = lapack.ldl_solve(LD, pivots, B, hermitian)
    if found is not None:
        return found
    batch = np.broadcast_shapes(LD.shape[:-2], B.shape[:-2])
    n = LD.shape[-1]
    X = np.array(np.broadcast_to(B, (*batch, *B.shape[-2:])))
    count = math.prod(batch)
    each = X.reshape(count, *B.shape[-2:])
    matrices = np.broadcast_to(LD, (*batch, n, n)).reshape(count, n, n)
    exchanged = np.broadcast_to(pivots, (*batch, n)).reshape(count, n)
    with silent():
        for index in range(len(each)):
            _solve(matrices[index], exchanged[index], each[index], hermitian and LD.dtype.kind == "c")
    return each.reshape(X.shape)


def _check_pivots(pivots: Array, n: int) -> None:
    """Refuse pivots that would exchange rows outside the matrix: LAPACK does not check them."""
    if not pivots.size:
        return
    sizes = np.abs(pivots.astype(np.int64))
    wrong = ">= 1" if sizes.min() < 1 else "<= LD.size(-2)" if sizes.max() > n else None
    if wrong is not None:
        raise RuntimeError(
            f"Pivots given to ldl_solve must all satisfy |pivot| {wrong}. Did you properly pass the result of ldl_factor?"
        )
    for row in pivots.reshape(-1, n).tolist():
        k = 0
        while k < n:
            if row[k] < 0 and (k + 1 == n or row[k + 1] > 0):
                raise RuntimeError(
                    "Pivots given to ldl_solve must be negative in pairs. Did you properly pass the result of ldl_factor?"
                )
            k += 1 if row[k] > 0 else 2


def _solve(A: Array, pivots: Array, B: Array, hermitian: bool) -> None:
    """Substitute forward through L and D, then back through L's transpose, exchanging rows on the way."""
    n, k = len(A), 0
    while k < n:
        step = 1 if pivots[k] > 0 else 2
        last, other = k + step - 1, abs(int(pivots[k])) - 1
        B[[last, other]] = B[[other, last]]
        B[k + step :] -= A[k + step :, k : k + step] @ B[k : k + step]
        if step == 1:
            B[k] /= A[k, k]
        else:
            D = A[k : k + 2, k : k + 2].copy()
            D[0, 1] = D[1, 0].conj() if hermitian else D[1, 0]
            B[k : k + 2] = np.linalg.solve(D, B[k : k + 2])
        k += step
    while k > 0:
        step = 1 if pivots[k - 1] > 0 else 2
        block = A[k:, k - step : k]
        B[k - step : k] -= (block.conj() if hermitian else block).T @ B[k:]
        last, other = k - 1, abs(int(pivots[k - 1])) - 1
        B[[last, other]] = B[[other, last]]
        k -= step
