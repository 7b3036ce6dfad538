"""Upsampling: Upsample and its two old names."""

from __future__ import annotations

from typing import Any

from penlight import Tensor
from penlight.nn import functional as F
from penlight.nn.common_types import _ratio_2_t, _ratio_any_t, _size_2_t, _size_any_t

from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Resizes 1-d, 2-d or 3-d data to a size or by a factor; see `functional.interpolate` for the modes.

    >>> import penlight as torch
    >>> torch.nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))
    tensor([[[1., 1., 2., 2.]]])
    """

    name: str
    size: _size_any_t | None
    scale_factor: _ratio_any_t | None
    mode: str
    align_corners: bool | None
    recompute_scale_factor: bool | None

    def __init__(
        self,
        size: _size_any_t | None = None,
        scale_factor: _ratio_any_t | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        """The resized input."""
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        state.setdefault("recompute_scale_factor", True)
        super().__setstate__(state)

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            target = f"scale_factor={self.scale_factor!r}"
        else:
            target = f"size={self.size!r}"
        return f"{target}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Resizes images by repeating pixels; `Upsample(mode="nearest")` is the same.

    >>> import penlight as torch
    >>> torch.nn.UpsamplingNearest2d(scale_factor=2)(torch.zeros(1, 1, 2, 2)).shape
    torch.Size([1, 1, 4, 4])
    """

    def __init__(self, size: _size_2_t | None = None, scale_factor: _ratio_2_t | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """Resizes images bilinearly, corner pixels aligned.

    >>> import penlight as torch
    >>> torch.nn.UpsamplingBilinear2d(scale_factor=2)(torch.zeros(1, 1, 2, 2)).shape
    torch.Size([1, 1, 4, 4])
    """

    def __init__(self, size: _size_2_t | None = None, scale_factor: _ratio_2_t | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
