"""Distances between tensors and between all pairs of rows, and rows limited to a maximum norm."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.dims import wrap_existing_dim
from ...kernels import distance
from ...kernels.copies.convert import is_half
from ...kernels.lazy import lazy_import
from ...kernels.numpy_calls import broadcast_shapes
from ...kernels.numpy_warnings import silent
from ...tensor import Tensor, wrap
from ..machinery import dispatch
from ..machinery.arguments import ABSENT, broadcast_shape, wrap_dim
from ..machinery.array_namespace import both, graph, raw
from ..machinery.declare import OPS, OpCall, differentiable, in_float32, method, op_forms
from ..machinery.guards import need_one_dtype, not_implemented
from ..machinery.op import traits
from ..pointwise.arithmetic import no_bools
from ..reduce.norms import _norm_array, _norm_rule, norm

__all__ = ["cdist", "dist", "frobenius_norm", "native_norm", "norm_except_dim", "nuclear_norm", "pdist", "renorm"]

_linalg = lazy_import(globals(), "_linalg", "...linalg")


# ----- Two tensors --------------------------------------------------------------------------------------------------


def _dist_array(input: Any, other: Any, p: float) -> Any:
    broadcast_shape(input.shape, other.shape)
    difference = input - other
    return np.asarray(_norm_array(difference, p, tuple(range(difference.ndim)), False)).astype(
        difference.real.dtype, copy=False
    )


def _dist_rule(grad: Any, input: Any, other: Any, p: float, result: Any, xp: Any) -> Any:
    difference = input - other
    return _norm_rule(grad, difference, result, p, tuple(range(len(difference.shape))), False, xp)


@differentiable(_dist_array, node="DistBackward0",
                input=lambda grad, input, other, p, result, input_shape, xp:
                    xp.sum_to(_dist_rule(grad, input, other, p, result, xp), input_shape),
                other=lambda grad, input, other, p, result, other_shape, xp:
                    xp.sum_to(-_dist_rule(grad, input, other, p, result, xp), other_shape))  # fmt: skip
def _dist(input: Tensor, other: Tensor, p: float) -> Tensor: ...


@method
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The p-norm of the difference of two tensors.

    >>> torch.dist(torch.tensor([1.0, 2.0]), torch.tensor([4.0, 6.0]))
    tensor(5.)
    """
    common = dtypes.result_dtype([input._array, other._array])
    no_bools({"input": input, "other": other})
    if common.category < dtypes.FLOATING:
        raise RuntimeError(
            f"norm(): input dtype should be either floating point or complex. Got {dtypes.LEGACY[common]} instead."
        )
    return _dist(input.to(common), other.to(common), p)


# ----- Norms under other names --------------------------------------------------------------------------------------


def frobenius_norm(input: Tensor, dim: Any = ABSENT, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The square root of the sum of squares over dimensions.

    >>> torch.frobenius_norm(torch.tensor([[3.0, 4.0]]), (0, 1))
    tensor(5.)
    """
    return norm(input, 2, dim, keepdim, out)


def nuclear_norm(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The sum of the singular values of matrices.

    >>> torch.nuclear_norm(torch.eye(2))
    tensor(2.)
    """
    return dispatch.given(
        "nuclear_norm", _linalg.matrix_norm(input, "nuc", (-2, -1) if dim is None else tuple(dim), keepdim), out
    )


def native_norm(input: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """`norm`, under the name of its kernel.

    >>> torch.native_norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    dtype = dtypes.given(dtype)
    return norm(input, p, dim, keepdim, None, dtype)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions but one, which is kept; -1 means over all.

    >>> torch.norm_except_dim(torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5.],
            [1.]])
    """
    if dim == -1:
        return norm(v, pow)
    axis = wrap_existing_dim(dim, v.dim())
    if axis not in (0, v.dim() - 1):
        return norm_except_dim(v.transpose(0, axis), pow, 0).transpose(0, axis)
    count, shape = v.shape[axis], [1] * v.dim()
    shape[axis] = count
    rows = v.contiguous().view((count, -1) if axis == 0 else (-1, count))
    return norm(rows, pow, 1 if axis == 0 else 0).view(shape)


# ----- All pairs of rows --------------------------------------------------------------------------------------------

_BLOCK = 1 << 20  # elements of the table of differences per block


def _length(difference: Any, p: float) -> Any:
    """The norm along the last dimension. One of order 0 counts what is not 0, and is NaN where a difference is."""
    if p == 0:
        return np.minimum(np.ceil(np.abs(difference)), 1).sum(-1)
    if not difference.shape[-1]:
        return difference.sum(-1)
    return _norm_array(difference, p, (difference.ndim - 1,), False)


def _pairs(x1: Any, x2: Any) -> Any:
    return x1[..., :, None, :] - x2[..., None, :, :]


def _by_blocks(x1: Any, x2: Any, compute: Any, out: Any) -> Any:
    """Fill `out[..., rows, :]` from rows of x1 and all of x2, a few rows at a time, to keep the table of pairs small."""
    step = max(1, _BLOCK // max(1, x2.size))
    for start in range(0, x1.shape[-2], step):
        rows = slice(start, start + step)
        out[..., rows, :] = compute(x1[..., rows, :], x2, rows)
    return out


def _cdist_array(x1: Any, x2: Any, p: float, by_product: bool) -> Any:
    batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    out = np.zeros((*batch, x1.shape[-2], x2.shape[-2]), x1.dtype)
    if by_product and p == 2 and out.size and x1.shape[-1]:
        squares = np.square(x1).sum(-1)[..., :, None] + np.square(x2).sum(-1)[..., None, :]
        return np.sqrt(np.maximum(squares - 2 * np.matmul(x1, np.swapaxes(x2, -1, -2)), 0, dtype=x1.dtype))
    if not out.size or not x1.shape[-1]:
        return out
    return _by_blocks(x1, x2, lambda a, b, rows: _length(_pairs(a, b), p), out)


def _pairs_rule(grad: Any, pairs: Any, result: Any, p: float, xp: Any) -> Any:
    """The gradient of the differences of rows. Unlike `norm`, PyTorch gives each of several largest differences the full gradient."""
    if p == float("inf"):
        return grad[..., None] * xp.sign(pairs) * (abs(pairs) == result[..., None])
    return _norm_rule(grad, pairs, result, p, (len(pairs.shape) - 1,), False, xp)


def _cdist_back_array(grad: Any, x1: Any, x2: Any, p: float, result: Any) -> Any:
    """The gradient for the rows of x1."""
    batch = np.broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    out = np.zeros((*batch, *x1.shape[-2:]), x1.dtype)
    if not grad.size:
        return out
    if p == 2:
        with silent():
            scale = np.where(result == 0, 0, grad / result)
        middle = x2.mean(-2, keepdims=True)  # shifting both leaves the differences unchanged and reduces cancellation
        return scale.sum(-1, keepdims=True) * (x1 - middle) - np.matmul(scale, x2 - middle)

    def compute(a: Any, b: Any, rows: slice) -> Any:
        pairs = np.broadcast_to(_pairs(a, b), (*batch, a.shape[-2], *b.shape[-2:]))
        with silent():
            return _pairs_rule(grad[..., rows, :], pairs, result[..., rows, :], p, raw).sum(-2)

    return _by_blocks(x1, x2, compute, out)


def _cdist_back_graph(grad: Any, x1: Any, x2: Any, p: float, result: Any) -> Any:
    pairs = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    return _pairs_rule(grad, pairs, result, p, graph).sum(-2)


both("cdist_backward", _cdist_back_array, _cdist_back_graph)
both("mT", lambda x: np.swapaxes(x, -1, -2), lambda x: x.mT)


@differentiable(_cdist_array, node="CdistBackward0",
                x1=lambda grad, x1, x2, p, result, x1_shape, xp: xp.sum_to(xp.cdist_backward(grad, x1, x2, p, result), x1_shape),
                x2=lambda grad, x1, x2, p, result, x2_shape, xp:
                    xp.sum_to(xp.cdist_backward(xp.mT(grad), x2, x1, p, xp.mT(result)), x2_shape))  # fmt: skip
@traits(refuses={"h": "cdist"}, backward="grad x1 x2 result")
def _cdist(x1: Tensor, x2: Tensor, p: float, by_product: bool) -> Tensor: ...


_COMPUTE = {
    "use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": True, "donot_use_mm_for_euclid_dist": False,
}  # fmt: skip


def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """The p-norm distances between all rows of one matrix and all rows of another, in batches.

    >>> torch.cdist(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0], [0.0, 1.0]]))
    tensor([[5., 1.]])
    """
    if compute_mode is not None and compute_mode not in _COMPUTE:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dim() < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.dim()}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}")
    for name, x in (("X1", x1), ("X2", x2)):
        if x.dtype.category != dtypes.FLOATING:
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {dtypes.LEGACY[x.dtype]}")
    if not p >= 0:
        raise RuntimeError("cdist only supports non-negative p values")
    need_one_dtype(x1, x2)
    broadcast_shape(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))
    wish = None if compute_mode is None else _COMPUTE[compute_mode]
    by_product = (x1.shape[-2] > 25 or x2.shape[-2] > 25) if wish is None else wish
    return _cdist(x1, x2, float(p), by_product)


@lru_cache(32)
def _all_pairs(rows: int) -> tuple[Any, Any]:
    return np.triu_indices(rows, 1)


def _pdist_array(input: Any, p: float) -> Any:
    *lead, rows, columns = input.shape
    if rows < 2:
        return np.zeros((*lead, 0), input.dtype)
    if is_half(input.dtype):
        raise not_implemented("pdist", input.dtype)
    if not lead:
        found = distance.all_pairs(input, p)
        if found is not None:
            return found
    if not lead and rows * rows * columns <= 1 << 14:
        first, second = _all_pairs(rows)
        difference = input.take(first, 0)
        difference -= input.take(second, 0)
        return np.sqrt(np.vecdot(difference, difference)) if p == 2 else _length(difference, p)
    out = np.zeros((*lead, rows * (rows - 1) // 2), input.dtype)
    start = 0
    table = np.empty_like(input)
    for row in range(rows - 1):  # a row against all later ones: the table of all pairs would exceed the cache
        stop = start + rows - 1 - row
        difference = np.subtract(input[..., row : row + 1, :], input[..., row + 1 :, :], out=table[..., row + 1 :, :])
        out[..., start:stop] = np.vecdot(difference, difference) if p == 2 else _length(difference, p)
        start = stop
    return np.sqrt(out, out=out) if p == 2 else out


def _pdist_back_array(grad: Any, input: Any, p: float, result: Any) -> Any:
    """The gradient by the distances of all rows to all rows, in which each pair occurs twice."""
    *lead, rows, columns = input.shape
    if p == 2 and not lead:
        found = distance.euclid_backward(grad, input, result)
        if found is not None:
            return found
    first, second = _all_pairs(rows) if rows * rows * columns <= 1 << 14 else np.triu_indices(rows, 1)
    grads, results = np.zeros((2, *lead, rows, rows), input.dtype)
    for table, values in ((grads, grad), (results, result)):
        table[..., first, second] = table[..., second, first] = values
    return _cdist_back_array(grads, input, input, p, results)


def _pdist_back_graph(grad: Any, input: Any, p: float, result: Any) -> Any:
    dim = input.dim() - 2
    first, second = (wrap(i) for i in np.triu_indices(input.shape[dim], 1))
    difference = input.index_select(dim, first) - input.index_select(dim, second)
    each = _norm_rule(grad, difference, result, p, (dim + 1,), False, graph)
    zero = input.new_zeros(input.shape)
    return zero.index_add(dim, first, each).index_add(dim, second, each, alpha=-1)


both("pdist_backward", _pdist_back_array, _pdist_back_graph)


@differentiable(_pdist_array, node="PdistBackward0",
                input=lambda grad, input, p, result, xp: xp.pdist_backward(grad, input, p, result))  # fmt: skip
@traits(backward="grad input result")
def _pdist(input: Tensor, p: float) -> Tensor: ...


def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The p-norm distances between all pairs of rows of a matrix: 0 to 1, 0 to 2, ..., 1 to 2, ...

    >>> torch.pdist(torch.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    tensor([5.0000, 1.0000, 4.2426])
    """
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if input.dtype.category != dtypes.FLOATING:
        raise RuntimeError("pdist only supports floating-point dtypes")
    if not p >= 0:
        raise RuntimeError("pdist only supports non-negative p values")
    return _pdist(input.contiguous(), float(p))


# ----- Rows within a distance of zero -------------------------------------------------------------------------------


def _rest(shape: tuple[int, ...], dim: int) -> tuple[int, ...]:
    return tuple([d for d in range(len(shape)) if d != dim])


@in_float32
def _renorm_array(input: Any, p: float, dim: int, maxnorm: float) -> Any:
    size = _norm_array(input, p, _rest(input.shape, dim), True)
    factor = np.divide(maxnorm, size + 1e-7).astype(size.dtype, copy=False)
    np.copyto(factor, 1, where=~(size > maxnorm))
    return np.multiply(input, factor, order="C").astype(input.dtype, copy=False)


def _renorm_rule(grad: Any, input: Any, input_dtype: Any, p: float, dim: int, maxnorm: float, xp: Any) -> Any:
    if is_half(input_dtype):
        wide = np.dtype(np.float32)
        found = _renorm_rule(xp.cast(grad, wide), xp.cast(input, wide), wide, p, dim, maxnorm, xp)
        return xp.cast(found, input_dtype)
    dims = _rest(tuple(input.shape), dim)
    size = xp._vector_norm(input, p, dims, True)
    along = xp._sum_dims(xp.real_part(xp.conj(input) * grad), dims, True)
    through_norm = _norm_rule(along, input, size, p, dims, True, xp)
    inverse = 1 / (size + 1e-7)
    return xp.where(size > maxnorm, maxnorm * inverse * (grad - inverse * through_norm), grad)


@differentiable(_renorm_array, node="RenormBackward0", inplace=True, input=_renorm_rule)
def _renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor: ...


@op_forms()
def renorm(input: Tensor, p: float, dim: int = ABSENT, maxnorm: float = ABSENT) -> OpCall:
    """Slices along `dim` scaled down to p-norm `maxnorm` if theirs is larger.

    >>> torch.tensor([[3.0, 4.0], [0.3, 0.4]]).renorm(2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.3000, 0.4000]])
    """
    if p <= 0:
        raise RuntimeError("renorm: non-positive-norm not supported")
    if not maxnorm >= 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm:g}")
    if input.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.dim()} dimensions")
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {dtypes.LEGACY[input.dtype]}"
        )
    return OPS["_renorm"], (input, float(p), wrap_dim(dim, input.dim()), float(maxnorm))
