"""Sums along rows and down columns. The same in NumPy: kernels/reduce.py."""

from __future__ import annotations

from ._build import Builder, Value


def row_sums(b: Builder, squared: bool) -> None:
    """The sum of each row, or of its squares."""
    x, out = b.array(), b.per_row()

    def term() -> Value:
        value = x.load()
        return value * value if squared else value

    out.put(b.total(term, unroll=8))


def column_sums(b: Builder) -> None:
    """The sum of each column. See Note [Sums over rows]."""
    x, out = b.array(), b.sums()
    b.each(lambda: out.add(x.load()), unroll=4)
