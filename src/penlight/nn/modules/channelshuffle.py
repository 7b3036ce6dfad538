"""ChannelShuffle."""

from __future__ import annotations

from penlight import Tensor
from penlight.nn import functional as F

from .module import Module

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Module):
    """Deals the channels out to groups like cards.

    >>> import penlight as torch
    >>> torch.nn.ChannelShuffle(2)(torch.arange(4.0).view(1, 4, 1, 1)).flatten()
    tensor([0., 2., 1., 3.])
    """

    groups: int

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        """The input with its channels rearranged."""
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
