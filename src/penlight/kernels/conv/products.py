"""Correlations that are plain matrix products: kernels of size 1, and kernels with a single position.

A kernel of size 1 without a border mixes the channels of each position, or of every s-th. A kernel as large as the images (the last layer of a
discriminator, the first of a generator) gives one scalar per image and channel, a sum over the full image.
"""

from __future__ import annotations

from math import prod

import numpy as np
from numpy.lib.stride_tricks import as_strided

from ..linalg import blas
from .im2col import Ints


def _product(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """a @ b for batches; an inner size of one is faster without BLAS."""
    return np.multiply(a, b, out) if a.shape[-1] == 1 else blas.multiply(a, b, out)


def _picked(x: np.ndarray, stride: Ints, out_size: Ints, groups: int) -> np.ndarray:
    """The strided positions that the result depends on: ``(N, groups, C // groups, positions)``."""
    if x.shape[2:] != out_size:
        x = x[(slice(None), slice(None), *[slice(0, n * s, s) for n, s in zip(out_size, stride)])]
    return x.reshape(len(x), groups, -1, prod(out_size))


def channels_last(x: np.ndarray) -> np.ndarray | None:
    """The array as a view ``(positions, channels)``, if it is channels-last in memory; else, or if it has a single position, None."""
    if x.flags.c_contiguous:
        return None
    last = x.transpose(0, *range(2, x.ndim), 1)
    return last.reshape(-1, x.shape[1]) if last.flags.c_contiguous else None


def pointwise_channels_last(
    source: np.ndarray, w: np.ndarray, lead: int, out_size: Ints, bias: np.ndarray | None, transposed: bool
) -> np.ndarray:
    """`pointwise` with stride 1, or its transpose in the input if `transposed`, for channels-last memory; the result is channels-last, too."""
    weight = w.reshape(w.shape[:2])
    y = _product(source, weight if transposed else weight.T)
    if bias is not None:
        y += bias
    return y.reshape(lead, *out_size, y.shape[1]).transpose(0, len(out_size) + 1, *range(1, len(out_size) + 1))


def pointwise(
    x: np.ndarray, w: np.ndarray, stride: Ints, groups: int, out: np.ndarray, bias: np.ndarray | None = None
) -> None:
    """Write into contiguous `out` the correlation of contiguous `x` with a kernel of size 1."""
    source = _picked(x, stride, out.shape[2:], groups)
    y = out.reshape(len(x), groups, -1, source.shape[-1])
    if len(x) == groups == 1:
        source, y = source[0, 0], y[0, 0]
        blas.multiply(w.reshape(len(w), -1), source, y)
        if bias is not None:
            y += bias[:, None]
        return
    weight = w.reshape(groups, len(w) // groups, -1)
    _product(np.broadcast_to(weight, (len(x), *weight.shape)), source, y)
    if bias is not None:
        y += bias.reshape(groups, -1, 1)


def pointwise_weight_grad(grad: np.ndarray, x: np.ndarray, weight: Ints, stride: Ints, groups: int) -> np.ndarray:
    """The transpose of `pointwise` in its weights."""
    upstream = grad.reshape(len(grad), groups, -1, prod(grad.shape[2:]))
    source = _picked(x, stride, grad.shape[2:], groups).swapaxes(2, 3)
    total = blas.multiply(upstream, source) if len(grad) else np.zeros((1, *weight), grad.dtype)
    return (total[0] if len(grad) == 1 else total.sum(0)).reshape(weight)


def _window(x: np.ndarray, kernel: Ints, dilation: Ints) -> np.ndarray:
    """A view of the elements of the images that the kernel covers."""
    inside = [slice(0, (k - 1) * d + 1, d) for k, d in zip(kernel, dilation)]
    return x[(slice(None), slice(None), *inside)]


def single_position(
    x: np.ndarray, w: np.ndarray, dilation: Ints, groups: int, out: np.ndarray, bias: np.ndarray | None = None
) -> None:
    """Write into contiguous `out` the correlation of `x` with a kernel that has one position."""
    source = _window(x, w.shape[2:], dilation).reshape(len(x), groups, -1).swapaxes(0, 1)
    y = blas.multiply(source, w.reshape(groups, len(w) // groups, -1).swapaxes(1, 2))
    out.reshape(len(x), groups, -1)[...] = y.swapaxes(0, 1)
    if bias is not None:
        out += bias.reshape(-1, *(1,) * (out.ndim - 2))


def single_position_input_grad(
    grad: np.ndarray, w: np.ndarray, dilation: Ints, groups: int, out: np.ndarray, bias: np.ndarray | None = None
) -> None:
    """The transpose of `single_position` in its input."""
    source = grad.reshape(len(grad), groups, -1).swapaxes(0, 1)
    inside = _window(out, w.shape[2:], dilation)
    if inside.shape != out.shape:
        out.fill(0)
    result = blas.multiply(source, w.reshape(groups, len(w) // groups, -1)).swapaxes(0, 1)
    inside[...] = result.reshape(inside.shape)
    if bias is not None:
        out += bias.reshape(-1, *(1,) * (out.ndim - 2))


def single_position_weight_grad(
    grad: np.ndarray, x: np.ndarray, weight: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """The transpose of `single_position` in its weights."""
    upstream = grad.reshape(len(grad), groups, -1).transpose(1, 2, 0)
    source = _window(x, weight[2:], dilation).reshape(len(x), groups, -1).swapaxes(0, 1)
    return _product(upstream, source).reshape(weight)


def patches_input_grad(
    grad: np.ndarray, w: np.ndarray, stride: Ints, groups: int, out: np.ndarray, bias: np.ndarray | None = None
) -> None:
    """The transpose in the input of a correlation whose windows tile the input: products that do not overlap."""
    out_size, count = grad.shape[2:], len(grad)
    transposed = w.reshape(groups, len(w) // groups, -1).swapaxes(1, 2)
    transposed = np.broadcast_to(transposed, (count, *transposed.shape))
    found = _product(transposed, grad.reshape(count, groups, -1, prod(out_size)))
    if bias is not None:
        found += bias.reshape(groups, -1, 1).repeat(prod(stride), axis=1)
    covered = tuple([n * s for n, s in zip(out_size, stride)])
    if covered != out.shape[2:]:
        out[...] = 0 if bias is None else bias.reshape(-1, *(1,) * len(stride))
    inside = out[(slice(None), slice(None), *map(slice, covered))]
    # (N, C, *positions, *kernel) in the order of the input: for each dim its position, then its kernel element.
    apart = [size for pair in zip(out_size, stride) for size in pair]
    dims = len(stride)
    order = [0, 1, *[axis for i in range(dims) for axis in (2 + dims + i, 2 + i)]]
    shaped = found.reshape(count, out.shape[1], *stride, *out_size).transpose(order)
    steps = [step for i, s in enumerate(stride) for step in (inside.strides[2 + i] * s, inside.strides[2 + i])]
    as_strided(inside, (count, out.shape[1], *apart), (*inside.strides[:2], *steps))[...] = shaped
