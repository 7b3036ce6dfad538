"""Sampling at the points of a grid as compiled loops, see Note [Compiled loops] in compiler/loops.py. The NumPy version is __init__.py.

Along each dimension of an image, a coordinate of the grid has one, two or four taps, the neighbouring pixels: an index, which is
negative if it is outside, a weight, and the weight's derivative with respect to the coordinate. `_taps` computes these with
vectors along the points. `_corners` combines the taps of all dimensions, and the other kernels work at each combination, for up
to four channels at a time, so that indices are converted and checked only once. Images of two dimensions have a third one of size
one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..compiler.loops import FLOATS, Floats, can_compile, checked, compile_loops, fma
from ..copies import contiguous
from ..waiting_threads import over

Sizes = tuple[int, ...]
_BILINEAR, _NEAREST, _BICUBIC = range(3)
_ZEROS, _, _REFLECTION = range(3)
_MODES = {"bilinear": _BILINEAR, "nearest": _NEAREST, "bicubic": _BICUBIC}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}
_TAPS = {"bilinear": (0, 1), "nearest": (0,), "bicubic": (0, 1, 2, 3)}
_ONE, _AXES = (0,), (0, 1, 2)  # axes are counted from the last dimension
_A = -0.75  # the sharpness of cubic interpolation
_GRAIN = 1 << 12  # points per thread, at least
_BLOCK = 128  # points whose gradients fit in the L1 cache


# ----- The taps of a coordinate ---------------------------------------------------------------------------------------


def _reflected(at: float, size: float, align: int) -> float:
    """A coordinate reflected at the borders until it is inside."""
    low = 0.0 if align else -0.5
    span = max(size - 1.0, 1.0) if align else size  # a single element: the reflected coordinate is clamped later
    distance = abs(at - low)
    flips = math.floor(distance / span)
    rest = distance - flips * span
    half = flips * 0.5
    return (rest if math.floor(half) == half else span - rest) + low


def _inside(at: float, size: float, padding: int, align: int, dims: int) -> float:
    """A coordinate moved inside; NaN goes to the first element, or to the last if there are three dimensions."""
    if padding == _REFLECTION:
        at = _reflected(at, size, align)
    limited = min(max(at, 0.0), size - 1.0)
    return (0.0 if dims == 2 else size - 1.0) if at != at else limited


def _unscaled(at: float, size: float, align: int) -> float:
    if align:
        return (at + 1.0) * ((size - 1.0) * 0.5)
    return fma(at + 1.0, size * 0.5, -0.5)


def _position(at: float, size: float, mode: int, padding: int, align: int, dims: int) -> float:
    """The position of a normalised coordinate along a dimension."""
    at = _unscaled(at, size, align)
    if padding != _ZEROS and mode != _BICUBIC:
        at = _inside(at, size, padding, align, dims)
    return at


def _slope(at: float, size: float, mode: int, padding: int, align: int) -> float:
    """The derivative of `_position` with respect to the coordinate."""
    scale = (size - 1.0) * 0.5 if align else size * 0.5
    if padding == _ZEROS or mode == _BICUBIC:
        return scale
    at = _unscaled(at, size, align)
    if padding == _REFLECTION:
        low = 0.0 if align else -0.5
        span = max(size - 1.0, 1.0) if align else size
        half = math.floor(abs(at - low) / span) * 0.5
        backwards = -scale if math.floor(half) == half else scale
        scale = backwards if at < low else -backwards
        at = _reflected(at, size, align)
    above = scale if at > 0.0 else 0.0
    return above if at < size - 1.0 else 0.0


def _index(at: float, tap: int, size: float, mode: int, padding: int, align: int) -> float:
    """The index of a tap; negative if it is outside."""
    found: float = round(at) if mode == _NEAREST else math.floor(at) + tap
    if mode == _BICUBIC:
        found -= 1.0
        if padding != _ZEROS:
            found = _inside(found, size, padding, align, 2)
    if padding == _ZEROS:
        return found if found < size else -1.0
    return min(found, size - 1.0)


def _weight(at: float, tap: int, mode: int) -> float:
    if mode == _NEAREST:
        return 1.0
    part = at - math.floor(at)
    if mode == _BILINEAR:
        return part if tap else 1.0 - part
    if tap == 0 or tap == 3:
        far = part + 1.0 if tap == 0 else 2.0 - part
        return ((_A * far - 5.0 * _A) * far + 8.0 * _A) * far - 4.0 * _A
    near = part if tap == 1 else 1.0 - part
    return ((_A + 2.0) * near - (_A + 3.0)) * near * near + 1.0


def _change(at: float, tap: int, mode: int) -> float:
    """The derivative of a weight with respect to the position."""
    if mode == _BILINEAR:
        return 1.0 if tap else -1.0
    part = at - math.floor(at)
    if tap == 0 or tap == 3:
        far = part + 1.0 if tap == 0 else 2.0 - part
        slope = (3.0 * _A * far - 10.0 * _A) * far + 8.0 * _A
        return slope if tap == 0 else -slope
    near = part if tap == 1 else 1.0 - part
    slope = (3.0 * (_A + 2.0) * near - 2.0 * (_A + 3.0)) * near
    return slope if tap == 1 else -slope


def _taps(
    begin: int, end: int, grid: Floats, indices: Floats, weights: Floats, changes: Floats, depth: int, height: int, width: int,
    total: int, *, taps: tuple[int, ...], mode: int, padding: int, align: int, dims: int, slopes: bool,
) -> None:  # fmt: skip
    """The taps of `total` points along each dimension. A tap outside has weight 0, or NaN in two dimensions if a coordinate is
    not finite: samples then show it, as in PyTorch."""
    for axis in _AXES[:dims]:
        size = float(width if axis == 0 else height if axis == 1 else depth)
        for tap in taps:
            row = (axis * len(taps) + tap) * total
            for point in range(begin, end):
                coordinate = grid[point * dims + axis]
                at = _position(coordinate, size, mode, padding, align, dims)
                index = _index(at, tap, size, mode, padding, align)
                weight = _weight(at, tap, mode)
                if padding == _ZEROS:
                    outside = 0.0 if slopes or dims == 3 else weight * 0.0
                    weight = weight if index >= 0.0 else outside
                indices[row + point] = index
                weights[row + point] = weight
                if slopes:
                    change = _change(at, tap, mode) * _slope(coordinate, size, mode, padding, align)
                    changes[row + point] = change if index >= 0.0 else 0.0


# ----- The samples ----------------------------------------------------------------------------------------------------
#
# Channels are done in groups of four, or of one if there is only one (`members`). The last group may contain one channel several times.


def _planes(image: int, group: int, images: int, channels: int, members: tuple[int, ...]) -> tuple[int, ...]:
    """The planes of the channels of a group."""
    found: tuple[int, ...] = ()
    for member in members:
        channel = min(checked(channels - 1, channels), group * 4 + member)
        found += (checked(image, images) * channels + channel,)
    return found


def _grads(grad: Floats, planes: tuple[int, ...], point: int, points: int) -> tuple[float, ...]:
    """The gradients of a sample of each plane; 0 for a repeated plane."""
    found: tuple[float, ...] = ()
    before = -1
    for plane in planes:
        found += (grad[plane * points + point] if plane > before else 0.0,)
        before = plane
    return found


def _corners(
    indices: Floats, sample: int, total: int, depth: int, height: int, width: int, taps: tuple[int, ...], dims: int
) -> Iterator[tuple[int, bool, int, int, int]]:
    """For each combination of taps: its index in a plane, whether it is inside, and the offsets of the taps."""
    count = len(taps)
    for i in taps if dims == 3 else _ONE:
        z_tap = (2 * count + i) * total + sample
        z = indices[z_tap] if dims == 3 else 0.0
        plane = checked(int(z), depth) if dims == 3 else 0
        for j in taps:
            y_tap = (count + j) * total + sample
            y = indices[y_tap]
            row = (plane * height + checked(int(y), height)) * width
            for k in taps:
                x_tap = k * total + sample
                x = indices[x_tap]
                yield row + checked(int(x), width), min(min(z, y), x) >= 0.0, z_tap, y_tap, x_tap


def _product(z: Floats, y: Floats, x: Floats, z_tap: int, y_tap: int, x_tap: int, dims: int) -> float:
    """The product of one factor per dimension."""
    return (z[z_tap] * y[y_tap] if dims == 3 else y[y_tap]) * x[x_tap]


def _sample(
    begin: int, end: int, x: Floats, indices: Floats, weights: Floats, out: Floats, groups: int, images: int, channels: int,
    depth: int, height: int, width: int, points: int, *, taps: tuple[int, ...], dims: int, members: tuple[int, ...],
) -> None:  # fmt: skip
    total, size = images * points, depth * height * width
    for group in range(begin, end):
        image = checked(group // groups, images)
        planes = _planes(image, group % groups, images, channels, members)
        for point in range(points):
            sums = (0.0,) * len(members)
            for at, _, i, j, k in _corners(indices, image * points + point, total, depth, height, width, taps, dims):
                weight, before = _product(weights, weights, weights, i, j, k, dims), sums
                sums = ()
                for plane, value in zip(planes, before):
                    sums += (fma(weight, x[plane * size + at], value),)
            for plane, value in zip(planes, sums):
                out[plane * points + point] = value


def _image_grad(
    begin: int, end: int, grad: Floats, indices: Floats, weights: Floats, out: Floats, groups: int, images: int, channels: int,
    depth: int, height: int, width: int, points: int, *, taps: tuple[int, ...], dims: int, members: tuple[int, ...],
) -> None:  # fmt: skip
    total, size = images * points, depth * height * width
    for group in range(begin, end):
        image = checked(group // groups, images)
        planes = _planes(image, group % groups, images, channels, members)
        for plane in range(planes[0], planes[-1] + 1):
            for i in range(size):
                out[plane * size + i] = 0.0
        for point in range(points):
            grads = _grads(grad, planes, point, points)
            for at, inside, i, j, k in _corners(
                indices, image * points + point, total, depth, height, width, taps, dims
            ):
                if inside:
                    weight = _product(weights, weights, weights, i, j, k, dims)
                    for plane, g in zip(planes, grads):
                        out[plane * size + at] += weight * g


def _grid_grad(
    begin: int, end: int, x: Floats, grad: Floats, indices: Floats, weights: Floats, changes: Floats, out: Floats, blocks: int,
    images: int, channels: int, depth: int, height: int, width: int, points: int, *, taps: tuple[int, ...], dims: int,
    members: tuple[int, ...],
) -> None:  # fmt: skip
    """The range is over blocks of points of an image."""
    total, size = images * points, depth * height * width
    for block in range(begin, end):
        image, first = checked(block // blocks, images), (block % blocks) * _BLOCK
        for point in range(first, min(points, first + _BLOCK)):
            for axis in range(dims):
                out[(image * points + point) * dims + axis] = 0.0
        for group in range((channels + 3) // 4):
            planes = _planes(image, group, images, channels, members)
            for point in range(first, min(points, first + _BLOCK)):
                sample, grads = image * points + point, _grads(grad, planes, point, points)
                x_sum, y_sum, z_sum = 0.0, 0.0, 0.0
                for at, inside, i, j, k in _corners(indices, sample, total, depth, height, width, taps, dims):
                    value, before = 0.0, -1
                    for plane, g in zip(planes, grads):
                        value = fma(g, x[plane * size + at], value) if plane > before else value
                        before = plane
                    value = value if inside else 0.0
                    x_sum += value * _product(weights, weights, changes, i, j, k, dims)
                    y_sum += value * _product(weights, changes, weights, i, j, k, dims)
                    if dims == 3:
                        z_sum += value * _product(changes, weights, weights, i, j, k, dims)
                out[sample * dims] += x_sum
                out[sample * dims + 1] += y_sum
                if dims == 3:
                    out[sample * dims + 2] += z_sum


# ----- The functions --------------------------------------------------------------------------------------------------


@lru_cache(None)
def _kernel(function: Any, dtype: np.dtype, dims: int, mode: str, **known: Any) -> Any:
    if function is _taps:
        known["mode"] = _MODES[mode]
    return compile_loops(function, dtype, taps=_TAPS[mode], dims=dims, **known)


def _members(channels: int) -> tuple[int, ...]:
    return (0, 1, 2, 3) if channels > 1 else (0,)


class _Points:
    """The points of a grid: their taps along all dimensions, as arrays (dims * taps, images * points)."""

    def __init__(
        self, grid: np.ndarray, sizes: Sizes, mode: str, padding: str, align: bool, slopes: bool = False
    ) -> None:
        dims, total = len(sizes), grid.size // len(sizes)
        run = _kernel(_taps, grid.dtype, dims, mode, padding=_PADDINGS[padding], align=int(align), slopes=slopes)
        shape = (dims * len(_TAPS[mode]), total)
        self.arrays = [np.empty(shape, grid.dtype) for _ in range(3 if slopes else 2)]
        written = self.arrays if slopes else [*self.arrays, None]
        deep = (*(1,) * (3 - dims), *sizes)
        over(run, total, _GRAIN, contiguous(grid), *written, *deep, total)
        self.sizes = (*deep, total // len(grid))

    def over_groups(self, function: Any, mode: str, array: np.ndarray, out: Sizes) -> Any:
        """Run a kernel over groups of channels."""
        images, channels = out[:2]
        run = _kernel(function, array.dtype, len(out) - 2, mode, members=_members(channels))
        groups, points = -(-channels // 4), self.sizes[-1]
        grain = -(-_GRAIN // (points * min(channels, 4)))
        arrays = contiguous(array), *self.arrays, out
        return over(run, images * groups, grain, *arrays, groups, images, channels, *self.sizes)


def _suits(grid: np.ndarray, array: np.ndarray, size: int) -> bool:
    compiles = grid.dtype in FLOATS and array.dtype == grid.dtype and can_compile(_taps)
    return compiles and grid.size > 0 and array.size > 0 and size > 0


def sample(x: np.ndarray, grid: np.ndarray, mode: str, padding: str, align_corners: bool) -> Any:
    """`grid_sample`, or None where NumPy has to do it."""
    # A tap outside contributes 0 times some element.
    if not _suits(grid, x, x.size) or (padding == "zeros" and not np.isfinite(x).all()):
        return None
    points = _Points(grid, x.shape[2:], mode, padding, align_corners)
    return points.over_groups(_sample, mode, x, (*x.shape[:2], *grid.shape[1:-1]))


def image_grad(
    grad: np.ndarray, grid: np.ndarray, input_shape: Sizes, mode: str, padding: str, align_corners: bool
) -> Any:
    """`grid_sample_input_grad`, or None where NumPy has to do it."""
    if not _suits(grid, grad, prod(input_shape)):
        return None
    points = _Points(grid, input_shape[2:], mode, padding, align_corners)
    return points.over_groups(_image_grad, mode, grad, tuple(input_shape))


def grid_grad(grad: np.ndarray, x: np.ndarray, grid: np.ndarray, mode: str, padding: str, align_corners: bool) -> Any:
    """`grid_sample_grid_grad`, or None where NumPy has to do it."""
    if not _suits(grid, x, x.size) or grad.dtype != x.dtype:
        return None
    points = _Points(grid, x.shape[2:], mode, padding, align_corners, slopes=True)
    images, channels = x.shape[:2]
    run = _kernel(_grid_grad, x.dtype, x.ndim - 2, mode, members=_members(channels))
    blocks = -(-points.sizes[-1] // _BLOCK)
    arrays = contiguous(x), contiguous(grad), *points.arrays, grid.shape
    grain = -(-_GRAIN // (_BLOCK * channels))
    return over(run, images * blocks, grain, *arrays, blocks, images, channels, *points.sizes)
