"""The complement and the inverse of the error function in machine code, and in NumPy."""

import math

import numpy as np
import pytest

from penlight.kernels import native
from penlight.kernels.special import error_functions
from penlight.kernels.special.common import unary

pytestmark = pytest.mark.skipif(not native.available(), reason="native kernels do not run on this machine")

ODD = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 1.5, -1.5, 1e-40, -1e-45, 0.5, 0.75, 10.5, 3e38], np.float32)


def units(got: np.ndarray, exact: np.ndarray) -> float:
    return float((np.abs(got - exact) / np.spacing(np.abs(exact.astype(np.float32)))).max())


def test_erfc():
    x = np.random.default_rng(0).uniform(-6, 10.05, 30_000).astype(np.float32)
    exact = np.array([math.erfc(v) for v in x])
    assert units(error_functions.erfc(x), exact) <= 5
    assert units(unary(error_functions._erfc, x), exact) <= 6


def test_erfinv():
    numbers = np.random.default_rng(0)
    near_one = 1 - 10.0 ** numbers.uniform(-7, -1, 10_000)
    y = np.concatenate([numbers.uniform(-1, 1, 20_000), near_one, -near_one]).astype(np.float32)
    y = y[(np.abs(y) < 1) & (y != 0)]
    exact = error_functions.erfinv(y.astype(float))
    assert units(error_functions.erfinv(y), exact) <= 6
    np.testing.assert_allclose([math.erf(v) for v in exact[::10]], y[::10], rtol=1e-14)


@pytest.mark.parametrize("name", ["erfc", "erfinv"])
def test_odd_numbers_both_ways(name):
    x = np.tile(ODD, 4000)
    machine, plain = getattr(error_functions, name)(x), unary(getattr(error_functions, "_" + name), x)
    np.testing.assert_allclose(machine, plain, rtol=1e-6, atol=1e-44)
    known = ~np.isnan(plain)
    np.testing.assert_array_equal(np.signbit(machine[known]), np.signbit(plain[known]))
