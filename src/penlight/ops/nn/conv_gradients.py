"""The gradients of convolutions, as functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import penlight
from penlight import Tensor
from penlight._common.docstrings import documented

from ..._common.arguments import explain as _explain
from . import conv


def _grad_of(operation: Any, wanted: str, known: Tensor, size: Sequence[int], grad_output: Tensor, options: Any) -> Any:
    """The gradient of a convolution by its one unknown argument, in which the convolution is linear."""
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


def _gradients_of(dims: int) -> tuple[Any, Any]:
    """The gradients of a convolution of this many dimensions by its input and its weight."""
    convolution, name = getattr(conv, f"conv{dims}d"), f"conv{dims}d"

    def by_input(input_size: Sequence[int], weight: Tensor, grad_output: Tensor, stride: Any = 1, padding: Any = 0,
                 dilation: Any = 1, groups: int = 1) -> Tensor:  # fmt: skip
        return _grad_of(convolution, "input", weight, input_size, grad_output, (stride, padding, dilation, groups))

    def by_weight(input: Tensor, weight_size: Sequence[int], grad_output: Tensor, stride: Any = 1, padding: Any = 0,
                  dilation: Any = 1, groups: int = 1) -> Tensor:  # fmt: skip
        return _grad_of(convolution, "weight", input, weight_size, grad_output, (stride, padding, dilation, groups))

    image, kernel, result = ((1, 1) + (side,) * dims for side in (3, 2, 2))
    shown = {by_input: f"{image}, torch.ones{kernel}", by_weight: f"torch.ones{image}, {kernel}"}
    for function, given in shown.items():
        by = function.__name__.removeprefix("by_")
        function.__name__ = function.__qualname__ = f"{name}_{by}"
        function.__doc__ = documented(
            f"The gradient of `{name}` with respect to its {by}.",
            f">>> torch.nn.grad.{name}_{by}({given}, torch.ones{result}).shape",
            f"torch.Size({list(image if by == 'input' else kernel)})",
        )
    return by_input, by_weight


conv1d_input, conv1d_weight = _gradients_of(1)
conv2d_input, conv2d_weight = _gradients_of(2)
conv3d_input, conv3d_weight = _gradients_of(3)


_explain(globals())
