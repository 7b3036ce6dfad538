"""Resizing and grid sampling: pinned values from torch, and every backward as the transpose of its forward."""

from __future__ import annotations

import numpy as np
import pytest

from penlight.kernels.grid_sample import (
    affine_grid_base,
    grid_sample,
    grid_sample_grid_grad,
    grid_sample_input_grad,
)
from penlight.kernels.resample import interpolate, interpolate_backward

RAMP = np.array([[[0.0, 1.0, 4.0]]])


@pytest.mark.parametrize(
    ("mode", "size", "align", "expected"),
    [
        ("nearest", 5, False, [0, 0, 1, 1, 4]),
        ("nearest", 2, False, [0, 1]),
        ("nearest-exact", 5, False, [0, 0, 1, 4, 4]),
        ("nearest-exact", 2, False, [0, 4]),
        ("linear", 6, False, [0.0, 0.25, 0.75, 1.75, 3.25, 4.0]),
        ("linear", 5, True, [0.0, 0.5, 1.0, 2.5, 4.0]),
        ("linear", 2, False, [0.25, 3.25]),
        ("linear", 1, True, [0.0]),
        ("area", 2, False, [0.5, 2.5]),
    ],
)
def test_values(mode, size, align, expected):
    np.testing.assert_allclose(interpolate(RAMP, (size,), mode, align), [[expected]], atol=1e-12)


def test_cubic_values():
    x = np.array([[[[0.0, 1.0], [2.0, 5.0]]]])
    expected = [[-0.2453, 0.2396, 0.7245], [0.8264, 2.0, 3.1736], [1.8981, 3.7604, 5.6227]]
    np.testing.assert_allclose(interpolate(x, (3, 3), "bicubic")[0, 0], expected, atol=1e-4)
    row = np.arange(8.0).reshape(1, 1, 1, 8) ** 2
    smooth = interpolate(row, (1, 3), "bilinear", antialias=True)
    np.testing.assert_allclose(smooth[0, 0, 0], [2.0526, 13.4524, 35.5789], atol=1e-4)


def test_a_given_scale_is_used_in_place_of_the_ratio():
    x = np.arange(5.0).reshape(1, 1, 5)
    by_ratio, by_scale = (interpolate(x, (8,), "linear", False, scales) for scales in (None, (1.7,)))
    assert not np.allclose(by_ratio, by_scale)
    np.testing.assert_allclose(by_scale[0, 0, -1], min(7.5 / 1.7 - 0.5, 4))


MODES = [
    ((9,), (4,), "nearest", False, False),
    ((4,), (9,), "nearest-exact", False, False),
    ((5,), (12,), "linear", True, False),
    ((5, 7), (9, 3), "bilinear", False, False),
    ((5, 7), (9, 13), "bicubic", True, False),
    ((90, 7), (130, 3), "bilinear", False, True),
    ((9, 70), (4, 100), "bicubic", False, True),
    ((3, 4, 5), (5, 2, 5), "trilinear", False, False),
    ((6, 5), (3, 7), "area", False, False),
]


@pytest.mark.parametrize("case", MODES, ids=str)
def test_backward_is_the_transpose(case):
    sizes, out, mode, align, antialias = case
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2, 3, *sizes))
    y = interpolate(x, out, mode, align, None, antialias)
    assert y.shape == (2, 3, *out) and y.flags.c_contiguous
    grad = rng.standard_normal(y.shape)
    back = interpolate_backward(grad, x.shape, mode, align, None, antialias)
    np.testing.assert_allclose(np.vdot(back, x), np.vdot(grad, y), rtol=1e-10)
    for place in (0, 2, x[0, 0].size - 1):
        unit = np.zeros_like(x)
        unit[1, 1].flat[place] = 1
        moved = interpolate(unit, out, mode, align, None, antialias)
        np.testing.assert_allclose(back[1, 1].flat[place], np.vdot(moved, grad), atol=1e-12)


@pytest.mark.parametrize("case", MODES[2:8], ids=str)
def test_a_constant_stays_constant(case):
    sizes, out, mode, align, antialias = case
    y = interpolate(np.full((1, 1, *sizes), 3.0), out, mode, align, None, antialias)
    np.testing.assert_allclose(y, 3, rtol=1e-12)


def test_infinities_stay_where_they_belong():
    x = np.zeros((1, 1, 8))
    x[..., 1] = np.inf
    y = interpolate(x, (16,), "linear")
    # The first output takes the infinity with weight zero, which PyTorch makes a NaN too.
    assert np.isnan(y[0, 0, 0]) and np.isinf(y[..., 1:5]).all() and (y[..., 5:] == 0).all()
    back = interpolate_backward(y, x.shape, "linear")
    assert np.isfinite(back[..., 4:]).all()


def test_dtypes_and_empty():
    x = np.arange(8, dtype=np.float16).reshape(1, 2, 4)
    assert interpolate(x, (3,), "linear").dtype == np.float16
    assert interpolate(np.arange(4, dtype=np.uint8).reshape(1, 1, 4), (8,), "nearest").dtype == np.uint8
    with pytest.raises(TypeError, match="needs a floating point array"):
        interpolate(np.arange(4).reshape(1, 1, 4), (8,), "linear")
    with pytest.raises(NotImplementedError, match="'cubic' is not known"):
        interpolate(RAMP, (8,), "cubic")
    assert interpolate(np.empty((0, 2, 4)), (3,), "linear").shape == (0, 2, 3)
    same = interpolate(RAMP, (3,), "linear")
    assert same is not RAMP and not np.shares_memory(same, RAMP)


GRIDS = [
    (dims, mode, padding, align)
    for dims in (2, 3)
    for mode in ("bilinear", "nearest", "bicubic")
    for padding in ("zeros", "border", "reflection")
    for align in (True, False)
    if dims == 2 or mode != "bicubic"
]


@pytest.mark.parametrize("case", GRIDS, ids=str)
def test_grid_sample_gradients(case):
    dims, *options = case
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, 3, 5, 4, 3)[: 2 + dims])
    grid = rng.standard_normal((2, 4, 3, 2)[: 1 + dims] + (dims,))
    y = grid_sample(x, grid, *options)
    assert y.shape == (2, 3, *grid.shape[1:-1])
    grad = rng.standard_normal(y.shape)
    np.testing.assert_allclose(
        np.vdot(grid_sample_input_grad(grad, grid, x.shape, *options), x), np.vdot(grad, y), rtol=1e-9
    )
    change = grid_sample_grid_grad(grad, x, grid, *options)
    step = 1e-6
    for at in [(0,) * (dims + 2), (1,) * (dims + 2), (1, 3, 2, 1, 0)[: dims + 2]]:
        at = (*at[: dims + 1], min(at[-1], dims - 1))
        moved = [grid.copy(), grid.copy()]
        moved[0][at] += step
        moved[1][at] -= step
        high, low = (np.vdot(grid_sample(x, g, *options), grad) for g in moved)
        if options[0] == "nearest":
            assert change[at] == 0
        else:
            np.testing.assert_allclose(change[at], (high - low) / (2 * step), rtol=1e-5, atol=1e-6)


def test_grid_sample_values():
    x = np.arange(1.0, 10.0).reshape(1, 1, 3, 3)
    # x comes before y; outside is zero, or the border, or the mirror image.
    grid = np.array([[[[-1.0, 1.0], [0.5, 0.0], [2.0, 0.0]]]])
    np.testing.assert_allclose(grid_sample(x, grid, "bilinear", "zeros", True).ravel(), [7, 5.5, 0])
    np.testing.assert_allclose(grid_sample(x, grid, "bilinear", "border", True).ravel(), [7, 5.5, 6])
    np.testing.assert_allclose(grid_sample(x, grid, "bilinear", "reflection", True).ravel(), [7, 5.5, 5])
    np.testing.assert_allclose(grid_sample(x, grid, "bilinear", "zeros", False).ravel(), [1.75, 5.75, 0])
    # Halves go to the even index.
    np.testing.assert_allclose(grid_sample(x, grid, "nearest", "zeros", True).ravel(), [7, 6, 0])


def test_grid_sample_without_meaning():
    x = np.arange(1.0, 10.0).reshape(1, 1, 3, 3)
    grid = np.full((1, 1, 1, 2), np.nan)
    assert np.isnan(grid_sample(x, grid, "bilinear", "zeros", True)).all()
    assert grid_sample(x, grid, "nearest", "border", True).item() == 1
    x[0, 0, 0, 0] = np.inf
    far = np.full((1, 1, 1, 2), 5.0)
    assert grid_sample(x, far, "bilinear", "zeros", True).item() == 0


def test_affine_grid_base():
    base = affine_grid_base((3, 2), True, np.dtype(np.float32))
    np.testing.assert_array_equal(base[..., 0], [[-1, 1]] * 3)
    np.testing.assert_array_equal(base[..., 1], [[-1, -1], [0, 0], [1, 1]])
    base = affine_grid_base((1, 5), False, np.dtype(np.float64))
    np.testing.assert_allclose(base[0, :, 0], [-0.8, -0.4, 0, 0.4, 0.8], atol=1e-15)
    assert base.shape == (1, 5, 3) and (base[..., 1] == 0).all()


def test_lanczos() -> None:
    """From torch 2.13.0."""
    row = np.array([[[[1.0, 4.0, 2.0, 8.0, 5.0, 7.0]]]])
    found = interpolate(row, (1, 3), "lanczos", antialias=True)
    assert np.allclose(found, [[[[2.021052697793957, 4.997835386632765, 6.562510339937948]]]], rtol=1e-14)
