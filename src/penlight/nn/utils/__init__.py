"""Tools around modules: clipping gradients, flattening parameters, reparametrisation, packing sequences."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...kernels.lazy import lazy_import
from . import rnn as rnn
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_, clip_grads_with_norm_, get_total_norm
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

if TYPE_CHECKING:
    from . import (
        parametrizations as parametrizations,
        parametrize as parametrize,
        prune as prune,
        stateless as stateless,
    )
    from .fusion import fuse_conv_bn_eval, fuse_conv_bn_weights, fuse_linear_bn_eval, fuse_linear_bn_weights
    from .init import skip_init
    from .memory_format import convert_conv2d_weight_memory_format, convert_conv3d_weight_memory_format

_refused = lazy_import(globals(), "_refused", "penlight._refused")


__all__ = [
    "clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_",
    "convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format", "fuse_conv_bn_eval",
    "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights", "get_total_norm", "parameters_to_vector",
    "parametrizations", "parametrize", "remove_spectral_norm", "remove_weight_norm", "rnn", "skip_init",
    "spectral_norm", "stateless", "vector_to_parameters", "weight_norm",
]  # fmt: skip

# The rest is built on modules, which are built on `rnn`: it comes when it is asked for.
_FILES = {
    "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
    "init": "skip_init",
    "memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
}
_FUNCTIONS = {name: file for file, names in _FILES.items() for name in names.split()}
_SUBMODULES = ("fusion", "init", "memory_format", "parametrizations", "parametrize", "prune", "stateless")


def __getattr__(name: str) -> Any:
    if name in _FUNCTIONS:
        return getattr(import_module(f"{__name__}.{_FUNCTIONS[name]}"), name)
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    raise _refused.missing(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_FUNCTIONS, *_SUBMODULES})
