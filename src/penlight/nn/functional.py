"""The functions that layers are made of, under PyTorch's names. They are defined in the tables of `penlight.ops`.

>>> import penlight as torch
>>> import penlight.nn.functional as F
>>> F.relu(torch.tensor([-1.0, 2.0]))
tensor([0., 2.])
"""

# isort: skip_file
from __future__ import annotations

from typing import Any

from ..ops import _dispatch as _dispatch
from ..ops._public_functions import public_functions as _public_functions
from ..ops._declare import OPS as _OPS
from ..ops.activation import log_softmax as _log_softmax
from ..ops.activation import relu as _relu
from ..ops.activation import softmax as _softmax
from ..ops.adaptive_pool import (
    adaptive_avg_pool1d as adaptive_avg_pool1d,
    adaptive_avg_pool2d as adaptive_avg_pool2d,
    adaptive_avg_pool3d as adaptive_avg_pool3d,
    adaptive_max_pool1d as adaptive_max_pool1d,
    adaptive_max_pool1d_with_indices as adaptive_max_pool1d_with_indices,
    adaptive_max_pool2d as adaptive_max_pool2d,
    adaptive_max_pool2d_with_indices as adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d as adaptive_max_pool3d,
    adaptive_max_pool3d_with_indices as adaptive_max_pool3d_with_indices,
    fractional_max_pool2d as fractional_max_pool2d,
    fractional_max_pool2d_with_indices as fractional_max_pool2d_with_indices,
    fractional_max_pool3d as fractional_max_pool3d,
    fractional_max_pool3d_with_indices as fractional_max_pool3d_with_indices,
)
from ..ops.attention import (
    _canonical_mask as _canonical_mask,
    _check_key_padding_mask as _check_key_padding_mask,
    _in_projection as _in_projection,
    _in_projection_packed as _in_projection_packed,
    _mha_shape_check as _mha_shape_check,
    _none_or_dtype as _none_or_dtype,
    multi_head_attention_forward as multi_head_attention_forward,
    scaled_dot_product_attention as scaled_dot_product_attention,
)
from ..ops.class_loss import (
    cross_entropy as cross_entropy,
    linear_cross_entropy as linear_cross_entropy,
    nll_loss as nll_loss,
)
from ..ops.conv import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d,
    conv_transpose3d as conv_transpose3d,
)
from ..ops.conv_tbc import conv_tbc as conv_tbc
from ..ops.ctc import ctc_loss as ctc_loss
from ..ops.distance import pdist as pdist
from ..ops.dropouts import (
    alpha_dropout as alpha_dropout,
    dropout as dropout,
    dropout1d as dropout1d,
    dropout2d as dropout2d,
    dropout3d as dropout3d,
    feature_alpha_dropout as feature_alpha_dropout,
)
from ..ops.embeddings import (
    embedding as embedding,
    embedding_bag as embedding_bag,
    one_hot as one_hot,
)
from ..ops.folding import fold as fold, unfold as unfold
from ..ops.forms import (
    bilinear as bilinear,
    grouped_mm as grouped_mm,
    scaled_grouped_mm as scaled_grouped_mm,
    scaled_mm as scaled_mm,
)
from ..ops.gated import (
    glu as glu,
    gumbel_softmax as gumbel_softmax,
    prelu as prelu,
    rrelu as rrelu,
    rrelu_ as rrelu_,
    softmax_dim as _get_softmax_dim,
    softmin as softmin,
)
from ..ops.loss import (
    binary_cross_entropy as binary_cross_entropy,
    binary_cross_entropy_with_logits as binary_cross_entropy_with_logits,
    gaussian_nll_loss as gaussian_nll_loss,
    huber_loss as huber_loss,
    kl_div as kl_div,
    l1_loss as l1_loss,
    mse_loss as mse_loss,
    poisson_nll_loss as poisson_nll_loss,
    smooth_l1_loss as smooth_l1_loss,
)
from ..ops.margin_loss import (
    cosine_embedding_loss as cosine_embedding_loss,
    cosine_similarity as cosine_similarity,
    hinge_embedding_loss as hinge_embedding_loss,
    margin_ranking_loss as margin_ranking_loss,
    multi_margin_loss as multi_margin_loss,
    multilabel_margin_loss as multilabel_margin_loss,
    multilabel_soft_margin_loss as multilabel_soft_margin_loss,
    pairwise_distance as pairwise_distance,
    soft_margin_loss as soft_margin_loss,
    triplet_margin_loss as triplet_margin_loss,
    triplet_margin_with_distance_loss as triplet_margin_with_distance_loss,
)
from ..ops.affine import linear as linear
from ..ops.nonlinear import (
    celu as celu,
    celu_ as celu_,
    elu as elu,
    elu_ as elu_,
    gelu as gelu,
    logsigmoid as logsigmoid,
    mish as mish,
    selu as selu,
    selu_ as selu_,
    silu as silu,
    softplus as softplus,
    softsign as softsign,
    tanhshrink as tanhshrink,
)
from ..ops.batch_normalization import (
    batch_norm as batch_norm,
    instance_norm as instance_norm,
)
from ..ops.normalization import (
    group_norm as group_norm,
    layer_norm as layer_norm,
    rms_norm as rms_norm,
)
from ..ops.padding import pad as pad
from ..ops.piecewise import (
    hardshrink as hardshrink,
    hardsigmoid as hardsigmoid,
    hardswish as hardswish,
    hardtanh as hardtanh,
    hardtanh_ as hardtanh_,
    leaky_relu as leaky_relu,
    leaky_relu_ as leaky_relu_,
    relu6 as relu6,
    relu_ as relu_,
    softshrink as softshrink,
    threshold as threshold,
    threshold_ as threshold_,
)
from ..ops.pool import (
    avg_pool1d as avg_pool1d,
    avg_pool2d as avg_pool2d,
    avg_pool3d as avg_pool3d,
    lp_pool1d as lp_pool1d,
    lp_pool2d as lp_pool2d,
    lp_pool3d as lp_pool3d,
    max_pool1d as max_pool1d,
    max_pool1d_with_indices as max_pool1d_with_indices,
    max_pool2d as max_pool2d,
    max_pool2d_with_indices as max_pool2d_with_indices,
    max_pool3d as max_pool3d,
    max_pool3d_with_indices as max_pool3d_with_indices,
)
from ..ops.grids import affine_grid as affine_grid, grid_sample as grid_sample
from ..ops.resample import (
    interpolate as interpolate,
    upsample as upsample,
    upsample_bilinear as upsample_bilinear,
    upsample_nearest as upsample_nearest,
)
from ..ops.scaling import local_response_norm as local_response_norm, normalize as normalize
from ..ops.shuffle import (
    channel_shuffle as channel_shuffle,
    native_channel_shuffle as native_channel_shuffle,
    pixel_shuffle as pixel_shuffle,
    pixel_unshuffle as pixel_unshuffle,
)
from ..ops.unpool import max_unpool1d as max_unpool1d, max_unpool2d as max_unpool2d, max_unpool3d as max_unpool3d
from ..tensor import Tensor as Tensor

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Each element, or 0 where it is negative.

    >>> import penlight as torch
    >>> torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return _dispatch.inplace(_OPS["relu"], (input,)) if inplace else _relu(input)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)).

    >>> import penlight as torch
    >>> torch.nn.functional.sigmoid(torch.tensor([0.0]))
    tensor([0.5000])
    """
    return input.sigmoid()


def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element.

    >>> import penlight as torch
    >>> torch.nn.functional.tanh(torch.tensor([0.0]))
    tensor([0.])
    """
    return input.tanh()


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(x) scaled to sum to one along a dimension.

    >>> import penlight as torch
    >>> torch.nn.functional.softmax(torch.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim())
    return _softmax(input, dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, computed in one go.

    >>> import penlight as torch
    >>> torch.nn.functional.log_softmax(torch.tensor([0.0, 0.0]), dim=0)
    tensor([-0.6931, -0.6931])
    """
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim())
    return _log_softmax(input, dim, dtype)


# ----- What PyTorch keeps private, and some programs use all the same ------------------------------------------------

_threshold = threshold
_max_pool1d, _max_pool2d, _max_pool3d = max_pool1d, max_pool2d, max_pool3d
_adaptive_max_pool1d, _adaptive_max_pool2d = adaptive_max_pool1d, adaptive_max_pool2d
_adaptive_max_pool3d = adaptive_max_pool3d
_fractional_max_pool2d, _fractional_max_pool3d = fractional_max_pool2d, fractional_max_pool3d


def _verify_batch_size(size: Any) -> None:
    """Refuse a batch that has a single value for each channel, which has no variance."""
    count = size[0]
    for n in size[2:]:
        count *= n
    if count == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _verify_spatial_size(size: Any) -> None:
    """Refuse a single value for each channel of a sample."""
    count = 1
    for n in size[2:]:
        count *= n
    if count == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {size}")


_ELSEWHERE = {
    "_Reduction": ("._reduction", None), "grad": (".grad", None), "_single": (".modules.utils", "_single"),
    "_pair": (".modules.utils", "_pair"), "_triple": (".modules.utils", "_triple"),
    "_list_with_default": (".modules.utils", "_list_with_default"),
    "has_torch_function": ("..overrides", "has_torch_function"),
    "has_torch_function_unary": ("..overrides", "has_torch_function_unary"),
    "has_torch_function_variadic": ("..overrides", "has_torch_function_variadic"),
    "handle_torch_function": ("..overrides", "handle_torch_function"),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _ELSEWHERE:
        from importlib import import_module

        module, attribute = _ELSEWHERE[name]
        found = import_module(module, "penlight.nn")
        return found if attribute is None else getattr(found, attribute)
    raise AttributeError(f"module 'torch.nn.functional' has no attribute '{name}'")


globals().update(_public_functions(globals(), "F.", __name__))
