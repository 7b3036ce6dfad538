"""Singular values and eigenvalues, with their vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...kernels.linalg import gufuncs
from ...tensor import Tensor
from ..machinery.arguments import values_of
from ..machinery.declare import differentiable, plain
from . import solve as _linalg_solve  # noqa: F401  # what the rule of eig solves with
from .common import (
    LinAlgError,
    by_columns,
    identity_like,
    into,
    named,
    need_floating,
    need_lapack,
    need_matrix,
    need_square,
    tracked,
)

__all__ = ["eig", "eigh", "eigvals", "eigvalsh", "svd", "svdvals"]

# Note [Up to a phase]
# Singular vectors and eigenvectors are determined up to a factor of absolute value one (a sign, for real ones), which the
# algorithm chooses. A function of complex vectors that depends on this factor has no derivative: the rules check that its derivative in the
# direction of a changing phase is zero, and raise otherwise, as PyTorch does. For repeated singular values or eigenvalues the vectors have
# no derivative at all: the result has infinities and NaNs, as in PyTorch.


def _refuse_phase(turning: Any, size: Any, message: str, xp: Any) -> None:
    """Raise if a derivative along the phases of vectors is not zero: not below 1e-2, or not below a hundredth of the total."""
    turning, size = xp.array_of(turning), xp.array_of(size)
    if not turning.size:
        return
    limit = max(1e-2 * min(1.0, float(np.abs(size).max())), 1e3 * float(np.finfo(turning.dtype).eps))
    if np.abs(turning).max() > limit:
        raise RuntimeError(message)


def _differences(values: Any, xp: Any) -> Any:
    """values_j - values_i for each i and j; ones on the diagonal."""
    return values[..., None, :] - values[..., :, None] + identity_like(values, values.shape[-1], xp)


# ----- Singular values ------------------------------------------------------------------------------------------------


def _not_converged(function: str, values: str, A: Any) -> Exception:
    finite = np.isfinite(A).all((-1, -2))
    if finite.all():
        return LinAlgError(
            f"linalg.{function}: The algorithm failed to converge because the input matrix is ill-conditioned or has too many repeated "
            f"{values} (error code: 1)."
        )
    which = "" if A.ndim == 2 else f"(Batch element {int(np.flatnonzero(~finite)[0])}): "
    return LinAlgError(
        f"linalg.{function}: {which}The algorithm failed to converge because the input matrix contained non-finite values."
    )


def _svd_by(decompose: Any, A: Any, *options: Any) -> Any:
    try:
        found = decompose(A, *options)
    except np.linalg.LinAlgError:
        raise _not_converged("svd", "singular values", A) from None
    if np.isnan(found[1] if options else found).any() and np.isnan(A).any():
        raise _not_converged("svd", "singular values", A)
    return found


def _svd_kernel(A: Any, full_matrices: bool) -> Any:
    return _svd_by(gufuncs.svd, A, full_matrices)


def _svd_rule(grads: Any, U: Any, S: Any, Vh: Any, xp: Any) -> Any:
    """U (inner) V^H, where `inner` has the gradients of S on its diagonal and those of the vectors, as rotations of the left and right
    vectors, off it. If there are more rows (columns) than values, a term outside of the columns' span is added."""
    gU, gS, gVh = grads
    k = S.shape[-1]
    m, n = U.shape[-2], Vh.shape[-1]
    U, Vh = U[..., :, :k], Vh[..., :k, :]
    if gU is None and gVh is None:
        return (U * gS[..., None, :]) @ Vh if m >= n else U @ (gS[..., :, None] * Vh)
    inner = _rotations(gU, gVh, U, S, Vh, xp)
    if gS is not None:
        inner = inner + xp.as_diagonal(gS)
    total = U @ inner @ Vh
    if m > k and gU is not None:
        part = gU[..., :, :k] / S[..., None, :]
        total = total + (part - U @ (xp.adjoint(U) @ part)) @ Vh
    if n > k and gVh is not None:
        part = gVh[..., :k, :] / S[..., :, None]
        total = total + U @ (part - (part @ xp.adjoint(Vh)) @ Vh)
    return total


def _rotations(gU: Any, gVh: Any, U: Any, S: Any, Vh: Any, xp: Any) -> Any:
    k = S.shape[-1]
    left = None if gU is None else xp.adjoint(U) @ gU[..., :, :k]
    right = None if gVh is None else Vh @ xp.adjoint(gVh[..., :k, :])
    # (s_j - s_i) (s_j + s_i) is more accurate than a difference of squares.
    gaps = (S[..., None, :] - S[..., :, None]) * (S[..., None, :] + S[..., :, None]) + identity_like(S, k, xp)
    inner: Any = None
    if left is not None:
        inner = (left - xp.adjoint(left)) / gaps * S[..., None, :]
    if right is not None:
        rotated = S[..., :, None] * ((right - xp.adjoint(right)) / gaps)
        inner = rotated if inner is None else inner + rotated
    if xp.is_complex(U):
        return inner + _phases(left, right, S, inner, xp)
    return inner


def _phases(left: Any, right: Any, S: Any, inner: Any, xp: Any) -> Any:
    """The diagonal for complex vectors: only the difference of the two phases' derivatives may be nonzero."""
    turn_left = 0 if left is None else xp.diagonal_of(left).imag
    turn_right = 0 if right is None else xp.diagonal_of(right).imag
    _refuse_phase(
        turn_left + turn_right, inner,
        "svd_backward: The singular vectors in the complex case are specified up to multiplication by e^{i phi}. The specified "
        "loss function depends on this phase term, making it ill-defined.", xp,
    )  # fmt: skip
    # The phases change in opposite directions, by half on each side.
    return xp.as_diagonal((turn_left - turn_right) / (2 * S) * 1j) - xp.as_diagonal(xp.diagonal_of(inner))


@differentiable(by_columns(_svd_kernel, 0, 2), node="LinalgSvdBackward0", results=("U", "S", "Vh"), A=_svd_rule)
def _linalg_svd(A: Tensor, full_matrices: bool) -> tuple[Tensor, Tensor, Tensor]: ...


@plain(lambda A: _svd_by(gufuncs.svdvals, A))
def _svd_values(A: Tensor) -> Tensor: ...


def _checked_for_svd(A: Tensor, driver: Any) -> Tensor:
    need_matrix(A, "linalg.svd")
    need_floating(A, "linalg.svd")
    if driver is not None:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )
    need_lapack(A, "linalg_svd_cpu")
    return A


def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Any = None) -> Any:
    """U, S and V^H with A = U diag(S) V^H: orthonormal vectors, and the singular values in descending order.

    >>> torch.linalg.svd(torch.tensor([[0.0, 2.0], [1.0, 0.0]])).S
    tensor([2., 1.])
    """
    result = named("linalg_svd", "U S Vh", _linalg_svd(_checked_for_svd(A, driver), full_matrices))
    return into("linalg_svd", out, result, A)


def svdvals(A: Tensor, *, driver: str | None = None, out: Tensor | None = None) -> Tensor:
    """The singular values in descending order.

    >>> torch.linalg.svdvals(torch.tensor([[0.0, 2.0], [1.0, 0.0]]))
    tensor([2., 1.])
    """
    A = _checked_for_svd(A, driver)
    return into("linalg_svdvals", out, _linalg_svd(A, False)[1] if tracked(A) else _svd_values(A), A)


# ----- Eigenvalues of Hermitian matrices ------------------------------------------------------------------------------


def _eigh_by(decompose: Any, A: Any, UPLO: Any) -> Any:
    try:
        return decompose(A, UPLO)
    except np.linalg.LinAlgError:
        raise _not_converged("eigh", "eigenvalues", A) from None


def _eigh_kernel(A: Any, UPLO: Any) -> Any:
    return _eigh_by(gufuncs.eigh, A, UPLO)


def _eigh_rule(grads: Any, eigenvalues: Any, eigenvectors: Any, xp: Any) -> Any:
    """V (the skew part of V^H gV over l_j - l_i off the diagonal, gL on it) V^H."""
    gL, gV = grads
    V, Vh = eigenvectors, xp.adjoint(eigenvectors)
    if gV is None:
        return (V * gL[..., None, :]) @ Vh
    rotated = Vh @ gV
    if xp.is_complex(V):
        _refuse_phase(
            xp.diagonal_of(rotated).imag, rotated,
            "linalg_eigh_backward: The eigenvectors in the complex case are specified up to multiplication by e^{i phi}. The "
            "specified loss function depends on this quantity, so it is ill-defined.", xp,
        )  # fmt: skip
    inner = (rotated - xp.adjoint(rotated)) * 0.5 / _differences(eigenvalues, xp)
    if xp.is_complex(V):
        inner = inner - xp.as_diagonal(xp.diagonal_of(inner))
    if gL is not None:
        inner = inner + xp.as_diagonal(gL)
    return V @ inner @ Vh


@differentiable(
    by_columns(_eigh_kernel, 1), node="LinalgEighBackward0", results=("eigenvalues", "eigenvectors"), A=_eigh_rule
)
def _linalg_eigh(A: Tensor, UPLO: str) -> tuple[Tensor, Tensor]: ...


@plain(lambda A, UPLO: _eigh_by(gufuncs.eigvalsh, A, UPLO))
def _eigvalsh_values(A: Tensor, UPLO: str) -> Tensor: ...


def _checked_for_eigh(A: Tensor, UPLO: str) -> tuple[Tensor, str]:
    need_square(A, "linalg.eigh")
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    need_lapack(A, "linalg_eigh_cpu")
    return A, UPLO.upper()


def eigh(input: Tensor, UPLO: str = "L", *, out: Any = None) -> Any:
    """Eigenvalues, in ascending order, and eigenvectors of a Hermitian matrix, of which one triangle is read.

    >>> torch.linalg.eigh(torch.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    result = named("linalg_eigh", "eigenvalues eigenvectors", _linalg_eigh(*_checked_for_eigh(input, UPLO)))
    return into("linalg_eigh", out, result, input)


def eigvalsh(input: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of a Hermitian matrix in ascending order.

    >>> torch.linalg.eigvalsh(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([1., 2.])
    """
    A, UPLO = _checked_for_eigh(input, UPLO)
    return into("linalg_eigvalsh", out, _linalg_eigh(A, UPLO)[0] if tracked(A) else _eigvalsh_values(A, UPLO), A)


# ----- Eigenvalues of any matrix --------------------------------------------------------------------------------------


def _complex_dtype(A: Any) -> Any:
    return np.complex64 if A.dtype in (np.float32, np.complex64) else np.complex128


def _eig_kernel(A: Any) -> Any:
    values, vectors = np.linalg.eig(A)
    to = _complex_dtype(A)
    return values.astype(to, copy=False), vectors.astype(to, copy=False)


def _eig_rule(grads: Any, eigenvalues: Any, eigenvectors: Any, input_dtype: Any, xp: Any) -> Any:
    """V^-H (diag(gL) + (V^H gV - V^H V diag(Re(V^H gV))) / conj(l_j - l_i)) V^H, for vectors of length 1."""
    gL, gV = grads
    V = eigenvectors
    Vh = xp.adjoint(V)
    if gV is None:
        inner = gL[..., :, None] * Vh
    else:
        rotated = Vh @ gV
        slopes = xp.diagonal_of(rotated)
        _refuse_phase(
            slopes.imag, rotated,
            "linalg_eig_backward: The eigenvectors in the complex case are specified up to multiplication by e^{i phi}. The "
            "specified loss function depends on this quantity, so it is ill-defined.", xp,
        )  # fmt: skip
        free = rotated - (Vh @ V) * slopes.real[..., None, :]
        free = free / xp.conj(_differences(eigenvalues, xp))
        free = free - xp.as_diagonal(xp.diagonal_of(free))
        inner = (free if gL is None else free + xp.as_diagonal(gL)) @ Vh
    gA = xp._linalg_solve_ex(Vh, inner, True)[0]
    return gA if input_dtype.kind == "c" else xp.real_part(gA)


@differentiable(
    by_columns(_eig_kernel, 1), node="LinalgEigBackward0", results=("eigenvalues", "eigenvectors"), input=_eig_rule
)
def _linalg_eig(input: Tensor) -> tuple[Tensor, Tensor]: ...


@plain(lambda input: np.linalg.eigvals(input).astype(_complex_dtype(input), copy=False))
def _eig_values(input: Tensor) -> Tensor: ...


def _checked_for_eig(input: Tensor, function: str) -> Tensor:
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"Unknown Complex ScalarType for {dtypes.LEGACY[input.dtype]}")
    if function == "linalg.eigvals":  # `eig` checks the values first
        need_square(input, function)
    if not np.isfinite(values_of(input)).all():
        raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
    need_square(input, function)
    need_lapack(input, "linalg_eig_out_cpu")
    return input


def eig(input: Tensor, *, out: Any = None) -> Any:
    """Eigenvalues and eigenvectors of a square matrix; always complex.

    >>> torch.linalg.eig(torch.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([2.+0.j, 1.+0.j])
    """
    result = named("linalg_eig", "eigenvalues eigenvectors", _linalg_eig(_checked_for_eig(input, "linalg.eig")))
    return into("linalg_eig", out, result, input)


def eigvals(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues of a square matrix; always complex.

    >>> torch.linalg.eigvals(torch.tensor([[2.0, 0.0], [0.0, 1.0]]))
    tensor([2.+0.j, 1.+0.j])
    """
    input = _checked_for_eig(
        input, "linalg.eigvals" if not isinstance(input, Tensor) or not tracked(input) else "linalg.eig"
    )
    return into("linalg_eigvals", out, _linalg_eig(input)[0] if tracked(input) else _eig_values(input), input)
