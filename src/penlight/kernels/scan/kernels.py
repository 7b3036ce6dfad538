"""Running sums and products, and running extrema with their positions, as compiled loops: Note [Compiled loops] in compiler/loops.py. The same in
NumPy: __init__.py.

Sums and products are float64, as PyTorch's are. Of extrema, an element that is at least as good as the best so far, or NaN, replaces it; nothing but NaN replaces
NaN.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..compiler.loops import Doubles, Elements, Floats, Ints, compile_loops
from ..waiting_threads import over

_GRAIN = 1 << 14  # elements that are worth waking a thread for
_SERVED = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64))


def _rows(begin: int, end: int, x: Floats, out: Floats, length: int, *, product: bool) -> None:
    for row in range(begin, end):
        so_far = 1.0 if product else 0.0
        for i in range(length):
            value = x[row * length + i]
            so_far = so_far * value if product else so_far + value
            out[row * length + i] = so_far


def _columns(
    begin: int, end: int, x: Floats, out: Floats, so_far: Doubles, length: int, columns: int, *, product: bool
) -> None:
    """Of matrices; the range is over these. `so_far` has a row for each of them."""
    for matrix in range(begin, end):
        first, top = matrix * length * columns, matrix * columns
        for c in range(columns):
            so_far[top + c] = 1.0 if product else 0.0
        for i in range(length):
            row = first + i * columns
            for c in range(columns):
                value = so_far[top + c] * x[row + c] if product else so_far[top + c] + x[row + c]
                so_far[top + c] = value
                out[row + c] = value


def _is_better(value: Any, best: Any, largest: bool) -> Any:
    return (value >= best if largest else value <= best) or value != value


def _extrema_rows(
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


def _extrema_columns(
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


def running_extrema(x: np.ndarray, dim: int, largest: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """(values, indices) of a contiguous array; None if there is no machine code for it."""
    columns = prod(x.shape[dim + 1 :])
    loops = _extrema_rows if columns == 1 else _extrema_columns
    compiled = compile_loops(loops, x.dtype, largest=largest) if x.dtype in _SERVED and x.size else None
    if compiled is None:
        return None
    length = x.shape[dim]
    count, grain = x.size // (length * columns), -(-_GRAIN // (length * columns))
    if columns == 1:
        return over(compiled, count, grain, x, x.shape, x.shape, length)  # type: ignore[no-any-return]
    scratch = (count * columns,)
    return over(compiled, count, grain, x, x.shape, x.shape, scratch, scratch, length, columns)[:2]  # type: ignore[no-any-return]


def running(x: np.ndarray, dim: int, product: bool) -> np.ndarray | None:
    """Running sums or products of a contiguous array of floats; None if there is no machine code for it."""
    columns = prod(x.shape[dim + 1 :])
    compiled = compile_loops(_rows if columns == 1 else _columns, x.dtype, wide=True, product=product)
    if compiled is None or not x.size:
        return None
    length = x.shape[dim]
    count, grain = x.size // (length * columns), -(-_GRAIN // (length * columns))
    if columns == 1:
        return over(compiled, count, grain, x, x.shape, length)  # type: ignore[no-any-return]
    return over(compiled, count, grain, x, x.shape, (count * columns,), length, columns)[0]  # type: ignore[no-any-return]
