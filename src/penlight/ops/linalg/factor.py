"""Factorisations and solving with them: Cholesky, LU, LDL."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...kernels import linalg as kernels
from ...kernels.linalg import ldl
from ...kernels.numpy_calls import eye
from ...tensor import Tensor, wrap
from ..machinery.arguments import broadcast_shape, values_of
from ..machinery.array_namespace import both, raw
from ..machinery.declare import OPS, differentiable, plain
from ..machinery.guards import no_derivative, not_implemented
from ..machinery.rules import joint_rules
from .common import (
    NOT_INVERTIBLE,
    NOT_POSITIVE,
    LinAlgError,
    are_matrices,
    by_columns,
    columns,
    hermitian_twice,
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
from .solve import _check_fit

__all__ = [
    "cholesky", "cholesky_ex", "cholesky_inverse", "cholesky_solve", "ldl_factor", "ldl_factor_ex", "ldl_solve", "lu",
    "lu_factor", "lu_factor_ex", "lu_solve", "lu_unpack"
]  # fmt: skip

# ----- Cholesky -------------------------------------------------------------------------------------------------------


def _cholesky_back(grad: Any, L: Any, upper: bool, xp: Any) -> Any:
    """The gradient of a Hermitian matrix from that of its factor: L^-H (phi + phi^H) / 2 L^-1, phi = tril(L^H grad)."""
    if upper:
        grad, L = xp.adjoint(grad), xp.adjoint(L)
    phi = xp.tril(xp.adjoint(L) @ grad, 0)
    phi = xp.times(phi + xp.adjoint(xp.tril(phi, -1)), 0.5)
    middle = xp._linalg_solve_triangular(xp.adjoint(L), phi, True, True, False)
    return xp._linalg_solve_triangular(L, middle, False, False, False)


@differentiable(by_columns(kernels.cholesky, 0), node="LinalgCholeskyExBackward0", results=("L", "info"),
                input=lambda grads, L, upper, xp: _cholesky_back(grads[0], L, upper, xp))  # fmt: skip
def _linalg_cholesky_ex(input: Tensor, upper: bool) -> tuple[Tensor, Tensor]: ...


@differentiable(by_columns(kernels.cholesky, 0), node="CholeskyBackward0", results=("result", "info"),
                input=lambda grads, result, upper, xp: _cholesky_back(grads[0], result, upper, xp))  # fmt: skip
def _cholesky(input: Tensor, upper: bool) -> tuple[Tensor, Tensor]: ...


def _checked_for_cholesky(input: Tensor) -> Tensor:
    if not is_square(input):
        need_square(input, "linalg.cholesky")
        need_floating(input, "linalg.cholesky")
        need_lapack(input, "cholesky_cpu")
    return input


def cholesky(input: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """The lower triangular L with A = L L^H (or the upper U with A = U^H U) of a positive definite matrix.

    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    L, info = _linalg_cholesky_ex(_checked_for_cholesky(input), upper)
    refuse_info("linalg.cholesky", info, NOT_POSITIVE)
    return into("linalg_cholesky", out, L, input)


def cholesky_ex(input: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """Like `cholesky`, but raises only if `check_errors`: `info` is the order of the first minor that is not positive.

    >>> L, info = torch.linalg.cholesky_ex(torch.tensor([[4.0, 2.0], [2.0, 3.0]]))
    >>> info
    tensor(0, dtype=torch.int32)
    """
    L, info = _linalg_cholesky_ex(_checked_for_cholesky(input), upper)
    if check_errors:
        refuse_info("linalg.cholesky_ex", info, NOT_POSITIVE)
    return into("linalg_cholesky_ex", out, named("linalg_cholesky_ex", "L info", (L, info)), input)


def _factor_grad(common: Any, factor: Any, upper: bool, xp: Any) -> Any:
    """The gradient of a Cholesky factor, of which one triangle is read, given minus the symmetrised gradient of the matrix."""
    return xp.triu(-(xp.triu(factor, 0) @ common), 0) if upper else xp.tril(-(common @ xp.tril(factor, 0)), 0)


def _cholesky_solve_gradients(
    grad: Any, input2: Any, result: Any, input_shape: tuple[int, ...], upper: bool, needs: Any, xp: Any
) -> tuple[Any, Any]:
    gB = xp._cholesky_solve(grad, input2, upper)
    gL = None
    if needs[1]:
        gL = _factor_grad(hermitian_twice(gB @ xp.adjoint(result), xp), input2, upper, xp)
        gL = xp.sum_to(gL, tuple(input2.shape))
    return xp.sum_to(gB, input_shape), gL


@differentiable(by_columns(kernels.cholesky_solve), node="CholeskySolveBackward0",
                **joint_rules(_cholesky_solve_gradients, "input", "input2"))  # fmt: skip
def _cholesky_solve(input: Tensor, input2: Tensor, upper: bool) -> Tensor: ...


def cholesky_solve(input: Tensor, input2: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """X with A X = B, where `input2` is the Cholesky factor of A.

    >>> torch.cholesky_solve(torch.ones(2, 1), 2 * torch.eye(2))
    tensor([[0.2500],
            [0.2500]])
    """
    if not make_system(input2, input):
        check_system("cholesky_solve", "", input, input2)
    return into("cholesky_solve", out, _cholesky_solve(input, input2, upper), input, input2)


def check_system(function: str, lead: str, b: Tensor, A: Tensor) -> None:
    """PyTorch's checks, in its older solvers, of a right-hand side and a matrix; `lead` starts some of the messages."""
    for name, x in (("b", b), ("A", A)):
        if x.dim() < 2:
            if lead:
                raise RuntimeError(
                    f"{lead}Expected {name} to have at least 2 dimensions, but it has {x.dim()} dimensions instead"
                )
            spoken = "b" if name == "b" else "u"
            raise RuntimeError(f"{spoken} should have at least 2 dimensions, but has {x.dim()} dimensions instead")
    if b.dtype is not A.dtype:
        kinds = dtypes.LEGACY[b.dtype], dtypes.LEGACY[A.dtype]
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {kinds[0]} and A of type {kinds[1]} instead."
        )
    (m, n), (k, p) = A.shape[-2:], b.shape[-2:]
    if m != n:
        raise RuntimeError(f"A must be batches of square matrices, but they are {m} by {n} matrices")
    if k != n:
        raise RuntimeError(
            f"Incompatible matrix sizes for {function}: each A matrix is {m} by {n} but each b matrix is {k} by {p}"
        )
    broadcast_shape(tuple(b.shape[:-2]), tuple(A.shape[:-2]))
    if b.dtype.category < dtypes.FLOATING or b.dtype.itemsize == 2:
        raise not_implemented(f"{function}_cpu", b._array.dtype)


def _cholesky_inverse_kernel(input: Any, upper: bool) -> Any:
    n = input.shape[-1]
    return kernels.cholesky_solve(eye(n, n, input.dtype), input, upper)


def _cholesky_inverse_rule(grad: Any, input: Any, result: Any, upper: bool, xp: Any) -> Any:
    common = result @ hermitian_twice(grad, xp) @ result
    return _factor_grad(common, input, upper, xp)


@differentiable(by_columns(_cholesky_inverse_kernel), node="CholeskyInverseBackward0", input=_cholesky_inverse_rule)
def _cholesky_inverse(input: Tensor, upper: bool) -> Tensor: ...


def cholesky_inverse(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of A from its Cholesky factor.

    >>> torch.cholesky_inverse(2 * torch.eye(2))
    tensor([[0.2500, 0.0000],
            [0.0000, 0.2500]])
    """
    if not is_square(input):
        need_square(input, "cholesky_inverse")
        need_lapack(input, "cholesky_inverse_out_cpu")
    diagonal = values_of(input).diagonal(0, -2, -1)
    if not diagonal.all():
        zeros = diagonal == 0
        info = np.where(zeros.any(-1), zeros.argmax(-1) + 1, 0)
        refuse_info("cholesky_inverse", wrap(np.asarray(info)), NOT_INVERTIBLE)
    return into("cholesky_inverse", out, _cholesky_inverse(input, upper), input)


# ----- LU -------------------------------------------------------------------------------------------------------------


def _split_lu(LU: Any, xp: Any) -> tuple[Any, Any]:
    """L with a unit diagonal, and U, from their packed form."""
    if xp is raw:
        return kernels.split_lu(LU)
    m, n = LU.shape[-2:]
    k = min(m, n)
    left = LU[..., :, :k] if n > k else LU
    top = LU[..., :k, :] if m > k else LU
    eye = xp.constant(np.eye(m, k, dtype=xp.np_dtype(LU)))
    return xp.tril(left, -1) + eye, xp.triu(top, 0)


def _lu_kernel(A: Any, pivot: bool) -> Any:
    LU, pivots, _ = kernels.lu_factor(A)
    return (*_split_lu(LU, raw), pivots)


# M with its rows swapped according to the pivots, and the inverse.
@plain(lambda pivots, rows, dtype: kernels.permutation_matrix(pivots, rows, dtype.np))
def _permutation(pivots: Tensor, rows: int, dtype: Any) -> Tensor: ...


# Inside vmap it processes all samples at once.
OPS["_permutation"].batch = lambda level, op, arguments: op.function(*(level.value(a) for a in arguments))

both("rows_exchanged", kernels.rows_exchanged, lambda pivots, M: _permutation(pivots, M.shape[-2], M.dtype).mT @ M)
both("rows_restored", kernels.rows_restored, lambda pivots, M: _permutation(pivots, M.shape[-2], M.dtype) @ M)


def _lu_back(gL: Any, gU: Any, L: Any, U: Any, pivots: Any, xp: Any) -> Any:
    """The gradient of A from those of L and U, for A of any shape.

    The square part has L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H. The part beyond it, to the right (U2 = L^-1 A2) or
    below (L2 = A2 U^-1), has its own gradient and contributes to that of the square part's other factor.
    """
    m, n, k = L.shape[-2], U.shape[-1], L.shape[-1]
    gL = xp.zeros_like(L) if gL is None else gL
    gU = xp.zeros_like(U) if gU is None else gU
    L1, U1 = L[..., :k, :], U[..., :, :k]
    gL1, gU1 = gL[..., :k, :], gU[..., :, :k]
    beyond = None
    if n > k:
        beyond = xp._linalg_solve_triangular(xp.adjoint(L1), gU[..., :, k:], True, True, True)
        gL1 = gL1 - beyond @ xp.adjoint(U[..., :, k:])
    elif m > k:
        beyond = xp._linalg_solve_triangular(xp.adjoint(U1), gL[..., k:, :], False, False, False)
        gU1 = gU1 - xp.adjoint(L[..., k:, :]) @ beyond
    middle = xp.tril(xp.adjoint(L1) @ gL1, -1) + xp.triu(gU1 @ xp.adjoint(U1), 0)
    middle = xp._linalg_solve_triangular(xp.adjoint(U1), middle, False, False, False)
    gA = xp._linalg_solve_triangular(xp.adjoint(L1), middle, True, True, True)
    if beyond is not None:
        gA = xp._cat([gA, beyond], len(gA.shape) - (1 if n > k else 2))
    return xp.by_rows(xp.rows_restored(pivots, gA))


@differentiable(_lu_kernel, node="LinalgLuBackward0", results=("L", "U", "pivots"),
                A=lambda grads, L, U, pivots, xp: _lu_back(grads[0], grads[1], L, U, pivots, xp))  # fmt: skip
def _linalg_lu(A: Tensor, pivot: bool) -> tuple[Tensor, Tensor, Tensor]: ...


def _lu_factor_rule(grads: Any, LU: Any, pivots: Any, xp: Any) -> Any:
    m, n = LU.shape[-2:]
    k = min(m, n)
    L, U = _split_lu(LU, xp)
    return _lu_back(xp.tril(grads[0][..., :, :k], -1), xp.triu(grads[0][..., :k, :], 0), L, U, pivots, xp)


@differentiable(by_columns(lambda A, pivot: kernels.lu_factor(A), 0), node="LinalgLuFactorExBackward0",
                results=("LU", "pivots", "info"),
                A=_lu_factor_rule)  # fmt: skip
def _linalg_lu_factor_ex(A: Tensor, pivot: bool) -> tuple[Tensor, Tensor, Tensor]: ...


def _checked_for_lu(A: Tensor, pivot: bool, function: str) -> Tensor:
    if not are_matrices(A):
        if A.dim() < 2:
            raise RuntimeError(
                f"{function}: Expected tensor with 2 or more dimensions. Got size: {list(A.shape)} instead"
            )
        need_lapack(A, "lu_cpu")
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")
    return A


def lu(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """P, L and U with A = P L U: a permutation, a unit lower and an upper triangular matrix.

    >>> torch.linalg.lu(torch.tensor([[1.0, 2.0], [2.0, 2.0]])).U
    tensor([[2., 2.],
            [0., 1.]])
    """
    L, U, pivots = _linalg_lu(_checked_for_lu(A, pivot, "linalg.lu"), pivot)
    P = _permutation(pivots, A.shape[-2], A.dtype)
    return into("linalg_lu", out, named("linalg_lu", "P L U", (P, L, U)), A)


SINGULAR_U = (
    "U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to perform the "
    "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)


def lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """L and U packed in one matrix, and the row exchanges (pivots), for `lu_solve`.

    >>> torch.linalg.lu_factor(torch.tensor([[1.0, 2.0], [2.0, 2.0]])).pivots
    tensor([2, 2], dtype=torch.int32)
    """
    LU, pivots, info = _linalg_lu_factor_ex(_checked_for_lu(A, pivot, "torch.lu_factor"), pivot)
    refuse_info("torch.linalg.lu_factor", info, SINGULAR_U, RuntimeError)
    return into("linalg_lu_factor", out, named("linalg_lu_factor", "LU pivots", (LU, pivots)), A)


def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """Like `lu_factor`, but raises only if `check_errors`: `info` is the index of a zero pivot.

    >>> LU, pivots, info = torch.linalg.lu_factor_ex(torch.tensor([[4.0, 2.0], [2.0, 3.0]]))
    >>> pivots, info
    (tensor([1, 2], dtype=torch.int32), tensor(0, dtype=torch.int32))
    """
    result = _linalg_lu_factor_ex(_checked_for_lu(A, pivot, "torch.lu_factor"), pivot)
    if check_errors:
        refuse_info("torch.linalg.lu_factor_ex", result[2], SINGULAR_U, RuntimeError)
    return into("linalg_lu_factor_ex", out, named("linalg_lu_factor_ex", "LU pivots info", result), A)


# ----- Solving with an LU factorisation -------------------------------------------------------------------------------


def _lu_solve_gradients(
    grad: Any, LU: Any, pivots: Any, result: Any, B_shape: Any, left: bool, adjoint: bool, needs: Any, xp: Any
) -> tuple[Any, Any]:
    """Gradients of LU and B: first that of A = P L U, then of its factors."""
    gB = xp._linalg_lu_solve(LU, pivots, grad, left, not adjoint)
    gLU = None
    if needs[0]:
        if left:
            gA = result @ xp.adjoint(gB) if adjoint else gB @ xp.adjoint(result)
        else:
            gA = xp.adjoint(gB) @ result if adjoint else xp.adjoint(result) @ gB
        gA = xp.rows_exchanged(pivots, xp.sum_to(-gA, tuple(LU.shape)))
        L, U = _split_lu(LU, xp)
        gLU = xp.tril(gA @ xp.adjoint(U), -1) + xp.triu(xp.adjoint(L) @ gA, 0)
    return gLU, xp.sum_to(gB, B_shape)


def _lu_solve_kernel(LU: Any, pivots: Any, B: Any, left: bool, adjoint: bool) -> Any:
    X = kernels.lu_solve(LU, pivots, B, left, adjoint)
    return columns(X) if left else X


@differentiable(_lu_solve_kernel, node="LinalgLuSolveBackward0", **joint_rules(_lu_solve_gradients, "LU", "B"))
def _linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, left: bool, adjoint: bool) -> Tensor: ...


def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False, out: Tensor | None = None
) -> Tensor:
    """X with A X = B (or X A = B, or with the adjoint of A), where `LU` and `pivots` are from `lu_factor(A)`.

    >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[0.0, 2.0], [1.0, 0.0]]))
    >>> torch.linalg.lu_solve(LU, pivots, torch.tensor([[2.0], [3.0]]))
    tensor([[3.],
            [1.]])
    """
    usual = left and make_system(LU, B)
    if not usual:
        need_floating(LU, "torch.linalg.lu_solve")
        need_square(LU, "torch.linalg.lu_solve")
        need_matrix(B, "linalg.lu_solve", "B")
        need_same_dtype("linalg.lu_solve", LU, B, ("LU", "B"))
    _check_pivots(LU, pivots)
    if not usual:
        _check_fit("linalg.lu_solve", LU, tuple(B.shape), left)
        need_lapack(LU, "lu_solve_cpu")
    return into("linalg_lu_solve", out, _linalg_lu_solve(LU, pivots, B, left, adjoint), LU, B)


def _check_pivots(LU: Tensor, pivots: Tensor) -> None:
    if pivots.dtype is not dtypes.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    if not pivots.dim() or pivots.shape[-1] != LU.shape[-1]:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if tuple(pivots.shape[:-1]) != tuple(LU.shape[:-2]):
        raise RuntimeError("linalg.lu_solve: Expected LU.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
                           f"{list(pivots.shape)} and LU with shape {list(LU.shape)}")  # fmt: skip
    array = values_of(pivots)
    if array.size and not _all_between(array, 1, LU.shape[-2]):
        which = "smaller or equal to LU.size(-2)" if array.max() > LU.shape[-2] else "greater or equal to 1"
        raise RuntimeError(
            f"Pivots given to lu_solve must all be {which}. Did you properly pass the result of lu_factor?"
        )


def _unpack_rule(grads: Any, LU_data_shape: Any, xp: Any) -> Any:
    """Both factors' gradients, packed in one matrix."""
    m, n = LU_data_shape[-2:]
    k = min(m, n)
    known = next(g for g in grads if g is not None)
    gL = xp.zeros_for(known, (*LU_data_shape[:-1], k)) if grads[0] is None else xp.tril(grads[0], -1)
    gU = xp.zeros_for(known, (*LU_data_shape[:-2], k, n)) if grads[1] is None else xp.triu(grads[1], 0)
    last = len(LU_data_shape) - 1
    if n > k:
        gL = xp._cat([gL, xp.zeros_for(known, (*LU_data_shape[:-1], n - k))], last)
    if m > k:
        gU = xp._cat([gU, xp.zeros_for(known, (*LU_data_shape[:-2], m - k, n))], last - 1)
    return gL + gU


@differentiable(
    lambda LU_data: _split_lu(LU_data, raw), node="LuUnpackBackward0", results=("L", "U"), LU_data=_unpack_rule
)
def _lu_unpack(LU_data: Tensor) -> tuple[Tensor, Tensor]: ...


def _all_between(positions: Any, low: int, high: int) -> bool:
    if positions.size < 64:
        numbers = positions.reshape(-1).tolist()
        return low <= min(numbers) and max(numbers) <= high
    return bool(low <= positions.min() and positions.max() <= high)


def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True, *, out: Any = None
) -> Any:
    """P, L and U from the result of `lu_factor`; unrequested parts are empty.

    >>> P, L, U = torch.lu_unpack(*torch.linalg.lu_factor(torch.tensor([[1.0, 2.0], [2.0, 2.0]])))
    >>> P @ L @ U
    tensor([[1., 2.],
            [2., 2.]])
    """
    if LU_data.dim() < 2:
        raise RuntimeError(
            f"torch.lu_unpack: Expected tensor with 2 or more dimensions. Got size: {list(LU_data.shape)} instead"
        )
    if unpack_pivots and LU_pivots.dtype is not dtypes.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this function is "
            "intended to be used with the output produced by torch.linalg.lu_factor"
        )
    rows, empty = LU_data.shape[-2], np.zeros(0, LU_data._array.dtype)
    pivoted = [*LU_data.shape[:-2], min(LU_data.shape[-2:])]
    if unpack_pivots and list(LU_pivots.shape) != pivoted:  # PyTorch reads beyond them
        raise RuntimeError(
            f"torch.lu_unpack: Expected LU_pivots of shape {pivoted}, but got {list(LU_pivots.shape)} instead"
        )
    pivots = values_of(LU_pivots)
    if unpack_pivots and pivots.size and not _all_between(pivots, 1, rows):
        raise RuntimeError(
            "pivots passed to lu_unpack must be between 1 and LU.size(-2) inclusive.Did you properly pass the result of lu_factor?"
        )
    P = _permutation(LU_pivots, rows, LU_data.dtype) if unpack_pivots else wrap(empty)
    L, U = _lu_unpack(LU_data) if unpack_data else (wrap(empty), wrap(empty.copy()))
    return into("lu_unpack", out, named("lu_unpack", "P L U", (P, L, U)), LU_data)


# ----- The LDL factorisation of symmetric and Hermitian matrices ------------------------------------------------------


@differentiable(by_columns(ldl.ldl_factor, 0), node="NotImplemented", results=("LD", "pivots", "info"),
                input=no_derivative("linalg_ldl_factor_ex", several=True))  # fmt: skip
def _linalg_ldl_factor_ex(input: Tensor, hermitian: bool) -> tuple[Tensor, Tensor, Tensor]: ...


def _factored(input: Tensor, hermitian: bool, function: str, check: bool) -> tuple[Tensor, Tensor, Tensor]:
    if not is_square(input):
        need_square(input, "torch.linalg.ldl_factor_ex")
        need_floating(input, "torch.linalg.ldl_factor_ex")
        need_lapack(input, "ldl_factor_kernel_cpu")
    result = _linalg_ldl_factor_ex(input, hermitian)
    if check:
        refuse_info(
            f"torch.linalg.{function}", result[2],
            "The factorization has a zero on D's diagonal: D[{0},{0}] is zero, and solving with it would divide by zero.", LinAlgError,
        )  # fmt: skip
    return result


def ldl_factor(input: Tensor, *, hermitian: bool = False, out: Any = None) -> Any:
    """L and D of a symmetric (or Hermitian) matrix's LDL factorisation in one matrix, and its pivots, for `ldl_solve`.

    >>> torch.linalg.ldl_factor(torch.tensor([[2.0, 1.0], [1.0, 2.0]])).LD
    tensor([[2.0000, 0.0000],
            [0.5000, 1.5000]])
    """
    LD, pivots, _ = _factored(input, hermitian, "ldl_factor", True)
    return into("linalg_ldl_factor", out, named("linalg_ldl_factor", "LD pivots", (LD, pivots)), input)


def ldl_factor_ex(input: Tensor, *, hermitian: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """Like `ldl_factor`, but raises only if `check_errors`: `info` is the index of a zero pivot.

    >>> LD, pivots, info = torch.linalg.ldl_factor_ex(torch.tensor([[4.0, 2.0], [2.0, 3.0]]))
    >>> info
    tensor(0, dtype=torch.int32)
    """
    result = _factored(input, hermitian, "ldl_factor_ex", check_errors)
    return into("linalg_ldl_factor_ex", out, named("linalg_ldl_factor_ex", "LD pivots info", result), input)


@differentiable(
    by_columns(ldl.ldl_solve),
    node="NotImplemented",
    LD=no_derivative("linalg_ldl_solve"),
    B=no_derivative("linalg_ldl_solve"),
)
def _linalg_ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool) -> Tensor: ...


def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False, out: Tensor | None = None) -> Tensor:
    """X with A X = B, where `LD` and `pivots` are from `ldl_factor(A)`.

    >>> LD, pivots = torch.linalg.ldl_factor(torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
    >>> torch.linalg.ldl_solve(LD, pivots, torch.tensor([[3.0], [3.0]]))
    tensor([[1.],
            [1.]])
    """
    if not make_system(LD, B) or not isinstance(pivots, Tensor):
        if B.dim() < 2:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-max(B.dim(), 1)}, {max(B.dim(), 1) - 1}], but got -2)"
            )
        check_system("torch.linalg.ldl_solve", "torch.linalg.ldl_solve: ", B, LD)
    if pivots.dtype.category != dtypes.INTEGRAL:
        raise RuntimeError(f"torch.linalg.ldl_solve: Expected pivots to be integers. Got {dtypes.LEGACY[pivots.dtype]}")
    if tuple(LD.shape[:-1]) != tuple(pivots.shape):
        raise RuntimeError(
            "torch.linalg.ldl_solve: Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape "
            f"{list(pivots.shape)} instead"
        )
    return into("linalg_ldl_solve", out, _linalg_ldl_solve(LD, pivots, B, hermitian), LD, B)
