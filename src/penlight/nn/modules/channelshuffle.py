"""ChannelShuffle."""

from __future__ import annotations

from penlight import Tensor
from penlight.nn import functional as F

from ._options import Options

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Options):
    """Interleaves the channels of `groups` groups.

    >>> import penlight as torch
    >>> torch.nn.ChannelShuffle(2)(torch.arange(4.0).view(1, 4, 1, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    _shown = "groups={self.groups}"

    def __init__(self, groups: int) -> None:
        self._set_options(locals())

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)
