"""The fixture by which tests of nn compare Penlight with PyTorch, live or as recorded.

`RECORD=1 pytest tests/nn` makes recorded.json anew; that needs PyTorch.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from nn_parity import brief, compare, observe

import penlight

RECORDED = Path(__file__).with_name("recorded.json")
recording: dict[str, object] = {}


@pytest.fixture(scope="session")
def recorded():
    if os.environ.get("RECORD"):
        yield recording
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(recording[name])}" for name in sorted(recording))
        RECORDED.write_text("{\n" + lines + "\n}\n")
    else:
        yield json.loads(RECORDED.read_text())


@pytest.fixture(params=["recorded", pytest.param("live", marks=pytest.mark.parity)])
def works(request, recorded):
    """Checks that a function of the library, which must not raise, does with Penlight what it does with PyTorch."""
    name = request.node.name.replace("recorded-", "").replace("[recorded]", "")

    def live(function, rtol=1e-5, atol=1e-6):
        torch = pytest.importorskip("torch")
        pytest.importorskip("torch.nn.utils.prune")  # PyTorch does not import it by itself
        expected = observe(function, torch)
        assert "error" not in expected, expected
        compare(observe(function, penlight), expected, rtol, atol)

    def from_record(function, rtol=1e-5, atol=1e-6):
        if recorded is recording:
            torch = pytest.importorskip("torch")
            pytest.importorskip("torch.nn.utils.prune")
            recording[name] = brief(observe(function, torch))
        else:
            # A sum over many elements is less exact than each of them.
            compare(brief(observe(function, penlight)), recorded[name], 10 * rtol + 1e-6, 10 * atol + 1e-6)

    return live if request.param == "live" else from_record
