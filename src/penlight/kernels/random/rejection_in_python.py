"""Samples by rejection where no machine code runs.

Note [Samples one after the other]
A sample begins with the draw at which the one before ended, so that NumPy cannot make them all at once. The functions of rejection.py, called for each,
take Python some 5 microseconds. The loops here do the same on lists and without calls. What depends on the parameters alone, NumPy computes
for many rows before. Both give the same samples and take the same draws.

A loop gets a piece of the table as a list of columns, the draws with a few zeros behind them, how many draws there are, the position of the next one, and
the normal sample that is kept (NaN if there is none). It appends samples until the rows or the draws are at their end, and returns the next position and
what is kept then. The sample at which the draws end is not made.

Where all rows are equal and each attempt takes two draws, it is known beforehand which draws an attempt takes: NumPy makes all attempts at once,
and those that are accepted are the samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..numpy_warnings import silent
from .rejection import STIRLING_REST, stirling_rest

Array = np.ndarray
_PIECE = 1024  # rows that become lists at once
_ZEROS = [0.0] * 4  # behind the draws: an attempt with one of them is not accepted
_SQUEEZE = float(np.float32(0.0331))
Columns = list[list[float]]


def _of_rates(table: Array) -> tuple[Array, ...]:
    """The constants of Hoermann's transformed rejection, which is for rates from ten on."""
    (rate,) = table
    b = 0.931 + 2.53 * np.sqrt(rate)
    a = -0.059 + 0.02483 * b
    return rate, b, a, 0.9277 - 3.6224 / (b - 2.0), np.log(1.1239 + 1.1328 / (b - 3.4)), np.log(rate)


def _poisson(
    columns: Columns, draws: list[float], count: int, at: int, kept: float, made: list[float]
) -> tuple[int, float]:
    exp, log, floor, lgamma = math.exp, math.log, math.floor, math.lgamma
    value: float
    for rate, b, a, v_r, log_inverse_alpha, log_rate in zip(*columns):
        before = at
        if rate >= 10:
            while at <= count:
                u = draws[at] - 0.5
                v = draws[at + 1]
                at += 2
                us = 0.5 - abs(u)
                if us == 0.0:
                    continue
                value = floor((2.0 * a / us + b) * u + rate + 0.43)
                if us >= 0.07 and v <= v_r:
                    break
                if value < 0 or (us < 0.013 and v > us) or v == 0.0:
                    continue
                if log(v) + log_inverse_alpha - log(a / (us * us) + b) <= -rate + value * log_rate - lgamma(value + 1):
                    break
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


def _poisson_attempts(constants: list[float], u: Array, v: Array) -> tuple[Array, Array] | None:
    rate, b, a, v_r, log_inverse_alpha, log_rate = constants
    if not rate >= 10:
        return None
    us = 0.5 - np.abs(u)
    value = np.floor((2.0 * a / us + b) * u + rate + 0.43)
    accepted = (us >= 0.07) & (v <= v_r)
    rest = np.flatnonzero(~accepted & (us > 0) & (value >= 0) & ~((us < 0.013) & (v > us)) & (v > 0))
    k, us = value[rest], us[rest]
    tail = np.log(v[rest]) + log_inverse_alpha - np.log(a / (us * us) + b)
    accepted[rest] = tail <= -rate + k * log_rate - np.array([*map(math.lgamma, (k + 1).tolist())])
    return value, accepted


def _of_shapes(table: Array) -> tuple[Array, ...]:
    alpha, boosted, power, d = table
    return alpha, boosted, power, d, np.where(d > 0, 1.0 / np.sqrt(9.0 * d), np.nan)


def _gamma(
    columns: Columns, draws: list[float], count: int, at: int, kept: float, made: list[float]
) -> tuple[int, float]:
    sqrt, log, log1p, sin, cos, turn, none = (
        math.sqrt,
        math.log,
        math.log1p,
        math.sin,
        math.cos,
        2.0 * math.pi,
        math.nan,
    )
    for alpha, boosted, power, d, c in zip(*columns):
        before, kept_before = at, kept
        value = 0.0
        if alpha != 0:
            value = d
            if boosted:
                value *= (1.0 - draws[at]) ** power
                at += 1
            while at <= count:
                if kept == kept:
                    x, kept = kept, none
                else:
                    angle = turn * draws[at]
                    radius = sqrt(-2.0 * log1p(-draws[at + 1]))
                    x, kept = radius * cos(angle), radius * sin(angle)
                    at += 2
                y = 1.0 + c * x
                if y <= 0:
                    continue
                v = y * y * y
                u = 1.0 - draws[at]
                at += 1
                xx = x * x
                if u < 1.0 - _SQUEEZE * xx * xx or log(u) < 0.5 * xx + d * (1.0 - v + log(v)):
                    value *= v
                    break
        if at > count:
            return before, kept_before
        made.append(value)
    return at, kept


def _of_trials(table: Array) -> tuple[Array, ...]:
    """The constants of BTRS, Hoermann's transformed rejection for means from ten on, and the scale of waiting times."""
    trials, prob, rare, mean, std, odds, mode = table
    b = 1.15 + 2.53 * std
    a = -0.0873 + 0.0248 * b + 0.01 * rare
    return trials, prob, mean, odds, mode, b, a, 0.92 - 4.2 / b, (2.83 + 5.1 / b) * std, np.log1p(-rare)


def _binomial(
    columns: Columns, draws: list[float], count: int, at: int, kept: float, made: list[float]
) -> tuple[int, float]:
    log, ceil, floor, infinity = math.log, math.ceil, math.floor, math.inf
    for trials, prob, mean, odds, mode, b, a, v_r, alpha, scale in zip(*columns):
        before, value = at, 0.0
        if trials <= 0 or prob <= 0:
            pass
        elif not prob < 1:
            value = trials if prob >= 1 else math.nan
        elif mean < 10:
            waited = 0.0
            while waited <= trials:
                u = draws[at]
                waited += ceil(log(u) / scale) if u else infinity
                at += 1
            value = at - before - 1
            value = value if prob <= 0.5 else trials - value
        else:
            while at <= count:
                u = draws[at] - 0.5
                v = draws[at + 1]
                at += 2
                us = 0.5 - abs(u)
                if us == 0.0:
                    continue
                value = floor((2.0 * a / us + b) * u + (mean + 0.5))
                if us >= 0.07 and v <= v_r:
                    break
                if value < 0 or value > trials:
                    continue
                if v == 0.0 or log(v * alpha / (a / (us * us) + b)) <= _log_ratio(
                    value, trials, odds, mode, log, stirling_rest
                ):
                    break
            value = value if prob <= 0.5 else trials - value
        if at > count:
            return before, kept
        made.append(value)
    return at, kept


def _log_ratio(k: Any, trials: float, odds: float, mode: float, log: Any, stirling_rest: Any) -> Any:
    """The logarithm of the probability of k successes over that of the most probable number of them."""
    return (
        (mode + 0.5) * log((mode + 1.0) / (odds * (trials - mode + 1.0)))
        + (trials + 1.0) * log((trials - mode + 1.0) / (trials - k + 1.0))
        + (k + 0.5) * log(odds * (trials - k + 1.0) / (k + 1.0))
        + stirling_rest(mode)
        + stirling_rest(trials - mode)
        - stirling_rest(k)
        - stirling_rest(trials - k)
    )


def _stirling_rests(k: Any) -> Any:
    square = (k + 1.0) * (k + 1.0)
    large = (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1.0)
    return np.where(k <= 9, np.take(STIRLING_REST, np.minimum(k, 9).astype(np.intp)), large)


def _binomial_attempts(constants: list[float], u: Array, v: Array) -> tuple[Array, Array] | None:
    trials, prob, mean, odds, mode, b, a, v_r, alpha, _ = constants
    if not (trials > 0 and 0 < prob < 1 and mean >= 10):
        return None
    us = 0.5 - np.abs(u)
    value = np.floor((2.0 * a / us + b) * u + (mean + 0.5))
    accepted = (us >= 0.07) & (v <= v_r)
    rest = np.flatnonzero(~accepted & (us > 0) & (value >= 0) & (value <= trials))
    us = us[rest]
    tail = np.log(v[rest] * alpha / (a / (us * us) + b))  # -inf where v is 0
    accepted[rest] = tail <= _log_ratio(value[rest], trials, odds, mode, np.log, _stirling_rests)
    return value if prob <= 0.5 else trials - value, accepted


class _Sampler(NamedTuple):
    constants: Callable[[Array], tuple[Array, ...]]  # columns of the table -> columns of the loop
    loop: Callable[..., tuple[int, float]]
    attempts: (
        Callable[..., Any] | None
    )  # constants of a row, u and v -> values and which are accepted; None if an attempt takes no two draws


SAMPLERS = {
    "_poisson": _Sampler(_of_rates, _poisson, _poisson_attempts),
    "_gamma": _Sampler(_of_shapes, _gamma, None),
    "_binomial": _Sampler(_of_trials, _binomial, _binomial_attempts),
}


def kernel(sample: Any, width: int) -> Any:
    """A function with the arguments of `samples` in rejection.py, for one of its samplers; None if there is no loop for that."""
    sampler = SAMPLERS.get(sample.__name__)
    if sampler is None:
        return None

    def run(begin: int, end: int, table: Array, draws: Array, out: Array, state: Array, size: int, count: int) -> None:
        rows, flat = table.reshape(-1, width), out.reshape(-1)
        with silent():
            found = None if sampler.attempts is None else _equal(sampler, rows[begin:end], draws[:count])
            if found is not None:
                values, at = found
                flat[begin : begin + len(values)] = values
                state[1:] = begin + len(values), at
                return
            given = [*draws[:count].tolist(), *_ZEROS]
            done, at, kept = begin, 0, state.item(0)
            while done < end:
                piece = rows[done : min(done + _PIECE, end)]
                made: list[float] = []
                columns = [column.tolist() for column in sampler.constants(piece.T)]
                at, kept = sampler.loop(columns, given, count, at, kept, made)
                flat[done : done + len(made)] = made
                done += len(made)
                if len(made) < len(piece):
                    break
            state[:] = kept, done, at

    return run


def _equal(sampler: _Sampler, rows: Array, draws: Array) -> tuple[Array, int] | None:
    """Samples of equal rows, and how many draws they take; None if the rows are not equal, or attempts do not take two draws each."""
    if not (rows == rows[0]).all():
        return None
    constants = [column.item() for column in sampler.constants(rows[0])]
    u, v = draws[: len(draws) & ~1].reshape(-1, 2).T
    made = sampler.attempts(constants, u - 0.5, v)  # type: ignore[misc]
    if made is None:
        return None
    values, accepted = made
    at = np.flatnonzero(accepted)[: len(rows)]
    return values[at], 2 * (int(at[-1]) + 1) if at.size else 0
