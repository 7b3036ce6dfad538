"""Arithmetic beyond the four operations, elementwise: mixtures, fused products, hypotenuses, exponents, angles, parts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..tensor import Tensor
from . import _dispatch
from ._declare import OPS, differentiable, install_method, method, plain, pointwise
from ._guards import c_name, need_real_value, no_derivative, only, quiet
from .reduction import named_result

if TYPE_CHECKING:
    from ._types import Number

# ----- Mixtures and fused products ----------------------------------------------------------------------------------


def _lerp_array(input: Any, end: Any, weight: Any) -> Any:
    """From the nearer end, as PyTorch computes it."""
    span = end - input
    near = np.abs(weight) < 0.5
    if not isinstance(weight, np.ndarray):
        return input + weight * span if near else end - span * (1 - weight)
    return np.where(near, input + weight * span, end - span * (1 - weight))


def _one_dtype(env: dict[str, Any]) -> None:
    kind = env["input"].dtype
    for name in ("end", "weight"):
        value = env[name]
        if isinstance(value, Tensor) and value.dtype is not kind and (name == "end" or value.dim()):
            raise RuntimeError(f"expected dtype {c_name(kind)} for `{name}` but got dtype {c_name(value.dtype)}")
        if not isinstance(value, Tensor):
            need_real_value(value, kind)


@pointwise(only("fcV", "lerp_kernel_scalar", quiet(_lerp_array)), node="LerpBackward0", check=_one_dtype,
           input=lambda grad, weight: grad * (1 - weight),
           end=lambda grad, weight: grad * weight)  # fmt: skip
def _lerp(input: Tensor, end: Tensor, weight: Number) -> Tensor: ...


@pointwise(only("fcV", "lerp_kernel_tensor", quiet(_lerp_array)), node="LerpBackward1", check=_one_dtype,
           input=lambda grad, weight: grad * (1 - weight),
           end=lambda grad, weight: grad * weight,
           weight=lambda grad, input, end: grad * (end - input))  # fmt: skip
def _lerp_tensor(input: Tensor, end: Tensor, weight: Tensor) -> Tensor: ...


def _lerped(run: Any, input: Tensor, end: Tensor, weight: Any, **more: Any) -> Tensor:
    return run(OPS["_lerp_tensor" if isinstance(weight, Tensor) else "_lerp"], (input, end, weight), **more)


@method
def lerp(input: Tensor, end: Tensor, weight: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """A mixture: `input + weight * (end - input)`.

    >>> import penlight as torch
    >>> torch.lerp(torch.tensor([1.0]), torch.tensor([3.0]), 0.25)
    tensor([1.5000])
    """
    return _lerped(_dispatch.dispatch, input, end, weight, out=out)


@method
def lerp_(input: Tensor, end: Tensor, weight: Tensor | Number) -> Tensor:
    """In-place version of `lerp`."""
    return _lerped(_dispatch.inplace, input, end, weight)


def _value_like(value: Any, array: Any) -> Any:
    """A factor in the dtype of an array: truncated for integers, as in C."""
    return int(value.real) if array.dtype.kind in "iu" else value


def _addcmul_array(input: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    if input.dtype.kind == "b":
        raise NotImplementedError("\"addcmul_cpu_out\" not implemented for 'Bool'")
    value = _value_like(value, input)
    return input + (tensor1 * tensor2 if value == 1 else tensor1 * value * tensor2)


def _real_factor(env: dict[str, Any]) -> None:
    common = dtypes.result_dtype([env[n]._array for n in ("input", "tensor1", "tensor2")])
    need_real_value(env["value"], common)


@pointwise(quiet(_addcmul_array), node="AddcmulBackward0", check=_real_factor,
           input=lambda grad: grad,
           tensor1=lambda grad, tensor2, value: grad * (tensor2 * value),
           tensor2=lambda grad, tensor1, value: grad * (tensor1 * value))  # fmt: skip
def _addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Number) -> Tensor: ...


def _true_quotient(env: dict[str, Any]) -> None:
    if env["tensor1"].dtype.category < dtypes.FLOATING and env["tensor2"].dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true "
            "division of tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * "
            "torch.trunc(tensor1 / tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) "
            "for float inputs. The future addcdiv behavior is just the latter implementation: (input + value * tensor1 / "
            "tensor2), for all dtypes."
        )
    _real_factor(env)


@pointwise(quiet(lambda input, tensor1, tensor2, value: input + (tensor1 if value == 1 else tensor1 * value) / tensor2),
           node="AddcdivBackward0", check=_true_quotient,
           input=lambda grad: grad,
           tensor1=lambda grad, tensor2, value: grad * (value / tensor2),
           tensor2=lambda grad, tensor1, tensor2, value: -grad * ((value * tensor1) / (tensor2 * tensor2)))  # fmt: skip
def _addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Number) -> Tensor: ...


def _fused(run: Any, name: str, input: Tensor, tensor1: Any, tensor2: Any, legacy: Any, value: Any, **more: Any) -> Tensor:
    """`addcmul(x, a, b, value=v)`, or in the old order `addcmul(x, v, a, b)`."""
    if legacy is not None:
        value, tensor1, tensor2 = tensor1, tensor2, legacy
    if not (run is _dispatch.inplace) or True:
        _true_quotient({"tensor1": tensor1, "tensor2": tensor2, "input": input, "value": value}) if _both_integers(name, tensor1, tensor2) else None
    return run(OPS["_" + name], (input, tensor1, tensor2, value), **more)
