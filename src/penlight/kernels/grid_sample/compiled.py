"""Sampling at the places of a grid as loops, see Note [Compiled loops] in compiler/loops.py.

The same in NumPy, with what is meant: kernels/grid_sample/. Images of two dimensions have a third one of size one. What the mode, the padding and the corners
make of a coordinate is known when a kernel is translated. Functions give None where NumPy has to do it.
"""

from __future__ import annotations

import math
from math import prod
from typing import Any

import numpy as np

from ..compiler.loops import Floats, checked, compile_loops, fma
from ..waiting_threads import over

Sizes = tuple[int, ...]
_BILINEAR, _NEAREST, _BICUBIC = range(3)
_ZEROS, _, _REFLECTION = range(3)
_MODES = {"bilinear": _BILINEAR, "nearest": _NEAREST, "bicubic": _BICUBIC}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}
_A = -0.75
_GRAIN = 1 << 12  # samples that are worth sharing


def _reflected(at: float, size: int, align: int) -> float:
    """A coordinate folded back and forth between the borders."""
    low = 0.0 if align else -0.5
    span = size - 1.0 if align else size + 0.0
    if span == 0.0:
        return 0.0
    distance = abs(at - low)
    flips = math.floor(distance / span)
    rest = distance - flips * span
    half = flips * 0.5
    if math.floor(half) == half:
        return rest + low
    return span - rest + low


def _inside(at: float, size: int, padding: int, align: int, dims: int) -> float:
    """A coordinate brought inside; one without a meaning goes to the first element, or the last if there are three dims."""
    if padding == _REFLECTION:
        at = _reflected(at, size, align)
    if at != at:
        return 0.0 if dims == 2 else size - 1.0
    return min(max(at, 0.0), size - 1.0)


def _unscaled(at: float, size: int, align: int) -> float:
    if align:
        return (at + 1.0) * ((size - 1) / 2)
    return fma(at + 1.0, size / 2, -0.5)


def _place(at: float, size: int, mode: int, padding: int, align: int, dims: int) -> float:
    """Where a normalised coordinate lies along a dim."""
    at = _unscaled(at, size, align)
    if padding != _ZEROS and mode != _BICUBIC:
        at = _inside(at, size, padding, align, dims)
    return at


def _slope(at: float, size: int, mode: int, padding: int, align: int) -> float:
    """How fast that place moves with the coordinate."""
    scale = (size - 1) / 2 if align else size / 2
    if padding == _ZEROS or mode == _BICUBIC:
        return scale
    at = _unscaled(at, size, align)
    if padding == _REFLECTION:
        low = 0.0 if align else -0.5
        span = size - 1.0 if align else size + 0.0
        if span == 0.0:
            return 0.0
        flips = math.floor(abs(at - low) / span) * 0.5
        if (at - low < 0.0) == (math.floor(flips) == flips):
            scale = -scale
        at = _reflected(at, size, align)
    if at > 0.0 and at < size - 1.0:
        return scale
    return 0.0


def _index(at: float, tap: int, size: int, mode: int, padding: int, align: int) -> float:
    """The index of a tap; negative if it is outside."""
    found: float = round(at) if mode == _NEAREST else math.floor(at) + tap
    if mode == _BICUBIC:
        found -= 1.0
        if padding != _ZEROS:
            found = _inside(found, size, padding, align, 2)
    if padding == _ZEROS:
        if found >= 0.0 and found < size:
            return found
        return -1.0
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
    """The derivative of a weight."""
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


def _sample(
    begin: int, end: int, x: Floats, grid: Floats, out: Floats, images: int, channels: int, depth: int, height: int, width: int, places: int,
    *, mode: int, padding: int, align: int, dims: int,
) -> None:  # fmt: skip
    taps = 1 if mode == _NEAREST else 4 if mode == _BICUBIC else 2
    deep = taps if dims == 3 else 1
    plane = depth * height * width
    for sample in range(begin, end):
        image = checked(sample // places, images)
        start = image * channels * places + sample % places
        for c in range(channels):
            out[start + c * places] = 0.0
        g = sample * dims
        x_at = _place(grid[g], width, mode, padding, align, dims)
        y_at = _place(grid[g + 1], height, mode, padding, align, dims)
        z_at = 0.0
        if dims == 3:
            z_at = _place(grid[g + 2], depth, mode, padding, align, dims)
        if dims == 2 and (mode == _BICUBIC or (mode == _BILINEAR and padding == _ZEROS)):
            if x_at - x_at != 0.0 or y_at - y_at != 0.0:
                for c in range(channels):
                    out[start + c * places] = math.nan
        for i in range(deep):
            z, z_weight = 0.0, 1.0
            if dims == 3:
                z = _index(z_at, i, depth, mode, padding, align)
                z_weight = _weight(z_at, i, mode)
            if z < 0.0:
                continue
            for j in range(taps):
                y = _index(y_at, j, height, mode, padding, align)
                if y < 0.0:
                    continue
                y_weight = z_weight * _weight(y_at, j, mode)
                row = image * channels * plane + (checked(int(z), depth) * height + checked(int(y), height)) * width
                for k in range(taps):
                    column = _index(x_at, k, width, mode, padding, align)
                    if column < 0.0:
                        continue
                    weight = y_weight * _weight(x_at, k, mode)
                    at = row + checked(int(column), width)
                    for c in range(channels):
                        out[start + c * places] += weight * x[at + c * plane]


def _image_grad(
    begin: int, end: int, grad: Floats, grid: Floats, out: Floats, channels: int, depth: int, height: int, width: int, places: int,
    *, mode: int, padding: int, align: int, dims: int,
) -> None:  # fmt: skip
    taps = 1 if mode == _NEAREST else 4 if mode == _BICUBIC else 2
    deep = taps if dims == 3 else 1
    plane = depth * height * width
    for image in range(begin, end):
        for i in range(channels * plane):
            out[image * channels * plane + i] = 0.0
        for place in range(places):
            start = image * channels * places + place
            g = (image * places + place) * dims
            x_at = _place(grid[g], width, mode, padding, align, dims)
            y_at = _place(grid[g + 1], height, mode, padding, align, dims)
            z_at = 0.0
            if dims == 3:
                z_at = _place(grid[g + 2], depth, mode, padding, align, dims)
            for i in range(deep):
                z, z_weight = 0.0, 1.0
                if dims == 3:
                    z = _index(z_at, i, depth, mode, padding, align)
                    z_weight = _weight(z_at, i, mode)
                if z < 0.0:
                    continue
                for j in range(taps):
                    y = _index(y_at, j, height, mode, padding, align)
                    if y < 0.0:
                        continue
                    y_weight = z_weight * _weight(y_at, j, mode)
                    row = image * channels * plane + (checked(int(z), depth) * height + checked(int(y), height)) * width
                    for k in range(taps):
                        column = _index(x_at, k, width, mode, padding, align)
                        if column < 0.0:
                            continue
                        weight = y_weight * _weight(x_at, k, mode)
                        at = row + checked(int(column), width)
                        for c in range(channels):
                            out[at + c * plane] += weight * grad[start + c * places]


def _grid_grad(
    begin: int, end: int, x: Floats, grad: Floats, grid: Floats, out: Floats, images: int, channels: int, depth: int,
    height: int, width: int, places: int, *, mode: int, padding: int, align: int, dims: int,
) -> None:  # fmt: skip
    taps = 4 if mode == _BICUBIC else 2
    deep = taps if dims == 3 else 1
    plane = depth * height * width
    for sample in range(begin, end):
        image = checked(sample // places, images)
        start = image * channels * places + sample % places
        g = sample * dims
        x_at = _place(grid[g], width, mode, padding, align, dims)
        y_at = _place(grid[g + 1], height, mode, padding, align, dims)
        z_at = 0.0
        if dims == 3:
            z_at = _place(grid[g + 2], depth, mode, padding, align, dims)
        x_grad, y_grad, z_grad = 0.0, 0.0, 0.0
        for i in range(deep):
            z, z_weight, z_change = 0.0, 1.0, 0.0
            if dims == 3:
                z = _index(z_at, i, depth, mode, padding, align)
                z_weight = _weight(z_at, i, mode)
                z_change = _change(z_at, i, mode)
            if z < 0.0:
                continue
            for j in range(taps):
                y = _index(y_at, j, height, mode, padding, align)
                if y < 0.0:
                    continue
                y_weight = _weight(y_at, j, mode)
                y_change = _change(y_at, j, mode)
                row = image * channels * plane + (checked(int(z), depth) * height + checked(int(y), height)) * width
                for k in range(taps):
                    column = _index(x_at, k, width, mode, padding, align)
                    if column < 0.0:
                        continue
                    x_weight = _weight(x_at, k, mode)
                    at = row + checked(int(column), width)
                    total = 0.0
                    for c in range(channels):
                        total += x[at + c * plane] * grad[start + c * places]
                    x_grad += total * _change(x_at, k, mode) * y_weight * z_weight
                    y_grad += total * x_weight * y_change * z_weight
                    if dims == 3:
                        z_grad += total * x_weight * y_weight * z_change
        out[g] = x_grad * _slope(grid[g], width, mode, padding, align)
        out[g + 1] = y_grad * _slope(grid[g + 1], height, mode, padding, align)
        if dims == 3:
            out[g + 2] = z_grad * _slope(grid[g + 2], depth, mode, padding, align)


_keys: dict[Any, Any] = {}  # kernels by what they are asked for


def _kernel(function: Any, dtype: np.dtype, mode: str, padding: str, align_corners: bool, dims: int) -> Any:
    key = function, dtype, mode, padding, align_corners, dims
    try:
        return _keys[key]
    except KeyError:
        known: dict[str, Any] = {
            "mode": _MODES[mode],
            "padding": _PADDINGS[padding],
            "align": int(align_corners),
            "dims": dims,
        }
        _keys[key] = made = compile_loops(function, dtype, **known)
        return made


def _plain(array: np.ndarray) -> np.ndarray:
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def _deep(sizes: Sizes) -> Sizes:
    return sizes if len(sizes) == 3 else (1, *sizes)


def sample(x: np.ndarray, grid: np.ndarray, mode: str, padding: str, align_corners: bool) -> np.ndarray | None:
    """`x` at the places of `grid`."""
    dims = grid.shape[-1]
    run = _kernel(_sample, x.dtype, mode, padding, align_corners, dims)
    if run is None or not x.size or not grid.size:
        return None
    x, grid = _plain(x), _plain(grid)
    shape = (*x.shape[:2], *grid.shape[1:-1])
    places = prod(grid.shape[1:-1])
    channels = x.shape[1]
    numbers = (len(grid), channels, *_deep(x.shape[2:]), places)
    out: np.ndarray = over(run, len(grid) * places, -(-_GRAIN // channels), x, grid, shape, *numbers)
    return out


def image_grad(
    grad: np.ndarray, grid: np.ndarray, input_shape: Sizes, mode: str, padding: str, align_corners: bool
) -> np.ndarray | None:
    """The transpose of `sample` in the image."""
    dims = grid.shape[-1]
    run = _kernel(_image_grad, grad.dtype, mode, padding, align_corners, dims)
    if run is None or not grad.size or not prod(input_shape):
        return None
    grad, grid = _plain(grad), _plain(grid)
    places = prod(grid.shape[1:-1])
    numbers = (input_shape[1], *_deep(input_shape[2:]), places)
    grain = -(-_GRAIN // (places * input_shape[1]))
    out: np.ndarray = over(run, len(grid), grain, grad, grid, tuple(input_shape), *numbers)
    return out


def grid_grad(
    grad: np.ndarray, x: np.ndarray, grid: np.ndarray, mode: str, padding: str, align_corners: bool
) -> np.ndarray | None:
    """The gradient for the grid, if the mode has one."""
    dims = grid.shape[-1]
    run = _kernel(_grid_grad, grad.dtype, mode, padding, align_corners, dims)
    if run is None or not grad.size or not x.size:
        return None
    grad, x, grid = _plain(grad), _plain(x), _plain(grid)
    places = prod(grid.shape[1:-1])
    channels = x.shape[1]
    numbers = (len(grid), channels, *_deep(x.shape[2:]), places)
    out: np.ndarray = over(run, len(grid) * places, -(-_GRAIN // channels), x, grad, grid, grid.shape, *numbers)
    return out
