"""Utilities for modules: clipping gradients, flattening parameters, reparametrisation, packing sequences."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._common.arguments import explain as _explain
from ..._common.module_table import declare_modules, lazy_names
from ...kernels.lazy import lazy_import
from . import rnn as rnn

if TYPE_CHECKING:
    from . import (
        parametrizations as parametrizations,
        parametrize as parametrize,
        prune as prune,
        stateless as stateless,
    )
    from ._parameters import *  # noqa: F403

_refused = lazy_import(globals(), "_refused", "penlight._refused")

declare_modules(
    __name__,
    _norm_hooks={
        "spectral_norm": """
            SpectralNorm SpectralNormLoadStateDictPreHook SpectralNormStateDictHook remove_spectral_norm spectral_norm""",
        "weight_norm": "WeightNorm remove_weight_norm weight_norm",
    },
)
# The others depend on modules, which depend on `rnn`, so they are imported lazily.
_HOMES = declare_modules(
    __name__,
    stateless={"_named_member_accessor": "NamedMemberAccessor"},
    _parameters={
        "clip_grad": "clip_grad_norm clip_grad_norm_ clip_grad_value_ clip_grads_with_norm_ get_total_norm",
        "convert_parameters": "parameters_to_vector vector_to_parameters",
        "fusion": "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights",
        "init": "skip_init",
        "memory_format": "convert_conv2d_weight_memory_format convert_conv3d_weight_memory_format",
    },
)

from ._norm_hooks import remove_spectral_norm, remove_weight_norm, spectral_norm, weight_norm  # noqa: E402

_explain(globals())
__all__ = [
    "parametrizations", "parametrize", "remove_spectral_norm", "remove_weight_norm", "rnn", "spectral_norm", "stateless",
    "weight_norm",
]  # fmt: skip
__all__ += [name for name in _HOMES if name != "NamedMemberAccessor"]

__getattr__, __dir__ = lazy_names(
    __name__,
    _HOMES,
    {*_HOMES.values(), "parametrizations", "parametrize", "prune", "stateless"},
    lambda *name: _refused.missing(*name),
)
