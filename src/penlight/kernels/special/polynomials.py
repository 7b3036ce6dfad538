"""The orthogonal polynomials of torch.special; the degree `n` is an array too, element by element.

Note [Orthogonal polynomials]
The degree is truncated to an integer; where it is negative or not finite, the result is zero. Each family is a three-term
recurrence, run for each element as often as its degree says (Note [Functions of scalars] in `scalars`), in the elements' own dtype. Overflow ends in NaN,
as in torch. For one degree, which is a number or the same for all elements, the recurrence is a kernel of so many steps. Inside (-1, 1) the Chebyshev
polynomials of higher degree are trigonometric functions of n acos(x), in float64.
"""

from __future__ import annotations

import math
from typing import Any

from .. import executable
from ..scalars import apply, elementwise_in_dtype, wide
from .common import Array, as_it_is, unary
from .strategies import MOST_DEGREE


def _has_value(n: float) -> float:
    return 1.0 if -1.0 < n < math.inf else 0.0


def _degree(n: float) -> float:
    return math.floor(n) if n > 0.0 else 0.0


def _polynomial(function: Any, first: Any, following: Any, x: Array, n: Array, most: int = MOST_DEGREE) -> Array:
    """`function` of all elements; of one degree up to `most`, its recurrence from the first degree on is done to vectors of them."""
    in_numpy = executable.backend() is None
    degree = _only_degree(n, most, in_numpy and n.shape == x.shape)
    if not degree or n.dtype != x.dtype or n.ndim > x.ndim:
        return apply(function, x, n)

    def kernel(x: Array, out: Array) -> None:
        p: Any = 1.0
        q = first(x)
        for k in range(1, degree):
            p, q = q, following(float(k), x, q, p)
        out[...] = q

    made = unary(kernel, x) if in_numpy else as_it_is(kernel, x)
    return apply(function, x, n) if made is None else made


def _only_degree(n: Array, most: int, compare: bool) -> int:
    """The degree from 1 to `most` that is given, or that all elements have if they are to be compared; 0 if there is none."""
    if n.size != 1 and not (compare and n.size and n.min() == n.max()):
        return 0
    degree = n.item(0)
    return int(degree) if 1.0 <= degree < most + 1 else 0


def hermite_polynomial_h(x: Array, n: Array) -> Array:
    """The physicists' Hermite polynomial. Derivative in x: 2 n H(x, n - 1); torch has none for this family."""
    return _polynomial(_hermite_h, _hermite_h_first, _hermite_h_next, x, n)


def _hermite_h_first(x: Any) -> Any:
    return x + x


def _hermite_h_next(k: float, x: Any, q: Any, p: Any) -> Any:
    return (x + x) * q - (k + k) * p


@elementwise_in_dtype
def _hermite_h(x: float, n: float) -> float:
    if not _has_value(n):
        return 0.0
    degree, p, q, k = _degree(n), 1.0, _hermite_h_first(x), 1.0
    if degree == 0.0:
        return 1.0
    while k < degree and q == q:
        p, q, k = q, _hermite_h_next(k, x, q, p), k + 1.0
    return q


def hermite_polynomial_he(x: Array, n: Array) -> Array:
    """The probabilists' Hermite polynomial. Derivative in x: n He(x, n - 1)."""
    return _polynomial(_hermite_he, _hermite_he_first, _hermite_he_next, x, n)


def _hermite_he_first(x: Any) -> Any:
    return x


def _hermite_he_next(k: float, x: Any, q: Any, p: Any) -> Any:
    return x * q - k * p


@elementwise_in_dtype
def _hermite_he(x: float, n: float) -> float:
    if not _has_value(n):
        return 0.0
    degree, p, q, k = _degree(n), 1.0, x, 1.0
    if degree == 0.0:
        return 1.0
    while k < degree and q == q:
        p, q, k = q, _hermite_he_next(k, x, q, p), k + 1.0
    return q


def laguerre_polynomial_l(x: Array, n: Array) -> Array:
    """The Laguerre polynomial. Derivative in x: n (L(x, n) - L(x, n - 1)) / x."""
    return _polynomial(_laguerre, _laguerre_first, _laguerre_next, x, n)


def _laguerre_first(x: Any) -> Any:
    return 1.0 - x


def _laguerre_next(k: float, x: Any, q: Any, p: Any) -> Any:
    return ((k + k + (1.0 - x)) * q - k * p) / (k + 1.0)


@elementwise_in_dtype
def _laguerre(x: float, n: float) -> float:
    if not _has_value(n):
        return 0.0
    degree, p, q, k = _degree(n), 1.0, _laguerre_first(x), 1.0
    if degree == 0.0:
        return 1.0
    while k < degree and q == q:
        p, q, k = q, _laguerre_next(k, x, q, p), k + 1.0
    return q


def legendre_polynomial_p(x: Array, n: Array) -> Array:
    """The Legendre polynomial. Derivative in x: n (x P(x, n) - P(x, n - 1)) / (x**2 - 1)."""
    return _polynomial(_legendre, _legendre_first, _legendre_next, x, n)


def _legendre_first(x: Any) -> Any:
    return x


def _legendre_next(k: float, x: Any, q: Any, p: Any) -> Any:
    return ((k + k + 1.0) * x * q - k * p) / (k + 1.0)


@elementwise_in_dtype
def _legendre(x: float, n: float) -> float:
    if not _has_value(n):
        return 0.0
    degree, p, q, k = _degree(n), 1.0, x, 1.0
    if degree == 0.0:
        return 1.0
    while k < degree and q == q:
        p, q, k = q, _legendre_next(k, x, q, p), k + 1.0
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
        p, q, k = q, _chebyshev_next(k, x, q, p), k + 1.0
    return q


def _chebyshev_next(k: float, x: Any, q: Any, p: Any) -> Any:
    return (x + x) * q - p


def _with_sign(value: float, degree: float) -> float:
    """The value at -1, whose sign alternates with the degree."""
    return value if math.floor(0.5 * degree) == 0.5 * degree else -value


@wide
def _angle(x: float, shifted: float) -> float:
    return math.acos(x + x - 1.0 if shifted else x)


def _t_first(x: Any) -> Any:
    return x


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
    return _chebyshev(y, degree, _t_first(y))


@wide
def _t_closed(x: float, shifted: float, degree: float) -> float:
    return math.cos(degree * _angle(x, shifted))


def _u_first(x: Any) -> Any:
    return x + x


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
    return _chebyshev(y, degree, _u_first(y))


@wide
def _u_closed(x: float, shifted: float, degree: float) -> float:
    angle = _angle(x, shifted)
    return math.sin((degree + 1.0) * angle) / math.sin(angle)


def _v_first(x: Any) -> Any:
    return x + x - 1.0


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
    return _chebyshev(y, degree, _v_first(y))


@wide
def _v_closed(x: float, shifted: float, degree: float) -> float:
    angle = _angle(x, shifted)
    return math.cos((degree + 0.5) * angle) / math.cos(0.5 * angle)


def _w_first(x: Any) -> Any:
    return x + x + 1.0


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
    return _chebyshev(y, degree, _w_first(y))


@wide
def _w_closed(x: float, shifted: float, degree: float) -> float:
    angle = _angle(x, shifted)
    return math.sin((degree + 0.5) * angle) / math.sin(0.5 * angle)


def chebyshev_polynomial_t(x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the first kind, cos(n t) at x = cos(t). Derivative in x: n U(x, n - 1)."""
    return _polynomial(_first, _t_first, _chebyshev_next, x, n, 6)


@elementwise_in_dtype
def _first(x: float, n: float) -> float:
    return _t(x, x, 0.0, n, 6.0)


def chebyshev_polynomial_u(x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the second kind, sin((n + 1) t) / sin(t) at x = cos(t)."""
    return _polynomial(_second, _u_first, _chebyshev_next, x, n, 8)


@elementwise_in_dtype
def _second(x: float, n: float) -> float:
    return _u(x, x, 0.0, n, 8.0)


def chebyshev_polynomial_v(x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the third kind, cos((n + 1/2) t) / cos(t / 2) at x = cos(t)."""
    return _polynomial(_third, _v_first, _chebyshev_next, x, n, 8)


@elementwise_in_dtype
def _third(x: float, n: float) -> float:
    return _v(x, x, 0.0, n, 8.0)


def chebyshev_polynomial_w(x: Array, n: Array) -> Array:
    """The Chebyshev polynomial of the fourth kind, sin((n + 1/2) t) / sin(t / 2) at x = cos(t)."""
    return _polynomial(_fourth, _w_first, _chebyshev_next, x, n, 8)


@elementwise_in_dtype
def _fourth(x: float, n: float) -> float:
    return _w(x, x, 0.0, n, 8.0)


def _shifted_next(k: float, x: Any, q: Any, p: Any) -> Any:
    return _chebyshev_next(k, x + x - 1.0, q, p)


def shifted_chebyshev_polynomial_t(x: Array, n: Array) -> Array:
    """chebyshev_polynomial_t at 2 x - 1."""
    return _polynomial(_shifted_first, _shifted_t_first, _shifted_next, x, n, 6)


def _shifted_t_first(x: Any) -> Any:
    return _t_first(x + x - 1.0)


@elementwise_in_dtype
def _shifted_first(x: float, n: float) -> float:
    return _t(x + x - 1.0, x, 1.0, n, 6.0)


def shifted_chebyshev_polynomial_u(x: Array, n: Array) -> Array:
    """chebyshev_polynomial_u at 2 x - 1."""
    return _polynomial(_shifted_second, _shifted_u_first, _shifted_next, x, n, 6)


def _shifted_u_first(x: Any) -> Any:
    return _u_first(x + x - 1.0)


@elementwise_in_dtype
def _shifted_second(x: float, n: float) -> float:
    return _u(x + x - 1.0, x, 1.0, n, 6.0)


def shifted_chebyshev_polynomial_v(x: Array, n: Array) -> Array:
    """chebyshev_polynomial_v at 2 x - 1."""
    return _polynomial(_shifted_third, _shifted_v_first, _shifted_next, x, n, 6)


def _shifted_v_first(x: Any) -> Any:
    return _v_first(x + x - 1.0)


@elementwise_in_dtype
def _shifted_third(x: float, n: float) -> float:
    return _v(x + x - 1.0, x, 1.0, n, 6.0)


def shifted_chebyshev_polynomial_w(x: Array, n: Array) -> Array:
    """chebyshev_polynomial_w at 2 x - 1."""
    return _polynomial(_shifted_fourth, _shifted_w_first, _shifted_next, x, n, 6)


def _shifted_w_first(x: Any) -> Any:
    return _w_first(x + x - 1.0)


@elementwise_in_dtype
def _shifted_fourth(x: float, n: float) -> float:
    return _w(x + x - 1.0, x, 1.0, n, 6.0)
