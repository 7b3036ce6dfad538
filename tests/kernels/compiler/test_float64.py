"""Kernels of float64: Note [Kernels of float64]."""

from __future__ import annotations

import math

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import native
from penlight.kernels.compiler import text
from penlight.kernels.compiler.trace import define_flat
from penlight.kernels.elementwise import activation, attempt
from penlight.kernels.native import Kernel
from penlight.kernels.special import error_functions

pytestmark = pytest.mark.skipif(not native.available(), reason="native kernels do not run on this machine")

ODD = np.array(
    [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e-310, 2.2250738585072014e-308, 1.7976931348623157e308, -1e300]
    + [709.78, 709.79, 710.0, 800.0, -745.1, -745.2, -746.0, -800.0, 1.0, -1.0, 0.5, 0.7071067811865476, 20.0, -40.0]
)  # fmt: skip


def compiled(ufunc):
    """A ufunc as a function, which `attempt` compiles for arrays of any size."""
    return lambda *operands: ufunc(*operands)


def spread_out(seed: int = 0) -> np.ndarray:
    """Numbers of all sizes that matter, and odd ones."""
    numbers = np.random.default_rng(seed)
    sized = 10.0 ** numbers.uniform(-320, 308, 20_000) * numbers.choice([-1, 1], 20_000)
    parts = (
        numbers.uniform(-746, 710, 20_000),
        numbers.uniform(-1, 1, 20_001),
        numbers.standard_normal(20_000) * 5,
        sized,
        ODD,
    )
    return np.concatenate(parts)


@pytest.mark.parametrize(
    ("ufunc", "units"), [(np.exp, 1.0), (np.log, 1.0), (np.tanh, 2.5), (np.expm1, 2.0), (np.log1p, 2.0)]
)
@np.errstate(all="ignore")
def test_functions_against_more_digits(ufunc, units):
    x = spread_out()
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("long double has no more digits than float64 on this machine")
    exact = ufunc(x.astype(np.longdouble))
    got, expected = attempt(compiled(ufunc), (x,)), exact.astype(float)
    assert got is not None
    assert got.dtype == np.float64
    plain = np.isfinite(expected) & (expected != 0)
    off = np.abs(got[plain] - exact[plain]) / np.spacing(np.abs(expected[plain]))
    assert off.max() <= units
    np.testing.assert_array_equal(got[~plain], expected[~plain])
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(expected[known]))


@pytest.mark.parametrize("ufunc", [np.sin, np.cos])
def test_angles_against_more_digits(ufunc):
    """Of all sizes up to where NumPy takes over, and beside multiples of a quarter turn."""
    if np.finfo(np.longdouble).eps > 1e-18:
        pytest.skip("long double has no more digits than float64 on this machine")
    numbers = np.random.default_rng(0)
    quarters = np.arange(-30_000, 30_000) * (np.pi / 2)
    tiny = numbers.standard_normal(5_000) * 10.0 ** numbers.uniform(-320, 0, 5_000)
    far = numbers.uniform(-(2.0**28), 2.0**28, 20_000)
    x = np.concatenate([numbers.uniform(-7, 7, 20_000), quarters, np.nextafter(quarters, 1e9), tiny, far, [0.0, -0.0]])
    exact = ufunc(x.astype(np.longdouble))
    got, expected = attempt(compiled(ufunc), (x,)), exact.astype(float)
    assert got is not None
    off = np.abs(got - exact) / np.spacing(np.maximum(np.abs(expected), 5e-324))
    assert off.max() <= 1.0
    np.testing.assert_array_equal(np.signbit(got), np.signbit(expected))
    assert attempt(compiled(ufunc), (np.append(x, 1e9),)) is None
    assert attempt(compiled(ufunc), (np.append(x, np.inf),)) is None


def test_the_error_function():
    numbers = np.random.default_rng(0)
    tiny = numbers.standard_normal(2_000) * 10.0 ** numbers.uniform(-320, 0, 2_000)
    x = np.concatenate([numbers.uniform(-6.5, 6.5, 20_000), numbers.uniform(-1.2, 1.2, 20_000), tiny, ODD])
    got, expected = error_functions.erf(x), np.array([math.erf(v) for v in x])
    known = ~np.isnan(expected)
    assert np.isnan(got[~known]).all()
    off = np.abs(got[known] - expected[known]) / np.spacing(np.maximum(np.abs(expected[known]), 5e-324))
    assert off.max() <= 2.0
    np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(expected[known]))


@pytest.mark.parametrize(
    "ufunc",
    [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.copysign, np.negative, np.square, np.reciprocal, np.sqrt]
    + [np.abs, np.sign, np.floor, np.ceil, np.trunc, np.rint],
)  # fmt: skip
@np.errstate(all="ignore")
def test_arithmetic_to_the_last_bit(ufunc):
    arrays = (spread_out(), spread_out(1)[::-1].copy())[: ufunc.nin]
    got, expected = attempt(compiled(ufunc), arrays), ufunc(*arrays)
    assert got is not None
    np.testing.assert_array_equal(got, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(expected[known]))


def test_numbers_keep_their_digits():
    x = np.linspace(-1, 1, 5000)
    np.testing.assert_array_equal(attempt(compiled(np.multiply), (x, 0.1)), x * 0.1)
    np.testing.assert_array_equal(attempt(compiled(np.multiply), (x, np.array(1 / 3))), x * (1 / 3))
    spread = np.broadcast_to(1 / 3, x.shape)
    np.testing.assert_array_equal(attempt(compiled(np.subtract), (spread, x)), 1 / 3 - x)


def test_nothing_is_computed_in_float32():
    """What has no machine code in float64, or meets other dtypes, is NumPy's."""
    x = np.linspace(0.1, 1, 5000)
    for ufunc in (np.tan, np.exp2, np.log2, np.arctan):
        assert attempt(compiled(ufunc), (x,)) is None
    assert attempt(compiled(np.add), (x, x.astype(np.float32))) is None
    assert attempt(compiled(np.less), (x, 0.5)) is None
    assert attempt(compiled(np.multiply), (np.broadcast_to(0.1, x.shape), x > 0.5)) is None


@pytest.mark.parametrize(
    ("name", "options"),
    [("sigmoid", ()), ("silu", ()), ("gelu", ("none",)), ("gelu", ("tanh",)), ("elu", (1.5, 1.25, 0.5)), ("softplus", (2.0, 15.0))]
    + [("logsigmoid", ()), ("mish", ()), ("hardswish", ()), ("leaky_relu", (0.1,)), ("softshrink", ()), ("relu", ())],
)  # fmt: skip
def test_activations_both_ways(name, options, monkeypatch):
    x = np.concatenate([np.random.default_rng(0).standard_normal(70_000) * 4, ODD[:5]])
    with np.errstate(all="ignore"):
        machine = getattr(activation, name)(x, *options)
        monkeypatch.setattr(native, "available", lambda: False)
        plain = getattr(activation, name)(x, *options)
    assert machine.dtype == np.float64
    # 1 + erf(x) cancels where x is negative, in PyTorch as well
    np.testing.assert_allclose(machine, plain, rtol=4e-15, atol=1e-15 if options == ("none",) else 1e-300)


@pytest.mark.parametrize("threads", [1, 2])
def test_training_in_float64(threads, monkeypatch):
    """A step of Adam on a network whose layers are large, both ways."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        results = []
        for available in (True, False):
            monkeypatch.setattr(native, "available", lambda now=available: now)
            torch.manual_seed(0)
            model = torch.nn.Sequential(
                torch.nn.Linear(20, 100), torch.nn.Tanh(), torch.nn.Linear(100, 100), torch.nn.Sigmoid()
            ).double()
            optimizer = torch.optim.Adam(model.parameters(), weight_decay=0.1)
            for _ in range(2):
                optimizer.zero_grad()
                model(torch.randn(1000, 20, dtype=torch.float64)).exp().log().square().mean().backward()
                optimizer.step()
            results.append([p.detach().clone() for p in model.parameters()])
        for a, b in zip(*results):
            torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)
    finally:
        torch.set_num_threads(before)


def test_the_vectors_are_of_float64():
    def body(x, out):
        np.multiply(x, x, out)
        out += 1.0

    kernel = Kernel(define_flat, True, body=body, arrays=("float64", "float64"), numbers=0)
    said = text.printed(kernel.ir)
    assert "f64x4 = mul" in said
    assert "f64x4 = add" in said
    assert "f32" not in said


def remainders(x, y):
    """PyTorch's formulas: what is left with the sign of x, with that of y, and the quotient rounded down."""
    left = np.fmod(x, y)
    wrong = (left != 0) & ((y < 0) != (left < 0))
    quotient = (x - left) / y - wrong
    below = np.floor(quotient)
    below = np.where(quotient == 0, np.copysign(0.0, x / y), below + (quotient - below > 0.5))
    return left, np.where(wrong, left + y, left), np.where(y == 0, x / y, below)


def divided():
    """Pairs whose quotients are anything, whole, and next to integers, and pairs of tiny and of huge numbers."""
    numbers = np.random.default_rng(0)
    y = numbers.standard_normal(9_000)
    product = y * numbers.integers(-(2**48), 2**48, 9_000)
    yield numbers.standard_normal(9_000), y
    yield numbers.integers(-999, 999, 9_000) * 0.1, numbers.choice([-0.7, 0.1, 0.3, 2.0, np.inf, -np.inf], 9_000)
    yield from ((product, y), (np.nextafter(product, 0), y), (np.nextafter(product, np.inf), y))
    yield product * 2.0**-1074, y * 2.0**-1060
    yield numbers.uniform(-1, 1, 9_000) * 1.7e308, y * 2.0**1000
    yield numbers.choice([0.0, -0.0, 1e-3, -1e-3], 9_000), y


@np.errstate(all="ignore")
def test_remainders_are_exact():
    functions = (torch.fmod, torch.remainder, torch.floor_divide)
    for x, y in divided():
        y[y == 0] = 5e-324
        for function, wanted in zip(functions, remainders(x, y)):
            np.testing.assert_array_equal(function(torch.from_numpy(x), torch.from_numpy(y)).numpy().view("i8"), wanted.view("i8"))  # fmt: skip
    x, y = (v.ravel() for v in np.meshgrid(ODD, ODD))
    for function, wanted in zip(functions, remainders(x, y)):  # quotients too large are left to NumPy
        out = function(torch.from_numpy(x), torch.from_numpy(y)).numpy()
        np.testing.assert_array_equal(np.isnan(out), np.isnan(wanted))


def test_remainders_are_silent(recwarn):
    x = torch.full((5000,), 1.7e308, dtype=torch.float64)
    x[::2] = -float("inf")
    assert (x % 1e300).isnan().sum() == 2500 and (x // 1e300).isnan().sum() == 2500
    assert not torch.full((5000,), 1.7e308, dtype=torch.float64).fmod(1.6e308).isnan().any()
    assert not recwarn.list
