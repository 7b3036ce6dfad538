"""Special functions: their machine code, which is traced, against NumPy."""

import numpy as np
import pytest

from penlight.kernels import elementwise, native, special

pytestmark = pytest.mark.skipif(not native.available(), reason="this machine runs no native kernels")

NAMES = [
    "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "digamma", "erf", "erfc", "erfcx", "erfinv", "gammaln", "i0", "i0e", "i1", "i1e",
    "log_ndtr", "modified_bessel_k0", "modified_bessel_k1", "ndtri", "scaled_modified_bessel_k0", "scaled_modified_bessel_k1",
    "spherical_bessel_j0",
]  # fmt: skip
FUNCTIONS = {name: getattr(special, name) for name in NAMES} | {"trigamma": lambda x: special.polygamma(1, x)}


def without_machine_code(patch):
    patch.setattr(elementwise, "attempt", lambda *args: None)


@pytest.mark.parametrize("size", [60, 5000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_same_as_numpy(name, dtype, size, monkeypatch):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.standard_normal(size // 3) * 8, rng.random(size // 3), rng.standard_normal(size // 3)])
    x[:2] = 0.0, 2.0
    x = x.astype(dtype)
    machine = FUNCTIONS[name](x)
    without_machine_code(monkeypatch)
    monkeypatch.setattr(native, "available", lambda: False)
    plain = FUNCTIONS[name](x)
    assert machine.dtype == dtype
    tolerance = 2e-6 if dtype == np.float32 else 2e-13
    np.testing.assert_allclose(machine, plain, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_edges(name, monkeypatch):
    """What is not finite, and numbers that machine code leaves to NumPy."""
    for edge in (np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -1.0, -3.0, 1e300):
        x = np.array([edge, 0.5])
        machine = FUNCTIONS[name](x)
        with monkeypatch.context() as patch:
            without_machine_code(patch)
            np.testing.assert_allclose(machine, FUNCTIONS[name](x), rtol=1e-13)


def test_one_of_numpys_numbers():
    assert special.erfcx(np.float64(0.0)) == 1.0
    assert special.i0(np.zeros(())).shape == ()
