"""Upsampling: Upsample and its two old names."""

from __future__ import annotations

from typing import Any

from penlight import Tensor
from penlight.nn import functional as F
from penlight.nn.common_types import _ratio_2_t, _ratio_any_t, _size_2_t, _size_any_t

from ._options import Options

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Options, example=("(scale_factor=2)(torch.tensor([[[1.0, 2.0]]]))", "tensor([[[1., 1., 2., 2.]]])")):
    """Resizes 1-d, 2-d or 3-d data to a size or by a factor; see `functional.interpolate` for the modes."""

    def __init__(self, size: _size_any_t | None = None, scale_factor: _ratio_any_t | None = None,
                 mode: str = "nearest", align_corners: bool | None = None,
                 recompute_scale_factor: bool | None = None) -> None:  # fmt: skip
        if isinstance(scale_factor, tuple):
            scale_factor = tuple(map(float, scale_factor))
        else:
            scale_factor = float(scale_factor) if scale_factor else None
        self._set_options({"name": type(self).__name__, **locals()})

    def forward(self, input: Tensor) -> Tensor:
        """The resized input."""
        options = (self.size, self.scale_factor, self.mode, self.align_corners)
        return F.interpolate(input, *options, recompute_scale_factor=self.recompute_scale_factor)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"recompute_scale_factor": True, **state})

    def extra_repr(self) -> str:
        target = "size" if self.scale_factor is None else "scale_factor"
        return f"{target}={getattr(self, target)!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample,
        example=("(scale_factor=2)(torch.zeros(1, 1, 2, 2)).shape", "torch.Size([1, 1, 4, 4])")):  # fmt: skip
    """Resizes images by repeating pixels; `Upsample(mode="nearest")` is the same."""

    def __init__(self, size: _size_2_t | None = None, scale_factor: _ratio_2_t | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample,
        example=("(scale_factor=2)(torch.zeros(1, 1, 2, 2)).shape", "torch.Size([1, 1, 4, 4])")):  # fmt: skip
    """Resizes images bilinearly, corner pixels aligned."""

    def __init__(self, size: _size_2_t | None = None, scale_factor: _ratio_2_t | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
