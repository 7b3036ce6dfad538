"""The rows of attention's scores in float64, as loops in machine code: what kernels/attention/rows.py does in float32. See Note [Compiled loops]."""

from __future__ import annotations

import math
from math import inf

from ..native.loops import Floats


def attend(
    begin: int, end: int, scores: Floats, logs: Floats, columns: int, rows: int, scale: float, *, causal: bool
) -> None:
    """Rows of scores become probabilities; the logs of the sums of their exponentials. A row that may look at nothing gives 0."""
    for row in range(begin, end):
        start = row * columns
        stop = start + columns
        if causal:
            stop = start + min(columns, row % rows + 1)
        top = -inf
        for i in range(start, stop):
            value = scores[i] * scale
            top = value if value != value else max(top, value)
        if top == -inf:
            logs[row] = -inf
            for i in range(start, start + columns):
                scores[i] = 0.0
            continue
        total = 0.0
        for i in range(start, stop):
            value = math.exp(scores[i] * scale - top)
            total += value
            scores[i] = value
        logs[row] = math.log(total) + top
        for i in range(start, stop):
            scores[i] /= total
        for i in range(stop, start + columns):
            scores[i] = 0.0


def attend_backward(begin: int, end: int, slopes: Floats, probabilities: Floats, columns: int, scale: float) -> None:
    """The gradients of probabilities become those of the scores."""
    for row in range(begin, end):
        start = row * columns
        total = 0.0
        for i in range(start, start + columns):
            total += slopes[i] * probabilities[i]
        for i in range(start, start + columns):
            slopes[i] = (slopes[i] - total) * probabilities[i] * scale
