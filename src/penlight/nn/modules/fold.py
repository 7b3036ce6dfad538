"""Fold and Unfold: images from sliding blocks, and the blocks of images."""

from __future__ import annotations

from penlight.nn import functional as F
from penlight.nn.common_types import _size_any_t

from ._options import Unary

__all__ = ["Fold", "Unfold"]

_BLOCKS = "kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Unary, function=F.fold, shown="output_size={self.output_size}, " + _BLOCKS):
    """Adds up sliding blocks into an image.

    >>> torch.nn.Fold(output_size=(4, 5), kernel_size=(2, 2))(torch.randn(1, 3 * 2 * 2, 12)).shape
    torch.Size([1, 3, 4, 5])
    """

    def __init__(self, output_size: _size_any_t, kernel_size: _size_any_t, dilation: _size_any_t = 1,
                 padding: _size_any_t = 0, stride: _size_any_t = 1) -> None: ...  # fmt: skip


class Unfold(Unary, function=F.unfold, shown=_BLOCKS,
             example=("(kernel_size=(2, 3))(torch.randn(2, 5, 3, 4)).shape", "torch.Size([2, 30, 4])")):  # fmt: skip
    """Takes the sliding blocks out of an image, each as a column."""

    def __init__(
        self, kernel_size: _size_any_t, dilation: _size_any_t = 1, padding: _size_any_t = 0, stride: _size_any_t = 1
    ) -> None: ...
