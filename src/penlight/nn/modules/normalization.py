"""Normalisation within a sample: LayerNorm, RMSNorm, GroupNorm, and the two local response normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import penlight
from penlight import Tensor
from penlight.nn import functional as F

from ._options import Options, Unary
from ._parameters import make_parameters, reset_affine
from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]

_SHOWN = "{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class LocalResponseNorm(Unary, function=F.local_response_norm, shown=_SHOWN,
                        example=("(2)(torch.randn(1, 5, 4, 4)).shape", "torch.Size([1, 5, 4, 4])")):  # fmt: skip
    """Divides each channel by a power of the mean square of its `size` neighbours."""

    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0) -> None: ...


class CrossMapLRN2d(Options, shown=_SHOWN, example=("(3)(torch.randn(1, 5, 4, 4)).shape", "torch.Size([1, 5, 4, 4])")):
    """The older local response normalisation across channels, of (N, C, H, W).

    Forward values are PyTorch's, whose window never lets go of the first channel. The gradient is the derivative of
    that forward; PyTorch's hand-written one sums over a window that is shifted, and gradcheck refuses it.
    """

    def __init__(self, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1) -> None: ...

    def forward(self, input: Tensor) -> Tensor:
        """The normalised input."""
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        channels = input.size(1)
        reach = (self.size - 1) // 2
        index = penlight.arange(channels)
        distance = index - index.unsqueeze(1)
        window = ((distance.abs() <= reach) | (index == 0)).to(input.dtype)
        squares = (window @ input.square().flatten(2)).view_as(input)
        return input * (squares * (self.alpha / self.size) + self.k).pow(-self.beta)


def _as_shape(normalized_shape: Any) -> tuple[int, ...]:
    if isinstance(normalized_shape, Integral):
        return (int(normalized_shape),)
    return tuple(normalized_shape)


class LayerNorm(Module, example=("(10)(torch.randn(20, 5, 10)).shape", "torch.Size([20, 5, 10])")):
    """Normalises over the last dimensions, those of `normalized_shape`, and scales and shifts each element."""

    weight: Any  # a tensor or None
    bias: Any

    def __init__(self, normalized_shape: int | Sequence[int], eps: float = 1e-05, elementwise_affine: bool = True,
                 bias: bool = True, device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps = _as_shape(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        scale = self.normalized_shape if elementwise_affine else None
        make_parameters(self, device, dtype, weight=scale, bias=scale if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the weight to 1 and the bias to 0."""
        reset_affine(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        settings = f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        return f"{settings}, bias={self.bias is not None}"


class GroupNorm(Module, example=("(3, 6)(torch.randn(20, 6, 10, 10)).shape", "torch.Size([20, 6, 10, 10])")):
    """Normalises over groups of channels of (N, C, ...), and scales and shifts each channel."""

    weight: Any  # a tensor or None
    bias: Any

    def __init__(self, num_groups: int, num_channels: int, eps: float = 1e-05, affine: bool = True,
                 device: Any = None, dtype: Any = None, *, bias: bool = True) -> None:  # fmt: skip
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        scale = num_channels if affine else None
        make_parameters(self, device, dtype, weight=scale, bias=scale if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the weight to 1 and the bias to 0."""
        reset_affine(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        settings = f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"
        return f"{settings}, bias={self.bias is not None}"


class RMSNorm(Module, example=("([2, 3])(torch.randn(2, 2, 3)).shape", "torch.Size([2, 2, 3])")):
    """Divides by the root mean square over the last dimensions, those of `normalized_shape`, and scales."""

    weight: Any  # a tensor or None

    def __init__(self, normalized_shape: int | Sequence[int], eps: float | None = None,
                 elementwise_affine: bool = True, device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.normalized_shape, self.eps = _as_shape(normalized_shape), eps
        self.elementwise_affine = elementwise_affine
        make_parameters(self, device, dtype, weight=self.normalized_shape if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the weight to 1."""
        reset_affine(self.weight, None)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
