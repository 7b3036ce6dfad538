"""Piecewise linear activations. Gradients at kinks are PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...kernels.elementwise import activation as kernels
from ...tensor import Tensor
from ..machinery import dispatch
from ..machinery.declare import OPS, pointwise
from ..machinery.guards import need_number
from ..machinery.op import traits
from ..machinery.rules import zero_gradient
from .activation import NO_CLAMP, run

__all__ = [
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "hardtanh_", "leaky_relu", "leaky_relu_", "relu6", "relu_",
    "softshrink", "threshold", "threshold_"
]  # fmt: skip


@pointwise(kernels.hardtanh_backward, inplace=False,
           upstream=lambda grad, input, min_val, max_val, xp: xp._hardtanh_backward(grad, input, min_val, max_val),
           input=zero_gradient)  # fmt: skip
def _hardtanh_backward(upstream: Tensor, input: Tensor, min_val: float, max_val: float) -> Tensor: ...


def _hardtanh_array(input: Any, min_val: float, max_val: float) -> Any:
    if input.dtype.kind == "u" and (min_val < 0 or max_val < 0):
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    return kernels.hardtanh(input, min_val, max_val)


@pointwise(_hardtanh_array, node="HardtanhBackward0",
           input=lambda grad, input, min_val, max_val, xp: xp._hardtanh_backward(grad, input, min_val, max_val))  # fmt: skip
@traits(refuses={"c": NO_CLAMP, "b": RuntimeError("Bool inputs not supported for hardtanh")})
def _hardtanh(input: Tensor, min_val: float, max_val: float) -> Tensor: ...


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x limited to the range from `min_val` to `max_val`.

    >>> torch.nn.functional.hardtanh(torch.tensor([-3.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return run("_hardtanh", inplace, input, min_val, max_val)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In-place version of `hardtanh`.

    >>> torch.nn.functional.hardtanh_(torch.tensor([-3.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
    return hardtanh(input, min_val, max_val, True)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x limited to the range from 0 to 6.

    >>> torch.nn.functional.relu6(torch.tensor([-1.0, 7.0]))
    tensor([0., 6.])
    """
    return run("_hardtanh", inplace, input, 0.0, 6.0)


def relu_(input: Tensor) -> Tensor:
    """In-place version of `relu`.

    >>> torch.nn.functional.relu_(torch.tensor([-3.0, 0.5]))
    tensor([0.0000, 0.5000])
    """
    return dispatch.run_in_place(OPS["relu"], (input,))


@pointwise(kernels.hardsigmoid_backward, inplace=False,
           upstream=lambda grad, input, xp: xp._hardsigmoid_backward(grad, input), input=zero_gradient)  # fmt: skip
def _hardsigmoid_backward(upstream: Tensor, input: Tensor) -> Tensor: ...


@pointwise(kernels.hardsigmoid, node="HardsigmoidBackward0",
           input=lambda grad, input, xp: xp._hardsigmoid_backward(grad, input))  # fmt: skip
@traits(refuses={"biuc": "hardsigmoid_cpu"})
def _hardsigmoid(input: Tensor) -> Tensor: ...


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """x / 6 + 1 / 2, limited to the range from 0 to 1.

    >>> torch.nn.functional.hardsigmoid(torch.tensor([-4.0, 1.5]))
    tensor([0.0000, 0.7500])
    """
    return run("_hardsigmoid", inplace, input)


@pointwise(kernels.hardswish_backward, inplace=False,
           upstream=lambda grad, input, xp: xp._hardswish_backward(grad, input),
           input=lambda grad, upstream, input, xp: xp.where((input > -3.0) & (input < 3.0), grad * upstream / 3.0, 0.0))  # fmt: skip
def _hardswish_backward(upstream: Tensor, input: Tensor) -> Tensor: ...


@pointwise(kernels.hardswish, node="HardswishBackward0",
           input=lambda grad, input, xp: xp._hardswish_backward(grad, input))  # fmt: skip
@traits(refuses={"biuc": "hardswish_cpu"})
def _hardswish(input: Tensor) -> Tensor: ...


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * hardsigmoid(x).

    >>> torch.nn.functional.hardswish(torch.tensor([-4.0, 1.5]))
    tensor([-0.0000,  1.1250])
    """
    return run("_hardswish", inplace, input)


@pointwise(kernels.leaky_relu_backward, inplace=False,
           upstream=lambda grad, input, negative_slope, xp: xp._leaky_relu_backward(grad, input, negative_slope),
           input=zero_gradient)  # fmt: skip
def _leaky_relu_backward(upstream: Tensor, input: Tensor, negative_slope: float) -> Tensor: ...


def leaky_result_rule(grad: Any, result: Any, negative_slope: float, xp: Any) -> Any:
    if negative_slope < 0:
        raise RuntimeError(
            "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This is "
            "caused by calling in-place forward function with a negative slope, please call out-of-place version instead. "
            "File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu backward "
            "calculation with negative slope"
        )
    return xp._leaky_relu_backward(grad, result, negative_slope)


@pointwise(kernels.leaky_relu, node="LeakyReluBackward0", inplace=False,
           input=lambda grad, input, negative_slope, xp: xp._leaky_relu_backward(grad, input, negative_slope))  # fmt: skip
@traits(refuses={"biuc": "leaky_relu_cpu"})
def _leaky_relu(input: Tensor, negative_slope: float) -> Tensor: ...


@pointwise(kernels.leaky_relu, node="LeakyReluBackward1", input=leaky_result_rule)
@traits(refuses={"biuc": "leaky_relu_cpu"})
def _leaky_relu_written(input: Tensor, negative_slope: float) -> Tensor: ...


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where it is positive, else `negative_slope` * x.

    >>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return run("_leaky_relu_written", True, input, negative_slope) if inplace else _leaky_relu(input, negative_slope)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """In-place version of `leaky_relu`.

    >>> torch.nn.functional.leaky_relu_(torch.tensor([-3.0, 0.5]), 0.1)
    tensor([-0.3000,  0.5000])
    """
    return leaky_relu(input, negative_slope, True)


def _threshold_array(input: Any, threshold: float, value: float) -> Any:
    if input.dtype.kind in "iu":
        return np.where(input <= threshold, input.dtype.type(value), input)
    return kernels.threshold(input, threshold, value)


def _threshold_rule(grad: Any, input: Any, threshold: float, xp: Any) -> Any:
    return xp._threshold_backward(grad, input, threshold)


@pointwise(_threshold_array, node="ThresholdBackward0", inplace=False, input=_threshold_rule)
@traits(refuses={"bc": "threshold_cpu"})
def _threshold(input: Tensor, threshold: float, value: float) -> Tensor: ...


@pointwise(_threshold_array, node="ThresholdBackward1", input=_threshold_rule)
@traits(refuses={"bc": "threshold_cpu"})
def _threshold_written(input: Tensor, threshold: float, value: float) -> Tensor: ...


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it is above the threshold, else `value`.

    >>> torch.nn.functional.threshold(torch.tensor([0.5, 2.0]), 1.0, 9.0)
    tensor([9., 2.])
    """
    for position, (name, number) in enumerate((("threshold", threshold), ("value", value))):
        if not isinstance(number, (int, float, np.generic)) and not (isinstance(number, Tensor) and number.dim() == 0):
            raise TypeError(
                f"threshold(): argument '{name}' (position {position + 2}) must be Number, not {type(number).__name__}"
            )
    threshold, value = (n.item() if isinstance(n, Tensor) else need_number(n) for n in (threshold, value))
    return run("_threshold_written" if inplace else "_threshold", inplace, input, threshold, value)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """In-place version of `threshold`.

    >>> torch.nn.functional.threshold_(torch.tensor([-3.0, 0.5]), 0.0, 9.0)
    tensor([9.0000, 0.5000])
    """
    return run("_threshold_written", True, input, threshold, value)


@pointwise(kernels.shrink_backward, inplace=False,
           upstream=lambda grad, input, lambd, xp: xp._softshrink_backward(grad, input, lambd), input=zero_gradient)  # fmt: skip
def _softshrink_backward(upstream: Tensor, input: Tensor, lambd: float) -> Tensor: ...


@pointwise(kernels.softshrink, node="SoftshrinkBackward0", inplace=False,
           input=lambda grad, input, lambd, xp: xp._softshrink_backward(grad, input, lambd))  # fmt: skip
@traits(refuses={"biuc": "softshrink_check"})
def _softshrink(input: Tensor, lambd: float) -> Tensor: ...


def softshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """x moved towards 0 by `lambd`; 0 within that distance.

    >>> torch.nn.functional.softshrink(torch.tensor([-2.0, 0.25]))
    tensor([-1.5000,  0.0000])
    """
    lambd = need_number(lambd)
    if isinstance(input, Tensor) and input.dtype.category == dtypes.FLOATING:
        largest = float(dtypes_max(input))
        if not 0 <= lambd <= largest:
            name = dtypes.LEGACY[input.dtype]
            raise RuntimeError(f"lambda must be in range [0, {largest:g}] for input dtype {name}, but found {lambd:g}")
    return _softshrink(input, lambd, out=out)


def dtypes_max(input: Tensor) -> float:
    """The largest finite value of a tensor's dtype."""
    if input.dtype is dtypes.bfloat16:
        return 3.3895313892515355e38
    return float(np.finfo(input._array.dtype).max)


@pointwise(kernels.shrink_backward, inplace=False,
           upstream=lambda grad, input, lambd, xp: xp._hardshrink_backward(grad, input, lambd), input=zero_gradient)  # fmt: skip
def _hardshrink_backward(upstream: Tensor, input: Tensor, lambd: float) -> Tensor: ...


@pointwise(kernels.hardshrink, inplace=False,
           input=lambda grad, input, lambd, xp: xp._hardshrink_backward(grad, input, lambd))  # fmt: skip
@traits(refuses={"biuc": "hardshrink_cpu"})
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x, but 0 within `lambd` of 0.

    >>> torch.nn.functional.hardshrink(torch.tensor([-2.0, 0.25]))
    tensor([-2.,  0.])
    """
