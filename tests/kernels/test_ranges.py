"""`arange` and `linspace` round as PyTorch's do: values pinned from PyTorch 2.13 (AVX2)."""

from __future__ import annotations

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import ranges

LINSPACE32 = [-0.8461538553237915, -0.692307710647583, -0.5384615063667297, -0.38461536169052124]
LINSPACE64 = [-0.8181818181818181, -0.6363636363636364, -0.45454545454545453, -0.2727272727272727]
ARANGE32 = [-0.9700000286102295, -0.699999988079071, -0.30000001192092896, 0.10999999940395355, 0.9900000095367432]
ARANGE64 = [-0.97, -0.7, -0.3, 0.11000000000000001, 0.9900000000000001]
SLOPES = [
    -854.2154359597928,
    -170.56570961939673,
    -1504.0368348769102,
    -243.01117282222265,
    -789.1124146974117,
    -1233.5071766236438,
]


def test_linspace_to_the_last_bit():
    assert torch.linspace(-1, 1, 14)[1:5].tolist() == LINSPACE32
    assert torch.linspace(-1, 1, 12, dtype=torch.float64)[1:5].tolist() == LINSPACE64


def test_arange_to_the_last_bit():
    assert torch.arange(-1, 1, 0.01)[[3, 30, 70, 111, 199]].tolist() == ARANGE32
    assert torch.arange(-1, 1, 0.01, dtype=torch.float64)[[3, 30, 70, 111, 199]].tolist() == ARANGE64


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ends_and_counts(dtype):
    x = torch.linspace(-1, 1, 101, dtype=dtype)
    assert (x[0], x[100], len(x)) == (-1, 1, 101) and abs(x[50]) < 1e-7
    assert torch.equal(x[:50], -x[51:].flip(0))
    assert torch.linspace(2, 5, 1, dtype=dtype).tolist() == [2] and torch.linspace(2, 5, 0, dtype=dtype).tolist() == []
    assert torch.arange(0, 1, 0.1, dtype=dtype).shape == (10,) and torch.arange(0.0, 0.0, dtype=dtype).shape == (0,)
    assert torch.arange(5.0, 0.0, -1.0, dtype=dtype).tolist() == [5, 4, 3, 2, 1]


def test_identity_grid_samples_the_pixels_themselves():
    image = torch.randn(1, 1, 14, 14, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    theta = torch.tensor([[[1.0, 0, 0], [0, 1, 0]]], dtype=torch.float64, requires_grad=True)
    grid = torch.nn.functional.affine_grid(theta, image.shape, align_corners=False)
    torch.nn.functional.grid_sample(image, grid, align_corners=False).square().sum().backward()
    torch.testing.assert_close(theta.grad.flatten().tolist(), SLOPES)


def test_long_ranges_are_as_short_ones(monkeypatch):
    """By parts, or of integers: the same digits."""
    for start, end, steps in ((0.0, 1.0, 40_000), (-3.3, 7.1, 33_333), (5.0, -5.0, 20_001)):
        by_parts = ranges.linspace(start, end, steps, np.dtype(np.float32))
        with monkeypatch.context() as patch:
            patch.setattr(ranges, "_PART", 1 << 60)
            np.testing.assert_array_equal(by_parts, ranges.linspace(start, end, steps, np.dtype(np.float32)))
    for start, step, count in ((0.0, 1.0, 40_000), (7.0, -3.0, 5_000), (-2.0, 2.0, 100)):
        whole = ranges.arange(start, step, count, np.dtype(np.float32))
        with monkeypatch.context() as patch:
            patch.setattr(ranges, "_EXACT", 0)
            np.testing.assert_array_equal(whole, ranges.arange(start, step, count, np.dtype(np.float32)))
