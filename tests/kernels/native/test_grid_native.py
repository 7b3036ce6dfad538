"""Sampling at the places of a grid: machine code against NumPy."""

import numpy as np
import pytest

from penlight.kernels import grid_sample, native
from penlight.kernels.grid_sample import vectors

pytestmark = pytest.mark.skipif(not native.available(), reason="this machine runs no native kernels")

SHAPES = [
    ((2, 4, 8, 8), (2, 8, 8, 2)),
    ((1, 1, 5, 7), (1, 3, 3, 2)),
    ((3, 2, 1, 1), (3, 2, 5, 2)),
    ((2, 5, 16, 9), (2, 1, 1, 2)),
    ((2, 3, 4, 5, 6), (2, 3, 4, 5, 3)),
    ((1, 2, 1, 3, 2), (1, 2, 2, 2, 3)),
]


@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("shape, places", SHAPES)
def test_same_as_numpy(shape, places, mode, padding, align_corners):
    if mode == "bicubic" and len(shape) == 5:
        return
    rng = np.random.default_rng(0)
    x, grid = rng.standard_normal(shape, np.float32), rng.standard_normal(places, np.float32) * np.float32(1.2)
    modes = mode, padding, align_corners
    upstream = rng.standard_normal((*shape[:2], *places[1:-1]), np.float32)
    found = [
        vectors.sample(x, grid, *modes),
        vectors.image_grad(upstream, grid, shape, *modes),
        grid_sample.grid_sample_grid_grad(upstream, x, grid, *modes)
        if mode == "nearest"
        else vectors.grid_grad(upstream, x, grid, *modes),
    ]
    wanted = [
        grid_sample._numpy_sample(x, grid, *modes),
        grid_sample._numpy_image_grad(upstream, grid, shape, *modes),
        np.zeros_like(grid) if mode == "nearest" else grid_sample._numpy_grid_grad(upstream, x, grid, *modes),
    ]
    for ours, theirs in zip(found, wanted, strict=True):
        assert ours.dtype == np.float32 and ours.flags.c_contiguous
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=2e-5)


def test_nothing_outside_is_touched():
    """A tap outside takes 0, whatever is there; places that are not finite show."""
    x = np.full((1, 1, 4, 4), np.inf, np.float32)
    x[..., 1:3, 1:3] = 1.0
    grid = np.array([[[[5.0, 0.0], [np.nan, 0.0], [0.0, 0.0], [0.0, -1e30]]]], np.float32)
    out = vectors.sample(x, grid, "bilinear", "zeros", False)
    np.testing.assert_array_equal(out[0, 0, 0], [0.0, np.nan, 1.0, 0.0])
    grad = vectors.image_grad(np.ones((1, 1, 1, 4), np.float32), grid, x.shape, "bilinear", "zeros", False)
    assert grad.sum() == 1.0


def test_what_is_not_float32_is_for_numpy():
    x, grid = np.ones((1, 1, 2, 2)), np.zeros((1, 1, 1, 2))
    assert vectors.sample(x, grid, "bilinear", "zeros", True) is None
    assert vectors.sample(x.astype(np.float32)[:0], grid.astype(np.float32)[:0], "bilinear", "zeros", True) is None


def test_shared_between_threads():
    """Many images, as NumPy has them one at a time."""
    rng = np.random.default_rng(1)
    x, grid = rng.standard_normal((40, 3, 16, 16), np.float32), rng.uniform(-1, 1, (40, 33, 33, 2)).astype(np.float32)
    whole = vectors.sample(x, grid, "bilinear", "border", True)
    parts = [vectors.sample(x[i : i + 1], grid[i : i + 1], "bilinear", "border", True) for i in range(40)]
    np.testing.assert_array_equal(whole, np.concatenate(parts))
