"""Distances between all pairs of rows by compiled loops beside the same in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import distance, executable

pytestmark = pytest.mark.skipif(executable.backend() is None, reason="no machine code on this machine")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("shape", [(1, 3), (2, 1), (2, 5), (3, 4), (7, 9), (40, 3), (61, 141)])
def test_as_in_numpy(shape, p, dtype, monkeypatch):
    x = torch.from_numpy(np.random.default_rng(0).normal(size=shape).astype(dtype))
    assert distance.all_pairs(x.numpy(), p) is not None
    found = torch.pdist(x, p)
    monkeypatch.setattr(distance, "all_pairs", lambda x, p: None)
    expected = torch.pdist(x, p)
    assert found.dtype is expected.dtype and found.shape == expected.shape
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-13 if dtype is np.float64 else 2e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 3), (2, 1), (3, 4), (7, 9), (31, 31)])
def test_gradient_as_in_numpy(shape, dtype, monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(dtype)
    x[-1] = x[0]
    push = torch.from_numpy(rng.normal(size=shape[0] * (shape[0] - 1) // 2).astype(dtype))

    def gradient():
        leaf = torch.from_numpy(x).requires_grad_()
        torch.pdist(leaf).backward(push)
        return leaf.grad.numpy()

    found = gradient()
    monkeypatch.setattr(distance, "euclid_backward", lambda grad, x, result: None)
    tolerance = 1e-12 if dtype is np.float64 else 1e-5
    np.testing.assert_allclose(found, gradient(), rtol=tolerance, atol=tolerance)


def test_what_is_no_number_stays_none():
    x = torch.tensor([[1.0, np.inf], [np.nan, 2.0], [np.inf, 3.0], [1.0, np.inf]])
    expected = [np.nan, np.inf, np.nan, np.nan, np.nan, np.inf]
    np.testing.assert_array_equal(torch.pdist(x).numpy(), np.array(expected, np.float32))


def test_nothing_to_compare():
    assert distance.all_pairs(np.zeros((0, 3)), 2) is None
    assert torch.pdist(torch.zeros(0, 3)).shape == (0,)
    assert torch.pdist(torch.zeros(4, 0)).tolist() == [0.0] * 6
