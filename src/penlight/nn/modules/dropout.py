"""Dropout, of elements, of channels, and for self-normalising networks."""

from __future__ import annotations

from penlight import Tensor
from penlight.nn import functional as F

from ._options import Unary

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Unary, shown="p={self.p}, inplace={self.inplace}"):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None: ...

    def _check(self) -> None:
        if self.p < 0 or self.p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")

    def forward(self, input: Tensor) -> Tensor:
        """The input with elements or channels dropped."""
        return self._function(input, self.p, self.training, self.inplace)


class Dropout(_DropoutNd, function=F.dropout, example=("(0.5).eval()(torch.ones(3))", "tensor([1., 1., 1.])")):
    """While training, zeroes elements with probability `p` and scales the others by 1/(1-p)."""


class Dropout1d(_DropoutNd, function=F.dropout1d):
    """While training, zeroes whole channels of (N, C, L) or (C, L) with probability `p`.

    >>> torch.nn.Dropout1d(1.0)(torch.ones(1, 2, 2))
    tensor([[[0., 0.],
             [0., 0.]]])
    """


class Dropout2d(_DropoutNd, function=F.dropout2d, example=("(1.0)(torch.ones(1, 1, 1, 2))", "tensor([[[[0., 0.]]]])")):
    """While training, zeroes whole channels of (N, C, H, W) with probability `p`."""


class Dropout3d(_DropoutNd, function=F.dropout3d,
                example=("(1.0)(torch.ones(1, 1, 1, 1, 2))", "tensor([[[[[0., 0.]]]]])")):  # fmt: skip
    """While training, zeroes whole channels of (N, C, D, H, W) with probability `p`."""


class AlphaDropout(_DropoutNd, example=("().eval()(torch.ones(2))", "tensor([1., 1.])")):
    """Dropout that keeps mean and variance of standardised input, to go with `SELU`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd, example=("().eval()(torch.ones(1, 2))", "tensor([[1., 1.]])")):
    """`AlphaDropout` of whole channels."""

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)
