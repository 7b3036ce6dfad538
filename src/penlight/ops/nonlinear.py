"""Activations beyond relu, sigmoid, tanh and softmax. Gradients at kinks are PyTorch's.

A gradient has two forms, paired by `both`: a kernel for arrays, and a composition of differentiable ops.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .. import dtypes
from ..kernels import activation as kernels
from ..tensor import Tensor
from . import _dispatch
from ._args import wrap_dim
from ._declare import OPS, differentiable, install_method, pointwise
from ._raw import both
from ._together import Together
from .activation import softmax as _softmax_along

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946


def floats_only(name: str, complex_too: bool = False) -> Any:
    """A check that refuses integers (and complex numbers) in PyTorch's words."""

    def check(env: dict[str, Any]) -> None:
        d = env["input"].dtype
        if d.category != dtypes.FLOATING and not (complex_too and d.category == dtypes.COMPLEX):
            raise NotImplementedError(f"\"{name}\" not implemented for '{dtypes.LEGACY[d]}'")

    return check


def _run(op: str, inplace: bool, *arguments: Any) -> Tensor:
    """An op, or its in-place form."""
    return _dispatch.inplace(OPS[op], arguments) if inplace else OPS[op].function(*arguments)


# ----- Exponential units --------------------------------------------------------------------------------------------


def _elu_slope(grad: Any, x: Any, alpha: float, scale: float, input_scale: float, is_result: bool) -> Any:
    from .pointwise import where

    positive = x > 0
    low = where(positive, 0.0, x)  # so that no infinity is met in the branch that is not taken
    slope = (low + scale * alpha) * input_scale if is_result else (low * input_scale).exp() * (scale * alpha * input_scale)
    return where(positive, grad * scale, grad * slope)


both("elu_backward", kernels.elu_backward, _elu_slope)


def _result_rule(grad: Any, result: Any, alpha: float, scale: float, input_scale: float, xp: Any) -> Any:
    if alpha < 0:
        raise RuntimeError(
            "In-place elu backward calculation is triggered with a negative slope which is not supported. This is caused "
            "by calling in-place forward function with a negative slope, please call out-of-place version instead."
        )
    return xp.elu_backward(grad, result, alpha, scale, input_scale, True)


@pointwise(kernels.elu, node="EluBackward0", floating=True, inplace=False, check=floats_only("elu_cpu"),
           input=lambda grad, input, alpha, scale, input_scale, xp:
               xp.elu_backward(grad, input, alpha, scale, input_scale, False))  # fmt: skip
def _elu(input: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor: ...


@pointwise(kernels.elu, node="EluBackward1", floating=True, check=floats_only("elu_cpu"), input=_result_rule)
def _elu_written(input: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor: ...


@pointwise(lambda input, alpha: kernels.elu(input, alpha, 1.0, 1 / alpha), node="CeluBackward0", floating=True,
           check=floats_only("elu_cpu"),
           input=lambda grad, input, alpha, xp: xp.elu_backward(grad, input, alpha, 1.0, 1 / alpha, False))  # fmt: skip
def _celu(input: Tensor, alpha: float) -> Tensor: ...


@pointwise(lambda input, alpha: kernels.elu(input, alpha, 1.0, 1 / alpha), node="CeluBackward1", floating=True,
           check=floats_only("elu_cpu"),
           input=lambda grad, result, alpha, xp: _result_rule(grad, result, alpha, 1.0, 1 / alpha, xp))  # fmt: skip
def _celu_written(input: Tensor, alpha: float) -> Tensor: ...


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, else alpha * (exp(x) - 1).

    >>> import penlight as torch
    >>> torch.nn.functional.elu(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return _run("_elu_written", True, input, alpha, 1.0, 1.0) if inplace else _elu(input, alpha, 1.0, 1.0)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place version of `elu`."""
    return elu(input, alpha, True)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the two constants that keep mean and variance through many layers.

    >>> import penlight as torch
    >>> torch.nn.functional.selu(torch.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
    return _run("_elu_written" if inplace else "_elu", inplace, input, SELU_ALPHA, SELU_SCALE, 1.0)


def selu_(input: Tensor) -> Tensor:
    """In-place version of `selu`."""
    return selu(input, True)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, else alpha * (exp(x / alpha) - 1).

    >>> import penlight as torch
    >>> torch.nn.functional.celu(torch.tensor([-1.0, 2.0]), alpha=2.0)
    tensor([-0.7869,  2.0000])
    """
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return _run("_celu_written", True, input, alpha) if inplace else _celu(input, alpha)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place version of `celu`."""
    return celu(input, alpha, True)


# ----- Smooth units -------------------------------------------------------------------------------------------------

_INV_SQRT_2PI = 1 / math.sqrt(2 * math.pi)
_TANH_SLOPE = math.sqrt(2 / math.pi)


def _gelu_bend(upstream: Any, input: Any, approximate: str, xp: Any) -> Any:
    """The derivative of gelu's derivative, times `upstream`."""
    if approximate == "none":
        return upstream * (_INV_SQRT_2PI * (2 - input * input) * xp.exp(-0.5 * (input * input)))
    square = input * input
    t = xp.tanh(_TANH_SLOPE * (input * (1 + 0.044715 * square)))
    inner = _TANH_SLOPE * (1 + 0.134145 * square)
    turn = (1 - t * t) * (inner + input * (_TANH_SLOPE * 0.134145) * input - input * t * inner * inner)
    return upstream * turn


@pointwise(kernels.gelu_backward, inplace=False,
           upstream=lambda grad, input, approximate, xp: xp._gelu_backward(grad, input, approximate),
           input=lambda grad, upstream, input, approximate, xp: _gelu_bend(grad * upstream, input, approximate, xp))  # fmt: skip
def _gelu_backward(upstream: Tensor, input: Tensor, approximate: str) -> Tensor: ...


@pointwise(kernels.gelu, node="GeluBackward0", floating=True, inplace=False, check=floats_only("GeluKernelImpl"),
           input=lambda grad, input, approximate, xp: xp._gelu_backward(grad, input, approximate))  # fmt: skip
def _gelu(input: Tensor, approximate: str) -> Tensor: ...


def gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x; `approximate="tanh"` is the cheaper formula of GPT.

    >>> import penlight as torch
    >>> torch.nn.functional.gelu(torch.tensor([-1.0, 1.0]))
    tensor([-0.1587,  0.8413])
    """
    if approximate != "none" and approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return _gelu(input, approximate)


def _silu_slope(grad: Any, input: Any) -> Any:
    s = input.sigmoid()
    return grad * (s * (1 + input * (1 - s)))


both("silu_backward", kernels.silu_backward, _silu_slope)


@pointwise(kernels.silu, node="SiluBackward0", floating=True, check=floats_only("silu_cpu", complex_too=True),
           input=lambda grad, input, xp: xp.silu_backward(grad, input))  # fmt: skip
def _silu(input: Tensor) -> Tensor: ...


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x), also known as swish.

    >>> import penlight as torch
    >>> torch.nn.functional.silu(torch.tensor([-1.0, 1.0]))
    tensor([-0.2689,  0.7311])
    """
    return _run("_silu", True, input) if inplace else _silu(input)


def _mish_slope(grad: Any, input: Any) -> Any:
    t, s = softplus(input).tanh(), input.sigmoid()
    return grad * (t + input * s * (1 - t * t))


both("mish_backward", kernels.mish_backward, _mish_slope)


@pointwise(kernels.mish, node="MishBackward0", floating=True, check=floats_only("mish_cpu"),
           input=lambda grad, input, xp: xp.mish_backward(grad, input))  # fmt: skip
def _mish(input: Tensor) -> Tensor: ...


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x)).

    >>> import penlight as torch
    >>> torch.nn.functional.mish(torch.tensor([-1.0, 1.0]))
    tensor([-0.3034,  0.8651])
    """
    return _run("_mish", inplace, input)


def _softplus_slope(grad: Any, input: Any, beta: float, threshold: float) -> Any:
    from .pointwise import where

    scaled = input * beta
    return where(scaled > threshold, grad, grad * scaled.sigmoid())


both("softplus_backward", kernels.softplus_backward, _softplus_slope)


@pointwise(kernels.softplus, node="SoftplusBackward0", floating=True, inplace=False, check=floats_only("softplus_cpu"),
           input=lambda grad, input, beta, threshold, xp: xp.softplus_backward(grad, input, beta, threshold))  # fmt: skip
def _softplus(input: Tensor, beta: float, threshold: float) -> Tensor: ...


def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """log(1 + exp(beta * x)) / beta, a smooth relu; x itself where beta * x is above `threshold`.

    >>> import penlight as torch
    >>> torch.nn.functional.softplus(torch.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """
    return _softplus(input, beta, threshold)


both("logsigmoid_backward", kernels.logsigmoid_backward, lambda grad, input: grad * (-input).sigmoid())


@pointwise(kernels.logsigmoid, node="LogSigmoidBackward0", floating=True, inplace=False, check=floats_only("log_sigmoid_cpu"),
           input=lambda grad, input, xp: xp.logsigmoid_backward(grad, input))  # fmt: skip
def _logsigmoid(input: Tensor) -> Tensor: ...


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), exact also where the sigmoid is as good as 0.

    >>> import penlight as torch
    >>> torch.nn.functional.logsigmoid(torch.tensor([0.0, -100.0]))
    tensor([  -0.6931, -100.0000])
    """
    return _logsigmoid(input)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|).

    >>> import penlight as torch
    >>> torch.nn.functional.softsign(torch.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x).

    >>> import penlight as torch
    >>> torch.nn.functional.tanhshrink(torch.tensor([1.0]))
    tensor([0.2384])
    """
    return input - input.tanh()


# ----- Units of straight lines --------------------------------------------------------------------------------------


def _clip_slope(grad: Any, input: Any, min_val: float, max_val: float) -> Any:
    from .pointwise import where

    return where((input <= min_val) | (input >= max_val), 0.0, grad)


both("hardtanh_backward", kernels.hardtanh_backward, _clip_slope)


def _hardtanh_array(input: Any, min_val: float, max_val: float) -> Any:
    if input.dtype.kind == "b":
        raise RuntimeError("Bool inputs not supported for hardtanh")
    return kernels.hardtanh(input, min_val, max_val)


def _not_complex(env: dict[str, Any]) -> None:
    if env["input"].dtype.category == dtypes.COMPLEX:
        raise NotImplementedError("clamp is not supported for complex types")


@pointwise(_hardtanh_array, node="HardtanhBackward0", check=_not_complex,
           input=lambda grad, input, min_val, max_val, xp: xp.hardtanh_backward(grad, input, min_val, max_val))  # fmt: skip
def _hardtanh(input: Tensor, min_val: float, max_val: float) -> Tensor: ...


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x limited to the range from `min_val` to `max_val`.

    >>> import penlight as torch
    >>> torch.nn.functional.hardtanh(torch.tensor([-3.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _run("_hardtanh", inplace, input, min_val, max_val)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """In-place version of `hardtanh`."""
    return hardtanh(input, min_val, max_val, True)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x limited to the range from 0 to 6.

    >>> import penlight as torch
    >>> torch.nn.functional.relu6(torch.tensor([-1.0, 7.0]))
    tensor([0., 6.])
    """
    return _run("_hardtanh", inplace, input, 0.0, 6.0)


def relu_(input: Tensor) -> Tensor:
    """In-place version of `relu`."""
    return _dispatch.inplace(OPS["relu"], (input,))


def _hardsigmoid_slope(grad: Any, input: Any) -> Any:
    from .pointwise import where

    return where((input > -3.0) & (input < 3.0), grad / 6.0, 0.0)


both("hardsigmoid_backward", kernels.hardsigmoid_backward, _hardsigmoid_slope)


@pointwise(kernels.hardsigmoid, node="HardsigmoidBackward0", floating=True, check=floats_only("hardsigmoid_cpu"),
           input=lambda grad, input, xp: xp.hardsigmoid_backward(grad, input))  # fmt: skip
def _hardsigmoid(input: Tensor) -> Tensor: ...


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """x / 6 + 1 / 2, limited to the range from 0 to 1.

    >>> import penlight as torch
    >>> torch.nn.functional.hardsigmoid(torch.tensor([-4.0, 1.5]))
    tensor([0.0000, 0.7500])
    """
    return _run("_hardsigmoid", inplace, input)


def _hardswish_slope(grad: Any, input: Any) -> Any:
    from .pointwise import where

    return where(input <= -3.0, 0.0, where(input < 3.0, grad * (input / 3.0 + 0.5), grad))


both("hardswish_backward", kernels.hardswish_backward, _hardswish_slope)


@pointwise(kernels.hardswish, node="HardswishBackward0", floating=True, check=floats_only("hardswish_cpu"),
           input=lambda grad, input, xp: xp.hardswish_backward(grad, input))  # fmt: skip
def _hardswish(input: Tensor) -> Tensor: ...


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * hardsigmoid(x).

    >>> import penlight as torch
    >>> torch.nn.functional.hardswish(torch.tensor([-4.0, 1.5]))
    tensor([-0.0000,  1.1250])
    """
    return _run("_hardswish", inplace, input)


def _leaky_slope(grad: Any, input: Any, negative_slope: float) -> Any:
    from .pointwise import where

    return where(input > 0, grad, grad * negative_slope)


both("leaky_relu_backward", kernels.leaky_relu_backward, _leaky_slope)


def _leaky_result_rule(grad: Any, result: Any, negative_slope: float, xp: Any) -> Any:
    if negative_slope < 0:
        raise RuntimeError(
            "In-place leakyReLu backward calculation is triggered with a negative slope which is not supported. This is "
            "caused by calling in-place forward function with a negative slope, please call out-of-place version instead. "
            "File an issue at https://github.com/pytorch/pytorch if you do require supporting in-place leakRelu backward "
            "calculation with negative slope"
        )
    return xp.leaky_relu_backward(grad, result, negative_slope)


@pointwise(kernels.leaky_relu, node="LeakyReluBackward0", floating=True, inplace=False, check=floats_only("leaky_relu_cpu"),
           input=lambda grad, input, negative_slope, xp: xp.leaky_relu_backward(grad, input, negative_slope))  # fmt: skip
def _leaky_relu(input: Tensor, negative_slope: float) -> Tensor: ...


@pointwise(kernels.leaky_relu, node="LeakyReluBackward1", floating=True, check=floats_only("leaky_relu_cpu"), input=_leaky_result_rule)
def _leaky_relu_written(input: Tensor, negative_slope: float) -> Tensor: ...


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where it is positive, else `negative_slope` * x.

    >>> import penlight as torch
    >>> torch.nn.functional.leaky_relu(torch.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return _run("_leaky_relu_written", True, input, negative_slope) if inplace else _leaky_relu(input, negative_slope)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """In-place version of `leaky_relu`."""
    return leaky_relu(input, negative_slope, True)


def _above(grad: Any, input: Any, threshold: float) -> Any:
    from .pointwise import where

    return where(input <= threshold, 0.0, grad)


both("threshold_backward", kernels.threshold_backward, _above)


def _threshold_array(input: Any, threshold: float, value: float) -> Any:
    if input.dtype.kind == "b":
        raise NotImplementedError("\"threshold_cpu\" not implemented for 'Bool'")
    if input.dtype.kind in "iu":
        return np.where(input <= threshold, input.dtype.type(value), input)
    return kernels.threshold(input, threshold, value)


def _threshold_check(env: dict[str, Any]) -> None:
    if env["input"].dtype.category == dtypes.COMPLEX:
        floats_only("threshold_cpu")(env)


def _threshold_rule(grad: Any, input: Any, threshold: float, xp: Any) -> Any:
    return xp.threshold_backward(grad, input, threshold)


@pointwise(_threshold_array, node="ThresholdBackward0", check=_threshold_check, inplace=False, input=_threshold_rule)
def _threshold(input: Tensor, threshold: float, value: float) -> Tensor: ...


@pointwise(_threshold_array, node="ThresholdBackward1", check=_threshold_check, input=_threshold_rule)
def _threshold_written(input: Tensor, threshold: float, value: float) -> Tensor: ...


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it is above the threshold, else `value`.

    >>> import penlight as torch
    >>> torch.nn.functional.threshold(torch.tensor([0.5, 2.0]), 1.0, 9.0)
    tensor([9., 2.])
    """
    for place, (name, number) in enumerate((("threshold", threshold), ("value", value))):
        if not isinstance(number, (int, float, Tensor)):
            raise TypeError(f"threshold(): argument '{name}' (position {place + 2}) must be Number, not {type(number).__name__}")
    return _run("_threshold_written" if inplace else "_threshold", inplace, input, threshold, value)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """In-place version of `threshold`."""
    return _run("_threshold_written", True, input, threshold, value)


def _within(grad: Any, input: Any, lambd: float) -> Any:
    from .pointwise import where

    return where((input >= -lambd) & (input <= lambd), 0.0, grad)


both("shrink_backward", kernels.shrink_backward, _within)


@pointwise(kernels.softshrink, node="SoftshrinkBackward0", floating=True, inplace=False, check=floats_only("softshrink_check"),
           input=lambda grad, input, lambd, xp: xp.shrink_backward(grad, input, lambd))  # fmt: skip
def _softshrink(input: Tensor, lambd: float) -> Tensor: ...


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by `lambd`, and 0 within that distance.

    >>> import penlight as torch
    >>> torch.nn.functional.softshrink(torch.tensor([-2.0, 0.25]))
    tensor([-1.5000,  0.0000])
    """
    if isinstance(input, Tensor) and input.dtype.category == dtypes.FLOATING:
        largest = float(dtypes_max(input))
        if not 0 <= lambd <= largest:
            name = dtypes.LEGACY[input.dtype]
            raise RuntimeError(f"lambda must be in range [0, {largest:g}] for input dtype {name}, but found {lambd:g}")
    return _softshrink(input, lambd)


def dtypes_max(input: Tensor) -> float:
    """The largest finite number of a tensor's dtype."""
    if input.dtype is dtypes.bfloat16:
        return 3.3895313892515355e38
    return float(np.finfo(input._array.dtype).max)


@pointwise(kernels.hardshrink, floating=True, inplace=False, check=floats_only("hardshrink_cpu"),
           input=lambda grad, input, lambd, xp: xp.shrink_backward(grad, input, lambd))  # fmt: skip
def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x, but 0 within `lambd` of 0.

    >>> import penlight as torch
    >>> torch.nn.functional.hardshrink(torch.tensor([-2.0, 0.25]))
    tensor([-2.,  0.])
    """


# ----- Units with weights or chance ---------------------------------------------------------------------------------


def _prelu_slopes(place: int, needs: Any, grad: Any, input: Any, weight: Any) -> Any:
    """The gradient of one input, element by element; `pointwise` sums it to the weight's shape."""
    from .pointwise import where

    return where(input > 0, grad, grad * weight) if place == 0 else where(input > 0, 0.0, grad * input)


both("prelu_backward", Together(lambda grad, input, weight, needs: kernels.prelu_backward(grad, input, weight)), _prelu_slopes)


@pointwise(kernels.prelu, inplace=False, node="PreluKernelBackward0",
           input=lambda grad, input, weight, needs, xp: xp.prelu_backward(0, needs, grad, input, weight),
           weight=lambda grad, input, weight, needs, xp: xp.prelu_backward(1, needs, grad, input, weight))  # fmt: skip
def _prelu_kernel(input: Tensor, weight: Tensor) -> Tensor: ...


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where it is positive, else weight * x: one weight, or one for each channel.

    >>> import penlight as torch
    >>> torch.nn.functional.prelu(torch.tensor([-2.0, 2.0]), torch.tensor([0.25]))
    tensor([-0.5000,  2.0000])
    """
    if input.dtype is not weight.dtype:
        kinds = dtypes.LEGACY[input.dtype], dtypes.LEGACY[weight.dtype]
        raise RuntimeError(f"prelu: Type promoting not supported. Got {kinds[0]} and {kinds[1]}")
    floats_only("prelu_cpu")({"input": input})
    shape, count = input._array.shape, weight._array.size
    if count != 1:
        if not shape:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = shape[1] if len(shape) > 1 else 1
        if channels != count:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {count} and channel size "
                f"= {channels}."
            )
    if weight._array.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight._array.ndim}")
    if weight._array.ndim != len(shape):
        weight = weight.reshape([count if d == 1 else 1 for d in range(len(shape))])
    return _prelu_kernel(input, weight)


install_method("prelu", prelu)


def _rrelu_array(input: Any, noise: Any, lower: float, upper: float, training: bool) -> Any:
    return input * noise if training else kernels.leaky_relu(input, (lower + upper) / 2)


def _rrelu_rule(grad: Any, input: Any, noise: Any, lower: float, upper: float, training: bool, xp: Any) -> Any:
    if training and upper - lower > 1e-6:
        return grad * noise
    return xp.leaky_relu_backward(grad, input, (lower + upper) / 2)


def _rrelu_result_rule(grad: Any, result: Any, noise: Any, lower: float, upper: float, training: bool, xp: Any) -> Any:
    if training and upper - lower > 1e-6:
        return grad * noise
    return _leaky_result_rule(grad, result, (lower + upper) / 2, xp)


@differentiable(_rrelu_array, node="RreluWithNoiseBackward0", input=_rrelu_rule)
def _rrelu(input: Tensor, noise: Tensor | None, lower: float, upper: float, training: bool) -> Tensor: ...


@differentiable(_rrelu_array, node="RreluWithNoiseBackward1", inplace=True, input=_rrelu_result_rule)
def _rrelu_written(input: Tensor, noise: Tensor | None, lower: float, upper: float, training: bool) -> Tensor: ...


def _slopes_for(input: Tensor, lower: float, upper: float) -> Tensor:
    """A random slope for each element that is not positive, 1 for the others."""
    from ..kernels.rng_uniform import uniform53
    from ..random import engine_of
    from ..tensor import wrap

    array = input._array
    noise = np.ones(array.shape, array.dtype)
    flat = array <= 0
    draws = uniform53(engine_of(None), (int(np.count_nonzero(flat)),))
    noise[flat] = draws * (upper - lower) + lower
    return wrap(noise)


def rrelu(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False) -> Tensor:
    """`leaky_relu` with a slope drawn from a range for each element in training, and its middle otherwise.

    >>> import penlight as torch
    >>> torch.nn.functional.rrelu(torch.tensor([-1.0, 2.0]), 0.25, 0.75)
    tensor([-0.5000,  2.0000])
    """
    if isinstance(input, Tensor):
        floats_only("rrelu_with_noise_out_cpu" if training else "leaky_relu_cpu")({"input": input})
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    noise = _slopes_for(input, lower, upper) if training else None
    return _run("_rrelu_written" if inplace else "_rrelu", inplace, input, noise, lower, upper, training)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """In-place version of `rrelu`."""
    return rrelu(input, lower, upper, training, True)


def _glu_slope(grad: Any, input: Any, dim: int) -> Any:
    from .joining import cat

    first, second = input.chunk(2, dim)
    gate = second.sigmoid()
    part = grad * gate
    return cat([part, part * first * (1 - gate)], dim)


both("glu_backward", kernels.glu_backward, _glu_slope)


@differentiable(kernels.glu, node="GluBackward0", input=lambda grad, input, dim, xp: xp.glu_backward(grad, input, dim))
def _glu(input: Tensor, dim: int) -> Tensor: ...


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of the input along a dimension, times the sigmoid of the second half.

    >>> import penlight as torch
    >>> torch.nn.functional.glu(torch.tensor([3.0, 0.0]))
    tensor([1.5000])
    """
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    place = wrap_dim(dim, input.dim())
    if input.shape[place] % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {place} is size {input.shape[place]}")
    floats_only("glu_cpu")({"input": input})
    return _glu(input, place)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """`softmax` of the negated input.

    >>> import penlight as torch
    >>> torch.nn.functional.softmin(torch.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    if dim is None:
        dim = softmax_dim("softmin", input.dim(), _stacklevel)
    return _softmax_along(-input, dim, dtype)


def softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dimension that old programs mean when they give none, after a warning."""
    import warnings

    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=stacklevel + 1,
    )
    return 0 if ndim in (0, 1, 3) else 1


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """A random sample near a corner of the simplex, differentiable in the logits; `hard` rounds it to a corner but keeps
    the soft sample's gradient.

    >>> import penlight as torch
    >>> bool(torch.nn.functional.gumbel_softmax(torch.zeros(2, 3), hard=True).sum() == 2)
    True
    """
    import warnings

    from ..kernels.rng_samplers import exponential
    from ..random import engine_of
    from ..tensor import wrap

    if eps != 1e-10:
        warnings.warn("`eps` parameter is deprecated and has no effect.", stacklevel=2)
    if logits.dtype.category != dtypes.FLOATING:
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you "
            f"specified {dtypes.LEGACY[logits.dtype]}"
        )
    noise = exponential(engine_of(None), 1.0, tuple(logits.shape), logits._array.dtype)
    with np.errstate(divide="ignore"):
        noise = -np.log(noise)
    soft = _softmax_along((logits + wrap(noise)) / tau, dim)
    if not hard:
        return soft
    place = soft.max(dim, keepdim=True).indices
    corner = wrap(np.zeros(tuple(logits.shape), logits._array.dtype)).scatter_(dim, place, 1.0)
    return corner - soft.detach() + soft
