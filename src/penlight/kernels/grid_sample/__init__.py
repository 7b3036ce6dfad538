"""Sampling images at the points of a grid, and the gradients for the image and for the grid: the strategy tables. See kernels/strategy.py.

The image is ``(N, C, *spatial)`` with 2 or 3 spatial dims, the grid ``(N, *out, dims)`` with coordinates in [-1, 1], the last dim
of the image first. In each dim, a coordinate has a few taps, the neighbouring pixels (an index and a weight each, and the
weight's derivative), and a sample is the sum over all combinations of taps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .. import index_width
from ..conv.im2col import Ints, share
from ..fma import fma32, fma64
from ..numpy_calls import kept
from ..numpy_warnings import silent
from ..ranges import linspace
from ..resample import cubic_weights
from ..rows import in_float32
from ..strategy import Strategy, by_table
from . import kernels

_BLOCK = 1 << 16  # samples of a block of images in NumPy

# One tap of one dim: indices, weights, derivatives of the weights (if needed), and which are inside (None: all).
Tap = tuple[np.ndarray, np.ndarray, Any, Any]


def _reflect(at: np.ndarray, low: float, high: float) -> tuple[np.ndarray, Any]:
    """Reflect coordinates between two borders; the slope is the sign after the reflections."""
    if low == high:
        return np.zeros_like(at), 0
    span = high - low
    shifted = at - low
    distance = np.abs(shifted)
    flips = np.floor(distance / span)
    rest = distance - flips * span
    even = flips % 2 == 0
    return np.where(even, rest, span - rest) + low, np.where((shifted < 0) == even, -1, 1)


def _border(at: np.ndarray, size: int, dims: int, padding: str, align_corners: bool) -> tuple[np.ndarray, Any]:
    """Move coordinates inside by the padding mode; return them and the slope of that (zero at the border).

    NaN coordinates go to the first element, or to the last if there are three dims, as in PyTorch.
    """
    slope: Any = 1
    if padding == "reflection":
        at, slope = _reflect(at, *((0, size - 1) if align_corners else (-0.5, size - 0.5)))
    slope = slope * ((at > 0) & (at < size - 1))
    at = np.clip(at, 0, size - 1)
    if np.isnan(at.sum()):
        at[np.isnan(at)] = 0 if dims == 2 else size - 1
    return at, slope


class _Sampler:
    """The common part of the three functions: blocks of images, and the combinations of taps of each."""

    def __init__(
        self, grid: np.ndarray, shape: Ints, mode: str, padding: str, align_corners: bool, slopes: bool = False
    ) -> None:
        self.grid = grid.reshape(len(grid), prod(grid.shape[1:-1]), grid.shape[-1])
        self.channels, self.sizes = shape[1], shape[2:]
        self.size, self.points = prod(self.sizes), self.grid.shape[1]
        self.mode, self.padding, self.align_corners, self.slopes = mode, padding, align_corners, slopes
        self.images = max(1, _BLOCK // max(self.channels * self.points, 1))

    def share(self, body: Callable[[int, int], None]) -> None:
        """Run ``body(first image, past the last)`` for every block."""

        def blocks(low: int, high: int) -> None:
            for first in range(low * self.images, min(high * self.images, len(self.grid)), self.images):
                body(first, min(first + self.images, len(self.grid)))

        cost = 40.0 * len(self.grid) * self.points * (1 + self.channels / 4)
        with silent():
            share(blocks, -(-len(self.grid) // self.images), cost)

    def corners(self, first: int, last: int) -> Iterator[tuple[np.ndarray, tuple[Tap, ...]]]:
        """For each combination of taps: flat indices ``(images, points)`` into a plane, and the taps."""
        dims = len(self.sizes)
        taps = []
        for i, n in enumerate(self.sizes):
            step = prod(self.sizes[i + 1 :])
            found = self._taps(np.ascontiguousarray(self.grid[first:last, :, dims - 1 - i]), n)
            taps.append([(index * step if step > 1 else index, *rest) for index, *rest in found])
        for corner in product(*taps):
            index = corner[0][0]
            for tap in corner[1:]:
                index = index + tap[0]
            yield index, corner

    def _taps(self, at: np.ndarray, size: int) -> list[Tap]:
        """The taps of one dim for normalised coordinates."""
        scale = (size - 1) / 2 if self.align_corners else size / 2
        at = at + 1
        if self.align_corners:
            at *= scale
        else:  # one rounding: see Note [Ranges to the last bit] in ranges.py
            at = fma64(at, scale, -0.5) if at.dtype == np.float64 else fma32(at, scale, -0.5)
        slope: Any = 1
        if self.mode == "bicubic":
            return self._cubic_taps(at, size, scale)
        if self.padding != "zeros":
            at, slope = _border(at, size, len(self.sizes), self.padding, self.align_corners)
        if self.mode == "nearest":
            return [self._tap(np.rint(at), np.ones_like(at), None, size)]
        low = np.floor(at)
        part = at - low
        change = np.full_like(at, scale) * slope if self.slopes else None
        return [
            self._tap(low, 1 - part, None if change is None else -change, size),
            self._tap(low + 1, part, change, size),
        ]

    def _tap(self, index: np.ndarray, weight: np.ndarray, change: np.ndarray | None, size: int) -> Tap:
        """A tap outside gets weight zero, and an arbitrary index inside."""
        inside = None
        if self.padding == "zeros":
            inside = (index >= 0) & (index < size)
            if inside.all():
                inside = None
            else:
                index, weight = np.where(inside, index, 0), np.where(inside, weight, 0)
                change = None if change is None else np.where(inside, change, 0)
        elif self.mode != "nearest":
            # The neighbour of the last element has weight zero.
            index = np.minimum(index, size - 1)
        return index.astype(np.intp), weight, change, inside

    def _cubic_taps(self, at: np.ndarray, size: int, scale: float) -> list[Tap]:
        """Four neighbours, each moved inside separately."""
        low = np.floor(at)
        part = at - low
        a = -0.75
        far, near, other, last = part + 1, part, 1 - part, 2 - part
        slopes = (
            (3 * a * far - 10 * a) * far + 8 * a,
            (3 * (a + 2) * near - 2 * (a + 3)) * near,
            -(3 * (a + 2) * other - 2 * (a + 3)) * other,
            -((3 * a * last - 10 * a) * last + 8 * a),
        )
        taps = []
        for i, (weight, slope) in enumerate(zip(cubic_weights(part, a), slopes, strict=True)):
            index = low + (i - 1)
            if self.padding != "zeros":
                index, _ = _border(index, size, 2, self.padding, self.align_corners)
            taps.append(self._tap(index, weight, slope * scale, size))
        return taps


def _weights(corner: tuple[Tap, ...], dim: int = -1) -> np.ndarray:
    """The product of the weights of all dims; with `dim`, of its derivative and the weights of the others."""
    result = corner[0][2 if dim == 0 else 1]
    for i, tap in enumerate(corner[1:], 1):
        result = result * tap[2 if dim == i else 1]
    return result


def _clear_outside(part: np.ndarray, corner: tuple[Tap, ...]) -> None:
    """Set the contributions of taps outside to zero, since zero times an infinity is not."""
    for _, _, _, inside in corner:
        if inside is not None:
            np.copyto(part, 0, where=~(inside if part.ndim == 2 else inside[:, None]))


def _take(source: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The elements of ``(images, C, size)`` at ``(images, points)`` in each plane."""
    if source.shape[1] == 1:
        return np.take_along_axis(source, index[:, None], 2)
    return np.stack([planes.take(at, 1) for planes, at in zip(source, index, strict=True)])


def _numpy_sample(x: np.ndarray, grid: np.ndarray, mode: str, padding: str, align_corners: bool) -> np.ndarray:
    """Sample `x` at the points of `grid`: ``(N, C, *out)``. `mode` is bilinear, nearest or bicubic (2-D).

    >>> import numpy as np
    >>> grid_sample(np.arange(4.0).reshape(1, 1, 2, 2), np.zeros((1, 1, 1, 2)), "bilinear", "zeros", True)
    array([[[[1.5]]]])
    """
    sampler = _Sampler(grid, x.shape, mode, padding, align_corners)
    out = np.zeros((*x.shape[:2], sampler.points), x.dtype)
    shape = (*x.shape[:2], *grid.shape[1:-1])
    if not x.size:
        return out.reshape(shape)
    flat = np.ascontiguousarray(x).reshape(-1)
    with silent():
        finite = bool(np.isfinite(np.dot(flat, flat)))
    source = flat.reshape(*x.shape[:2], -1)

    def body(first: int, last: int) -> None:
        for index, corner in sampler.corners(first, last):
            part = _take(source[first:last], index)
            part *= _weights(corner)[:, None]
            if not finite:
                _clear_outside(part, corner)
            out[first:last] += part

    sampler.share(body)
    if len(sampler.sizes) == 2 and (mode == "bicubic" or (mode == "bilinear" and padding == "zeros")):
        where = np.isfinite(sampler.grid)
        if not where.all():
            np.copyto(out, np.nan, where=~where.all(-1)[:, None])
    return out.reshape(shape)


def _numpy_image_grad(
    grad: np.ndarray, grid: np.ndarray, input_shape: Ints, mode: str, padding: str, align_corners: bool
) -> np.ndarray:
    """The transpose of `grid_sample` in the image."""
    sampler = _Sampler(grid, input_shape, mode, padding, align_corners)
    result = np.zeros((*input_shape[:2], sampler.size), grad.dtype)
    if not grad.size or not result.size:
        return result.reshape(input_shape)
    source = np.ascontiguousarray(grad).reshape(*grad.shape[:2], -1)

    def body(first: int, last: int) -> None:
        indices, parts = [], []
        for index, corner in sampler.corners(first, last):
            part = source[first:last] * _weights(corner)[:, None]
            _clear_outside(part, corner)
            indices.append(index)
            parts.append(part)
        index, part = np.concatenate(indices, 1), np.concatenate(parts, 2)
        for n in range(last - first):
            for c in range(sampler.channels):
                result[first + n, c] = index_width.bincount(index[n], part[n, c], sampler.size)

    sampler.share(body)
    return result.reshape(input_shape)


def _numpy_grid_grad(
    grad: np.ndarray, x: np.ndarray, grid: np.ndarray, mode: str, padding: str, align_corners: bool
) -> np.ndarray:
    """The gradient of `grid_sample` for the grid; zero for mode nearest."""
    result = np.zeros(grid.shape, grid.dtype)
    if mode == "nearest" or not grad.size or not x.size:
        return result
    sampler = _Sampler(grid, x.shape, mode, padding, align_corners, slopes=True)
    flat, dims = result.reshape(sampler.grid.shape), grid.shape[-1]
    gradient = grad.reshape(*grad.shape[:2], -1)
    source = np.ascontiguousarray(x).reshape(*x.shape[:2], -1)

    def body(first: int, last: int) -> None:
        for index, corner in sampler.corners(first, last):
            taken = _take(source[first:last], index)
            taken *= gradient[first:last]
            along = taken.sum(1)
            _clear_outside(along, corner)
            for i in range(dims):
                flat[first:last, :, dims - 1 - i] += along * _weights(corner, i)

    sampler.share(body)
    return result


# Compiled loops return None for other dtypes, for empty arrays, and if an image with padding "zeros" has elements that are not finite.
SAMPLES = (
    Strategy(None, kernels.sample, "10 times NumPy"),
    Strategy(None, _numpy_sample, "every dtype and machine"),
)
IMAGE_GRADIENTS = (
    Strategy(None, kernels.image_grad, "5 to 10 times NumPy"),
    Strategy(None, _numpy_image_grad, "every dtype and machine"),
)
GRID_GRADIENTS = (
    Strategy(
        lambda grad, x, grid, mode, *_: mode != "nearest" and grad.size > 0, kernels.grid_grad, "5 to 10 times NumPy"
    ),
    Strategy(None, _numpy_grid_grad, "every dtype and machine"),
)


grid_sample = in_float32(by_table(SAMPLES))
grid_sample_input_grad = in_float32(by_table(IMAGE_GRADIENTS))
grid_sample_grid_grad = in_float32(by_table(GRID_GRADIENTS))


@kept(lambda sizes, *_: prod(sizes), count=32)  # computing them takes longer than using them
def affine_grid_base(sizes: Ints, align_corners: bool, dtype: np.dtype) -> np.ndarray:
    """The coordinates of every pixel of an image, and a 1: ``(*sizes, dims + 1)``, the last dim of the image first.

    A matrix ``theta`` ``(N, dims, dims + 1)`` makes the grid ``base.reshape(-1, dims + 1) @ theta.swapaxes(1, 2)``.

    >>> import numpy as np
    >>> affine_grid_base((1, 2), False, np.dtype(np.float64))
    array([[[-0.5,  0. ,  1. ],
            [ 0.5,  0. ,  1. ]]])
    """
    base = np.ones((*sizes, len(sizes) + 1), dtype)
    for i, n in enumerate(sizes):
        coordinates = np.zeros(n, dtype)
        if n > 1:
            coordinates = linspace(-1.0, 1.0, n, dtype)
            if not align_corners:
                coordinates *= dtype.type(n - 1)
                coordinates /= dtype.type(n)
        base[..., len(sizes) - 1 - i] = coordinates.reshape([-1 if j == i else 1 for j in range(len(sizes))])
    base.flags.writeable = False
    return base
