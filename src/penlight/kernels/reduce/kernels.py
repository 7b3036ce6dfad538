"""Reductions along rows and columns as compiled loops, see Note [Compiled loops]. compiled.py calls them.

Note [Accurate sums]
A sum of many elements loses digits if they are added one by one. A row is summed in blocks, and in a block each lane of several
vectors has its own sum. Along columns, eight rows are added in pairs before their sum is added to the result. A unit of work has
a limited length, and the units' results are reduced in the same way (Note [Reductions in steps]).
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..compiler.loops import Elements, Results, checked, reassociated
from ..lazy import lazy_import

BLOCK = 1 << 11  # elements

load = lazy_import(globals(), "load", "..compiler.load")


def _itself(x: Any) -> Any:
    return x


def _square(x: Any) -> Any:
    return x * x


def _absolute(x: Any) -> Any:
    return abs(x)


def _not_nan(x: Any) -> Any:
    return 0.0 if x != x else x


def _sum(a: Any, b: Any) -> Any:
    return a + b


def _product(a: Any, b: Any) -> Any:
    return a * b


def _largest(a: Any, b: Any) -> Any:
    return max(a, b)


def _smallest(a: Any, b: Any) -> Any:
    return min(a, b)


def _largest_or_nan(a: Any, b: Any) -> Any:
    return b if b != b else max(a, b)


def _smallest_or_nan(a: Any, b: Any) -> Any:
    return b if b != b else min(a, b)


# A reduction's initial value, its operation along a row, where NaNs are counted separately, and that along columns.
_WAYS: dict[str, tuple[float, Any, Any]] = {
    "sum": (0.0, _sum, _sum),
    "prod": (1.0, _product, _product),
    "max": (-math.inf, _largest, _largest_or_nan),
    "min": (math.inf, _smallest, _smallest_or_nan),
}
_TERMS: dict[str, Any] = {"": _itself, "squares": _square, "absolute": _absolute, "not nan": _not_nan}


def _rows(
    begin: int, end: int, x: Elements, out: Results, rows: int, length: int, stride: int, units: int, size: int,
    *, start: Any, term: Any, combine: Any, split: bool,
) -> None:  # fmt: skip
    """The range is over rows; with `split`, over the units of each row, which have `size` elements."""
    for unit in range(begin, end):
        row, first, last = _unit(unit, rows, length, stride, units, size, split)
        total = start
        if split:
            for low in range(first, last, BLOCK):
                total = combine(total, _reduced(x, row, low, min(last, low + BLOCK), start, term, combine))
        else:
            total = _reduced(x, row, 0, length, start, term, combine)
        out[unit] = total


def _reduced(x: Elements, row: int, first: int, last: int, start: Any, term: Any, combine: Any) -> Any:
    total = start
    for i in reassociated(range(first, last)):
        total = combine(total, term(x[row + i]))
    return total


def _unit(unit: int, rows: int, length: int, stride: int, units: int, size: int, split: bool) -> tuple[int, int, int]:
    """The offset of a unit's row, and the unit's first element and the one past its last in this row."""
    if split:
        return checked(unit // units, rows) * stride, unit % units * size, min(length, unit % units * size + size)
    return unit * stride, 0, length


def _extreme_rows(
    begin: int, end: int, x: Elements, out: Results, rows: int, length: int, stride: int, units: int, size: int,
    *, start: Any, term: Any, combine: Any, split: bool,
) -> None:  # fmt: skip
    """Like `_rows`, for an extremum, which is NaN if there is a NaN."""
    for unit in range(begin, end):
        row, first, last = _unit(unit, rows, length, stride, units, size, split)
        total, nans = start, 0.0
        for i in reassociated(range(first, last)):
            value = term(x[row + i])
            total = combine(total, value)
            nans += 1.0 if value != value else 0.0
        out[unit] = math.nan if nans > 0.0 else total


def _columns(
    begin: int, end: int, x: Elements, out: Results, outer: int, rows: int, columns: int, outer_stride: int, stride: int, units: int, size: int,
    *, start: Any, term: Any, combine: Any, careful: Any, nans: bool, split: bool,
) -> None:  # fmt: skip
    """The range is over `outer` matrices; with `split`, over the units of each, which have `size` rows."""
    for unit in range(begin, end):
        matrix, first, last = _unit(unit, outer, rows, outer_stride, units, size, split)
        for c in range(columns):
            out[unit * columns + c] = start
        for row in range(first, last - 7, 8):
            at = matrix + row * stride
            for c in range(columns):
                t0, t1 = term(x[at + c]), term(x[at + stride + c])
                t2, t3 = term(x[at + 2 * stride + c]), term(x[at + 3 * stride + c])
                t4, t5 = term(x[at + 4 * stride + c]), term(x[at + 5 * stride + c])
                t6, t7 = term(x[at + 6 * stride + c]), term(x[at + 7 * stride + c])
                total = combine(combine(combine(t0, t1), combine(t2, t3)), combine(combine(t4, t5), combine(t6, t7)))
                if nans and (
                    t0 != t0 or t1 != t1 or t2 != t2 or t3 != t3 or t4 != t4 or t5 != t5 or t6 != t6 or t7 != t7
                ):
                    total = math.nan
                out[unit * columns + c] = careful(out[unit * columns + c], total)
        for row in range(first + max(0, last - first) // 8 * 8, last):
            for c in range(columns):
                out[unit * columns + c] = careful(out[unit * columns + c], term(x[matrix + row * stride + c]))


def result_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype to which elements of a dtype are reduced."""
    if dtype.kind in "iu":
        return np.dtype(np.int64)
    return dtype if dtype.itemsize > 2 else np.dtype(np.float32)


def definition(how: str, of: str, along_rows: bool, whole: bool) -> tuple[Any, dict[str, Any]]:
    """The loops of a reduction, and its compile-time arguments. `how` is a key of _WAYS, `of` of _TERMS; integers have only sums."""
    start, plain, careful = _WAYS[how]
    loops = _columns if not along_rows else _rows if plain is careful else _extreme_rows
    known = {"start": 0 if whole else start, "term": _TERMS[of], "combine": plain}
    return loops, known if along_rows else {**known, "careful": careful, "nans": plain is not careful}


@lru_cache(None)
def kernel(dtype: np.dtype[Any], how: str, of: str, along_rows: bool, split: bool) -> Any:
    """The reduction of rows or columns as machine code, or None. With `split` these have several units, or blocks."""
    loops, known = definition(how, of, along_rows, dtype.kind in "iu")
    return load.loops(loops, dtype, split=split, **known)
