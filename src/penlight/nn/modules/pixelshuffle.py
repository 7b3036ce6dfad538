"""PixelShuffle and PixelUnshuffle."""

from __future__ import annotations

from penlight.nn import functional as F

from ._options import Unary

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Unary, function=F.pixel_shuffle, shown="upscale_factor={self.upscale_factor}",
                   example=("(3)(torch.zeros(1, 9, 4, 4)).shape", "torch.Size([1, 1, 12, 12])")):  # fmt: skip
    """Turns r² channels into an image r times as high and wide."""

    def __init__(self, upscale_factor: int) -> None: ...


class PixelUnshuffle(Unary, function=F.pixel_unshuffle, shown="downscale_factor={self.downscale_factor}",
                     example=("(3)(torch.zeros(1, 1, 12, 12)).shape", "torch.Size([1, 9, 4, 4])")):  # fmt: skip
    """The reverse of `PixelShuffle`."""

    def __init__(self, downscale_factor: int) -> None: ...
