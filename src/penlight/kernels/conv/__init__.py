"""Convolution: the forward pass and its two transposes, on raw arrays. strategies.py chooses the implementation.

``conv`` is bilinear in its input and its weights, and ``conv_input_grad`` and ``conv_weight_grad`` are its transposes,
so the three are closed under differentiation. None of them conjugates: for complex arrays the caller does that.

Two cases bypass the tables, since they allocate their own result: small images (positions.py), and kernels of size 1 on channels-last images.
"""

from __future__ import annotations

from math import prod

import numpy as np

from .. import executable
from ..copies import contiguous
from ..linalg import blas
from ..numpy_warnings import silent
from ..rows import in_float32
from ..strategy import run
from .im2col import Ints
from .positions import block_counts, find_small
from .products import channels_last, pointwise_channels_last
from .strategies import CORRELATIONS, INPUT_GRADIENTS, MOST_SMALL, WEIGHT_GRADIENTS, Problem, direct_weight_grad


def conv_output_shape(input_shape: Ints, weight_shape: Ints, stride: Ints, padding: Ints, dilation: Ints) -> Ints:
    """The shape ``(N, O, *spatial)`` of a convolution's result; a spatial size may come out as zero or less."""
    counts = block_counts(input_shape[2:], weight_shape[2:], dilation, padding, stride)
    return (input_shape[0], weight_shape[0], *counts)


@in_float32
def conv(
    x: np.ndarray, w: np.ndarray, stride: Ints, padding: Ints, dilation: Ints, groups: int,
    bias: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """Correlate ``x`` ``(N, C, *spatial)`` with ``w`` ``(O, C // groups, *kernel)``, zero padded, and add the bias.

    >>> import numpy as np
    >>> conv(np.arange(4.0).reshape(1, 1, 4), np.ones((1, 1, 2)), (1,), (0,), (1,), 1)
    array([[[1., 3., 5.]]])
    """
    if x.size <= MOST_SMALL:
        small = find_small(x.shape, w.shape, None, stride, padding, dilation, groups)
        if small is not None:
            return small.correlate(x, w, bias)
    if groups == 1 and _keeps_positions(w.shape, stride, padding) and x.size and (rows := channels_last(x)) is not None:
        with silent():
            return pointwise_channels_last(rows, w, len(x), x.shape[2:], bias, False)
    p = _problem(
        x, w.shape, conv_output_shape(x.shape, w.shape, stride, padding, dilation), stride, padding, dilation, groups
    )
    y = np.empty(p.out, x.dtype)
    if not x.size or not w.size:
        y[...] = 0 if bias is None else bias.reshape(-1, *(1,) * len(stride))
    elif y.size:
        with silent():
            run(CORRELATIONS, p, contiguous(x), w, y, bias)
    return y


@in_float32
def conv_input_grad(
    grad: np.ndarray, w: np.ndarray, input_shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int,
    bias: np.ndarray | None = None,
) -> np.ndarray:  # fmt: skip
    """The transpose of `conv` in its input, which is also the forward pass of a transposed convolution (plus bias).

    >>> import numpy as np
    >>> conv_input_grad(np.ones((1, 1, 3)), np.ones((1, 1, 2)), (1, 1, 4), (1,), (0,), (1,), 1)
    array([[[1., 2., 2., 1.]]])
    """
    if grad.size <= MOST_SMALL:
        small = find_small(input_shape, w.shape, grad.shape, stride, padding, dilation, groups)
        if small is not None:
            return small.transpose(grad, w, bias)
    if (
        groups == 1
        and _keeps_positions(w.shape, stride, padding)
        and grad.size
        and (rows := channels_last(grad)) is not None
    ):
        with silent():
            return pointwise_channels_last(rows, w, len(grad), grad.shape[2:], bias, True)
    x = np.empty(input_shape, grad.dtype)
    if not grad.size or not w.size:
        x[...] = 0 if bias is None else bias.reshape(-1, *(1,) * len(stride))
    elif x.size:
        p = _problem(x, w.shape, grad.shape, stride, padding, dilation, groups)
        with silent():
            run(INPUT_GRADIENTS, p, contiguous(grad), w, x, bias)
    return x


@in_float32
def conv_weight_grad(
    grad: np.ndarray, x: np.ndarray, weight_shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """The transpose of `conv` in its weights.

    >>> import numpy as np
    >>> conv_weight_grad(np.ones((1, 1, 3)), np.arange(4.0).reshape(1, 1, 4), (1, 1, 2), (1,), (0,), (1,), 1)
    array([[[3., 6.]]])
    """
    if x.size <= MOST_SMALL:
        small = find_small(x.shape, weight_shape, grad.shape, stride, padding, dilation, groups)
        if small is not None:
            return small.weigh(grad, x)
    if groups == 1 and _keeps_positions(weight_shape, stride, padding):
        results, sources = channels_last(grad), channels_last(x)
        if results is not None and sources is not None:
            with silent():
                return blas.multiply(results.T, sources).reshape(weight_shape)
    if not grad.size or not x.size:
        return np.zeros(weight_shape, grad.dtype)
    p = _problem(x, weight_shape, grad.shape, stride, padding, dilation, groups)
    grad, x = contiguous(grad), contiguous(x)
    with silent():
        result = run(WEIGHT_GRADIENTS, p, grad, x)
        # Infinities met infinities of the other sign, or zeros, in a sum: only direct sums treat them right.
        return result if np.isfinite(result.sum()) else direct_weight_grad(grad, x, p)


def _keeps_positions(weight: Ints, stride: Ints, padding: Ints) -> bool:
    """Whether each position of the result depends only on the same position of the input."""
    return prod(weight[2:]) == prod(stride) == 1 and not any(padding)


def _problem(
    x: np.ndarray, weight: Ints, out: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Problem:
    return Problem(x.shape, weight, out, stride, padding, dilation, groups, x.dtype, True, executable.available())
