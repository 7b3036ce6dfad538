"""The Box-Muller transform as a kernel of the compiler. The formulas are in box_muller.py; a fused multiply-add is one instruction here."""

from __future__ import annotations

from ..compiler import values
from ..compiler.rows import Rows
from .box_muller import samples


def box_muller(b: Rows) -> None:
    """Rows of 16 samples: eight for radii and eight for angles; called with eight columns."""
    radii, angles = b.split(2)

    def body() -> None:
        first, second = samples(values, radii.load(), angles.load())
        radii.store(first)
        angles.store(second)

    b.each(body)
