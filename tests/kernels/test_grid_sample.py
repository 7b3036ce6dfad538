"""Sampling at the points of a grid: compiled loops beside the same in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from penlight.kernels import executable, grid_sample
from penlight.kernels.grid_sample import kernels

pytestmark = pytest.mark.skipif(executable.backend() is None, reason="no machine code on this machine")
CASES = [
    (dims, mode, padding, align)
    for dims in (2, 3)
    for mode in ("bilinear", "nearest", "bicubic")[: 3 if dims == 2 else 2]
    for padding in ("zeros", "border", "reflection")
    for align in (False, True)
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("dims", "mode", "padding", "align"), CASES)
def test_as_in_numpy(dims, mode, padding, align, dtype):
    rng = np.random.default_rng(0)
    for channels, sizes in ((1, (4, 5, 6)), (3, (1, 3, 1)), (6, (4, 5, 6))):
        shape, out = (2, channels, *sizes[-dims:]), (7, 5, 3)[:dims]
        x = rng.normal(size=shape).astype(dtype)
        grid = (rng.normal(size=(2, *out, dims)) * 1.2).astype(dtype)
        grid.flat[3], grid.flat[20], grid.flat[21] = np.nan, np.inf, 1e30
        grad = rng.normal(size=(2, channels, *out)).astype(dtype)
        found = [
            kernels.sample(x, grid, mode, padding, align),
            kernels.image_grad(grad, grid, shape, mode, padding, align),
        ]
        expected = [
            grid_sample._numpy_sample(x, grid, mode, padding, align),
            grid_sample._numpy_image_grad(grad, grid, shape, mode, padding, align),
        ]
        if mode != "nearest":
            found.append(kernels.grid_grad(grad, x, grid, mode, padding, align))
            expected.append(grid_sample._numpy_grid_grad(grad, x, grid, mode, padding, align))
        tolerance = {"rtol": 1e-9, "atol": 1e-11} if dtype == np.float64 else {"rtol": 1e-4, "atol": 1e-4}
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, **tolerance)


def test_nothing_outside_is_touched():
    """A tap outside takes 0, whatever is there; coordinates that are not finite show."""
    x = np.full((1, 1, 4, 4), np.inf, np.float32)
    x[..., 1:3, 1:3] = 1.0
    grid = np.array([[[[5.0, 0.0], [np.nan, 0.0], [0.0, 0.0], [0.0, -1e30]]]], np.float32)
    out = grid_sample.grid_sample(x, grid, "bilinear", "zeros", False)
    np.testing.assert_array_equal(out[0, 0, 0], [0.0, np.nan, 1.0, 0.0])
    grad = kernels.image_grad(np.ones((1, 1, 1, 4), np.float32), grid, x.shape, "bilinear", "zeros", False)
    assert grad.sum() == 1.0


def test_shared_between_threads():
    """Many images, as NumPy has them one at a time."""
    rng = np.random.default_rng(1)
    x, grid = rng.standard_normal((40, 3, 16, 16), np.float32), rng.uniform(-1, 1, (40, 33, 33, 2)).astype(np.float32)
    whole = kernels.sample(x, grid, "bilinear", "border", True)
    parts = [kernels.sample(x[i : i + 1], grid[i : i + 1], "bilinear", "border", True) for i in range(40)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))
