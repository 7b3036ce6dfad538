"""Operands of every kind: arrays, rows, columns, numbers; and what is left to NumPy."""

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import large, native
from penlight.kernels.fused import program_of
from penlight.kernels.native import operands

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
            result = operands.run(ufunc, (a, b))
            assert result is not None and result.shape == full
            np.testing.assert_array_equal(result, ufunc(a, b))
    rule = lambda grad, y: -grad * (y * y) / 3  # noqa: E731
    result = operands.run(program_of(rule, (x, y)), (x, y))
    np.testing.assert_array_equal(result, rule(x, y))


@here
def test_a_row_and_a_column_at_once():
    x, row, column, number = noise(20, 50), noise(50, seed=1), noise(20, 1, seed=2), np.array(2.5, np.float32)
    rule = lambda x, row, column, number, half: (x - column) * row / number + half  # noqa: E731
    result = operands.run(program_of(rule, (x, row, column, number, 0.5)), (x, row, column, number, 0.5))
    np.testing.assert_array_equal(result, rule(x, row, column, number, 0.5))


@here
@pytest.mark.parametrize(
    "x, y",
    [
        (noise(20, 50), noise(20, 50).astype(float)),
        (noise(20, 50), noise(50, 20).T),
        (noise(20, 1), noise(50)),  # no operand has the result's shape
        (noise(20, 5), noise(5)),  # rows too short to be worth it
        (noise(4, 5, 60), noise(4, 1, 60)),  # neither rows nor columns
        (noise(50), noise(0, 50)),
        (np.broadcast_to(np.float32(1), (20, 50)), 2.0),
    ],
    ids=range(7),
)
def test_what_is_left_to_numpy(x, y):
    assert operands.run(np.add, (x, y)) is None


@here
def test_functions_decide_by_numbers():
    kernel = lambda x, p: x * p if p < 2 else np.sqrt(np.abs(x)) - p  # noqa: E731
    x = noise(3, 70)
    for p in (1.5, 1, True, 2.5, -0.0, 0.0):
        result = operands.run(kernel, (x, p))
        expected = kernel(x, p)
        if p is True:  # as in NumPy, the product with a flag is a float
            assert result is None or (result == expected).all()
        else:
            np.testing.assert_array_equal(result, expected)
            np.testing.assert_array_equal(np.signbit(result), np.signbit(expected))
    assert operands.run(lambda x, p: x, (x, 1)) is None  # hands its operand on
    np.testing.assert_array_equal(operands.run(lambda x, p: x > p, (x, 1)), x > 1)
    assert operands.run(lambda x, p: x + p, (x, [1])) is None


@here
def test_the_plans_are_bounded(monkeypatch):
    monkeypatch.setattr(operands, "_MOST_PLANS", len(operands._plans) + 3)
    for n in range(40, 50):
        x = noise(n)
        np.testing.assert_array_equal(operands.run(np.add, (x, 1.0)), x + 1)
    assert len(operands._plans) <= operands._MOST_PLANS


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
    assert rows * columns >= large._SHARED_FROM

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
