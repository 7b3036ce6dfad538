"""The functions that layers are made of, under PyTorch's names. They are defined in the tables of `penlight.ops`.

>>> import penlight as torch
>>> import penlight.nn.functional as F
>>> F.relu(torch.tensor([-1.0, 2.0]))
tensor([0., 2.])
"""

# isort: skip_file
from __future__ import annotations

import math
from typing import Any

from .._docstrings import example as _example
from ..ops import _dispatch as _dispatch
from ..ops._public_functions import public_functions as _public_functions
from ..ops._declare import OPS as _OPS
from ..ops.activation import log_softmax as _log_softmax
from ..ops.activation import relu as _relu
from ..ops.activation import softmax as _softmax
from ..ops.affine import linear as linear
from ..ops.attention import _canonical_mask as _canonical_mask
from ..ops.attention import _check_key_padding_mask as _check_key_padding_mask
from ..ops.attention import _in_projection as _in_projection
from ..ops.attention import _in_projection_packed as _in_projection_packed
from ..ops.attention import _mha_shape_check as _mha_shape_check
from ..ops.attention import _none_or_dtype as _none_or_dtype
from ..ops.conv import conv1d as conv1d, conv2d as conv2d, conv3d as conv3d
from ..ops.conv import conv_transpose1d as conv_transpose1d, conv_transpose2d as conv_transpose2d
from ..ops.conv import conv_transpose3d as conv_transpose3d
from ..ops.distance import pdist as pdist
from ..ops.embeddings import embedding as embedding, embedding_bag as embedding_bag, one_hot as one_hot
from ..ops.gated import softmax_dim as _get_softmax_dim
from ..ops.grids import affine_grid as affine_grid, grid_sample as grid_sample
from ..ops.padding import pad as pad
from ..ops.adaptive_pool import *  # noqa: F403
from ..ops.attention import *  # noqa: F403
from ..ops.batch_normalization import *  # noqa: F403
from ..ops.class_loss import *  # noqa: F403
from ..ops.conv_tbc import *  # noqa: F403
from ..ops.ctc import *  # noqa: F403
from ..ops.dropouts import *  # noqa: F403
from ..ops.folding import *  # noqa: F403
from ..ops.bilinear_forms import *  # noqa: F403
from ..ops.gated import *  # noqa: F403
from ..ops.loss import *  # noqa: F403
from ..ops.margin_loss import *  # noqa: F403
from ..ops.nonlinear import *  # noqa: F403
from ..ops.normalization import *  # noqa: F403
from ..ops.piecewise import *  # noqa: F403
from ..ops.pool import *  # noqa: F403
from ..ops.resample import *  # noqa: F403
from ..ops.scaling import *  # noqa: F403
from ..ops.shuffle import *  # noqa: F403
from ..ops.unpool import *  # noqa: F403
from ..tensor import Tensor as Tensor
from importlib import import_module

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


@_example("torch.nn.functional.relu(torch.tensor([-1.0, 2.0]))", "tensor([0., 2.])")
def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Each element, or 0 where it is negative."""
    return _dispatch.inplace(_OPS["relu"], (input,)) if inplace else _relu(input)


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
    """exp(x) scaled to sum to one along a dimension."""
    if dim is None:
        dim = _get_softmax_dim("softmax", input.dim())
    return _softmax(input, dim, dtype)


@_example("torch.nn.functional.log_softmax(torch.tensor([0.0, 0.0]), dim=0)", "tensor([-0.6931, -0.6931])")
def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of `softmax`, computed in one go."""
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
    """Refuse a batch that has a single value for each channel, which has no variance."""
    if math.prod((size[0], *size[2:])) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


def _verify_spatial_size(size: Any) -> None:
    """Refuse a single value for each channel of a sample."""
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


globals().update(_public_functions(globals(), "F.", __name__))
