"""Every program gives with Penlight what it gave with PyTorch, as recorded; the parity tests ask PyTorch itself.

`RECORD=1 pytest tests/func/test_programs.py` records anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import penlight

from .outcomes import outcome, same_outcome
from .programs_more import PROGRAMS

RECORDED = Path(__file__).with_name("recorded.json")


@pytest.fixture(scope="module")
def recorded():
    if os.environ.get("RECORD"):
        import torch

        found = {name: outcome(torch, program) for name, program in PROGRAMS.items()}
        RECORDED.write_text(json.dumps(found, indent=None, separators=(",", ":")).replace('},"', '},\n"') + "\n")
    return json.loads(RECORDED.read_text())


@pytest.mark.parametrize("name", PROGRAMS)
def test_as_recorded(name, recorded):
    assert same_outcome(json.loads(json.dumps(outcome(penlight, PROGRAMS[name]))), recorded[name]) is None


@pytest.mark.parity
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_pytorch(name):
    torch = pytest.importorskip("torch")
    assert same_outcome(outcome(penlight, PROGRAMS[name]), outcome(torch, PROGRAMS[name])) is None
