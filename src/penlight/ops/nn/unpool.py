"""Largest elements put back where pooling found them."""

from __future__ import annotations

from typing import Any

from ... import dtypes
from ...tensor import Tensor
from ..machinery.declare import OPS
from .pool import expand

__all__ = ["max_unpool1d", "max_unpool2d", "max_unpool3d"]

Ints = tuple[int, ...]


def _unpool_size(input: Tensor, kernel: Ints, stride: Ints, padding: Ints, output_size: Any) -> Ints:
    """The size of what was pooled: as given, if it is possible at all, else the smallest."""
    dims = len(kernel)
    default = tuple((n - 1) * s + k - 2 * p for n, k, s, p in zip(input.shape[-dims:], kernel, stride, padding))
    if output_size is None:
        return default
    given = tuple(output_size)
    if len(given) == dims + 2:
        given = given[2:]
    if len(given) != dims:
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length of '{len(given)}'"
        )
    for d in range(dims):
        low, high = default[d] - stride[d], default[d] + stride[d]
        if not low < given[d] < high:
            raise ValueError(f'invalid output_size "{output_size[-dims:]}" (dim {d} must be between {low} and {high})')
    return given


def _max_unpool(dims: int, input: Tensor, indices: Tensor, size: Ints) -> Tensor:
    if indices.dtype is not dtypes.int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {dtypes.LEGACY[indices.dtype]}")
    if input.dim() not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Input to max_unpooling{dims}d should be a {dims + 1}d or {dims + 2}d Tensor, but got a tensor with {input.dim()} dimensions."
        )
    if input.shape != indices.shape:
        raise RuntimeError(
            f"Expected shape of indices to be same as that of the input tensor ({list(input.shape)}) but got indices tensor "
            f"with shape: {list(indices.shape)}"
        )
    return OPS[f"_max_unpool{dims}d"].function(input, indices, size)


def max_unpool1d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Zeros, but the largest elements where `max_pool1d` found them.

    >>> values, where = torch.nn.functional.max_pool1d(torch.tensor([[1.0, 3.0, 5.0, 2.0]]), 2, return_indices=True)
    >>> torch.nn.functional.max_unpool1d(values, where, 2)
    tensor([[0., 3., 5., 0.]])
    """
    kernel = expand(kernel_size, 1, "max_unpool1d", "kernel_size")
    stride = kernel if stride is None else expand(stride, 1, "max_unpool1d", "stride")
    size = _unpool_size(input, kernel, stride, expand(padding, 1, "max_unpool1d", "padding"), output_size)
    return _max_unpool(2, input.unsqueeze(-1), indices.unsqueeze(-1), (*size, 1)).squeeze(-1)


def max_unpool2d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Zeros, but the largest elements where `max_pool2d` found them.

    >>> values, where = torch.nn.functional.max_pool2d(torch.arange(4.0).view(1, 2, 2), 2, return_indices=True)
    >>> torch.nn.functional.max_unpool2d(values, where, 2)
    tensor([[[0., 0.],
             [0., 3.]]])
    """
    kernel = expand(kernel_size, 2, "max_unpool2d", "kernel_size")
    stride = kernel if stride is None else expand(stride, 2, "max_unpool2d", "stride")
    size = _unpool_size(input, kernel, stride, expand(padding, 2, "max_unpool2d", "padding"), output_size)
    return _max_unpool(2, input, indices, size)


def max_unpool3d(
    input: Tensor, indices: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, output_size: Any = None
) -> Tensor:
    """Zeros, but the largest elements where `max_pool3d` found them.

    >>> F = torch.nn.functional
    >>> pooled, where = F.max_pool3d_with_indices(torch.arange(8.0).view(1, 2, 2, 2), 2)
    >>> F.max_unpool3d(pooled, where, 2).flatten()
    tensor([0., 0., 0., 0., 0., 0., 0., 7.])
    """
    kernel = expand(kernel_size, 3, "max_unpool3d", "kernel_size")
    stride = kernel if stride is None else expand(stride, 3, "max_unpool3d", "stride")
    size = _unpool_size(input, kernel, stride, expand(padding, 3, "max_unpool3d", "padding"), output_size)
    return _max_unpool(3, input, indices, size)
