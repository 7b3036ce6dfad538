"""Kernels as they are written down, compiled and run; each against the same arithmetic in NumPy."""

import math
import os
import subprocess
import sys

import numpy as np
import pytest

from penlight.kernels import executable, native
from penlight.kernels.compiler import math as functions, values
from penlight.kernels.compiler.rows import Rows
from penlight.kernels.compiler.values import Value, fma, fnma
from penlight.kernels.native import Kernel, over_elements, over_rows

here = pytest.mark.skipif(not native.available(), reason="this machine cannot run AVX2 code")
# Columns around the borders of a vector, of four and of eight.
COLUMNS = [1, 7, 8, 9, 31, 32, 33, 63, 64, 100, 257]


def noise(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def units(result, exact):
    """By how many units in the last place a float32 result is off, at most."""
    size = np.spacing(np.abs(exact).astype(np.float32)).astype(float)
    return float(np.max(np.abs(result.astype(float) - exact) / size))


@here
@pytest.mark.parametrize("columns", COLUMNS)
def test_folds_ignore_what_is_beyond_the_row(columns):
    def define(b: Rows) -> None:
        x, total, top = b.array(), b.per_row(), b.per_row()
        total.put(b.total(lambda: x.load() + 1.0, unroll=4))
        top.put(b.largest(lambda: x.load() - 100.0))

    x = noise(5, columns)
    total, top = np.zeros(5, np.float32), np.zeros(5, np.float32)
    over_rows(define, (5, columns), x, total, top)
    np.testing.assert_allclose(total, (x + 1).sum(1), rtol=1e-5, atol=1e-4)
    np.testing.assert_array_equal(top, (x - 100).max(1))


@here
@pytest.mark.parametrize("columns", COLUMNS)
def test_stores_leave_what_is_beyond_the_row(columns):
    def define(b: Rows) -> None:
        x, out = b.array(), b.array()
        b.each(lambda: out.store(x.load() * 2.0), unroll=2)

    x, out = noise(3, columns), np.full(3 * columns + 40, 7, np.float32)
    over_rows(define, (3, columns), x, out)
    np.testing.assert_array_equal(out[: 3 * columns].reshape(3, columns), x * 2)
    assert (out[3 * columns :] == 7).all()


@here
def test_arguments_of_every_kind():
    """More arrays than there are registers for arguments; parts of rows, shared rows, numbers of a row, numbers."""

    def define(b: Rows) -> None:
        gates = b.split(3)
        shared, scale = b.array(width=0), b.per_row()
        first, second, out = b.array(), b.array(), b.array()
        slope, shift = b.number(), b.number()
        factor, m, c = scale.get(), slope(), shift()
        b.each(
            lambda: out.store(
                (gates[0].load() - gates[1].load() * gates[2].load()) * factor * m
                + shared.load()
                + c
                + first.load() / second.load()
            )
        )

    gates, shared, scale = noise(6, 30), noise(10, seed=1), noise(6, seed=2)
    first, second, out = noise(6, 10, seed=3), noise(6, 10, seed=4) + 5, np.empty((6, 10), np.float32)
    over_rows(define, (6, 10), gates, shared, scale, first, second, out, numbers=(2.5, -1.25))
    a, b, c = gates[:, :10], gates[:, 10:20], gates[:, 20:]
    np.testing.assert_allclose(
        out, (a - b * c) * scale[:, None] * 2.5 + shared - 1.25 + first / second, rtol=1e-5, atol=1e-5
    )


@here
@pytest.mark.parametrize("rows", [0, 1, 63, 64, 65, 200, 40_000])
def test_sums_over_rows(rows):
    """In groups, so that many rows lose no digits and threads may share them."""

    def define(b: Rows) -> None:
        x, down, across = b.array(), b.sums(), b.per_row()

        def add() -> Value:
            value = x.load() * 2.0
            down.add(value)
            return value

        across.put(b.total(add, unroll=2))

    x, across = noise(rows, 21) + 1, np.empty(rows, np.float32)
    down = np.zeros((-(-rows // 64), 21), np.float32)
    over_rows(define, x.shape, x, down, across)
    np.testing.assert_allclose(down.sum(0, dtype=float), 2 * x.sum(0, dtype=float), rtol=2e-6, atol=1e-5)
    np.testing.assert_allclose(across, 2 * x.sum(1), rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="elements where"):
        over_rows(define, (rows + 64, 21), noise(rows + 64, 21), down, across)


@here
def test_rows_in_order_may_write_to_one_row():
    def define(b: Rows) -> None:
        x, total = b.array(), b.array(width=0)
        b.each(lambda: total.add(x.load()))

    x, total = noise(500, 301), np.zeros(301, np.float32)
    native.in_order(define, x.shape, x, total)
    np.testing.assert_allclose(total, x.sum(0), rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="it has 300 elements"):
        native.in_order(define, x.shape, x, total[:300])


@here
def test_a_range_of_rows_only():
    def define(b: Rows) -> None:
        x = b.array()
        b.each(lambda: x.store(x.load() + 1.0))

    x = np.zeros((10, 12), np.float32)
    Kernel(define).run(3, 5, 12, x)
    assert x.sum(1).tolist() == [0, 0, 0, 12, 12, 0, 0, 0, 0, 0]
    Kernel(define).run(5, 5, 12, x)
    assert x.sum() == 24


@here
def test_local_arrays_have_the_rows_of_a_range_only():
    def define(b: Rows) -> None:
        halves, sums, scale = b.split(2), b.array(local=True), b.per_row(local=True)
        factor = scale.get()
        b.each(lambda: sums.store(sums.load() + halves[1].load() * factor), unroll=2)

    halves, sums, scale = noise(10, 38), np.ones((3, 19), np.float32), noise(3, seed=1)
    Kernel(define).run(4, 7, 19, halves, sums, scale)
    np.testing.assert_allclose(sums, 1 + halves[4:7, 19:] * scale[:, None], rtol=1e-6)


@here
def test_no_rows():
    def define(b: Rows) -> None:
        x, shared = b.array(), b.array(width=0)
        b.each(lambda: x.store(shared.load()))

    over_rows(define, (0, 5), np.empty((0, 5), np.float32), noise(5))


@here
def test_there_may_be_more_arrays_than_registers():
    def define(b: Rows) -> None:
        arrays = [b.array() for _ in range(16)]
        b.each(lambda: arrays[0].store(sum([x.load() for x in arrays[2:]], arrays[1].load())))

    arrays = [noise(3, 21, seed=i) for i in range(16)]
    over_rows(define, (3, 21), *arrays)
    np.testing.assert_array_equal(arrays[0], sum(arrays[2:], arrays[1]))


@here
def test_constants_may_stand_on_either_side():
    def define(b: Rows) -> None:
        x, out = b.array(), b.array()
        b.each(lambda: out.store(1.0 / (2.0 - x.load()) + (3.0 + x.load()) * (0.5 * x.load()) - (-x.load())))

    x = noise(50)
    out = np.empty_like(x)
    over_elements(define, x, out)
    np.testing.assert_allclose(out, 1 / (2 - x) + (3 + x) * (0.5 * x) + x, rtol=1e-5, atol=1e-6)


@here
def test_multiply_add_rounds_once_whatever_operand_dies():
    def define(b: Rows) -> None:
        x, y, z, out = (b.array() for _ in range(4))

        def body() -> None:
            a, c, d = x.load(), y.load(), z.load()
            first = fma(a, c, d)
            second = fnma(a, 3.0, d)
            third = fma(a, c, 0.25)
            out.store(first + second * third + fma(d, c, a) + a * c * d)

        b.each(body)

    x, y, z = noise(99), noise(99, seed=1), noise(99, seed=2)
    out = np.empty_like(x)
    over_elements(define, x, y, z, out)
    a, c, d = (v.astype(float) for v in (x, y, z))
    np.testing.assert_allclose(
        out, a * c + d + (d - 3 * a) * (a * c + 0.25) + d * c + a + a * c * d, rtol=1e-4, atol=1e-5
    )


@here
def test_there_may_be_more_values_than_registers():
    def define(b: Rows) -> None:
        x = b.array()
        held = [b.total(lambda: x.load()) for _ in range(17)]
        b.each(lambda: x.store(sum(held, x.load())))

    x = noise(4, 19)
    wanted = x + 17 * x.sum(1, keepdims=True)
    over_rows(define, x.shape, x)
    np.testing.assert_allclose(x, wanted, rtol=1e-4, atol=1e-4)


@here
def test_arrays_that_are_too_small_are_refused():
    def define(b: Rows) -> None:
        x, out = b.array(), b.array()
        b.each(lambda: out.store(x.load()))

    with pytest.raises(ValueError, match="it has 11 elements"):
        over_rows(define, (3, 4), noise(12), noise(11))
    with pytest.raises(ValueError, match="it has 11 elements"):
        over_elements(define, noise(12), noise(11))
    with pytest.raises(ValueError, match="not contiguous"):
        over_rows(define, (3, 4), noise(3, 8)[:, ::2], noise(3, 4))
    with pytest.raises(ValueError, match="elements of <f2 where f32 is expected"):
        over_rows(define, (3, 4), noise(12).astype(np.float16), noise(12))


@here
def test_arrays_that_must_not_be_written_to_are_refused():
    def define(b: Rows) -> None:
        x, out = b.array(), b.array()
        b.each(lambda: out.store(x.load()))

    x, out = noise(12), np.zeros(12, np.float32)
    x.flags.writeable = False
    over_elements(define, x, out)
    assert (out == x).all()
    with pytest.raises(ValueError, match="output array is read-only"):
        over_elements(define, out, x)


FUNCTIONS = [
    ("exp", math.exp, 1.0, -104, 88.7),
    ("tanh", math.tanh, 1.5, -12, 12),
    ("erf", math.erf, 2.0, -6, 6),
    ("exp_below", math.exp, 1.0, -104, 40),
    ("log", math.log, 1.0, 1e-6, 1e6),
    ("gate", lambda x: 1 / (1 + math.exp(-x)), 2.5, -80, 80),
    ("expm1", math.expm1, 2.0, -20, 88),
    ("log1p", math.log1p, 2.0, -0.99, 1e6),
    ("exp_within", math.exp, 1.0, -87, 88),
    ("sqrt", math.sqrt, 0.51, 0, 1e6),
    ("absolute", abs, 0, -5, 5),
]


@here
@pytest.mark.parametrize("name, exact, most, low, high", FUNCTIONS, ids=[f[0] for f in FUNCTIONS])
def test_functions_to_the_last_place(name, exact, most, low, high):
    def define(b: Rows) -> None:
        x, out = b.array(), b.array()
        b.each(lambda: out.store((getattr(functions, name, None) or getattr(values, name))(x.load())))

    x = np.concatenate([np.linspace(low, high, 20001), np.linspace(max(low, -1.5), min(high, 1.5), 20001)]).astype(
        np.float32
    )
    out = np.empty_like(x)
    over_elements(define, x, out)
    assert units(out, np.array([exact(v) for v in x.tolist()])) <= most


@here
def test_functions_at_the_ends():
    def define(b: Rows, name: str) -> None:
        x, out = b.array(), b.array()
        b.each(lambda: out.store((getattr(functions, name, None) or getattr(values, name))(x.load())))

    payload = np.array([0x7FC12345], np.uint32).view(np.float32)[0]  # a NaN with bits of its own
    x = np.array([np.inf, -np.inf, payload, 0.0, -0.0, 1e-42, -1e-42, 200.0, -200.0], np.float32)
    expected = {
        "exp": [np.inf, 0, np.nan, 1, 1, 1, 1, np.inf, 0],
        "exp_below": [None, 0, np.nan, 1, 1, 1, 1, None, 0],
        "log": [np.inf, np.nan, np.nan, -np.inf, -np.inf, -96.71, np.nan, 5.298, np.nan],
        "expm1": [np.inf, -1, np.nan, 0.0, -0.0, 1e-42, -1e-42, np.inf, -1],
        "log1p": [np.inf, np.nan, np.nan, 0.0, -0.0, 1e-42, -1e-42, 5.303, np.nan],
        "tanh": [1, -1, np.nan, 0.0, -0.0, 1e-42, -1e-42, 1, -1],
        "erf": [1, -1, np.nan, 0.0, -0.0, 1.128e-42, -1.128e-42, 1, -1],
        "gate": [1, 1.6458e-38, np.nan, 0.5, 0.5, 0.5, 0.5, 1, 1.6458e-38],
    }
    for name, wanted in expected.items():
        out = np.empty_like(x)
        over_elements(define, x, out, name=name)
        wanted = [
            got if value is None else value for got, value in zip(out, wanted, strict=True)
        ]  # None: not its domain
        np.testing.assert_allclose(out, np.array(wanted, np.float32), rtol=1e-2, atol=0, err_msg=name)
        assert (np.signbit(out) == np.signbit(np.array(wanted, np.float32))).all() or np.isnan(out).any(), name


@here
def test_maximum_and_minimum_pass_nan_on():
    def define(b: Rows) -> None:
        x, y, high, low = (b.array() for _ in range(4))
        b.each(
            lambda: (
                high.store(values.maximum(x.load(), y.load())),
                low.store(values.minimum(x.load(), y.load())),
            )
        )

    x = np.array([1, np.nan, 2, np.nan, np.inf], np.float32)
    y = np.array([2, 1, np.nan, np.nan, -np.inf], np.float32)
    high, low = np.empty_like(x), np.empty_like(x)
    over_elements(define, x, y, high, low)
    np.testing.assert_array_equal(high, np.maximum(x, y))
    np.testing.assert_array_equal(low, np.minimum(x, y))


@here
def test_threads_share_rows_and_elements():
    def define(b: Rows) -> None:
        x, out = b.array(), b.array()
        b.each(lambda: out.store(x.load() + 1.0))

    x = noise(700, 301)
    out = np.zeros_like(x)
    over_rows(define, x.shape, x, out)
    np.testing.assert_array_equal(out, x + 1)
    out[:] = 0
    over_elements(define, x, out)
    np.testing.assert_array_equal(out, x + 1)


def test_what_suits():
    x = noise(4, 4)
    assert native.suits(x, x) == native.suits(x.astype(float)) == native.available()
    assert not native.suits(x, x.astype(float))
    assert not native.suits(x, x.T)


def test_can_be_turned_off():
    """And then everything works as before."""
    program = (
        "import numpy as np, penlight as torch\n"
        "from penlight.kernels import native\n"
        "assert not native.available()\n"
        "x = torch.linspace(-1, 1, 100_000).reshape(100, 1000)\n"
        "print(float(x.softmax(1).sum()))"
    )
    environment = {**os.environ, "PENLIGHT_NATIVE": "0"}
    result = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    assert float(result.stdout) == pytest.approx(100, rel=1e-5)


def test_where_memory_cannot_become_executable(monkeypatch):
    def refuse(*args):
        raise OSError("no")

    monkeypatch.setattr(executable, "load", refuse)
    assert executable._trial() is False
