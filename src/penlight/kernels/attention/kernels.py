"""The rows of attention's scores in float64: what attention/rows.py does in float32. See Note [Compiled loops]."""

from __future__ import annotations

import math
from math import inf

from ..compiler.loops import Floats


def attend(
    begin: int, end: int, scores: Floats, logs: Floats, columns: int, rows: int, scale: float, *, causal: bool
) -> None:
    """Rows of scores become probabilities; the logs of the sums of their exponentials. A row without a score gives 0."""
    for row in range(begin, end):
        start = row * columns
        count = columns
        if causal:
            count = min(columns, row % rows + 1)
        top = -inf
        for i in range(count):
            value = scores[start + i] * scale
            top = value if value != value else max(top, value)
        if top == -inf:
            logs[row] = -inf
            for i in range(columns):
                scores[start + i] = 0.0
        else:
            total = 0.0
            for i in range(count):
                value = math.exp(scores[start + i] * scale - top)
                total += value
                scores[start + i] = value
            logs[row] = math.log(total) + top
            for i in range(count):
                scores[start + i] /= total
            for i in range(count, columns):
                scores[start + i] = 0.0


def attend_backward(begin: int, end: int, slopes: Floats, probabilities: Floats, columns: int, scale: float) -> None:
    """The gradients of probabilities become those of the scores."""
    for row in range(begin, end):
        start = row * columns
        total = 0.0
        for i in range(columns):
            total += slopes[start + i] * probabilities[start + i]
        for i in range(columns):
            slopes[start + i] = (slopes[start + i] - total) * probabilities[start + i] * scale
