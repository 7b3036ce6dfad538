"""The functions that layers use, under PyTorch's names. `penlight.ops` defines them.

>>> import penlight as torch
>>> import penlight.nn.functional as F
>>> F.relu(torch.tensor([-1.0, 2.0]))
tensor([0., 2.])
"""

# isort: skip_file
from __future__ import annotations

import penlight as _penlight

import math
from typing import Any

from .._common.docstrings import example as _example
from ..ops.machinery import dispatch as _dispatch
from ..ops.machinery.public_functions import public_functions as _public_functions
from ..ops.machinery.declare import OPS as _OPS
from ..ops.nn.activation import log_softmax as _log_softmax
from ..ops.nn.activation import relu as _relu
from ..ops.nn.activation import softmax as _softmax
from ..ops.linalg.addmm import linear as linear
from ..ops.nn.attention import (
    _canonical_mask as _canonical_mask,
    _check_key_padding_mask as _check_key_padding_mask,
    _in_projection as _in_projection,
)
from ..ops.nn.attention import (
    _in_projection_packed as _in_projection_packed,
    _mha_shape_check as _mha_shape_check,
    _none_or_dtype as _none_or_dtype,
)
from ..ops.nn.conv import conv1d as conv1d, conv2d as conv2d, conv3d as conv3d
from ..ops.nn.conv import conv_transpose1d as conv_transpose1d, conv_transpose2d as conv_transpose2d
from ..ops.nn.conv import conv_transpose3d as conv_transpose3d
from ..ops.nn.distance import pdist as pdist
from ..ops.nn.embedding import embedding as embedding, embedding_bag as embedding_bag, one_hot as one_hot
from ..ops.nn.gated_activation import softmax_dim as _get_softmax_dim
from ..ops.nn.grid_sample import affine_grid as affine_grid, grid_sample as grid_sample
from ..ops.nn.padding import pad as pad
from ..ops.nn.adaptive_pool import *  # noqa: F403
from ..ops.nn.attention import *  # noqa: F403
from ..ops.nn.batch_normalization import *  # noqa: F403
from ..ops.nn.class_loss import *  # noqa: F403
from ..ops.nn.conv import conv_tbc as conv_tbc
from ..ops.nn.ctc import *  # noqa: F403
from ..ops.nn.dropout import *  # noqa: F403
from ..ops.nn.fold import *  # noqa: F403
from ..ops.nn.bilinear import *  # noqa: F403
from ..ops.nn.gated_activation import *  # noqa: F403
from ..ops.nn.loss import *  # noqa: F403
from ..ops.nn.margin_loss import *  # noqa: F403
from ..ops.nn.smooth_activation import *  # noqa: F403
from ..ops.nn.normalization import *  # noqa: F403
from ..ops.nn.piecewise_activation import *  # noqa: F403
from ..ops.nn.pool import *  # noqa: F403
from ..ops.nn.resample import *  # noqa: F403
from ..ops.nn.shuffle import *  # noqa: F403
from ..tensor import Tensor as Tensor
from importlib import import_module

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


@_example("torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))", "tensor([0., 2.])")
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Each element, or 0 where it is negative."""
    return _dispatch.run_in_place(_OPS["relu"], (input,)) if inplace else _relu(input)


@_example("torch.nn.functional.sigmoid(torch.tensor([0.0]))", "tensor([0.5000])")
def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x))."""
    return input.sigmoid()


@_example("torch.nn.functional.tanh(torch.tensor([0.0]))", "tensor([0.])")
def tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent of each element."""
    return input.tanh()


@_example("torch.nn.functional.softmax(torch.tensor([0.0, 0.0]), dim=0)", "tensor([0.5000, 0.5000])")
def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """exp(x), normalised to sum to one along a dimension."""
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim())
    return _softmax(input, dim, dtype)


@_example("torch.nn.functional.log_softmax(torch.tensor([0.0, 0.0]), dim=0)", "tensor([-0.6931, -0.6931])")
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, computed stably in one step."""
    if dim is None:
        dim = _get_softmax_dim("log_softmax", input.dim())
    return _log_softmax(input, dim, dtype)


# ----- What PyTorch keeps private, and some programs use all the same ------------------------------------------------

_PRIVATE = """
threshold max_pool1d max_pool2d max_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d
fractional_max_pool2d fractional_max_pool3d
"""
globals().update({f"_{_name}": globals()[_name] for _name in _PRIVATE.split()})


def _verify_batch_size(size: Any) -> None:
    """Refuse a batch with a single value per channel, which has no variance."""
    if math.prod((size[0], *size[2:])) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _verify_spatial_size(size: Any) -> None:
    """Refuse a sample with a single value per channel."""
    if math.prod(size[2:]) == 1:
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
        module, attribute = _ELSEWHERE[name]
        found = import_module(module, "penlight.nn")
        return found if attribute is None else getattr(found, attribute)
    raise AttributeError(f"module 'torch.nn.functional' has no attribute '{name}'")


# Builtins in PyTorch: the others are Python functions there too, which classes bind.
_BOUND = """
    adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d
    conv_transpose2d conv_transpose3d cosine_similarity elu_ gelu hardshrink hardtanh_ leaky_relu_ linear logsigmoid
    native_channel_shuffle one_hot pairwise_distance pdist pixel_shuffle pixel_unshuffle prelu relu_ rrelu_
    scaled_dot_product_attention selu_ softplus softshrink threshold_"""
# Builtins that `torch` and `torch.nn.functional` share in PyTorch.
_SHARED = """
    adaptive_avg_pool1d avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d
    conv_transpose3d cosine_similarity hardshrink native_channel_shuffle pairwise_distance pdist pixel_shuffle
    pixel_unshuffle prelu relu_ rrelu_ selu_ threshold_"""
globals().update(_public_functions(globals(), "F.", __name__, bound=_BOUND.split()))
globals().update({name: getattr(_penlight, name) for name in _SHARED.split()})
