"""Python functions on numbers as machine code: they do what they do in Python. See Note [Compiled scalars]."""

from __future__ import annotations

import math

import numpy as np
import pytest

from penlight.kernels import native, rng_gradients, rng_rejection
from penlight.kernels.native import _translate, scalar
from penlight.kernels.rng_engine import BLOCK, Engine

needs_native = pytest.mark.skipif(not native.available(), reason="no machine code on this machine")

RATES = np.array([0.0, 0.5, 3.0, 9.9, 10.0, 12.0, 50.0, 1000.0])
SHAPES = np.array([0.0, 0.1, 0.5, 1.0, 3.0, 50.0, np.nan])
COUNTS, CHANCES = np.array([0.0, 1.0, 10.0, 50.0, 1000.0]), np.array([0.0, 0.01, 0.3, 0.5, 0.7, 1.0, np.nan])


def drawn(sampler, size, skip):
    """Samples of a mixture, and the engine's state after them."""
    pick = np.random.default_rng(size)
    engine = Engine(5)
    if skip:
        engine.raw(skip)
    if sampler == "binomial":
        made = rng_rejection.binomial(engine, pick.choice(COUNTS, size), pick.choice(CHANCES, size))
    elif sampler == "poisson":
        made = rng_rejection.poisson(engine, pick.choice(RATES, size))
    else:
        made = getattr(rng_rejection, sampler)(engine, pick.choice(SHAPES, size))
    return made, engine.get_state()


@needs_native
@pytest.mark.parametrize("sampler", ["poisson", "binomial", "standard_gamma", "dirichlet"])
@pytest.mark.parametrize(("size", "skip"), [(1, 0), (1, BLOCK - 1), (7, 1), (300, 17), (3000, BLOCK), (9000, 3)])
def test_samples_and_state_are_those_of_python(sampler, size, skip, monkeypatch):
    made, state = drawn(sampler, size, skip)
    monkeypatch.setattr(scalar, "compiled", lambda function: None)
    wanted, wanted_state = drawn(sampler, size, skip)
    assert np.array_equal(made, wanted, equal_nan=True)
    assert np.array_equal(state, wanted_state)


def test_what_needs_no_draws_takes_none():
    engine = Engine(0)
    engine.raw(BLOCK - 1)  # one is left, too few for a sample
    before = engine.get_state()
    assert rng_rejection.poisson(engine, np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    assert np.array_equal(engine.get_state(), before)


TABLE = (10.0, 20.0, 30.0)
OFFSET = 0.25


class Reader:
    """The draws that a compiled function asks for."""

    def __init__(self, draws):
        self.uniform = iter(draws).__next__


def half(x: float) -> float:
    return x / 2


def everything(reader, a: float, b: float) -> float:
    """A function with one of each thing that is understood."""
    total, step = 0.0, 1
    if a < b and not (b == 2 or a > 5):
        total += math.floor(a) + math.ceil(b)
    elif a >= b or math.isnan(b):
        total -= abs(b) * math.pi
    while total < 3:
        total += reader.uniform() + OFFSET
        if total <= 1:
            continue
        step += 1
    total += TABLE[int(min_two(a, b))] if step != 2 else -step
    return half(total) + math.sqrt(math.exp(a)) + math.log(step) + math.lgamma(b + 6) * math.cos(a)


def min_two(a: float, b: float) -> float:
    return 1 if a != a else 2


@needs_native
def test_everything_that_is_understood():
    rows = np.random.default_rng(0).uniform(-5, 6, (200, 2))
    rows[:5, 1] = 2.0
    rows[7, 1] = np.nan
    draws = np.random.default_rng(1).random(4000)
    out, state = np.empty(len(rows)), np.zeros(4)
    state.view(np.int64)[0] = draws.size
    scalar.compiled(everything)(len(rows), rows, draws, out, state)
    used = int(state.view(np.int64)[3])
    reader = Reader(draws[:used])
    np.testing.assert_allclose(out, [everything(reader, *row) for row in rows.tolist()], rtol=1e-14)
    with pytest.raises(StopIteration):  # it took exactly those
        reader.uniform()


def not_understood(reader, a: float) -> float:
    return sum([a, a])


@needs_native
def test_what_is_not_understood_is_refused():
    with pytest.raises(NotImplementedError, match="sum"):
        scalar.Translator(not_understood)


def test_without_the_source_python_serves(monkeypatch):
    monkeypatch.setattr(_translate, "_definitions", lambda file, module: {})
    assert scalar.compiled.__wrapped__(rng_rejection._poisson) is None


@needs_native
def test_series_of_sample_gradients_are_those_of_numpy(monkeypatch):
    pick = np.random.default_rng(0)
    shapes = pick.choice([0.01, 0.5, 3.0, 30.0, 900.0, 2000.0], 300)
    samples = np.maximum(pick.gamma(shapes), 1e-300)
    samples[3] = np.nan
    few = np.minimum(shapes, 50)
    shares = np.clip(pick.beta(few, 2.0), 1e-12, 1 - 1e-6)
    made = rng_gradients.gamma_grad(shapes, samples), rng_gradients.dirichlet_grad(shares, few, few + 2.0)
    monkeypatch.setattr(scalar, "over_columns", lambda *arguments: None)
    wanted = rng_gradients.gamma_grad(shapes, samples), rng_gradients.dirichlet_grad(shares, few, few + 2.0)
    for found, expected in zip(made, wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
