"""Smooth activations beyond sigmoid, tanh and softmax.

A gradient is either an op with its own derivative, or has two forms, paired by `both`: a kernel for arrays, and a composition of ops.
"""

from __future__ import annotations

import math
from typing import Any

from ...kernels.elementwise import activation as kernels
from ...tensor import Tensor
from ..machinery.array_namespace import both
from ..machinery.declare import pointwise
from ..machinery.op import traits
from .activation import as_number, run

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "logsigmoid", "mish", "selu", "selu_", "silu", "softplus", "softsign",
    "tanhshrink"
]  # fmt: skip

SELU_ALPHA, SELU_SCALE = 1.6732632423543772848170429916717, 1.0507009873554804934193349852946

# ----- Exponential units --------------------------------------------------------------------------------------------


def _elu_bend(upstream: Any, x: Any, alpha: float, scale: float, input_scale: float, is_result: bool, xp: Any) -> Any:
    """The derivative of elu's derivative by the input (or by the result that it is computed from), times `upstream`."""
    if is_result:
        return xp.where(x < 0, upstream * input_scale, 0.0)
    low = xp.where(x < 0, x, 0.0)  # avoids infinities in the branch that is not taken
    return xp.where(x < 0, upstream * (xp.exp(low * input_scale) * (scale * alpha * input_scale**2)), 0.0)


@pointwise(kernels.elu_backward, inplace=False,
           upstream=lambda grad, x, alpha, scale, input_scale, is_result, xp:
               xp._elu_backward(grad, x, alpha, scale, input_scale, is_result),
           x=lambda grad, upstream, x, alpha, scale, input_scale, is_result, xp:
               _elu_bend(grad * upstream, x, alpha, scale, input_scale, is_result, xp))  # fmt: skip
def _elu_backward(
    upstream: Tensor, x: Tensor, alpha: float, scale: float, input_scale: float, is_result: bool
) -> Tensor: ...


def _result_rule(grad: Any, result: Any, alpha: float, scale: float, input_scale: float, xp: Any) -> Any:
    if alpha < 0:
        raise RuntimeError(
            "In-place elu backward calculation is triggered with a negative slope which is not supported. This is caused "
            "by calling in-place forward function with a negative slope, please call out-of-place version instead."
        )
    return xp._elu_backward(grad, result, alpha, scale, input_scale, True)


@pointwise(kernels.elu, node="EluBackward0", inplace=False,
           input=lambda grad, input, alpha, scale, input_scale, xp:
               xp._elu_backward(grad, input, alpha, scale, input_scale, False))  # fmt: skip
@traits(refuses={"biuc": "elu_cpu"})
def _elu(input: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor: ...


@pointwise(kernels.elu, node="EluBackward1", input=_result_rule)
@traits(refuses={"biuc": "elu_cpu"})
def _elu_written(input: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor: ...


@pointwise(lambda input, alpha: kernels.elu(input, alpha, 1.0, 1 / alpha), node="CeluBackward0",
           input=lambda grad, input, alpha, xp: xp._elu_backward(grad, input, alpha, 1.0, 1 / alpha, False))  # fmt: skip
@traits(refuses={"biuc": "elu_cpu"})
def _celu(input: Tensor, alpha: float) -> Tensor: ...


@pointwise(lambda input, alpha: kernels.elu(input, alpha, 1.0, 1 / alpha), node="CeluBackward1",
           input=lambda grad, result, alpha, xp: _result_rule(grad, result, alpha, 1.0, 1 / alpha, xp))  # fmt: skip
@traits(refuses={"biuc": "elu_cpu"})
def _celu_written(input: Tensor, alpha: float) -> Tensor: ...


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, else alpha * (exp(x) - 1).

    >>> torch.nn.functional.elu(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    alpha = as_number("elu_" if inplace else "elu", "alpha", alpha)
    return run("_elu_written", True, input, alpha, 1.0, 1.0) if inplace else _elu(input, alpha, 1.0, 1.0)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place version of `elu`.

    >>> torch.nn.functional.elu_(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return elu(input, alpha, True)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` with the two constants that preserve mean and variance through many layers.

    >>> torch.nn.functional.selu(torch.tensor([-1.0, 1.0]))
    tensor([-1.1113,  1.0507])
    """
    return run("_elu_written" if inplace else "_elu", inplace, input, SELU_ALPHA, SELU_SCALE, 1.0)


def selu_(input: Tensor) -> Tensor:
    """In-place version of `selu`.

    >>> torch.nn.functional.selu_(torch.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return selu(input, True)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where it is positive, else alpha * (exp(x / alpha) - 1).

    >>> torch.nn.functional.celu(torch.tensor([-1.0, 2.0]), alpha=2.0)
    tensor([-0.7869,  2.0000])
    """
    alpha = as_number("celu_" if inplace else "celu", "alpha", alpha)
    if alpha == 0:
        raise RuntimeError("ZeroDivisionError: alpha cannot be 0 for CELU")
    return run("_celu_written", True, input, alpha) if inplace else _celu(input, alpha)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """In-place version of `celu`.

    >>> torch.nn.functional.celu_(torch.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
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


@pointwise(kernels.gelu, node="GeluBackward0", inplace=False,
           input=lambda grad, input, approximate, xp: xp._gelu_backward(grad, input, approximate))  # fmt: skip
@traits(refuses={"biuc": "GeluKernelImpl"})
def _gelu(input: Tensor, approximate: str) -> Tensor: ...


def gelu(input: Tensor, *, approximate: str = "none", out: Tensor | None = None) -> Tensor:
    """x times the normal distribution function of x; `approximate="tanh"` is a cheaper approximation, used by GPT.

    >>> torch.nn.functional.gelu(torch.tensor([-1.0, 1.0]))
    tensor([-0.1587,  0.8413])
    """
    if approximate != "none" and approximate != "tanh":
        raise RuntimeError("approximate argument must be either none or tanh.")
    return _gelu(input, approximate, out=out)


def _silu_slope(grad: Any, input: Any) -> Any:
    s = input.sigmoid()
    return grad * (s * (1 + input * (1 - s)))


both("silu_backward", kernels.silu_backward, _silu_slope)


@pointwise(kernels.silu, node="SiluBackward0",
           input=lambda grad, input, xp: xp.silu_backward(grad, input))  # fmt: skip
@traits(refuses={"biu": "silu_cpu"})
def _silu(input: Tensor) -> Tensor: ...


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x * sigmoid(x), also known as swish.

    >>> torch.nn.functional.silu(torch.tensor([-1.0, 1.0]))
    tensor([-0.2689,  0.7311])
    """
    return run("_silu", True, input) if inplace else _silu(input)


def _mish_slope(grad: Any, input: Any) -> Any:
    t, s = softplus(input).tanh(), input.sigmoid()
    return grad * (t + input * s * (1 - t * t))


both("mish_backward", kernels.mish_backward, _mish_slope)


@pointwise(kernels.mish, node="MishBackward0",
           input=lambda grad, input, xp: xp.mish_backward(grad, input))  # fmt: skip
@traits(refuses={"biuc": "mish_cpu"})
def _mish(input: Tensor) -> Tensor: ...


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x * tanh(softplus(x)).

    >>> torch.nn.functional.mish(torch.tensor([-1.0, 1.0]))
    tensor([-0.3034,  0.8651])
    """
    return run("_mish", inplace, input)


def _softplus_bend(upstream: Any, input: Any, beta: float, threshold: float, xp: Any) -> Any:
    gate = xp.sigmoid(input * beta)
    return xp.where(input * beta > threshold, 0.0, upstream * (gate * (1 - gate) * beta))


@pointwise(kernels.softplus_backward, inplace=False,
           upstream=lambda grad, input, beta, threshold, xp: xp._softplus_backward(grad, input, beta, threshold),
           input=lambda grad, upstream, input, beta, threshold, xp:
               _softplus_bend(grad * upstream, input, beta, threshold, xp))  # fmt: skip
def _softplus_backward(upstream: Tensor, input: Tensor, beta: float, threshold: float) -> Tensor: ...


@pointwise(kernels.softplus, node="SoftplusBackward0", inplace=False,
           input=lambda grad, input, beta, threshold, xp: xp._softplus_backward(grad, input, beta, threshold))  # fmt: skip
@traits(refuses={"biuc": "softplus_cpu"})
def _softplus(input: Tensor, beta: float, threshold: float) -> Tensor: ...


def softplus(input: Tensor, beta: float = 1, threshold: float = 20, *, out: Tensor | None = None) -> Tensor:
    """log(1 + exp(beta * x)) / beta, a smooth relu; x itself where beta * x is above `threshold`.

    >>> torch.nn.functional.softplus(torch.tensor([0.0, 30.0]))
    tensor([ 0.6931, 30.0000])
    """
    return _softplus(input, beta, threshold, out=out)


def _logsigmoid_bend(upstream: Any, input: Any, xp: Any) -> Any:
    gate = xp.sigmoid(input)
    return upstream * (gate * (gate - 1))


@pointwise(kernels.logsigmoid_backward, node="LogSigmoidBackwardBackward0", inplace=False,
           upstream=lambda grad, input, xp: xp._logsigmoid_backward(grad, input),
           input=lambda grad, upstream, input, xp: _logsigmoid_bend(grad * upstream, input, xp))  # fmt: skip
def _logsigmoid_backward(upstream: Tensor, input: Tensor) -> Tensor: ...


@pointwise(kernels.logsigmoid, node="LogSigmoidBackward0", inplace=False,
           input=lambda grad, input, xp: xp._logsigmoid_backward(grad, input))  # fmt: skip
@traits(refuses={"biuc": "log_sigmoid_cpu"}, contiguous=True)
def _logsigmoid(input: Tensor) -> Tensor: ...


def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(sigmoid(x)), accurate even where the sigmoid is nearly 0.

    >>> torch.nn.functional.logsigmoid(torch.tensor([0.0, -100.0]))
    tensor([  -0.6931, -100.0000])
    """
    return _logsigmoid(input, out=out)


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|).

    >>> torch.nn.functional.softsign(torch.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return input / (input.abs() + 1)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x).

    >>> torch.nn.functional.tanhshrink(torch.tensor([1.0]))
    tensor([0.2384])
    """
    return input - input.tanh()
