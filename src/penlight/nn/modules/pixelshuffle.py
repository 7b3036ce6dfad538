"""PixelShuffle and PixelUnshuffle."""

from __future__ import annotations

from penlight import Tensor
from penlight.nn import functional as F

from ._options import Options

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Options):
    """Turns r² channels into an image r times as high and wide.

    >>> import penlight as torch
    >>> torch.nn.PixelShuffle(3)(torch.zeros(1, 9, 4, 4)).shape
    torch.Size([1, 1, 12, 12])
    """

    _shown = "upscale_factor={self.upscale_factor}"

    def __init__(self, upscale_factor: int) -> None:
        self._set_options(locals())

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Options):
    """The reverse of `PixelShuffle`.

    >>> import penlight as torch
    >>> torch.nn.PixelUnshuffle(3)(torch.zeros(1, 1, 12, 12)).shape
    torch.Size([1, 9, 4, 4])
    """

    _shown = "downscale_factor={self.downscale_factor}"

    def __init__(self, downscale_factor: int) -> None:
        self._set_options(locals())

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)
