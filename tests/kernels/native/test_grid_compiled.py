"""Sampling at the places of a grid by compiled loops beside the same in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from penlight.kernels import executable, grid_sample
from penlight.kernels.grid_sample import compiled

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
    for sizes in ((4, 5, 6), (1, 3, 1)):
        shape, out = (2, 3, *sizes[-dims:]), (7, 5, 3)[:dims]
        x = rng.normal(size=shape).astype(dtype)
        grid = (rng.normal(size=(2, *out, dims)) * 1.2).astype(dtype)
        grid.flat[3], grid.flat[20], grid.flat[21] = np.nan, np.inf, 1e30
        grad = rng.normal(size=(2, 3, *out)).astype(dtype)
        found = [
            compiled.sample(x, grid, mode, padding, align),
            compiled.image_grad(grad, grid, shape, mode, padding, align),
        ]
        expected = [
            grid_sample._numpy_sample(x, grid, mode, padding, align),
            grid_sample._numpy_image_grad(grad, grid, shape, mode, padding, align),
        ]
        if mode != "nearest":
            found.append(compiled.grid_grad(grad, x, grid, mode, padding, align))
            expected.append(grid_sample._numpy_grid_grad(grad, x, grid, mode, padding, align))
        tolerance = {"rtol": 1e-9, "atol": 1e-11} if dtype == np.float64 else {"rtol": 1e-4, "atol": 1e-4}
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, **tolerance)
