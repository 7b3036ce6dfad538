"""Sobol sequences, with PyTorch 2.13.0's numbers."""

from __future__ import annotations

import pytest

import penlight as torch

pytest.importorskip("scipy")


def test_plain():
    engine = torch.quasirandom.SobolEngine(3)
    assert repr(engine) == "SobolEngine(dimension=3)"
    assert engine.draw(4).tolist() == [[0, 0, 0], [0.5, 0.5, 0.5], [0.75, 0.25, 0.25], [0.25, 0.75, 0.75]]
    assert engine.draw(1, dtype=torch.float64).tolist() == [[0.375, 0.375, 0.625]]
    assert engine.reset().fast_forward(4).draw().tolist() == [[0.375, 0.375, 0.625]]
    assert engine.fast_forward(3).draw().tolist() == [[0.1875, 0.3125, 0.9375]]


def test_scrambled():
    engine = torch.quasirandom.SobolEngine(5, scramble=True, seed=7)
    expected = [
        [0.1995, 0.1709, 0.7494, 0.1843, 0.5505],
        [0.7324, 0.8607, 0.2074, 0.8068, 0.1510],
        [0.8502, 0.4206, 0.9000, 0.3733, 0.3176],
        [0.3172, 0.6101, 0.4244, 0.7429, 0.9806],
    ]
    torch.testing.assert_close(engine.draw(4), torch.tensor(expected), atol=1e-4, rtol=0)
    assert engine.shift.tolist() == [214182645, 183537049, 804615878, 197905403, 591118964]


def test_refusals():
    engine = torch.quasirandom.SobolEngine(2)
    engine.draw_base2(3)
    with pytest.raises(ValueError, match=r"n=8\+2\*\*2=12"):
        engine.draw_base2(2)
    with pytest.raises(ValueError, match=r"\[1, 21201\]"):
        torch.quasirandom.SobolEngine(0)
