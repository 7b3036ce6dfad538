"""The special functions against torch, and against SciPy where that is the more exact of the two."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from penlight.kernels import special

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

RNG = np.random.default_rng(20)
REAL = np.concatenate([RNG.standard_normal(2000) * 3, RNG.uniform(-30, 30, 1000), RNG.uniform(-1, 1, 1000)])
POSITIVE = np.concatenate([np.abs(REAL), np.geomspace(1e-4, 600, 1000)])
UNIT = np.concatenate([RNG.random(3000), np.geomspace(1e-6, 0.5, 500), 1 - np.geomspace(1e-6, 0.5, 500)])
SPECIAL = [
    0.0,
    -0.0,
    np.inf,
    -np.inf,
    np.nan,
    1.0,
    -1.0,
    2.0,
    -2.0,
    0.5,
    -0.5,
    -3.5,
    1e-30,
    -1e-30,
    1e30,
    100.0,
    -100.0,
]

# name: arguments, then the relative and absolute tolerance for float64 and for float32. Where they are wide, it is torch
# that is off: its logit and digamma lose digits near their zeros (and its digamma near its poles), its trigamma has ten digits, its Bessel J and Y six around x = 5, its airy_ai
# five around -2.5, and in float32 these functions reduce their argument in float32. mpmath sides with ours there.
UNARY: dict[str, tuple[np.ndarray, float, float, float, float]] = {
    "erf": (REAL, 5e-16, 0, 5e-7, 0),
    "erfc": (REAL, 2e-15, 1e-320, 1e-6, 1e-44),
    "erfcx": (REAL, 1e-13, 0, 1e-5, 0),
    "erfinv": (2 * UNIT - 1, 2e-15, 0, 1e-6, 0),
    "logit": (UNIT, 1e-14, 3e-16, 1e-6, 2e-7),
    "sinc": (REAL, 1e-14, 1e-17, 1e-6, 3e-8),
    "entr": (REAL, 5e-16, 0, 5e-7, 0),
    "ndtri": (UNIT, 3e-15, 1e-16, 2e-6, 1e-7),
    "log_ndtr": (REAL, 3e-13, 0, 2e-5, 1e-44),
    "gammaln": (REAL, 2e-15, 4e-15, 1e-6, 2e-6),
    "digamma": (REAL, 1e-11, 2e-15, 2e-5, 2e-6),
    "i0": (REAL, 3e-15, 0, 2e-6, 0),
    "i0e": (REAL, 3e-15, 0, 2e-6, 0),
    "i1": (REAL, 4e-15, 0, 2e-6, 0),
    "i1e": (REAL, 4e-15, 0, 2e-6, 0),
    "modified_bessel_i0": (REAL, 3e-15, 0, 2e-6, 0),
    "modified_bessel_i1": (REAL, 4e-15, 0, 2e-6, 0),
    "modified_bessel_k0": (POSITIVE, 3e-15, 0, 3e-6, 1e-44),
    "modified_bessel_k1": (POSITIVE, 3e-15, 0, 3e-6, 1e-44),
    "scaled_modified_bessel_k0": (POSITIVE, 3e-15, 0, 3e-6, 0),
    "scaled_modified_bessel_k1": (POSITIVE, 3e-15, 0, 3e-6, 0),
    "bessel_j0": (REAL, 1e-6, 1e-6, 1e-6, 1e-6),
    "bessel_j1": (REAL, 1e-6, 1e-6, 1e-6, 1e-6),
    "bessel_y0": (POSITIVE, 1e-6, 1e-6, 1e-6, 3e-6),
    "bessel_y1": (POSITIVE, 1e-6, 1e-6, 1e-6, 3e-6),
    "spherical_bessel_j0": (REAL, 2e-15, 1e-17, 1e-6, 1e-8),
    "airy_ai": (REAL, 1e-6, 5e-6, 1e-5, 2e-5),
}


def both(name: str, *arrays: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        got = getattr(special, name)(*arrays)
    function = getattr(torch.special, name, None) or getattr(torch, name)
    want = function(*(torch.from_numpy(a) for a in arrays)).numpy()
    assert got.dtype == want.dtype and got.shape == want.shape
    return got, want


@pytest.mark.parametrize("name", sorted(UNARY))
def test_float64(name: str) -> None:
    x, rtol, atol, _, _ = UNARY[name]
    got, want = both(name, x)
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", sorted(UNARY))
def test_float32(name: str) -> None:
    x, _, _, rtol, atol = UNARY[name]
    got, want = both(name, x.astype(np.float32))
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", sorted(set(UNARY) - {"airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"}))
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_special_values(name: str, dtype: type) -> None:
    got, want = both(name, np.array(SPECIAL, dtype))
    np.testing.assert_allclose(got, want, rtol=1e-5 if dtype == np.float32 else 1e-13, atol=1e-44)
    exact = (want == 0) | np.isinf(want)
    np.testing.assert_array_equal(np.signbit(got)[exact], np.signbit(want)[exact])


@pytest.mark.parametrize("name", ["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "airy_ai"])
def test_poles(name: str) -> None:
    got, want = both(name, np.array([0.0, -0.0, np.inf, -np.inf, np.nan, -1.0, 1.0]))
    np.testing.assert_allclose(got, want, rtol=1e-13)
    np.testing.assert_array_equal(np.signbit(got)[:2], np.signbit(want)[:2])


@pytest.mark.parametrize("eps", [0.0, 0.1, 0.6, -0.1, 1e-6])
def test_logit_eps(eps: float) -> None:
    for dtype, atol in ((np.float64, 3e-16), (np.float32, 2e-7)):
        x = np.concatenate([UNIT, SPECIAL]).astype(dtype)
        want = torch.special.logit(torch.from_numpy(x), eps=eps).numpy()
        np.testing.assert_allclose(special.logit(x, eps), want, rtol=1e-14 if dtype == np.float64 else 1e-6, atol=atol)


@pytest.mark.parametrize("name", ["xlogy", "xlog1py"])
def test_pairs(name: str) -> None:
    values = np.array([*SPECIAL, 0.3, 7.0, -0.999])
    a, b = (v.reshape(-1) for v in np.meshgrid(values, values))
    for dtype in (np.float64, np.float32):
        rtol, atol = (1e-15, 1e-16) if dtype == np.float64 else (5e-7, 2e-8)
        got, want = both(name, a.astype(dtype), b.astype(dtype))
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 6])
def test_polygamma(n: int) -> None:
    for dtype, rtol in ((np.float64, 3e-9 if n == 1 else 1e-12), (np.float32, 3e-5)):
        x = np.concatenate([POSITIVE[POSITIVE > 0.01], -RNG.uniform(0.05, 0.45, 200) - RNG.integers(0, 5, 200)])
        x = x.astype(dtype)
        want = torch.special.polygamma(n, torch.from_numpy(x)).numpy()
        np.testing.assert_allclose(special.polygamma(n, x), want, rtol=rtol, atol=(2e-15, 3e-6)[dtype == np.float32])


def test_zeta() -> None:
    s, q = RNG.uniform(1.001, 30, 2000), 10 ** RNG.uniform(-2, 4, 2000)
    np.testing.assert_allclose(*both("zeta", s, q), rtol=1e-13)
    np.testing.assert_allclose(*both("zeta", s.astype(np.float32), q.astype(np.float32)), rtol=2e-4, atol=1e-37)
    s, q = np.floor(s) + 1, -RNG.uniform(0.05, 0.45, 2000) - RNG.integers(0, 6, 2000)
    np.testing.assert_allclose(*both("zeta", s, q), rtol=1e-12)
    values = [-2.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, np.inf, -np.inf, np.nan]
    s, q = (
        v.reshape(-1) for v in np.meshgrid(values, [-2.5, -2.0, -0.0, 0.0, 0.3, 1.0, 1.5, 1e9, np.inf, -np.inf, np.nan])
    )
    np.testing.assert_allclose(*both("zeta", s, q), rtol=1e-13)


@pytest.mark.parametrize("name", ["gammainc", "gammaincc"])
def test_gammainc(name: str) -> None:
    a = 10 ** RNG.uniform(-2, 3, 3000)
    x = a * 10 ** RNG.uniform(-0.5, 0.5, 3000)
    np.testing.assert_allclose(*both(name, a, x), rtol=1e-8, atol=1e-200)
    np.testing.assert_allclose(*both(name, a.astype(np.float32), x.astype(np.float32)), rtol=1e-3, atol=1e-6)
    values = np.array([np.nan, -1.0, -0.0, 0.0, 0.5, 1.0, 10.0, 1e5, 1e300, np.inf])
    a, x = (v.reshape(-1) for v in np.meshgrid(values, values))
    np.testing.assert_allclose(*both(name, a, x), rtol=1e-8)


@pytest.mark.parametrize("name", [n for n in special.__all__ if "polynomial" in n])
def test_polynomials(name: str) -> None:
    edge = np.array([-np.inf, -1e200, -3.0, -1.0, -0.5, -0.0, 0.0, 0.3, 0.5, 1.0, 2.0, np.inf])
    degrees = np.array([-1.0, -0.5, 0.0, 0.7, 1.0, 2.0, 3.9, 6.0, 7.0, 8.0, 9.0, 100.0, 600.0, np.nan, np.inf])
    x, n = (v.reshape(-1) for v in np.meshgrid(edge, degrees))
    np.testing.assert_allclose(*both(name, x, n), rtol=1e-11, atol=1e-12)
    x, n = RNG.uniform(-1.5, 1.5, 3000), RNG.integers(-2, 30, 3000).astype(float)
    got, want = both(name, x, n)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12 * np.maximum.accumulate(np.abs(want)).max() ** 0.5)
    got, want = both(name, x.astype(np.float32), np.minimum(n, 12).astype(np.float32))
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max() ** 0.5)


def test_multigammaln() -> None:
    for dtype, rtol in ((np.float64, 1e-14), (np.float32, 2e-6)):
        x = np.linspace(2.6, 40, 200).astype(dtype)
        for p in (1, 3, 5):
            want = torch.special.multigammaln(torch.from_numpy(x), p).numpy()
            np.testing.assert_allclose(special.multigammaln(x, p), want, rtol=rtol, atol=1e-6 if rtol > 1e-7 else 1e-14)


@pytest.mark.parametrize("name", ["sinc"])
def test_complex(name: str) -> None:
    z = REAL[:500] + 1j * REAL[500:1000]
    np.testing.assert_allclose(*both(name, z), rtol=1e-13)
    np.testing.assert_allclose(*both(name, z.astype(np.complex64)), rtol=3e-5)


@pytest.mark.parametrize(
    "name",
    ["erf", "erfc", "erfinv", "logit", "sinc", "entr", "gammaln", "digamma", "i0", "i1e"],
)
def test_half(name: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    x = np.linspace(0.02, 0.98, 97)
    for dtype, torch_dtype, ulp in ((np.float16, torch.float16, 2**-10), (ml_dtypes.bfloat16, torch.bfloat16, 2**-7)):
        given = x.astype(dtype)
        want = getattr(torch.special, name)(torch.from_numpy(given.astype(np.float32)).to(torch_dtype)).float().numpy()
        np.testing.assert_allclose(getattr(special, name)(given).astype(np.float32), want, rtol=2 * ulp, atol=ulp)


SCIPY = {  # name here: name there, arguments, tolerance
    "bessel_j0": ("j0", POSITIVE, 1e-14),
    "bessel_j1": ("j1", POSITIVE, 1e-14),
    "bessel_y0": ("y0", POSITIVE, 2e-14),
    "bessel_y1": ("y1", POSITIVE, 2e-14),
    "digamma": ("digamma", REAL[REAL > 0], 2e-14),
    "logit": ("logit", UNIT, 1e-15),
    "log_ndtr": ("log_ndtr", REAL, 3e-13),
    "erfcx": ("erfcx", REAL, 1e-13),
}


@pytest.mark.parametrize("name", sorted(SCIPY))
def test_against_scipy(name: str) -> None:
    scipy_special = pytest.importorskip("scipy.special")
    other, x, tolerance = SCIPY[name]
    atol = tolerance if "bessel" in name or name == "digamma" else 0  # these have zeros
    np.testing.assert_allclose(getattr(special, name)(x), getattr(scipy_special, other)(x), rtol=tolerance, atol=atol)


def test_pairs_against_scipy() -> None:
    scipy_special = pytest.importorskip("scipy.special")
    a = 10 ** RNG.uniform(-3, 4, 4000)
    x = a * np.exp(RNG.uniform(-1.5, 1.5, 4000) / np.sqrt(np.maximum(a, 1)) * 3)
    for name in ("gammainc", "gammaincc"):
        np.testing.assert_allclose(
            getattr(special, name)(a, x), getattr(scipy_special, name)(a, x), rtol=2e-12, atol=1e-250
        )
    for n in (1, 2, 5):
        y = POSITIVE[POSITIVE > 0.01]
        np.testing.assert_allclose(special.polygamma(n, y), scipy_special.polygamma(n, y), rtol=1e-14)
