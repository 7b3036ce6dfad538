"""Gamma, Poisson and binomial samples, many at a time, for where no machine code runs: the same draws and digits as one by one (`rejection.py`).

Each function takes rows of parameters, which may be more than are needed, and draws. It makes samples as far as the draws go and says in `state` how many,
and how many draws they took (see `samples` in rejection.py), or returns False: Python then makes them one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ..numpy_warnings import silent
from . import LEAST_AT_ONCE, MOST_AT_ONCE, rejection
from .normal import libm
from .rejection import is_accepted

# Note [Trials at once]
# A trial of a gamma sample takes a normal and a uniform number. Two trials take four draws: two make the normal numbers, then there is a uniform number for
# each. So NumPy makes many trials before it is known which sample each is for. With y = 1 + x / sqrt(9 d), the bound of log(u) grows with d: its derivative,
# 1 - y**3 + 3 log(y) - 3/2 (y - 1) (1/y - y**2), is 0 at y = 1, falls below and rises above. A trial that the smallest d accepts is therefore accepted
# whichever sample it is for; Python judges the others, one in twenty, each with the d of its sample. Where y <= 0 no uniform number is taken, and the trials
# that follow are made again from there. Samples that begin with a draw of their own, those of shapes below 1, are shifted at each rejected trial: they go one by one.

_LEAST_SHAPE, _MOST_SHAPE = 2.0 / 3.0 - 1e-6, 1e5  # of d; beyond, the bound is rounded by more than the margin
_MARGIN = 1e-9


def gammas(rows: np.ndarray, draws: np.ndarray, out: np.ndarray, state: np.ndarray) -> bool:
    """Gamma samples of shapes from 1 on."""
    d = rows[: draws.size // 2 + 1, 3]  # each sample takes two draws or more
    if rows[: d.size, 1].any() or not (d.min() >= _LEAST_SHAPE and d.max() <= _MOST_SHAPE):
        return False
    at, row, kept, least = 0, 0, state.item(0), d.min().item()
    while row < d.size:
        early = 1 if kept == kept else 0  # a trial whose normal number is there already
        rest = draws[at + early : at + early + MOST_AT_ONCE]
        end = early + rest.size // 4 * 2 + rest.size % 4 // 3
        if not end or at == draws.size:
            break
        fours = np.zeros((-(-rest.size // 4), 4))
        fours.reshape(-1)[: rest.size] = rest
        angle, radius = fours[:, 0] * (2.0 * math.pi), -fours[:, 1]
        radius = np.sqrt(-2.0 * libm("log1p")(radius, radius))
        x = np.full(early + 2 * len(fours), kept)
        x[early::2] = radius * libm("cos")(angle, np.empty_like(angle))
        x[early + 1 :: 2] = radius * libm("sin")(angle, np.empty_like(angle))
        u = 1.0 - np.concatenate((draws[at : at + early], fours[:, 2:].reshape(-1)))[:end]
        v = (1.0 + (1.0 / math.sqrt(9.0 * least)) * x[:end]) ** 3
        with silent():
            sure = np.log(u) < 0.5 * x[:end] ** 2 + least * (1.0 - v + np.log(v)) - _MARGIN
        rejected: list[int] = []
        shifted = 0
        for trial in (~sure).nonzero()[0].tolist():
            i = row + trial - len(rejected)
            if i >= d.size:
                break
            y = 1.0 + (1.0 / math.sqrt(9.0 * d.item(i))) * x.item(trial)
            if y <= 0:
                end, shifted = trial, 1
                break
            if not is_accepted(x.item(trial), y * y * y, u.item(trial), d.item(i)):
                rejected.append(trial)
        accepted = np.delete(np.arange(end), rejected)[: d.size - row]
        part = d[row : row + accepted.size]
        y = 1.0 + (1.0 / np.sqrt(9.0 * part)) * x[accepted]
        out[row : row + accepted.size] = part * (y * y * y)
        row += accepted.size
        if row == d.size:
            end, shifted = int(accepted[-1]) + 1, 0
        # The draws of what is over: 4 of each two trials, 3 of one, 2 of a normal number without a trial.
        normals, trials = end + shifted - early, max(end - early, 0)
        at += min(end, early) + (normals + 1) // 2 * 2 + trials
        kept = x.item(end + shifted) if normals % 2 else math.nan
    state[:] = kept, row, at
    return True


# Note [Samples of equal parameters]
# Where all parameters are equal, what a trial gives does not depend on the sample that it is for. By Hoermann's method each trial takes two draws, so all are made
# at once, and the accepted ones are the samples. Small samples count how many waiting times, each made of a draw, it takes to reach a limit: a running sum
# tells that for a sample that would begin at any draw. NumPy's logarithms may differ from the C library's in the last digit: where that could change a sample,
# the samples are made one by one.

_MOST = 2.0**38  # of rates and counts: beyond, running sums would be rounded
_CLOSE = 1e-7  # what the rounding of a running sum and of logarithms stays below


def poissons(rows: np.ndarray, draws: np.ndarray, out: np.ndarray, state: np.ndarray) -> bool:
    """Poisson samples of one rate."""
    rate = rows.item(0)
    if draws.size < LEAST_AT_ONCE or not 0 < rate < _MOST or (rows != rate).any():
        return False
    with silent():
        if rate < 10:
            return _waiting(np.minimum(-np.log(draws), rate + 1), rate, _CLOSE, out[: len(rows)], state)
        constants, bound = rejection.poisson_constants(rate), partial(rejection.poisson_bound, rate=rate)
        return _accepted(draws, constants, (rate, 0.43), math.inf, 0.013, bound, out[: len(rows)], state)


def binomials(rows: np.ndarray, draws: np.ndarray, out: np.ndarray, state: np.ndarray) -> bool:
    """Binomial samples of one count and probability."""
    count, prob, rare, mean, std, odds, mode = rows[0].tolist()
    if draws.size < LEAST_AT_ONCE or not (0 < prob < 1 and 0 < count < _MOST) or (rows != rows[0]).any():
        return False
    out = out[: len(rows)]
    with silent():
        if mean < 10:
            waits = np.log(draws) / math.log1p(-rare)
            if (np.abs(waits - np.rint(waits)) < 1e-14 * waits).any():
                return False
            done = _waiting(np.minimum(np.ceil(waits), count + 1), count + 0.5, 0.0, out, state)
        else:
            constants = rejection.binomial_constants(rare, std)
            bound = partial(rejection.binomial_bound, count=count, odds=odds, mode=mode)
            done = _accepted(draws, constants, (mean + 0.5, 0.0), count, 0.0, bound, out, state)
    if done and prob > 0.5:
        made = out[: int(state[1])]
        np.subtract(count, made, made)
    return done


def _waiting(waits: np.ndarray, limit: float, close: float, out: np.ndarray, state: np.ndarray) -> bool:
    """Samples that count the draws before their waiting times add up to a limit."""
    most = len(waits)
    sums = np.concatenate(([0.0], np.cumsum(waits)))
    ends = np.arange(1, most + 2)  # of the sample that begins at each draw, and one beyond them all
    for taken in range(1, most + 1):
        goes_on = sums[taken:] - sums[:-taken] < limit
        if not goes_on.any():
            break
        ends[: goes_on.size] += goes_on
    following, at, begins = ends.tolist(), 0, [0]
    for _ in range(out.size):
        at = following[at]
        if at > most:  # too few draws
            break
        begins.append(at)
    first = np.array(begins)
    begin, end = sums[first[:-1]], first[1:]
    if close and (np.minimum(sums[end] - begin - limit, limit - sums[end - 1] + begin) < close).any():
        return False
    out[: end.size] = np.diff(first) - 1
    state[1:] = end.size, begins[-1]
    return True


def _accepted(
    draws: np.ndarray, constants: tuple[float, ...], center: tuple[float, float], most: float, steep: float,
    bound: Callable[[float], float], out: np.ndarray, state: np.ndarray,
) -> bool:  # fmt: skip
    """Samples by Hoermann's transformed rejection, of numbers up to `most`. Below `steep`, v above us is rejected; otherwise its logarithm has a bound."""
    if not draws.all():
        return False
    a, b, v_r, alpha = constants
    u, v = draws[: draws.size // 2 * 2].reshape(-1, 2).T
    u = u - 0.5
    us = 0.5 - np.abs(u)
    k = np.floor((2.0 * a / us + b) * u + center[0] + center[1])
    taken = (us >= 0.07) & (v <= v_r)
    judged = (~taken & (k >= 0) & (k <= most) & ((us >= steep) | (v <= us))).nonzero()[0]
    values, which = np.unique(k[judged], return_inverse=True)
    spare = np.array([bound(value) for value in values.tolist()])[which]
    spare -= np.log(v[judged] * alpha / (a / us[judged] ** 2 + b))
    if (np.abs(spare) < _CLOSE).any():
        return False
    taken[judged[spare > 0]] = True
    trials = taken.nonzero()[0][: out.size]
    out[: trials.size] = k[trials]
    state[1:] = trials.size, 2 * (trials[-1] + 1 if trials.size == out.size else len(u))
    return True


WAYS: dict[Any, Any] = {rejection._gamma: gammas, rejection._poisson: poissons, rejection._binomial: binomials}
