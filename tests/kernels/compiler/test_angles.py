"""Trigonometric and hyperbolic functions, logarithms and remainders in machine code: how near they are, over the whole range of float32."""

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import native
from penlight.kernels.compiler import angles, math as functions
from penlight.kernels.compiler.rows import Rows
from penlight.kernels.elementwise import attempt
from penlight.kernels.native import Kernel

here = pytest.mark.skipif(not native.available(), reason="this machine cannot run AVX2 code")
ODD = np.array([0.0, -0.0, 1, -1, 0.5, -0.5, 2.5, -3, 1e-42, -1e-42, 3e38, -3e38, np.inf, -np.inf, np.nan], np.float32)


def compiled(ufunc):
    """A ufunc as a function, which `attempt` compiles for arrays of any size."""
    return lambda *operands: ufunc(*operands)


def everywhere(seed=0):
    """Floats of all sizes, and many that are near 0."""
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**32, 1 << 17, dtype=np.uint32).view(np.float32)
    near = np.concatenate([rng.uniform(-100, 100, 50_000), rng.standard_normal(50_000), rng.uniform(-1, 1, 50_000)])
    return np.concatenate([ODD, bits, near.astype(np.float32), np.arange(-200, 200).astype(np.float32)])


def compute(function, *arrays):
    def define(b: Rows) -> None:
        places = [b.array() for _ in arrays]
        out = b.array()
        b.each(lambda: out.store(function(*[place.load() for place in places])))

    kernel, out = Kernel(define, True), np.empty(arrays[0].size, np.float32)
    kernel.run(0, out.size, *arrays, out)
    return out, function in PARTIAL


PARTIAL = (
    angles.sin, angles.cos, angles.tan, functions.fmod, functions.remainder, functions.floor_divide, functions.power
)  # fmt: skip


def function_of(name):
    return getattr(angles, name, None) or getattr(functions, name)


def compare(out, exact, most, partial):
    """That each result is at most so many units in the last place away, and infinite, NaN or of either sign where it should."""
    rounded = exact.astype(np.float32)
    if partial:
        where = ~np.isnan(out)
        out, exact, rounded = out[where], exact[where], rounded[where]
    finite = np.isfinite(rounded) & np.isfinite(out)
    np.testing.assert_array_equal(out[~finite], rounded[~finite])
    unit = np.maximum(np.spacing(np.abs(rounded[finite])), np.float32(1.4e-45)).astype(np.float64)
    assert (np.abs(out[finite] - exact[finite]) / unit).max() <= most
    real = ~np.isnan(out)
    np.testing.assert_array_equal(np.signbit(out[real]), np.signbit(rounded[real]))


ONE = [
    ("sin", np.sin, 1.6), ("cos", np.cos, 1.6), ("tan", np.tan, 0.6), ("atan", np.arctan, 1.5), ("asin", np.arcsin, 2.0),
    ("acos", np.arccos, 1.0), ("sinh", np.sinh, 1.7), ("cosh", np.cosh, 1.6), ("asinh", np.arcsinh, 2.1),
    ("acosh", np.arccosh, 2.5), ("atanh", np.arctanh, 2.1), ("log", np.log, 0.9), ("log2", np.log2, 1.1),
    ("log10", np.log10, 1.1), ("exp2", np.exp2, 1.1), ("exp", np.exp, 1.0),
]  # fmt: skip


@here
@pytest.mark.parametrize("name, exact, most", ONE, ids=[row[0] for row in ONE])
def test_functions(name, exact, most):
    x = everywhere()
    out, partial = compute(function_of(name), x)
    with np.errstate(all="ignore"):
        compare(out, exact(x.astype(np.float64)), most, partial)
    if partial:
        assert not np.isnan(out[np.abs(x) < 2.0**40]).any()


def pairs():
    x, y = everywhere(1), np.random.default_rng(2).permutation(everywhere(3))
    rng = np.random.default_rng(4)
    a, b = (v.ravel() for v in np.meshgrid(ODD, ODD))
    whole = rng.integers(-1000, 1000, 20_000).astype(np.float32), rng.integers(-30, 30, 20_000).astype(np.float32)
    return np.concatenate([x, a, whole[0]]), np.concatenate([y, b, whole[1]])


@here
@pytest.mark.parametrize(
    "name, exact, most", [("atan2", np.arctan2, 1.6), ("hypot", np.hypot, 0.51), ("fmod", np.fmod, 0)]
)
def test_functions_of_two(name, exact, most):
    x, y = pairs()
    out, partial = compute(function_of(name), x, y)
    with np.errstate(all="ignore"):
        compare(out, exact(x.astype(np.float64), y.astype(np.float64)), most, partial)
        if partial:
            usual = (np.abs(x) < np.abs(y) * 2.0**27) & np.isfinite(y)
            assert not np.isnan(out[usual]).any()


@here
def test_powers():
    x, y = pairs()
    known = (x > 0) | ((x == 0) & ~np.signbit(x))
    known &= np.isfinite(x) & np.isfinite(y)
    out, partial = compute(functions.power, x, y)
    assert partial and not np.isnan(out[known]).any()
    assert np.isnan(out[~known & (y != 0)]).all()
    with np.errstate(all="ignore"):
        compare(out[known], np.power(x[known].astype(np.float64), y[known]), 0.51, False)
    for exponent in (-2, -1, *range(1, 9)):
        out, partial = compute(lambda v, n=exponent: functions.integer_power(v, n), x)
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(
                out,
                np.power(x.astype(np.float64), exponent).astype(np.float32),
                rtol=1e-6,
                atol=1e-44 if exponent > 0 else 1e-38,
            )
        assert not partial


@here
def test_logaddexp():
    x, y = pairs()
    out, _ = compute(functions.logaddexp, x, y)
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(out, np.logaddexp(x.astype(np.float64), y).astype(np.float32), rtol=3e-7, atol=2e-7)


def by_remainder(x, y):
    """PyTorch's formulas: (remainder, floor_divide)."""
    left = np.fmod(x, y)
    wrong = (left != 0) & ((y < 0) != (left < 0))
    quotient = (x - left) / y - wrong
    below = np.floor(quotient)
    below = below + (quotient - below > 0.5)
    below = np.where(quotient == 0, np.copysign(0.0, x / y), below)
    return np.where(wrong, left + y, left), np.where(y == 0, x / y, below).astype(np.float32)


@here
def test_remainders_as_in_pytorch():
    x, y = pairs()
    with np.errstate(all="ignore"):
        for function, wanted in zip((functions.remainder, functions.floor_divide), by_remainder(x, y)):
            out, partial = compute(function, x, y)
            here = ~np.isnan(out)
            assert partial and here.mean() > 0.5
            np.testing.assert_array_equal(out[here].view(np.uint32), wanted[here].view(np.uint32))


@here
def test_what_they_cannot_is_left_to_numpy():
    x = np.linspace(-5, 5, 50_000, dtype=np.float32)
    assert attempt(compiled(np.sin), (x,)) is not None
    x[7] = 3e30
    assert attempt(compiled(np.sin), (x,)) is None
    y = torch.from_numpy(x).sin()
    assert y[7] == float(np.sin(np.float32(3e30)))


def test_ops(either_way):
    torch.manual_seed(0)
    x = torch.randn(200, 300)
    y = torch.rand(200, 300) * 0.9 + 0.05
    z = torch.rand(300) + 0.5
    for f in (
        lambda x, y, z: x.sin() + y.cos(), lambda x, y, z: y.tan() * x.atan(), lambda x, y, z: y.asin() - y.acos(),
        lambda x, y, z: x.sinh() / x.cosh(), lambda x, y, z: x.asinh() * (y + 1).acosh() + y.atanh(),
        lambda x, y, z: y.log2() + y.log10() + x.exp2(), lambda x, y, z: torch.atan2(x, z) + torch.atan2(y, x),
        lambda x, y, z: torch.hypot(x, z) + torch.logaddexp(x, y), lambda x, y, z: x % z + x % 0.7 + torch.fmod(x, y),
        lambda x, y, z: x.sign() * y + x.abs() + x.frac() + x.floor() * y + torch.copysign(y, x), lambda x, y, z: x.round() * z,
        lambda x, y, z: torch.where(x > 0, x, y) + torch.where((x < 0) & (y > 0.5), z, x), lambda x, y, z: (x > 0) * y,
        lambda x, y, z: torch.maximum(x, z) * torch.minimum(x, y), lambda x, y, z: x**4 + y**1.7 + y**x + 2**x + z**-0.5, lambda x, y, z: x.clamp(-1, 0.5) * x.clamp(min=y),
    ):  # fmt: skip
        inputs = [v.clone().requires_grad_() for v in (x, y, z)]
        wide = [v.double().requires_grad_() for v in (x, y, z)]
        out, exact = f(*inputs), f(*wide)
        # A remainder jumps where a quotient is an integer, which 0.7 in float32 and in float64 need not agree on.
        torch.testing.assert_close(out.double(), exact, rtol=2e-5, atol=2e-5)
        grads = torch.autograd.grad(out.sum(), inputs, allow_unused=True, materialize_grads=True)
        wanted = torch.autograd.grad(exact.sum(), wide, allow_unused=True, materialize_grads=True)
        for a, b in zip(grads, wanted):
            torch.testing.assert_close(a.double(), b, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("size", [5, 50_000])
def test_the_sign_of_no_remainder(size, either_way):
    x = torch.tensor([-6.0, 6.0, -0.0, 5.0, -5.0]).repeat(size // 5)
    y = torch.tensor([3.0, -3.0, 2.0, float("inf"), float("inf")]).repeat(size // 5)
    out = torch.remainder(x, y)[:5]
    assert out.tolist() == [0, 0, 0, 5, float("inf")]
    assert torch.signbit(out).tolist() == [True, False, True, False, False]
    assert torch.signbit(x % 3)[:3].tolist() == [True, False, True]
