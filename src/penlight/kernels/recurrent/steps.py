"""The loop over the steps of a segment: each is a product with the recurrent weights and one call of a step's kernel.

In machine code all steps are one call (Note [Tables of calls] in assembly/calls.py). If the weights have too few columns for the native
product, or states are projected, or NumPy runs, Python loops over the steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..assembly.calls import Call, Counting, Moving, repeat
from ..assembly.packed_product import WIDTH, panels, products
from ..linalg.blas import multiply
from ..parallel import native_thread_count
from .segments import Array, Segment
from .strategies import LEAST_ROWS, LEAST_SHARED


class Weights:
    """The matrix (inner, columns) that multiplies the states or slopes of the steps. `at_once`: all steps are one call, if there
    are enough columns."""

    def __init__(self, weight: Array, by_machine: bool, at_once: bool = True) -> None:
        at_once = by_machine and at_once and weight.shape[1] >= WIDTH and weight.dtype == np.float32
        self.arranged = panels(weight) if at_once else None
        self.plain = weight if at_once else np.ascontiguousarray(weight)
        # np.dot is faster than np.matmul, but does not multiply NaN with a single zero.
        self.multiply: Any = multiply if by_machine else np.matmul if 1 in weight.shape else np.dot


# The arrays of a step's kernel for some rows of the batch; one may be the previous state, which comes first.
Operands = Callable[[Any, slice], list[Any]]
_ALL = slice(None)


def _shares(part: Segment, weights: Weights) -> list[slice]:
    """The ranges of batch rows that threads take through all steps: two shares per thread, if there are enough rows."""
    count = 1
    if part.steps * part.batch * weights.plain.size >= LEAST_SHARED:
        count = max(1, min(native_thread_count(), part.batch // LEAST_ROWS))
        if 1 < count <= part.batch // (4 * LEAST_ROWS):
            count *= 2
    return [slice(part.batch * i // count, part.batch * (i + 1) // count) for i in range(count)]


def forwards(
    part: Segment, weights: Weights, run: Any, first: Array, fresh: Array, out: Array, width: int, operands: Operands,
    projection: tuple[Array, Array] | None = None,
) -> None:  # fmt: skip
    """Run all steps of a segment, and write the states into `out`. With a projection, the kernel writes to its first array, and
    the states are projections of that."""
    n, low, each = part.batch, part.first(), part.advance()
    if weights.arranged is None:
        state = first
        for following in out:
            weights.multiply(state, weights.plain, fresh)
            run(low, low + n, width, *operands(state, _ALL))
            if projection is not None:
                raw, matrix = projection
                multiply(raw[low : low + n], matrix, following)
            state = following
            low += each
        return
    arranged, rows = weights.arranged, _shares(part, weights)

    def calls(at: int, some: slice) -> list[Call]:
        bounds, started = (
            (Counting(at + some.start, each), Counting(at + some.stop, each)),
            Moving(out[0][some], out.strides[0]),
        )
        return [*products(started, arranged, fresh[some]), (run, [*bounds, width, *operands(started, some)])]

    # The first step starts from a separate state, usually zeros, whose product need not be computed.
    if first.any():
        repeat(1, products(first, arranged, fresh))
    else:
        fresh.fill(0)
    run(low, low + n, width, *operands(first, _ALL))
    repeat(len(out) - 1, *[calls(low + each, some) for some in rows])


def backwards(
    part: Segment, weights: Weights, run: Any, slopes: Array, result: Array, width: int, operands: Operands,
    prepare: Callable[[slice], None] | None = None,
) -> None:  # fmt: skip
    """Run all steps of a segment from the last to the first: compute their `slopes`, and write the products of these into
    `result` in turn. `prepare` is called with the rows of each step before it."""
    n, each = part.batch, -part.advance()
    low = part.first() - each * (part.steps - 1)
    if weights.arranged is None:
        for slope in list(slopes)[::-1]:
            if prepare is not None:
                prepare(slice(low, low + n))
            run(low, low + n, width, *operands(slope, _ALL))
            weights.multiply(slope, weights.plain, result)
            low += each
        return
    arranged = weights.arranged

    def calls(some: slice) -> list[Call]:
        bounds = Counting(low + some.start, each), Counting(low + some.stop, each)
        last = Moving(slopes[-1][some], -slopes.strides[0])
        return [(run, [*bounds, width, *operands(last, some)]), *products(last, arranged, result[some])]

    repeat(part.steps, *[calls(some) for some in _shares(part, weights)])
