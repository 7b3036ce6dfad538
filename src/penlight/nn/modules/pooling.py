"""Pooling: maxima, averages and norms over windows, windows of adaptive and of random sizes, and unpooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from penlight import Tensor
from penlight._common.module_table import names_of
from penlight.nn import functional as F
from penlight.nn.common_types import (
    _ratio_2_t,
    _ratio_3_t,
    _size_1_t,
    _size_2_t,
    _size_3_t,
    _size_any_opt_t,
    _size_any_t,
)

from ._options import Unary
from .utils import _pair, _single, _triple

__all__ = names_of(__name__)


class _Window(Unary, shown="kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"):
    """Pooling over windows whose size is the default stride."""

    _expand: ClassVar[Any] = None  # expands sizes that are one int to tuples
    _sizes: ClassVar[tuple[str, ...]] = ("kernel_size", "stride", "padding")

    def __init_subclass__(cls, expand: Any = None, **declared: Any) -> None:
        if expand is not None:
            cls._expand = staticmethod(expand)
        super().__init_subclass__(**declared)

    def _set_options(self, options: dict[str, Any]) -> None:
        if options.get("stride", 0) is None:
            options["stride"] = options["kernel_size"]
        if self._expand is not None:
            options |= {n: self._expand(options[n]) for n in self._sizes if options[n] is not None}
        super()._set_options(options)


class _MaxPoolNd(_Window, shown=_Window._shown + ", dilation={self.dilation}, ceil_mode={self.ceil_mode}"):
    def __init__(self, kernel_size: _size_any_t, stride: _size_any_t | None = None, padding: _size_any_t = 0,
                 dilation: _size_any_t = 1, return_indices: bool = False,
                 ceil_mode: bool = False) -> None: ...  # fmt: skip

    def forward(self, input: Tensor) -> Any:
        """The maximum of each window, with its index if `return_indices`."""
        sizes = (self.kernel_size, self.stride, self.padding, self.dilation)
        return self._function(input, *sizes, ceil_mode=self.ceil_mode, return_indices=self.return_indices)


class MaxPool1d(_MaxPoolNd, function=F.max_pool1d,
                example=("(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))", "tensor([[3., 2.]])")):  # fmt: skip
    """The maxima of windows of (N, C, L) or (C, L); the stride defaults to the window's size."""


class MaxPool2d(_MaxPoolNd, function=F.max_pool2d,
        example=("(3, stride=2)(torch.randn(20, 16, 50, 32)).shape", "torch.Size([20, 16, 24, 15])")):  # fmt: skip
    """The maxima of windows of (N, C, H, W) or (C, H, W)."""


class MaxPool3d(_MaxPoolNd, function=F.max_pool3d,
                example=("(2)(torch.randn(1, 2, 4, 4, 4)).shape", "torch.Size([1, 2, 2, 2, 2])")):  # fmt: skip
    """The maxima of windows of (N, C, D, H, W) or (C, D, H, W)."""


class _MaxUnpoolNd(_Window):
    def forward(  # type: ignore[override]
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        """The input scattered to `indices`, zero elsewhere."""
        return self._function(input, indices, self.kernel_size, self.stride, self.padding, output_size)


class MaxUnpool1d(_MaxUnpoolNd, function=F.max_unpool1d, expand=_single):
    """The inverse of `MaxPool1d`: maxima at their original positions, zeros elsewhere.

    >>> maxima, indices = torch.nn.MaxPool1d(2, return_indices=True)(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
    >>> torch.nn.MaxUnpool1d(2)(maxima, indices)
    tensor([[[0., 3., 2., 0.]]])
    """

    def __init__(self, kernel_size: _size_1_t, stride: _size_1_t | None = None, padding: _size_1_t = 0) -> None: ...


class MaxUnpool2d(_MaxUnpoolNd, function=F.max_unpool2d, expand=_pair):
    """The inverse of `MaxPool2d`: maxima at their original positions, zeros elsewhere.

    >>> maxima, indices = torch.nn.MaxPool2d(2, return_indices=True)(torch.randn(1, 1, 4, 4))
    >>> torch.nn.MaxUnpool2d(2)(maxima, indices).shape
    torch.Size([1, 1, 4, 4])
    """

    def __init__(self, kernel_size: _size_2_t, stride: _size_2_t | None = None, padding: _size_2_t = 0) -> None: ...


class MaxUnpool3d(_MaxUnpoolNd, function=F.max_unpool3d, expand=_triple):
    """The inverse of `MaxPool3d`: maxima at their original positions, zeros elsewhere.

    >>> maxima, indices = torch.nn.MaxPool3d(2, return_indices=True)(torch.randn(1, 1, 4, 4, 4))
    >>> torch.nn.MaxUnpool3d(2)(maxima, indices).shape
    torch.Size([1, 1, 4, 4, 4])
    """

    def __init__(self, kernel_size: _size_3_t, stride: _size_3_t | None = None, padding: _size_3_t = 0) -> None: ...


class _AvgPoolNd(_Window):
    pass


class AvgPool1d(_AvgPoolNd, function=F.avg_pool1d, expand=_single,
                example=("(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))", "tensor([[2., 1.]])")):  # fmt: skip
    """The averages of windows of (N, C, L) or (C, L)."""

    def __init__(self, kernel_size: _size_1_t, stride: _size_1_t | None = None, padding: _size_1_t = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True) -> None: ...  # fmt: skip


class AvgPool2d(_AvgPoolNd, function=F.avg_pool2d,
        example=("(3, stride=2)(torch.randn(20, 16, 50, 32)).shape", "torch.Size([20, 16, 24, 15])")):  # fmt: skip
    """The averages of windows of (N, C, H, W) or (C, H, W)."""

    def __init__(self, kernel_size: _size_2_t, stride: _size_2_t | None = None, padding: _size_2_t = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override: int | None = None) -> None: ...  # fmt: skip


class AvgPool3d(_AvgPoolNd, function=F.avg_pool3d,
                example=("(2)(torch.randn(1, 2, 4, 4, 4)).shape", "torch.Size([1, 2, 2, 2, 2])")):  # fmt: skip
    """The averages of windows of (N, C, D, H, W) or (C, D, H, W)."""

    def __init__(self, kernel_size: _size_3_t, stride: _size_3_t | None = None, padding: _size_3_t = 0,
                 ceil_mode: bool = False, count_include_pad: bool = True,
                 divisor_override: int | None = None) -> None: ...  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"padding": 0, "ceil_mode": False, "count_include_pad": True, **state})


class _FractionalMaxPoolNd(_Window, shown=""):
    _sizes = ("kernel_size", "output_size", "output_ratio")
    _tensor_options = ("_random_samples",)

    def _set_options(self, options: dict[str, Any]) -> None:
        ratio, missing = options["output_ratio"], [options[n] for n in ("output_size", "output_ratio")].count(None)
        if missing == 2:
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        if missing == 0:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if ratio is not None and not all(0 < part < 1 for part in self._expand(ratio)):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {ratio})")
        super()._set_options(options)


class FractionalMaxPool2d(_FractionalMaxPoolNd, function=F.fractional_max_pool2d, expand=_pair):
    """The maxima of randomly placed windows, whose number is given by a size or a ratio.

    >>> torch.nn.FractionalMaxPool2d(3, output_size=(13, 12))(torch.randn(20, 16, 50, 32)).shape
    torch.Size([20, 16, 13, 12])
    """

    def __init__(self, kernel_size: _size_2_t, output_size: _size_2_t | None = None,
                 output_ratio: _ratio_2_t | None = None, return_indices: bool = False,
                 _random_samples: Tensor | None = None) -> None: ...  # fmt: skip


class FractionalMaxPool3d(_FractionalMaxPoolNd, function=F.fractional_max_pool3d, expand=_triple):
    """`FractionalMaxPool2d` for three spatial dimensions.

    >>> torch.nn.FractionalMaxPool3d(3, output_ratio=0.5)(torch.randn(1, 1, 10, 10, 10)).shape
    torch.Size([1, 1, 5, 5, 5])
    """

    def __init__(self, kernel_size: _size_3_t, output_size: _size_3_t | None = None,
                 output_ratio: _ratio_3_t | None = None, return_indices: bool = False,
                 _random_samples: Tensor | None = None) -> None: ...  # fmt: skip

    def _set_options(self, options: dict[str, Any]) -> None:
        if any(size <= 0 for size in _triple(options["kernel_size"])):
            raise ValueError(f"kernel_size must be greater than 0, but got {options['kernel_size']}")
        super()._set_options(options)


_NORMS = "norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class _LPPoolNd(Unary, shown=_NORMS):
    def __init__(self, norm_type: float, kernel_size: _size_any_t, stride: _size_any_t | None = None,
                 ceil_mode: bool = False) -> None: ...  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        """The norm of each window."""
        return self._function(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool1d(_LPPoolNd, function=F.lp_pool1d, example=("(2, 2)(torch.tensor([[3.0, 4.0]]))", "tensor([[5.]])")):
    """The p-norms of windows of (N, C, L) or (C, L)."""


class LPPool2d(_LPPoolNd, function=F.lp_pool2d,
               example=("(1.2, (3, 2))(torch.rand(1, 2, 6, 6)).shape", "torch.Size([1, 2, 2, 3])")):  # fmt: skip
    """The p-norms of windows of (N, C, H, W) or (C, H, W)."""


class LPPool3d(_LPPoolNd, function=F.lp_pool3d,
               example=("(2, 2)(torch.rand(1, 2, 4, 4, 4)).shape", "torch.Size([1, 2, 2, 2, 2])")):  # fmt: skip
    """The p-norms of windows of (N, C, D, H, W) or (C, D, H, W)."""


class _AdaptiveMaxPoolNd(Unary, shown="output_size={self.output_size}"):
    def __init__(self, output_size: _size_any_opt_t, return_indices: bool = False) -> None: ...


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool1d,
                        example=("(2)(torch.tensor([[1.0, 5.0, 2.0, 3.0]]))", "tensor([[5., 3.]])")):  # fmt: skip
    """The maxima of `output_size` windows, in one dimension."""


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool2d,
        example=("((None, 7))(torch.randn(1, 64, 10, 9)).shape", "torch.Size([1, 64, 10, 7])")):  # fmt: skip
    """The maxima of `output_size` windows, in two dimensions; None keeps a size."""


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd, function=F.adaptive_max_pool3d,
                        example=("(2)(torch.randn(1, 1, 4, 5, 6)).shape", "torch.Size([1, 1, 2, 2, 2])")):  # fmt: skip
    """The maxima of `output_size` windows, in three dimensions."""


class _AdaptiveAvgPoolNd(Unary, shown="output_size={self.output_size}"):
    def __init__(self, output_size: _size_any_opt_t) -> None: ...


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd, function=F.adaptive_avg_pool1d,
                        example=("(2)(torch.tensor([[1.0, 5.0, 2.0, 4.0]]))", "tensor([[3., 3.]])")):  # fmt: skip
    """The averages of `output_size` windows, in one dimension."""


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd, function=F.adaptive_avg_pool2d,
                        example=("((5, 7))(torch.randn(1, 64, 8, 9)).shape", "torch.Size([1, 64, 5, 7])")):  # fmt: skip
    """The averages of `output_size` windows, in two dimensions; None keeps a size."""


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd, function=F.adaptive_avg_pool3d,
                        example=("(2)(torch.randn(1, 1, 4, 5, 6)).shape", "torch.Size([1, 1, 2, 2, 2])")):  # fmt: skip
    """The averages of `output_size` windows, in three dimensions."""
