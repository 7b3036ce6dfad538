"""The softmax family as modules, part of `activation`."""

from __future__ import annotations

from typing import Any

from penlight import Tensor
from penlight.nn import functional as F

from .module import Module

_HOME = "penlight.nn.modules.activation"  # where PyTorch has these classes, and so what pickles name


class _AlongDim(Module):
    """A function along one dimension, which is guessed with a warning if it is None."""

    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("dim", None)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmin(_AlongDim):
    """The softmax of -x along a dimension.

    >>> import penlight as torch
    >>> torch.nn.Softmin(dim=0)(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """

    __module__ = _HOME

    def forward(self, input: Tensor) -> Tensor:
        """The weights, which sum to 1."""
        return F.softmin(input, self.dim, _stacklevel=5)


class Softmax(_AlongDim):
    """exp(x) scaled so that it sums to 1 along a dimension.

    >>> import penlight as torch
    >>> torch.nn.Softmax(dim=1)(torch.zeros(1, 4))
    tensor([[0.2500, 0.2500, 0.2500, 0.2500]])
    """

    __module__ = _HOME

    def forward(self, input: Tensor) -> Tensor:
        """The weights, which sum to 1."""
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmax2d(Module):
    """The softmax over the channels at each place of (N, C, H, W) or (C, H, W).

    >>> import penlight as torch
    >>> torch.nn.Softmax2d()(torch.zeros(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    __module__ = _HOME

    def forward(self, input: Tensor) -> Tensor:
        """The weights, which sum to 1 over the channels."""
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """log(softmax(x)) along a dimension, computed without overflow.

    >>> import penlight as torch
    >>> torch.nn.LogSoftmax(dim=0)(torch.zeros(2))
    tensor([-0.6931, -0.6931])
    """

    __module__ = _HOME

    def forward(self, input: Tensor) -> Tensor:
        """The logarithms of the weights."""
        return F.log_softmax(input, self.dim, _stacklevel=5)
