"""Products of tensors other than the matrix product: inner, Kronecker, contractions, traces, cross products."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.user_warnings import warn_user
from ...kernels.numpy_calls import broadcast_to, moveaxis, tile
from ...tensor import Tensor, wrap
from ..machinery import dispatch
from ..machinery.arguments import broadcast_shape, wrap_dim
from ..machinery.declare import bilinear, in_float32, linear, method, warning_free
from ..machinery.guards import need_one_dtype, not_implemented, plain_floats, unrecorded, without_numpy_warnings
from ..machinery.op import traits
from ..shape.joining import cat
from ..shape.views import _unsafe_view
from .matmul import check_vectors

__all__ = ["chain_matmul", "cross", "dsmm", "hsmm", "inner", "kron", "spmm", "tensordot", "trace", "vander", "vdot"]

# ----- Vectors ------------------------------------------------------------------------------------------------------


@bilinear(np.vdot, node="VdotBackward0",
          input=lambda grad, other, xp: xp.conj(grad) * other,
          other=lambda grad, input: grad * input)  # fmt: skip
@traits(refuses={"b": "dot"})
def _vdot(input: Tensor, other: Tensor) -> Tensor: ...


@method
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The dot product of two vectors, with the first conjugated.

    >>> torch.vdot(torch.tensor([1 + 1j]), torch.tensor([2 + 0j]))
    tensor(2.-2.j)
    """
    check_vectors(input, other)
    return _vdot(input, other, out=out)


@method
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Dot products over the last dimensions, for all pairs of the other dimensions.

    >>> torch.inner(torch.tensor([1, 2, 3]), torch.tensor([0, 2, 1]))
    tensor(7)
    """
    if input.dim() == 0 or other.dim() == 0:
        return dispatch.given("mul", input * other, out)
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and "
            f"{list(other.shape)}"
        )
    return dispatch.given("inner", tensordot(input, other, ([-1], [-1])), out)


_MOST_COPIED = 4096  # elements, up to which copies are cheaper than calls
_NEXT, _AFTER = np.array([1, 2, 0]), np.array([2, 0, 1])


def _cross_array(input: Any, other: Any, dim: int) -> Any:
    if input.size <= _MOST_COPIED and other.size <= _MOST_COPIED:
        a, b = input.take(_NEXT, dim), other.take(_NEXT, dim)
        c, d = input.take(_AFTER, dim), other.take(_AFTER, dim)
        return a * d - c * b
    shape = broadcast_shape(input.shape, other.shape)
    input, other = (moveaxis(broadcast_to(x, shape), dim, 0) for x in (input, other))
    out = np.empty(shape, input.dtype)
    components = moveaxis(out, dim, 0)
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        components[k] = input[i] * other[j] - input[j] * other[i]
    return out


@bilinear(_cross_array, node="LinalgCrossBackward0",
          input=lambda grad, other, dim, input_shape, xp: xp.sum_to(xp._linalg_cross(xp.conj(other), grad, dim), input_shape),
          other=lambda grad, input, dim, other_shape, xp: xp.sum_to(xp._linalg_cross(grad, xp.conj(input), dim), other_shape))  # fmt: skip
@traits(refuses={"b": "cross"})
def _linalg_cross(input: Tensor, other: Tensor, dim: int) -> Tensor: ...


def linalg_cross(input: Tensor, other: Tensor, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The cross product of vectors of length 3 along a dimension, with broadcasting; this is torch.linalg.cross."""
    if input.dim() != other.dim():
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    axis = wrap_dim(dim, input.dim())
    if not input.dim() or input.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[axis]} and {other.shape[axis]}"
        )
    if input.shape != other.shape:
        broadcast_shape(tuple(input.shape), tuple(other.shape))
    if input.dtype is dtypes.bool_:
        raise not_implemented("cross", input._array.dtype)
    need_one_dtype(input, other)
    return _linalg_cross(input, other, axis, out=out)


@method
def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The cross product of vectors of length 3 along a dimension.

    >>> torch.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0]), dim=0)
    tensor([0, 0, 1])
    """
    if dim is None:
        warn_user(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply "
            "use torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future "
            "release."
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
    diagonal = xp.broadcast_back(grad, (min(input_shape),), (0,), False)
    return xp._diagonal_backward(diagonal, input_shape, 0, 0, 1)


@linear(_trace_array, input=_trace_rule)
@traits(out=False)
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal.

    >>> torch.trace(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(5.)
    """


@without_numpy_warnings
def _kron_array(x: Any, y: Any) -> Any:
    shape = [n * m for n, m in zip(x.shape, y.shape)]
    pairs = list(zip(x.shape, y.shape))
    if x.ndim > 1 and y.shape[-1] < _SHORT and x.size > _SHORT**2:  # rows of products as long as the result's
        pairs.pop()
        length = shape[-1]
        x, y = x.repeat(y.shape[-1], -1), tile(y, (*(1,) * (y.ndim - 1), x.shape[-1]))
        left, right = [*(n for m, _ in pairs for n in (m, 1)), length], [*(n for _, m in pairs for n in (1, m)), length]
        return (x.reshape(left) * y.reshape(right)).reshape(shape)
    left, right = [n for m, _ in pairs for n in (m, 1)], [n for _, m in pairs for n in (1, m)]
    return (x.reshape(left) * y.reshape(right)).reshape(shape)


_SHORT = 32  # elements in an innermost loop


@method
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: each element of one tensor times the full other tensor, as blocks.

    >>> torch.kron(torch.tensor([1, 10]), torch.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    if out is None and plain_floats((input, other)) and input._array.ndim == other._array.ndim:
        return wrap(_kron_array(input._array, other._array))
    ndim = max(input.dim(), other.dim())
    left = (1,) * (ndim - input.dim()) + tuple(input.shape)
    right = (1,) * (ndim - other.dim()) + tuple(other.shape)
    a = _unsafe_view(input, tuple(n for m in left for n in (m, 1)))
    b = _unsafe_view(other, tuple(n for m in right for n in (1, m)))
    return dispatch.given("kron", _unsafe_view(a * b, tuple(n * m for n, m in zip(left, right))), out)


def tensordot(a: Tensor, b: Tensor, dims: Any = 2, out: Tensor | None = None) -> Tensor:
    """Products summed over pairs of dimensions: the last `dims` of a with the first of b, or two lists of dimensions.

    >>> torch.tensordot(torch.ones(2, 3), torch.ones(3, 4), dims=1).shape
    torch.Size([2, 4])
    """
    left, right = _contracted(a, b, dims)
    if a.dtype is not b.dtype:
        raise RuntimeError("both inputs should have same dtype")
    if len(left) != len(right):
        raise RuntimeError("both dimension lists should have same length")
    left, right = [wrap_dim(d, a.dim()) for d in left], [wrap_dim(d, b.dim()) for d in right]
    if out is None and plain_floats((a, b)):
        x, y = a._array, b._array
        if [x.shape[d] for d in left] == [y.shape[e] for e in right]:
            return wrap(_contract_arrays(x, y, left, right))
    for d, e in zip(left, right):
        n, m = a.shape[d], b.shape[e]
        if n != m and n != 1 and m != 1:
            raise RuntimeError(
                f"contracted dimensions need to match, but first has size {n} in dim {d} and second has size {m} in dim {e}"
            )
        if n != m:  # a dimension of size one broadcasts to the other's size
            a, b = (a.sum(d, True, dtype=a.dtype), b) if m == 1 else (a, b.sum(e, True, dtype=b.dtype))
    return dispatch.given("tensordot", _contract(a, b, left, right), out)


@warning_free
def _contract_arrays(a: Any, b: Any, left: list[int], right: list[int]) -> Any:
    """`_contract` on arrays, outside of any graph."""
    free_a, free_b = [d for d in range(a.ndim) if d not in left], [d for d in range(b.ndim) if d not in right]
    shape, size = [a.shape[d] for d in free_a] + [b.shape[d] for d in free_b], math.prod([a.shape[d] for d in left])
    rows, columns = math.prod([a.shape[d] for d in free_a]), math.prod([b.shape[d] for d in free_b])
    a, b = a.transpose(free_a + left).reshape(rows, size), b.transpose(right + free_b).reshape(size, columns)
    return np.matmul(a, b).reshape(shape)


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
    """The product of several matrices, in the order with the fewest multiplications.

    >>> torch.chain_matmul(torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 1)).shape
    torch.Size([2, 1])
    """

    warn_user(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot instead, "
        "which accepts a list of two or more tensors rather than multiple parameters."
    )  # fmt: skip
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for matrix in matrices:
        if matrix.dim() != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.dim()}, expected 2 instead.")
    return dispatch.given("chain_matmul", cheapest_product(list(matrices)), out)


def first_pair(a: int, b: int, c: int, d: int) -> bool:
    """Whether of three factors (a by b, b by c, c by d) the first two should be multiplied first."""
    return a * c * (b + d) <= b * d * (a + c)


def cheapest_product(matrices: list[Tensor]) -> Tensor:
    """The matrix-chain order by dynamic programming: for each run of factors, the cheapest split."""
    sizes = [p.shape[0] for p in matrices] + [matrices[-1].shape[1]]
    count = len(matrices)
    if count == 3:
        return (
            (matrices[0] @ matrices[1]) @ matrices[2]
            if first_pair(*sizes)
            else matrices[0] @ (matrices[1] @ matrices[2])
        )
    cost = [[0] * count for _ in matrices]
    split = [[0] * count for _ in matrices]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = [(cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k) for k in range(i, j)]
            cost[i][j], split[i][j] = min(options)

    def product(i: int, j: int) -> Tensor:
        return matrices[i] if i == j else product(i, split[i][j]) @ product(split[i][j] + 1, j)

    return product(0, count - 1)


@without_numpy_warnings
def powers_of(array: Any, count: int, dtype: Any) -> Any:
    """The powers of each element of an array, starting at 0, along a new last dimension."""
    out = np.empty((*array.shape, count), dtype)
    out[..., 0] = 1
    out[..., 1:] = array[..., None]
    return np.multiply.accumulate(out, -1, out=out)


def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of a vector's elements as columns, highest first unless `increasing`.

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
    kind = dtypes.int64 if x.dtype.category < dtypes.FLOATING else x.dtype
    if count == 0:
        return x.new_empty((x.numel(), 0), dtype=kind)
    if unrecorded((x,)) and kind.np.char in "fdlq":
        array = powers_of(x._array, count, kind.np)
        return wrap(array if increasing else array[:, ::-1].copy())
    if count == 1:
        return x.new_ones((x.numel(), 1), dtype=kind)
    powers = cat([x.new_ones((x.numel(), 1), dtype=kind), x.to(kind).unsqueeze(1).expand(-1, count - 1)], 1).cumprod(1)
    return powers if increasing else powers.flip(1)


def spmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices; in PyTorch the first may be sparse, here it is dense.

    >>> torch.spmm(torch.eye(2), torch.tensor([[1.0], [2.0]]))
    tensor([[1.],
            [2.]])
    """
    return input.mm(mat2, out=out)


dsmm = hsmm = spmm
