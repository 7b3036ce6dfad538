"""Fold and Unfold: images from sliding blocks, and the blocks of images."""

from __future__ import annotations

from penlight import Tensor
from penlight.nn import functional as F
from penlight.nn.common_types import _size_any_t

from .module import Module

__all__ = ["Fold", "Unfold"]


class Fold(Module):
    """Adds up sliding blocks into an image.

    >>> import penlight as torch
    >>> torch.nn.Fold(output_size=(4, 5), kernel_size=(2, 2))(torch.randn(1, 3 * 2 * 2, 12)).shape
    torch.Size([1, 3, 4, 5])
    """

    output_size: _size_any_t
    kernel_size: _size_any_t
    dilation: _size_any_t
    padding: _size_any_t
    stride: _size_any_t

    def __init__(
        self,
        output_size: _size_any_t,
        kernel_size: _size_any_t,
        dilation: _size_any_t = 1,
        padding: _size_any_t = 0,
        stride: _size_any_t = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """The image."""
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """Takes the sliding blocks out of an image, each as a column.

    >>> import penlight as torch
    >>> torch.nn.Unfold(kernel_size=(2, 3))(torch.randn(2, 5, 3, 4)).shape
    torch.Size([2, 30, 4])
    """

    kernel_size: _size_any_t
    dilation: _size_any_t
    padding: _size_any_t
    stride: _size_any_t

    def __init__(
        self,
        kernel_size: _size_any_t,
        dilation: _size_any_t = 1,
        padding: _size_any_t = 0,
        stride: _size_any_t = 1,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        """The blocks."""
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
