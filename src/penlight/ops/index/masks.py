"""Selection by mask; triangles and diagonals of matrices."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes
from ...kernels.elementwise import one_pass
from ...kernels.index import LEAST_MOVED
from ...kernels.index.gather_scatter import nonzero as nonzero_coordinates, take_masked
from ...kernels.numpy_calls import broadcast_to, tril as tril_array, triu as triu_array
from ...tensor import Tensor
from ..machinery import dispatch
from ..machinery.arguments import broadcast_shape, values_of, wrap_dim
from ..machinery.declare import OPS, OpCall, linear, method, op_forms, plain, pointwise
from ..machinery.guards import c_name, need_number
from ..machinery.op import traits
from ..shape.copy_variants import diagonal_copy
from ..shape.slicing import _writable

if TYPE_CHECKING:
    from ..machinery.op import Number

__all__ = ["diag", "diag_embed", "masked_fill", "masked_select", "nonzero", "tril", "triu"]

# ----- Masks --------------------------------------------------------------------------------------------------------


@one_pass
def _filled(input: Any, mask: Any, value: Any) -> Any:
    return np.where(mask, dispatch.cast_number(value, dtypes.from_np(input.dtype)), input)


@pointwise(_filled, node="MaskedFillBackward0", exempt=("mask",),
           input=lambda grad, mask, xp: xp.cleared(grad, mask))  # fmt: skip
@traits(contiguous=True, expanded="tensor[mask] = scalar")
def _masked_fill(input: Tensor, mask: Tensor, value: Number) -> Tensor: ...


@pointwise(lambda input, mask, value: np.where(mask, value.astype(input.dtype), input), node="MaskedFillBackward1",
           exempt=("mask", "value"),
           input=lambda grad, mask, xp: xp.cleared(grad, mask),
           value=lambda grad, mask, value_dtype, xp: xp.cast(xp.where(mask, grad, 0.0), value_dtype))  # fmt: skip
@traits(contiguous=True, expanded="tensor[mask] = scalar")
def _masked_fill_tensor(input: Tensor, mask: Tensor, value: Tensor) -> Tensor: ...


@op_forms(out=False)
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> OpCall:
    """A copy with one value wherever the mask is True.

    >>> torch.ones(2).masked_fill(torch.tensor([True, False]), 5)
    tensor([5., 1.])
    """
    if mask.dtype is not dtypes.bool_:
        raise RuntimeError(f"masked_fill_ only supports boolean masks, but got mask with dtype {c_name(mask.dtype)}")
    if isinstance(value, Tensor):
        if value.dim():
            raise RuntimeError(
                f"masked_fill_ only supports a 0-dimensional value tensor, but got tensor with {value.dim()} dimension(s)."
            )
        if value.is_complex() and not input.is_complex() and (values_of(value).imag != 0).any():
            kind = {"long int": "int64_t"}.get(c_name(input.dtype), c_name(input.dtype))
            raise RuntimeError(f"value cannot be converted to type {kind} without overflow")
        return OPS["_masked_fill_tensor"], (input, mask, value)
    if isinstance(value, np.generic):
        value = value.item()
    if value:  # 0 fits every dtype
        value = dtypes.number_for(value, input.dtype)
    else:
        need_number(value)
    return OPS["_masked_fill"], (input, mask, value)


def _selected(input: Any, mask: Any) -> Any:
    if input.size >= LEAST_MOVED:
        found = take_masked(input, mask)
        if found is not None:
            return found
    return broadcast_to(input, mask.shape)[mask]


@linear(_selected, node="MaskedSelectBackward0",
        input=lambda grad, input_shape, mask, xp: xp.sum_to(xp._masked_scatter(xp.zeros_for(grad, mask.shape), mask, grad), input_shape))  # fmt: skip
def _masked_select(input: Tensor, mask: Tensor) -> Tensor: ...


@method
def masked_select(input: Tensor, mask: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements where the mask is True, as a vector.

    >>> torch.arange(3).masked_select(torch.tensor([True, False, True]))
    tensor([0, 2])
    """
    if mask.dtype is not dtypes.bool_:
        raise RuntimeError("masked_select: expected BoolTensor for mask")
    if mask._level is not None:
        raise RuntimeError(
            "vmap: Attempted to vmap over `mask` in torch.masked_select(self, mask) We cannot support this because for each batch "
            "this would return a differently shaped Tensor. Please file an issue at https://github.com/pytorch/pytorch/issues if "
            "you need this feature."
        )
    shape = broadcast_shape(tuple(mask.shape), tuple(input.shape)) or (1,)
    wide = mask if tuple(mask.shape) == shape else mask.expand(shape)
    return dispatch.given("masked_select", _masked_select(input, wide), out)


def _nonzero_array(input: Any) -> Any:
    """The indices as columns of a matrix that is stored by rows, like PyTorch's."""
    if not input.ndim:
        return np.zeros((int(bool(input)), 0), np.int64)
    return nonzero_coordinates(input).T


@plain(_nonzero_array)
def _nonzero(input: Tensor) -> Tensor: ...


@method
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """The indices of the nonzero elements, one row each; or a tuple with one tensor for each dimension.

    >>> torch.nonzero(torch.tensor([0, 3, 0, 5]))
    tensor([[1],
            [3]])
    """
    if as_tuple:
        if out is not None:
            kind = "tuple" if isinstance(out, tuple) else type(out).__name__
            raise TypeError(f"nonzero(): argument 'out' must be Tensor, not {kind}")
        return _nonzero(input if input.dim() else input.reshape(1)).unbind(1)
    return _nonzero(input, out=out)


def _triangle(kernel: Any, name: str) -> Any:
    def run(input: Any, diagonal: int) -> Any:
        if input.ndim < 2:
            raise RuntimeError(f"{name}: input tensor must have at least 2 dimensions")
        return kernel(input, diagonal if type(diagonal) is int else index(diagonal))

    return run


# ----- Triangles and diagonals --------------------------------------------------------------------------------------


@linear(
    _triangle(tril_array, "tril"),
    node="TrilBackward0",
    inplace=True,
    input=lambda grad, diagonal, xp: xp.tril(grad, diagonal),
)
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """The lower triangle; zeros above it.

    >>> torch.tril(torch.ones(2, 2))
    tensor([[1., 0.],
            [1., 1.]])
    """


@linear(
    _triangle(triu_array, "triu"),
    node="TriuBackward0",
    inplace=True,
    input=lambda grad, diagonal, xp: xp.triu(grad, diagonal),
)
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """The upper triangle; zeros below it.

    >>> torch.triu(torch.ones(2, 2))
    tensor([[1., 1.],
            [0., 1.]])
    """


def _embed_array(input: Any, offset: int, dim1: int, dim2: int) -> Any:
    n = input.shape[-1] + abs(offset)
    shape = list(input.shape[:-1])
    for d in sorted((dim1, dim2)):
        shape.insert(d, n)
    out = np.zeros(shape, input.dtype)
    _writable(np.diagonal(out, offset, dim1, dim2))[...] = input
    return out


@linear(_embed_array, node="DiagEmbedBackward0",
        input=lambda grad, offset, dim1, dim2, xp: xp._diagonal(grad, offset, dim1, dim2))  # fmt: skip
def _diag_embed(input: Tensor, offset: int, dim1: int, dim2: int) -> Tensor: ...


@method
def diag_embed(input: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Matrices with the given diagonals and zeros elsewhere.

    >>> torch.diag_embed(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    ndim = input.dim() + 1
    first, second = wrap_dim(dim1, ndim), wrap_dim(dim2, ndim)
    if first == second:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    return _diag_embed(input, offset, first, second)


@method
def diag(input: Tensor, diagonal: int = 0, *, out: Tensor | None = None) -> Tensor:
    """A matrix with a vector on its diagonal, or the diagonal of a matrix as a vector.

    >>> torch.diag(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    if input.dim() == 1:
        return dispatch.given("diag", diag_embed(input, diagonal), out)
    if input.dim() != 2:
        raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {input.dim()}D")
    return diagonal_copy(input, diagonal, out=out)
