"""Linear systems: solve, inv, determinants, triangular systems, tensorsolve."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...kernels import linalg as kernels
from ...kernels.linalg import gufuncs
from ...tensor import Tensor
from ..machinery.arguments import broadcast_shape, values_of, wrap_dim
from ..machinery.array_namespace import both, graph, raw
from ..machinery.declare import differentiable
from ..machinery.guards import without_numpy_warnings
from ..machinery.rules import joint_rules
from .common import (
    NOT_INVERTIBLE,
    NOT_SOLVABLE,
    by_columns,
    columns,
    identity_like,
    into,
    is_square,
    make_system,
    named,
    need_floating,
    need_lapack,
    need_matrix,
    need_same_dtype,
    need_square,
    refuse_info,
)

__all__ = [
    "det", "inv", "inv_ex", "logdet", "slogdet", "solve", "solve_ex", "solve_triangular", "tensorinv", "tensorsolve"
]  # fmt: skip

# ----- A X = B --------------------------------------------------------------------------------------------------------


def is_vector(A_shape: tuple[int, ...], B_shape: tuple[int, ...]) -> bool:
    """Whether B holds one right-hand side for each matrix: it is a vector, or a batch of vectors with A's batch shape."""
    return len(B_shape) == 1 or (len(A_shape) - 1 == len(B_shape) and tuple(A_shape[:-1]) == tuple(B_shape))


def _solve_kernel(A: Any, B: Any, left: bool) -> Any:
    if not is_vector(A.shape, B.shape):
        X, info = kernels.solve(A, B, left)
        return (columns(X) if left else X), info
    X, info = kernels.solve(A, B[..., None], left)
    return (columns(X[..., 0]) if X.ndim > 2 else X[..., 0]), info


def _solve_gradients(
    grads: Any, A: Any, result: Any, B_shape: tuple[int, ...], left: bool, needs: Any, xp: Any
) -> tuple[Any, Any]:
    """The gradients of A and B: for A X = B, that of B solves the adjoint system."""
    grad, vector = grads[0], is_vector(tuple(A.shape), B_shape)
    if vector:
        grad, result = grad[..., None], result[..., None]
    gB = xp._linalg_solve_ex(xp.adjoint(A), grad, left)[0]
    gA = None
    if needs[0]:
        gA = -(gB @ xp.adjoint(result)) if left else -(xp.adjoint(result) @ gB)
        gA = xp.sum_to(gA, tuple(A.shape))
    return gA, xp.sum_to(gB[..., 0] if vector else gB, B_shape)


@differentiable(
    _solve_kernel, node="LinalgSolveExBackward0", results=("result", "info"), **joint_rules(_solve_gradients, "A", "B")
)
def _linalg_solve_ex(A: Tensor, B: Tensor, left: bool) -> tuple[Tensor, Tensor]: ...


def _solved(function: str, A: Tensor, B: Tensor, left: bool, check: bool) -> Any:
    if not left or not make_system(A, B):
        _check_solve(A, B, left)
    X, info = _linalg_solve_ex(A, B, left)
    if check:
        refuse_info("torch." + function, info, NOT_SOLVABLE)
    return X, info


def _check_solve(A: Tensor, B: Tensor, left: bool) -> None:
    need_same_dtype("linalg.solve", A, B, ("A", "B"))
    need_floating(A, "linalg.solve")
    need_square(A, "linalg.solve")
    vector = is_vector(tuple(A.shape), tuple(B.shape))
    if not vector:
        need_matrix(B, "linalg.solve", "B")
    _check_fit("linalg.solve", A, (*B.shape, 1) if vector else tuple(B.shape), left)
    need_lapack(A, "lu_cpu")


def _check_fit(function: str, A: Tensor, B: tuple[int, ...], left: bool) -> None:
    shape = A.shape
    m, n = shape[-2], shape[-1]
    if (B[-2] if left else B[-1]) != n:
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"{function}: Incompatible shapes of A and B for the equation {equation} ({m}x{n} and {B[-2]}x{B[-1]})"
        )
    if len(B) > 2 and len(shape) > 2:
        broadcast_shape(B[:-2], tuple(shape[:-2]))


def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """X with A X = B, or X A = B if not `left`.

    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    return into("linalg_solve", out, _solved("linalg.solve", A, B, left, True)[0], A, B)


def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """Like `solve`, but a singular matrix raises only if `check_errors`: `info` is the index of a zero pivot.

    >>> x, info = torch.linalg.solve_ex(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.ones(2))
    >>> x, info
    (tensor([0.5000, 0.2500]), tensor(0, dtype=torch.int32))
    """
    result = named("linalg_solve_ex", "result info", _solved("linalg.solve_ex", A, B, left, check_errors))
    return into("linalg_solve_ex", out, result, A, B)


# ----- Inverses -------------------------------------------------------------------------------------------------------


def _inv_rule(grads: Any, inverse: Any, xp: Any) -> Any:
    other = xp.adjoint(inverse)
    return -(other @ (grads[0] @ other))


@differentiable(by_columns(kernels.inv, 0), node="LinalgInvExBackward0", results=("inverse", "info"), A=_inv_rule)
def _linalg_inv_ex(A: Tensor) -> tuple[Tensor, Tensor]: ...


def _inverted(A: Tensor) -> tuple[Tensor, Tensor]:
    if not is_square(A):
        need_square(A, "linalg.inv")
        need_floating(A, "linalg.inv", low=False)
    return _linalg_inv_ex(A)


def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of each matrix.

    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    inverse, info = _inverted(A)
    refuse_info("linalg.inv", info, NOT_INVERTIBLE)
    return into("linalg_inv", out, inverse, A)


def inv_ex(A: Tensor, *, check_errors: bool = False, out: Any = None) -> Any:
    """Like `inv`, but a singular matrix raises only if `check_errors`: `info` is the index of a zero pivot.

    >>> inverse, info = torch.linalg.inv_ex(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    >>> inverse, info
    (tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]]), tensor(0, dtype=torch.int32))
    """
    inverse, info = _inverted(A)
    if check_errors:
        refuse_info("linalg.inv_ex", info, NOT_INVERTIBLE)
    return into("linalg_inv_ex", out, named("linalg_inv_ex", "inverse info", (inverse, info)), A)


# ----- Determinants ---------------------------------------------------------------------------------------------------
#
# Note [The determinant of a singular matrix]
# The gradient of the determinant is its conjugate times the adjoint of the inverse: the adjugate, which exists for singular matrices too.
# For those it comes from the SVD: the product of all singular values but one, along that one's vectors. (PyTorch returns zeros for an
# exactly singular matrix unless create_graph=True, where it does the same.)


def _adjugate(grad: Any, A: Any, xp: Any) -> Any:
    """The gradient of det at singular matrices."""
    from . import spectral  # noqa: F401  # declares the SVD

    U, S, Vh = xp._linalg_svd(A, False)
    n = A.shape[-1]
    sign = xp.conj(xp._linalg_det(U) * xp._linalg_det(Vh)) * grad
    others = xp._others(S, (len(S.shape) - 1,)) if n else S
    return (U * (sign[..., None] * others)[..., None, :]) @ Vh


def _det_back_array(grad: Any, A: Any, result: Any) -> Any:
    singular = result == 0
    if not singular.any():
        return (grad * np.conj(result))[..., None, None] * kernels.adjoint(kernels.inv(A)[0])
    mask = singular[..., None, None]
    safe = np.where(mask, np.eye(A.shape[-1], dtype=A.dtype), A)
    regular = (grad * np.conj(result))[..., None, None] * kernels.adjoint(kernels.inv(safe)[0])
    return np.where(mask, _adjugate(grad, A, raw), regular)


def _det_back_graph(grad: Any, A: Any, result: Any) -> Any:
    if A.shape[-1] == 1:  # the determinant is the element, with a constant derivative
        return grad[..., None, None].expand(A.shape)
    if values_of(result).all():
        return (grad * result.conj())[..., None, None] * _linalg_inv_ex(A)[0].mH
    mask, eye = (result == 0)[..., None, None], identity_like(A, A.shape[-1], graph)
    regular = (grad * result.conj())[..., None, None] * _linalg_inv_ex(graph.where(mask, eye, A))[0].mH
    distinct = graph.as_diagonal(graph.constant(np.arange(1, A.shape[-1] + 1).astype(A._array.dtype)))
    return graph.where(mask, _adjugate(grad, graph.where(mask, A, distinct), graph), regular)


both("det_backward", without_numpy_warnings(_det_back_array), _det_back_graph)


@differentiable(gufuncs.det, node="LinalgDetBackward0", A=lambda grad, A, result, xp: xp.det_backward(grad, A, result))
def _linalg_det(A: Tensor) -> Tensor: ...


def det(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The determinant of each matrix.

    >>> torch.linalg.det(torch.tensor([[2.0, 1.0], [0.0, 4.0]]))
    tensor(8.)
    """
    if not is_square(A):
        need_square(A, "linalg.det")
        need_floating(A, "linalg.det")
        need_lapack(A, "lu_cpu")
    return into("linalg_det", out, _linalg_det(A), A)


def _slogdet_rule(grads: Any, A: Any, sign: Any, xp: Any) -> Any:
    """The logarithm's gradient times the adjoint of the inverse; for a complex sign, the imaginary part changes its phase."""
    turning, growing = grads
    weight = growing
    if xp.is_complex(sign) and turning is not None:
        turn = (xp.conj(turning) * sign).imag * -1j
        weight = turn if growing is None else growing + turn
    inverse = xp.adjoint(xp._linalg_inv_ex(A)[0])
    return xp.by_columns(xp.zeros_like(inverse) if weight is None else weight[..., None, None] * inverse)


def _slogdet_kernel(A: Any) -> Any:
    sign, log = gufuncs.slogdet(A)
    unknown = np.isnan(log)
    return np.where(unknown, sign.dtype.type(0), sign) if unknown.any() else sign, log


@differentiable(
    without_numpy_warnings(_slogdet_kernel),
    node="LinalgSlogdetBackward0",
    results=("sign", "logabsdet"),
    A=_slogdet_rule,
)
def _linalg_slogdet(A: Tensor) -> tuple[Tensor, Tensor]: ...


def _sign_and_log(function: str, A: Tensor) -> tuple[Tensor, Tensor]:
    if not is_square(A):
        need_square(A, function)
        need_floating(A, function, low=False)
    return _linalg_slogdet(A)


def slogdet(A: Tensor, *, out: Any = None) -> Any:
    """The sign of the determinant and the logarithm of its absolute value.

    >>> torch.linalg.slogdet(torch.tensor([[-1.0, 0.0], [0.0, 1.0]]))
    torch.return_types.linalg_slogdet(
    sign=tensor(-1.),
    logabsdet=tensor(0.))
    """
    result = named("linalg_slogdet", "sign logabsdet", _sign_and_log("linalg.slogdet", A))
    return into("linalg_slogdet", out, result, A)


def logdet(input: Tensor) -> Tensor:
    """The logarithm of the determinant: NaN if it is negative.

    >>> torch.logdet(torch.eye(2))
    tensor(0.)
    """
    sign, log = _sign_and_log("logdet", input)
    if input.is_complex():
        return sign.log() + log
    return graph.where(sign == -1, math.nan, log)


# ----- Triangular systems ---------------------------------------------------------------------------------------------


def _triangular_gradients(
    grad: Any, input: Any, result: Any, B_shape: Any, upper: bool, left: bool, unitriangular: bool, needs: Any, xp: Any
) -> tuple[Any, Any]:
    gB = xp._linalg_solve_triangular(xp.adjoint(input), grad, not upper, left, unitriangular)
    gA = None
    if needs[0]:
        gA = -(gB @ xp.adjoint(result)) if left else -(xp.adjoint(result) @ gB)
        gA = xp.sum_to(gA, tuple(input.shape))
        gA = xp.triu(gA, int(unitriangular)) if upper else xp.tril(gA, -int(unitriangular))
    return gA, xp.sum_to(gB, B_shape)


@differentiable(by_columns(kernels.solve_triangular), node="LinalgSolveTriangularBackward0",
                **joint_rules(_triangular_gradients, "input", "B"))  # fmt: skip
def _linalg_solve_triangular(input: Tensor, B: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor: ...


def solve_triangular(
    input: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False, out: Tensor | None = None
) -> Tensor:
    """X with A X = B (X A = B if not `left`) for a triangular A, of which the other triangle is not read.

    >>> A = torch.tensor([[1.0, 1.0], [0.0, 2.0]])
    >>> torch.linalg.solve_triangular(A, torch.tensor([[3.0], [4.0]]), upper=True)
    tensor([[1.],
            [2.]])
    """
    if not left or not make_system(input, B):
        need_square(input, "linalg.solve_triangular")
        need_matrix(B, "linalg.solve_triangular", "B")
        _check_fit("linalg.solve_triangular", input, tuple(B.shape), left)
        need_lapack(input, "triangular_solve_cpu")
    if B.dtype is not input.dtype:
        if B.is_complex() and not input.is_complex():
            input = input.to(dtypes.promote_types(input.dtype, B.dtype))
        B = B.to(input.dtype)
    return into(
        "linalg_solve_triangular", out, _linalg_solve_triangular(input, B, upper, left, unitriangular), input, B
    )


# ----- Tensors as matrices --------------------------------------------------------------------------------------------


def tensorinv(input: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of a tensor viewed as a matrix whose rows are its first `ind` dimensions.

    >>> torch.linalg.tensorinv(torch.eye(4).view(2, 2, 4)).shape
    torch.Size([4, 2, 2])
    """
    if ind <= 0:
        raise RuntimeError(f"Expected a strictly positive integer for 'ind', but got {ind}")
    shape = tuple(input.shape)
    if ind > len(shape):
        raise RuntimeError(f"ArrayRef: invalid slice, N = {ind}; size = {len(shape)}")
    rows, columns = math.prod(shape[:ind]), math.prod(shape[ind:])
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{columns} != {rows}"
        )
    inverse, info = _inverted(input.reshape(rows, columns))
    refuse_info("inv", info, NOT_INVERTIBLE)
    return into("linalg_tensorinv", out, inverse.reshape(*shape[ind:], *shape[:ind]), input)


def tensorsolve(input: Tensor, other: Tensor, dims: Any = None, *, out: Tensor | None = None) -> Tensor:
    """X with tensordot(input, X, X.dim()) = other; `dims` of the input are moved to its end first.

    >>> torch.linalg.tensorsolve(torch.eye(4).view(2, 2, 4), torch.ones(2, 2))
    tensor([1., 1., 1., 1.])
    """
    A = input
    if dims is not None:
        axes = [wrap_dim(d, A.dim()) for d in ((dims,) if isinstance(dims, int) else dims)]
        A = A.movedim(axes, list(range(A.dim() - len(axes), A.dim())))
    unknown = tuple(A.shape[other.dim() :])
    if other.numel() != math.prod(unknown):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
            f"{math.prod(unknown)} != {other.numel()}"
        )
    n = other.numel()
    return into("linalg_tensorsolve", out, solve(A.reshape(n, n), other.reshape(n)).reshape(unknown), input, other)
