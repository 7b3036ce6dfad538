"""Convolutions and their transposes, in one to three dimensions.

One op implements both: a transposed convolution is the gradient of a convolution by its input. Together with a second op, the gradient by
the weights, it is closed under differentiation, so derivatives of every order exist. The work is in `kernels.conv`.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

from ..._common.user_warnings import warn_once
from ...kernels import conv as kernels
from ...tensor import Tensor
from ..linalg.addmm import check_sum
from ..machinery.array_namespace import both
from ..machinery.declare import OPS, differentiable
from ..machinery.guards import plain_numbers, refuse_complex_gradient
from ..machinery.op import traits
from ..machinery.rules import saved_as_input
from .conv_arguments import Ints, check_dtypes, same_totals, settle, settled, transposed_shape
from .padding import constant_pad_nd

__all__ = [
    "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "convolution"
]  # fmt: skip

# ----- The ops ------------------------------------------------------------------------------------------------------


def _convolution_array(
    input: Any, weight: Any, bias: Any, stride: Ints, padding: Ints, dilation: Ints, transposed: bool, output_padding: Ints, groups: int,
) -> Any:  # fmt: skip
    if transposed:
        shape = _known_shape(input.shape, weight.shape, stride, padding, dilation, output_padding, groups)
        return kernels.conv_input_grad(input, weight, shape, stride, padding, dilation, groups, bias)
    result = kernels.conv(input, weight, stride, padding, dilation, groups, bias)
    return result if input.shape[1] else result[:, :0].copy()  # PyTorch's result for inputs without channels


_known_shape = lru_cache(256)(transposed_shape)


def _input_grad_graph(
    grad: Any, weight: Any, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Any:
    """The gradient of a convolution by its input: a transposed convolution, whose output padding is what the stride left over."""
    none = (0,) * len(stride)
    plain = transposed_shape(tuple(grad.shape), tuple(weight.shape), stride, padding, dilation, none, groups)
    rest = tuple(n - m for n, m in zip(shape[2:], plain[2:]))
    return _convolution(grad, weight, None, stride, padding, dilation, True, rest, groups)


def _forward_graph(input: Any, weight: Any, stride: Ints, padding: Ints, dilation: Ints, groups: int) -> Any:
    return _convolution(input, weight, None, stride, padding, dilation, False, (0,) * len(stride), groups)


both("conv", kernels.conv, _forward_graph)
both("conv_input_grad", kernels.conv_input_grad, _input_grad_graph)


@differentiable(kernels.conv_weight_grad,
                upstream=lambda grad, input, upstream_shape, stride, padding, dilation, groups, xp:
                    xp.cut(xp.conv(xp.conj(input), grad, stride, padding, dilation, groups), upstream_shape),
                input=lambda grad, upstream, input_shape, stride, padding, dilation, groups, xp:
                    xp.conv_input_grad(xp.conj(upstream), grad, input_shape, stride, padding, dilation, groups))  # fmt: skip
def _conv_weight(
    upstream: Tensor, input: Tensor, shape: Ints, stride: Ints, padding: Ints, dilation: Ints, groups: int
) -> Tensor: ...


def _input_rule(
    grad: Any, weight: Any, input_shape: Ints, stride: Ints, padding: Ints, dilation: Ints, transposed: bool, groups: int, xp: Any,
) -> Any:  # fmt: skip
    weight = xp.conj(weight)
    if transposed:
        return xp.cut(xp.conv(grad, weight, stride, padding, dilation, groups), input_shape)
    return xp.conv_input_grad(grad, weight, input_shape, stride, padding, dilation, groups)


def _weight_rule(
    grad: Any, input: Any, weight_shape: Ints, stride: Ints, padding: Ints, dilation: Ints, transposed: bool, groups: int, xp: Any,
) -> Any:  # fmt: skip
    if transposed:
        return xp._conv_weight(xp.conj(input), grad, weight_shape, stride, padding, dilation, groups)
    return xp._conv_weight(grad, xp.conj(input), weight_shape, stride, padding, dilation, groups)


def _bias_rule(grad: Any, bias_shape: Ints, xp: Any) -> Any:
    total = xp._sum_dims(grad, (0, *range(2, len(grad.shape))), False)
    return total if tuple(total.shape) == bias_shape else xp.fill_up(total, bias_shape)


@differentiable(
    _convolution_array, node="ConvolutionBackward0", input=_input_rule, weight=_weight_rule, bias=_bias_rule
)
@traits(channels_last=(4, 5), channels_last_of=2, backward="grad input weight")
def _convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Ints, padding: Ints, dilation: Ints, transposed: bool,
    output_padding: Ints, groups: int,
) -> Tensor: ...  # fmt: skip


saved_as_input(OPS["_convolution"])

# ----- Arguments ----------------------------------------------------------------------------------------------------


def _run(name: str, dims: int, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any,
         transposed: bool, output_padding: Any, groups: int) -> Tensor:  # fmt: skip
    """Run any of the convolutions, with arguments as passed by the user."""
    x, w, b = input._array, weight._array, None if bias is None else bias._array
    shapes = x.shape, w.shape, None if b is None else b.shape
    numbers = stride, padding, dilation, output_padding, groups
    try:
        found = settled(name, dims, transposed, *shapes, *map(plain_numbers, numbers))
    except TypeError:  # lists, or wrong types
        found = settle(name, dims, transposed, *shapes, *numbers)
    stride, padding, dilation, output_padding, batched = found
    if x.dtype is not w.dtype or x.dtype.kind in "biu" or (b is not None and b.dtype is not x.dtype):
        check_dtypes(input, weight, bias, dims, transposed, groups)
    if batched:
        return _convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    result = _convolution(
        input.unsqueeze(0), weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )
    return result.squeeze(0)


def _forward(
    name: str, dims: int, input: Tensor, weight: Tensor, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int,
) -> Tensor:  # fmt: skip
    if type(padding) is str:
        if padding not in ("valid", "same"):
            raise RuntimeError(f"Invalid padding string: '{padding}'")
        input, padding = _same(name, dims, input, weight, stride, dilation) if padding == "same" else (input, 0)
    return _run(name, dims, input, weight, bias, stride, padding, dilation, False, 0, groups)


def _same(name: str, dims: int, input: Tensor, weight: Tensor, stride: Any, dilation: Any) -> tuple[Tensor, Ints]:
    """The input and the padding for a result of the input's size. If the total is odd, the extra zero goes at the end."""
    totals = same_totals(name, dims, tuple(input.shape), tuple(weight.shape), stride, dilation)
    if any(t % 2 for t in totals):
        warn_once(
            "Using padding='same' with even kernel lengths and odd dilation may require a zero-padded copy of the input be created"
        )
        input = constant_pad_nd(input, [n for t in reversed(totals) for n in (0, t % 2)])
    return input, tuple(t // 2 for t in totals)


# ----- The functions ------------------------------------------------------------------------------------------------


def conv1d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Each window of the input (N, C, L) times the weights (O, C / groups, K), summed.

    >>> torch.nn.functional.conv1d(torch.arange(4.0).view(1, 1, 4), torch.ones(1, 1, 2))
    tensor([[[1., 3., 5.]]])
    """
    return _forward("conv1d", 1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Each window of the images (N, C, H, W) times the weights (O, C / groups, KH, KW), summed.

    >>> torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2))
    tensor([[[[4., 4.],
              [4., 4.]]]])
    """
    return _forward("conv2d", 2, input, weight, bias, stride, padding, dilation, groups)


def conv3d(
    input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """`conv2d` for three spatial dimensions.

    >>> torch.nn.functional.conv3d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 2, 2, 2)).item()
    8.0
    """
    return _forward("conv3d", 3, input, weight, bias, stride, padding, dilation, groups)


def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
                     groups: int = 1, dilation: Any = 1) -> Tensor:  # fmt: skip
    """The gradient of `conv1d` by its input, as a function: each element adds a scaled copy of the kernel.

    >>> torch.nn.functional.conv_transpose1d(torch.tensor([[[1.0, 2.0]]]), torch.ones(1, 1, 2), stride=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    return _run("conv_transpose1d", 1, input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
                     groups: int = 1, dilation: Any = 1) -> Tensor:  # fmt: skip
    """The gradient of `conv2d` by its input, as a function: each element adds a scaled copy of the kernel.

    >>> torch.nn.functional.conv_transpose2d(torch.ones(1, 1, 1, 1), torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 2, 2])
    """
    return _run("conv_transpose2d", 2, input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
                     groups: int = 1, dilation: Any = 1) -> Tensor:  # fmt: skip
    """The gradient of `conv3d` by its input, as a function: each element adds a scaled copy of the kernel.

    >>> torch.nn.functional.conv_transpose3d(torch.ones(1, 1, 1, 1, 1), torch.ones(1, 1, 2, 2, 2)).shape
    torch.Size([1, 1, 2, 2, 2])
    """
    return _run("conv_transpose3d", 3, input, weight, bias, stride, padding, dilation, True, output_padding, groups)


def convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Any, padding: Any, dilation: Any, transposed: bool,
                output_padding: Any, groups: int) -> Tensor:  # fmt: skip
    """Any of the convolutions, with the full list of arguments.

    >>> torch.convolution(torch.ones(1, 1, 3), torch.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1)
    tensor([[[2., 2.]]])
    """
    dims = weight.dim() - 2
    return _run("convolution", dims, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


# ----- Convolution of sequences that are laid out as time, batch, channels --------------------------------------------


def _tbc_array(input: Any, weight: Any, bias: Any, pad: int) -> Any:
    out = kernels.conv(input.transpose(1, 2, 0), weight.transpose(2, 1, 0), (1,), (pad,), (1,), 1, bias)
    return out.transpose(2, 0, 1).copy()


def _tbc_input_rule(grad: Any, weight: Any, input_shape: Ints, pad: int, xp: Any) -> Any:
    shape = (input_shape[1], input_shape[2], input_shape[0])
    moved, transposed = xp._permute(grad, (1, 2, 0)), xp._permute(weight, (2, 1, 0))
    return xp.by_rows(xp._permute(xp.conv_input_grad(moved, transposed, shape, (1,), (pad,), (1,), 1), (2, 0, 1)))


def _tbc_weight_rule(grad: Any, input: Any, weight_shape: Ints, pad: int, xp: Any) -> Any:
    moved, source = xp._permute(grad, (1, 2, 0)), xp._permute(input, (1, 2, 0))
    found = xp._conv_weight(moved, source, (weight_shape[2], weight_shape[1], weight_shape[0]), (1,), (pad,), (1,), 1)
    return xp.by_rows(xp._permute(found, (2, 1, 0)))


@differentiable(_tbc_array, node="ConvTbcBackward0", input=_tbc_input_rule, weight=_tbc_weight_rule,
                bias=lambda grad, xp: xp._sum_dims(grad, (0, 1), False))  # fmt: skip
def _conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int) -> Tensor: ...


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """`conv1d` of sequences (time, batch, channels) with weights (width, in channels, out channels).

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
    if input.shape[0]:
        check_sum(input, input, weight)
    refuse_complex_gradient("conv_tbc", input, weight, bias)
    return _conv_tbc(input, weight, bias, pad)
