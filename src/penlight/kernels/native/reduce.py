"""Sums down columns. The same in NumPy: `column_sum` in kernels/_rowtools.py. Other folds: folding.py."""

from __future__ import annotations

from ._build import Builder


def column_sums(b: Builder) -> None:
    """The sum of each column. See Note [Sums over rows]."""
    x, out = b.array(), b.sums()
    b.each(lambda: out.add(x.load()), unroll=4)
