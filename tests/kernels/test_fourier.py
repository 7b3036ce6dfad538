"""Fourier transforms by NumPy's loops: what `np.fft` gives, also where the loops cannot be had."""

from __future__ import annotations

import numpy as np
import pytest

from penlight.kernels import fourier

AXES = [(0,), (2,), (1, 2), (2, 0), (0, 1, 2)]


@pytest.mark.parametrize("scaling", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize("here", [True, False])
def test_transforms(scaling, axes, dtype, here, monkeypatch):
    if not here:
        monkeypatch.setattr(fourier, "_available", lambda: False)
    x = np.random.default_rng(3).standard_normal((3, 4, 5)).astype(dtype)
    z = x + 1j * x[::-1]
    pairs = [
        (fourier.transform(z, axes, True, scaling), np.fft.fftn(z, None, axes, scaling)),
        (fourier.transform(z, axes, False, scaling), np.fft.ifftn(z, None, axes, scaling)),
        (fourier.transform(x, axes, True, scaling), np.fft.fftn(x, None, axes, scaling)),
        (fourier.from_real(x, axes, scaling), np.fft.rfftn(x, None, axes, scaling)),
    ]
    for points in (6, 7):
        sizes = [*(z.shape[d] for d in axes[:-1]), points]
        pairs.append((fourier.to_real(z, axes, points, scaling), np.fft.irfftn(z, sizes, axes, scaling)))
    for ours, numpys in pairs:
        assert ours.dtype == numpys.dtype
        if dtype == "f":  # what is not scaled, NumPy transforms in double precision
            np.testing.assert_allclose(ours, numpys, rtol=1e-4, atol=2e-6)
        else:
            np.testing.assert_allclose(
                ours, numpys, rtol=1e-13, atol=1e-14
            )  # the order of the axes is another in NumPy 2.0


@pytest.mark.parametrize("points", [40, 41])
@pytest.mark.parametrize("axis", [0, 1])
def test_both_halves_of_real_numbers(points, axis):
    x = np.random.default_rng(4).standard_normal((points, 50) if axis == 0 else (50, points))
    np.testing.assert_allclose(fourier.both_halves(x, (axis,), "ortho"), np.fft.fft(x, None, axis, "ortho"), atol=1e-12)
