"""PixelShuffle and PixelUnshuffle."""

from __future__ import annotations

from penlight import Tensor
from penlight.nn import functional as F

from .module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Turns r² channels into an image r times as high and wide.

    >>> import penlight as torch
    >>> torch.nn.PixelShuffle(3)(torch.zeros(1, 9, 4, 4)).shape
    torch.Size([1, 1, 12, 12])
    """

    upscale_factor: int

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The rearranged input."""
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """The reverse of `PixelShuffle`.

    >>> import penlight as torch
    >>> torch.nn.PixelUnshuffle(3)(torch.zeros(1, 1, 12, 12)).shape
    torch.Size([1, 9, 4, 4])
    """

    downscale_factor: int

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The rearranged input."""
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
