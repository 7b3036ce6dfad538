"""Random words by machine code: the same stream as NumPy's, from any place in it, and the same state afterwards."""

import numpy as np
import pytest

from penlight.kernels import native, rng_normal, rng_uniform
from penlight.kernels.native import twister
from penlight.kernels.rng_engine import _LARGE_PIECE, BLOCK, PIECE, Engine

pytestmark = pytest.mark.skipif(not native.available(), reason="this machine cannot run AVX2 code")
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
DRAWS = {
    "random32": lambda e, n: e.random32(n),
    "random64": lambda e, n: e.random64(n),
    "rand": lambda e, n: rng_uniform.uniform(e, (n,), SINGLE),
    "rand in double": lambda e, n: rng_uniform.uniform(e, (n,), DOUBLE, -1.0, 3.0),
    "randn": lambda e, n: rng_normal.normal(e, (n,), SINGLE),
    "bernoulli": lambda e, n: rng_uniform.bernoulli(e, 0.3, (n,), SINGLE),
    "never": lambda e, n: rng_uniform.bernoulli(e, 0.0, (n,), SINGLE),
    "always": lambda e, n: rng_uniform.bernoulli(e, 1.0, (n,), SINGLE),
    "bernoulli of bools": lambda e, n: rng_uniform.bernoulli(e, 0.3, (n,), np.dtype(bool)),
}


@pytest.mark.parametrize("count", [PIECE, PIECE + 1, PIECE + BLOCK, _LARGE_PIECE + 7, 2 * _LARGE_PIECE, 100_003])
@pytest.mark.parametrize("before", [0, 1, 623, 624, 1000])
@pytest.mark.parametrize("what", DRAWS)
def test_the_same_stream(what, before, count, monkeypatch):
    machine, plain = Engine(7), Engine(7)
    if before:
        machine.raw(before)
    made = DRAWS[what](machine, count)
    monkeypatch.setattr(native, "available", lambda: False)
    if before:
        plain.raw(before)
    np.testing.assert_array_equal(made, DRAWS[what](plain, count))
    np.testing.assert_array_equal(machine.get_state(), plain.get_state())
    np.testing.assert_array_equal(machine.raw(2000), plain.raw(2000))


def test_a_state_that_was_set(monkeypatch):
    first = Engine(3)
    first.random32(100_000)
    second = Engine().set_state(first.get_state())
    made = second.random32(50_000)
    monkeypatch.setattr(native, "available", lambda: False)
    np.testing.assert_array_equal(made, first.random32(50_000))


def test_without_numpys_memory(monkeypatch):
    monkeypatch.setattr(twister, "state_of", lambda twister: None)
    made = Engine(3).random32(50_000)
    monkeypatch.undo()
    np.testing.assert_array_equal(made, Engine(3).random32(50_000))


@pytest.mark.parametrize("count", range(20))
def test_bernoulli_at_the_bound(count):
    words = np.full(2 * count, 0xFFFFFFFF, np.uint32)
    words[: count // 2 * 2] = 5
    out = np.full(count + 8, 7, np.float32)
    value = 5 << 32 | 5
    for bound, below in ((value, 0), (value + 1, 1)):
        twister.bernoulli(words, bound, out[:count])
        np.testing.assert_array_equal(out[: count // 2], below)
        np.testing.assert_array_equal(out[count // 2 : count], 0)
    assert (out[count:] == 7).all()


def test_wrong_arrays_are_refused():
    words = np.zeros(624, np.uint32)
    for out in (np.empty(623, np.uint32), np.empty(624, np.int64), np.empty(1248, np.uint32)[::2]):
        with pytest.raises(ValueError, match="whole blocks"):
            twister.draw(words.copy(), 1, out)
    with pytest.raises(ValueError, match="pairs"):
        twister.bernoulli(words, 1, np.empty(311, np.float32))
    with pytest.raises(ValueError, match="contiguous"):
        twister.bernoulli(words, 1, np.empty(624, np.float32)[::2])
