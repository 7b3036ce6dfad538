"""Products of tensors beyond the matrix product: inner, outer over blocks, contractions, traces, cross products."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..kernels._rowtools import widen
from ..tensor import Tensor
from . import _dispatch
from ._args import broadcast_shape, legacy_sum, wrap_dim
from ._declare import OPS, bilinear, differentiable, linear, method
from ._guards import not_implemented
from ._halves import in_float32
from .joining import cat
from .matmul import _matmul_array, _scaled_back

if TYPE_CHECKING:
    from ._types import Number

__all__ = [
    "addbmm",
    "addmv",
    "addmv_",
    "addr",
    "chain_matmul",
    "cross",
    "inner",
    "kron",
    "spmm",
    "tensordot",
    "trace",
    "vander",
    "vdot",
]

# ----- Vectors ------------------------------------------------------------------------------------------------------


@bilinear(np.vdot, node="VdotBackward0",
          input=lambda grad, other, xp: xp.conj(grad) * other,
          other=lambda grad, input: grad * input)  # fmt: skip
def _vdot(input: Tensor, other: Tensor) -> Tensor: ...


@method
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The dot product of two vectors, the first conjugated.

    >>> import penlight as torch
    >>> torch.vdot(torch.tensor([1 + 1j]), torch.tensor([2 + 0j]))
    tensor(2.-2.j)
    """
    if input.dim() != 1 or other.dim() != 1:
        raise RuntimeError(f"1D tensors expected, but got {input.dim()}D and {other.dim()}D tensors")
    if input.dtype is not other.dtype:
        names = dtypes.LEGACY[input.dtype], dtypes.LEGACY[other.dtype]
        raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {names[0]} and {names[1]}")
    if input.numel() != other.numel():
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{input.numel()}] and src [{other.numel()}] to have the same number "
            f"of elements, but got {input.numel()} and {other.numel()} elements respectively"
        )
    return _vdot(input, other, out=out)


@method
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Dot products of last dimensions, for all pairs of the others.

    >>> import penlight as torch
    >>> torch.inner(torch.tensor([1, 2, 3]), torch.tensor([0, 2, 1]))
    tensor(7)
    """
    if input.dim() == 0 or other.dim() == 0:
        return _dispatch.given("inner", input * other, out)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and "
            f"{list(other.shape)}"
        )
    return _dispatch.given("inner", tensordot(input, other, ([-1], [-1])), out)


def _cross_array(input: Any, other: Any, dim: int) -> Any:
    shape = broadcast_shape(input.shape, other.shape)
    input, other = (np.moveaxis(np.broadcast_to(x, shape), dim, 0) for x in (input, other))
    out = np.empty(shape, input.dtype)
    parts = np.moveaxis(out, dim, 0)
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        parts[k] = input[i] * other[j] - input[j] * other[i]
    return out


@bilinear(_cross_array, node="LinalgCrossBackward0",
          input=lambda grad, other, dim, input_shape, xp: xp.sum_to(xp._linalg_cross(xp.conj(other), grad, dim), input_shape),
          other=lambda grad, input, dim, other_shape, xp: xp.sum_to(xp._linalg_cross(grad, xp.conj(input), dim), other_shape))  # fmt: skip
def _linalg_cross(input: Tensor, other: Tensor, dim: int) -> Tensor: ...


def linalg_cross(input: Tensor, other: Tensor, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The cross product of vectors of length 3 along a dimension, broadcasting; what torch.linalg.cross is."""
    if input.dim() != other.dim():
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    place = wrap_dim(dim, input.dim())
    if not input.dim() or input.shape[place] != 3 or other.shape[place] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[place]} and {other.shape[place]}"
        )
    common = dtypes.result_dtype([input._array, other._array])
    broadcast_shape(tuple(input.shape), tuple(other.shape))
    return _linalg_cross(input.to(common), other.to(common), place, out=out)


@method
def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The cross product of vectors of length 3 along a dimension.

    >>> import penlight as torch
    >>> torch.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0]), dim=0)
    tensor([0, 0, 1])
    """
    if dim is None:
        if input.dim() != other.dim():
            raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
        import warnings

        warnings.warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply "
            "use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future "
            "release.", stacklevel=2,
        )  # fmt: skip
        dim = next((d for d, n in enumerate(input.shape) if n == 3), None)
        if dim is None:
            raise RuntimeError("no dimension of size 3 in input")
    return linalg_cross(input, other, dim, out)


# ----- Matrices -----------------------------------------------------------------------------------------------------


@in_float32
def _trace_array(input: Any) -> Any:
    if input.ndim != 2:
        raise RuntimeError(f"trace: expected a matrix, but got tensor with dim {input.ndim}")
    if input.dtype.kind == "b":
        raise not_implemented("trace", input.dtype)
    return np.trace(input, dtype=np.int64 if input.dtype.kind in "iu" else None)


def _trace_rule(grad: Any, input_shape: tuple[int, ...], xp: Any) -> Any:
    diagonal = xp.spread(grad, (min(input_shape),), (0,), False)
    return xp._diagonal_backward(diagonal, input_shape, 0, 0, 1)


@linear(_trace_array, input=_trace_rule)
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal.

    >>> import penlight as torch
    >>> torch.trace(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5.)
    """


@method
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: each element of one tensor times all of the other, as blocks.

    >>> import penlight as torch
    >>> torch.kron(torch.tensor([1, 10]), torch.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    from .shape import _unsafe_view

    ndim = max(input.dim(), other.dim())
    left = (1,) * (ndim - input.dim()) + tuple(input.shape)
    right = (1,) * (ndim - other.dim()) + tuple(other.shape)
    a = _unsafe_view(input, tuple(n for m in left for n in (m, 1)))
    b = _unsafe_view(other, tuple(n for m in right for n in (1, m)))
    return _dispatch.given("kron", _unsafe_view(a * b, tuple(n * m for n, m in zip(left, right))), out)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Products summed over dimensions: the last `dims` of a with the first of b, or two lists of dimensions.

    >>> import penlight as torch
    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    left, right = _contracted(a, b, dims)
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    left, right = [wrap_dim(d, a.dim()) for d in left], [wrap_dim(d, b.dim()) for d in right]
    for d, e in zip(left, right):
        n, m = a.shape[d], b.shape[e]
        if n != m and n != 1 and m != 1:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {d} and second has size {m} in dim {e}"
            )
        if n != m:  # a dimension of size one stands for as many as the other has
            a, b = (a.sum(d, keepdim=True), b) if m == 1 else (a, b.sum(e, keepdim=True))
    return _dispatch.given("tensordot", _contract(a, b, left, right), out)


def _contract(a: Tensor, b: Tensor, left: list[int], right: list[int]) -> Tensor:
    free_a, free_b = [d for d in range(a.dim()) if d not in left], [d for d in range(b.dim()) if d not in right]
    size = math.prod(a.shape[d] for d in left)
    shape = [a.shape[d] for d in free_a] + [b.shape[d] for d in free_b]
    moved_a, moved_b = a.permute(free_a + left) if a.dim() else a, b.permute(right + free_b) if b.dim() else b
    if not free_a and not free_b:
        return moved_a.reshape(size).dot(moved_b.reshape(size)).view(())
    rows, columns = math.prod(a.shape[d] for d in free_a), math.prod(b.shape[d] for d in free_b)
    return moved_a.reshape(rows, size).mm(moved_b.reshape(size, columns)).view(shape)


def _contracted(a: Tensor, b: Tensor, dims: Any) -> tuple[list[int], list[int]]:
    """The dimensions to sum over, as two lists."""
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, (tuple, list)):
        first, second = dims
        return list(first), list(second)
    count = int(dims)
    if count < 0:
        raise RuntimeError(f"tensordot expects dims >= 0, but got dims={count}")
    if count > min(a.dim(), b.dim()):
        raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={count}")
    return list(range(a.dim() - count, a.dim())), list(range(count))


def chain_matmul(*matrices: Tensor, out: Tensor | None = None) -> Tensor:
    """The product of several matrices, in the order that takes the fewest multiplications.

    >>> import penlight as torch
    >>> torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 1)).shape
    torch.Size([2, 1])
    """
    import warnings

    warnings.warn(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot instead, "
        "which accepts a list of two or more tensors rather than multiple parameters.", stacklevel=2,
    )  # fmt: skip
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    sizes = [matrices[0].shape[0], *(m.shape[1] for m in matrices)]
    return _dispatch.given("chain_matmul", _best_product(list(matrices), sizes), out)


def _best_product(matrices: list[Tensor], sizes: list[int]) -> Tensor:
    """Multiply in the cheapest order, found by dynamic programming over where to split."""
    n = len(matrices)
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [(cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i][j], split[i][j] = min(options)

    def product(i: int, j: int) -> Tensor:
        return matrices[i] if i == j else product(i, split[i][j]).mm(product(split[i][j] + 1, j))

    return product(0, n - 1)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector's elements as columns, highest first unless `increasing`.

    >>> import penlight as torch
    >>> torch.vander(torch.tensor([1, 2, 3]))
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    count = x.numel() if N is None else N
    if count < 0:
        raise RuntimeError("N must be non-negative.")
    if count == 0:
        return x.new_empty((x.numel(), 0))
    kind = dtypes.int64 if x.dtype.category < dtypes.FLOATING else x.dtype
    if count == 1:
        return x.new_ones((x.numel(), 1), dtype=kind)
    powers = cat([x.new_ones((x.numel(), 1), dtype=kind), x.to(kind).unsqueeze(1).expand(-1, count - 1)], 1).cumprod(1)
    return powers if increasing else powers.flip(1)


def spmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices; the first may be sparse in PyTorch, and is dense here.

    >>> import penlight as torch
    >>> torch.spmm(torch.eye(2), torch.tensor([[1.0], [2.0]]))
    tensor([[1.],
            [2.]])
    """
    return input.mm(mat2, out=out)


# ----- Sums of matrix products --------------------------------------------------------------------------------------


def _addbmm_array(input: Any, batch1: Any, batch2: Any, beta: Any, alpha: Any) -> Any:
    return _added(_matmul_array(widen(batch1), widen(batch2)).sum(0), input, beta, alpha)


def _shared(grad: Any, count: int, alpha: Any, xp: Any) -> Any:
    return xp.spread(_scaled_back(grad, alpha), (count, *grad.shape), (0,), False)


@differentiable(_addbmm_array, node="AddbmmBackward0", inplace=True,
                input=lambda grad, beta, input_shape, xp: xp.sum_to(_scaled_back(grad, beta), input_shape),
                batch1=lambda grad, batch2, alpha, batch1_shape, xp:
                    xp._bmm(_shared(grad, batch1_shape[0], alpha, xp), xp.conj(xp._transpose(batch2, 1, 2))),
                batch2=lambda grad, batch1, alpha, batch2_shape, xp:
                    xp._bmm(xp.conj(xp._transpose(batch1, 1, 2)), _shared(grad, batch2_shape[0], alpha, xp)))  # fmt: skip
def _addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Number, alpha: Number) -> Tensor: ...


def _addbmm_arguments(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Any, alpha: Any) -> tuple[Any, ...]:
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
    broadcast_shape(tuple(input.shape), (batch1.shape[1], batch2.shape[2]))
    return input, batch1, batch2, beta, alpha


def _added(product: Any, input: Any, beta: Any, alpha: Any) -> Any:
    """beta * input + alpha * product; with beta 0 the input does not count, not even a NaN in it."""
    if product.dtype.kind in "iu":
        beta, alpha = int(beta), int(alpha)  # as in C
    product = product if alpha == 1 else product * alpha
    total = product if beta == 0 else product + (widen(input) if beta == 1 else widen(input) * beta)
    return total.astype(input.dtype, copy=False)


@differentiable(lambda input, mat, vec, beta, alpha: _added(_matmul_array(widen(mat), widen(vec)), input, beta, alpha), node="AddmvBackward0", inplace=True,
                input=lambda grad, beta, input_shape, xp: xp.sum_to(_scaled_back(grad, beta), input_shape),
                mat=lambda grad, vec, alpha, xp: _scaled_back(_times(grad, xp.conj(vec), xp), alpha),
                vec=lambda grad, mat, alpha, xp: _scaled_back(xp._mv(xp.conj(xp._transpose(mat, 0, 1)), grad), alpha))  # fmt: skip
def _addmv(input: Tensor, mat: Tensor, vec: Tensor, beta: Number, alpha: Number) -> Tensor: ...


def _times(column: Any, row: Any, xp: Any) -> Any:
    """All products of two vectors' elements."""
    return xp.reshape(column, (-1, 1)) * xp.reshape(row, (1, -1))


@differentiable(lambda input, vec1, vec2, beta, alpha: _added(np.multiply.outer(widen(vec1), widen(vec2)), input, beta, alpha), node="AddrBackward0",
                inplace=True,
                input=lambda grad, beta, input_shape, xp: xp.sum_to(_scaled_back(grad, beta), input_shape),
                vec1=lambda grad, vec2, alpha, xp: _scaled_back(xp._mv(grad, xp.conj(vec2)), alpha),
                vec2=lambda grad, vec1, alpha, xp: _scaled_back(xp._mv(xp._transpose(grad, 0, 1), xp.conj(vec1)), alpha))  # fmt: skip
def _addr(input: Tensor, vec1: Tensor, vec2: Tensor, beta: Number, alpha: Number) -> Tensor: ...


def _addmv_arguments(input: Tensor, mat: Tensor, vec: Tensor, beta: Any, alpha: Any) -> tuple[Any, ...]:
    if mat.dim() != 2 or vec.dim() != 1 or input.dim() > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.dim()}, {mat.dim()}, {vec.dim()}")
    if mat.shape[1] != vec.shape[0] or input.numel() not in (1, mat.shape[0]):
        raise RuntimeError(
            f"size mismatch, got input ({input.numel()}), mat ({mat.shape[0]}x{mat.shape[1]}), vec ({vec.shape[0]})"
        )
    return input, mat, vec, beta, alpha


def _addr_arguments(input: Tensor, vec1: Tensor, vec2: Tensor, beta: Any, alpha: Any) -> tuple[Any, ...]:
    if vec1.dim() != 1 or vec2.dim() != 1:
        raise RuntimeError(
            f"addr: Expected 1-D argument {'vec1' if vec1.dim() != 1 else 'vec2'}, but got {(vec1 if vec1.dim() != 1 else vec2).dim()}-D"
        )
    broadcast_shape(tuple(input.shape), (vec1.shape[0], vec2.shape[0]))
    return input, vec1, vec2, beta, alpha


@method
def addmv(
    input: Tensor,
    mat: Tensor,
    vec: Tensor,
    *legacy: Any,
    beta: Number = 1,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha * mat @ vec`.

    >>> import penlight as torch
    >>> torch.addmv(torch.zeros(1), torch.ones(1, 2), torch.ones(2), alpha=3)
    tensor([6.])
    """
    if legacy:
        input, mat, vec, beta, alpha = legacy_sum((input, mat, vec, *legacy))
    return _addmv(*_addmv_arguments(input, mat, vec, beta, alpha), out=out)


@method
def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *legacy: Any, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """In-place version of `addmv`.

    >>> import penlight as torch
    >>> torch.ones(2).addmv_(torch.eye(2), torch.tensor([3.0, 4.0]))
    tensor([4., 5.])
    """
    if legacy:
        input, mat, vec, beta, alpha = legacy_sum((input, mat, vec, *legacy))
    arguments = _addmv_arguments(input, mat, vec, beta, alpha)
    _fits_in_place(input, (mat.shape[0],))
    return _dispatch.inplace(OPS["_addmv"], arguments)


@method
def addr(
    input: Tensor,
    vec1: Tensor,
    vec2: Tensor,
    *legacy: Any,
    beta: Number = 1,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha * outer(vec1, vec2)`.

    >>> import penlight as torch
    >>> torch.addr(torch.zeros(1, 2), torch.ones(1), torch.tensor([1.0, 2.0]))
    tensor([[1., 2.]])
    """
    if legacy:
        input, vec1, vec2, beta, alpha = legacy_sum((input, vec1, vec2, *legacy))
    return _addr(*_addr_arguments(input, vec1, vec2, beta, alpha), out=out)


@method
def addr_(input: Tensor, vec1: Tensor, vec2: Tensor, *legacy: Any, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """In-place version of `addr`.

    >>> import penlight as torch
    >>> torch.zeros(2, 2).addr_(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    tensor([[3., 4.],
            [6., 8.]])
    """
    if legacy:
        input, vec1, vec2, beta, alpha = legacy_sum((input, vec1, vec2, *legacy))
    return _dispatch.inplace(OPS["_addr"], _addr_arguments(input, vec1, vec2, beta, alpha))


@method
def addmm_(input: Tensor, mat1: Tensor, mat2: Tensor, *legacy: Any, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """In-place version of `addmm`.

    >>> import penlight as torch
    >>> torch.ones(1, 1).addmm_(torch.ones(1, 3), torch.ones(3, 1), beta=10)
    tensor([[13.]])
    """
    if legacy:
        input, mat1, mat2, beta, alpha = legacy_sum((input, mat1, mat2, *legacy))
    _same_product("addmm_", input, (mat1.shape[0], mat2.shape[-1]), mat1, mat2)
    return _dispatch.inplace(OPS["_addmm"], (input, mat1, mat2, beta, alpha))


@method
def baddbmm_(
    input: Tensor, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Number = 1, alpha: Number = 1
) -> Tensor:
    """In-place version of `baddbmm`.

    >>> import penlight as torch
    >>> torch.zeros(1, 1, 1).baddbmm_(torch.ones(1, 1, 3), torch.ones(1, 3, 1))
    tensor([[[3.]]])
    """
    if legacy:
        input, batch1, batch2, beta, alpha = legacy_sum((input, batch1, batch2, *legacy))
    _same_product("baddbmm_", input, (batch1.shape[0], batch1.shape[1], batch2.shape[-1]), batch1, batch2)
    return _dispatch.inplace(OPS["_baddbmm"], (input, batch1, batch2, beta, alpha))


def _same_product(name: str, input: Tensor, shape: tuple[int, ...], left: Tensor, right: Tensor) -> None:
    """Refuse matrices that can't be multiplied, and a product that does not fit into the tensor."""
    if left.shape[-1] != right.shape[-2]:
        sizes = [f"{t.shape[-2]}x{t.shape[-1]}" for t in (left, right)]
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({sizes[0]} and {sizes[1]})")
    _fits_in_place(input, shape)


def _fits_in_place(input: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(input.shape) != shape:
        raise RuntimeError(
            f"Bad in-place call: input tensor size {list(input.shape)} and output tensor size {list(shape)} should match"
        )


@method
def addbmm(
    input: Tensor,
    batch1: Tensor,
    batch2: Tensor,
    *legacy: Any,
    beta: Number = 1,
    alpha: Number = 1,
    out: Tensor | None = None,
) -> Tensor:
    """`beta * input + alpha * (the sum of the products of matrices in two batches)`.

    >>> import penlight as torch
    >>> torch.addbmm(torch.zeros(1, 1), torch.ones(2, 1, 3), torch.ones(2, 3, 1))
    tensor([[6.]])
    """
    if legacy:
        input, batch1, batch2, beta, alpha = legacy_sum((input, batch1, batch2, *legacy))
    return _addbmm(*_addbmm_arguments(input, batch1, batch2, beta, alpha), out=out)


@method
def addbmm_(input: Tensor, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """In-place version of `addbmm`.

    >>> import penlight as torch
    >>> torch.zeros(1, 1).addbmm_(torch.ones(2, 1, 3), torch.ones(2, 3, 1))
    tensor([[6.]])
    """
    if legacy:
        input, batch1, batch2, beta, alpha = legacy_sum((input, batch1, batch2, *legacy))
    return _dispatch.inplace(OPS["_addbmm"], _addbmm_arguments(input, batch1, batch2, beta, alpha))
