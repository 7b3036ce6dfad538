"""Interpolation and fused products: lerp, addcmul, addcdiv."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes
from ...kernels.elementwise import one_pass
from ...tensor import Tensor
from ..machinery.declare import OPS, OpCall, op_forms, pointwise, rounded_once
from ..machinery.guards import c_name, need_number, need_real_value, not_implemented, without_numpy_warnings
from ..machinery.op import traits

if TYPE_CHECKING:
    from ..machinery.op import Number

__all__ = ["addcdiv", "addcmul", "lerp"]


def _lerp_array(input: Any, end: Any, weight: Any) -> Any:
    """Interpolates from the nearer end, as PyTorch does."""
    span = end - input
    near = np.abs(weight) < 0.5
    if isinstance(weight, (int, float, complex)):
        need_real_value(weight, dtypes.from_np(input.dtype))
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


@pointwise(one_pass(rounded_once(without_numpy_warnings(_lerp_array))), node="LerpBackward0", check=_one_dtype,
           input=lambda grad, weight, xp: xp._mul_number(grad, 1 - weight),
           end=lambda grad, weight, xp: xp._mul_number(grad, weight))  # fmt: skip
@traits(refuses={"biu": "lerp_kernel_scalar"})
def _lerp(input: Tensor, end: Tensor, weight: Number) -> Tensor: ...


@pointwise(one_pass(rounded_once(without_numpy_warnings(_lerp_array))), node="LerpBackward1", check=_one_dtype,
           input=lambda grad, weight, xp: grad * xp._sub(1, weight),
           end=lambda grad, weight: grad * weight,
           weight=lambda grad, input, end: grad * (end - input))  # fmt: skip
@traits(refuses={"biu": "lerp_kernel_tensor"})
def _lerp_tensor(input: Tensor, end: Tensor, weight: Tensor) -> Tensor: ...


@op_forms()
def lerp(input: Tensor, end: Tensor, weight: Tensor | Number) -> OpCall:
    """Linear interpolation: `input + weight * (end - input)`.

    >>> torch.tensor([1.0]).lerp(torch.tensor([3.0]), 0.25)
    tensor([1.5000])
    """
    weight = need_number(weight)
    return OPS["_lerp_tensor" if isinstance(weight, Tensor) else "_lerp"], (input, end, weight)


def _value_like(value: Any, array: Any) -> Any:
    """A factor converted to the dtype of an array: truncated for integers, as in C."""
    return int(value.real) if array.dtype.kind in "iu" else value


def _addcmul_array(input: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    if input.dtype.kind == "b":
        np.broadcast(input, tensor1, tensor2)  # report shape errors first
        raise not_implemented("addcmul_cpu_out", input.dtype)
    need_real_value(value, dtypes.from_np(input.dtype))
    value = _value_like(value, input)
    return input + (tensor1 * tensor2 if value == 1 else tensor1 * value * tensor2)


@pointwise(one_pass(rounded_once(without_numpy_warnings(_addcmul_array))), node="AddcmulBackward0",
           input=lambda grad: grad,
           tensor1=lambda grad, tensor2, value, xp: grad * xp._mul_number(tensor2, value),
           tensor2=lambda grad, tensor1, value, xp: grad * xp._mul_number(tensor1, value))  # fmt: skip
def _addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Number) -> Tensor: ...


_INTEGER_QUOTIENT = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of "
    "tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / "
    "tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future "
    "addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes."
)


def _true_quotient(env: dict[str, Any]) -> None:
    if env["tensor1"].dtype.category < dtypes.FLOATING and env["tensor2"].dtype.category < dtypes.FLOATING:
        raise RuntimeError(_INTEGER_QUOTIENT)


def _addcdiv_array(input: Any, tensor1: Any, tensor2: Any, value: Any) -> Any:
    if input.dtype.kind in "biu":
        raise RuntimeError(_INTEGER_QUOTIENT)
    need_real_value(value, dtypes.from_np(input.dtype))
    return input + (tensor1 if value == 1 else tensor1 * value) / tensor2


@pointwise(one_pass(rounded_once(without_numpy_warnings(_addcdiv_array))), node="AddcdivBackward0", check=_true_quotient,
           input=lambda grad: grad,
           tensor1=lambda grad, tensor2, value, xp: grad * xp._div(value, tensor2),
           tensor2=lambda grad, tensor1, tensor2, value, xp: -grad * (xp._mul_number(tensor1, value) / (tensor2 * tensor2)))  # fmt: skip
def _addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, value: Number) -> Tensor: ...


def _operands(tensor1: Any, tensor2: Any, legacy: Any, value: Any) -> tuple[Any, Any, Any]:
    """`addcmul(x, a, b, value=v)`, or in the old order `addcmul(x, v, a, b)`."""
    if legacy is not None:
        return tensor2, legacy, need_number(tensor1)
    return tensor1, tensor2, need_number(value)


@op_forms()
def addcmul(input: Tensor, tensor1: Tensor, tensor2: Tensor, legacy: Any = None, *, value: Number = 1) -> OpCall:
    """`input + value * tensor1 * tensor2`. The old order `addcmul(input, value, tensor1, tensor2)` works too.

    >>> torch.ones(2).addcmul(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), value=0.5)
    tensor([2.5000, 5.0000])
    """
    return OPS["_addcmul"], (input, *_operands(tensor1, tensor2, legacy, value))


@op_forms()
def addcdiv(input: Tensor, tensor1: Tensor, tensor2: Tensor, legacy: Any = None, *, value: Number = 1) -> OpCall:
    """`input + value * tensor1 / tensor2`. The old order `addcdiv(input, value, tensor1, tensor2)` works too.

    >>> torch.ones(2).addcdiv(torch.tensor([1.0, 2.0]), torch.tensor([2.0, 4.0]))
    tensor([1.5000, 1.5000])
    """
    return OPS["_addcdiv"], (input, *_operands(tensor1, tensor2, legacy, value))
