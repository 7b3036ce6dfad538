"""`np.linalg` without the 5 to 20 microseconds of checks around its loops: our ops have made those already.

Each function gives what NumPy's function of the same name does, and takes arrays of floats or complex numbers that fit.

Note [Failures as NaNs]
Where a matrix is singular, not positive definite or does not converge, NumPy's loop fills that matrix's results with NaNs and sets
the processor's flag for invalid operations, which `np.linalg` turns into LinAlgError. Here the flag is ignored; if a result begins
with NaN, for that reason or because an argument has NaNs, `np.linalg` is asked once more, and it decides.

Note [Matrices that are not finite]
LAPACK's iteration for singular values may never end on a matrix with an infinity or a NaN. It gets zeros instead of such a matrix,
and all of that matrix's results are NaN.

As in `np.linalg`, arithmetic is in double precision throughout. A trial at first use tells whether this NumPy's loops are those
that are expected; if they are not, `np.linalg` serves.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..numpy_calls import triu
from ..numpy_warnings import hush, unhush

try:
    from numpy.linalg import _umath_linalg as _loops
except ImportError:
    _loops: Any = None  # type: ignore[no-redef]

Array = np.ndarray[Any, Any]


@lru_cache(1)
def _available() -> bool:
    """Whether the loops are there and do what `np.linalg` does."""
    A = np.array([[4.0, 1.0], [1.0, 3.0]])
    thin, wide, np_ = A[:, :1], A[:1], np.linalg
    try:
        pairs = [
            ((_solve(A, A), _inv(A), _det(A)), (np_.solve(A, A), np_.inv(A), np_.det(A))),
            ((_cholesky(A, False), _cholesky(A, True)), (np_.cholesky(A), np_.cholesky(A, upper=True))),
            (_slogdet(A), np_.slogdet(A)),
            (_qr(A, "reduced"), np_.qr(A)),
            (_qr(thin, "complete"), np_.qr(thin, "complete")),
            (_svd(A, True), np_.svd(A)),
            (_svd(wide, False), np_.svd(wide, full_matrices=False)),
            (_eigh(A, "L"), np_.eigh(A)),
            ((_svdvals(A), _eigvalsh(A, "U")), (np_.svdvals(A), np_.eigvalsh(A, "U"))),
        ]
        return all(np.array_equal(a, b) for ours, theirs in pairs for a, b in zip(ours, theirs, strict=True))
    except Exception:  # loops of other names or signatures
        return False


def _run(loop: Any, signature: str, *arrays: Array) -> Any:
    """A loop in double precision; its signature is the one for real numbers, in capitals where complex ones have those."""
    token = hush()
    try:
        return loop(*arrays, signature=signature if arrays[0].dtype.kind == "c" else signature.lower())
    finally:
        unhush(token)


def _fine(values: Array, axes: int) -> bool:
    """Whether no result begins with NaN, each being of so many axes. See Note [Failures as NaNs]."""
    if values.ndim == axes:
        first = values.item(0) if values.size else 0
        return bool(first == first)
    if not values.size:
        return True
    return not np.isnan(values[..., 0, 0] if axes == 2 else values[..., 0]).any()


def _cast(values: Array, dtype: np.dtype[Any]) -> Array:
    return values if values.dtype == dtype else values.astype(dtype, copy=False)


@lru_cache(8)
def _real(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.empty(0, dtype).real.dtype


def _solve(A: Array, B: Array) -> Array:
    return _cast(_run(_loops.solve, "DD->D", A, B), A.dtype)


def solve(A: Array, B: Array) -> Array:
    """X with A X = B, for matrices B."""
    if _available() and _fine(X := _solve(A, B), 2):
        return X
    return np.linalg.solve(A, B)


def _inv(A: Array) -> Array:
    return _cast(_run(_loops.inv, "D->D", A), A.dtype)


def inv(A: Array) -> Array:
    """The inverse of each matrix."""
    if _available() and _fine(X := _inv(A), 2):
        return X
    return np.linalg.inv(A)


def _cholesky(A: Array, upper: bool) -> Array:
    return _cast(_run(_loops.cholesky_up if upper else _loops.cholesky_lo, "D->D", A), A.dtype)


def cholesky_or_nan(A: Array, upper: bool) -> Array:
    """The triangular factor, which is lower unless `upper`, with NaNs for what is not positive definite."""
    if _available():
        return _cholesky(A, upper)
    try:
        return np.linalg.cholesky(A, upper=upper)
    except np.linalg.LinAlgError:
        return np.full_like(A, np.nan)


def _det(A: Array) -> Array:
    return np.asarray(_run(_loops.det, "D->D", A), A.dtype)


def det(A: Array) -> Array:
    """The determinant of each matrix."""
    return _det(A) if _available() else np.asarray(np.linalg.det(A))


def _slogdet(A: Array) -> tuple[Array, Array]:
    sign, log = _run(_loops.slogdet, "D->Dd", A)
    return np.asarray(sign, A.dtype), np.asarray(log, _real(A.dtype))


def slogdet(A: Array) -> tuple[Array, Array]:
    """The sign of each determinant and the logarithm of its absolute value."""
    return _slogdet(A) if _available() else np.linalg.slogdet(A)


def _raw_qr(A: Array) -> tuple[Array, Array]:
    """R with the reflectors below its diagonal, and the reflectors' factors, both in double precision."""
    work = np.array(A, complex if A.dtype.kind == "c" else float, order="C")
    return work, _run(_loops.qr_r_raw, "D->D", work)  # which overwrites its argument


def _qr(A: Array, mode: str) -> tuple[Array, Array]:
    m, n = A.shape[-2:]
    work, tau = _raw_qr(A)
    tall = mode == "complete" and m > n
    Q = _run(_loops.qr_complete if tall else _loops.qr_reduced, "DD->D", work, tau)
    return _cast(Q, A.dtype), _cast(triu(work if m == n else work[..., : m if tall else min(m, n), :]), A.dtype)


def qr(A: Array, mode: str = "reduced") -> tuple[Array, Array]:
    """Q and R of each matrix; `mode` is "reduced" or "complete"."""
    return _qr(A, mode) if _available() and A.size else np.linalg.qr(A, mode)  # type: ignore[call-overload]


def _svd(A: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    U, S, Vh = _run(_loops.svd_f if full_matrices else _loops.svd_s, "D->DdD", A)
    return _cast(U, A.dtype), _cast(S, _real(A.dtype)), _cast(Vh, A.dtype)


def svd(A: Array, full_matrices: bool = True) -> tuple[Array, Array, Array]:
    """Singular vectors and values of each matrix."""
    unfit = _not_finite(A)
    if unfit is not None:
        return tuple([_as_nan(part, unfit) for part in svd(_as_zero(A, unfit), full_matrices)])  # type: ignore[return-value]
    if _available() and _fine((result := _svd(A, full_matrices))[1], 1):
        return result
    return np.linalg.svd(A, full_matrices=full_matrices)


def _not_finite(A: Array) -> Array | None:
    """Which matrices of a batch are not finite; None if all are. See Note [Matrices that are not finite]."""
    token = hush()
    try:
        total = A.sum()
        if total - total == 0:
            return None
        unfit: Array = np.asarray(~np.isfinite(A).all((-1, -2)))
    finally:
        unhush(token)
    return unfit if unfit.any() else None


def _as_zero(A: Array, unfit: Array) -> Array:
    return np.where(unfit[..., None, None], A.dtype.type(0), A)


def _as_nan(result: Array, unfit: Array) -> Array:
    result[unfit] = np.nan
    return result


def _svdvals(A: Array) -> Array:
    return _cast(_run(_loops.svd, "D->d", A), _real(A.dtype))


def svdvals(A: Array) -> Array:
    """The singular values of each matrix."""
    unfit = _not_finite(A)
    if unfit is not None:
        return _as_nan(svdvals(_as_zero(A, unfit)), unfit)
    if _available() and _fine(S := _svdvals(A), 1):
        return S
    return np.linalg.svd(A, compute_uv=False)


def _eigh(A: Array, uplo: str) -> tuple[Array, Array]:
    values, vectors = _run(_loops.eigh_lo if uplo == "L" else _loops.eigh_up, "D->dD", A)
    return _cast(values, _real(A.dtype)), _cast(vectors, A.dtype)


def eigh(A: Array, uplo: str = "L") -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of Hermitian matrices, of which one triangle is read."""
    if _available() and _fine((result := _eigh(A, uplo))[0], 1):
        return result
    return np.linalg.eigh(A, uplo)  # type: ignore[call-overload]


def _eigvalsh(A: Array, uplo: str) -> Array:
    return _cast(_run(_loops.eigvalsh_lo if uplo == "L" else _loops.eigvalsh_up, "D->d", A), _real(A.dtype))


def eigvalsh(A: Array, uplo: str = "L") -> Array:
    """Eigenvalues of Hermitian matrices, of which one triangle is read."""
    if _available() and _fine(values := _eigvalsh(A, uplo), 1):
        return values
    return np.linalg.eigvalsh(A, uplo)  # type: ignore[call-overload]
