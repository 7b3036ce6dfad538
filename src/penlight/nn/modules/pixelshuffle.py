"""PixelShuffle and PixelUnshuffle."""

from __future__ import annotations

from penlight.nn import functional as F

from ._options import Unary

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Unary, function=F.pixel_shuffle, shown="upscale_factor={self.upscale_factor}"):
    """Turns r² channels into an image r times as high and wide.

    >>> import penlight as torch
    >>> torch.nn.PixelShuffle(3)(torch.zeros(1, 9, 4, 4)).shape
    torch.Size([1, 1, 12, 12])
    """

    def __init__(self, upscale_factor: int) -> None: ...


class PixelUnshuffle(Unary, function=F.pixel_unshuffle, shown="downscale_factor={self.downscale_factor}"):
    """The reverse of `PixelShuffle`.

    >>> import penlight as torch
    >>> torch.nn.PixelUnshuffle(3)(torch.zeros(1, 1, 12, 12)).shape
    torch.Size([1, 9, 4, 4])
    """

    def __init__(self, downscale_factor: int) -> None: ...
