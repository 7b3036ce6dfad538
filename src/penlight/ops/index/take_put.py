"""Elements by position: in the flattened tensor, along a dimension with broadcasting, or where they are nonzero."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...tensor import Tensor, wrap
from ..machinery import dispatch
from ..machinery.arguments import broadcast_shape, values_of, wrap_dim
from ..machinery.declare import OPS, OpCall, linear, method, op_forms
from ..machinery.guards import lazy
from .advanced import extremes, within

__all__ = ["argwhere", "nonzero_static", "put", "take", "take_along_dim"]

# ----- Flat positions -----------------------------------------------------------------------------------------------


def _take_flat(input: Any, index: Any) -> Any:
    if input.size == 0 and index.size:
        raise IndexError("take(): tried to take from an empty tensor")
    if index.size:
        low, high = (0, 0) if within(index, input.size) else extremes(index)
        if low < -input.size or high >= input.size:
            flat = index.reshape(-1)
            bad = flat[(flat < -input.size) | (flat >= input.size)][0]
            raise IndexError(f"out of range: tried to access index {bad} on a tensor of {input.size} elements.")
    if not input.flags.c_contiguous and 2 * index.size < input.size:  # NumPy's `take` copies all of such an array
        return input[np.unravel_index(np.where(index < 0, index + input.size, index), input.shape)]
    return input.take(index)


_put_array = lazy("index.scatter", "put")


@linear(
    _take_flat,
    node="TakeBackward0",
    input=lambda grad, index, input_shape, xp: xp._take_backward(grad, index, input_shape),
)
def _take(input: Tensor, index: Tensor) -> Tensor: ...


@linear(lambda input, index, shape: _put_array(np.zeros(shape, input.dtype), index, input, True), node="PutBackward0",
        input=lambda grad, index, xp: xp._take(grad, index))  # fmt: skip
def _take_backward(input: Tensor, index: Tensor, shape: tuple[int, ...]) -> Tensor: ...


def _long_index(name: str, index: Tensor) -> None:
    if index.dtype is not dtypes.int64:
        raise RuntimeError(f"{name}(): Expected a long tensor for index, but got {dtypes.LEGACY[index.dtype]}")


@method
def take(input: Tensor, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements at flat positions of the tensor, in the shape of the index.

    >>> torch.take(torch.tensor([[1, 2], [3, 4]]), torch.tensor([0, 3]))
    tensor([1, 4])
    """
    _long_index("take", index)
    return _take(input, index, out=out)


def _put_input(grad: Any, index: Any, accumulate: bool, source_shape: Any, xp: Any) -> Any:
    return grad if accumulate else xp._put(grad, index, xp.zeros_for(grad, source_shape), False)


@linear(_put_array, node="PutBackward0", inplace=True,
        input=_put_input,
        source=lambda grad, index, source_shape, xp: xp.reshape(xp._take(grad, index), source_shape))  # fmt: skip
def _put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool) -> Tensor: ...


@op_forms(out=False)
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> OpCall:
    """A copy with elements of `source` written (or added) at positions in the flattened tensor.

    >>> torch.zeros(2, 2).put(torch.tensor([3]), torch.tensor([5.0]))
    tensor([[0., 0.],
            [0., 5.]])
    """
    _long_index("put_", index)
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"put_(): self and source expected to have the same dtype, but got self.dtype = {dtypes.LEGACY[input.dtype]} and "
            f"source.dtype = {dtypes.LEGACY[source.dtype]}"
        )
    if not input.numel() and index.numel():
        raise IndexError("put_(): Tried to put elements into an empty tensor")
    return OPS["_put"], (input, index, source, accumulate)


@method
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The elements at indices along a dimension; the other dimensions broadcast. Without `dim`, of the flattened tensor.

    >>> torch.take_along_dim(torch.tensor([[3, 1, 2]]), torch.tensor([[1, 2, 0]]), 1)
    tensor([[1, 2, 3]])
    """
    if indices.dtype is not dtypes.int64:
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {dtypes.LEGACY[indices.dtype]}"
        )
    if dim is None:
        return input.view(-1).gather(0, indices.reshape(-1), out=out)
    if input.dim() != indices.dim():
        raise RuntimeError(
            "torch.take_along_dim(): input and indices should have the same number of dimensions, but got "
            f"{input.dim()} dimensions for input, and {indices.dim()} dimensions for indices"
        )
    axis = wrap_dim(dim, input.dim())
    shape, where = input._array.shape, indices._array.shape
    if indices._array.size and shape[:axis] + shape[axis + 1 :] == where[:axis] + where[axis + 1 :]:
        low, high = extremes(values_of(indices))
        if low >= 0 and shape and high < shape[axis]:
            return input.gather(axis, indices, out=out)
    others = broadcast_shape(
        (*shape[:axis], 1, *shape[axis + 1 :])[: len(shape)], (*where[:axis], 1, *where[axis + 1 :])[: len(where)]
    )
    wide = input.expand((*others[:axis], *shape[axis : axis + 1], *others[axis + 1 :]))
    if shape and shape[axis]:
        indices = indices.remainder(shape[axis])
    return wide.gather(axis, indices.expand((*others[:axis], *where[axis : axis + 1], *others[axis + 1 :])), out=out)


@method
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Tensor | None = None) -> Tensor:
    """The first `size` rows of `nonzero`; if there are fewer, the rest is filled with one value.

    >>> torch.nonzero_static(torch.tensor([0, 3, 5]), size=3)
    tensor([[ 1],
            [ 2],
            [-1]])
    """
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = input.nonzero()
    if found._level is None and type(fill_value) is int and -(2**63) <= fill_value < 2**63:
        indices = found._array
        rows = np.empty((size, indices.shape[1]), np.int64)
        rows[: len(indices)] = indices[:size]
        rows[len(indices) :] = fill_value
        return dispatch.given("nonzero_static", wrap(rows), out)
    rows = found.new_full((size, input.dim()), fill_value)
    count = min(size, found.shape[0])
    rows[:count] = found[:count]
    return dispatch.given("nonzero_static", rows, out)


@method
def argwhere(input: Tensor) -> Tensor:
    """The indices of the nonzero elements, one row each.

    >>> torch.argwhere(torch.tensor([0, 3]))
    tensor([[1]])
    """
    return input.nonzero()
