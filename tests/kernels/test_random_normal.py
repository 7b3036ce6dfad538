"""Normal samples by machine code and by NumPy: the same digits."""

from __future__ import annotations

import numpy as np
import pytest

import penlight as torch
from penlight.kernels import executable, native
from penlight.kernels.random import box_muller

pytestmark = pytest.mark.skipif(not native.available(), reason="native kernels do not run on this machine")


@pytest.mark.parametrize("blocks", [1, 3, 100, 40_000])
def test_the_same_digits(blocks, monkeypatch):
    words = np.random.default_rng(0).integers(0, 1 << 24, 16 * blocks)
    words[:16], words[-16:] = 0, np.linspace(0, (1 << 24) - 1, 16)
    machine = (words * 2.0**-24).astype(np.float32)
    plain = machine.copy()
    assert box_muller._natively(machine)
    monkeypatch.setattr(box_muller, "_natively", lambda u: False)
    with np.errstate(invalid="ignore"):
        box_muller.box_muller32(plain)
    np.testing.assert_array_equal(machine.view(np.int32), plain.view(np.int32))


@pytest.mark.parametrize("size", [17, 96, 1024, 1025, 5000, 100_003])
def test_randn_both_ways(size, monkeypatch):
    torch.manual_seed(3)
    machine = torch.randn(size)
    monkeypatch.setattr(native, "available", lambda: False)
    monkeypatch.setattr(executable, "compiles", lambda: False)
    monkeypatch.setattr(box_muller, "_natively", lambda u: False)
    torch.manual_seed(3)
    assert torch.equal(machine, torch.randn(size))
