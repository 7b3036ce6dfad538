"""Sums and other folds along rows, and sums down columns. The same in NumPy: kernels/reduce.py."""

from __future__ import annotations

from collections.abc import Iterable

from ._build import Builder, Value
from ._functions import absolute, is_nan, without

_OPERATIONS = {"sum": "vaddps", "product": "vmulps", "largest": "vmaxps", "smallest": "vminps"}


def row_folds(b: Builder, fold: str, of: str, kind: str) -> None:
    """The sum, product, largest or smallest of each row: of its elements, their squares, their absolute values ("size"), or
    (`of` "numbers") of those that are not NaN, with 0 for the others."""
    x, out = b.array(kind=kind), b.per_row()
    extreme = fold in ("largest", "smallest")

    def terms() -> Iterable[Value]:
        value = x.load()
        if of == "numbers":
            value = without(is_nan(value), value)
        yield value * value if of == "squares" else absolute(value) if of == "size" else value
        if extreme:
            yield is_nan(value)  # the instruction gives the other operand for NaN

    if not extreme:
        out.put(b.folds([_OPERATIONS[fold]], terms, unroll=8)[0])
        return
    best, nan = b.folds([_OPERATIONS[fold], "vorps"], terms, unroll=4)
    out.put(b.emit("vorps", best, nan))  # a mask's bits, all set, are NaN


def column_sums(b: Builder) -> None:
    """The sum of each column. See Note [Sums over rows]."""
    x, out = b.array(), b.sums()
    b.each(lambda: out.add(x.load()), unroll=4)
