"""The orthogonal polynomials of torch.special; the degree `n` is an array too, element by element.

Note [Orthogonal polynomials]
The degree is truncated to an integer; where it is negative or not finite, the result is zero. Each family is a three-term
recurrence, run for all elements at once in their own dtype. The elements are sorted by degree first, so that step k works
on the tail of the arrays, of degree k and more, and what is done stays in front. Overflow ends in NaN, as in torch.
Inside (-1, 1) the Chebyshev polynomials of higher degree are trigonometric functions of n acos(x), in float64.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .silence import silent
from .special_common import Array, is_half

First = Callable[[Array], Array]  # x -> value at degree 1
Step = Callable[[int, Array, Array, Array], Array]  # (k, x, value at k, value at k - 1) -> value at k + 1


def _flat(x: Array, n: Array) -> tuple[Array, Array, Array]:
    """x and the integer degree, flat and of the common shape, and a result of that shape, zero so far."""
    dtype = np.result_type(x, n)
    x, n = np.broadcast_arrays(x.astype(dtype, copy=False), n)
    exact = n.reshape(-1).astype(np.float64)
    degree = np.where(np.isfinite(exact), np.clip(np.trunc(exact), -1.0, 2.0**62), -1.0).astype(np.int64)
    return x.reshape(-1), degree, np.zeros(x.shape, dtype)


def _recurrence(x: Array, degree: Array, first: First, step: Step) -> Array:
    """The polynomials of the given degrees, none negative."""
    uniform = degree.min() == degree.max()
    order = slice(None) if uniform else np.argsort(degree, kind="stable")
    x, degree = x[order], degree[order]
    values = np.ones_like(x)
    begin, k = int(np.searchsorted(degree, 1)), 1
    previous, current = values[begin:].copy(), first(x[begin:])
    while begin < x.size:
        end = int(np.searchsorted(degree, k + 1))
        done = end - begin
        values[begin:end] = current[:done]
        begin, previous, current = end, previous[done:], current[done:]
        if k % 64 == 0 and np.isnan(current).all():
            values[begin:] = np.nan
            break
        previous, current = current, step(k, x[begin:], current, previous)
        k += 1
    result = np.empty_like(values)
    result[order] = values
    return result


def _polynomial(x: Array, n: Array, first: First, step: Step) -> Array:
    if is_half(np.result_type(x, n)):
        return _polynomial(x.astype(np.float32), n.astype(np.float32), first, step).astype(np.result_type(x, n))
    y, degree, out = _flat(x, n)
    index = (degree >= 0).nonzero()[0]
    if index.size:
        with silent():
            out.reshape(-1)[index] = _recurrence(y.take(index), degree.take(index), first, step)
    return out


def hermite_polynomial_h(x: Array, n: Array) -> Array:
    """The physicists' Hermite polynomial. Derivative in x: 2 n H(x, n - 1); torch has none for this family."""
    return _polynomial(x, n, lambda x: x + x, lambda k, x, q, p: (x + x) * q - (k + k) * p)


def hermite_polynomial_he(x: Array, n: Array) -> Array:
    """The probabilists' Hermite polynomial. Derivative in x: n He(x, n - 1)."""
    return _polynomial(x, n, lambda x: x.copy(), lambda k, x, q, p: x * q - k * p)


def laguerre_polynomial_l(x: Array, n: Array) -> Array:
    """The Laguerre polynomial. Derivative in x: n (L(x, n) - L(x, n - 1)) / x."""
    return _polynomial(x, n, lambda x: 1.0 - x, lambda k, x, q, p: ((k + k + (1.0 - x)) * q - k * p) / (k + 1))


def legendre_polynomial_p(x: Array, n: Array) -> Array:
    """The Legendre polynomial. Derivative in x: n (x P(x, n) - P(x, n - 1)) / (x**2 - 1)."""
    return _polynomial(x, n, lambda x: x.copy(), lambda k, x, q, p: ((k + k + 1) * x * q - k * p) / (k + 1))


# For each kind of Chebyshev polynomial: the value at degree 1; with t = acos(x), the closed form; its values at x = 1 and,
# but for the sign (-1)**n, at x = -1.
_CHEBYSHEV: dict[str, tuple[First, Callable[[Array, Array], Array], First, First]] = {
    "t": (lambda x: x.copy(), lambda n, t: np.cos(n * t), np.ones_like, np.ones_like),
    "u": (lambda x: x + x, lambda n, t: np.sin((n + 1.0) * t) / np.sin(t), lambda n: n + 1, lambda n: n + 1),
    "v": (
        lambda x: x + x - 1.0,
        lambda n, t: np.cos((n + 0.5) * t) / np.cos(0.5 * t),
        np.ones_like,
        lambda n: n + n + 1,
    ),
    "w": (
        lambda x: x + x + 1.0,
        lambda n, t: np.sin((n + 0.5) * t) / np.sin(0.5 * t),
        lambda n: n + n + 1,
        np.ones_like,
    ),
}


def _chebyshev(kind: str, x: Array, n: Array, limit: int, shifted: bool = False) -> Array:
    """`limit` is the highest degree for which torch runs the recurrence inside (-1, 1)."""
    dtype = np.result_type(x, n)
    if is_half(dtype):
        return _chebyshev(kind, x.astype(np.float32), n.astype(np.float32), limit, shifted).astype(dtype)
    first, closed, at_one, at_minus_one = _CHEBYSHEV[kind]
    given, degree, out = _flat(x, n)
    target = out.reshape(-1)
    with silent():
        y = given + given - 1.0 if shifted else given
        valid, size = degree >= 0, np.abs(y)
        inside = valid & (size < 1.0) & (degree > limit)
        for mask, function in ((valid & (y == 1.0), at_one), (valid & (y == -1.0), at_minus_one)):
            index = mask.nonzero()[0]
            target[index] = function(degree.take(index))
        index = (valid & (y == -1.0) & (degree % 2 == 1)).nonzero()[0]
        target[index] = -target[index]
        index = inside.nonzero()[0]
        if index.size:
            exact = given.take(index).astype(np.float64)
            angle = np.arccos(exact + exact - 1.0 if shifted else exact)
            target[index] = closed(degree.take(index), angle)
        index = (valid & ~inside & (size != 1.0)).nonzero()[0]
        if index.size:
            target[index] = _recurrence(y.take(index), degree.take(index), first, lambda k, x, q, p: (x + x) * q - p)
    return out


def chebyshev_polynomial_t(x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the first kind, cos(n t) at x = cos(t). Derivative in x: n U(x, n - 1)."""
    return _chebyshev("t", x, n, 6)


def chebyshev_polynomial_u(x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the second kind, sin((n + 1) t) / sin(t) at x = cos(t)."""
    return _chebyshev("u", x, n, 8)


def chebyshev_polynomial_v(x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the third kind, cos((n + 1/2) t) / cos(t / 2) at x = cos(t)."""
    return _chebyshev("v", x, n, 8)


def chebyshev_polynomial_w(x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the fourth kind, sin((n + 1/2) t) / sin(t / 2) at x = cos(t)."""
    return _chebyshev("w", x, n, 8)


def shifted_chebyshev_polynomial_t(x: Array, n: Array) -> Array:
    """chebyshev_polynomial_t at 2 x - 1."""
    return _chebyshev("t", x, n, 6, shifted=True)


def shifted_chebyshev_polynomial_u(x: Array, n: Array) -> Array:
    """chebyshev_polynomial_u at 2 x - 1."""
    return _chebyshev("u", x, n, 6, shifted=True)


def shifted_chebyshev_polynomial_v(x: Array, n: Array) -> Array:
    """chebyshev_polynomial_v at 2 x - 1."""
    return _chebyshev("v", x, n, 6, shifted=True)


def shifted_chebyshev_polynomial_w(x: Array, n: Array) -> Array:
    """chebyshev_polynomial_w at 2 x - 1."""
    return _chebyshev("w", x, n, 6, shifted=True)
