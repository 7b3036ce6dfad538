"""Vectorised gamma, Poisson and binomial samples in NumPy, used without machine code. Draws and digits equal those of rejection.py.

Each function takes rows of parameters and an array of draws. It makes samples for the first rows, as many as the draws suffice for, and writes
the number of samples and of draws used to `state` (see `samples` in rejection.py). If it returns False, Python makes the samples one by one.
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
# A trial of a gamma sample takes a normal and a uniform number. Two trials take four draws: a pair for two normal numbers, then two uniform numbers.
# So NumPy computes many trials before their samples are known. With y = 1 + x / sqrt(9 d), the bound on log(u) increases with d: its derivative,
# 1 - y**3 + 3 log(y) - 3/2 (y - 1) (1/y - y**2), is 0 at y = 1, decreases below and increases above. So a trial accepted with the smallest d is accepted
# for every sample. Python decides the other trials, about one in twenty, with the d of their sample. If y <= 0, the trial takes no uniform number, and
# the trials after it are computed again. For shapes below 1 each sample starts with an extra draw, so each rejection would shift the rest: Python makes these.

_LEAST_SHAPE, _MOST_SHAPE = 2.0 / 3.0 - 1e-6, 1e5  # range of d; outside, the bound's rounding error exceeds the margin
_MARGIN = 1e-9


def gammas(rows: np.ndarray, draws: np.ndarray, out: np.ndarray, state: np.ndarray) -> bool:
    """Gamma samples with shapes >= 1."""
    d = rows[: draws.size // 2 + 1, 3]  # each sample takes at least two draws
    if rows[: d.size, 1].any() or not (d.min() >= _LEAST_SHAPE and d.max() <= _MOST_SHAPE):
        return False
    at, row, kept, least = 0, 0, state.item(0), d.min().item()
    while row < d.size:
        early = 1 if kept == kept else 0  # the first trial uses the kept normal number
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
        # Draws used: 4 for two trials, 3 for one, 2 for a normal number without a trial.
        normals, trials = end + shifted - early, max(end - early, 0)
        at += min(end, early) + (normals + 1) // 2 * 2 + trials
        kept = x.item(end + shifted) if normals % 2 else math.nan
    state[:] = kept, row, at
    return True


# Note [Samples of equal parameters]
# If all parameters are equal, a trial does not depend on which sample it is for. In Hoermann's method each trial takes two draws, so all trials are computed
# together, and the accepted ones are the samples. For small means a sample counts the waiting times, one draw each, until their sum reaches a limit;
# a cumulative sum gives the count for every possible first draw. NumPy's logarithms may differ from the C library's in the last digit: if that could change
# a sample, Python makes the samples one by one.

_MOST = 2.0**38  # the largest rate or count whose cumulative sums are accurate enough
_CLOSE = 1e-7  # a bound on the rounding error of cumulative sums and logarithms


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
    ends = np.arange(1, most + 2)  # the end of a sample that begins at each draw; the last entry is a sentinel
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
    """Integers up to `most` by Hoermann's transformed rejection. For us < `steep`, v > us is rejected; otherwise `bound` limits log(v)."""
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
