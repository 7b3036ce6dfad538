"""Elementary functions done with care: sigmoids and their logarithms, exp2, sinc, entropy and x log(y).

See Note [How the special functions are evaluated] in `special_common`.
"""

from __future__ import annotations

import math

import numpy as np

from ..elementwise import Elementwise
from ..numpy_warnings import silent
from .common import Array, as_it_is, is_half, piecewise, rational, unary
from .strategies import FEW

# fmt: off
# log(1 + e) / e in e on [0, 1]; NumPy's log1p takes five to ten times as long
_LOG1P_P = (
    0.014157045098369542, 4.36238530298608, 88.4957370347436, 559.8124010040641, 1469.7022541346512,
    1680.756933347586, 692.1641240008533,
)
_LOG1P_Q = (
    31.82158189451956, 297.6928466453064, 1183.44062210822, 2252.400377142449, 2026.8389953479998,
    692.1641240008533,
)
_LOG1P32_P = (-0.0074003725, 0.13353135, 2.2484949, 3.095312)
_LOG1P32_Q = (3.7961407, 3.0953124)
# fmt: on


def expit(x: Array) -> Array:
    """The logistic sigmoid 1 / (1 + exp(-x)), real or complex. Derivative: expit(x) (1 - expit(x))."""
    return unary(_expit, x)


def _expit(x: Array, out: Array) -> None:
    np.negative(x, out)
    np.exp(out, out)  # infinity, where it overflows, has the right reciprocal
    out += 1.0
    np.divide(1.0, out, out)


def logit(x: Array, eps: float | None = None) -> Array:
    """log(x / (1 - x)), with x clamped to [eps, 1 - eps] if eps >= 0. Derivative: 1 / (x (1 - x)), 0 where clamped."""
    if is_half(x.dtype):
        return logit(x.astype(np.float32), eps).astype(x.dtype)
    low = high = None
    if eps is not None and eps >= 0.0:
        least = x.dtype.type(eps)
        low, high = float(least), float(1 - least)

    def kernel(x: Array, out: Array) -> None:
        if low is not None and high is not None:
            x = np.where(x < low, low, np.minimum(x, high))
        # near 1/2 the quotient is near one: 2x - 1 is exact there, and its logarithm loses nothing
        near = (x > 0.25) & (x < 0.75)
        piecewise(x, out, (~near, _log_odds), (near, _log_odds_near_half))

    result = as_it_is(kernel, x) if x.dtype == np.float32 else None
    return (
        unary(_logit32 if x.dtype == np.float32 and low is None else kernel, x, wide=True) if result is None else result
    )


def _logit32(x: Array, out: Array) -> None:
    """In float64 the quotient has digits enough also where it is near one."""
    rest = 1.0 - x
    np.divide(x, rest, rest)
    np.log(rest, out)


def _log_odds(x: Array) -> Array:
    return np.log(x / (1.0 - x))


def _log_odds_near_half(x: Array) -> Array:
    return np.log1p((2.0 * x - 1.0) / (1.0 - x))


def log_sigmoid(x: Array) -> Array:
    """log(expit(x)), finite for every finite x. Derivative: expit(-x)."""
    return unary(_log_sigmoid, x)


def _log_sigmoid(x: Array, out: Array) -> None:
    x.clip(-np.inf, 0.0, out=out)  # twice as fast as np.minimum
    out -= _log1p_exp_less_abs(x)


def softplus(x: Array, beta: float = 1.0, threshold: float = 20.0) -> Array:
    """log(1 + exp(beta x)) / beta, and x itself where beta x > threshold. Derivative: expit(beta x), or 1."""

    def kernel(x: Array, out: Array) -> None:
        z = np.multiply(x, beta)
        z.clip(0.0, np.inf, out=out)
        out += _log1p_exp_less_abs(z)
        out /= beta
        linear = z > threshold
        if linear.any():
            np.copyto(out, x, where=linear)

    return unary(kernel, x)


def _log1p_exp_less_abs(x: Array) -> Array:
    """log(1 + exp(-|x|))."""
    e = np.abs(x)
    np.negative(e, e)
    np.exp(e, e)
    if type(x) is np.ndarray and x.size <= FEW:
        return np.log1p(e, e)
    p, q = (_LOG1P32_P, _LOG1P32_Q) if x.dtype == np.float32 else (_LOG1P_P, _LOG1P_Q)
    e *= rational(p, q, e)
    return e


def exp2(x: Array) -> Array:
    """Two to the power x, real or complex. Derivative: exp2(x) log(2)."""
    return unary(_exp2, x)


def _exp2(x: Array, out: Array) -> None:
    if x.dtype.kind == "c":
        np.exp(x * math.log(2.0), out)
    else:
        np.exp2(x, out)


def logaddexp2(x: Array, y: Array) -> Array:
    """log2(2**x + 2**y). Derivative in x: 1 / (1 + exp2(y - x))."""
    dtype = np.result_type(x, y)
    with silent():
        if is_half(dtype):
            return np.asarray(np.logaddexp2(x.astype(np.float32), y.astype(np.float32), order="C")).astype(dtype)
        return np.asarray(np.logaddexp2(x, y, order="C"))


def sinc(x: Array) -> Array:
    """sin(pi x) / (pi x), real or complex, 1 at zero. Derivative: (cos(pi x) - sinc(x)) / x, 0 at zero.

    As in torch, pi x is rounded before its sine is taken, so integers do not give exactly zero.
    """
    return unary(_sinc, x, machine=x.dtype.char == "d")


def _sinc(x: Array, out: Array) -> None:
    product = x * np.pi
    out[...] = np.where(x == 0.0, 1.0, np.sin(product) / product)


def entr(x: Array) -> Array:
    """-x log(x), 0 at zero and -inf below. Derivative: -log(x) - 1."""
    return _entr(x)  # type: ignore[no-any-return]


@Elementwise
def _entr(x: Array, out: Array) -> None:
    value = np.where(x == 0.0, 0.0, -(np.log(x) * x))
    out[...] = np.where(x < 0.0, -np.inf, value)


def xlogy(x: Array, y: Array) -> Array:
    """x log(y), and 0 where x is zero unless y is NaN. Derivatives: log(y) (0 for x = 0, y <= 0), and x / y."""
    return _x_times(np.log, x, y)


def xlog1py(x: Array, y: Array) -> Array:
    """x log(1 + y), and 0 where x is zero unless y is NaN. Derivatives: log1p(y) (0 for x = 0, y <= -1), x / (y + 1)."""
    return _x_times(np.log1p, x, y)


@Elementwise
def _x_times_log(x: Array, y: Array, out: Array) -> None:
    out[...] = np.where((x == 0.0) & ~np.isnan(y), 0.0, x * np.log(y))


@Elementwise
def _x_times_log1p(x: Array, y: Array, out: Array) -> None:
    out[...] = np.where((x == 0.0) & ~np.isnan(y), 0.0, x * np.log1p(y))


def _x_times(function: np.ufunc, x: Array, y: Array) -> Array:
    if x.dtype == y.dtype and x.shape == y.shape:
        return (_x_times_log if function is np.log else _x_times_log1p)(x, y)
    dtype = np.result_type(x, y)
    if is_half(dtype):
        return _x_times(function, x.astype(np.float32), y.astype(np.float32)).astype(dtype)
    with silent():
        out = np.asarray(np.multiply(x, function(y), order="C"))
    zero = x == 0.0
    if zero.any():
        np.copyto(out, 0.0, where=zero & ~np.isnan(y))
    return out
