"""Sampling at the points of a grid as compiled loops, see Note [Compiled loops] in compiler/loops.py. The same in NumPy: __init__.py.

Along each dimension of an image, a coordinate of the grid becomes one, two or four taps: an index, which is negative if it is outside, a weight, and
the weight's derivative by the coordinate. `_taps` computes these with vectors along the points. The other kernels combine the taps of
all dimensions, for up to four channels at a time, so that indices are converted and checked once for these. Images of two dimensions have a third
one of size one.
"""

from __future__ import annotations

import math
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
_ONE, _AXES = (0,), (0, 1, 2)  # axes are counted from the last dimension on
_A = -0.75  # the sharpness of cubic interpolation
_GRAIN = 1 << 12  # points that are worth sharing
_BLOCK = 128  # points whose gradients stay in the first cache


# ----- The taps of a coordinate ---------------------------------------------------------------------------------------


def _reflected(at: float, size: float, align: int) -> float:
    """A coordinate reflected at the borders until it is inside."""
    low = 0.0 if align else -0.5
    span = max(size - 1.0, 1.0) if align else size  # what is reflected at a single element is limited to it afterwards
    distance = abs(at - low)
    flips = math.floor(distance / span)
    rest = distance - flips * span
    half = flips * 0.5
    return (rest if math.floor(half) == half else span - rest) + low


def _inside(at: float, size: float, padding: int, align: int, dims: int) -> float:
    """A coordinate brought inside; NaN goes to the first element, or to the last if there are three dimensions."""
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
    """The derivative of that position by the coordinate."""
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
    """The derivative of a weight by the position."""
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
    """The taps of `total` points along each dimension. A tap outside has weight 0, or NaN in two dimensions where a coordinate is not finite: that shows
    in samples, as in PyTorch."""
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
# Ranges are over groups of channels: of four with `several`, of which the last may be one and the same.


def _plane(group: int, number: int, images: int, channels: int, groups: int) -> int:
    """The plane of one of the channels of a group."""
    channel = (group % groups) * 4
    return checked(group // groups, images) * channels + min(checked(channels - 1, channels), channel + number)


def _sample(
    begin: int, end: int, x: Floats, indices: Floats, weights: Floats, out: Floats, groups: int, images: int, channels: int,
    depth: int, height: int, width: int, points: int, *, taps: tuple[int, ...], dims: int, several: bool,
) -> None:  # fmt: skip
    total, size, count = images * points, depth * height * width, len(taps)
    for group in range(begin, end):
        a, b = _plane(group, 0, images, channels, groups), _plane(group, 1, images, channels, groups)
        c, d = _plane(group, 2, images, channels, groups), _plane(group, 3, images, channels, groups)
        for point in range(points):
            sample = checked(group // groups, images) * points + point
            a_sum, b_sum, c_sum, d_sum = 0.0, 0.0, 0.0, 0.0
            for i in taps if dims == 3 else _ONE:
                z = checked(int(indices[(2 * count + i) * total + sample]), depth) if dims == 3 else 0
                z_weight = weights[(2 * count + i) * total + sample] if dims == 3 else 1.0
                for j in taps:
                    row = (z * height + checked(int(indices[(count + j) * total + sample]), height)) * width
                    y_weight = z_weight * weights[(count + j) * total + sample]
                    for k in taps:
                        at = row + checked(int(indices[k * total + sample]), width)
                        weight = y_weight * weights[k * total + sample]
                        a_sum = fma(weight, x[a * size + at], a_sum)
                        if several:
                            b_sum = fma(weight, x[b * size + at], b_sum)
                            c_sum = fma(weight, x[c * size + at], c_sum)
                            d_sum = fma(weight, x[d * size + at], d_sum)
            out[a * points + point] = a_sum
            if several:
                out[b * points + point] = b_sum
                out[c * points + point] = c_sum
                out[d * points + point] = d_sum


def _image_grad(
    begin: int, end: int, grad: Floats, indices: Floats, weights: Floats, out: Floats, groups: int, images: int, channels: int,
    depth: int, height: int, width: int, points: int, *, taps: tuple[int, ...], dims: int, several: bool,
) -> None:  # fmt: skip
    total, size, count = images * points, depth * height * width, len(taps)
    for group in range(begin, end):
        a, b = _plane(group, 0, images, channels, groups), _plane(group, 1, images, channels, groups)
        c, d = _plane(group, 2, images, channels, groups), _plane(group, 3, images, channels, groups)
        for plane in range(a, d + 1):
            for i in range(size):
                out[plane * size + i] = 0.0
        for point in range(points):
            sample = checked(group // groups, images) * points + point
            for i in taps if dims == 3 else _ONE:
                z = indices[(2 * count + i) * total + sample] if dims == 3 else 0.0
                z_weight = weights[(2 * count + i) * total + sample] if dims == 3 else 1.0
                for j in taps:
                    y = indices[(count + j) * total + sample]
                    row = (checked(int(z), depth) * height + checked(int(y), height)) * width
                    y_weight = z_weight * weights[(count + j) * total + sample]
                    for k in taps:
                        column = indices[k * total + sample]
                        at = row + checked(int(column), width)
                        weight = y_weight * weights[k * total + sample]
                        if min(min(z, y), column) >= 0.0:
                            out[a * size + at] += weight * grad[a * points + point]
                            if b > a:
                                out[b * size + at] += weight * grad[b * points + point]
                            if c > b:
                                out[c * size + at] += weight * grad[c * points + point]
                            if d > c:
                                out[d * size + at] += weight * grad[d * points + point]


def _grid_grad(
    begin: int, end: int, x: Floats, grad: Floats, indices: Floats, weights: Floats, changes: Floats, out: Floats, blocks: int,
    images: int, channels: int, depth: int, height: int, width: int, points: int, *, taps: tuple[int, ...], dims: int,
) -> None:  # fmt: skip
    """The range is over blocks of points of an image."""
    total, size, count = images * points, depth * height * width, len(taps)
    last = checked(channels - 1, channels)
    for block in range(begin, end):
        image, first = checked(block // blocks, images), (block % blocks) * _BLOCK
        for point in range(first, min(points, first + _BLOCK)):
            for axis in range(dims):
                out[(image * points + point) * dims + axis] = 0.0
        for channel in range(0, channels, 4):
            a, b = image * channels + channel, image * channels + min(last, channel + 1)
            c, d = image * channels + min(last, channel + 2), image * channels + min(last, channel + 3)
            for point in range(first, min(points, first + _BLOCK)):
                sample = image * points + point
                a_grad = grad[a * points + point]
                b_grad = grad[b * points + point] if b > a else 0.0
                c_grad = grad[c * points + point] if c > b else 0.0
                d_grad = grad[d * points + point] if d > c else 0.0
                x_sum, y_sum, z_sum = 0.0, 0.0, 0.0
                for i in taps if dims == 3 else _ONE:
                    z, z_weight, z_change = 0.0, 1.0, 0.0
                    if dims == 3:
                        at = (2 * count + i) * total + sample
                        z, z_weight, z_change = indices[at], weights[at], changes[at]
                    for j in taps:
                        at = (count + j) * total + sample
                        y, y_weight, y_change = indices[at], weights[at], changes[at]
                        row = (checked(int(z), depth) * height + checked(int(y), height)) * width
                        for k in taps:
                            column, x_weight = indices[k * total + sample], weights[k * total + sample]
                            at = row + checked(int(column), width)
                            value = fma(b_grad, x[b * size + at], a_grad * x[a * size + at])
                            value = fma(d_grad, x[d * size + at], fma(c_grad, x[c * size + at], value))
                            value = value if min(min(z, y), column) >= 0.0 else 0.0
                            x_sum += value * changes[k * total + sample] * y_weight * z_weight
                            y_sum += value * x_weight * y_change * z_weight
                            if dims == 3:
                                z_sum += value * x_weight * y_weight * z_change
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
        run = _kernel(function, array.dtype, len(out) - 2, mode, several=channels > 1)
        groups, points = -(-channels // 4), self.sizes[-1]
        grain = -(-_GRAIN // (points * min(channels, 4)))
        arrays = contiguous(array), *self.arrays, out
        return over(run, images * groups, grain, *arrays, groups, images, channels, *self.sizes)


def _suits(grid: np.ndarray, array: np.ndarray, size: int) -> bool:
    compiles = grid.dtype in FLOATS and array.dtype == grid.dtype and can_compile(_taps)
    return compiles and grid.size > 0 and array.size > 0 and size > 0


def sample(x: np.ndarray, grid: np.ndarray, mode: str, padding: str, align_corners: bool) -> Any:
    """`grid_sample`, or None where NumPy has to do it."""
    # A tap outside takes 0 times some element.
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
    run = _kernel(_grid_grad, x.dtype, x.ndim - 2, mode)
    images, channels = x.shape[:2]
    blocks = -(-points.sizes[-1] // _BLOCK)
    arrays = contiguous(x), contiguous(grad), *points.arrays, grid.shape
    grain = -(-_GRAIN // (_BLOCK * channels))
    return over(run, images * blocks, grain, *arrays, blocks, images, channels, *points.sizes)
