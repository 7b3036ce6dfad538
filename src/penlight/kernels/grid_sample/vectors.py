"""Sampling at the places of a grid in machine code, for float32. The same in NumPy, with what is meant: kernels/grid_sample/.

Each dim's coordinates become taps (coordinates.py); those of all dims are combined here, and kernels/grid_sample/kernels.py works on the planes. Functions give None
where NumPy has to do it.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from .. import native
from ..lazy import lazy_import
from ..numpy_warnings import silent

_kernels = lazy_import(globals(), "_kernels", ".kernels")
_tap_kernels = lazy_import(globals(), "_tap_kernels", ".coordinates")

Ints = tuple[int, ...]

_FLOAT = np.dtype(np.float32)
_LARGEST_PLANE = 1 << 27  # elements; see OUTSIDE in coordinates.py


def _suits(grid: np.ndarray, *others: np.ndarray) -> bool:
    if grid.dtype != _FLOAT or not grid.size or not native.available():
        return False
    return all(other.dtype == _FLOAT and other.size for other in others)


@lru_cache(64)
def _rows(images: int, sizes: Ints, align_corners: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each row of coordinates: the size of its dim, the factor of its coordinates, and how far elements are apart."""
    scales = [(n - 1) / 2 if align_corners else n / 2 for n in sizes]
    steps = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    return (
        np.array(sizes * images, np.float32),
        np.array(scales * images, np.float32),
        np.array(steps * images, np.int32),
    )


def _filled_up(grid: np.ndarray) -> np.ndarray:
    """A grid for two dims, contiguous and with places enough for whole vectors."""
    images, places = len(grid), grid.shape[1] * grid.shape[2]
    if not places & 7:
        return grid if grid.flags.c_contiguous else np.ascontiguousarray(grid)
    filled = np.zeros((images, (places + 7) & ~7, 2), _FLOAT)
    filled[:, :places] = grid.reshape(images, places, 2)
    return filled


def _taps_of_planes(
    grid: np.ndarray, sizes: Ints, mode: str, padding: str, align_corners: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The numbers and weights of all taps (images, taps, places), in fewer steps if there are two dims."""
    if len(sizes) != 2 or mode == "bicubic":
        taps = _Taps(grid, sizes, mode, padding, align_corners)
        return taps.numbers, taps.factors()
    grid = _filled_up(grid)
    images, wide = len(grid), grid.size // (2 * len(grid))
    shape = (images, 4 if mode == "bilinear" else 1, wide)
    numbers, weights = np.empty(shape, np.int32), np.empty(shape, _FLOAT)
    run = _tap_kernels.run_of_planes(mode, padding, align_corners)
    run(0, images, wide, grid, numbers, weights, sizes[0], sizes[1])
    return numbers, weights


class _Taps:
    """The taps of all places, for each dim (images, dims, taps, places) and, in `numbers`, for all of them."""

    def __init__(
        self, grid: np.ndarray, sizes: Ints, mode: str, padding: str, align: bool, slopes: bool = False
    ) -> None:
        images, dims = len(grid), len(sizes)
        self.places = places = prod(grid.shape[1:-1])
        wide = (places + 7) & ~7
        coordinates = np.empty((images, dims, wide), _FLOAT)
        if wide != places:
            coordinates[:, :, places:] = 0
        coordinates[:, ::-1, :places] = grid.reshape(images, places, dims).transpose(0, 2, 1)
        shape = (images, dims, _tap_kernels.COUNTS[mode], wide)
        numbers, self.weights = np.empty(shape, np.int32), np.empty(shape, _FLOAT)
        self.slopes = np.empty(shape, _FLOAT) if slopes else None
        arrays: list[Any] = [coordinates, *_rows(images, sizes, align), numbers, self.weights]
        if slopes:
            arrays.append(self.slopes)
        _tap_kernels.run_of(mode, padding, align, dims, slopes)(0, images * dims, wide, *arrays)
        self.numbers = _combined(np.add, [numbers[:, i] for i in range(dims)])

    def factors(self, dim: int = -1) -> np.ndarray:
        """The product of the weights of all dims; with `dim`, of its slopes and the weights of the others."""
        slopes: Any = self.slopes
        dims = self.weights.shape[1]
        with silent():
            return _combined(np.multiply, [slopes[:, i] if i == dim else self.weights[:, i] for i in range(dims)])


def _combined(function: Any, parts: list[np.ndarray]) -> np.ndarray:
    """Arrays (images, taps, places) of all dims combined to one with the taps of each dim as an axis of its own."""
    if len(parts) == 2:
        result: np.ndarray = function(parts[0][:, :, None], parts[1][:, None], order="C")
        return result
    plane = function(parts[0][:, :, None], parts[1][:, None])
    result = function(plane[:, :, :, None], parts[2][:, None, None], order="C")
    return result


def sample(x: np.ndarray, grid: np.ndarray, mode: str, padding: str, align_corners: bool) -> np.ndarray | None:
    """`grid_sample`."""
    images, channels, *rest = x.shape
    sizes = tuple(rest)
    size = prod(sizes)
    if not _suits(grid, x) or size >= _LARGEST_PLANE:
        return None
    numbers, weights = _taps_of_planes(grid, sizes, mode, padding, align_corners)
    out = np.empty((images, channels, *grid.shape[1:-1]), _FLOAT)
    places = prod(grid.shape[1:-1])
    image = x if x.flags.c_contiguous else np.ascontiguousarray(x)
    count = numbers.size // (images * numbers.shape[-1])
    _kernels.over_images(_kernels.weighted, images, channels, count, places, size, image, numbers, weights, out)
    return out


def image_grad(
    grad: np.ndarray, grid: np.ndarray, input_shape: Ints, mode: str, padding: str, align_corners: bool
) -> np.ndarray | None:
    """`grid_sample_input_grad`."""
    images, channels, *rest = input_shape
    sizes = tuple(rest)
    size = prod(sizes)
    if not _suits(grid, grad) or not size or size >= _LARGEST_PLANE:
        return None
    numbers, weights = _taps_of_planes(grid, sizes, mode, padding, align_corners)
    out = np.zeros(input_shape, _FLOAT)
    places = prod(grid.shape[1:-1])
    upstream = grad if grad.flags.c_contiguous else np.ascontiguousarray(grad)
    count = numbers.size // (images * numbers.shape[-1])
    _kernels.over_images(_kernels.spread, images, channels, count, places, size, out, numbers, weights, upstream)
    return out


def grid_grad(
    grad: np.ndarray, x: np.ndarray, grid: np.ndarray, mode: str, padding: str, align_corners: bool
) -> np.ndarray | None:
    """`grid_sample_grid_grad`."""
    images, channels, *rest = x.shape
    sizes = tuple(rest)
    size = prod(sizes)
    if not _suits(grid, x, grad) or size >= _LARGEST_PLANE:
        return None
    upstream = grad if grad.flags.c_contiguous else np.ascontiguousarray(grad)
    image = x if x.flags.c_contiguous else np.ascontiguousarray(x)
    if len(sizes) == 2 and mode == "bilinear":
        filled, places = _filled_up(grid), grid.shape[1] * grid.shape[2]
        numbers, along = _taps_of_planes(filled.reshape(images, 1, -1, 2), sizes, mode, padding, align_corners)
        _kernels.over_images(_kernels.products, images, channels, 4, places, size, image, numbers, upstream, along)
        slopes = np.empty((images, 2, numbers.shape[-1]), _FLOAT)
        run = _tap_kernels.run_of_slopes(padding, align_corners)
        run(0, images, numbers.shape[-1], filled, along, slopes, sizes[0], sizes[1])
        return np.ascontiguousarray(slopes[:, :, :places].transpose(0, 2, 1)).reshape(grid.shape)
    taps = _Taps(grid, sizes, mode, padding, align_corners, slopes=True)
    along = np.empty(taps.numbers.shape, _FLOAT)
    count = taps.numbers[0, ..., 0].size
    _kernels.over_images(
        _kernels.products, images, channels, count, taps.places, size, image, taps.numbers, upstream, along
    )
    dims = len(sizes)
    result = np.empty((images, taps.places, dims), _FLOAT)
    axes = tuple(range(1, dims + 1))
    with silent():
        for i in range(dims):
            slopes = taps.factors(i)
            slopes *= along
            result[:, :, dims - 1 - i] = np.add.reduce(slopes, axes)[:, : taps.places]
    return result.reshape(grid.shape)
