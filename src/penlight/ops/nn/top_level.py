"""Layer functions at the top level: `torch.conv2d` and others. Most are those of `torch.nn.functional`; the ones defined here have other
arguments.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...kernels import index_width
from ...kernels.lazy import lazy_import
from ...kernels.random.uniform import bernoulli
from ...random import engine_of, inside_vmap
from ...tensor import Tensor, wrap
from ..machinery.declare import OPS
from . import class_loss as _class_loss, loss as _loss
from .adaptive_pool import adaptive_avg_pool1d as adaptive_avg_pool1d, adaptive_max_pool1d_with_indices
from .batch_normalization import batch_norm_by, instance_norm_by
from .bilinear import bilinear as bilinear
from .conv import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    conv_tbc as conv_tbc,
    conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d,
    conv_transpose3d as conv_transpose3d,
    convolution as convolution,
)
from .ctc import ctc
from .dropout import drop, drop_alpha
from .embedding import bag, embedding_renorm_ as embedding_renorm_, lookup
from .gated_activation import prelu as prelu, rrelu_ as rrelu_, rrelu_by
from .grid_sample import affine_grid_generator as affine_grid_generator, grid_sampler as grid_sampler
from .margin_loss import (
    cosine_embedding,
    cosine_similarity as cosine_similarity,
    hinge_embedding,
    margin_ranking,
    pairwise_distance as pairwise_distance,
    triplet_margin,
)
from .normalization import check_layer, check_parameters, group_norm_by, layer_norm as _layer_norm, rms_norm as rms_norm
from .padding import constant_pad_nd as constant_pad_nd
from .piecewise_activation import hardshrink as hardshrink, threshold as _threshold, threshold_ as threshold_
from .pool import (
    avg_pool1d as avg_pool1d,
    max_pool1d as _max_pool1d,
    max_pool1d_with_indices as _max_pool1d_with_indices,
    max_pool2d as _max_pool2d,
    max_pool3d as _max_pool3d,
)
from .shuffle import (
    channel_shuffle as channel_shuffle,
    native_channel_shuffle as native_channel_shuffle,
    pixel_shuffle as pixel_shuffle,
    pixel_unshuffle as pixel_unshuffle,
)
from .smooth_activation import celu as _celu, celu_ as celu_, selu as _selu, selu_ as selu_

__all__ = [
    "adaptive_max_pool1d", "alpha_dropout", "alpha_dropout_", "batch_norm", "binary_cross_entropy_with_logits", "celu",
    "cosine_embedding_loss", "ctc_loss", "dropout", "dropout_", "embedding", "embedding_bag", "feature_alpha_dropout",
    "feature_alpha_dropout_", "feature_dropout", "feature_dropout_", "grid_sampler_2d", "grid_sampler_3d",
    "group_norm", "hinge_embedding_loss", "instance_norm", "kl_div", "layer_norm", "margin_ranking_loss", "max_pool1d",
    "max_pool1d_with_indices", "max_pool2d", "max_pool3d", "native_batch_norm", "native_dropout", "native_group_norm",
    "native_layer_norm", "poisson_nll_loss", "rrelu", "selu", "threshold", "triplet_margin_loss"
]  # fmt: skip

_randomness = lazy_import(globals(), "_randomness", "...func.randomness")


# ----- Activations and dropout --------------------------------------------------------------------------------------


def celu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """x where it is positive, else alpha * (exp(x / alpha) - 1).

    >>> torch.celu(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return _celu(input, alpha)


def selu(input: Tensor) -> Tensor:
    """`elu` with the two constants that preserve mean and variance through many layers.

    >>> torch.selu(torch.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
    return _selu(input)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, generator: Any = None
) -> Tensor:
    """`leaky_relu` with a random slope for each element in training.

    >>> torch.rrelu(torch.tensor([-8.0, 2.0]), 0.25, 0.75)
    tensor([-4.,  2.])
    """
    return rrelu_by(input, lower, upper, training, False, generator)


def threshold(input: Tensor, threshold: float, value: float, *, out: Tensor | None = None) -> Tensor:
    """x where it is above the threshold, else `value`.

    >>> torch.threshold(torch.tensor([0.5, 2.0]), 1.0, 0.0)
    tensor([0., 2.])
    """
    if out is None:
        return _threshold(input, threshold, value)
    return OPS["_threshold"].function(input, threshold, value, out=out)


def _probability(p: float) -> float:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p:g}")
    return p


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Each element set to zero with probability p in training, and the others divided by 1 - p.

    >>> _ = torch.manual_seed(0); torch.dropout(torch.ones(4), 0.5, True)
    tensor([0., 0., 2., 0.])
    """
    return drop(input, _probability(p), train, False)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place version of `dropout`.

    >>> x = torch.ones(2)
    >>> torch.dropout_(x, 1.0, True) is x, x
    (True, tensor([0., 0.]))
    """
    return drop(input, _probability(p), train, True)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout` of full channels.

    >>> _ = torch.manual_seed(0); torch.feature_dropout(torch.ones(1, 4, 1, 1), 0.5, True).flatten()
    tensor([0., 0., 2., 0.])
    """
    return drop(input, _probability(p), train, False, features=True)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place version of `feature_dropout`.

    >>> x = torch.ones(1, 2, 1, 1)
    >>> torch.feature_dropout_(x, 1.0, True) is x, x.flatten()
    (True, tensor([0., 0.]))
    """
    return drop(input, _probability(p), train, True, features=True)


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`dropout` that preserves mean and variance.

    >>> _ = torch.manual_seed(0); torch.alpha_dropout(torch.ones(4), 0.5, True)
    tensor([-0.7792, -0.7792,  1.6656, -0.7792])
    """
    return drop_alpha(input, _probability(p), train, False)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place version of `alpha_dropout`.

    >>> x = torch.ones(2)
    >>> torch.alpha_dropout_(x, 0.5, False) is x, x
    (True, tensor([1., 1.]))
    """
    return drop_alpha(input, _probability(p), train, True)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """`alpha_dropout` of full channels.

    >>> _ = torch.manual_seed(0); torch.feature_alpha_dropout(torch.ones(1, 4, 1, 1), 0.5, True).flatten()
    tensor([-0.7792, -0.7792,  1.6656, -0.7792])
    """
    return drop_alpha(input, _probability(p), train, False, features=True)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """In-place version of `feature_alpha_dropout`.

    >>> x = torch.ones(1, 2, 1, 1)
    >>> torch.feature_alpha_dropout_(x, 0.5, False) is x, x.flatten()
    (True, tensor([1., 1.]))
    """
    return drop_alpha(input, _probability(p), train, True, features=True)


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """`dropout`, and a mask of the elements it kept.

    >>> _ = torch.manual_seed(0); torch.native_dropout(torch.ones(4), 0.5, True)
    (tensor([0., 0., 2., 0.]), tensor([False, False,  True, False]))
    """
    if train is False or not input.numel():
        return input.clone(), wrap(np.ones(tuple(input.shape), bool))
    engine, shape = engine_of(None), tuple(input.shape)

    def draw(size: tuple[int, ...]) -> Any:
        return bernoulli(engine, 1 - p, size, np.dtype(bool))

    kept: Any
    if inside_vmap():
        kept = _randomness.drawn(shape, draw)
    else:
        kept = wrap(draw(shape))
    return input * kept * (0.0 if p == 1 else 1.0 / (1.0 - p)), kept


# ----- Normalisation ------------------------------------------------------------------------------------------------


def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
               training: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:  # fmt: skip
    """Each channel of a batch normalised to mean 0 and variance 1, then scaled and shifted.

    >>> torch.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 1e-5, False)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    return batch_norm_by(input, weight, bias, running_mean, running_var, training, momentum, eps)


def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
                  use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool) -> Tensor:  # fmt: skip
    """Each channel of each sample normalised to mean 0 and variance 1.

    >>> torch.instance_norm(torch.tensor([[[1.0, 3.0]]]), None, None, None, None, True, 0.1, 1e-5, False)
    tensor([[[-1.0000,  1.0000]]])
    """
    return instance_norm_by(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps)


def layer_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5,
               cudnn_enable: bool = True) -> Tensor:  # fmt: skip
    """The last dimensions of the input normalised to mean 0 and variance 1, then scaled and shifted.

    >>> torch.layer_norm(torch.tensor([1.0, 3.0]), (2,))
    tensor([-1.0000,  1.0000])
    """
    return _layer_norm(input, normalized_shape, weight, bias, eps)


def group_norm(input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5,
               cudnn_enabled: bool = True) -> Tensor:  # fmt: skip
    """Groups of channels of each sample normalised to mean 0 and variance 1.

    >>> torch.group_norm(torch.tensor([[1.0, 3.0, 5.0, 9.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    return group_norm_by(input, num_groups, weight, bias, eps)


def native_layer_norm(
    input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm`, with the means and reciprocal deviations that it used.

    >>> torch.native_layer_norm(torch.tensor([1.0, 3.0]), (2,), None, None, 1e-5)
    (tensor([-1.0000,  1.0000]), tensor([2.]), tensor([1.0000]))
    """
    shape = check_layer("layer_norm", input, normalized_shape, weight, bias)
    check_parameters(input, "LayerNormKernelImpl", weight, bias)
    return _first_differentiable(input, OPS["_native_layer_norm"].function(input, shape, weight, bias, eps))


def _first_differentiable(input: Tensor, results: Any) -> tuple[Tensor, Tensor, Tensor]:
    """The results of a norm: the statistics are outside of the graph, and in the input's dtype."""
    out, *used = results
    mean, deviation = (u.detach().to(input.dtype) for u in used)
    return out, mean, deviation


def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
                      running_var: Tensor | None, training: bool, momentum: float, eps: float) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """`batch_norm`, with the means and reciprocal deviations that it used.

    >>> torch.native_batch_norm(torch.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 1e-5)[1:]
    (tensor([2.]), tensor([1.0000]))
    """
    return _first_differentiable(
        input,
        OPS["_native_batch_norm"].function(input, weight, bias, running_mean, running_var, training, momentum, eps),
    )


def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm`, with the means and reciprocal deviations that it used.

    >>> torch.native_group_norm(torch.tensor([[1.0, 3.0, 5.0, 9.0]]), None, None, 1, 4, 1, 2, 1e-5)[1:]
    (tensor([[2., 7.]]), tensor([[1.0000, 0.5000]]))
    """
    return OPS["_native_group_norm"].function(input, weight, bias, group, eps)


# ----- Pooling ------------------------------------------------------------------------------------------------------


def max_pool1d(
    input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Tensor:
    """The largest element of each window of sequences.

    >>> torch.max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    tensor([[3., 2.]])
    """
    return _max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Tensor:
    """The largest element of each window of images.

    >>> torch.max_pool2d(torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), 2)
    tensor([[[[4.]]]])
    """
    return _max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(
    input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False
) -> Tensor:
    """The largest element of each window of volumes.

    >>> torch.max_pool3d(torch.arange(8.0).view(1, 1, 2, 2, 2), 2)
    tensor([[[[[7.]]]]])
    """
    return _max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d_with_indices(input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, dilation: Any = 1,
                            ceil_mode: bool = False) -> tuple[Tensor, Tensor]:  # fmt: skip
    """`max_pool1d` together with the indices of the largest elements.

    >>> torch.max_pool1d_with_indices(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)
    (tensor([[3., 2.]]), tensor([[1, 2]]))
    """
    return _max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)


adaptive_max_pool1d = adaptive_max_pool1d_with_indices

# ----- Tables and grids ---------------------------------------------------------------------------------------------


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """The rows of a table at the indices.

    >>> torch.embedding(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1, 0]))
    tensor([[3., 4.],
            [1., 2.]])
    """
    return lookup(weight, indices, padding_idx, scale_grad_by_freq, sparse)


def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
                  per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Bags of rows reduced; also the bag of each index, the sizes of the bags, and the rows of the largest elements.

    `mode` is a number: 0 for the sum of a bag, 1 for its mean, 2 for its largest elements.

    >>> torch.embedding_bag(torch.tensor([[1.0], [2.0], [4.0]]), torch.tensor([0, 1, 2]), torch.tensor([0, 2]))[0]
    tensor([[3.],
            [4.]])
    """
    result, bags, largest = bag(
        weight, indices, offsets, scale_grad_by_freq, mode, per_sample_weights, include_last_offset, padding_idx
    )
    sizes = index_width.bincount(bags.owners, bags.kept, bags.count).astype(np.int64)
    return result, wrap(bags.owners), wrap(sizes), largest


def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler` of images. See it for `interpolation_mode` and `padding_mode`.

    >>> torch.grid_sampler_2d(torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]), torch.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[2.5000]]]])
    """
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`grid_sampler` of volumes. See it for `interpolation_mode` and `padding_mode`.

    >>> torch.grid_sampler_3d(torch.arange(8.0).view(1, 1, 2, 2, 2), torch.zeros(1, 1, 1, 1, 3), 0, 0, False)
    tensor([[[[[3.5000]]]]])
    """
    return grid_sampler(input, grid, interpolation_mode, padding_mode, align_corners)


# ----- Losses, by the numbers of their reductions: none 0, mean 1, sum 2. Their default is 0 in PyTorch, whatever it says ---


def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None,
                                     reduction: int = 0) -> Tensor:  # fmt: skip
    """The cross entropy between targets and the sigmoids of the inputs.

    `reduction` is a number: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.binary_cross_entropy_with_logits(torch.zeros(2), torch.tensor([0.0, 1.0]))
    tensor([0.6931, 0.6931])
    """
    word = _class_loss.WORDS[reduction]
    return _loss.binary_cross_entropy_with_logits(input, target, weight, reduction=word, pos_weight=pos_weight)


def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """The Kullback-Leibler divergence of log-probabilities from targets.

    `reduction` is a number: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.kl_div(torch.tensor([0.5, 0.5]).log(), torch.tensor([0.25, 0.75]), 2)
    tensor(0.1308)
    """
    return _loss.kl_divergence(input, target, reduction, log_target)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """The negative log-likelihood of counts with Poisson rates.

    `reduction` is a number: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.poisson_nll_loss(torch.zeros(2), torch.tensor([1.0, 3.0]), True, False, 1e-8, 1)
    tensor(1.)
    """
    return _loss.poisson_nll(input, target, log_input, full, eps, reduction)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """One minus the cosine where the target is 1, and its excess over the margin where it is -1.

    `reduction` is a number: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.cosine_embedding_loss(torch.eye(2), torch.ones(2, 2), torch.tensor([1, -1]))
    tensor([0.2929, 0.7071])
    """
    return cosine_embedding(input1, input2, target, margin, reduction)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """The input where the target is 1, and its distance below the margin where the target is -1.

    `reduction` is a number: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.hinge_embedding_loss(torch.tensor([0.25, 0.25]), torch.tensor([1, -1]))
    tensor([0.2500, 0.7500])
    """
    return hinge_embedding(input, target, margin, reduction)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """max(0, -target * (input1 - input2) + margin). `reduction` is a number: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.margin_ranking_loss(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 1.0]), torch.ones(2))
    tensor([2., 0.])
    """
    return margin_ranking(input1, input2, target, margin, reduction)


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
                        swap: bool = False, reduction: int = 0) -> Tensor:  # fmt: skip
    """max(0, distance(anchor, positive) - distance(anchor, negative) + margin).

    `reduction` is a number: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.triplet_margin_loss(torch.zeros(1, 1), torch.tensor([[2.0]]), torch.tensor([[1.0]]))
    tensor([2.])
    """
    return triplet_margin(anchor, positive, negative, margin, p, eps, swap, reduction)


def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 0,
             zero_infinity: bool = False) -> Tensor:  # fmt: skip
    """The CTC loss (connectionist temporal classification).

    `reduction` is a number: 0 for none, 1 for the mean, 2 for the sum.

    >>> torch.ctc_loss(torch.tensor([[[0.5, 0.5]]]).log(), torch.tensor([[1]]), (1,), (1,))
    tensor([0.6931])
    """
    return ctc(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
