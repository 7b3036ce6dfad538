"""Normal samples from uniform ones. The formulas, and the same in NumPy: kernels/random/box_muller.py.

Here a fused multiply-add is one instruction, as it is in PyTorch's kernel.
"""

from __future__ import annotations

from ..compiler import values
from ..compiler.rows import Rows
from .box_muller import samples


def box_muller(b: Rows) -> None:
    """Rows of 16: eight samples that become radii, and eight that become angles; to be called with eight columns."""
    radii, angles = b.split(2)

    def body() -> None:
        first, second = samples(values, radii.load(), angles.load())
        radii.store(first)
        angles.store(second)

    b.each(body)
