"""Programs written for PyTorch train to PyTorch's losses, which are recorded: see tests/_programs.py."""

from __future__ import annotations

import json

import pytest

from ._programs import CHAOTIC, GROUPS, RECORDED, check


@pytest.mark.parametrize("group", range(len(GROUPS)))
def test_losses_are_those_of_pytorch(group):
    recorded = json.loads(RECORDED.read_text())
    calm = [name for name in GROUPS[group] if name not in CHAOTIC]
    chaotic = [name for name in GROUPS[group] if name in CHAOTIC]
    wrong = check(calm, "float32", recorded["float32"]) + check(chaotic, "float64", recorded["float64"])
    assert not wrong, "\n".join(wrong)
