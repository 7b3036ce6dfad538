"""Functions of scalars applied to arrays: by machine code, by the interpreter, and in Python they are one. See Note [Functions of scalars]."""

from __future__ import annotations

import math

import numpy as np
import pytest

from penlight.kernels import executable, scalars, special
from penlight.kernels.compiler import load
from penlight.kernels.special.common import horner, rational
from penlight.kernels.special.incomplete_gamma import gammainc

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 7.0, 9.5, 25.0, -2.5, 1e-30, 1e30, np.inf, -np.inf, np.nan]
FIRST, SECOND = (a.ravel() for a in np.meshgrid(EDGES, EDGES))
PAIRS = [
    "gammainc", "gammaincc", "zeta", "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
    *[f"{kind}chebyshev_polynomial_{letter}" for kind in ("", "shifted_") for letter in "tuvw"],
]  # fmt: skip


@pytest.fixture(params=["native", "interpreted"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "interpreted":
        interpreted(monkeypatch)


def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels run in the interpreter from now on."""
    monkeypatch.setattr(executable, "backend", lambda: None)
    monkeypatch.setattr(scalars, "_entries", {})
    monkeypatch.setattr(load, "elementwise", load.elementwise.__wrapped__)


def arguments(name: str, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    pick = np.random.default_rng(0)
    a = np.concatenate([FIRST, pick.uniform(0, 40, 300), 10 ** pick.uniform(-2, 3, 300), pick.uniform(-3, 3, 300)])
    b = np.concatenate([SECOND, pick.uniform(0, 40, 300), 10 ** pick.uniform(-2, 3, 300), pick.integers(0, 30, 300)])
    if "polynomial" in name:
        b = np.where(np.abs(b) < 1000, b, 1000.0)
    return a.astype(dtype), b.astype(dtype)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", PAIRS)
def test_machine_code_and_the_interpreter_agree(name: str, dtype: type, monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = arguments(name, dtype)
    made = getattr(special, name)(a, b)
    interpreted(monkeypatch)
    wanted = getattr(special, name)(a, b)
    assert made.dtype == wanted.dtype == dtype
    tolerance, least = (1e-12, 1e-15) if dtype is np.float64 else (1e-6, 1e-9)
    if "chebyshev" in name and dtype is np.float64:
        # NumPy 2.5 and the C library differ in the last digit of an angle, which is multiplied by the degree, up to 1,000.
        tolerance, least = 1e-11, 1e-12
    np.testing.assert_allclose(made, wanted, rtol=tolerance, atol=least)


@pytest.mark.parametrize("name", PAIRS)
def test_python_and_the_interpreter_agree(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    interpreted(monkeypatch)
    a, b = arguments(name, np.float64)
    wanted = getattr(special, name)(a, b)
    for first in range(len(FIRST), len(a), 100):  # without the edges, at which Python raises errors
        few = slice(first, first + 100)
        made = getattr(special, name)(a[few], b[few])
        np.testing.assert_allclose(made, wanted[few], rtol=1e-11, atol=1e-12)


def test_polynomials_of_floats_are_floats() -> None:
    assert type(horner((1.0, 2.0, 3.0), 0.5)) is type(rational((1.0, 2.0), (3.0,), 0.5)) is float


SCALE = 0.5
TABLE = ((1.0, 2.0), (3.0, 4.0, 5.0))


@scalars.elementwise
def steps(x: float, n: float) -> float:
    """One of each thing that is understood."""
    total, k = 0.0, 0.0
    for row in TABLE:
        total = total * SCALE + horner(row, x) + line(x, k)
        k += 1.0
    while k < n:
        k += 1.0
        if x < 0.0:
            total -= abs(x)
        elif not (x <= 2.0 or n == 3.0):
            return -total
        else:
            total += math.sqrt(x)
    return total if 0.0 < x < 5.0 and (n > 2.0 if x > 1.0 else n > 1.0) else total * 2.0


def line(x: float, k: float) -> float:
    return x * k + math.pi


@pytest.mark.usefixtures("either_way")
def test_it_does_what_python_does() -> None:
    x, n = np.random.default_rng(1).uniform(-6, 6, (2, 300))
    made = scalars.apply(steps, x, n)
    np.testing.assert_allclose(made, [steps(*pair) for pair in zip(x.tolist(), n.tolist(), strict=True)], rtol=1e-14)


@pytest.mark.usefixtures("either_way")
def test_layouts_and_dtypes() -> None:
    wide = np.random.default_rng(2).uniform(0.5, 3, (4, 6))
    plain = gammainc(np.ascontiguousarray(wide[:, ::2]), np.ascontiguousarray(wide.T[:3].T))
    assert np.array_equal(gammainc(wide[:, ::2], wide.T[:3].T), plain)
    row, column = wide[:1], wide[:, :1]
    spread = np.broadcast_arrays(row, column)
    assert np.array_equal(gammainc(row, column), gammainc(*[np.array(a) for a in spread]))
    for number in (np.float64(2.0), np.array(2.0), np.full((1, 1), 2.0)):
        assert np.array_equal(gammainc(number, wide), gammainc(np.full(wide.shape, 2.0), wide))
    swapped = wide.astype(wide.dtype.newbyteorder())
    assert np.array_equal(gammainc(swapped, wide), gammainc(wide, wide))
    assert gammainc(np.float32([2]), np.float64([3])).dtype == np.float64
    assert gammainc(np.float16([2]), np.float16([3])).dtype == np.float16
    assert gammainc(np.empty((0, 3)), np.empty((1, 3))).shape == (0, 3)
    many = np.linspace(0.1, 50, 1 << 15)
    assert np.array_equal(gammainc(many, many)[:999], gammainc(many[:999], many[:999]))
