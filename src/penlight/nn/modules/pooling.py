"""Pooling: maxima, averages and norms over windows, windows of adaptive and of random sizes, and unpooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penlight import Tensor
from penlight.nn import functional as F
from penlight.nn.common_types import (
    _ratio_2_t,
    _ratio_3_t,
    _size_1_t,
    _size_2_t,
    _size_3_t,
    _size_any_t,
)

from ._adaptive_pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    _Pool,
)
from ._adaptive_pooling import _AdaptiveAvgPoolNd as _AdaptiveAvgPoolNd
from ._adaptive_pooling import _AdaptiveMaxPoolNd as _AdaptiveMaxPoolNd
from .utils import _pair, _single, _triple

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


class _MaxPoolNd(_Pool):
    kernel_size: Any
    stride: Any
    padding: Any
    dilation: Any
    return_indices: bool
    ceil_mode: bool

    def __init__(
        self,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        padding: _size_any_t = 0,
        dilation: _size_any_t = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        """The maximum of each window, with its position if `return_indices`."""
        return type(self)._operation(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The maxima of windows of (N, C, L) or (C, L); the stride is the window's size unless given.

    >>> import penlight as torch
    >>> torch.nn.MaxPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[3., 2.]])
    """

    _operation = staticmethod(F.max_pool1d)


class MaxPool2d(_MaxPoolNd):
    """The maxima of windows of (N, C, H, W) or (C, H, W).

    >>> import penlight as torch
    >>> torch.nn.MaxPool2d(3, stride=2)(torch.randn(20, 16, 50, 32)).shape
    torch.Size([20, 16, 24, 15])
    """

    _operation = staticmethod(F.max_pool2d)


class MaxPool3d(_MaxPoolNd):
    """The maxima of windows of (N, C, D, H, W) or (C, D, H, W).

    >>> import penlight as torch
    >>> torch.nn.MaxPool3d(2)(torch.randn(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    _operation = staticmethod(F.max_pool3d)


class _MaxUnpoolNd(_Pool):
    kernel_size: Any
    stride: Any
    padding: Any

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The input put back at `indices`, zero elsewhere."""
        return type(self)._operation(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts the maxima of a `MaxPool1d` back at their places.

    >>> import penlight as torch
    >>> maxima, places = torch.nn.MaxPool1d(2, return_indices=True)(torch.tensor([[[1.0, 3.0, 2.0, 0.0]]]))
    >>> torch.nn.MaxUnpool1d(2)(maxima, places)
    tensor([[[0., 3., 2., 0.]]])
    """

    _operation = staticmethod(F.max_unpool1d)

    def __init__(self, kernel_size: _size_1_t, stride: _size_1_t | None = None, padding: _size_1_t = 0) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts the maxima of a `MaxPool2d` back at their places.

    >>> import penlight as torch
    >>> maxima, places = torch.nn.MaxPool2d(2, return_indices=True)(torch.randn(1, 1, 4, 4))
    >>> torch.nn.MaxUnpool2d(2)(maxima, places).shape
    torch.Size([1, 1, 4, 4])
    """

    _operation = staticmethod(F.max_unpool2d)

    def __init__(self, kernel_size: _size_2_t, stride: _size_2_t | None = None, padding: _size_2_t = 0) -> None:
        super().__init__()
        self.kernel_size = _pair(kernel_size)
        self.stride = _pair(stride if stride is not None else kernel_size)
        self.padding = _pair(padding)


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts the maxima of a `MaxPool3d` back at their places.

    >>> import penlight as torch
    >>> maxima, places = torch.nn.MaxPool3d(2, return_indices=True)(torch.randn(1, 1, 4, 4, 4))
    >>> torch.nn.MaxUnpool3d(2)(maxima, places).shape
    torch.Size([1, 1, 4, 4, 4])
    """

    _operation = staticmethod(F.max_unpool3d)

    def __init__(self, kernel_size: _size_3_t, stride: _size_3_t | None = None, padding: _size_3_t = 0) -> None:
        super().__init__()
        self.kernel_size = _triple(kernel_size)
        self.stride = _triple(stride if stride is not None else kernel_size)
        self.padding = _triple(padding)


class _AvgPoolNd(_Pool):
    kernel_size: Any
    stride: Any
    padding: Any
    ceil_mode: bool
    count_include_pad: bool

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The averages of windows of (N, C, L) or (C, L).

    >>> import penlight as torch
    >>> torch.nn.AvgPool1d(2)(torch.tensor([[1.0, 3.0, 2.0, 0.0]]))
    tensor([[2., 1.]])
    """

    def __init__(
        self,
        kernel_size: _size_1_t,
        stride: _size_1_t | None = None,
        padding: _size_1_t = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        """The average of each window."""
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolWithDivisor(_AvgPoolNd):
    divisor_override: int | None

    def __init__(
        self,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        padding: _size_any_t = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        """The average of each window; `divisor_override` replaces the number of elements."""
        return type(self)._operation(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_AvgPoolWithDivisor):
    """The averages of windows of (N, C, H, W) or (C, H, W).

    >>> import penlight as torch
    >>> torch.nn.AvgPool2d(3, stride=2)(torch.randn(20, 16, 50, 32)).shape
    torch.Size([20, 16, 24, 15])
    """

    _operation = staticmethod(F.avg_pool2d)


class AvgPool3d(_AvgPoolWithDivisor):
    """The averages of windows of (N, C, D, H, W) or (C, D, H, W).

    >>> import penlight as torch
    >>> torch.nn.AvgPool3d(2)(torch.randn(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    _operation = staticmethod(F.avg_pool3d)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding", 0)
        self.__dict__.setdefault("ceil_mode", False)
        self.__dict__.setdefault("count_include_pad", True)


class _FractionalMaxPoolNd(_Pool):
    kernel_size: Any
    output_size: Any
    output_ratio: Any
    return_indices: bool

    def _set_up(
        self,
        expand: Callable[[Any], tuple[Any, ...]],
        kernel_size: Any,
        output_size: Any,
        output_ratio: Any,
        return_indices: bool,
        _random_samples: Tensor | None,
    ) -> None:
        self.kernel_size = expand(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = expand(output_size) if output_size is not None else None
        self.output_ratio = expand(output_ratio) if output_ratio is not None else None
        if output_size is None and output_ratio is None:
            raise ValueError(f"{type(self).__name__} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        """The maximum of each window, with its position if `return_indices`."""
        return type(self)._operation(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The maxima of windows placed at random, as many as asked for by size or by ratio.

    >>> import penlight as torch
    >>> torch.nn.FractionalMaxPool2d(3, output_size=(13, 12))(torch.randn(20, 16, 50, 32)).shape
    torch.Size([20, 16, 13, 12])
    """

    _operation = staticmethod(F.fractional_max_pool2d)

    def __init__(
        self,
        kernel_size: _size_2_t,
        output_size: _size_2_t | None = None,
        output_ratio: _ratio_2_t | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        self._set_up(_pair, kernel_size, output_size, output_ratio, return_indices, _random_samples)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """`FractionalMaxPool2d` with one dimension more.

    >>> import penlight as torch
    >>> torch.nn.FractionalMaxPool3d(3, output_ratio=0.5)(torch.randn(1, 1, 10, 10, 10)).shape
    torch.Size([1, 1, 5, 5, 5])
    """

    _operation = staticmethod(F.fractional_max_pool3d)

    def __init__(
        self,
        kernel_size: _size_3_t,
        output_size: _size_3_t | None = None,
        output_ratio: _ratio_3_t | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        if any(size <= 0 for size in _triple(kernel_size)):
            raise ValueError(f"kernel_size must be greater than 0, but got {kernel_size}")
        self._set_up(_triple, kernel_size, output_size, output_ratio, return_indices, _random_samples)


class _LPPoolNd(_Pool):
    norm_type: float
    kernel_size: Any
    stride: Any
    ceil_mode: bool

    def __init__(
        self,
        norm_type: float,
        kernel_size: _size_any_t,
        stride: _size_any_t | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        """The norm of each window."""
        return type(self)._operation(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The p-norms of windows of (N, C, L) or (C, L).

    >>> import penlight as torch
    >>> torch.nn.LPPool1d(2, 2)(torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """

    _operation = staticmethod(F.lp_pool1d)


class LPPool2d(_LPPoolNd):
    """The p-norms of windows of (N, C, H, W) or (C, H, W).

    >>> import penlight as torch
    >>> torch.nn.LPPool2d(1.2, (3, 2))(torch.rand(1, 2, 6, 6)).shape
    torch.Size([1, 2, 2, 3])
    """

    _operation = staticmethod(F.lp_pool2d)


class LPPool3d(_LPPoolNd):
    """The p-norms of windows of (N, C, D, H, W) or (C, D, H, W).

    >>> import penlight as torch
    >>> torch.nn.LPPool3d(2, 2)(torch.rand(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 2, 2, 2])
    """

    _operation = staticmethod(F.lp_pool3d)
