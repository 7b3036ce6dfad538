"""Sums of matrix products and another tensor: addmv, addr, addbmm. The others are in affine.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...kernels.rows import widen
from ...tensor import Tensor
from ..machinery.arguments import legacy_sum
from ..machinery.declare import OPS, OpCall, differentiable, op_forms
from .affine import _scaled_back
from .matmul import _matmul_array, check_expand, check_sum, check_vector_sum, common_dtype, fits_in_place

if TYPE_CHECKING:
    from ..machinery.op import Number

__all__ = ["addbmm", "addmv", "addr"]


def _addbmm_array(input: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    return _added(_matmul_array(widen(batch1), widen(batch2)).sum(0), input, beta, alpha)


def _shared(grad: Any, count: int, alpha: Any, xp: Any) -> Any:
    return xp.broadcast_back(_scaled_back(grad, alpha, xp), (count, *grad.shape), (0,), False)


@differentiable(_addbmm_array, node="AddbmmBackward0", inplace=True,
                input=lambda grad, beta, input_shape, xp: xp.sum_to(_scaled_back(grad, beta, xp), input_shape),
                batch1=lambda grad, batch2, alpha, batch1_shape, xp:
                    xp._bmm(_shared(grad, batch1_shape[0], alpha, xp), xp.conj(xp._transpose(batch2, 1, 2))),
                batch2=lambda grad, batch1, alpha, batch2_shape, xp:
                    xp._bmm(xp.conj(xp._transpose(batch1, 1, 2)), _shared(grad, batch2_shape[0], alpha, xp)))  # fmt: skip
def _addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Number, alpha: Number) -> Tensor: ...


@op_forms()
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Number = 1, alpha: Number = 1) -> OpCall:
    """`beta * input + alpha * (the sum of the products of matrices in two batches)`.

    >>> torch.zeros(1, 1).addbmm(torch.ones(2, 1, 3), torch.ones(2, 3, 1))
    tensor([[6.]])
    """
    if legacy:
        input, batch1, batch2, beta, alpha = legacy_sum((input, batch1, batch2, *legacy))
    for name, batch in (("batch1", batch1), ("batch2", batch2)):
        if batch.dim() != 3:
            raise RuntimeError(f"{name} must be a 3D tensor")
    if batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {batch1.shape[0]} and {batch2.shape[0]}"
        )
    if batch1.shape[2] != batch2.shape[1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for bmm ({batch1.shape[1]}x{batch1.shape[2]} and {batch2.shape[1]}x{batch2.shape[2]})"
        )
    check_expand(input, (batch1.shape[1], batch2.shape[2]))
    check_sum(input, batch1, batch2, beta, alpha)
    return OPS["_addbmm"], (input, batch1, batch2, beta, alpha)


def _added(product: Any, input: Any, beta: Any, alpha: Any) -> Any:
    """beta * input + alpha * product; with beta 0 the input does not count, not even a NaN in it."""
    if product.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)  # as in C
    product = product if alpha == 1 else product * alpha
    total = product if beta == 0 else product + (widen(input) if beta == 1 else widen(input) * beta)
    return total.astype(input.dtype, copy=False)


@differentiable(lambda input, mat, vec, beta, alpha: _added(_matmul_array(widen(mat), widen(vec)), input, beta, alpha), node="AddmvBackward0", inplace=True,
                input=lambda grad, beta, input_shape, xp: xp.sum_to(_scaled_back(grad, beta, xp), input_shape),
                mat=lambda grad, vec, alpha, xp: _scaled_back(xp._outer(grad, xp.conj(vec)), alpha, xp),
                vec=lambda grad, mat, alpha, xp: _scaled_back(xp._mv(xp._t(xp.conj(mat)), grad), alpha, xp))  # fmt: skip
def _addmv(input: Tensor, mat: Tensor, vec: Tensor, beta: Number, alpha: Number) -> Tensor: ...


@differentiable(lambda input, vec1, vec2, beta, alpha: _added(widen(vec1)[:, None] * widen(vec2), input, beta, alpha), node="AddrBackward0",
                inplace=True,
                input=lambda grad, beta, input_shape, xp: xp.sum_to(_scaled_back(grad, beta, xp), input_shape),
                vec1=lambda grad, vec2, alpha, xp: _scaled_back(xp._mv(grad, xp.conj(vec2)), alpha, xp),
                vec2=lambda grad, vec1, alpha, xp: _scaled_back(xp._mv(xp._t(grad), xp.conj(vec1)), alpha, xp))  # fmt: skip
def _addr(input: Tensor, vec1: Tensor, vec2: Tensor, beta: Number, alpha: Number) -> Tensor: ...


@op_forms()
def addmv(
    in_place: bool, input: Tensor, mat: Tensor, vec: Tensor, *legacy: Any, beta: Number = 1, alpha: Number = 1
) -> OpCall:
    """`beta * input + alpha * mat @ vec`.

    >>> torch.zeros(1).addmv(torch.ones(1, 2), torch.ones(2), alpha=3)
    tensor([6.])
    """
    if legacy:
        input, mat, vec, beta, alpha = legacy_sum((input, mat, vec, *legacy))
    if mat.dim() != 2 or vec.dim() != 1 or input.dim() > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.dim()}, {mat.dim()}, {vec.dim()}")
    if mat.shape[1] != vec.shape[0] or input.numel() not in (1, mat.shape[0]):
        raise RuntimeError(
            f"size mismatch, got input ({input.numel()}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})"
        )
    check_vector_sum(input, mat, vec, beta, alpha)
    if in_place:
        fits_in_place(input, (mat.shape[0],))
    return OPS["_addmv"], (input, mat, vec, beta, alpha)


_NUMBERS = (int, float)


@op_forms()
def addr(
    in_place: bool, input: Tensor, vec1: Tensor, vec2: Tensor, *legacy: Any, beta: Number = 1, alpha: Number = 1
) -> OpCall:
    """`beta * input + alpha * outer(vec1, vec2)`.

    >>> torch.zeros(1, 2).addr(torch.ones(1), torch.tensor([1.0, 2.0]))
    tensor([[1., 2.]])
    """
    if legacy:
        input, vec1, vec2, beta, alpha = legacy_sum((input, vec1, vec2, *legacy))
    if type(input) is type(vec1) is type(vec2) is Tensor and type(beta) in _NUMBERS and type(alpha) in _NUMBERS:
        a, b, c = input._array, vec1._array, vec2._array
        if a.dtype is b.dtype is c.dtype and a.dtype.char in "fd" and b.ndim == c.ndim == 1:
            if a.shape == b.shape + c.shape:
                return OPS["_addr"], (input, vec1, vec2, beta, alpha)
    if vec1.dim() != 1 or vec2.dim() != 1:
        raise RuntimeError(
            f"addr: Expected 1-D argument {'vec1' if vec1.dim() != 1 else 'vec2'}, but got {(vec1 if vec1.dim() != 1 else vec2).dim()}-D"
        )
    if in_place:
        if input.dim() != 2:
            raise RuntimeError(f"2D tensor expected, got {input.dim()}D tensor for input")
        if tuple(input.shape) != (vec1.shape[0], vec2.shape[0]):
            sizes = [list(t.shape) for t in (input, vec1, vec2)]
            raise RuntimeError(f"size mismatch, input: {sizes[0]}, v1: {sizes[1]}, v2: {sizes[2]}")
    else:
        check_expand(input, (vec1.shape[0], vec2.shape[0]))
    common = common_dtype(input, vec1, vec2, beta, alpha, in_place)
    if not input.dtype is vec1.dtype is vec2.dtype is common:
        wanted = input.dtype if in_place else common
        input, vec1, vec2 = [t if t.dtype is wanted else t.to(wanted) for t in (input, vec1, vec2)]
    return OPS["_addr"], (input, vec1, vec2, beta, alpha)
