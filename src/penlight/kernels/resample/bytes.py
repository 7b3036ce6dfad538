"""Resizing images of bytes by lines and cubics in whole numbers, as PyTorch does: weights of 16 bits, each pass rounded to bytes."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from ..conv.im2col import Ints
from . import axis_map

_MAX_SHIFT = 22


@lru_cache(maxsize=32)
def _whole_weights(
    size: int, out: int, mode: str, align_corners: bool, scale: float | None, antialias: bool
) -> tuple[list[tuple[slice, slice, np.ndarray]], int]:
    """The dense blocks of an axis map in units of 2**-shift, and the shift: the largest that keeps weights in 16 bits."""
    blocks = axis_map(size, out, mode, align_corners, scale, antialias, np.dtype(np.float64), False).blocks
    largest = max(float(block.max(initial=0)) for _, _, block in blocks)
    shift = 0
    while shift < _MAX_SHIFT and int(0.5 + largest * 2 ** (shift + 1)) < 2**15:
        shift += 1
    whole = [(rows, columns, np.trunc(b * 2**shift + np.copysign(0.5, b))) for rows, columns, b in blocks]
    return whole, shift


def _resize_last(
    x: np.ndarray, out: int, mode: str, align_corners: bool, scale: float | None, antialias: bool
) -> np.ndarray:
    """Resize the last dim of an array of bytes."""
    blocks, shift = _whole_weights(x.shape[-1], out, mode, align_corners, scale, antialias)
    result = np.empty((*x.shape[:-1], out), x.dtype)
    for rows, columns, block in blocks:
        sums = x[..., columns].astype(np.float64) @ block.T  # exact: far below 2**53
        sums += 2.0 ** (shift - 1)
        np.floor(sums * 2.0**-shift, out=sums)
        result[..., rows] = sums.clip(0, 255)
    return result


def interpolate_bytes(
    x: np.ndarray, output_size: Ints, mode: str, align_corners: bool, scales: tuple[float | None, ...] | None, antialias: bool
) -> np.ndarray:  # fmt: skip
    """Resize the images ``(N, C, H, W)`` of bytes: along the width, and the rounded result along the height.

    >>> import numpy as np
    >>> interpolate_bytes(np.array([[[[0, 255]]]], np.uint8), (1, 3), "bilinear", False, None, False)
    array([[[[  0, 128, 255]]]], dtype=uint8)
    """
    if not x.size:
        return np.zeros((*x.shape[:2], *output_size), x.dtype)
    down, across = scales or (None, None)
    found = x
    if output_size[1] != x.shape[3]:
        found = _resize_last(found, output_size[1], mode, align_corners, across, antialias)
    if output_size[0] != x.shape[2]:
        transposed = np.ascontiguousarray(found.swapaxes(2, 3))
        found = _resize_last(transposed, output_size[0], mode, align_corners, down, antialias).swapaxes(2, 3)
    return np.array(found, order="C")
