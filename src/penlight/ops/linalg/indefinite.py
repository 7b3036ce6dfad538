"""The LDL factorisation of symmetric and Hermitian matrices. PyTorch has no derivative for it."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...kernels.linalg import ldl as kernels
from ...tensor import Tensor
from ..machinery.declare import differentiable
from ..machinery.guards import no_derivative
from .common import (
    LinAlgError,
    by_columns,
    into,
    is_square,
    make_system,
    named,
    need_floating,
    need_lapack,
    need_square,
    need_tensor,
    refuse_info,
)
from .factor import check_system

__all__ = ["ldl_factor", "ldl_factor_ex", "ldl_solve"]


@differentiable(by_columns(kernels.ldl_factor, 0), node="NotImplemented", results=("LD", "pivots", "info"),
                input=no_derivative("linalg_ldl_factor_ex", several=True))  # fmt: skip
def _linalg_ldl_factor_ex(input: Tensor, hermitian: bool) -> tuple[Tensor, Tensor, Tensor]: ...


def _factored(input: Tensor, hermitian: bool, function: str, check: bool) -> tuple[Tensor, Tensor, Tensor]:
    if not is_square(input):
        need_tensor("linalg_ldl_factor", input=input)
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
    """Like `ldl_factor`, but raises only if `check_errors`: `info` says which pivot was zero.

    >>> LD, pivots, info = torch.linalg.ldl_factor_ex(torch.tensor([[4.0, 2.0], [2.0, 3.0]]))
    >>> info
    tensor(0, dtype=torch.int32)
    """
    result = _factored(input, hermitian, "ldl_factor_ex", check_errors)
    return into("linalg_ldl_factor_ex", out, named("linalg_ldl_factor_ex", "LD pivots info", result), input)


@differentiable(
    by_columns(kernels.ldl_solve),
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
        need_tensor("linalg_ldl_solve", LD=LD, pivots=pivots, B=B)
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
