"""Batch norms by compiled loops beside the same in NumPy, in float64."""

from __future__ import annotations

import numpy as np
import pytest

from penlight.kernels import executable
from penlight.kernels.norm import in_numpy, kernels

pytestmark = pytest.mark.skipif(executable.backend() is None, reason="no machine code on this machine")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("affine", [(False, False), (True, True), (True, False), (False, True)])
@pytest.mark.parametrize("shape", [(2, 3), (3, 1), (4, 5), (7, 9), (5, 4, 1, 1), (141, 141), (6, 3, 2)])
def test_batch_norm(shape, affine, dtype):
    rng = np.random.default_rng(0)
    x, grad = (rng.normal(3, 2, shape).astype(dtype) for _ in range(2))
    weight, bias = (rng.normal(size=shape[1]).astype(dtype) if given else None for given in affine)
    wide = [None if a is None else a.astype(np.float64) for a in (x, grad, weight, bias)]
    found = kernels.batch_norm(x, weight, bias, 1e-5)
    expected = in_numpy.batch_norm(wide[0], wide[2], wide[3], 1e-5)
    tolerance = {"rtol": 1e-9, "atol": 1e-11} if dtype is np.float64 else {"rtol": 2e-5, "atol": 2e-5}
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == dtype
        np.testing.assert_allclose(one, other, **tolerance)
    _, mean, rstd, _ = found
    given = mean.astype(np.float64), rstd.astype(np.float64)
    for training in (True, False):
        grads = kernels.batch_norm_backward(grad, x, mean, rstd, weight, training, (True, True, True))
        exact = in_numpy.batch_norm_backward(wide[1], wide[0], *given, wide[2], training)
        for one, other in zip(grads, exact, strict=True):
            assert one.dtype == dtype
            np.testing.assert_allclose(one, other, rtol=tolerance["rtol"], atol=tolerance["atol"] * np.abs(other).max())
