"""Pixel shuffle (channels to pixels and back) and channel shuffle."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...tensor import Tensor
from ..machinery.declare import linear
from ..machinery.op import traits

__all__ = ["channel_shuffle", "native_channel_shuffle", "pixel_shuffle", "pixel_unshuffle"]


def _pixels_array(input: Any, upscale_factor: int) -> Any:
    *lead, channels, height, width = input.shape
    r = upscale_factor
    split = input.reshape(*lead, channels // (r * r), r, r, height, width)
    n = len(lead)
    moved = split.transpose(*range(n + 1), n + 3, n + 1, n + 4, n + 2)
    return np.ascontiguousarray(moved).reshape(*lead, channels // (r * r), height * r, width * r)


def _channels_array(input: Any, downscale_factor: int) -> Any:
    *lead, channels, height, width = input.shape
    r = downscale_factor
    split = input.reshape(*lead, channels, height // r, r, width // r, r)
    n = len(lead)
    moved = split.transpose(*range(n + 1), n + 2, n + 4, n + 1, n + 3)
    return np.ascontiguousarray(moved).reshape(*lead, channels * r * r, height // r, width // r)


def _deal_array(input: Any, groups: int) -> Any:
    n, channels, *rest = input.shape
    split = input.reshape(n, groups, channels // groups, *rest)
    return np.ascontiguousarray(np.swapaxes(split, 1, 2)).reshape(input.shape)


@linear(
    _pixels_array,
    node="PixelShuffleBackward0",
    input=lambda grad, upscale_factor, xp: xp._pixel_unshuffle(grad, upscale_factor),
)
@traits(channels_last=(4,), gradient_format="grad")
def _pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor: ...


@linear(_channels_array, node="PixelUnshuffleBackward0",
        input=lambda grad, downscale_factor, xp: xp._pixel_shuffle(grad, downscale_factor))  # fmt: skip
@traits(channels_last=(4,), gradient_format="grad")
def _pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor: ...


@linear(_deal_array, node="ChannelShuffleBackward0",
        input=lambda grad, groups, xp: xp._channel_shuffle(grad, grad.shape[1] // groups or 1))  # fmt: skip
@traits(channels_last=(4,), gradient_format="grad")
def _channel_shuffle(input: Tensor, groups: int) -> Tensor: ...


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels (..., C * r * r, H, W) rearranged to finer pixels (..., C, H * r, W * r).

    >>> torch.nn.functional.pixel_shuffle(torch.arange(4.0).view(4, 1, 1), 2)
    tensor([[[0., 1.],
             [2., 3.]]])
    """
    if input.dim() < 3:
        raise RuntimeError(
            f"pixel_shuffle expects input to have at least 3 dimensions, but got input with {input.dim()} dimension(s)"
        )
    if upscale_factor <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}")
    square = upscale_factor * upscale_factor
    if input.shape[-3] % square:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={input.shape[-3]} is not divisible by {square}"
        )
    return _pixel_shuffle(input, upscale_factor)


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Pixels (..., C, H * r, W * r) rearranged to more channels (..., C * r * r, H, W).

    >>> torch.nn.functional.pixel_unshuffle(torch.arange(4.0).view(1, 2, 2), 2).flatten()
    tensor([0., 1., 2., 3.])
    """
    if input.dim() < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got input with {input.dim()} dimension(s)"
        )
    if downscale_factor <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {downscale_factor}")
    for side, d in (("height", -2), ("width", -1)):
        if input.shape[d] % downscale_factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {side} to be divisible by downscale_factor, but input.size({d})={input.shape[d]} is not "
                f"divisible by {downscale_factor}"
            )
    return _pixel_unshuffle(input, downscale_factor)


def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """The channels of all groups interleaved.

    >>> torch.nn.functional.channel_shuffle(torch.arange(4.0).view(1, 4, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    if input.dim() <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if input.shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {input.shape[1]} channels and {groups} groups."
        )
    return _channel_shuffle(input, groups)


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Another name of `channel_shuffle`.

    >>> torch.nn.functional.native_channel_shuffle(torch.arange(4.0).view(1, 4, 1, 1), 2).flatten()
    tensor([0., 2., 1., 3.])
    """
    return channel_shuffle(input, groups)
