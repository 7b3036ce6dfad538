"""ChannelShuffle."""

from __future__ import annotations

from penlight.nn import functional as F

from ._options import Unary

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Unary, function=F.channel_shuffle, shown="groups={self.groups}",
        example=("(2)(torch.arange(4.0).view(1, 4, 1, 1)).flatten()", "tensor([0., 2., 1., 3.])")):  # fmt: skip
    """Interleaves the channels of `groups` groups."""

    def __init__(self, groups: int) -> None: ...
