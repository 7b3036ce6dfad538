"""Convolution of sequences that are laid out as time, batch, channels."""

from __future__ import annotations

import math
from typing import Any

from ...kernels import conv as kernels
from ...tensor import Tensor
from ..machinery.declare import differentiable
from ..machinery.guards import refuse_complex_gradient
from . import conv as _conv  # noqa: F401  the rules use what it declares

__all__ = ["conv_tbc"]

Ints = tuple[int, ...]


def _tbc_array(input: Any, weight: Any, bias: Any, pad: int) -> Any:
    out = kernels.conv(input.transpose(1, 2, 0), weight.transpose(2, 1, 0), (1,), (pad,), (1,), 1, bias)
    return out.transpose(2, 0, 1).copy()


def _tbc_input_rule(grad: Any, weight: Any, input_shape: Ints, pad: int, xp: Any) -> Any:
    shape = (input_shape[1], input_shape[2], input_shape[0])
    moved, transposed = xp._permute(grad, (1, 2, 0)), xp._permute(weight, (2, 1, 0))
    return xp._permute(xp.conv_input_grad(moved, transposed, shape, (1,), (pad,), (1,), 1), (2, 0, 1))


def _tbc_weight_rule(grad: Any, input: Any, weight_shape: Ints, pad: int, xp: Any) -> Any:
    moved, source = xp._permute(grad, (1, 2, 0)), xp._permute(input, (1, 2, 0))
    found = xp._conv_weight(moved, source, (weight_shape[2], weight_shape[1], weight_shape[0]), (1,), (pad,), (1,), 1)
    return xp._permute(found, (2, 1, 0))


@differentiable(_tbc_array, node="ConvTbcBackward0", input=_tbc_input_rule, weight=_tbc_weight_rule,
                bias=lambda grad, xp: xp._sum_dims(grad, (0, 1), False))  # fmt: skip
def _conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int) -> Tensor: ...


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """`conv1d` of sequences (time, batch, channels) with weights (width, channels, results).

    >>> torch.nn.functional.conv_tbc(torch.ones(3, 1, 1), torch.ones(2, 1, 1), torch.zeros(1)).flatten()
    tensor([2., 2.])
    """
    for what, tensor, dims, names in (("Input", input, 3, "time, batch, in_channel"),
                                      ("Weight tensor", weight, 3, "kernel_width, in_channels, out_channels.")):  # fmt: skip
        if tensor.dim() != dims:
            raise RuntimeError(f"{what} must have {dims} dims: {names}")
    if bias.dim() != 1:
        raise RuntimeError("Bias must be 1-D")
    if input.shape[2] != weight.shape[1]:
        raise RuntimeError("Input dim 2 (input channels) is not == dim 1 in the weight tensor")
    if weight.shape[2] != bias.shape[0]:
        raise RuntimeError("Bias size must equal dim 2 in the weight tensor (output channels).")
    steps = input.shape[0] + 2 * pad - weight.shape[0] + 1
    if math.prod(input.shape) and steps < 0:
        sizes = [steps, input.shape[1], weight.shape[2]]
        raise RuntimeError(f"Trying to create tensor with negative dimension {steps}: {sizes}")
    refuse_complex_gradient("conv_tbc", input, weight, bias)
    return _conv_tbc(input, weight, bias, pad)
