"""Dtypes that PyTorch has no kernel for, by op: which it refuses, and in what words.

A word alone is what PyTorch calls its kernel, as in `"lt_cpu" not implemented for 'ComplexFloat'`; a sentence is the whole message.
Elementwise ops look at complex numbers on their slow path, where those come by anyhow; other refusals wrap the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._guards import not_implemented

_NO_CLAMP = NotImplementedError("clamp is not supported for complex types")
_UNPOOL = {"biuc": "max_unpool2d"}

# Kinds of NumPy dtypes (c complex, b bool, i and u integers), and what is said of them.
REFUSED: dict[str, dict[str, Any]] = {
    "lt": {"c": "lt_cpu"}, "le": {"c": "le_cpu"}, "gt": {"c": "gt_cpu"}, "ge": {"c": "ge_cpu"},
    "maximum": {"c": RuntimeError("maximum not implemented for complex tensors.")},
    "minimum": {"c": RuntimeError("minimum not implemented for complex tensors.")},
    "fmax": {"c": RuntimeError("fmax not implemented for complex tensors.")},
    "fmin": {"c": RuntimeError("fmin not implemented for complex tensors.")},
    "_clamp": {"c": _NO_CLAMP}, "_clamp_tensor": {"c": _NO_CLAMP}, "_clamp_low": {"c": _NO_CLAMP}, "_clamp_high": {"c": _NO_CLAMP},
    "_clamp_min": {"c": _NO_CLAMP}, "_clamp_max": {"c": _NO_CLAMP}, "relu": {"c": _NO_CLAMP},
    "_clamp_min_tensor": {"c": "maximum_cpu"}, "_clamp_max_tensor": {"c": "minimum_cpu"},
    "ceil": {"c": NotImplementedError("ceil is not supported for complex inputs")},
    "floor": {"c": NotImplementedError("floor is not supported for complex inputs")},
    "trunc": {"c": NotImplementedError("trunc is not supported for complex inputs")},
    "frac": {"biuc": "frac_cpu"},
    "sign": {"c": NotImplementedError("Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead.")},
    "atan2": {"c": "atan2_cpu"}, "_copysign": {"c": "copysign_cpu"}, "_copysign_number": {"c": "copysign_cpu"},
    "_floor_divide": {"bc": "div_floor_cpu"}, "_floor_divide_number": {"bc": "div_floor_cpu"}, "_div_floor": {"bc": "div_floor_cpu"},
    "_div_trunc": {"bc": "div_trunc_cpu"}, "_remainder_of": {"bc": "remainder_cpu"}, "_remainder_number": {"bc": "remainder_cpu"},
    "_fmod": {"bc": "fmod_cpu"}, "_fmod_number": {"bc": "fmod_cpu"},
    "_kthvalue": {"bc": "kthvalue_cpu"}, "_mode": {"c": "mode_cpu"}, "_aminmax": {"c": "aminmax_cpu"},
    "_max_all": {"c": "max_all"}, "_min_all": {"c": "min_all"},
    "_max_dim": {"c": RuntimeError("max(): does not support complex input")},
    "_min_dim": {"c": RuntimeError("min(): does not support complex input")},
    "_unique": {"c": "unique"}, "_unique_dim": {"c": "unique_dim"}, "_unique_consecutive": {"c": "unique"},
    "_searchsorted": {"bc": "searchsorted_out_cpu"}, "_softmax": {"c": "softmax_lastdim_kernel_impl"},
    "_index_reduce": {"bc": "index_func_"}, "_max_unpool2d": _UNPOOL, "_max_unpool3d": {"biuc": "max_unpool3d"},
    "_fractional_max_pool2d": {"biuc": "fractional_max_pool2d_out_frame"}, "_fractional_max_pool3d": {"biuc": "fractional_max_pool3d_out_frame"},
    "_native_layer_norm": {"biuc": "LayerNormKernelImpl"},
    "_native_group_norm": {"biuc": "GroupNormKernelImpl"}, "_native_batch_norm": {"biuc": "batch_norm"},
    "_multi_margin_loss": {"biuc": "multi_margin_loss_cpu_kernel"},
    "_multilabel_margin_loss": {"biuc": "multilabel_margin_loss_forward_out_frame"},
}  # fmt: skip


def refuse(name: str, np_dtype: Any) -> None:
    """Raise PyTorch's error if it has no kernel of this op for the dtype."""
    for kinds, said in REFUSED[name].items():
        if np_dtype.kind in kinds:
            raise not_implemented(said, np_dtype) if isinstance(said, str) else type(said)(*said.args)


def guarded(name: str, kernel: Callable[..., Any], pointwise: bool) -> Callable[..., Any]:
    """The kernel, refusing what PyTorch refuses, unless the slow path does that."""
    if name not in REFUSED or (pointwise and set(REFUSED[name]) == {"c"}):
        return kernel

    def run(*args: Any) -> Any:
        refuse(name, args[0].dtype)
        return kernel(*args)

    return run
