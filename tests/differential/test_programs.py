"""Random programs agree with PyTorch, statement by statement.

One run covers PENLIGHT_PROGRAMS programs (1,000 unless told otherwise) in slices; seeds are fixed, so a failure can be repeated.
"""

from __future__ import annotations

import os

import pytest

import penlight

from . import programs

COUNT = int(os.environ.get("PENLIGHT_PROGRAMS", "1000"))
SLICES = 20


@pytest.mark.parity
@pytest.mark.parametrize("part", range(SLICES))
def test_programs_agree(part: int) -> None:
    torch = pytest.importorskip("torch")
    for seed in range(part, COUNT, SLICES):
        wrong = programs.compare(torch, penlight, seed)
        assert wrong is None, wrong


def test_a_program_agrees_with_itself() -> None:
    """The comparison itself: a library never disagrees with itself, whatever the program."""
    for seed in range(30):
        wrong = programs.compare(penlight, penlight, seed)
        assert wrong is None, wrong


def test_disagreement_is_seen() -> None:
    """The comparison notices a wrong value, version and gradient."""
    for change in ("v0 = v0 + 1", "v0.zero_()", "v0.grad = v0.detach() * 3"):
        a, b = programs.Side(penlight), programs.Side(penlight)
        for side in (a, b):
            side.run("v0 = t.tensor([1.0, 2.0]).requires_grad_().detach()")
        b.run(change)
        assert programs.disagreement(a, b) is not None
