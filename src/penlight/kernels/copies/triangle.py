"""Triangles of large matrices, by a native kernel: see Note [Native kernels]. The same in NumPy: `tril` and `triu` in numpy_calls.py."""

from __future__ import annotations

from ..compiler.rows import Rows
from ..compiler.values import greater, only, without


def triangle(b: Rows, lower: bool, kind: str) -> None:
    """Each row up to its last column, or from the one behind that on, with zeros elsewhere; the second array has the numbers of the columns."""
    x, columns, last, out = b.array(kind=kind), b.array(width=0, kind=kind), b.per_row(), b.array(kind=kind)
    end = last.get()
    part = without if lower else only
    b.each(lambda: out.store(part(greater(columns.load(), end), x.load())), unroll=2)
