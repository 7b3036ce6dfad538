"""A matrix product plus a term: addmm, addmv, addr, baddbmm, addbmm, and the affine map of a layer, linear."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes
from ...autograd.modes import NAMESPACE, is_grad_enabled, sequence
from ...autograd.node import NO_EDGE
from ...kernels.lazy import lazy_import
from ...kernels.rows import widen
from ...tensor import Tensor, new
from ..machinery import dispatch
from ..machinery.arguments import broadcast_shape, legacy_sum
from ..machinery.declare import OPS, OpCall, differentiable, op_forms
from ..machinery.guards import c_name, cannot_cast, need_number, need_one_dtype, need_real_value
from ..machinery.op import traits
from ..shape.transpose import _t
from ..shape.views import _view
from .matmul import (
    _FLOAT32,
    _MOST_SMALL,
    _matmul_array,
    check_batches,
    check_sizes,
    check_vector_product,
    geometry,
    matmul,
    need_batch,
)

if TYPE_CHECKING:
    from ..machinery.op import Number

__all__ = ["addbmm", "addmm", "addmv", "addr", "baddbmm"]

# ----- What factors and the tensor added to their product must have in common ----------------------------------------

_typeinfo = lazy_import(globals(), "_typeinfo", "...typeinfo")


def _real_factors(dtype: dtypes.dtype, beta: Any, alpha: Any) -> None:
    """Refuse factors that are not scalars, or complex factors of real matrices."""
    need_number(beta)
    need_number(alpha)
    if isinstance(beta, Tensor) or isinstance(alpha, Tensor):
        raise TypeError("beta and alpha are numbers")  # `after_failure` converts a tensor
    if isinstance(beta, complex) or isinstance(alpha, complex):
        need_real_value(beta, dtype)
        need_real_value(alpha, dtype)


def check_sum(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Any = 1, alpha: Any = 1) -> None:
    """Refuse different dtypes in `input + mat1 @ mat2`, with addmm's message."""
    dtype = input._array.dtype
    if not (dtype is mat1._array.dtype is mat2._array.dtype or input.dtype is mat1.dtype is mat2.dtype):
        which, other = ("self", input) if input.dtype is not mat2.dtype else ("mat1", mat1)
        kinds = dtypes.LEGACY[other.dtype], dtypes.LEGACY[mat2.dtype]
        raise RuntimeError(f"{which} and mat2 must have the same dtype, but got {kinds[0]} and {kinds[1]}")
    _real_factors(input.dtype, beta, alpha)


def _check_batched_sum(
    input: Tensor, batch1: Tensor, batch2: Tensor, beta: Any, alpha: Any, inplace: bool = False
) -> None:
    """Refuse different dtypes, with baddbmm's message."""
    if input.dtype is batch1.dtype is batch2.dtype:
        _real_factors(input.dtype, beta, alpha)
        return
    if input.dtype is not batch1.dtype:
        names = [c_name(t.dtype) for t in (input, batch1, batch2)]
        raise RuntimeError(
            f"Input dtypes must be the same, got: input {names[0]}, batch1: {names[1]}, batch2: {names[2]}"
        )
    if inplace:
        names = [c_name(t.dtype) for t in (input, batch2)]
        raise RuntimeError(
            f"Bad in-place call: input tensor dtype {names[0]} and output tensor dtype {names[1]} should match"
        )
    need_one_dtype(batch1, batch2)


def _check_expand(input: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse an added term that does not expand to the product's shape."""
    own = tuple(input.shape)
    if len(own) > len(shape) or any([n != m and n != 1 for n, m in zip(reversed(own), reversed(shape))]):
        input.expand(shape)


def _fits_in_place(input: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse a product whose shape differs from that of the tensor it is added to in place."""
    if tuple(input.shape) != shape:
        raise RuntimeError(
            f"Bad in-place call: input tensor size {list(input.shape)} and output tensor size {list(shape)} should match"
        )


def _common_dtype(input: Tensor, vec1: Tensor, vec2: Tensor, beta: Any, alpha: Any, inplace: bool) -> dtypes.dtype:
    """The dtype of addr, which promotes as arithmetic does; in place, the tensor's dtype must be able to hold it."""
    pair = _typeinfo.result_type(vec1, vec2)
    common = pair if input.dtype is pair else dtypes.promote_types(input.dtype, pair)
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, bool) and common is not dtypes.bool_:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if isinstance(factor, (float, complex)) and not (common.is_floating_point or common.is_complex):
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")
    _real_factors(common, beta, alpha)
    if inplace and not dtypes.can_cast(common, input.dtype):
        raise cannot_cast(common, input.dtype)
    return common


# ----- Matrices -------------------------------------------------------------------------------------------------------


def _addmm_array(input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    dtype = mat1.dtype
    if beta == 1 == alpha and dtype is _FLOAT32 and mat1.ndim == 2 and mat1.size * mat2.shape[-1] < _MOST_SMALL:
        if mat1.size != 1 != mat2.size:  # as in `_matmul_array`
            product = mat1.dot(mat2)  # the fastest call for small layers
            product += input
            return product
    if dtype.itemsize == 2 and dtype.kind not in "iu":  # 16-bit floats are rounded once, at the end
        wide = [x.astype(np.float32) for x in (input, mat1, mat2)]
        return _addmm_array(*wide, beta, alpha).astype(dtype)
    product = _matmul_array(mat1, mat2)
    if product.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)  # as in C
    if alpha != 1:
        product *= product.dtype.type(alpha)
    if beta == 0:
        return product
    product += input if beta == 1 else input * product.dtype.type(beta)
    return product


def _scaled(x: Any, factor: Any) -> Any:
    return x if factor == 1 else x * factor


def _scaled_back(grad: Any, factor: Any, xp: Any) -> Any:
    """The gradient of `_scaled`: multiplied by the conjugate."""
    return grad if factor == 1 else xp.times(grad, factor.conjugate())


def _input_rule(grad: Any, beta: Any, input_shape: tuple[int, ...], xp: Any) -> Any:
    return xp.sum_to(_scaled_back(grad, beta, xp), input_shape)


def _addmm_left(grad: Any, mat2: Any, mat1_strides: Any, alpha: Any, xp: Any) -> Any:
    made = xp.left_factor(grad, mat2, mat1_strides)
    return made if alpha == 1 else xp.times(made, alpha.conjugate())


def _addmm_right(grad: Any, mat1: Any, mat2_strides: Any, alpha: Any, xp: Any) -> Any:
    made = xp.right_factor(grad, mat1, mat2_strides)
    return made if alpha == 1 else xp.times(made, alpha.conjugate())


def _addmm_jvp(tangents: dict[str, Any], env: dict[str, Any], xp: Any) -> Any:
    """beta * dinput + alpha * (dmat1 @ mat2 + mat1 @ dmat2)."""
    total: Any = None
    terms = []
    if tangents.get("mat1") is not None:
        terms.append(_scaled(tangents["mat1"] @ env["mat2"], env["alpha"]))
    if tangents.get("mat2") is not None:
        terms.append(_scaled(env["mat1"] @ tangents["mat2"], env["alpha"]))
    if tangents.get("input") is not None:
        terms.append(_scaled(tangents["input"], env["beta"]))
    for term in terms:
        total = term if total is None else total + term
    return total if tuple(total.shape) == tuple(env["result"].shape) else total.expand(env["result"].shape)


@differentiable(_addmm_array, node="AddmmBackward0", jvp=_addmm_jvp,
                input=lambda grad, beta, input_shape, xp: xp.sum_to(grad if beta == 1 else xp.times(grad, beta.conjugate()), input_shape),
                mat1=_addmm_left,
                mat2=_addmm_right)  # fmt: skip
@traits(shows=geometry("mat1", "mat2"), hides=("self_sym_sizes",))
def _addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Number, alpha: Number) -> Tensor: ...


@differentiable(_addmm_array, node="BaddbmmBackward0", jvp=_addmm_jvp,
                input=_input_rule,
                mat1=lambda grad, mat2, alpha, xp: _scaled_back(xp._bmm(grad, xp.adjoint(mat2)), alpha, xp),
                mat2=lambda grad, mat1, alpha, xp: _scaled_back(xp._bmm(xp.adjoint(mat1), grad), alpha, xp))  # fmt: skip
def _baddbmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Number, alpha: Number) -> Tensor: ...


@op_forms()
def addmm(
    in_place: bool, input: Tensor, mat1: Tensor, mat2: Tensor, *legacy: Any, beta: Number = 1, alpha: Number = 1
) -> OpCall:
    """`beta * input + alpha * mat1 @ mat2`.

    >>> torch.ones(1, 1).addmm(torch.ones(1, 2), torch.ones(2, 1))
    tensor([[3.]])
    """
    if legacy:
        input, mat1, mat2, beta, alpha = legacy_sum((input, mat1, mat2, *legacy))
    if mat1.dim() != 2 or mat2.dim() != 2:
        which, got = ("mat1", mat1.dim()) if mat1.dim() != 2 else ("mat2", mat2.dim())
        raise RuntimeError(f"{which} must be a matrix, got {got}-D tensor")
    check_sizes(mat1, mat2)
    check_sum(input, mat1, mat2, beta, alpha)
    (_fits_in_place if in_place else _check_expand)(input, (mat1.shape[0], mat2.shape[1]))
    return OPS["_addmm"], (input, mat1, mat2, beta, alpha)


@op_forms()
def baddbmm(
    in_place: bool, input: Tensor, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Number = 1, alpha: Number = 1
) -> OpCall:
    """`beta * input + alpha * batch1 @ batch2` for batches of matrices.

    >>> torch.zeros(1, 1, 1).baddbmm(torch.ones(1, 1, 2), torch.ones(1, 2, 1))
    tensor([[[2.]]])
    """
    if legacy:
        input, batch1, batch2, beta, alpha = legacy_sum((input, batch1, batch2, *legacy))
    check_batches(batch1, batch2)
    _check_batched_sum(input, batch1, batch2, beta, alpha, in_place)
    shape = (*batch1.shape[:2], batch2.shape[2])
    _check_expand(input, shape)
    if in_place:
        _fits_in_place(input, shape)
    return OPS["_baddbmm"], (input, batch1, batch2, beta, alpha)


def _transposed(weight: Tensor) -> Tensor:
    """`_t(weight)` for an op that is its only user: nothing else can write through it, so it need not be registered as a view. For callers
    that have seen that no slow mode affects ops here."""
    try:
        edge = weight._edge
    except AttributeError:  # a view whose base was written to: its edge is stale
        return _t(weight)
    slow = NAMESPACE["SLOW"]
    if weight._rare_state is not None or (slow and not is_grad_enabled()):
        return _t(weight)
    out = new(Tensor)
    out._array = array = weight._array.T
    out._grad = out._view = out._rare_state = None
    if weight._vc is None:
        weight._vc = [0, None]
    out._vc = weight._vc  # so that writes to the weight are detected
    if edge is NO_EDGE or not is_grad_enabled():
        out._edge = NO_EDGE
        return out
    node = OPS["_t"].Backward()
    node.seq = next(sequence)
    node.next_functions = (edge,)
    node._hooks = node._fit = None
    node._shape = array.shape
    out._edge = (node, 0)
    if slow:
        dispatch.announce(node)
    return out


def _with_bias(product: Tensor, bias: Tensor | None) -> Tensor:
    """The product with a bias added to it, in the product's dtype."""
    if bias is None:
        return product
    shape = tuple(product.shape)
    fits = product.dtype is bias.dtype and broadcast_shape(shape, tuple(bias.shape)) == shape
    return product + bias if fits else product.add_(bias)


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`, the affine map of a layer.

    >>> torch.nn.functional.linear(torch.ones(1, 2), torch.ones(3, 2))
    tensor([[2., 2., 2.]])
    """
    if bias is not None and out is None and (not NAMESPACE["SLOW"] or dispatch.unwatched()):
        x, w, b = input._array, weight._array, bias._array
        if w.ndim == 2 and x.dtype is w.dtype is b.dtype:
            n, k = w.shape
            if x.shape[-1:] == (k,) and b.shape == (n,):
                if x.ndim == 2:
                    return _addmm(bias, input, _transposed(weight), 1, 1)
                if k and x.ndim > 2 and x.flags.c_contiguous:
                    rows = _view(input, (x.size // k, k))
                    return _view(_addmm(bias, rows, _transposed(weight), 1, 1), (*x.shape[:-1], n))
    if out is not None:
        return dispatch.given("linear", linear(input, weight, bias), out)
    if input.dim() == 0 or weight.dim() == 0:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.dim()}D and {weight.dim()}D"
        )
    if bias is not None and bias.dim() and weight.dim() == 1:
        raise RuntimeError("mat2 must be a matrix, got 1-D tensor")
    if weight.dim() == 1:
        return _with_bias(matmul(input, weight), bias)
    if bias is None:
        return matmul(input, weight.t())
    if input.dim() == 2:
        return addmm(bias, input, weight.t())
    if input.dim() == 1 and bias.dim() and input.is_contiguous():
        check_sum(bias, input, weight)
        _check_expand(bias, (1, weight.shape[0]))
        bias = bias.reshape(-1) if bias.dim() == 2 else bias
    if input.is_contiguous() and bias.dim() == 1:
        *lead, k = input.shape
        flat = addmm(bias, input.reshape(-1 if k else math.prod(lead), k), weight.t())
        return flat.view(*lead, weight.shape[0])
    return _with_bias(matmul(input, weight.t()), bias)


# ----- Sums of matrix products and another tensor ---------------------------------------------------------------------


def _addbmm_array(input: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    return _added(_matmul_array(widen(batch1), widen(batch2)).sum(0), input, beta, alpha)


def _shared(grad: Any, count: int, alpha: Any, xp: Any) -> Any:
    return xp.broadcast_back(_scaled_back(grad, alpha, xp), (count, *grad.shape), (0,), False)


@differentiable(_addbmm_array, node="AddbmmBackward0", inplace=True,
                input=_input_rule,
                batch1=lambda grad, batch2, alpha, batch1_shape, xp:
                    xp._bmm(_shared(grad, batch1_shape[0], alpha, xp), xp.conj(xp._transpose(batch2, 1, 2))),
                batch2=lambda grad, batch1, alpha, batch2_shape, xp:
                    xp._bmm(xp.conj(xp._transpose(batch1, 1, 2)), _shared(grad, batch2_shape[0], alpha, xp)))  # fmt: skip
def _addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Number, alpha: Number) -> Tensor: ...


@op_forms()
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Number = 1, alpha: Number = 1) -> OpCall:
    """`beta * input + alpha * (the sum of the batched matrix products)`.

    >>> torch.zeros(1, 1).addbmm(torch.ones(2, 1, 3), torch.ones(2, 3, 1))
    tensor([[6.]])
    """
    if legacy:
        input, batch1, batch2, beta, alpha = legacy_sum((input, batch1, batch2, *legacy))
    need_batch("batch1", batch1)
    need_batch("batch2", batch2)
    if batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {batch1.shape[0]} and {batch2.shape[0]}"
        )
    if batch1.shape[2] != batch2.shape[1]:
        raise RuntimeError(
            f"Incompatible matrix sizes for bmm ({batch1.shape[1]}x{batch1.shape[2]} and {batch2.shape[1]}x{batch2.shape[2]})"
        )
    _check_expand(input, (batch1.shape[1], batch2.shape[2]))
    check_sum(input, batch1, batch2, beta, alpha)
    return OPS["_addbmm"], (input, batch1, batch2, beta, alpha)


def _added(product: Any, input: Any, beta: Any, alpha: Any) -> Any:
    """beta * input + alpha * product; if beta is 0 the input is ignored, even a NaN in it."""
    if product.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)  # as in C
    product = product if alpha == 1 else product * alpha
    total = product if beta == 0 else product + (widen(input) if beta == 1 else widen(input) * beta)
    return total.astype(input.dtype, copy=False)


@differentiable(lambda input, mat, vec, beta, alpha: _added(_matmul_array(widen(mat), widen(vec)), input, beta, alpha), node="AddmvBackward0", inplace=True,
                input=_input_rule,
                mat=lambda grad, vec, alpha, xp: _scaled_back(xp._outer(grad, xp.conj(vec)), alpha, xp),
                vec=lambda grad, mat, alpha, xp: _scaled_back(xp._mv(xp._t(xp.conj(mat)), grad), alpha, xp))  # fmt: skip
def _addmv(input: Tensor, mat: Tensor, vec: Tensor, beta: Number, alpha: Number) -> Tensor: ...


@differentiable(lambda input, vec1, vec2, beta, alpha: _added(widen(vec1)[:, None] * widen(vec2), input, beta, alpha), node="AddrBackward0",
                inplace=True,
                input=_input_rule,
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
    check_vector_product(input._array.shape, input.dtype, mat, vec)
    _real_factors(input.dtype, beta, alpha)
    if in_place:
        _fits_in_place(input, (mat.shape[0],))
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
        _check_expand(input, (vec1.shape[0], vec2.shape[0]))
    common = _common_dtype(input, vec1, vec2, beta, alpha, in_place)
    if not input.dtype is vec1.dtype is vec2.dtype is common:
        wanted = input.dtype if in_place else common
        input, vec1, vec2 = [t if t.dtype is wanted else t.to(wanted) for t in (input, vec1, vec2)]
    return OPS["_addr"], (input, vec1, vec2, beta, alpha)
