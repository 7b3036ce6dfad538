"""Sums down columns (the same in NumPy: `column_sum` in kernels/rows.py; other folds: folding.py), and triangles of matrices."""

from __future__ import annotations

from ..compiler.rows import Rows
from ..compiler.values import greater, only, without


def column_sums(b: Rows) -> None:
    """The sum of each column. See Note [Sums over rows]."""
    x, out = b.array(), b.sums()
    b.each(lambda: out.add(x.load()), unroll=4)


def triangle(b: Rows, lower: bool, kind: str) -> None:
    """Each row up to its last place, or from behind that on, with zeros elsewhere; the second array has the numbers of the columns."""
    x, columns, last, out = b.array(kind=kind), b.array(width=0, kind=kind), b.per_row(), b.array(kind=kind)
    end = last.get()
    part = without if lower else only
    b.each(lambda: out.store(part(greater(columns.load(), end), x.load())), unroll=2)
