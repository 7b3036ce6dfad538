"""Random programs on large arrays: machine code and threads against plain NumPy in one thread, and both against PyTorch.

PENLIGHT_PROGRAMS says how many, ten times over, as in test_programs.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

import penlight
from tests.machine_code import without_machine_code

from . import large

COUNT = int(os.environ.get("PENLIGHT_PROGRAMS", "1000")) // 10
SLICES = 5


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = penlight.get_num_threads()
    penlight.set_num_threads(2)
    yield
    penlight.set_num_threads(before)


class PlainSide(large.LargeSide):
    """A side that computes without machine code."""

    def run(self, statement: str) -> str:
        with without_machine_code():
            return super().run(statement)


@pytest.mark.parametrize("part", range(SLICES))
def test_machine_code_agrees_with_numpy(part: int) -> None:
    for seed in range(part, COUNT, SLICES):
        wrong = large.compare(PlainSide(penlight), large.LargeSide(penlight), seed)
        assert wrong is None, wrong


@pytest.mark.parity
@pytest.mark.parametrize("side", [large.LargeSide, PlainSide])
@pytest.mark.parametrize("part", range(SLICES))
def test_both_agree_with_pytorch(part: int, side: Any) -> None:
    torch = pytest.importorskip("torch")
    for seed in range(COUNT + part, 2 * COUNT, SLICES):
        wrong = large.compare(large.LargeSide(torch), side(penlight), seed)
        assert wrong is None, wrong


def test_a_wrong_block_is_seen() -> None:
    """The comparison notices what a mistake in one thread's part would do, and passes over a few elements."""
    for changed, expected in ((slice(0, 600), False), (slice(0, 20), True)):
        a, b = large.LargeSide(penlight), large.LargeSide(penlight)
        for side in (a, b):
            side.run("v0 = leaf(1, (130, 517), 'float32')")
        b.names["v0"].numpy().reshape(-1)[changed] += 1
        assert large.close(a.names["v0"], b.names["v0"]) is expected
