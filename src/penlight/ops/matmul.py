"""Matrix products: mm, bmm, mv, dot, matmul, addmm and their kin, outer products, linear."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..autograd.modes import NAMESPACE, is_grad_enabled, sequence
from ..autograd.node import NO_EDGE
from ..autograd.views import history_first
from ..kernels.parallel import BLAS_THREADS_FROM
from ..tensor import Tensor, wrap
from . import _dispatch
from ._args import broadcast_shape, legacy_sum
from ._declare import OPS, bilinear, differentiable, install_method, method
from ._guards import c_name, not_implemented
from ._raw import both, graph
from .shape import _expand, _unsafe_view, _view
from .transposing import _t

if TYPE_CHECKING:
    from ._types import Number

__all__ = [
    "addmm",
    "baddbmm",
    "bmm",
    "dot",
    "ger",
    "matmul",
    "mm",
    "mv",
    "outer",
]


def _adjoint_array(x: Any) -> Any:
    if x.dtype.kind == "c":
        x = x.conj()
    return x.T if x.ndim == 2 else x.swapaxes(-1, -2)


# The conjugate transpose of the last two dimensions: for real arrays a transposed view.
both(
    "adjoint", _adjoint_array, lambda x: x.transpose(-2, -1).conj() if x.is_complex() else x.transpose(-2, -1)
)  # fmt: skip

_FLOAT32 = dtypes.float32.np
_FEW = 1 << 16  # multiplications
_LARGE_RESULT = 1 << 16  # elements that are added to sooner by several threads


def _matmul_array(a: Any, b: Any) -> Any:
    """np.matmul; 16-bit floats are multiplied as float32 and rounded once."""
    dtype = a.dtype
    if a.ndim == b.ndim > 1 and (dtype is _FLOAT32 or (dtype.kind == "f" and dtype.itemsize == 8)):
        if a.size * b.shape[-1] >= BLAS_THREADS_FROM:
            from ..kernels.native.blas import multiply

            return multiply(a, b)
        if a.ndim == 2:
            return a.dot(b)  # the same call of BLAS with half the overhead
    if dtype.itemsize < 4 and dtype.kind not in "iu":
        if dtype.kind == "b":
            names = {(1, 1): "dot", (2, 1): "addmv_impl_cpu", (2, 2): "addmm_impl_cpu_"}
            raise not_implemented(names.get((a.ndim, b.ndim), "bmm"), dtype)
        return np.matmul(a.astype(np.float32), b.astype(np.float32)).astype(dtype)
    return np.matmul(a, b)


# Note [Products laid out like the factor]
# A weight often comes into a product transposed, x @ W.T, and so does its gradient go out. It is computed in the layout of the
# factor (the columns one after the other), as PyTorch does, so that transposed back it is contiguous and no copy is needed.
def _left_array(grad: Any, other: Any, strides: tuple[int, ...]) -> Any:
    """The gradient of the left factor: grad @ other^H, laid out like the factor with these strides."""
    other = _adjoint_array(other)
    return _matmul_array(other.T, grad.T).T if strides[0] < strides[1] else _matmul_array(grad, other)


def _right_array(grad: Any, other: Any, strides: tuple[int, ...]) -> Any:
    """The gradient of the right factor: other^H @ grad, likewise."""
    other = _adjoint_array(other)
    return _matmul_array(grad.T, other.T).T if strides[0] < strides[1] else _matmul_array(other, grad)


both("left_factor", _left_array, lambda grad, other, strides: graph._mm(grad, graph.adjoint(other)))
both("right_factor", _right_array, lambda grad, other, strides: graph._mm(graph.adjoint(other), grad))


@bilinear(_matmul_array, node="MmBackward0",
          input=lambda grad, mat2, input_strides, xp: xp.left_factor(grad, mat2, input_strides),
          mat2=lambda grad, input, mat2_strides, xp: xp.right_factor(grad, input, mat2_strides))  # fmt: skip
def _mm(input: Tensor, mat2: Tensor) -> Tensor: ...


@bilinear(_matmul_array, node="BmmBackward0",
          input=lambda grad, mat2, xp: xp._bmm(grad, xp.adjoint(mat2)),
          mat2=lambda grad, input, xp: xp._bmm(xp.adjoint(input), grad))  # fmt: skip
def _bmm(input: Tensor, mat2: Tensor) -> Tensor: ...


@bilinear(_matmul_array, node="MvBackward0",
          input=lambda grad, vec, xp: xp._outer(grad, xp.conj(vec)),
          vec=lambda grad, input, xp: xp._mv(xp.adjoint(input), grad))  # fmt: skip
def _mv(input: Tensor, vec: Tensor) -> Tensor: ...


@bilinear(_matmul_array, node="DotBackward0",
          input=lambda grad, tensor, xp: grad * xp.conj(tensor),
          tensor=lambda grad, input, xp: grad * xp.conj(input))  # fmt: skip
def _dot(input: Tensor, tensor: Tensor) -> Tensor: ...


both("_outer", np.multiply.outer, lambda a, b: a.unsqueeze(1) * b)


def _check_dtypes(a: Tensor, b: Tensor, what: str = "m1 and m2") -> None:
    if a._array.dtype is not b._array.dtype and a.dtype is not b.dtype:
        left, right = c_name(a.dtype), c_name(b.dtype)
        if what == "vectors":
            left, right = dtypes.LEGACY[a.dtype], dtypes.LEGACY[b.dtype]
            raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {left} and {right}")
        if what == "mat1 and mat2":
            left, right = dtypes.LEGACY[a.dtype], dtypes.LEGACY[b.dtype]
            raise RuntimeError(f"mat1 and mat2 must have the same dtype, but got {left} and {right}")
        raise RuntimeError(f"expected {what} to have the same dtype, but got: {left} != {right}")


def _match(a: Tensor, b: Tensor) -> bool:
    """Whether these are two matrices of one dtype that can be multiplied."""
    left, right = a._array, b._array
    return left.ndim == 2 == right.ndim and left.dtype is right.dtype and left.shape[1] == right.shape[0]


@method
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices.

    >>> import penlight as torch
    >>> torch.mm(torch.ones(2, 3), torch.ones(3, 1))
    tensor([[3.],
            [3.]])
    """
    if out is None and (not NAMESPACE["SLOW"] or _dispatch.unwatched()) and _match(input, mat2):
        return _mm(input, mat2)
    if input.dim() != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.dim() != 2:
        raise RuntimeError("mat2 must be a matrix")
    (n, k), (m, p) = input.shape, mat2.shape
    if k != m:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {m}x{p})")
    _check_dtypes(input, mat2)
    return _mm(input, mat2, out=out)


@method
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Products of two batches of matrices.

    >>> import penlight as torch
    >>> torch.bmm(torch.ones(2, 1, 3), torch.ones(2, 3, 1)).flatten()
    tensor([3., 3.])
    """
    if input.dim() != 3 or mat2.dim() != 3:
        which = "batch1" if input.dim() != 3 else "batch2"
        raise RuntimeError(f"{which} must be a 3D tensor")
    (b, _, k), (c, m, _) = input.shape, mat2.shape
    if b != c or k != m:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{b}, {k}] but got: [{c}, {m}]."
        )
    if input.dtype is not mat2.dtype:
        kinds = dtypes.LEGACY[input.dtype], dtypes.LEGACY[mat2.dtype]
        raise RuntimeError(f"expected scalar type {kinds[0]} but found {kinds[1]}")
    return _bmm(input, mat2, out=out)


@method
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """A matrix times a vector.

    >>> import penlight as torch
    >>> torch.mv(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    if input.dim() != 2 or vec.dim() != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {input.dim()}, {vec.dim()}")
    if input.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"size mismatch, got input ({input.shape[0]}), mat ({input.shape[0]}x{input.shape[1]}), vec ({vec.shape[0]})"
        )
    if input.dtype is not vec.dtype:
        kinds = dtypes.LEGACY[vec.dtype], dtypes.LEGACY[input.dtype]
        raise RuntimeError(
            f"addmv input tensors must have the same dtype, but got {kinds[0]}, {kinds[1]}, and {kinds[0]}"
        )
    return _mv(input, vec, out=out)


@method
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The scalar product of two vectors.

    >>> import penlight as torch
    >>> torch.dot(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor(11.)
    """
    if input.dim() != 1 or tensor.dim() != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.dim()}D and {tensor.dim()}D tensors")
    _check_dtypes(input, tensor, "vectors")
    if input.shape != tensor.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{input.shape[0]}] and src [{tensor.shape[0]}] to have the same "
            f"number of elements, but got {input.shape[0]} and {tensor.shape[0]} elements respectively"
        )
    return _dot(input, tensor, out=out)


@method
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product, with vectors and batches as NumPy's `@`.

    >>> import penlight as torch
    >>> torch.matmul(torch.ones(2, 3), torch.ones(3))
    tensor([3., 3.])
    """
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        place, bad = (2, other) if isinstance(input, Tensor) else (1, input)
        name = "other" if place == 2 else "input"
        raise TypeError(f"matmul(): argument '{name}' (position {place}) must be Tensor, not {type(bad).__name__}")
    result = _matmul(input, other)
    if out is None:
        return result
    return _dispatch.write_out(OPS["_mm"], {"input": input, "mat2": other}, result._array, out)


def _matmul(a: Tensor, b: Tensor) -> Tensor:
    da, db = a.dim(), b.dim()
    if da == 2 and db == 2:
        return mm(a, b)
    if da == 0 or db == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {da}D and {db}D")
    if da == 1 and db == 1:
        return dot(a, b)
    if da == 2 and db == 1:
        return mv(a, b)
    if _plain(a, b):
        try:
            return wrap(NAMESPACE["call"](np.matmul, (a._array, b._array)))
        except ValueError:
            pass  # which is explained below
    if da == 1 and db == 2:
        return mm(a.unsqueeze(0), b).squeeze_(0)
    return _folded(a, b) if _should_fold(a, b) else _batched(a, b)


def _plain(a: Tensor, b: Tensor) -> bool:
    """Whether nothing is recorded, and small arrays can be multiplied as they are."""
    x, y = a._array, b._array
    if x.dtype is not y.dtype or x.dtype.char not in "fd" or x.size > _SMALL or y.size > _SMALL or NAMESPACE["SLOW"]:
        return False
    return not is_grad_enabled() or getattr(a, "_edge", None) is NO_EDGE is getattr(b, "_edge", None)


_SMALL = 4096  # elements; of larger ones it matters how they are multiplied


def _should_fold(a: Tensor, b: Tensor) -> bool:
    """Whether a batch times one matrix is done as one tall matrix: to keep the matrix's gradient small, or if it is free."""
    larger, smaller = (a, b) if a.dim() >= b.dim() else (b, a)
    if larger.dim() < 3 or smaller.dim() > 2:
        return False
    if smaller.requires_grad:
        return True
    if a.dim() == 2:
        return False
    t = a if larger is a else b.mT
    shape, stride = t.shape, t.stride()
    return t.numel() == 0 or all(stride[i] == stride[i + 1] * shape[i + 1] for i in range(t.dim() - 2))


def _folded(a: Tensor, b: Tensor) -> Tensor:
    """A batch times one matrix or vector, either way round: the batch as one tall matrix."""
    swapped = b.dim() > a.dim()
    batch = b.mT if swapped else a
    single = b if not swapped else a.t() if a.dim() == 2 else a
    *lead, k = batch.shape
    tall = batch.reshape(math.prod(lead), k)
    if single.dim() == 1:
        return _unsafe_view(mv(tall, single), tuple(lead))
    product = _unsafe_view(mm(tall, single), (*lead, single.shape[1]))
    return product.mT.contiguous() if swapped else product


def _alike(x: Any, y: Any) -> bool:
    """Whether two arrays are batches of matrices that can be multiplied as they are."""
    same = x.dtype is y.dtype and x.dtype.kind == "f" and x.ndim == y.ndim and not NAMESPACE["SLOW"]
    return same and x.shape[:-2] == y.shape[:-2] and x.shape[-1] == y.shape[-2]


def _batched_alike(a: Tensor, b: Tensor) -> Tensor:
    """`_batched` of batches of one shape: the same ops, without a look at what they are given."""
    x, y = a._array, b._array
    *batch, n, k = x.shape
    p, count = y.shape[-1], math.prod(batch)
    left, right = _expand(a, x.shape), _expand(b, y.shape)
    left = _view(left, (count, n, k)) if x.flags.c_contiguous else left.reshape(count, n, k)
    right = _view(right, (count, k, p)) if y.flags.c_contiguous else right.reshape(count, k, p)
    return _unsafe_view(_bmm(left, right), (*batch, n, p))


def _batched(a: Tensor, b: Tensor) -> Tensor:
    if _alike(a._array, b._array):
        if not is_grad_enabled() or getattr(a, "_edge", None) is NO_EDGE is getattr(b, "_edge", None):
            return wrap(_matmul_array(a._array, b._array))
        return _batched_alike(a, b)
    if a.dim() == 3 and b.dim() == 3 and a.shape[0] != b.shape[0]:
        if a.shape[0] == 1 and a.requires_grad:
            return _matmul(a.squeeze(0), b)
        if b.shape[0] == 1 and b.requires_grad:
            return _matmul(a, b.squeeze(0))
    n, k = (a.shape[-2] if a.dim() > 1 else 1), a.shape[-1]
    m, p = (b.shape[-2] if b.dim() > 1 else b.shape[0]), b.shape[-1]
    batch = broadcast_shape(tuple(a.shape[:-2]), tuple(b.shape[:-2]))
    count = math.prod(batch)
    left = a.expand(*batch, n, k).reshape(count, n, k)
    if b.dim() == 1:
        right = b.expand(*batch, m).reshape(count, m).unsqueeze(2)
        return _unsafe_view(bmm(left, right).squeeze(-1), (*batch, *([n] if a.dim() > 1 else [])))
    right = b.expand(*batch, m, p).reshape(count, m, p)
    return _unsafe_view(bmm(left, right), (*batch, *([n] if a.dim() > 1 else []), p))


def _history_first(function: Any) -> Any:
    """A product whose complaints about shapes come after those about spoilt histories."""

    @functools.wraps(function)
    def checked(a: Tensor, b: Tensor) -> Tensor:
        try:
            return function(a, b)
        except RuntimeError:
            history_first(a, b)
            raise

    return checked


_matmul = _history_first(_matmul)


def _matmul_operator(self: Any, other: Any) -> Any:
    return _matmul(self, other) if isinstance(other, Tensor) else NotImplemented


setattr(Tensor, "__matmul__", _matmul_operator)
setattr(Tensor, "__rmatmul__", lambda self, other: matmul(other, self) if isinstance(other, Tensor) else NotImplemented)

# ----- With something added -----------------------------------------------------------------------------------------


def _addmm_array(input: Any, mat1: Any, mat2: Any, beta: Any, alpha: Any) -> Any:
    if mat1.dtype is _FLOAT32 and mat1.size * mat2.shape[-1] < _FEW and mat1.ndim == 2 and beta == 1 == alpha:
        product = mat1.dot(mat2)  # the shortest way for small layers
        product += input
        return product
    if mat1.dtype.itemsize == 2 and mat1.dtype.kind not in "iu":  # half precision is rounded once, at the end
        wide = [x.astype(np.float32) for x in (input, mat1, mat2)]
        return _addmm_array(*wide, beta, alpha).astype(mat1.dtype)
    product = _matmul_array(mat1, mat2)
    if product.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)  # as in C
    if alpha != 1:
        product *= product.dtype.type(alpha)
    if beta == 0:
        return product
    if beta == 1 and product.size >= _LARGE_RESULT and product.dtype is _FLOAT32 and product.flags.c_contiguous:
        from ..kernels.native import operands

        if operands.run(np.add, (product, input), product) is not None:
            return product
    product += input if beta == 1 else input * product.dtype.type(beta)
    return product


def _scaled(x: Any, factor: Any) -> Any:
    return x if factor == 1 else x * factor


def _scaled_back(grad: Any, factor: Any) -> Any:
    """A gradient through `_scaled`: times the conjugate."""
    return grad if factor == 1 else grad * factor.conjugate()


def _addmm_jvp(tangents: dict[str, Any], env: dict[str, Any], xp: Any) -> Any:
    """beta * dinput + alpha * (dmat1 @ mat2 + mat1 @ dmat2)."""
    total: Any = None
    parts = []
    if tangents.get("mat1") is not None:
        parts.append(_scaled(tangents["mat1"] @ env["mat2"], env["alpha"]))
    if tangents.get("mat2") is not None:
        parts.append(_scaled(env["mat1"] @ tangents["mat2"], env["alpha"]))
    if tangents.get("input") is not None:
        parts.append(_scaled(tangents["input"], env["beta"]))
    for part in parts:
        total = part if total is None else total + part
    return total if tuple(total.shape) == tuple(env["result"].shape) else total.expand(env["result"].shape)


@differentiable(_addmm_array, node="AddmmBackward0", jvp=_addmm_jvp,
                input=lambda grad, beta, input_shape, xp: xp.sum_to(_scaled_back(grad, beta), input_shape),
                mat1=lambda grad, mat2, mat1_strides, alpha, xp: _scaled_back(xp.left_factor(grad, mat2, mat1_strides), alpha),
                mat2=lambda grad, mat1, mat2_strides, alpha, xp: _scaled_back(xp.right_factor(grad, mat1, mat2_strides), alpha))  # fmt: skip
def _addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Number, alpha: Number) -> Tensor: ...


@differentiable(_addmm_array, node="BaddbmmBackward0", jvp=_addmm_jvp,
                input=lambda grad, beta, input_shape, xp: xp.sum_to(_scaled_back(grad, beta), input_shape),
                mat1=lambda grad, mat2, alpha, xp: _scaled_back(xp._bmm(grad, xp.adjoint(mat2)), alpha),
                mat2=lambda grad, mat1, alpha, xp: _scaled_back(xp._bmm(xp.adjoint(mat1), grad), alpha))  # fmt: skip
def _baddbmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Number, alpha: Number) -> Tensor: ...


@method
def addmm(
    input: Tensor,
    mat1: Tensor,
    mat2: Tensor,
    *legacy: Any,
    beta: Number = 1,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha * mat1 @ mat2`.

    >>> import penlight as torch
    >>> torch.addmm(torch.ones(1), torch.ones(1, 2), torch.ones(2, 1))
    tensor([[3.]])
    """
    if legacy:
        input, mat1, mat2, beta, alpha = legacy_sum((input, mat1, mat2, *legacy))
    if mat1.dim() != 2 or mat2.dim() != 2:
        which, got = ("mat1", mat1.dim()) if mat1.dim() != 2 else ("mat2", mat2.dim())
        raise RuntimeError(f"{which} must be a matrix, got {got}-D tensor")
    (n, k), (m, p) = mat1.shape, mat2.shape
    if k != m:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({n}x{k} and {m}x{p})")
    _check_dtypes(mat1, mat2, "mat1 and mat2")
    _check_expand(input, (n, p))
    return _addmm(input, mat1, mat2, beta, alpha, out=out)


def _check_expand(input: Tensor, shape: tuple[int, ...]) -> None:
    """Refuse an added term that does not expand to the product's shape."""
    own = tuple(input.shape)
    if len(own) > len(shape) or any([n != m and n != 1 for n, m in zip(reversed(own), reversed(shape))]):
        input.expand(shape)


@method
def baddbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *legacy: Any,
    beta: Number = 1,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha * batch1 @ batch2` for batches of matrices.

    >>> import penlight as torch
    >>> torch.baddbmm(torch.zeros(1, 1, 1), torch.ones(1, 1, 2), torch.ones(1, 2, 1))
    tensor([[[2.]]])
    """
    if legacy:
        input, batch1, batch2, beta, alpha = legacy_sum((input, batch1, batch2, *legacy))
    if batch1.dim() != 3 or batch2.dim() != 3:
        raise RuntimeError(f"{'batch1' if batch1.dim() != 3 else 'batch2'} must be a 3D tensor")
    (b, n, k), (c, m, p) = batch1.shape, batch2.shape
    if b != c or k != m:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{b}, {k}] but got: [{c}, {m}]."
        )
    _check_expand(input, (b, n, p))
    return _baddbmm(input, batch1, batch2, beta, alpha, out=out)


@method
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """All products of elements of two vectors.

    >>> import penlight as torch
    >>> torch.outer(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    for name, vector in (("self", input), ("vec2", vec2)):
        if vector.dim() != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {vector.dim()}-D")
    from .arithmetic import mul

    return mul(input.view(-1, 1), vec2, out=out)


ger = outer
install_method("ger", outer)


def _turned(weight: Tensor) -> Tensor:
    """`_t(weight)` for an op that alone will hold it: as nobody can write through it, it need not be known as a view."""
    edge = getattr(weight, "_edge", None)
    if edge is None or weight._meta is not None or NAMESPACE["SLOW"]:
        return _t(weight)
    out = wrap(weight._array.T)
    if weight._vc is None:
        weight._vc = [0, None]
    out._vc = weight._vc  # so that a write to the weight is noticed
    if edge is not NO_EDGE and is_grad_enabled():
        node = OPS["_t"].Backward()
        node.seq = next(sequence)
        node.next_functions = (edge,)
        node._hooks = node._fit = None
        out._edge = (node, 0)
    return out


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None, *, out: Tensor | None = None) -> Tensor:
    """`input @ weight.T + bias`, the affine map of a layer.

    >>> import penlight as torch
    >>> torch.nn.functional.linear(torch.ones(1, 2), torch.ones(3, 2))
    tensor([[2., 2., 2.]])
    """
    if bias is not None and out is None and (not NAMESPACE["SLOW"] or _dispatch.unwatched()):
        x, w, b = input._array, weight._array, bias._array
        if x.ndim == 2 == w.ndim and x.dtype is w.dtype is b.dtype:
            n, k = w.shape
            if x.shape[1] == k and b.shape == (n,):
                return _addmm(bias, input, _turned(weight), 1, 1)
    if out is not None:
        return _dispatch.given("linear", linear(input, weight, bias), out)
    if weight.dim() == 1:
        product = matmul(input, weight)
        return product if bias is None else product + bias
    if bias is None:
        return matmul(input, weight.t())
    if input.dim() == 2:
        return addmm(bias, input, weight.t())
    if input.is_contiguous() and bias.dim() == 1:
        *lead, k = input.shape
        flat = addmm(bias, input.reshape(-1 if k else math.prod(lead), k), weight.t())
        return flat.view(*lead, weight.shape[0])
    return matmul(input, weight.t()) + bias
