"""Convolutions and transposed convolutions in one, two and three dimensions, and their lazy forms."""

from __future__ import annotations

from typing import Any

from penlight.nn import functional as F
from penlight.nn.common_types import _size_1_t, _size_2_t, _size_3_t

from ._conv_base import (
    _ConvNd,  # noqa: F401
    _ConvTransposeNd,
    _LazyConvXdMixin,
    _PlainConv,
)
from .utils import _pair, _single, _triple

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]


class Conv1d(_PlainConv):
    """A 1-d convolution of (N, C, L) or (C, L).

    `padding` is a number or "same" or "valid"; `padding_mode` is what the margin is filled with: "zeros",
    "reflect", "replicate" or "circular".

    >>> import penlight as torch
    >>> torch.nn.Conv1d(16, 33, 3, stride=2)(torch.randn(20, 16, 50)).shape
    torch.Size([20, 33, 24])
    """

    _operation = staticmethod(F.conv1d)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_1_t,
        stride: _size_1_t = 1,
        padding: str | _size_1_t = 0,
        dilation: _size_1_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        margin = padding if isinstance(padding, str) else _single(padding)
        sizes = (_single(kernel_size), _single(stride), margin, _single(dilation))
        super().__init__(
            in_channels, out_channels, *sizes, False, _single(0), groups, bias, padding_mode, device, dtype
        )


class Conv2d(_PlainConv):
    """A 2-d convolution of (N, C, H, W) or (C, H, W).

    Sizes are one number for both dimensions or a pair. `padding` may also be "same" or "valid"; `padding_mode` is
    what the margin is filled with: "zeros", "reflect", "replicate" or "circular".

    >>> import penlight as torch
    >>> torch.nn.Conv2d(3, 8, (3, 5), padding=(1, 2))(torch.randn(2, 3, 10, 10)).shape
    torch.Size([2, 8, 10, 10])
    """

    _operation = staticmethod(F.conv2d)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_2_t,
        stride: _size_2_t = 1,
        padding: str | _size_2_t = 0,
        dilation: _size_2_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        margin = padding if isinstance(padding, str) else _pair(padding)
        sizes = (_pair(kernel_size), _pair(stride), margin, _pair(dilation))
        super().__init__(in_channels, out_channels, *sizes, False, _pair(0), groups, bias, padding_mode, device, dtype)


class Conv3d(_PlainConv):
    """A 3-d convolution of (N, C, D, H, W) or (C, D, H, W).

    >>> import penlight as torch
    >>> torch.nn.Conv3d(1, 2, 3)(torch.randn(1, 1, 5, 6, 7)).shape
    torch.Size([1, 2, 3, 4, 5])
    """

    _operation = staticmethod(F.conv3d)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_3_t,
        stride: _size_3_t = 1,
        padding: str | _size_3_t = 0,
        dilation: _size_3_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        margin = padding if isinstance(padding, str) else _triple(padding)
        sizes = (_triple(kernel_size), _triple(stride), margin, _triple(dilation))
        super().__init__(
            in_channels, out_channels, *sizes, False, _triple(0), groups, bias, padding_mode, device, dtype
        )


class ConvTranspose1d(_ConvTransposeNd):
    """A 1-d transposed convolution of (N, C, L) or (C, L).

    >>> import penlight as torch
    >>> torch.nn.ConvTranspose1d(4, 2, 3, stride=2)(torch.randn(1, 4, 5)).shape
    torch.Size([1, 2, 11])
    """

    _operation = staticmethod(F.conv_transpose1d)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_1_t,
        stride: _size_1_t = 1,
        padding: _size_1_t = 0,
        output_padding: _size_1_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_1_t = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        sizes = (
            _single(kernel_size),
            _single(stride),
            _single(padding),
            _single(dilation),
            True,
            _single(output_padding),
        )
        super().__init__(in_channels, out_channels, *sizes, groups, bias, padding_mode, device, dtype)


class ConvTranspose2d(_ConvTransposeNd):
    """A 2-d transposed convolution of (N, C, H, W) or (C, H, W).

    >>> import penlight as torch
    >>> up = torch.nn.ConvTranspose2d(16, 8, 3, stride=2, padding=1)
    >>> up(torch.randn(1, 16, 6, 6), output_size=(12, 12)).shape
    torch.Size([1, 8, 12, 12])
    """

    _operation = staticmethod(F.conv_transpose2d)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_2_t,
        stride: _size_2_t = 1,
        padding: _size_2_t = 0,
        output_padding: _size_2_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_2_t = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        sizes = (_pair(kernel_size), _pair(stride), _pair(padding), _pair(dilation), True, _pair(output_padding))
        super().__init__(in_channels, out_channels, *sizes, groups, bias, padding_mode, device, dtype)


class ConvTranspose3d(_ConvTransposeNd):
    """A 3-d transposed convolution of (N, C, D, H, W) or (C, D, H, W).

    >>> import penlight as torch
    >>> torch.nn.ConvTranspose3d(2, 1, 2, stride=2)(torch.randn(1, 2, 2, 3, 4)).shape
    torch.Size([1, 1, 4, 6, 8])
    """

    _operation = staticmethod(F.conv_transpose3d)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: _size_3_t,
        stride: _size_3_t = 1,
        padding: _size_3_t = 0,
        output_padding: _size_3_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_3_t = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        sizes = (
            _triple(kernel_size),
            _triple(stride),
            _triple(padding),
            _triple(dilation),
            True,
            _triple(output_padding),
        )
        super().__init__(in_channels, out_channels, *sizes, groups, bias, padding_mode, device, dtype)


class LazyConv1d(_LazyConvXdMixin, Conv1d):
    """A `Conv1d` that learns `in_channels` from its first input.

    >>> import penlight as torch
    >>> torch.nn.LazyConv1d(4, 3)(torch.randn(1, 2, 5)).shape
    torch.Size([1, 4, 3])
    """

    cls_to_become = Conv1d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_1_t,
        stride: _size_1_t = 1,
        padding: str | _size_1_t = 0,
        dilation: _size_1_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._become_lazy(out_channels, bias, device, dtype)


class LazyConv2d(_LazyConvXdMixin, Conv2d):
    """A `Conv2d` that learns `in_channels` from its first input.

    >>> import penlight as torch
    >>> torch.nn.LazyConv2d(4, 3)(torch.randn(1, 2, 5, 5)).shape
    torch.Size([1, 4, 3, 3])
    """

    cls_to_become = Conv2d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_2_t,
        stride: _size_2_t = 1,
        padding: str | _size_2_t = 0,
        dilation: _size_2_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._become_lazy(out_channels, bias, device, dtype)


class LazyConv3d(_LazyConvXdMixin, Conv3d):
    """A `Conv3d` that learns `in_channels` from its first input.

    >>> import penlight as torch
    >>> torch.nn.LazyConv3d(4, 3)(torch.randn(1, 2, 5, 5, 5)).shape
    torch.Size([1, 4, 3, 3, 3])
    """

    cls_to_become = Conv3d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_3_t,
        stride: _size_3_t = 1,
        padding: str | _size_3_t = 0,
        dilation: _size_3_t = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._become_lazy(out_channels, bias, device, dtype)


class LazyConvTranspose1d(_LazyConvXdMixin, ConvTranspose1d):
    """A `ConvTranspose1d` that learns `in_channels` from its first input.

    >>> import penlight as torch
    >>> torch.nn.LazyConvTranspose1d(4, 3)(torch.randn(1, 2, 5)).shape
    torch.Size([1, 4, 7])
    """

    cls_to_become = ConvTranspose1d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_1_t,
        stride: _size_1_t = 1,
        padding: _size_1_t = 0,
        output_padding: _size_1_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_1_t = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        sizes = (kernel_size, stride, padding, output_padding)
        super().__init__(0, 0, *sizes, groups, False, dilation, padding_mode, device, dtype)
        self._become_lazy(out_channels, bias, device, dtype)


class LazyConvTranspose2d(_LazyConvXdMixin, ConvTranspose2d):
    """A `ConvTranspose2d` that learns `in_channels` from its first input.

    >>> import penlight as torch
    >>> torch.nn.LazyConvTranspose2d(4, 3)(torch.randn(1, 2, 5, 5)).shape
    torch.Size([1, 4, 7, 7])
    """

    cls_to_become = ConvTranspose2d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_2_t,
        stride: _size_2_t = 1,
        padding: _size_2_t = 0,
        output_padding: _size_2_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_2_t = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        sizes = (kernel_size, stride, padding, output_padding)
        super().__init__(0, 0, *sizes, groups, False, dilation, padding_mode, device, dtype)
        self._become_lazy(out_channels, bias, device, dtype)


class LazyConvTranspose3d(_LazyConvXdMixin, ConvTranspose3d):
    """A `ConvTranspose3d` that learns `in_channels` from its first input.

    >>> import penlight as torch
    >>> torch.nn.LazyConvTranspose3d(4, 3)(torch.randn(1, 2, 5, 5, 5)).shape
    torch.Size([1, 4, 7, 7, 7])
    """

    cls_to_become = ConvTranspose3d

    def __init__(
        self,
        out_channels: int,
        kernel_size: _size_3_t,
        stride: _size_3_t = 1,
        padding: _size_3_t = 0,
        output_padding: _size_3_t = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: _size_3_t = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        sizes = (kernel_size, stride, padding, output_padding)
        super().__init__(0, 0, *sizes, groups, False, dilation, padding_mode, device, dtype)
        self._become_lazy(out_channels, bias, device, dtype)
