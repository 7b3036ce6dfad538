"""Elementary functions done with care: logit, sinc, entropy and x log(y).

See Note [How the special functions are evaluated] in special/common.py.
"""

from __future__ import annotations

import numpy as np

from ..elementwise import Elementwise
from ..numpy_warnings import silent
from .common import Array, as_it_is, is_half, piecewise, unary


def logit_bounds(eps: float, dtype: np.dtype) -> tuple[float, float]:
    """eps and 1 - eps as numbers of a dtype."""
    low = float(np.float64(eps).astype(dtype))
    return low, float(np.float64(1 - low).astype(dtype))


def logit(x: Array, eps: float | None = None) -> Array:
    """log(x / (1 - x)), with x clamped to [eps, 1 - eps] if eps >= 0. Derivative: 1 / (x (1 - x)), 0 where clamped."""
    low, high = (None, None) if eps is None or eps < 0.0 else logit_bounds(eps, x.dtype)
    return _logit(x.astype(np.float32), low, high).astype(x.dtype) if is_half(x.dtype) else _logit(x, low, high)


def _logit(x: Array, low: float | None, high: float | None) -> Array:
    def kernel(x: Array, out: Array) -> None:
        if low is not None and high is not None:
            x = np.where(x < low, low, np.minimum(x, high))
        # near 1/2 the quotient is near one: 2x - 1 is exact there, and its logarithm loses nothing
        near = (x > 0.25) & (x < 0.75)
        far = lambda v: np.log(v / (1.0 - v))
        piecewise(x, out, (~near, far), (near, lambda v: np.log1p((2.0 * v - 1.0) / (1.0 - v))))

    result = as_it_is(kernel, x) if x.dtype == np.float32 else None
    return (
        unary(_logit32 if x.dtype == np.float32 and low is None else kernel, x, wide=True) if result is None else result
    )


def _logit32(x: Array, out: Array) -> None:
    """In float64 the quotient has digits enough also where it is near one."""
    rest = 1.0 - x
    np.divide(x, rest, rest)
    np.log(rest, out)


def sinc(x: Array) -> Array:
    """sin(pi x) / (pi x), real or complex, 1 at zero. Derivative: (cos(pi x) - sinc(x)) / x, 0 at zero.

    As in torch, pi x is rounded before its sine is taken, so integers do not give exactly zero.
    """
    return unary(_sinc, x, machine=x.dtype.char == "d")


def _sinc(x: Array, out: Array) -> None:
    product = x * np.pi
    out[...] = np.where(x == 0.0, 1.0, np.sin(product) / product)


@Elementwise
def entr(x: Array, out: Array) -> None:
    """-x log(x), 0 at zero and -inf below. Derivative: -log(x) - 1."""
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
