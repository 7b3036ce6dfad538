"""The orthogonal polynomials of torch.special; the degree `n` is an array too, element by element.

Note [Orthogonal polynomials]
The degree is truncated to an integer; where it is negative or not finite, the result is zero. Each family is a three-term
recurrence, run for each element as often as its degree says (Note [Elements as lanes] in `lanes`), in the elements' own dtype. Overflow ends in NaN,
as in torch. Inside (-1, 1) the Chebyshev polynomials of higher degree are trigonometric functions of n acos(x), in float64.
"""

from __future__ import annotations

import math

from .lanes import of_numbers, wide
from .special_common import Array


def _has_value(n: float) -> float:
    return 1.0 if -1.0 < n < math.inf else 0.0


def _degree(n: float) -> float:
    return math.floor(n) if n > 0.0 else 0.0


def hermite_polynomial_h(x: Array, n: Array) -> Array:
    """The physicists' Hermite polynomial. Derivative in x: 2 n H(x, n - 1); torch has none for this family."""
    return of_numbers(_hermite_h, x, n, own=True)


def _hermite_h(x: float, n: float) -> float:
    if not _has_value(n):
        return 0.0
    degree, p, q, k = _degree(n), 1.0, x + x, 1.0
    if degree == 0.0:
        return 1.0
    while k < degree and q == q:
        p, q, k = q, (x + x) * q - (k + k) * p, k + 1.0
    return q


def hermite_polynomial_he(x: Array, n: Array) -> Array:
    """The probabilists' Hermite polynomial. Derivative in x: n He(x, n - 1)."""
    return of_numbers(_hermite_he, x, n, own=True)


def _hermite_he(x: float, n: float) -> float:
    if not _has_value(n):
        return 0.0
    degree, p, q, k = _degree(n), 1.0, x, 1.0
    if degree == 0.0:
        return 1.0
    while k < degree and q == q:
        p, q, k = q, x * q - k * p, k + 1.0
    return q


def laguerre_polynomial_l(x: Array, n: Array) -> Array:
    """The Laguerre polynomial. Derivative in x: n (L(x, n) - L(x, n - 1)) / x."""
    return of_numbers(_laguerre, x, n, own=True)


def _laguerre(x: float, n: float) -> float:
    if not _has_value(n):
        return 0.0
    degree, p, q, k = _degree(n), 1.0, 1.0 - x, 1.0
    if degree == 0.0:
        return 1.0
    while k < degree and q == q:
        p, q, k = q, ((k + k + (1.0 - x)) * q - k * p) / (k + 1.0), k + 1.0
    return q


def legendre_polynomial_p(x: Array, n: Array) -> Array:
    """The Legendre polynomial. Derivative in x: n (x P(x, n) - P(x, n - 1)) / (x**2 - 1)."""
    return of_numbers(_legendre, x, n, own=True)


def _legendre(x: float, n: float) -> float:
    if not _has_value(n):
        return 0.0
    degree, p, q, k = _degree(n), 1.0, x, 1.0
    if degree == 0.0:
        return 1.0
    while k < degree and q == q:
        p, q, k = q, ((k + k + 1.0) * x * q - k * p) / (k + 1.0), k + 1.0
    return q


# ----- Chebyshev's --------------------------------------------------------------------------------------------------
# `limit` is the highest degree for which torch runs the recurrence inside (-1, 1). `x` is what was given, twice which less 1 is `y` if it is `shifted`:
# the closed forms take it as it is.


def _chebyshev(x: float, degree: float, first: float) -> float:
    """The recurrence that all kinds share, from the value at degree 1 on."""
    if degree == 0.0:
        return 1.0
    p, q, k = 1.0, first, 1.0
    while k < degree and q == q:
        p, q, k = q, (x + x) * q - p, k + 1.0
    return q


def _with_sign(value: float, degree: float) -> float:
    """The value at -1, whose sign alternates with the degree."""
    return value if math.floor(0.5 * degree) == 0.5 * degree else -value


@wide
def _angle(x: float, shifted: float) -> float:
    return math.acos(x + x - 1.0 if shifted else x)


def _t(y: float, x: float, shifted: float, n: float, limit: float) -> float:
    if not _has_value(n):
        return 0.0
    degree = _degree(n)
    if y == 1.0:
        return 1.0
    if y == -1.0:
        return _with_sign(1.0, degree)
    if abs(y) < 1.0 and degree > limit:
        return _t_closed(x, shifted, degree)
    return _chebyshev(y, degree, y)


@wide
def _t_closed(x: float, shifted: float, degree: float) -> float:
    return math.cos(degree * _angle(x, shifted))


def _u(y: float, x: float, shifted: float, n: float, limit: float) -> float:
    if not _has_value(n):
        return 0.0
    degree = _degree(n)
    if y == 1.0:
        return degree + 1.0
    if y == -1.0:
        return _with_sign(degree + 1.0, degree)
    if abs(y) < 1.0 and degree > limit:
        return _u_closed(x, shifted, degree)
    return _chebyshev(y, degree, y + y)


@wide
def _u_closed(x: float, shifted: float, degree: float) -> float:
    angle = _angle(x, shifted)
    return math.sin((degree + 1.0) * angle) / math.sin(angle)


def _v(y: float, x: float, shifted: float, n: float, limit: float) -> float:
    if not _has_value(n):
        return 0.0
    degree = _degree(n)
    if y == 1.0:
        return 1.0
    if y == -1.0:
        return _with_sign(degree + degree + 1.0, degree)
    if abs(y) < 1.0 and degree > limit:
        return _v_closed(x, shifted, degree)
    return _chebyshev(y, degree, y + y - 1.0)


@wide
def _v_closed(x: float, shifted: float, degree: float) -> float:
    angle = _angle(x, shifted)
    return math.cos((degree + 0.5) * angle) / math.cos(0.5 * angle)


def _w(y: float, x: float, shifted: float, n: float, limit: float) -> float:
    if not _has_value(n):
        return 0.0
    degree = _degree(n)
    if y == 1.0:
        return degree + degree + 1.0
    if y == -1.0:
        return _with_sign(1.0, degree)
    if abs(y) < 1.0 and degree > limit:
        return _w_closed(x, shifted, degree)
    return _chebyshev(y, degree, y + y + 1.0)


@wide
def _w_closed(x: float, shifted: float, degree: float) -> float:
    angle = _angle(x, shifted)
    return math.sin((degree + 0.5) * angle) / math.sin(0.5 * angle)


def chebyshev_polynomial_t(x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the first kind, cos(n t) at x = cos(t). Derivative in x: n U(x, n - 1)."""
    return of_numbers(_first, x, n, own=True)


def _first(x: float, n: float) -> float:
    return _t(x, x, 0.0, n, 6.0)


def chebyshev_polynomial_u(x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the second kind, sin((n + 1) t) / sin(t) at x = cos(t)."""
    return of_numbers(_second, x, n, own=True)


def _second(x: float, n: float) -> float:
    return _u(x, x, 0.0, n, 8.0)


def chebyshev_polynomial_v(x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the third kind, cos((n + 1/2) t) / cos(t / 2) at x = cos(t)."""
    return of_numbers(_third, x, n, own=True)


def _third(x: float, n: float) -> float:
    return _v(x, x, 0.0, n, 8.0)


def chebyshev_polynomial_w(x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the fourth kind, sin((n + 1/2) t) / sin(t / 2) at x = cos(t)."""
    return of_numbers(_fourth, x, n, own=True)


def _fourth(x: float, n: float) -> float:
    return _w(x, x, 0.0, n, 8.0)


def shifted_chebyshev_polynomial_t(x: Array, n: Array) -> Array:
    """chebyshev_polynomial_t at 2 x - 1."""
    return of_numbers(_shifted_first, x, n, own=True)


def _shifted_first(x: float, n: float) -> float:
    return _t(x + x - 1.0, x, 1.0, n, 6.0)


def shifted_chebyshev_polynomial_u(x: Array, n: Array) -> Array:
    """chebyshev_polynomial_u at 2 x - 1."""
    return of_numbers(_shifted_second, x, n, own=True)


def _shifted_second(x: float, n: float) -> float:
    return _u(x + x - 1.0, x, 1.0, n, 6.0)


def shifted_chebyshev_polynomial_v(x: Array, n: Array) -> Array:
    """chebyshev_polynomial_v at 2 x - 1."""
    return of_numbers(_shifted_third, x, n, own=True)


def _shifted_third(x: float, n: float) -> float:
    return _v(x + x - 1.0, x, 1.0, n, 6.0)


def shifted_chebyshev_polynomial_w(x: Array, n: Array) -> Array:
    """chebyshev_polynomial_w at 2 x - 1."""
    return of_numbers(_shifted_fourth, x, n, own=True)


def _shifted_fourth(x: float, n: float) -> float:
    return _w(x + x - 1.0, x, 1.0, n, 6.0)
