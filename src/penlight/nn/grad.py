"""The gradients of convolutions as functions of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import penlight
from penlight import Tensor
from penlight._docstrings import example
from penlight.nn import functional as F


def _grad_of(operation: Any, wanted: str, known: Tensor, size: Sequence[int], grad_output: Tensor, options: Any) -> Any:
    """The gradient of a convolution by its one argument that is not known; the convolution is linear in it."""
    unknown = penlight.zeros(tuple(size), dtype=grad_output.dtype, requires_grad=True)
    graph = penlight.is_grad_enabled() and (known.requires_grad or grad_output.requires_grad)
    with penlight.enable_grad():
        pair = (unknown, known) if wanted == "input" else (known, unknown)
        output = operation(*pair, None, *options)
    if output.shape != grad_output.shape:
        raise RuntimeError(
            f"expected grad_output of the shape {tuple(output.shape)} that this convolution gives, "
            f"but got {tuple(grad_output.shape)}"
        )
    return penlight.autograd.grad(output, unknown, grad_output, create_graph=graph)[0]


@example("torch.nn.grad.conv1d_input((1, 1, 3), torch.ones(1, 1, 2), torch.ones(1, 1, 2))", "tensor([[[1., 2., 1.]]])")
def conv1d_input(input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1) -> Tensor:  # fmt: skip
    """The gradient of `conv1d` with respect to its input."""
    return _grad_of(F.conv1d, "input", weight, input_size, grad_output, (stride, padding, dilation, groups))


@example("torch.nn.grad.conv1d_weight(torch.ones(1, 1, 3), (1, 1, 2), torch.ones(1, 1, 2))", "tensor([[[2., 2.]]])")
def conv1d_weight(input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Any = 1, padding: Any = 0,
                  dilation: Any = 1, groups: int = 1) -> Tensor:  # fmt: skip
    """The gradient of `conv1d` with respect to its weight."""
    return _grad_of(F.conv1d, "weight", input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv2d_input(input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1) -> Tensor:  # fmt: skip
    """The gradient of `conv2d` with respect to its input.

    >>> import penlight as torch
    >>> torch.nn.grad.conv2d_input((1, 1, 2, 2), torch.ones(1, 1, 1, 1), torch.ones(1, 1, 2, 2)).shape
    torch.Size([1, 1, 2, 2])
    """
    return _grad_of(F.conv2d, "input", weight, input_size, grad_output, (stride, padding, dilation, groups))


def conv2d_weight(input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Any = 1, padding: Any = 0,
                  dilation: Any = 1, groups: int = 1) -> Tensor:  # fmt: skip
    """The gradient of `conv2d` with respect to its weight.

    >>> import penlight as torch
    >>> torch.nn.grad.conv2d_weight(torch.ones(1, 1, 2, 2), (1, 1, 1, 1), torch.ones(1, 1, 2, 2))
    tensor([[[[4.]]]])
    """
    return _grad_of(F.conv2d, "weight", input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv3d_input(input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1) -> Tensor:  # fmt: skip
    """The gradient of `conv3d` with respect to its input.

    >>> import penlight as torch
    >>> torch.nn.grad.conv3d_input((1, 1, 1, 1, 2), torch.ones(1, 1, 1, 1, 1), torch.ones(1, 1, 1, 1, 2)).shape
    torch.Size([1, 1, 1, 1, 2])
    """
    return _grad_of(F.conv3d, "input", weight, input_size, grad_output, (stride, padding, dilation, groups))


def conv3d_weight(input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Any = 1, padding: Any = 0,
                  dilation: Any = 1, groups: int = 1) -> Tensor:  # fmt: skip
    """The gradient of `conv3d` with respect to its weight.

    >>> import penlight as torch
    >>> torch.nn.grad.conv3d_weight(torch.ones(1, 1, 1, 1, 2), (1, 1, 1, 1, 1), torch.ones(1, 1, 1, 1, 2)).sum()
    tensor(2.)
    """
    return _grad_of(F.conv3d, "weight", input, weight_size, grad_output, (stride, padding, dilation, groups))
