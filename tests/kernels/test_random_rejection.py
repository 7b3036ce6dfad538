"""Samples by rejection: the machine code of a sampler gives what its Python function gives, and uses the same draws."""

from __future__ import annotations

import numpy as np
import pytest

from penlight.kernels import executable
from penlight.kernels.compiler import loops, python
from penlight.kernels.random import rejection
from penlight.kernels.random.engine import BLOCK, Engine

needs_native = pytest.mark.skipif(executable.backend() is None, reason="no machine code on this machine")

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
        made = rejection.binomial(engine, pick.choice(COUNTS, size), pick.choice(CHANCES, size))
    elif sampler == "poisson":
        made = rejection.poisson(engine, pick.choice(RATES, size))
    else:
        made = getattr(rejection, sampler)(engine, pick.choice(SHAPES, size))
    return made, engine.get_state()


def in_python(monkeypatch):
    """Samples are made by the Python functions from now on."""
    monkeypatch.setattr(executable, "backend", lambda: None)
    monkeypatch.setattr(rejection, "_kernel", rejection._kernel.__wrapped__)
    monkeypatch.setattr(loops, "_kernels", {})


@needs_native
@pytest.mark.parametrize("sampler", ["poisson", "binomial", "standard_gamma", "dirichlet"])
@pytest.mark.parametrize(("size", "skip"), [(1, 0), (1, BLOCK - 1), (7, 1), (300, 17), (3000, BLOCK), (9000, 3)])
def test_samples_and_state_are_those_of_python(sampler, size, skip, monkeypatch):
    made, state = drawn(sampler, size, skip)
    in_python(monkeypatch)
    wanted, wanted_state = drawn(sampler, size, skip)
    assert np.array_equal(made, wanted, equal_nan=True)
    assert np.array_equal(state, wanted_state)


@needs_native
@pytest.mark.parametrize("shapes", [[1.0], [1.0, 1.2, 5.0], [30.0, 9e4], [1e6, 2.0]])
@pytest.mark.parametrize(("size", "skip"), [(1, 0), (1, BLOCK - 1), (7, 1), (300, 17), (5000, 3)])
def test_gamma_trials_at_once_are_those_one_by_one(shapes, size, skip, monkeypatch):
    def made():
        engine = Engine(size)
        engine.raw(skip)
        shape = np.random.default_rng(size).choice(shapes, size)
        return [
            rejection.standard_gamma(engine, shape.astype(dtype)) for dtype in ("f8", "f4", "f8")
        ], engine.get_state()

    samples, state = made()
    in_python(monkeypatch)
    plain, plain_state = made()
    for got, wanted in zip(plain, samples, strict=True):
        assert np.array_equal(got, wanted)
    assert np.array_equal(state, plain_state)


def test_what_needs_no_draws_takes_none():
    engine = Engine(0)
    engine.raw(BLOCK - 1)  # one is left, too few for a sample
    before = engine.get_state()
    assert rejection.poisson(engine, np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    assert np.array_equal(engine.get_state(), before)


def test_without_the_source_python_serves(monkeypatch):
    wanted = drawn("poisson", 50, 0)
    monkeypatch.setattr(python, "source_lines", lambda file, module: [])
    python.parsed.cache_clear()
    monkeypatch.setattr(rejection, "_kernel", rejection._kernel.__wrapped__)
    monkeypatch.setattr(loops, "_kernels", {})
    made = drawn("poisson", 50, 0)
    assert np.array_equal(made[0], wanted[0]) and np.array_equal(made[1], wanted[1])
