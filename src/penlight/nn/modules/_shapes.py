"""Modules that change the shape of a tensor: flattening, sliding blocks, shuffling, resizing, padding."""

from __future__ import annotations

from typing import Any, ClassVar

from penlight import Tensor
from penlight._common.module_table import make_modules
from penlight.nn import functional as F
from penlight.nn.common_types import _ratio_2_t, _ratio_any_t, _size_2_t, _size_any_t

from ._options import Options, Unary
from .lazy import named_after
from .normalization import _expect_dims
from .utils import _ntuple


class Flatten(Unary, function=Tensor.flatten, shown="start_dim={self.start_dim}, end_dim={self.end_dim}",
              example=("()(torch.zeros(32, 1, 5, 5)).shape", "torch.Size([32, 25])")):  # fmt: skip
    """Merges a range of dimensions into one; by default all but the first."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None: ...


class Unflatten(Unary, function=Tensor.unflatten, shown="dim={self.dim}, unflattened_size={self.unflattened_size}",
                example=("(1, (2, 5))(torch.zeros(2, 10)).shape", "torch.Size([2, 2, 5])")):  # fmt: skip
    """Splits one dimension into several."""

    def __init__(self, dim: int, unflattened_size: Any) -> None: ...

    def _check(self) -> None:
        sizes, refused = self.unflattened_size, "unflattened_size must be"
        if not isinstance(sizes, (tuple, list)):
            raise TypeError(f"{refused} a tuple of ints, but found type {type(sizes).__name__}")
        for pos, size in enumerate(sizes):
            if not isinstance(size, int):
                raise TypeError(
                    f"{refused} tuple of ints, but found element of type {type(size).__name__} at pos {pos}"
                )


_BLOCKS = "kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Unary, function=F.fold, shown="output_size={self.output_size}, " + _BLOCKS):
    """Sums sliding blocks into an image (col2im).

    >>> torch.nn.Fold(output_size=(4, 5), kernel_size=(2, 2))(torch.randn(1, 3 * 2 * 2, 12)).shape
    torch.Size([1, 3, 4, 5])
    """

    def __init__(self, output_size: _size_any_t, kernel_size: _size_any_t, dilation: _size_any_t = 1,
                 padding: _size_any_t = 0, stride: _size_any_t = 1) -> None: ...  # fmt: skip


class Unfold(Unary, function=F.unfold, shown=_BLOCKS,
             example=("(kernel_size=(2, 3))(torch.randn(2, 5, 3, 4)).shape", "torch.Size([2, 30, 4])")):  # fmt: skip
    """Extracts the sliding blocks of an image as columns (im2col)."""

    def __init__(
        self, kernel_size: _size_any_t, dilation: _size_any_t = 1, padding: _size_any_t = 0, stride: _size_any_t = 1
    ) -> None: ...


class PixelShuffle(Unary, function=F.pixel_shuffle, shown="upscale_factor={self.upscale_factor}",
                   example=("(3)(torch.zeros(1, 9, 4, 4)).shape", "torch.Size([1, 1, 12, 12])")):  # fmt: skip
    """Turns r² channels into an image r times as high and as wide."""

    def __init__(self, upscale_factor: int) -> None: ...


class PixelUnshuffle(Unary, function=F.pixel_unshuffle, shown="downscale_factor={self.downscale_factor}",
                     example=("(3)(torch.zeros(1, 1, 12, 12)).shape", "torch.Size([1, 9, 4, 4])")):  # fmt: skip
    """The reverse of `PixelShuffle`."""

    def __init__(self, downscale_factor: int) -> None: ...


class ChannelShuffle(Unary, function=F.channel_shuffle, shown="groups={self.groups}",
        example=("(2)(torch.arange(4.0).view(1, 4, 1, 1)).flatten()", "tensor([0., 2., 1., 3.])")):  # fmt: skip
    """Interleaves the channels of `groups` groups."""

    def __init__(self, groups: int) -> None: ...


# ----- Resizing ------------------------------------------------------------------------------------------------------


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
    """Resizes images by repeating pixels; the same as `Upsample(mode="nearest")`."""

    def __init__(self, size: _size_2_t | None = None, scale_factor: _ratio_2_t | None = None) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample,
        example=("(scale_factor=2)(torch.zeros(1, 1, 2, 2)).shape", "torch.Size([1, 1, 4, 4])")):  # fmt: skip
    """Resizes images bilinearly, with corner pixels aligned."""

    def __init__(self, size: _size_2_t | None = None, scale_factor: _ratio_2_t | None = None) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)


# ----- Padding: with a constant, by reflection, by replication, around -----------------------------------------------


class _PadNd(Unary, shown="{self.padding}"):
    """Padding on both sides of the last `dims` dimensions: one int for all sides, or one for each."""

    _dims: ClassVar[int]
    _mode: ClassVar[str]

    def __init_subclass__(cls, dims: int | None = None, **declared: Any) -> None:
        if dims is not None:  # a user's subclass, whose errors name its own `__init__`
            cls._dims, declared["shown"] = dims, cls._shown
            cls.__init__ = named_after(cls.__name__, cls.__init__.__wrapped__)  # type: ignore[attr-defined, method-assign]
        super().__init_subclass__(**declared)

    def __init__(self, padding: _size_any_t) -> None: ...

    def _set_options(self, options: dict[str, Any]) -> None:
        super()._set_options({**options, "padding": _ntuple(2 * self._dims)(options["padding"])})

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        return F.pad(input, self.padding, self._mode)


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def _check_input_dim(self, input: Tensor) -> None:
        _expect_dims(input, self._dims + 1, self._dims + 2)

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        self._check_input_dim(input)
        return super().forward(input)


class CircularPad1d(_CircularPadNd, dims=1,
                    example=("(1)(torch.arange(3.0).view(1, 1, 3))", "tensor([[[2., 0., 1., 2., 0.]]])")):  # fmt: skip
    """Circular padding: one int or (left, right)."""


class CircularPad2d(_CircularPadNd, dims=2, example=("(1)(torch.zeros(1, 1, 3, 3)).shape", "torch.Size([1, 1, 5, 5])")):
    """Circular padding: one int or (left, right, top, bottom)."""


class CircularPad3d(_CircularPadNd, dims=3,
                    example=("(1)(torch.zeros(1, 1, 3, 3, 3)).shape", "torch.Size([1, 1, 5, 5, 5])")):  # fmt: skip
    """Circular padding: one int or (left, right, top, bottom, front, back)."""


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd, dims=1,
        example=("(1)(torch.arange(3.0).view(1, 1, 3))", "tensor([[[1., 0., 1., 2., 1.]]])")):  # fmt: skip
    """Padding that mirrors the input at its edge: one int or (left, right)."""


class ReflectionPad2d(_ReflectionPadNd, dims=2,
                      example=("(1)(torch.zeros(1, 1, 3, 3)).shape", "torch.Size([1, 1, 5, 5])")):  # fmt: skip
    """Padding that mirrors the input at its edge: one int or (left, right, top, bottom)."""


class ReflectionPad3d(_ReflectionPadNd, dims=3,
                      example=("(1)(torch.zeros(1, 1, 3, 3, 3)).shape", "torch.Size([1, 1, 5, 5, 5])")):  # fmt: skip
    """Padding that mirrors the input at its edge: one int or (left, right, top, bottom, front, back)."""


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd, dims=1,
        example=("(1)(torch.arange(3.0).view(1, 1, 3))", "tensor([[[0., 0., 1., 2., 2.]]])")):  # fmt: skip
    """Padding that repeats the edge: one int or (left, right)."""


class ReplicationPad2d(_ReplicationPadNd, dims=2,
                       example=("(1)(torch.zeros(1, 1, 3, 3)).shape", "torch.Size([1, 1, 5, 5])")):  # fmt: skip
    """Padding that repeats the edge: one int or (left, right, top, bottom)."""


class ReplicationPad3d(_ReplicationPadNd, dims=3,
                       example=("(1)(torch.zeros(1, 1, 3, 3, 3)).shape", "torch.Size([1, 1, 5, 5, 5])")):  # fmt: skip
    """Padding that repeats the edge: one int or (left, right, top, bottom, front, back)."""


class _ConstantPadNd(_PadNd, shown="padding={self.padding}, value={self.value}"):
    def __init__(self, padding: _size_any_t, value: float) -> None: ...

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        return F.pad(input, self.padding, "constant", self.value)


class ConstantPad1d(_ConstantPadNd, dims=1, example=("(1, 3.5)(torch.zeros(1, 1)).shape", "torch.Size([1, 3])")):
    """Padding with a value: one int or (left, right)."""


class ConstantPad2d(_ConstantPadNd, dims=2, example=("(1, 3.5)(torch.zeros(1, 1, 1)).shape", "torch.Size([1, 3, 3])")):
    """Padding with a value: one int or (left, right, top, bottom)."""


class ConstantPad3d(_ConstantPadNd, dims=3,
                    example=("(1, 3.5)(torch.zeros(1, 1, 1, 1)).shape", "torch.Size([1, 3, 3, 3])")):  # fmt: skip
    """Padding with a value: one int or (left, right, top, bottom, front, back)."""


class ZeroPad1d(ConstantPad1d, example=("(1)(torch.ones(1, 1)).sum()", "tensor(1.)")):
    """Padding with zeros: one int or (left, right)."""

    _shown = "{self.padding}"

    def __init__(self, padding: _size_any_t) -> None:
        super().__init__(padding, 0.0)


class ZeroPad2d(ConstantPad2d, example=("(1)(torch.ones(1, 1, 1)).sum()", "tensor(1.)")):
    """Padding with zeros: one int or (left, right, top, bottom)."""

    _shown = "{self.padding}"

    def __init__(self, padding: _size_any_t) -> None:
        super().__init__(padding, 0.0)


class ZeroPad3d(ConstantPad3d, example=("(1)(torch.ones(1, 1, 1, 1)).sum()", "tensor(1.)")):
    """Padding with zeros: one int or (left, right, top, bottom, front, back)."""

    _shown = "{self.padding}"

    def __init__(self, padding: _size_any_t) -> None:
        super().__init__(padding, 0.0)


make_modules(__name__)
