"""Linear systems and factorisations on batches of matrices: LAPACK functions that NumPy does not expose.

Note [Triangular systems by a general solver]
np.linalg.solve on an upper triangular matrix eliminates nothing: each pivot is on the diagonal and each multiplier is zero,
so only the back substitution remains, done in C for the entire batch. Diagonal blocks keep its cost of n^3 small: between blocks
there are matrix products. Lower triangular systems become upper ones by reversing rows and columns. A zero or an infinity would
turn the zeros below the diagonal into NaNs: such systems are solved row by row. (If LAPACK can be called directly, it solves
them: see kernels/linalg/lapack.py.)
"""

from __future__ import annotations

import math
from cmath import isfinite
from typing import Any

import numpy as np

from ..numpy_calls import eye, lower, triu
from ..numpy_warnings import silent
from . import gufuncs, lapack, orthogonal

Array = np.ndarray[Any, Any]

BLOCK = 64  # rows of a diagonal block


def adjoint(x: Array) -> Array:
    """The conjugate transpose of the last two dimensions."""
    return np.swapaxes(x.conj() if x.dtype.kind == "c" else x, -1, -2)


# ----- Triangular systems ---------------------------------------------------------------------------------------------


def solve_triangular(A: Array, B: Array, upper: bool, left: bool, unitriangular: bool) -> Array:
    """X with A X = B (X A = B if not `left`), reading only one triangle of A; batches broadcast."""
    X = lapack.solve_triangular(A, B, upper, left, unitriangular)
    if X is not None:
        return X
    if not left:
        return np.ascontiguousarray(
            np.swapaxes(
                solve_triangular(np.swapaxes(A, -1, -2), np.swapaxes(B, -1, -2), not upper, True, unitriangular), -1, -2
            )
        )
    batch = np.broadcast_shapes(A.shape[:-2], B.shape[:-2])
    if not upper:
        backwards = _solve_upper(_upper_part(A[..., ::-1, ::-1], unitriangular), B[..., ::-1, :], batch)
        return np.ascontiguousarray(backwards[..., ::-1, :])
    return _solve_upper(_upper_part(A, unitriangular), B, batch)


def _upper_part(A: Array, unit: bool) -> Array:
    A = np.triu(A)
    if unit:
        diagonal = np.arange(A.shape[-1])
        A[..., diagonal, diagonal] = 1
    return A


def _solve_upper(A: Array, B: Array, batch: tuple[int, ...]) -> Array:
    n = A.shape[-1]
    if not n or not B.size or 0 in batch:
        return np.zeros((*batch, n, B.shape[-1]), B.dtype)
    if not np.diagonal(A, 0, -2, -1).all() or not np.isfinite(A).all():
        return _substitute(A, B, batch)
    if n <= BLOCK:
        return gufuncs.solve(A, B)
    out = np.empty((*batch, n, B.shape[-1]), B.dtype)
    for stop in range(n, 0, -BLOCK):
        rows = slice(max(stop - BLOCK, 0), stop)
        rest = B[..., rows, :]
        if stop < n:
            rest = rest - A[..., rows, stop:] @ out[..., stop:, :]
        out[..., rows, :] = gufuncs.solve(A[..., rows, rows], rest)
    return out


def _substitute(A: Array, B: Array, batch: tuple[int, ...]) -> Array:
    """Substitute row by row, dividing by the diagonal whatever it is."""
    out = np.empty((*batch, *B.shape[-2:]), B.dtype)
    with silent():
        for i in reversed(range(A.shape[-1])):
            known = A[..., i, None, i + 1 :] @ out[..., i + 1 :, :]
            out[..., i, :] = (B[..., i, :] - known[..., 0, :]) / A[..., i, i, None]
    return out


# ----- LU -------------------------------------------------------------------------------------------------------------


def _size(x: Array) -> Array:
    """The magnitude by which LAPACK chooses a pivot."""
    return np.abs(x.real) + np.abs(x.imag) if x.dtype.kind == "c" else np.abs(x)


def lu_factor(A: Array) -> tuple[Array, Array, Array]:
    """L and U in one matrix, the pivots (row exchanges, 1-based), and the first zero pivot (1-based; 0 if none)."""
    found = lapack.lu_factor(A)
    if found is not None:
        return found
    *batch, m, n = A.shape
    k = min(m, n)
    LU = np.array(A, order="C").reshape(math.prod(batch), m, n)
    pivots = np.zeros((len(LU), k), np.int32)
    info = np.zeros(len(LU), np.int32)
    if LU.size:
        with silent():
            _factor_columns(LU, 0, k, np.arange(len(LU)), pivots, info)
            if k < n:
                LU[:, :, k:] = solve_triangular(LU[:, :, :k], LU[:, :, k:], False, True, True)
    return LU.reshape(A.shape), pivots.reshape(*batch, k), info.reshape(tuple(batch))


def _factor_columns(LU: Array, start: int, stop: int, each: Array, pivots: Array, info: Array) -> None:
    """Factorise some columns from their diagonal down, in halves, which a matrix product connects."""
    if stop - start <= 8:
        for j in range(start, stop):
            _eliminate(LU, j, stop, each, pivots, info)
        return
    middle = (start + stop) // 2
    left, right = slice(start, middle), slice(middle, stop)
    _factor_columns(LU, start, middle, each, pivots, info)
    LU[:, left, right] = solve_triangular(LU[:, left, left], LU[:, left, right], False, True, True)
    LU[:, middle:, right] -= LU[:, middle:, left] @ LU[:, left, right]
    _factor_columns(LU, middle, stop, each, pivots, info)


def _eliminate(LU: Array, j: int, stop: int, each: Array, pivots: Array, info: Array) -> None:
    """One column: choose the pivot, exchange rows, divide, subtract from the columns up to `stop`."""
    if len(LU) == 1:  # without index arrays
        A = LU[0]
        row = int(_size(A[j:, j]).argmax()) + j
        pivots[0, j] = row + 1
        if row != j:
            A[[j, row]] = A[[row, j]]
        if A[j, j] == 0:
            info[0] = info[0] or j + 1
            return
        A[j + 1 :, j] /= A[j, j]
        A[j + 1 :, j + 1 : stop] -= A[j + 1 :, j, None] * A[j, j + 1 : stop]
        return
    chosen = _size(LU[:, j:, j]).argmax(1) + j
    pivots[:, j] = chosen + 1
    rows = LU[each, chosen]
    LU[each, chosen] = LU[:, j]
    LU[:, j] = rows
    pivot = LU[:, j, j]
    zero = pivot == 0
    if zero.any():
        info[zero & (info == 0)] = j + 1
        pivot = np.where(zero, 1, pivot)
    below = LU[:, j + 1 :, j]
    below /= pivot[:, None]
    if j + 1 < stop:
        LU[:, j + 1 :, j + 1 : stop] -= below[:, :, None] * LU[:, j, None, j + 1 : stop]


def _exchanged(pivots: Array, rows: int) -> list[int]:
    """`order_of` for one matrix: one step per row, which is little compared to its factorisation."""
    order = list(range(rows))
    for at, pivot in enumerate(pivots.tolist()):
        order[at], order[pivot - 1] = order[pivot - 1], order[at]
    return order


def order_of(pivots: Array, rows: int) -> Array:
    """The source row of each row, after all exchanges in `pivots`."""
    batch = pivots.shape[:-1]
    if not batch:
        return np.array(_exchanged(pivots, rows), np.int64)
    flat = pivots.reshape(math.prod(batch), pivots.shape[-1]).astype(np.int64) - 1
    order = np.tile(np.arange(rows), (len(flat), 1))
    each = np.arange(len(flat))
    for j in range(flat.shape[1]):
        other = flat[:, j]
        here = order[:, j].copy()
        order[:, j] = order[each, other]
        order[each, other] = here
    return order.reshape(*batch, rows)


def permutation_matrix(pivots: Array, rows: int, np_dtype: Any) -> Array:
    """P with A = P L U."""
    if pivots.ndim == 1:
        back = [0] * rows
        for position, row in enumerate(_exchanged(pivots, rows)):
            back[row] = position
        return eye(rows, rows, np.dtype(np_dtype)).take(back, 0)
    found = lapack.permutation_matrix(pivots, eye(rows, rows, np.dtype(np_dtype)))
    if found is not None:
        return found
    order = order_of(pivots, rows)
    out = np.zeros((*order.shape, rows), np_dtype)
    np.put_along_axis(out, order[..., None, :], np.ones((), np_dtype), -2)
    return out


def rows_exchanged(pivots: Array, M: Array) -> Array:
    """M with its rows exchanged by `pivots`."""
    found = lapack.exchange_rows(pivots, M, False)
    return take_rows(M, order_of(pivots, M.shape[-2])) if found is None else found


def rows_restored(pivots: Array, M: Array) -> Array:
    """The inverse of `rows_exchanged`."""
    found = lapack.exchange_rows(pivots, M, True)
    return take_rows(M, np.argsort(order_of(pivots, M.shape[-2]), -1)) if found is None else found


def split_lu(LU: Array) -> tuple[Array, Array]:
    """L with ones on its diagonal, and U, from both in one matrix."""
    m, n = LU.shape[-2:]
    k = min(m, n)
    L = np.where(lower(m, k, -1), LU[..., :k] if n > k else LU, eye(m, k, LU.dtype))
    return L, triu(LU[..., :k, :] if m > k else LU)


def take_rows(B: Array, order: Array) -> Array:
    """Rows of B in the given order; batches broadcast."""
    if B.ndim == 2 and order.ndim == 1:
        return B[order]
    batch = np.broadcast_shapes(B.shape[:-2], order.shape[:-1])
    B = np.broadcast_to(B, (*batch, *B.shape[-2:]))
    return np.take_along_axis(B, np.broadcast_to(order, (*batch, order.shape[-1]))[..., None], -2)


def lu_solve(LU: Array, pivots: Array, B: Array, left: bool, adjoint_: bool) -> Array:
    """X with A X = B, or X A = B, or the same with the adjoint of A, from A's LU factorisation."""
    if not left:
        return np.ascontiguousarray(adjoint(lu_solve(LU, pivots, adjoint(B), True, not adjoint_)))
    found = lapack.lu_solve(LU, pivots, B, adjoint_)
    if found is not None:
        return found
    order = order_of(pivots, LU.shape[-2])
    if not adjoint_:
        X = solve_triangular(LU, take_rows(B, order), False, True, True)
        return solve_triangular(LU, X, True, True, False)
    other = adjoint(LU)
    X = solve_triangular(other, B, False, True, False)
    X = solve_triangular(other, X, True, True, True)
    return take_rows(X, np.argsort(order, -1))


# ----- General systems --------------------------------------------------------------------------------------------------


def solve(A: Array, B: Array, left: bool) -> tuple[Array, Array]:
    """X with A X = B (matrices), and for each A the first zero pivot, like LAPACK's gesv."""
    if not left:
        X, info = solve(np.swapaxes(A, -1, -2), np.swapaxes(B, -1, -2), True)
        return np.ascontiguousarray(np.swapaxes(X, -1, -2)), info
    try:
        return gufuncs.solve(A, B), np.zeros(A.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        LU, pivots, info = lu_factor(A)
        return lu_solve(LU, pivots, B, True, False), info


def inv(A: Array) -> tuple[Array, Array]:
    """Inverses, and for each matrix the first zero pivot."""
    try:
        return gufuncs.inv(A), np.zeros(A.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        return solve(A, np.eye(A.shape[-1], dtype=A.dtype), True)


def cholesky(A: Array, upper: bool) -> tuple[Array, Array]:
    """The triangular factor, and the order of the first minor that is not positive (0 if there is none)."""
    L, info = gufuncs.cholesky_or_nan(A, upper), np.zeros(A.shape[:-2], np.int32)
    if not L.size or (isfinite(L.item(-1)) if L.ndim == 2 else np.isfinite(L[..., -1, -1]).all()):
        return L, info  # a NaN among the pivots would reach the last one
    failed = ~np.isfinite(L[..., -1, -1])
    started = np.tril(adjoint(A)[failed] if upper else A[failed])
    info[failed] = [_cholesky_by_columns(matrix) for matrix in started]  # the order at which each of these few fails
    L[failed] = adjoint(started) if upper else started
    return L, info


def cholesky_solve(B: Array, L: Array, upper: bool) -> Array:
    """X with A X = B from the Cholesky factor of A."""
    X = lapack.cholesky_solve(L, B, upper)
    if X is not None:
        return X
    first, second = (adjoint(L), L) if upper else (L, adjoint(L))
    return solve_triangular(second, solve_triangular(first, B, False, True, False), True, True, False)


def _cholesky_by_columns(L: Array) -> int:
    """Factorise in place up to the first minor that is not positive; return its order."""
    with silent():
        for j in range(len(L)):
            row = L[j, :j]
            pivot = (L[j, j] - row @ row.conj()).real
            L[j, j] = pivot
            if not pivot > 0:
                return j + 1
            L[j, j] = np.sqrt(pivot)
            L[j + 1 :, j] = (L[j + 1 :, j] - L[j + 1 :, :j] @ row.conj()) / L[j, j]
    return 0


# ----- Householder reflectors -----------------------------------------------------------------------------------------
#
# Note [Products of reflectors]
# The product of the reflectors I - tau_i v_i v_i^H is I - V T V^H, with V unit lower trapezoidal and T upper triangular:
# T = (I + D S)^-1 D, where D has the taus on its diagonal and S is the part of V^H V above the diagonal.


def reflectors(A: Array, tau: Array) -> tuple[Array, Array]:
    """V and T of Note [Products of reflectors], from the columns of A below the diagonal."""
    k = tau.shape[-1]
    V = np.tril(A[..., :k], -1)
    diagonal = np.arange(k)
    V[..., diagonal, diagonal] = 1
    overlap = np.triu(adjoint(V) @ V, 1) * tau[..., :, None]
    D = np.zeros((*tau.shape, k), tau.dtype)
    D[..., diagonal, diagonal] = tau
    return V, solve_triangular(overlap, D, True, True, True)


def householder_product(A: Array, tau: Array) -> Array:
    """The leading columns, as many as A has, of the product of its reflectors."""
    found = orthogonal.householder_product(A, tau)
    if found is not None:
        return found
    V, T = reflectors(A, tau)
    n = A.shape[-1]
    out = -(V @ (T @ adjoint(V[..., :n, :])))
    diagonal = np.arange(n)
    out[..., diagonal, diagonal] += 1
    return out


def qr(A: Array, mode: str) -> tuple[Array, Array]:
    """Q and R of each matrix; `mode` is "reduced" or "complete", or "r" for R alone."""
    if mode == "r":
        return np.zeros(0, A.dtype), np.linalg.qr(A, mode="r")  # type: ignore[return-value]
    return gufuncs.qr(A, mode)


def ormqr(A: Array, tau: Array, C: Array, left: bool, transpose: bool) -> Array:
    """The product of all reflectors of A, or its adjoint, times C; or C times that, if not `left`."""
    found = orthogonal.ormqr(A, tau, C, left, transpose)
    if found is not None:
        return found
    V, T = reflectors(A, tau)
    middle = adjoint(T) if transpose else T
    if left:
        return C - V @ (middle @ (adjoint(V) @ C))
    return C - ((C @ V) @ middle) @ adjoint(V)


def geqrf(A: Array) -> tuple[Array, Array]:
    """R above the diagonal and reflectors below it, and the reflectors' factors, as in LAPACK."""
    found = orthogonal.geqrf(A)
    if found is not None:
        return found
    k = min(A.shape[-2:])
    if A.size == 0:
        return A.copy(), np.zeros((*A.shape[:-2], k), A.dtype)
    h, tau = np.linalg.qr(A, mode="raw")
    return np.ascontiguousarray(np.swapaxes(h, -1, -2)), tau


# ----- Least squares ----------------------------------------------------------------------------------------------------


def lstsq(A: Array, B: Array, rcond: float, driver: str) -> tuple[Array, Array, Array]:
    """The shortest X that minimises |A X - B|, the ranks, and the singular values. `gels` assumes full rank."""
    m, n = A.shape[-2:]
    if driver in ("gels", "gelsy"):
        Q, R = qr(A if m >= n else adjoint(A), "reduced")
        if driver == "gels":
            return _solve_by_qr(Q, R, B, m >= n), np.zeros(0, np.int64), np.zeros(0, A.real.dtype)
        if _surely_full(R, rcond):
            ranks = np.full(A.shape[:-2], min(m, n), np.int64)
            return _solve_by_qr(Q, R, B, m >= n), ranks, np.zeros(0, A.real.dtype)
    if m > n:  # the singular values of a tall matrix are those of its R
        Q, A = qr(A, "reduced")
        B = adjoint(Q) @ B
    U, S, Vh = gufuncs.svd(A, full_matrices=False)
    kept = rcond * S[..., :1] < S
    with silent():
        inverse = np.where(kept, 1 / S, 0).astype(S.dtype)
    X = adjoint(Vh) @ (inverse[..., None] * (adjoint(U) @ B))
    return X, kept.sum(-1, dtype=np.int64), S


def _solve_by_qr(Q: Array, R: Array, B: Array, tall: bool) -> Array:
    """From A = Q R, or, if A is wide, from its adjoint."""
    if tall:
        return solve_triangular(R, adjoint(Q) @ B, True, True, False)
    return Q @ solve_triangular(adjoint(R), B, False, True, False)


def _surely_full(R: Array, rcond: float) -> bool:
    """Whether certainly no singular value is below rcond times the largest: their ratio is at least 1 / (|R| |R^-1|)."""
    one = eye(R.shape[-1], R.shape[-1], R.dtype)
    with silent():
        inverse = solve_triangular(R, one, True, True, False)
        bound = np.sqrt((np.abs(R) ** 2).sum((-2, -1))) * np.sqrt((np.abs(inverse) ** 2).sum((-2, -1)))
        return bool(np.all(bound * rcond < 1))
