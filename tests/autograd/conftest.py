"""The fixture by which tests of autograd compare Penlight with PyTorch, live or as recorded.

`RECORD=1 pytest tests/autograd` makes recorded.json anew; that needs PyTorch.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from sameness import transcript

import penlight

RECORDED = Path(__file__).with_name("recorded.json")
recording: dict[str, list[str]] = {}


@pytest.fixture(scope="session")
def recorded():
    if os.environ.get("RECORD"):
        recording.update(json.loads(RECORDED.read_text()) if RECORDED.exists() else {})
        yield recording
        RECORDED.write_text(json.dumps(dict(sorted(recording.items())), indent=1) + "\n")
    else:
        yield json.loads(RECORDED.read_text())


@pytest.fixture(params=["recorded", pytest.param("live", marks=pytest.mark.parity)])
def same(request, recorded):
    """Checks that a program `program(torch, say)` says the same with Penlight as with PyTorch."""
    name = f"{request.node.module.__name__} {request.node.name}".replace("[recorded]", "").replace("recorded-", "")

    def check(program):
        if request.param == "live" or recorded is recording:
            torch = pytest.importorskip("torch")
            expected = transcript(program, torch)
            if recorded is recording:
                recording[name] = expected
        else:
            expected = recorded[name]
        assert transcript(program, penlight) == expected

    return check
