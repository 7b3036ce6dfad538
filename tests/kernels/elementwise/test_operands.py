"""Operands of every kind: arrays, rows, columns, numbers; and what is left to NumPy."""

import numpy as np
import pytest

import penlight as torch
from penlight.autograd.shapes import sum_to as sum_to_shape
from penlight.kernels import elementwise, native
from penlight.kernels.elementwise import attempt, plans
from penlight.kernels.elementwise.strategies import COMPILED_FROM

here = pytest.mark.skipif(not native.available(), reason="this machine cannot run AVX2 code")


def noise(*shape, seed=0):
    return (np.random.default_rng(seed).standard_normal(shape) + 0.1).astype(np.float32)


SHAPES = [
    ((30, 41), (41,)), ((30, 41), (1, 41)), ((30, 41), (30, 1)), ((5, 6, 40), (40,)), ((5, 6, 40), (6, 40)), ((5, 6, 40), (5, 1, 1)),
    ((5, 6, 40), (5, 6, 1)), ((1, 50), (50,)), ((3, 1, 64), (64,)), ((2, 33), (2, 33)),
]  # fmt: skip


@here
@pytest.mark.parametrize("full, other", SHAPES, ids=str)
def test_rows_and_columns(full, other):
    x, y = noise(*full), noise(*other, seed=1)
    for ufunc in (np.add, np.subtract, np.multiply, np.divide):
        for a, b in ((x, y), (y, x)):
            result = attempt(ufunc, (a, b))
            if full == other:  # NumPy does as well
                assert result is None
                continue
            assert result is not None and result.shape == full
            np.testing.assert_array_equal(result, ufunc(a, b))
    rule = lambda grad, y: -grad * (y * y) / 3
    result = attempt(rule, (x, y))
    np.testing.assert_array_equal(result, rule(x, y))


PLACED = [
    (noise(20, 1), noise(50)), (noise(20, 1), noise(1, 50)), (noise(4, 5, 60), noise(4, 1, 60)), (noise(4, 1, 60), noise(5, 60)),
    (noise(3, 1, 4, 1), noise(2, 1, 33)), (noise(20, 100)[:, :40], noise(20, 100)[:, 60:]), (noise(20, 100)[:, 3:40], noise(37)),
    (noise(6, 7, 80)[:, 1:4, 5:70], noise(6, 1, 1)), (noise(40, 50)[::2], noise(20, 90)[:, 7:8]), (noise(5000, 33)[:, :32], noise(32)),
    (np.broadcast_to(noise(20, 1), (20, 50)), noise(20, 50)),
]  # fmt: skip


@here
@pytest.mark.parametrize("x, y", PLACED, ids=range(len(PLACED)))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_operands_that_lie_anywhere(x, y, dtype):
    """See Note [Rows by their places]."""
    if dtype is np.float64:  # in the same layout
        wide = [
            np.zeros(0 if not a.size else sum((n - 1) * s for n, s in zip(a.shape, a.strides)) // 4 + 1) for a in (x, y)
        ]
        x, y = (np.lib.stride_tricks.as_strided(w, a.shape, [2 * s for s in a.strides]) for w, a in zip(wide, (x, y)))
        x[...], y[...] = 1.5, -0.25
    for a, b in ((x, y), (y, x)):
        result, expected = attempt(np.subtract, (a, b)), a - b
        assert result is not None and result.strides == expected.strides and result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected)


@here
def test_columns_of_truth_values_and_of_16_bit_floats():
    x, mask = noise(20, 48), noise(20, 1, seed=3) > 0
    choose = lambda mask, x: np.where(mask, x, -1.0)
    np.testing.assert_array_equal(attempt(choose, (mask, x)), np.where(mask, x, np.float32(-1)))
    half, column = noise(20, 48).astype(np.float16), noise(20, 1, seed=3).astype(np.float16)
    np.testing.assert_array_equal(attempt(np.multiply, (column, half)), column * half)


SUMS = [
    ((300, 40), (300, 1)), ((300, 40), (40,)), ((300, 40), (1, 40)), ((5, 6, 40), (5, 1, 1)), ((5, 6, 40), (6, 40)), ((5, 6, 40), (5, 6, 1)),
    ((5, 1, 6, 40), (5, 1, 1, 1)), ((2, 3000), (2, 1)),
]  # fmt: skip


@here
@pytest.mark.parametrize("whole, shape", SUMS, ids=str)
def test_sums_in_the_same_pass(whole, shape):
    x, y, row = noise(*whole), noise(*whole, seed=1), noise(whole[-1], seed=2)
    for values in ((x, y), (x, row), (x, noise(*whole[:-1], 1, seed=3))):
        for rule in (np.multiply, lambda a, b: a * b - b):
            result = attempt(rule, values, None, shape)
            if result is None and values[1] is not y:
                continue  # what is summed is not one row of elements
            expected = sum_to_shape(rule(*[v.astype(float) for v in values]), shape)
            assert result is not None and result.shape == shape and result.dtype == np.float32
            np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


@here
def test_sums_that_are_left_to_others():
    x = noise(5, 6, 40)
    for shape in ((1, 6, 1), (5, 1, 40), (5, 6, 40), (1, 1, 1), ()):
        assert attempt(np.multiply, (x, x), None, shape) is None
    assert attempt(np.multiply, (x.astype(float), x.astype(float)), None, (40,)) is None
    assert attempt(np.sin, (x,), None, (40,)) is None  # a sine may have to be computed again


@pytest.mark.parametrize(
    "one, other", [((300, 1), (400,)), ((50, 1, 40), (60, 40)), ((400,), (100, 400)), ((20, 8, 1, 40), (20, 1, 9, 40))]
)
def test_gradients_of_what_was_broadcast(one, other, monkeypatch):
    results = []
    for available in (native.available(), False):
        monkeypatch.setattr(native, "available", lambda now=available: now)
        x, y = (torch.from_numpy(noise(*s, seed=len(s))).requires_grad_() for s in (one, other))
        for out in (x * y, x / (y * y + 1), torch.maximum(x, y), x - y):
            results.append([out, *torch.autograd.grad(out, (x, y), torch.full_like(out, 0.5))])
    for a, b in zip(results[: len(results) // 2], results[len(results) // 2 :], strict=True):
        for one, other in zip(a, b, strict=True):
            assert one.stride() == other.stride()
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@here
def test_a_row_and_a_column_at_once():
    x, row, column, number = noise(20, 50), noise(50, seed=1), noise(20, 1, seed=2), np.array(2.5, np.float32)
    rule = lambda x, row, column, number, half: (x - column) * row / number + half
    result = attempt(rule, (x, row, column, number, 0.5))
    np.testing.assert_array_equal(result, rule(x, row, column, number, 0.5))


@here
@pytest.mark.parametrize(
    "x, y",
    [
        (noise(20, 50), noise(20, 50).astype(float)),
        (noise(20, 50), noise(50, 20).T),
        (noise(2, 3, 40), noise(3, 2, 40).transpose(1, 0, 2)),
        (noise(20, 5), noise(5)),  # rows too short to be worth it
        (noise(20, 100)[:, ::2], noise(50)),  # elements that are apart
        (noise(20, 50)[::-1], noise(50)),  # rows from the last to the first
        (noise(50), noise(0, 50)),
        (np.broadcast_to(np.float32(1), (20, 50)), 2.0),
    ],
    ids=range(8),
)
def test_what_is_left_to_numpy(x, y):
    assert attempt(np.add, (x, y)) is None


@here
def test_functions_decide_by_numbers():
    kernel = lambda x, p: x * p if p < 2 else np.sqrt(np.abs(x)) - p
    x = noise(3, 70)
    for p in (1.5, 1, True, 2.5, -0.0, 0.0):
        result = attempt(kernel, (x, p))
        expected = kernel(x, p)
        if p is True:  # as in NumPy, the product with a flag is a float
            assert result is None or (result == expected).all()
        else:
            np.testing.assert_array_equal(result, expected)
            np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))
    assert attempt(lambda x, p: x, (x, 1)) is None  # hands its operand on
    np.testing.assert_array_equal(attempt(lambda x, p: x > p, (x, 1)), x > 1)
    assert attempt(lambda x, p: x + p, (x, [1])) is None


@here
def test_the_plans_are_bounded(monkeypatch):
    monkeypatch.setattr(plans, "MOST_PLANS", len(elementwise._plans) + 3)
    for n in range(40, 50):
        x = noise(2, n)
        np.testing.assert_array_equal(attempt(np.add, (x, x[0])), x + x[0])
    assert len(elementwise._plans) <= plans.MOST_PLANS


OPS = {
    "pow 3": lambda x, y: x**3,
    "pow -2": lambda x, y: y**-2,
    "pow 0.5": lambda x, y: y**0.5,
    "rsqrt": lambda x, y: y.rsqrt(),
    "clamp": lambda x, y: x.clamp(-0.5, 1),
    "clamp below": lambda x, y: x.clamp(min=-0.5),
    "clamp_max": lambda x, y: x.clamp_max(0.5),
    "lerp": lambda x, y: torch.lerp(x, y, 0.3),
    "lerp far": lambda x, y: torch.lerp(x, y, 0.7),
    "addcmul": lambda x, y: torch.addcmul(x, x, y, value=0.5),
    "addcdiv": lambda x, y: torch.addcdiv(x, x, y, value=2),
    "row": lambda x, y: x * y[:1],
    "column": lambda x, y: (x - y[:, :1]) / y[:, 1:2],
    "abs": lambda x, y: x.abs(),
    "hypotenuse": lambda x, y: (x * x + y * y).sqrt(),
    "maximum": lambda x, y: torch.maximum(x, y),
    "where": lambda x, y: torch.where(x > 0, x * y, y),
}


@pytest.mark.parametrize("name", OPS)
def test_ops_by_machine_code_and_by_numpy(name, monkeypatch):
    """Forward, backward and the second derivative."""
    rows, columns = 300, 501
    assert rows * columns >= COMPILED_FROM[np.add]

    def run():
        x, y = torch.from_numpy(noise(rows, columns)), torch.from_numpy(abs(noise(rows, columns, seed=1)) + 0.5)
        x[0, :4] = torch.tensor([float("nan"), float("inf"), -float("inf"), 0.0])
        x, y = x.requires_grad_(), y.requires_grad_()
        out = OPS[name](x, y)
        first = torch.autograd.grad(out, (x, y), torch.full_like(out, 0.5), allow_unused=True, retain_graph=True)
        again = torch.autograd.grad(out.sum(), (x, y), allow_unused=True, create_graph=True)
        return [out, *first, *again]

    machine = run()
    monkeypatch.setattr(native, "available", lambda: False)
    for a, b in zip(machine, run(), strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            rounding = 1e-4 if name in ("row", "column") else 1e-6  # of sums
            torch.testing.assert_close(a, b, rtol=rounding, atol=rounding, equal_nan=True)
