"""`np.linalg` without the 5 to 20 microseconds of checks around its loops, which our ops have already made.

Each function returns the same as NumPy's function of that name, and takes float or complex arrays of matching shapes.

Note [Failures as NaNs]
If a matrix is singular, not positive definite or does not converge, NumPy's loop fills that matrix's results with NaNs and sets
the processor's flag for invalid operations, which `np.linalg` turns into LinAlgError. Here the flag is ignored; if a result
begins with NaN, for that reason or because an argument has NaNs, `np.linalg` is called and decides.

Note [Matrices that are not finite]
LAPACK's iteration for singular values may never end on a matrix with an infinity or a NaN. Such a matrix is replaced by zeros,
and all of its results are NaN.

As in `np.linalg`, arithmetic is in double precision throughout. A trial at the first use checks that this NumPy's loops behave as
expected; if not, `np.linalg` is used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

import numpy as np

from ..numpy_calls import triu
from ..numpy_warnings import hush, unhush

try:
    from numpy.linalg import _umath_linalg as _loops
except ImportError:
    _loops: Any = None  # type: ignore[no-redef]

Array = np.ndarray[Any, Any]
F = TypeVar("F", bound=Callable[..., Any])


@lru_cache(1)
def _available() -> bool:
    """Whether the loops exist and do the same as `np.linalg`."""
    A = np.array([[4.0, 1.0], [1.0, 3.0]])
    thin, wide = A[:, :1], A[:1]
    trials: tuple[tuple[Any, ...], ...] = (
        (solve, A, A), (inv, A), (det, A), (slogdet, A), (_cholesky, A, False), (_cholesky, A, True), (_qr, A, "reduced"), (_qr, thin, "complete"),
        (_svd, A, True), (_svd, wide, False), (_svdvals, A), (eigh, A, "L"), (eigvalsh, A, "U"),
    )  # fmt: skip
    try:
        for function, *arguments in trials:
            ours, theirs = function.by_loops(*arguments), function.by_numpy(*arguments)
            pairs = zip(ours, theirs, strict=True) if isinstance(ours, tuple) else [(ours, theirs)]
            if not all([np.array_equal(a, b) for a, b in pairs]):
                return False
        return True
    except Exception:  # loops of other names or signatures
        return False


def _instead_of(theirs: Callable[..., Any], axes: int = 0, which: int = 0) -> Callable[[F], F]:
    """A decorator for a function that calls a loop: `theirs` runs instead if there is no loop, or if a result (number `which` of
    several, with so many axes) begins with NaN. See Note [Failures as NaNs]."""

    def decorate(ours: F) -> F:
        @wraps(ours)
        def run(*arguments: Any) -> Any:
            if _available():
                found = ours(*arguments)
                if not axes or _fine(found[which] if type(found) is tuple else found, axes):
                    return found
            return theirs(*arguments)

        run.by_loops, run.by_numpy = ours, theirs  # type: ignore[attr-defined]
        return run  # type: ignore[return-value]

    return decorate


def _run(loop: Any, signature: str, *arrays: Array) -> Any:
    """Run a loop in double precision; its signature is the real one, with capitals where the complex one has them."""
    token = hush()
    try:
        return loop(*arrays, signature=signature if arrays[0].dtype.kind == "c" else signature.lower())
    finally:
        unhush(token)


def _fine(values: Array, axes: int) -> bool:
    """Whether no result begins with NaN; each has so many axes. See Note [Failures as NaNs]."""
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


@_instead_of(np.linalg.solve, 2)
def solve(A: Array, B: Array) -> Array:
    """X with A X = B, for matrices B."""
    return _cast(_run(_loops.solve, "DD->D", A, B), A.dtype)


@_instead_of(np.linalg.inv, 2)
def inv(A: Array) -> Array:
    """The inverse of each matrix."""
    return _cast(_run(_loops.inv, "D->D", A), A.dtype)


@_instead_of(lambda A, upper: np.linalg.cholesky(A, upper=upper))
def _cholesky(A: Array, upper: bool) -> Array:
    return _cast(_run(_loops.cholesky_up if upper else _loops.cholesky_lo, "D->D", A), A.dtype)


def cholesky_or_nan(A: Array, upper: bool) -> Array:
    """The triangular factor, lower unless `upper`, with NaNs for matrices that are not positive definite."""
    try:
        return _cholesky(A, upper)
    except np.linalg.LinAlgError:
        return np.full_like(A, np.nan)


@_instead_of(lambda A: np.asarray(np.linalg.det(A)))
def det(A: Array) -> Array:
    """The determinant of each matrix."""
    return np.asarray(_run(_loops.det, "D->D", A), A.dtype)


@_instead_of(np.linalg.slogdet)
def slogdet(A: Array) -> tuple[Array, Array]:
    """The sign of each determinant and the logarithm of its absolute value."""
    sign, log = _run(_loops.slogdet, "D->Dd", A)
    return np.asarray(sign, A.dtype), np.asarray(log, _real(A.dtype))


@_instead_of(np.linalg.qr)
def _qr(A: Array, mode: str) -> tuple[Array, Array]:
    m, n = A.shape[-2:]
    work = np.array(A, complex if A.dtype.kind == "c" else float, order="C")
    tau = _run(_loops.qr_r_raw, "D->D", work)  # it overwrites its argument with R and the reflectors below its diagonal
    tall = mode == "complete" and m > n
    Q = _run(_loops.qr_complete if tall else _loops.qr_reduced, "DD->D", work, tau)
    return _cast(Q, A.dtype), _cast(triu(work if m == n else work[..., : m if tall else min(m, n), :]), A.dtype)


def qr(A: Array, mode: str = "reduced") -> tuple[Array, Array]:
    """Q and R of each matrix; `mode` is "reduced" or "complete"."""
    return _qr(A, mode) if A.size else np.linalg.qr(A, mode)  # type: ignore[call-overload]


@_instead_of(np.linalg.svd, 1, 1)
def _svd(A: Array, full_matrices: bool) -> tuple[Array, Array, Array]:
    U, S, Vh = _run(_loops.svd_f if full_matrices else _loops.svd_s, "D->DdD", A)
    return _cast(U, A.dtype), _cast(S, _real(A.dtype)), _cast(Vh, A.dtype)


def svd(A: Array, full_matrices: bool = True) -> tuple[Array, Array, Array]:
    """Singular vectors and values of each matrix."""
    unfit = _not_finite(A)
    if unfit is None:
        return _svd(A, full_matrices)
    return tuple([_as_nan(part, unfit) for part in _svd(_as_zero(A, unfit), full_matrices)])  # type: ignore[return-value]


@_instead_of(lambda A: np.linalg.svd(A, compute_uv=False), 1)
def _svdvals(A: Array) -> Array:
    return _cast(_run(_loops.svd, "D->d", A), _real(A.dtype))


def svdvals(A: Array) -> Array:
    """The singular values of each matrix."""
    unfit = _not_finite(A)
    return _svdvals(A) if unfit is None else _as_nan(_svdvals(_as_zero(A, unfit)), unfit)


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


@_instead_of(np.linalg.eigh, 1)
def eigh(A: Array, uplo: str = "L") -> tuple[Array, Array]:
    """Eigenvalues and eigenvectors of Hermitian matrices, of which one triangle is read."""
    values, vectors = _run(_loops.eigh_lo if uplo == "L" else _loops.eigh_up, "D->dD", A)
    return _cast(values, _real(A.dtype)), _cast(vectors, A.dtype)


@_instead_of(np.linalg.eigvalsh, 1)
def eigvalsh(A: Array, uplo: str = "L") -> Array:
    """Eigenvalues of Hermitian matrices, of which one triangle is read."""
    return _cast(_run(_loops.eigvalsh_lo if uplo == "L" else _loops.eigvalsh_up, "D->d", A), _real(A.dtype))
