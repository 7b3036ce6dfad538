"""Gamma, Dirichlet, Poisson and binomial samples, with the same draws as PyTorch's CPU kernels.

The number of draws that a sample takes depends on the draws themselves, so each sample starts where the previous one ended. The functions below make
one sample each. The compiler turns them into machine code; without it Python calls them, unless NumPy can make many samples at once (`at_once.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from ..compiler.loops import checked, compile_loops
from ..lazy import lazy_import
from ..numpy_warnings import silent
from . import LEAST_FOR_ALL, MOST_FROM_BLOCK
from .engine import BLOCK, Engine, one_at_a_time
from .uniform import is_floating, narrow, not_implemented, scalar_name, uniform53

_at_once = lazy_import(globals(), "_at_once", ".at_once")

Doubles: TypeAlias = Any  # arrays of float64, or lists
_THIRD = np.float32(1.0) / np.float32(3.0)
_SQUEEZE = float(np.float32(0.0331))


class Reader:
    """Reads uniform and normal samples from an array of draws. `kept` is the unused second sample of a normal pair, or NaN."""

    def __init__(self, draws: Doubles, size: int, count: int, kept: float) -> None:
        self.draws = draws
        self.size = size  # of the array, which is never empty
        self.count = count  # of the draws in it
        self.next = 0
        self.kept = kept

    def is_served(self) -> bool:
        """Whether there were enough draws. If not, the last samples are not random, and the sample being made must be dropped."""
        return self.next <= self.count

    def uniform(self) -> float:
        """The next sample from [0, 1), with 53 bits."""
        self.next += 1
        return self.draws[checked(self.next - 1, self.size)]

    def normal(self) -> float:
        """The next standard normal sample."""
        kept = self.kept
        if kept == kept:
            self.kept = math.nan
            return kept
        angle = 2.0 * math.pi * self.uniform()
        radius = math.sqrt(-2.0 * math.log1p(-self.uniform()))
        self.kept = radius * math.sin(angle)
        return radius * math.cos(angle)


def samples(
    begin: int, end: int, table: Doubles, draws: Doubles, out: Doubles, state: Doubles, size: int, count: int, *, sample: Any, width: int
) -> None:  # fmt: skip
    """Write `sample(reader, table, offset)` for each row of the table, until the draws are used up.

    `state` holds the kept normal sample (before and after), the number of rows done, and the number of draws they took.
    """
    reader = Reader(draws, size, count, state[0])
    row, used, kept = begin, 0, reader.kept
    while row < end:
        at = checked(row, end)
        value = sample(reader, table, at * width)
        if not reader.is_served():
            break
        out[at] = value
        row += 1
        used, kept = reader.next, reader.kept
    state[0] = kept
    state[1] = float(row)
    state[2] = float(used)


SAMPLERS: dict[Any, int] = {}  # the functions that make a sample, and how many parameters a row has for each


def sampler(width: int) -> Callable[[Any], Any]:
    """Register a function that makes a sample from a row of `width` parameters."""

    def mark(function: Any) -> Any:
        SAMPLERS[function] = width
        return function

    return mark


@lru_cache(None)
def _kernel(sample: Any) -> Any:
    """`samples` for one distribution: compiled, or in Python if there is no machine code or no source to compile."""
    width = SAMPLERS[sample]
    compiled = compile_loops(samples, np.dtype(np.float64), sample=sample, width=width)
    if compiled is not None:
        return compiled

    def run(begin: int, end: int, table: Any, draws: Any, out: Any, state: Any, size: int, count: int) -> None:
        if count and _at_once.WAYS[sample](table.reshape(-1, width)[:count], draws[:count], out.reshape(-1), state):
            return
        reader = _Iterated(draws[:count].tolist(), state.item(0))
        rows, made, left, kept = table.reshape(-1), [], count, reader.kept
        try:
            for first in range(begin, end, _ROWS):  # converting all rows at each call would take quadratic time
                part = rows[first * width : min(first + _ROWS, end) * width].tolist()
                for at in range(0, len(part), width):
                    made.append(sample(reader, part, at))
                    left, kept = reader.left(), reader.kept
        except StopIteration:  # the sample being made is dropped
            pass
        out.reshape(-1)[begin : begin + len(made)] = made
        state[:] = kept, begin + len(made), count - left

    return run


_ROWS = 256


class _Iterated(Reader):
    """A reader for Python whose draws come from an iterator that raises at the end: calling it takes a fifth of a method's time."""

    def __init__(self, draws: list[float], kept: float) -> None:
        iterator = iter(draws)
        self.uniform = iterator.__next__  # type: ignore[method-assign]
        self.left = iterator.__length_hint__  # type: ignore[attr-defined]
        self.is_served = True.__bool__  # type: ignore[method-assign]
        self.kept = kept


_EACH, _LARGE_PIECE = 4, 8192


def each(engine: Engine, sample: Callable[..., float], *columns: np.ndarray) -> np.ndarray:
    """A float64 array of `sample` for each row of parameters; `columns` has an array for each parameter."""
    shape = columns[0].shape
    out = np.empty(shape)
    if not out.size:
        return out
    width = len(columns)
    if width == 1:
        table = np.require(columns[0], np.float64, ["C", "A"])  # a memoryview needs it aligned
    else:
        table = np.empty((out.size, width))
        for i, column in enumerate(columns):
            table[:, i] = column.ravel()
    _run(engine, _kernel(sample), table, width, out)
    return out


_NO_DRAWS = np.zeros(1)


@one_at_a_time
def _run(engine: Engine, run: Any, table: np.ndarray, width: int, out: np.ndarray) -> None:
    """Run a kernel over a table with `width` columns, with more draws until all rows are done."""
    left, rows, made = out.size, table, out
    draws = _in_block(engine, left)
    mark: tuple[Any, ...] | None = None  # the position before the latest draws, if they may exceed the block
    made_now = 0
    state = np.zeros(3)
    state[0] = math.nan if engine._normal is None else engine._normal
    while True:
        count = draws.size
        run(0, left, rows, draws if count else _NO_DRAWS, made, state, count or 1, count)
        _, done, used = state.tolist()
        left -= int(done)
        draws = draws[int(used) :]
        if not left:
            break
        rows, made = table.reshape(-1)[-left * width :], out.reshape(-1)[-left:]
        # The remaining draws did not suffice for one sample, so all of them will be used, and at least one fresh draw.
        mark = engine.mark() if left >= LEAST_FOR_ALL else None
        made_now = 1 if mark is None else min(_EACH * left, _LARGE_PIECE)
        fresh = uniform53(engine, (made_now,))
        draws = np.concatenate((draws, fresh, _in_block(engine, left)) if mark is None else (draws, fresh))
    if mark is None:
        engine._next -= 2 * draws.size
    elif draws.size:
        engine.go_back(mark, 2 * (made_now - draws.size))
    normal = state.item(0)
    engine._normal = None if math.isnan(normal) else normal


def _in_block(engine: Engine, samples: int) -> np.ndarray:
    """Draws for a number of samples, as far as the block has them."""
    draws = engine.ahead53(min((BLOCK - engine._next) // 2, MOST_FROM_BLOCK, _EACH * samples))
    assert draws is not None  # because they are in the block
    return draws


def standard_gamma(engine: Engine, alpha: np.ndarray) -> np.ndarray:
    """`torch._standard_gamma`: gamma samples of shape alpha and scale 1.

    >>> standard_gamma(Engine(0), np.array([0.5, 3.0]))
    array([7.89358206e-04, 1.27284342e+00])
    """
    if alpha.dtype not in (np.float32, np.float64):
        raise not_implemented("gamma_cpu", alpha.dtype)
    # The method of Marsaglia and Tsang. Quantities that depend on alpha alone are computed in its dtype.
    boosted = alpha < 1
    with silent():
        power = 1 / alpha
    d = np.where(boosted, alpha + 1, alpha) - alpha.dtype.type(_THIRD)
    samples = narrow(each(engine, _gamma, alpha, boosted, power, d), alpha.dtype)
    tiny = np.finfo(alpha.dtype).tiny
    return np.where(samples > tiny, samples, tiny)  # also for the NaN of an invalid alpha


@sampler(4)
def _gamma(reader: Reader, table: Doubles, at: int) -> float:
    alpha, boosted, power, d = table[at], table[at + 1], table[at + 2], table[at + 3]
    if alpha == 0:
        return 0.0
    scale = _power(1.0 - reader.uniform(), power) if boosted else 1.0
    c = 1.0 / math.sqrt(9.0 * d) if d > 0 else math.nan
    while reader.is_served():
        x = reader.normal()
        y = 1.0 + c * x
        if y <= 0:
            continue
        v = y * y * y
        if is_accepted(x, v, 1.0 - reader.uniform(), d):
            return scale * d * v
    return 0.0


def is_accepted(x: float, v: float, u: float, d: float) -> bool:
    xx = x * x
    return u < 1.0 - _SQUEEZE * xx * xx or math.log(u) < 0.5 * xx + d * (1.0 - v + math.log(v))


def _power(base: float, exponent: float) -> float:
    try:
        return math.pow(base, exponent)
    except OverflowError:
        return math.inf


def dirichlet(engine: Engine, alpha: np.ndarray) -> np.ndarray:
    """`torch._sample_dirichlet`: points of the simplex, along the last axis.

    >>> dirichlet(Engine(0), np.array([1.0, 2.0, 3.0]))
    array([0.5282044 , 0.24112464, 0.23067095])
    """
    if alpha.dtype not in (np.float32, np.float64):
        raise not_implemented("dirichlet", alpha.dtype)
    gamma = standard_gamma(engine, alpha.astype(np.float64))
    share = gamma / (gamma.sum(axis=-1, keepdims=True) if gamma.ndim else gamma)
    one = alpha.dtype.type(1)
    share = narrow(share, alpha.dtype)
    return np.clip(share, np.finfo(alpha.dtype).tiny, np.nextafter(one, -one), out=share)


def poisson(engine: Engine, rate: np.ndarray) -> np.ndarray:
    """`torch.poisson`.

    >>> poisson(Engine(0), np.array([0.5, 4.0, 20.0]))
    array([ 2.,  5., 17.])
    """
    if not is_floating(rate.dtype):
        raise not_implemented("poisson_cpu", rate.dtype)
    rates = rate.astype(np.float64, copy=False)
    if rates.size and not np.minimum.reduce(rates, None) >= 0:  # also refuses NaN
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return narrow(each(engine, _poisson, rates), rate.dtype)


@sampler(1)
def _poisson(reader: Reader, table: Doubles, at: int) -> float:
    rate = table[at]
    if rate >= 10:
        return _poisson_large(reader, rate)
    if rate == 0:
        return 0
    least = math.exp(-rate)
    product = reader.uniform()
    count = 0
    while product > least and reader.is_served():
        count += 1
        product *= reader.uniform()
    return count


def _poisson_large(reader: Reader, rate: float) -> float:
    """Hoermann's transformed rejection, for rates >= 10."""
    a, b, v_r, inverse_alpha = poisson_constants(rate)
    while reader.is_served():
        u = reader.uniform() - 0.5
        v = reader.uniform()
        us = 0.5 - abs(u)
        if us == 0.0:
            continue
        k = (2.0 * a / us + b) * u + rate + 0.43
        if k - k == 0.0:  # finite: not if the rate is infinite
            k = math.floor(k)
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or (us < 0.013 and v > us) or v == 0.0:
            continue
        tail = math.log(v) + math.log(inverse_alpha) - math.log(a / (us * us) + b)
        if tail <= poisson_bound(k, rate):
            return k
    return 0.0


def poisson_constants(rate: float) -> tuple[float, float, float, float]:
    """a, b and v_r of Hoermann's method, and 1 / alpha."""
    b = 0.931 + 2.53 * math.sqrt(rate)
    return -0.059 + 0.02483 * b, b, 0.9277 - 3.6224 / (b - 2.0), 1.1239 + 1.1328 / (b - 3.4)


def poisson_bound(k: float, rate: float) -> float:
    return -rate + k * math.log(rate) - math.lgamma(k + 1)


def binomial(engine: Engine, count: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """`torch.binomial`: successes in `count` trials; count and prob broadcast.

    >>> binomial(Engine(0), np.array([10.0, 100.0]), np.array([0.5, 0.3]))
    array([ 7., 31.])
    """
    if not is_floating(count.dtype):
        raise ValueError("binomial only supports floating-point dtypes for count, got: " + scalar_name(count.dtype))
    if not is_floating(prob.dtype):
        raise ValueError("binomial only supports floating-point dtypes for prob, got: " + scalar_name(prob.dtype))
    if count.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {scalar_name(prob.dtype)} but expected {scalar_name(count.dtype)}")
    if count.dtype.itemsize == 2:
        raise not_implemented("binomial_cpu", count.dtype)
    count, prob = np.broadcast_arrays(count, prob)
    # PyTorch computes these in the dtype, and the rest in double precision.
    flipped = prob > 0.5
    rare = np.where(flipped, 1 - prob, prob)
    mean = count * rare
    with silent():
        columns = (count, prob, rare, mean, np.sqrt(mean * (1 - rare)), rare / (1 - rare), np.floor((count + 1) * rare))
    return narrow(each(engine, _binomial, *columns), count.dtype)


@sampler(7)
def _binomial(reader: Reader, table: Doubles, at: int) -> float:
    count, prob, rare, mean = table[at], table[at + 1], table[at + 2], table[at + 3]
    std, odds, mode = table[at + 4], table[at + 5], table[at + 6]
    if count <= 0 or prob <= 0:
        return 0.0
    if prob >= 1:
        return count
    if math.isnan(prob):
        return math.nan
    if mean < 10:
        successes = _binomial_few(reader, count, rare)
    else:
        successes = _binomial_many(reader, count, rare, mean, std, odds, mode)
    return successes if prob <= 0.5 else count - successes


def _binomial_few(reader: Reader, count: float, prob: float) -> float:
    """Add up the waiting times between successes until they exceed the count."""
    scale = math.log1p(-prob)
    waited, successes = 0.0, 0
    while waited <= count and reader.is_served():
        u = reader.uniform()
        waited += math.ceil(math.log(u) / scale) if u else math.inf
        successes += 1
    return successes - 1


def _binomial_many(
    reader: Reader, count: float, prob: float, mean: float, std: float, odds: float, mode: float
) -> float:
    """Hoermann's transformed rejection (BTRS)."""
    a, b, v_r, alpha = binomial_constants(prob, std)
    c = mean + 0.5
    while reader.is_served():
        u = reader.uniform() - 0.5
        v = reader.uniform()
        us = 0.5 - abs(u)
        if us == 0.0:
            continue
        k = math.floor((2.0 * a / us + b) * u + c)
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or k > count:
            continue
        if v == 0.0 or math.log(v * alpha / (a / (us * us) + b)) <= binomial_bound(k, count, odds, mode):
            return k
    return 0.0


def binomial_constants(prob: float, std: float) -> tuple[float, float, float, float]:
    """a, b, v_r and alpha of Hoermann's method."""
    b = 1.15 + 2.53 * std
    return -0.0873 + 0.0248 * b + 0.01 * prob, b, 0.92 - 4.2 / b, (2.83 + 5.1 / b) * std


def binomial_bound(k: float, count: float, odds: float, mode: float) -> float:
    return (
        (mode + 0.5) * math.log((mode + 1.0) / (odds * (count - mode + 1.0)))
        + (count + 1.0) * math.log((count - mode + 1.0) / (count - k + 1.0))
        + (k + 0.5) * math.log(odds * (count - k + 1.0) / (k + 1.0))
        + stirling_rest(mode)
        + stirling_rest(count - mode)
        - stirling_rest(k)
        - stirling_rest(count - k)
    )


STIRLING_REST = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.02079067210376509,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def stirling_rest(k: float) -> float:
    """The error of Stirling's formula for log k!"""
    if k <= 9:
        return STIRLING_REST[int(k)]
    square = (k + 1.0) * (k + 1.0)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1.0)
