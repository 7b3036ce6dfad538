"""Programs written for PyTorch do the same under Penlight: losses step by step, in both precisions, and all else they print."""

from __future__ import annotations

import pytest

from ._programs import CHAOTIC, GROUPS, allowed, different_text, distance, run

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("group", range(len(GROUPS)))
def test_same_as_pytorch(group, precision):
    ours, theirs = (run(GROUPS[group], library, precision) for library in ("penlight", "torch"))
    wrong = []
    for name in GROUPS[group]:
        a, b = ours[name], theirs[name]
        assert not b.error and len(b.losses) == 50, f"{name} under PyTorch: {b.error}"
        off = distance(a.losses, b.losses)
        if a.error or not off <= allowed(name, precision):
            wrong.append(f"{name}: {a.error or f'losses differ by {off:.2g}'}")
        elif (precision == "float64" or name not in CHAOTIC) and (words := different_text(a.text, b.text)):
            wrong.append(f"{name} printed {words}")
    assert not wrong, "\n".join(wrong)
