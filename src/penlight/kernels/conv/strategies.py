"""The strategy tables of convolution. See kernels/strategy.py.

The first suitable strategy of a table runs. A correlation takes contiguous ``x`` and ``w``, the problem, and writes into `out`; a
gradient of the input takes ``grad`` and ``w``, and writes into ``x``; a gradient of the weights takes ``grad`` and ``x``, and
returns its result.
"""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..numpy_warnings import silent
from ..parallel import blas_alone
from ..strategy import Strategy, run
from .depthwise import depthwise_correlate, depthwise_weight_grad
from .depthwise_compiled import compiled_depthwise, compiled_depthwise_weight_grad, depthwise_compiles, find_plane
from .im2col import Ints, im2col_correlate, im2col_weight_grad
from .implicit import implicit_correlate, implicit_correlate_together, implicit_weight_grad
from .products import (
    patches_input_grad,
    pointwise,
    pointwise_weight_grad,
    single_position,
    single_position_input_grad,
    single_position_weight_grad,
)
from .transposed import Correlation, by_remainders
from .winograd import winograd_correlate, winograd_weight_grad


class Problem(NamedTuple):
    """Everything that decides how a convolution is computed. The tables look at nothing else, so decisions can be cached."""

    input: Ints
    weight: Ints
    out: Ints
    stride: Ints
    padding: Ints
    dilation: Ints
    groups: int
    dtype: Any
    contiguous: bool  # whether the result is
    machine_code: bool

    @property
    def products(self) -> int:
        """The number of multiplications."""
        return prod(self.out) * prod(self.weight[1:])

    @property
    def strided(self) -> bool:
        """Whether the kernel moves by more than one element."""
        return prod(self.stride) > 1


# ----- When a strategy suits -------------------------------------------------------------------------------------------------------------------

# Convolutions by positions, `fold` and `unfold`:
MOST_SMALL = 1 << 17  # elements of a batch that may use them
MOST_POSITIONS = 1 << 14  # of an index table: larger ones do not fit in the L1 cache
MOST_TAKEN = 1 << 15  # elements of all columns together: for more, other implementations are faster
NARROW = 3  # results in a row: machine code does not support fewer
MOST_NARROW_TAKEN = 1 << 18  # elements of all columns in that case
MOST_PRODUCTS = 1 << 18  # for more, other implementations are faster
MOST_MATRICES = 64  # matrix products, each of which has an overhead
LEAST_RESULTS = 64  # per image: for fewer, a matrix product per image is inefficient
MOST_FOLDED = 1 << 15  # elements that `fold` and `unfold` take by index tables
# Other implementations:
_PLANE_BYTES = 1 << 20  # of a plane with its border: it fits in the L2 cache
_LEAST_WINOGRAD_CHANNELS = 16  # for fewer, the transforms take longer than they save
_LEAST_WINOGRAD_RESULTS = 200  # per channel: for fewer, transforming the weights takes longer
_LEAST_WINOGRAD_PRODUCTS = 1 << 19  # below, preparations take longer
_IMAGE_BYTES = 1 << 24  # of an image and its result: they fit in the last-level cache
_LEAST_PRODUCTS = 1 << 14  # below, preparations take longer
_LEAST_GROUP_PRODUCTS = 1 << 10  # the same limit for each group
_LEAST_PATCH = 9  # elements of windows that tile the input: smaller ones make short runs in memory


def is_depthwise(p: Problem) -> bool:
    """Whether each channel of the input has its own kernel, or two."""
    return p.weight[1] == 1 and p.groups == p.input[1] and p.weight[0] <= 2 * p.groups


def suits_compiled_depthwise(p: Problem) -> bool:
    """Whether it is depthwise, and a channel with its border is a small plane."""
    if not (depthwise_compiles() and p.dtype in (np.float32, np.float64) and len(p.stride) < 3 and p.stride[-1] < 3):
        return False
    if not is_depthwise(p) or p.weight[0] != p.groups:
        return False
    plane = find_plane(p.input[2:], p.padding, p.weight[2:], p.stride, p.dilation, p.out[2:])
    return plane.wide > 0 and plane.rows > 0 and p.dtype.itemsize * plane.size <= _PLANE_BYTES


def suits_implicit(p: Problem) -> bool:
    """Whether it is large enough to justify a plan, and each image small enough to fit in a cache."""
    if not (p.machine_code and p.dtype in (np.float32, np.float64) and p.dtype.itemsize * p.out[-1] >= 16):
        return False
    if p.products < max(_LEAST_PRODUCTS, p.groups * _LEAST_GROUP_PRODUCTS):
        return False
    return p.dtype.itemsize * (prod(p.out[1:]) + prod(p.input[1:])) <= _IMAGE_BYTES


def is_pointwise(p: Problem) -> bool:
    """Whether the kernel is a single element, without a border."""
    return prod(p.weight[2:]) == 1 and not any(p.padding)


def has_single_position(p: Problem) -> bool:
    """Whether the kernel has a single position, inside the images."""
    return prod(p.out[2:]) == 1 and not any(p.padding)


def is_patches(p: Problem) -> bool:
    """Whether the windows tile the input, and are large: the kernel size equals the stride, and there is no border."""
    side_by_side = p.weight[2:] == p.stride and not any(p.padding) and prod(p.dilation) == 1
    return side_by_side and prod(p.stride) >= _LEAST_PATCH


def suits_winograd(p: Problem) -> bool:
    """Whether the kernel is 3 x 3 with stride 1, with enough channels and results."""
    return (
        p.machine_code
        and p.dtype == np.float32
        and p.weight[2:] == (3, 3)
        and prod(p.stride) == prod(p.dilation) == 1
        and p.contiguous
        and p.weight[0] >= _LEAST_WINOGRAD_CHANNELS * p.groups
        and p.weight[1] >= _LEAST_WINOGRAD_CHANNELS
        and min(p.out[2:]) > 1
        and p.out[0] * prod(p.out[2:]) >= _LEAST_WINOGRAD_RESULTS
        and prod(p.out) * p.weight[1] >= _LEAST_WINOGRAD_PRODUCTS * p.groups
    )


def _is_tame(x: np.ndarray, w: np.ndarray) -> bool:
    """Whether Winograd's sums and differences are safe: finite values, and no weight exactly zero.

    An infinity would turn into NaN, and where a weight is zero a user may rely on the result not depending on an input at all
    (masked convolutions), which here would hold only up to rounding.
    """
    flat = x.reshape(-1)
    with silent(), blas_alone():  # see Note [One set of threads]
        finite = np.isfinite(np.dot(flat, flat))
    return bool(finite and np.isfinite(w).all() and w.all())


# ----- The strategies, called alike --------------------------------------------------------------------------------------------------------------


def direct_weight_grad(grad: np.ndarray, x: np.ndarray, p: Problem) -> np.ndarray:
    """The gradient of the weights by im2col, which is also right for infinities."""
    return im2col_weight_grad(grad, x, p.padding, p.weight[2:], p.stride, p.dilation, p.groups)


def _by_remainders(grad: np.ndarray, w: np.ndarray, p: Problem, x: np.ndarray, bias: np.ndarray | None) -> None:
    ones = (1,) * len(p.stride)

    def correlate(correlations: list[Correlation], steps: Ints) -> None:
        if p.strided and len(correlations) > 1:
            # About the smallest of them decides for all.
            kernel = [-(-k // s) for k, s in zip(p.weight[2:], p.stride, strict=True)]
            size = [n // s for n, s in zip(p.input[2:], p.stride, strict=True)]
            weight = p.weight[1] * p.groups, p.weight[0] // p.groups, *kernel
            if suits_implicit(p._replace(input=p.out, weight=weight, out=(*p.input[:2], *size))):
                implicit_correlate_together(grad, correlations, steps, p.groups, bias)
                return
        for weights, border, out in correlations:
            shapes = grad.shape, weights.shape, out.shape, ones, border, steps, p.groups, p.dtype
            run(CORRELATIONS, Problem(*shapes, out.flags.c_contiguous, p.machine_code), grad, weights, out, bias)

    by_remainders(grad, w, p.stride, p.padding, p.dilation, p.groups, x, bias, correlate)


# ----- The tables --------------------------------------------------------------------------------------------------------------------------------

# fmt: off
CORRELATIONS = (
    Strategy(suits_compiled_depthwise, lambda x, w, p, out, bias: compiled_depthwise(x, w, p.padding, p.stride, p.dilation, out, bias),
             "1.4 to 1.6 times implicit products: each plane is read once, with its border, into a cache"),
    Strategy(lambda p: is_depthwise(p) and not suits_implicit(p),
             lambda x, w, p, out, bias: depthwise_correlate(x, w, p.padding, p.stride, p.dilation, out, bias),
             "twice as fast as im2col, which has one product of a row and a matrix for each channel"),
    Strategy(lambda p: is_pointwise(p) and p.contiguous, lambda x, w, p, out, bias: pointwise(x, w, p.stride, p.groups, out, bias),
             "up to 2.7 times im2col: nothing is copied"),
    Strategy(lambda p: has_single_position(p) and p.contiguous, lambda x, w, p, out, bias: single_position(x, w, p.dilation, p.groups, out, bias),
             "1.5 times im2col: one product for all images"),
    Strategy(suits_winograd, lambda x, w, p, out, bias: winograd_correlate(x, w, p.padding, p.groups, out, bias),
             "1.3 to 1.4 times implicit products: 16 products instead of 36", _is_tame),
    Strategy(suits_implicit, lambda x, w, p, out, bias: implicit_correlate(x, w, p.padding, p.stride, p.dilation, p.groups, out, bias),
             "1.1 to 1.7 times im2col: windows are multiplied where they lie"),
    Strategy(None, lambda x, w, p, out, bias: im2col_correlate(x, w, p.padding, p.stride, p.dilation, p.groups, out, bias), "im2col: the general way"),
)
INPUT_GRADIENTS = (
    Strategy(lambda p: p.weight[1] > 1 and has_single_position(p), lambda g, w, p, x, bias: single_position_input_grad(g, w, p.dilation, p.groups, x, bias),
             "14 times the general way, for which the gradient is one element with a wide border"),
    Strategy(lambda p: p.weight[1] > 1 and is_patches(p), lambda g, w, p, x, bias: patches_input_grad(g, w, p.stride, p.groups, x, bias),
             "4 times the general way, which has a correlation for each element of a patch"),
    Strategy(None, _by_remainders, "the general way: plain correlations of the gradient, by the table above"),
)
WEIGHT_GRADIENTS = (
    Strategy(suits_compiled_depthwise, lambda g, x, p: compiled_depthwise_weight_grad(g, x, p.padding, p.weight[2:], p.stride, p.dilation),
             "1.5 to 1.9 times implicit products"),
    Strategy(lambda p: is_depthwise(p) and not suits_implicit(p),
             lambda g, x, p: depthwise_weight_grad(g, x, p.padding, p.weight[2:], p.stride, p.dilation), "as for correlations"),
    Strategy(lambda p: is_pointwise(p) and not is_depthwise(p), lambda g, x, p: pointwise_weight_grad(g, x, p.weight, p.stride, p.groups),
             "1.6 times with a stride; nothing is copied"),
    Strategy(lambda p: has_single_position(p) and not is_depthwise(p), lambda g, x, p: single_position_weight_grad(g, x, p.weight, p.dilation, p.groups),
             "1.5 times im2col: one product for all images"),
    Strategy(suits_winograd, lambda g, x, p: winograd_weight_grad(g, x, p.padding, p.groups), "1.9 to 4 times implicit products"),
    Strategy(suits_implicit, lambda g, x, p: implicit_weight_grad(g, x, p.padding, p.weight[2:], p.stride, p.dilation, p.groups),
             "1.05 to 3 times im2col"),
    Strategy(None, direct_weight_grad, "im2col: the general way"),
)
# fmt: on
