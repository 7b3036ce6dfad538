"""Orthogonal factors: QR, and products of Householder reflectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels import linalg as kernels
from ...tensor import Tensor
from ..machinery.array_namespace import both, graph
from ..machinery.declare import differentiable
from ..machinery.guards import not_implemented, not_written
from ..machinery.rules import joint_rules
from . import solve as _linalg_solve  # noqa: F401  # what the rules solve triangular systems with
from .common import (
    are_matrices,
    by_columns,
    columns,
    hermitian_twice,
    into,
    named,
    need_floating,
    need_lapack,
    need_matrix,
)

__all__ = ["geqrf", "householder_product", "ormqr", "qr"]

# ----- QR -------------------------------------------------------------------------------------------------------------


def _qr_kernel(A: Any, mode: Any) -> Any:
    Q, R = kernels.qr(A, mode)
    return (columns(Q) if Q.ndim > 1 else Q), columns(R)


def _qr_rule(grads: Any, Q: Any, R: Any, mode: str, A_shape: tuple[int, ...], xp: Any) -> Any:
    m, n = A_shape[-2:]
    if mode == "r":
        raise RuntimeError(
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use "
            "linalg.qr(A, mode='reduced') if you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    gQ, gR = grads
    if m >= n:
        return _qr_back(gQ, gR, Q, R, xp)
    # The first columns are a square QR; the others are Q^H times the rest of A.
    first, rest = R[..., :, :m], R[..., :, m:]
    if gR is None:
        beyond, g_first = xp.zeros_for(gQ, (*A_shape[:-1], n - m)), None
    else:
        beyond, g_first = Q @ gR[..., :, m:], gR[..., :, :m]
        through = Q @ rest @ xp.adjoint(gR[..., :, m:])
        gQ = through if gQ is None else gQ + through
    return xp.by_rows(xp._cat([_qr_back(gQ, g_first, Q, first, xp), beyond], len(A_shape) - 1))


def _qr_back(gQ: Any, gR: Any, Q: Any, R: Any, xp: Any) -> Any:
    """For at least as many rows as columns: (gQ + Q sym(triu(gR R^H - Q^H gQ))) R^-H, sym halving the real diagonal."""
    if gR is None:
        inner = -(xp.adjoint(Q) @ gQ)
    else:
        inner = gR @ xp.adjoint(R) if gQ is None else gR @ xp.adjoint(R) - xp.adjoint(Q) @ gQ
    inner = xp.triu(inner, 0)
    inner = hermitian_twice(inner, xp) - xp.as_diagonal(xp.diagonal_of(inner).real)
    total = Q @ inner if gQ is None else gQ + Q @ inner
    return xp._linalg_solve_triangular(xp.adjoint(R), total, False, False, False)


@differentiable(_qr_kernel, node="LinalgQrBackward0", results=("Q", "R"), A=_qr_rule)
def _linalg_qr(A: Tensor, mode: str) -> tuple[Tensor, Tensor]: ...


def qr(A: Tensor, mode: str = "reduced", *, out: Any = None) -> Any:
    """Q with orthonormal columns and an upper triangular R with A = Q R; `mode` is "reduced", "complete" or "r".

    >>> torch.linalg.qr(torch.tensor([[3.0, 1.0], [4.0, 2.0]])).R
    tensor([[-5.0000, -2.2000],
            [ 0.0000,  0.4000]])
    """
    known = are_matrices(A)
    if not known:
        need_matrix(A, "linalg.qr")
        need_floating(A, "linalg.qr")
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    if not known:
        need_lapack(A, "geqrf_cpu")
    return into("linalg_qr", out, named("linalg_qr", "Q R", _linalg_qr(A, mode)), A)


# ----- Reflectors -----------------------------------------------------------------------------------------------------


@differentiable(
    by_columns(kernels.geqrf, 0), node="GeqrfBackward0", results=("a", "tau"), input=not_written("geqrf", several=True)
)
def _geqrf(input: Tensor) -> tuple[Tensor, Tensor]: ...


def geqrf(input: Tensor, *, out: Any = None) -> Any:
    """The QR factorisation in LAPACK's form: R, the reflectors below its diagonal, and the reflectors' factors.

    >>> torch.geqrf(torch.tensor([[3.0], [4.0]])).tau
    tensor([1.6000])
    """
    if not are_matrices(input):
        if input.dim() < 2:
            raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
        need_lapack(input, "geqrf_cpu")
    return into("geqrf", out, named("geqrf", "a tau", _geqrf(input)), input)


def _reflectors_graph(A: Any, tau: Any) -> tuple[Any, Any]:
    """V and T of Note [Products of reflectors] in kernels/linalg/, computed by differentiable ops."""
    k = tau.shape[-1]
    V = A[..., :, :k].tril(-1) + graph.constant(np.eye(A.shape[-2], k, dtype=A._array.dtype))
    overlap = tau[..., :, None] * (V.mH @ V).triu(1)
    return V, graph._linalg_solve_triangular(overlap, tau.diag_embed(), True, True, True)


both("reflectors", kernels.reflectors, _reflectors_graph)


def _reflector_grads(gQ: Any, A: Any, tau: Any, xp: Any) -> tuple[Any, Any]:
    """The gradients of the reflectors and their factors, given that of the first columns of I - V T V^H."""
    n, k = gQ.shape[-1], tau.shape[-1]
    V, T = xp.reflectors(A, tau)
    W, Vh, Th = V[..., :n, :], xp.adjoint(V), xp.adjoint(T)
    gV = -(gQ @ W @ Th)
    gW = -(xp.adjoint(gQ) @ V @ T)
    gT = -(Vh @ gQ @ W)
    # T = M^-1 D with M = I + D S, S the part of V^H V above the diagonal, D the diagonal matrix of the factors.
    S = xp.triu(Vh @ V, 1)
    M = tau[..., :, None] * S
    gD = xp._linalg_solve_triangular(xp.adjoint(M), gT, False, True, True)
    gM = -(gD @ Th)
    g_tau = xp.diagonal_of(gD + gM @ xp.adjoint(S))
    gS = xp.triu(xp.conj(tau)[..., :, None] * gM, 1)
    gV = gV + V @ hermitian_twice(gS, xp)
    gV = gV + gW if n == gV.shape[-2] else gV + _padded(gW, gV.shape[-2] - n, -2, xp)
    gV = xp.tril(gV, -1)
    extra = A.shape[-1] - k
    return (_padded(gV, extra, -1, xp) if extra else gV), g_tau


def _padded(x: Any, count: int, dim: int, xp: Any) -> Any:
    """x with `count` zeros appended along a dimension."""
    shape = list(x.shape)
    shape[dim] = count
    return xp._cat([x, xp.zeros_for(x, tuple(shape))], len(shape) + dim)


@differentiable(by_columns(kernels.householder_product), node="LinalgHouseholderProductBackward0",
                **joint_rules(lambda grad, input, tau, needs, xp: _reflector_grads(grad, input, tau, xp), "input", "tau"))  # fmt: skip
def _linalg_householder_product(input: Tensor, tau: Tensor) -> Tensor: ...


def householder_product(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first columns of a product of Householder reflectors, whose vectors are stored below the input's diagonal.

    >>> torch.linalg.householder_product(*torch.geqrf(torch.tensor([[3.0], [4.0]])))
    tensor([[-0.6000],
            [-0.8000]])
    """
    if not _fit(input, tau):
        _check_reflectors(input, tau)
    return into("linalg_householder_product", out, _linalg_householder_product(input, tau), input, tau)


def _fit(input: Any, tau: Any) -> bool:
    """Whether these are reflectors and their factors, in one LAPACK dtype."""
    if type(tau) is not Tensor or not are_matrices(input):
        return False
    a, t = input._array, tau._array
    shape, size = a.shape, t.shape
    return t.dtype is a.dtype and shape[:-2] == size[:-1] and shape[-2] >= shape[-1] >= size[-1]


def _check_reflectors(input: Tensor, tau: Tensor) -> None:
    lead = "torch.linalg.householder_product: "
    if input.dim() < 2:
        raise RuntimeError(lead + "input must have at least 2 dimensions.")
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(lead + "input.shape[-2] must be greater than or equal to input.shape[-1]")
    if not tau.dim():
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    if input.shape[-1] < tau.shape[-1]:
        raise RuntimeError(lead + "input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if input.dim() - tau.dim() != 1:
        raise RuntimeError(
            f"{lead}Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.dim()} and input.ndim is "
            f"equal to {input.dim()}"
        )
    if tuple(input.shape[:-2]) != tuple(tau.shape[:-1]):
        raise RuntimeError(
            f"{lead}Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )
    if tau.dtype is not input.dtype:
        raise RuntimeError(f"{lead}tau dtype {tau.dtype} does not match input dtype {input.dtype}")
    need_lapack(input, "orgqr_cpu")


# ----- A product of reflectors times a matrix -------------------------------------------------------------------------


def _ormqr_gradients(
    grad: Any, input: Any, input2: Any, input3: Any, left: bool, transpose: bool, needs: Any, xp: Any
) -> tuple[Any, ...]:
    of_matrix = xp._ormqr(input, input2, grad, left, not transpose)
    if not (needs[0] or needs[1]):
        return None, None, of_matrix
    one, other = (input3, grad) if transpose else (grad, input3)
    gQ = one @ xp.adjoint(other) if left else xp.adjoint(other) @ one
    return (*_reflector_grads(gQ, input, input2, xp), of_matrix)


@differentiable(
    by_columns(kernels.ormqr), node="OrmqrBackward0", **joint_rules(_ormqr_gradients, "input", "input2", "input3")
)
def _ormqr(input: Tensor, input2: Tensor, input3: Tensor, left: bool, transpose: bool) -> Tensor: ...


def ormqr(
    input: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False, *, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The product of all reflectors in `input`, with factors `input2`, times a matrix (from the left or the right).

    >>> torch.ormqr(*torch.geqrf(torch.tensor([[3.0], [4.0]])), torch.tensor([[5.0], [0.0]]))
    tensor([[-3.],
            [-4.]])
    """
    ready = _fit(input, input2) and make_product(input, input3, left)
    if not ready or input2._array.shape[-1] != input._array.shape[-1]:
        _check_ormqr(input, input2, input3, left)
    return into("ormqr", out, _ormqr(input, input2, input3, left, transpose), input, input2, input3)


def make_product(A: Tensor, C: Any, left: bool) -> bool:
    """Whether the square matrix of A's reflectors can be multiplied with C."""
    if not are_matrices(A, C):
        return False
    shape, other = A._array.shape, C._array.shape
    return shape[:-2] == other[:-2] and other[-2 if left else -1] == shape[-2]


def _check_ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool) -> None:
    if input.dim() < 2:
        raise RuntimeError("torch.ormqr: input must have at least 2 dimensions.")
    if other.dim() < 2:
        raise RuntimeError("torch.ormqr: other must have at least 2 dimensions.")
    position = -2 if left else -1
    if other.shape[position] < tau.shape[-1]:
        raise RuntimeError(f"torch.ormqr: other.shape[{position}] must be greater than or equal to tau.shape[-1]")
    if tau.shape[-1] != min(other.shape[position], input.shape[-1]):
        raise RuntimeError(f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{position}], input.shape[-1])")
    if other.shape[position] != input.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{position}] must be equal to input.shape[-2]")
    if tau.shape[-1] > input.shape[-1]:
        raise RuntimeError("torch.ormqr: tau.shape[-1] must be less than or equal to input.shape[-1]")
    if input.dim() - tau.dim() != 1:
        raise RuntimeError(
            "torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim equal to "
            f"{tau.dim()} and input.ndim is equal to {input.dim()}"
        )
    if input.dim() != other.dim():
        raise RuntimeError(
            "torch.ormqr: Expected other to have the same number of dimensions as input, but got other.ndim equal to "
            f"{other.dim()} and input.ndim is equal to {input.dim()}"
        )
    for name, shape in (("tau", tau.shape[:-1]), ("other", other.shape[:-2])):
        if tuple(shape) != tuple(input.shape[:-2]):
            raise RuntimeError(
                f"torch.ormqr: Expected batch dimensions of {name} to be equal to input.shape[:-2], but got {list(shape)}"
            )
    for name, x in (("tau", tau), ("other", other)):
        if x.dtype is not input.dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {name} to have the same dtype, but input has dtype {input.dtype} and {name} has "
                f"dtype {x.dtype}"
            )
    if input._array.dtype.kind not in "fc" or input._array.dtype.itemsize == 2:
        raise not_implemented("ormqr_cpu", input._array.dtype)
