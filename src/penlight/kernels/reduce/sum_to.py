"""Sums of what an elementwise function gives, without writing that down first: the gradients of operands that were broadcast.

The gradient of a column `c` in `x * c` is the sum along each row of `grad * x`, and that of a row the sum of all rows: one pass over two
arrays. A sum along a row is one in float32 with four times eight parts; for sums of rows see Note [Sums over rows] in compiler/rows.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import native
from ..compiler.rows import Rows
from ..compiler.trace import placed_element
from ..compiler.values import Value
from ..native import Kernel, operands, traced
from ..native.layout import Layout
from ..rows import GROUP
from .strategies import MOST_SINGLE

_FLOAT = np.dtype(np.float32)


class _Plan(NamedTuple):
    kernel: Kernel
    layout: Layout
    widened: tuple[int, ...]
    down: bool  # rows are summed up; else along each row
    grain: int  # rows that a thread takes at least


_plans: dict[Any, _Plan | None] = {}


def run(steps: Any, values: tuple[Any, ...], shape: tuple[int, ...]) -> np.ndarray | None:
    """What a program, a ufunc or a function gives for these values, summed to a shape; None if there is no machine code for that."""
    if not native.available():
        return None
    sorted_out = operands.sort_out(steps, values)
    if sorted_out is None:
        return None
    key, arrays, numbers = sorted_out
    try:
        plan = _plans[key, shape]
    except KeyError:
        if len(_plans) >= operands.MOST_PLANS:
            _plans.clear()
        plan = _plans[key, shape] = _plan(steps, values, arrays, len(numbers), shape)
    except TypeError:
        return None
    if plan is None:
        return None
    kernel, layout, widened, down, grain = plan
    table = layout.table()
    rows, columns = len(table), layout.columns
    out = native.sums((rows, columns)) if down else np.empty(rows, _FLOAT)
    arrays = operands.widened(arrays, widened)
    kernel.over(rows, grain, columns, *arrays, out, table, *numbers)
    return (native.summed(out) if down else out).reshape(shape)


def _plan(
    steps: Any, values: tuple[Any, ...], arrays: list[np.ndarray], numbers: int, shape: tuple[int, ...]
) -> _Plan | None:
    if not arrays or any(a.dtype != _FLOAT for a in arrays):
        return None
    whole = np.broadcast_shapes(*[a.shape for a in arrays])
    cut = _cut(whole, shape)
    if cut is None:
        return None
    at, down = cut
    kinds: list[Any] = ["float32"] * len(arrays)
    found = operands.placed(arrays, kinds, None, at)
    if found is None or not (down or found[0].columns <= MOST_SINGLE):
        return None
    layout, widened, kinds = found
    body = operands.body_of(steps, values, len(arrays))
    kernel = traced.kernel_of(_define_sums, body, (*kinds, "result float32"), numbers, down=down)
    if kernel is None or kernel.partial:
        return None
    grain = max(GROUP if down else 1, traced.grain_of(kernel) // layout.columns)
    return _Plan(kernel, layout, widened, down, grain)


def _cut(whole: tuple[int, ...], shape: tuple[int, ...]) -> tuple[int, bool] | None:
    """(first dimension of a row, whether rows are summed up) if a sum to `shape` is over the first dimensions, or the last."""
    padded = (1,) * (len(whole) - len(shape)) + shape
    summed = [i for i, (n, m) in enumerate(zip(whole, padded)) if n != m]
    kept = [i for i, (n, m) in enumerate(zip(whole, padded)) if n == m != 1]
    if not summed or not kept:
        return None
    if summed[-1] < kept[0]:
        return kept[0], True
    return (summed[0], False) if kept[-1] < summed[0] else None


def _define_sums(b: Rows, body: Callable[..., Any], arrays: tuple[str, ...], numbers: int, down: bool) -> None:
    element, result = placed_element(b, body, arrays, numbers), b.sums() if down else b.per_row()

    def value() -> Value:
        return element().value

    if down:
        b.each(lambda: result.add(value()))
    else:
        result.put(b.total(value, unroll=4))
