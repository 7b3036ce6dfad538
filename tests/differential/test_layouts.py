"""Single ops on operands of every size and layout, compared with PyTorch. PENLIGHT_LAYOUTS sets how many (1,200)."""

import os
import warnings

import pytest

import penlight

from .layouts import disagreement

pytestmark = pytest.mark.parity
torch = pytest.importorskip("torch")

COUNT = int(os.environ.get("PENLIGHT_LAYOUTS", "1200"))
PARTS = 6


@pytest.mark.parametrize("part", range(PARTS))
def test_both_libraries_agree(part):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [disagreement(penlight, torch, seed) for seed in range(part, COUNT, PARTS)]
    found = [f for f in found if f]
    assert not found, "\n".join(found)
