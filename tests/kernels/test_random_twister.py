"""Random words by machine code: the same stream as NumPy's, from any place in it, and the same state afterwards."""

import numpy as np
import pytest

from penlight.kernels import executable, native
from penlight.kernels.random import integers, normal, twister, uniform
from penlight.kernels.random.engine import _LARGE_PIECE, BLOCK, PIECE, Engine, unit53

pytestmark = pytest.mark.skipif(not executable.compiles(), reason="no machine code runs here")
SINGLE, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
DRAWS = {
    "random32": lambda e, n: e.random32(n),
    "random64": lambda e, n: e.random64(n),
    "rand": lambda e, n: uniform.uniform(e, (n,), SINGLE),
    "rand in double": lambda e, n: uniform.uniform(e, (n,), DOUBLE, -1.0, 3.0),
    "randn": lambda e, n: normal.normal(e, (n,), SINGLE),
    "bernoulli": lambda e, n: uniform.bernoulli(e, 0.3, (n,), SINGLE),
    "never": lambda e, n: uniform.bernoulli(e, 0.0, (n,), SINGLE),
    "always": lambda e, n: uniform.bernoulli(e, 1.0, (n,), SINGLE),
    "bernoulli of bools": lambda e, n: uniform.bernoulli(e, 0.3, (n,), np.dtype(bool)),
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
    monkeypatch.setattr(executable, "compiles", lambda: False)
    if before:
        plain.raw(before)
    np.testing.assert_array_equal(made, DRAWS[what](plain, count))
    np.testing.assert_array_equal(machine.get_state(), plain.get_state())
    np.testing.assert_array_equal(machine.raw(2000), plain.raw(2000))


MIXED = {
    **DRAWS,
    "raw": lambda e, n: e.raw(n),
    "randn in double": lambda e, n: normal.normal(e, (n,), DOUBLE, 1.0, 0.3),
    "randn not contiguous": lambda e, n: normal.normal(e, (n,), SINGLE, contiguous=False),
    "randint": lambda e, n: integers.randint(e, (n,), 3, 100, np.dtype(np.int64)),
    "bernoulli of each": lambda e, n: uniform.bernoulli_each(e, np.linspace(0, 1, n, dtype=SINGLE), SINGLE),
}
SIZES = (1, 16, 255, 257, 300, 607, BLOCK - 1, BLOCK, BLOCK + 1, 1000, 2 * BLOCK, 4 * BLOCK + 1)


@pytest.mark.parametrize("seed", range(12))
def test_draws_of_all_kinds(seed, monkeypatch):
    """Draws of all kinds and sizes one after the other, and the state after each."""
    choose = np.random.default_rng(seed)
    calls = [(str(choose.choice(list(MIXED))), int(choose.choice(SIZES))) for _ in range(60)]
    machine, plain = Engine(seed), Engine(seed)
    made = [(MIXED[what](machine, n).copy(), machine.get_state()) for what, n in calls]
    monkeypatch.setattr(native, "available", lambda: False)
    monkeypatch.setattr(executable, "compiles", lambda: False)
    for (what, n), (samples, state) in zip(calls, made, strict=True):
        np.testing.assert_array_equal(samples, MIXED[what](plain, n), err_msg=f"{what} of {n}")
        np.testing.assert_array_equal(state, plain.get_state())


@pytest.mark.parametrize("before", [0, 1, 300, 1000, 5000])
def test_going_back(before):
    engine = Engine(5)
    if before:
        engine.random32(before)
    expected = engine.clone().random32(9000)
    mark = engine.mark()
    for used in (1, 700, 2000):
        for _ in range(7):
            engine.random32(1000)
        engine.go_back(mark, used)
        np.testing.assert_array_equal(engine.clone().random32(1000), expected[used : used + 1000])
        np.testing.assert_array_equal(engine.random32(1000), expected[used : used + 1000])


def test_seeding_starts_again():
    engine = Engine(5)
    first = engine.random32(1000)
    engine.random32(1000)
    np.testing.assert_array_equal(engine.manual_seed(5).random32(1000), first)
    state = engine.get_state()
    following = engine.random32(1000)
    np.testing.assert_array_equal(engine.set_state(state).random32(1000), following)


def test_a_state_that_was_set(monkeypatch):
    first = Engine(3)
    first.random32(100_000)
    second = Engine().set_state(first.get_state())
    made = second.random32(50_000)
    monkeypatch.setattr(native, "available", lambda: False)
    monkeypatch.setattr(executable, "compiles", lambda: False)
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
    value = 5 << 32 | 5
    for bound, below in ((value, False), (value + 1, True)):
        drawn = unit53(words) < bound * 2.0**-53
        np.testing.assert_array_equal(drawn[: count // 2], below)
        np.testing.assert_array_equal(drawn[count // 2 : count], False)


def test_wrong_arrays_are_refused():
    words = np.zeros(624, np.uint32)
    for out in (np.empty(623, np.uint32), np.empty(624, np.int64), np.empty(1248, np.uint32)[::2]):
        with pytest.raises(ValueError, match="whole blocks"):
            twister.draw(words.copy(), 1, out)
