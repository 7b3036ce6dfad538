"""Running maxima and minima with their positions (cummax, cummin) as compiled loops, see Note [Compiled loops] in compiler/loops.py. The same in
NumPy: __init__.py.

An element that is at least as good as the best so far, or NaN, takes its place; nothing but NaN takes the place of NaN.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..compiler.loops import Elements, Ints, compile_loops
from ..waiting_threads import over

_GRAIN = 1 << 14  # elements that are worth waking a thread for
_SERVED = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64))


def _is_better(value: Any, best: Any, largest: bool) -> Any:
    return (value >= best if largest else value <= best) or value != value


def _along_rows(
    begin: int, end: int, x: Elements, values: Elements, indices: Ints, length: int, *, largest: bool
) -> None:
    for row in range(begin, end):
        best, position = x[row * length], 0
        for i in range(length):
            value = x[row * length + i]
            is_better = _is_better(value, best, largest)
            best, position = value if is_better else best, i if is_better else position
            values[row * length + i] = best
            indices[row * length + i] = position


def _down_columns(
    begin: int, end: int, x: Elements, values: Elements, indices: Ints, best: Elements, positions: Ints, length: int, columns: int,
    *, largest: bool,
) -> None:  # fmt: skip
    """Of matrices; the range is over these. `best` and `positions` are rows that all rows of a matrix share."""
    for matrix in range(begin, end):
        first, top = matrix * length * columns, matrix * columns
        for c in range(columns):
            best[top + c] = x[first + c]
        for c in range(columns):
            positions[top + c] = 0
        for i in range(length):
            row = first + i * columns
            for c in range(columns):
                value, old, position = x[row + c], best[top + c], positions[top + c]
                is_better = _is_better(value, old, largest)
                new, now = value if is_better else old, i if is_better else position
                best[top + c] = new
                positions[top + c] = now
                values[row + c] = new
                indices[row + c] = now


def run(x: np.ndarray, dim: int, largest: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """(values, indices) of a contiguous array; None if there is no machine code for it."""
    columns = prod(x.shape[dim + 1 :])
    loops = _along_rows if columns == 1 else _down_columns
    compiled = compile_loops(loops, x.dtype, largest=largest) if x.dtype in _SERVED and x.size else None
    if compiled is None:
        return None
    length = x.shape[dim]
    count, grain = x.size // (length * columns), -(-_GRAIN // (length * columns))
    if columns == 1:
        return over(compiled, count, grain, x, x.shape, x.shape, length)  # type: ignore[no-any-return]
    scratch = (count * columns,)
    return over(compiled, count, grain, x, x.shape, x.shape, scratch, scratch, length, columns)[:2]  # type: ignore[no-any-return]
