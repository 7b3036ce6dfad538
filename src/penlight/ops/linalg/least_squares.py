"""Rank, pseudo-inverse and least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...kernels import linalg as kernels
from ...kernels.lazy import lazy_import
from ...kernels.numpy_warnings import silent
from ...tensor import Tensor, wrap
from ..machinery.arguments import broadcast_shape, values_of
from ..machinery.declare import differentiable
from ..machinery.rules import joint_rules
from .common import by_columns, into, named, need_matrix, need_square
from .solve import is_vector
from .spectral import _eigh_kernel, _svd_kernel, eigvalsh, svdvals

__all__ = ["lstsq", "matrix_rank", "pinv"]

_batched = lazy_import(globals(), "_batched", "...func.batched")


# ----- Rank and pseudo-inverse ----------------------------------------------------------------------------------------


def _tolerances(function: str, input: Tensor, atol: Any, rtol: Any) -> tuple[Any, Any]:
    """Absolute and relative tolerance as arrays; by default relative, the size times the dtype's epsilon. None if each sample of a vmap
    has its own."""
    for name, value in (("atol", atol), ("rtol", rtol)):
        if isinstance(value, Tensor) and value.is_complex():
            raise RuntimeError(
                f"torch.linalg.{function}: {name} tensor of complex type is not supported. Got {dtypes.LEGACY[value.dtype]}"
            )
    if any(isinstance(value, Tensor) and value._level is not None for value in (atol, rtol)):
        return None, None
    absolute = np.asarray(0.0 if atol is None else values_of(atol) if isinstance(atol, Tensor) else atol)
    if rtol is None:
        default = float(np.finfo(input._array.dtype).eps) * max(input.shape[-2:])
        relative = np.where(absolute > 0, 0.0, default)
    else:
        relative = np.asarray(values_of(rtol) if isinstance(rtol, Tensor) else rtol)
    return absolute, relative


def _by_levels(function: Any, input: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor:
    """Inside vmap with a tolerance per sample: processes the matrices of all samples at once."""
    tensors = [t for t in (input, atol, rtol) if isinstance(t, Tensor)]
    levels = sorted({level for t in tensors for level in _batched.levels_of(t)}, key=lambda level: level.depth)

    def exposed(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        lead = [level.size for level in levels]
        return _batched.expose(value, levels).reshape(*lead, *(1,) * (input.dim() - 2 - value.dim()), *value.shape)

    found = function(_batched.expose(input, levels), hermitian=hermitian, atol=exposed(atol), rtol=exposed(rtol))
    return _batched.hide(found, levels)


def matrix_rank(
    input: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The number of singular values above max(atol, rtol * the largest).

    >>> torch.linalg.matrix_rank(torch.tensor([[1.0, 1.0], [1.0, 1.0]]))
    tensor(1)
    """
    need_matrix(input, "torch.linalg.matrix_rank", "input")
    if input.dtype.category < dtypes.FLOATING or input.dtype.itemsize == 2:
        raise RuntimeError("This function doesn't handle types other than float and double")
    if tol is not None:
        atol, rtol = tol, 0.0
    absolute, relative = _tolerances("matrix_rank", input, atol, rtol)
    if absolute is None:
        return _by_levels(matrix_rank, input, atol, rtol, hermitian)
    if 0 in input.shape[-2:]:
        return into("linalg_matrix_rank", out, input.new_zeros(input.shape[:-2], dtype=dtypes.int64))
    plain = input.detach()
    S = eigvalsh(plain).abs() if hermitian else svdvals(plain)
    relative_limit = S.amax(-1) * wrap(relative.astype(S._array.dtype))
    limit = relative_limit.maximum(wrap(absolute.astype(S._array.dtype)))
    return into("linalg_matrix_rank", out, (limit.unsqueeze(-1) < S).sum(-1))


def _pinv_kernel(input: Any, atol: Any, rtol: Any, hermitian: bool) -> Any:
    if input.size == 0:
        return np.zeros((*input.shape[:-2], input.shape[-1], input.shape[-2]), input.dtype)
    if hermitian:
        values, U = _eigh_kernel(input, "L")
        sizes, Vh = np.abs(values), kernels.adjoint(U)
    else:
        U, values, Vh = _svd_kernel(input, False)
        sizes = values
    limit = np.maximum(atol, rtol * sizes.max(-1))[..., None]
    with silent():
        inverse = np.where(sizes > limit, 1 / values, 0).astype(values.dtype)
    return kernels.adjoint(Vh) @ (inverse[..., None] * kernels.adjoint(U))


def _pinv_back(grad: Any, pinv: Any, A: Any, xp: Any) -> Any:
    m, n = A.shape[-2:]
    back, other = xp.adjoint(grad), xp.adjoint(pinv)
    if m <= n:
        K = back @ pinv
        rotated = K @ other
        slope = -xp.adjoint(pinv @ K) + rotated - (A @ pinv) @ rotated + (other @ pinv) @ (back - K @ A)
        return xp.by_columns(slope)
    K = pinv @ back
    rotated = other @ K
    return xp.by_columns(-xp.adjoint(K @ pinv) + (back - A @ K) @ pinv @ other + rotated - (rotated @ pinv) @ A)


@differentiable(
    _pinv_kernel, node="LinalgPinvBackward0", input=lambda grad, result, input, xp: _pinv_back(grad, result, input, xp)
)
def _linalg_pinv(input: Tensor, atol: Any, rtol: Any, hermitian: bool) -> Tensor: ...


def pinv(
    input: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None, rtol: Any = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The pseudo-inverse; singular values up to max(atol, rtol * the largest) are treated as zero.

    >>> torch.linalg.pinv(torch.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    if input.dim() < 2 or input.dtype.category < dtypes.FLOATING or input.dtype.itemsize == 2:
        raise RuntimeError(
            f"linalg.pinv({dtypes.LEGACY[input.dtype]}{{{list(input.shape)}}}): expected a tensor with 2 or more dimensions of "
            "float, double, cfloat or cdouble types"
        )
    if rcond is not None:
        atol, rtol = 0.0, rcond
    absolute, relative = _tolerances("pinv", input, atol, rtol)
    if absolute is None:
        return _by_levels(pinv, input, atol, rtol, hermitian)
    if hermitian:
        need_square(input, "linalg.eigh")
    return into("linalg_pinv", out, _linalg_pinv(input, absolute, relative, hermitian), input)


# ----- Least squares --------------------------------------------------------------------------------------------------


def _lstsq_kernel(input: Any, b: Any, rcond: float, driver: str) -> Any:
    vector = input.ndim - b.ndim == 1
    B = b[..., None] if vector else b
    m, n = input.shape[-2:]
    if input.size == 0 or B.size == 0:
        batch = np.broadcast_shapes(input.shape[:-2], B.shape[:-2])
        X = np.zeros((*batch, n, B.shape[-1]), b.dtype)
        rank, S = np.zeros(input.shape[:-2], np.int64), np.zeros((*input.shape[:-2], min(m, n)), input.real.dtype)
        rank = np.zeros(0, np.int64) if driver == "gels" else rank
    else:
        X, rank, S = kernels.lstsq(input, B, rcond, driver)
    residuals = np.zeros(0, input.real.dtype)
    if m > n and driver != "gelsy" and (driver == "gels" or (rank == n).all()):
        difference = input @ X - B
        residuals = (difference * difference.conj()).real.sum(-2)
    if driver in ("gels", "gelsy"):
        S = np.zeros(0, input.real.dtype)
    return (X[..., 0] if vector else X), residuals, rank, S


def _lstsq_gradients(grads: Any, input: Any, b: Any, solution: Any, needs: Any, xp: Any) -> tuple[Any, Any]:
    """Gradients through X = pinv(A) B; the residuals are differentiated with X fixed."""
    (gX, gR), A, B, X = grads[:2], input, b, solution
    A_shape, B_shape = tuple(A.shape), tuple(B.shape)
    vector = len(A_shape) - len(B_shape) == 1
    if vector:
        B, X = B[..., None], X[..., None]
        gX = None if gX is None else gX[..., None]
    gA, gB = None, None
    if gX is not None:
        pinv = xp._linalg_pinv(A, *_tolerances("pinv", _like(A), None, None), False)
        gA = _pinv_back(gX @ xp.adjoint(B), pinv, A, xp) if needs[0] else None
        gB = xp.adjoint(pinv) @ gX
    if gR is not None and 0 not in gR.shape:
        difference = (A @ X - B) * (2 * gR)[..., None, :]
        gA = difference @ xp.adjoint(X) if gA is None else gA + difference @ xp.adjoint(X)
        gB = -difference if gB is None else gB - difference
    gB = gB[..., 0] if vector and gB is not None else gB
    return gA if gA is None else xp.sum_to(gA, A_shape), gB if gB is None else xp.sum_to(gB, B_shape)


def _like(A: Any) -> Any:
    return A if isinstance(A, Tensor) else wrap(A)


@differentiable(by_columns(_lstsq_kernel, 0), node="LinalgLstsqBackward0", results=("solution", "residuals", "rank", "singular_values"),
                **joint_rules(_lstsq_gradients, "input", "b"))  # fmt: skip
def _linalg_lstsq(input: Tensor, b: Tensor, rcond: float, driver: str) -> Any: ...


def lstsq(input: Tensor, b: Tensor, rcond: float | None = None, *, driver: str | None = None, out: Any = None) -> Any:
    """The X that minimises |A X - B| (of minimal norm if there are several), with residuals, rank and singular values.

    >>> torch.linalg.lstsq(torch.tensor([[2.0], [0.0]]), torch.tensor([[4.0], [1.0]])).solution
    tensor([[2.]])
    """
    lead = "torch.linalg.lstsq: "
    if input.dim() < 2:
        raise RuntimeError(lead + "input must have at least 2 dimensions.")
    if b.dim() < 1:
        raise RuntimeError(lead + "other must have at least 1 dimension.")
    if input.dtype is not b.dtype:
        kinds = dtypes.LEGACY[input.dtype], dtypes.LEGACY[b.dtype]
        raise RuntimeError(
            f"{lead}Expected input and other to have the same dtype, but got input's dtype {kinds[0]} and other's dtype {kinds[1]}"
        )
    if not 0 <= input.dim() - b.dim() <= 1:
        raise RuntimeError(
            lead + "input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    b = _right_hand_sides(input, b, lead)
    if input.dtype.category < dtypes.FLOATING or input.dtype.itemsize == 2:
        raise RuntimeError("This function doesn't handle types other than float and double")
    if driver not in (None, "gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(lead + "parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    cut = float(np.finfo(input._array.dtype).eps) * max(input.shape[-2:]) if rcond is None else float(rcond)
    solution, residuals, rank, values = _linalg_lstsq(input, b, cut, driver or "gelsy")
    results = named(
        "linalg_lstsq", "solution residuals rank singular_values", (solution, residuals, rank, values.detach())
    )
    return into("linalg_lstsq", out, results, input, b)


def _right_hand_sides(input: Tensor, b: Tensor, lead: str) -> Tensor:
    """`b` as the op takes it: of as many dimensions as the input, or one fewer if it is a vector for each matrix."""
    vector = is_vector(tuple(input.shape), tuple(b.shape))
    if input.shape[-2] != b.shape[-1 if vector else -2]:
        raise RuntimeError(f"{lead}input.size(-2) should match other.size({'-1' if vector else '-2'})")
    batch = broadcast_shape(tuple(input.shape[:-2]), tuple(b.shape[: input.dim() - 2]))
    # PyTorch takes the leading sizes of a matrix for those of a batch, each element of which is the whole matrix.
    return b if vector or b.dim() == input.dim() else b.expand(*batch, *b.shape[-2:])
