"""Dtypes that PyTorch has no kernel for, by op: which it refuses, and in what words.

A word alone is what PyTorch calls its kernel, as in `"lt_cpu" not implemented for 'ComplexFloat'`; a sentence is the whole message.
Elementwise ops look at complex numbers on their slow path, where those come by anyhow; other refusals wrap the kernel.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ... import dtypes
from ...kernels.large import least_size
from .guards import not_implemented

_NO_CLAMP = NotImplementedError("clamp is not supported for complex types")
_UNPOOL = {"biuc": "max_unpool2d"}

# Kinds of NumPy dtypes (c complex, b bool, i and u integers, h 16-bit floats), and what is said of them.
REFUSED: dict[str, dict[str, Any]] = {
    "lt": {"c": "lt_cpu"}, "le": {"c": "le_cpu"}, "gt": {"c": "gt_cpu"}, "ge": {"c": "ge_cpu"},
    "maximum": {"c": RuntimeError("maximum not implemented for complex tensors.")},
    "minimum": {"c": RuntimeError("minimum not implemented for complex tensors.")},
    "fmax": {"c": RuntimeError("fmax not implemented for complex tensors.")},
    "fmin": {"c": RuntimeError("fmin not implemented for complex tensors.")},
    "_clamp": {"c": _NO_CLAMP}, "_clamp_tensor": {"c": _NO_CLAMP, "b": "clamp_cpu"}, "_clamp_low": {"c": _NO_CLAMP}, "_clamp_high": {"c": _NO_CLAMP},
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
    "_unique": {"c": "unique"}, "_unique_dim": {"c": "unique_dim"}, "_unique_consecutive": {"c": "unique"}, "_safe_softmax": {"c": "softmax_kernel_impl"},
    "_searchsorted": {"bc": "searchsorted_out_cpu"}, "_softmax": {"c": "softmax_lastdim_kernel_impl"},
    "_index_reduce": {"bc": "index_func_"}, "_max_unpool2d": _UNPOOL, "_max_unpool3d": {"biuc": "max_unpool3d"},
    "_fractional_max_pool2d": {"biuc": "fractional_max_pool2d_out_frame"}, "_fractional_max_pool3d": {"biuc": "fractional_max_pool3d_out_frame"},
    "_native_layer_norm": {"biuc": "LayerNormKernelImpl"},
    "_native_group_norm": {"biuc": "GroupNormKernelImpl"}, "_native_batch_norm": {"biuc": "batch_norm"},
    "_multi_margin_loss": {"biuch": "multi_margin_loss_cpu_kernel"},
    "_multilabel_margin_loss": {"biuch": "multilabel_margin_loss_forward_out_frame"},
    "_cdist": {"h": "cdist"}, "_pdist": {"h": "pdist"}, "_avg_pool3d": {"h": "avg_pool3d_out_frame"}, "_special_erfcx": {"h": "erfcx_cpu"},
    "_special_ndtri": {"h": "ndtri_cpu"}, "_special_log_ndtr": {"h": "log_ndtr_cpu"}, "_special_zeta": {"h": "zeta_cpu"}, "_zeta_number": {"h": "zeta_cpu"},
    "_zeta_of_number": {"h": "zeta_cpu"}, "_amax": {"c": "max_values_cpu"}, "_amin": {"c": "min_values_cpu"},
    "_argmax": {"c": RuntimeError("argmax(): does not support complex input")}, "_argmin": {"c": RuntimeError("argmin(): does not support complex input")},
    "_log_softmax": {"c": "log_softmax_lastdim_kernel_impl"}, "_mse_loss": {"c": "mse_cpu"}, "_smooth_l1_loss": {"c": "smooth_l1_cpu"},
    "_huber_loss": {"c": "huber_cpu"}, "_bce": {"c": "binary_cross_entropy"}, "_bce_with_logits": {"biuc": "log_sigmoid_cpu"}, "_vdot": {"b": "dot"},
    "_linalg_cross": {"b": "cross"}, "_hash_tensor": {"c": "xor_sum_cpu"}, "_col2im": {"iu": "col2im_out_cpu"}, "_geometric_into": {"b": "geometric_cpu"},
    "_isin": {"bc": RuntimeError("Unsupported input type encountered for isin(): {}")},
}  # fmt: skip


def refuse(name: str, np_dtype: Any, inner: bool = False) -> None:
    """Raise PyTorch's error if it has no kernel of this op for the dtype. `inner`: along another dimension than the last."""
    kind = "h" if np_dtype.itemsize == 2 and np_dtype.kind in "fV" else np_dtype.kind
    for kinds, said in REFUSED[name].items():
        if kind in kinds and isinstance(said, str):
            raise not_implemented(said.replace("lastdim_", "") if inner else said, np_dtype)
        if kind in kinds:
            raise type(said)(said.args[0].replace("{}", dtypes.LEGACY[dtypes.from_np(np_dtype)]))


def refusing_dtypes(name: str, kernel: Callable[..., Any], pointwise: bool) -> Callable[..., Any]:
    """The kernel, refusing what PyTorch refuses, unless the slow path does that."""
    if name not in REFUSED or (pointwise and set(REFUSED[name]) == {"c"}):
        return kernel

    kinds = "".join(REFUSED[name]).replace("h", "fV")
    with_number = name.endswith("_number")

    def run(*args: Any) -> Any:
        kind = args[0].dtype.kind
        if kind in kinds and not (with_number and kind == "b" and type(args[1]) is int):  # together they are integers
            refuse(
                name, args[0].dtype, "softmax" in name and args[0].ndim > 1 and args[1] not in (-1, args[0].ndim - 1)
            )
        return kernel(*args)

    known = type(kernel) is np.ufunc or getattr(kernel, "one_pass", False)
    run.one_pass = known and least_size(kernel)  # type: ignore[attr-defined]
    return run
