"""Maxima and minima, of all elements or along dimensions, and their indices."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels.copies.convert import cast
from ...kernels.index import gather_scatter
from ...kernels.index_width import wide_indices
from ...kernels.numpy_calls import expand_dims, put_along, take_along
from ...kernels.numpy_warnings import silent
from ...kernels.reduce.compiled import reduce_compiled
from ...kernels.reduce.strategies import LEAST_REDUCED
from ...return_types import named_result as named_result
from ...tensor import Tensor
from ..machinery.arguments import check_keepdim, wrap_dim, wrap_dims
from ..machinery.array_namespace import both
from ..machinery.declare import differentiable, method, plain
from ..machinery.op import traits
from ..pointwise import elementary
from .sums import _sum_array

__all__ = ["amax", "amin", "argmax", "argmin", "max", "min"]


def _share(grad: Any, input: Any, result: Any, dim: tuple[int, ...], keepdim: bool, xp: Any) -> Any:
    """The gradient shared equally by all elements that equal the extreme."""
    shape = tuple(input.shape)
    hits = xp.cast(input == xp.broadcast_back(result, shape, dim, keepdim), xp.np_dtype(input))
    return xp.broadcast_back(grad / xp.count_hits(hits, dim, keepdim), shape, dim, keepdim) * hits


both("np_dtype", lambda x: x.dtype, lambda x: x.dtype.np)
_FLOAT = np.dtype(np.float32)

both(
    "count_hits",
    lambda hits, dim, keepdim: _sum_array(hits, dim or None, keepdim),
    lambda hits, dim, keepdim: hits.sum(dim, keepdim) if dim else hits.sum(),
)


def _extreme(input: Any, ufunc: Any, dim: tuple[int, ...] | None, keepdim: bool) -> Any:
    """The largest or smallest element over some dimensions, or of all."""
    if input.size >= LEAST_REDUCED and input.dtype.kind in "fV":
        result = reduce_compiled(input, "max" if ufunc is np.maximum else "min", dim, keepdim)
        if result is not None:
            return result.astype(input.dtype, copy=False)
        if input.dtype.itemsize == 2:  # NumPy compares them slowly
            return ufunc.reduce(cast(input, _FLOAT), axis=dim, keepdims=keepdim).astype(input.dtype)
    if input.dtype.kind == "V":
        with silent():  # comparing NaNs of bfloat16 sets a flag
            return ufunc.reduce(input, axis=dim, keepdims=keepdim)
    return ufunc.reduce(input, axis=dim, keepdims=keepdim)


def _extreme_all(ufunc: Any, name: str) -> Any:
    def run(input: Any) -> Any:
        if input.size == 0:
            raise RuntimeError(
                f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with "
                "the 'dim' argument."
            )
        return _extreme(input, ufunc, None, False)

    return run


def _extreme_rule(grad: Any, input: Any, result: Any, xp: Any) -> Any:
    hits = (input == result) | (xp.isnan(input) & xp.isnan(result))
    count = xp.count_hits(xp.cast(hits, xp.np_dtype(input)), (), False)
    return xp._masked_fill_tensor(xp.zeros_like(input), hits, grad / count)


@differentiable(_extreme_all(np.maximum, "max"), node="MaxBackward1", input=_extreme_rule)
@traits(refuses={"c": "max_all"})
def _max_all(input: Tensor) -> Tensor: ...


@differentiable(_extreme_all(np.minimum, "min"), node="MinBackward1", input=_extreme_rule)
@traits(refuses={"c": "min_all"})
def _min_all(input: Tensor) -> Tensor: ...


@differentiable(
    lambda input, dim, keepdim: _extreme(input, np.maximum, dim, keepdim), input=_share, node="AmaxBackward0"
)
@traits(refuses={"c": "max_values_cpu"})
def _amax(input: Tensor, dim: tuple[int, ...], keepdim: bool) -> Tensor: ...


@differentiable(
    lambda input, dim, keepdim: _extreme(input, np.minimum, dim, keepdim), input=_share, node="AminBackward0"
)
@traits(refuses={"c": "min_values_cpu"})
def _amin(input: Tensor, dim: tuple[int, ...], keepdim: bool) -> Tensor: ...


def _pick(argument: Any) -> Any:
    """Values and indices of the extreme along a dimension: the first if there are several."""

    def kernel(input: Any, dim: int, keepdim: bool) -> Any:
        if input.ndim == 0:
            return input.copy(), np.zeros((), np.int64)
        indices = argument(input, dim)
        wide = expand_dims(indices, dim)
        values = take_along(input, wide, dim)
        return (values, wide) if keepdim else (values.reshape(indices.shape), indices)

    return kernel


def _scatter_rule(grads: Any, input_shape: tuple[int, ...], dim: int, keepdim: bool, indices: Any, xp: Any) -> Any:
    """The gradient of the picked values, scattered to their indices."""
    grad = grads[0]
    if grad is None:
        return None
    return xp.value_selecting_backward(grad, indices, input_shape, dim, keepdim)


def _value_selecting_array(grad: Any, indices: Any, shape: tuple[int, ...], dim: int, keepdim: bool) -> Any:
    if not shape:
        return grad
    if not keepdim:
        grad, indices = expand_dims(grad, dim), expand_dims(indices, dim)
    out = np.zeros(shape, grad.dtype)
    if (
        grad.size >= gather_scatter.LEAST_MOVED
        and gather_scatter.all_inside(indices, shape[dim])
        and gather_scatter.put_along(out, indices, grad, dim)
    ):
        return out
    put_along(out, indices, grad, dim)
    return out


def _value_selecting_graph(grad: Any, indices: Any, shape: tuple[int, ...], dim: int, keepdim: bool) -> Any:
    if shape and not keepdim:
        grad, indices = grad.unsqueeze(dim), indices.unsqueeze(dim)
    return grad.new_zeros(shape).scatter(dim, indices, grad)


both("value_selecting_backward", _value_selecting_array, _value_selecting_graph)


@differentiable(
    _pick(wide_indices()(lambda array, dim: array.argmax(dim))),
    node="MaxBackward0",
    results=("values", "indices"),
    input=_scatter_rule,
)
@traits(refuses={"c": RuntimeError("max(): does not support complex input")})
def _max_dim(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]: ...


@differentiable(
    _pick(wide_indices()(lambda array, dim: array.argmin(dim))),
    node="MinBackward0",
    results=("values", "indices"),
    input=_scatter_rule,
)
@traits(refuses={"c": RuntimeError("min(): does not support complex input")})
def _min_dim(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]: ...


_Max, _Min = named_result("max", "values indices"), named_result("min", "values indices")


def _max_or_min(name: str, input: Tensor, dim: Any, keepdim: Any, out: Any) -> Any:
    check_keepdim(keepdim, name)
    if isinstance(dim, Tensor) and isinstance(input, Tensor):
        return (elementary.maximum if name == "max" else elementary.minimum)(input, dim, out=out)
    if dim is None:
        return (_max_all if name == "max" else _min_all)(input, out=out)
    axis = wrap_dim(dim, input.dim())
    shape = input._array.shape
    if shape and shape[axis] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {axis} to have non-zero size.")
    pair = (_max_dim if name == "max" else _min_dim)(input, axis, keepdim, out=out)
    return (_Max if name == "max" else _Min)(*pair)


@method
def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None) -> Any:
    """The largest element; with a dimension, the largest values and their indices; with a tensor, `maximum`.

    >>> torch.tensor([1.0, 3.0]).max()
    tensor(3.)
    >>> torch.tensor([[1.0, 3.0]]).max(1).indices
    tensor([1])
    """
    return _max_or_min("max", input, dim if other is None else other, keepdim, out)


@method
def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None) -> Any:
    """The smallest element; with a dimension, the smallest values and their indices; with a tensor, `minimum`.

    >>> torch.tensor([1.0, 3.0]).min()
    tensor(1.)
    """
    return _max_or_min("min", input, dim if other is None else other, keepdim, out)


def _filled_dims(name: str, input: Tensor, dim: Any) -> tuple[int, ...]:
    """The dimensions to reduce, none of which may be empty."""
    if not input._array.size and (dim is None or (isinstance(dim, (tuple, list)) and not dim)):
        raise RuntimeError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the 'dim' argument.")  # fmt: skip
    shape = input._array.shape
    dims = wrap_dims(dim, len(shape))
    for d in dims:
        if shape[d] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    return dims


@method
def amax(input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The largest element over some dimensions; equal elements share the gradient.

    >>> torch.amax(torch.tensor([[1.0, 3.0], [5.0, 2.0]]), 1)
    tensor([3., 5.])
    """
    check_keepdim(keepdim, "amax")
    return _amax(input, _filled_dims("amax", input, dim), keepdim, out=out)


@method
def amin(input: Tensor, dim: Any = (), keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The smallest element over some dimensions; equal elements share the gradient.

    >>> torch.amin(torch.tensor([[1.0, 3.0], [5.0, 2.0]]), 1)
    tensor([1., 2.])
    """
    check_keepdim(keepdim, "amin")
    return _amin(input, _filled_dims("amin", input, dim), keepdim, out=out)


def _arg(argument: Any, name: str) -> Any:
    def kernel(input: Any, dim: int | None, keepdim: bool) -> Any:
        if input.dtype.kind == "b":
            raise RuntimeError(f"{name}(): does not support bool input")
        if input.size == 0 and dim is None:
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        if input.ndim == 0:
            return np.zeros((), np.int64)
        if dim is not None and input.shape[dim] == 0:
            raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")
        return argument(input, axis=dim, keepdims=keepdim).astype(np.int64, copy=False)

    return kernel


@plain(_arg(np.argmax, "argmax"))
@traits(refuses={"c": RuntimeError("argmax(): does not support complex input")})
def _argmax(input: Tensor, dim: int | None, keepdim: bool) -> Tensor: ...


@plain(_arg(np.argmin, "argmin"))
@traits(refuses={"c": RuntimeError("argmin(): does not support complex input")})
def _argmin(input: Tensor, dim: int | None, keepdim: bool) -> Tensor: ...


@method
def argmax(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The index of the largest element (of the flattened tensor, or along a dimension).

    >>> torch.argmax(torch.tensor([1.0, 3.0, 2.0]))
    tensor(1)
    """
    check_keepdim(keepdim, "argmax")
    return _argmax(input, None if dim is None else wrap_dim(dim, input.dim()), keepdim, out=out)


@method
def argmin(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The index of the smallest element (of the flattened tensor, or along a dimension).

    >>> torch.argmin(torch.tensor([1.0, 3.0, 0.5]))
    tensor(2)
    """
    check_keepdim(keepdim, "argmin")
    return _argmin(input, None if dim is None else wrap_dim(dim, input.dim()), keepdim, out=out)
