"""NumPy's generators are handed on from engines that are gone: what was drawn before must not matter."""

from __future__ import annotations

from penlight.kernels.random import engine
from penlight.kernels.random.engine import Engine


def test_a_handed_on_generator_starts_anew():
    expected = Engine(7).random32(700).tolist()
    used = Engine(3)
    used.random32(900)
    bits = used._bits
    del used
    assert bits in engine._spare
    again = Engine(7)
    assert again.random32(700).tolist() == expected and again._bits is bits
    other = Engine(7)
    other.random32(1)
    assert other._bits is not bits and again.random32(5).tolist() == Engine(7).random32(705).tolist()[700:]


def test_no_more_are_kept_than_are_worth_it():
    engines = [Engine(i) for i in range(20)]
    for one in engines:
        one.random32(1)
    del engines, one
    assert len(engine._spare) <= engine._KEPT
