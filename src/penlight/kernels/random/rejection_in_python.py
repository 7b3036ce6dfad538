"""Samples by rejection where no machine code runs.

Note [Samples one after the other]
A sample begins with the draw at which the one before ended, so that NumPy cannot make them all at once. The functions of rejection.py, called for each,
take Python some 5 microseconds. Most samples need only the first few of their lines. Those lines are written out here in loops over many rows, on lists
and without calls; where a sample takes more than that, the function of rejection.py makes it, from the same draws. So both give the same samples and
take the same draws, in a third to three quarters of the time.

A loop gets a piece of the table as a list of columns, the draws with a few zeros behind them, how many draws there are, the place of the next one, and
the normal sample that is kept (NaN if there is none). It appends samples until the rows or the draws are at their end, and returns the next place and
what is kept then. The sample at which the draws end is not made.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

_PIECE = 1024  # rows that become lists at once
_ZEROS = [0.0] * 4  # behind the draws: with a draw that is 0 every loop here ends
_SQUEEZE = float(np.float32(0.0331))
Columns = list[list[float]]
Slow = Callable[[int, int, float], tuple[float, int, float]]  # row, place, kept -> sample, place, kept


def _poisson(
    columns: Columns, draws: list[float], count: int, at: int, kept: float, made: list[float], slow: Slow
) -> tuple[int, float]:
    exp, sqrt, floor = math.exp, math.sqrt, math.floor
    for row, rate in enumerate(columns[0]):
        before = at
        if rate >= 10:
            b = 0.931 + 2.53 * sqrt(rate)
            u = draws[at] - 0.5
            us = 0.5 - abs(u)
            if us >= 0.07 and draws[at + 1] <= 0.9277 - 3.6224 / (b - 2.0):
                value: float = floor((2.0 * (-0.059 + 0.02483 * b) / us + b) * u + rate + 0.43)
                at += 2
            else:
                value, at, kept = slow(row, at, kept)
        elif rate == 0:
            value = 0.0
        else:
            bound = exp(-rate)
            product = draws[at]
            while product > bound:
                at += 1
                product *= draws[at]
            value = at - before
            at += 1
        if at > count:
            return before, kept
        made.append(value)
    return at, kept


def _gamma(
    columns: Columns, draws: list[float], count: int, at: int, kept: float, made: list[float], slow: Slow
) -> tuple[int, float]:
    sqrt, log1p, sin, cos, turn, none = math.sqrt, math.log1p, math.sin, math.cos, 2.0 * math.pi, math.nan
    for row, (alpha, boosted, _, d) in enumerate(zip(*columns)):
        before, kept_before = at, kept
        if boosted or not d > 0 or alpha == 0:
            value, at, kept = slow(row, at, kept)
        else:
            if kept == kept:
                x, kept = kept, none
            else:
                angle = turn * draws[at]
                radius = sqrt(-2.0 * log1p(-draws[at + 1]))
                x, kept = radius * cos(angle), radius * sin(angle)
                at += 2
            y = 1.0 + 1.0 / sqrt(9.0 * d) * x
            xx = x * x
            if y > 0 and 1.0 - draws[at] < 1.0 - _SQUEEZE * xx * xx:
                at += 1
                value = d * (y * y * y)
            else:
                value, at, kept = slow(row, before, kept_before)
        if at > count:
            return before, kept_before
        made.append(value)
    return at, kept


def _binomial(
    columns: Columns, draws: list[float], count: int, at: int, kept: float, made: list[float], slow: Slow
) -> tuple[int, float]:
    log, log1p, ceil, floor, infinity = math.log, math.log1p, math.ceil, math.floor, math.inf
    for row, (trials, prob, rare, mean, std, _, _) in enumerate(zip(*columns)):
        before = at
        if not (trials > 0 and 0 < prob < 1):
            value, at, kept = slow(row, at, kept)
        elif mean < 10:
            scale, waited = log1p(-rare), 0.0
            while waited <= trials:
                u = draws[at]
                waited += ceil(log(u) / scale) if u else infinity
                at += 1
            value = at - before - 1
            value = value if prob <= 0.5 else trials - value
        else:
            b = 1.15 + 2.53 * std
            u = draws[at] - 0.5
            us = 0.5 - abs(u)
            if us >= 0.07 and draws[at + 1] <= 0.92 - 4.2 / b:
                value = floor((2.0 * (-0.0873 + 0.0248 * b + 0.01 * rare) / us + b) * u + (mean + 0.5))
                value = value if prob <= 0.5 else trials - value
                at += 2
            else:
                value, at, kept = slow(row, at, kept)
        if at > count:
            return before, kept
        made.append(value)
    return at, kept


_LOOPS = {"_poisson": _poisson, "_gamma": _gamma, "_binomial": _binomial}


def kernel(sample: Any, width: int, reader: Any) -> Any:
    """A function with the arguments of `samples` in rejection.py, for one of its samplers; None if there is no loop for that.

    `reader` is the class whose objects the sampler reads draws from.
    """
    loop = _LOOPS.get(sample.__name__)
    if loop is None:
        return None

    def run(begin: int, end: int, table: Any, draws: Any, out: Any, state: Any, size: int, count: int) -> None:
        rows, flat = table.reshape(-1), out.reshape(-1)
        given = [*draws.tolist(), *_ZEROS]
        source = reader(given, len(given), count, math.nan)
        numbers = memoryview(rows)
        done, at, kept = begin, 0, state.item(0)
        while done < end:
            first = done

            def slow(row: int, at: int, kept: float, first: int = first) -> tuple[float, int, float]:
                source.next, source.kept = at, kept
                return sample(source, numbers, (first + row) * width), source.next, source.kept

            piece = rows[done * width : min(done + _PIECE, end) * width].reshape(-1, width)
            made: list[float] = []
            at, kept = loop(piece.T.tolist(), given, count, at, kept, made, slow)
            flat[done : done + len(made)] = made
            done += len(made)
            if len(made) < len(piece):
                break
        state[:] = kept, done, at

    return run
