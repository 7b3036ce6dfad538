"""The orthogonal polynomials of torch.special; the degree `n` may be an array with a degree for each element.

Note [Orthogonal polynomials]
The degree is truncated to an integer; if it is negative or not finite, the result is zero. Each family is a three-term
recurrence in the elements' dtype, with as many steps for each element as its degree (Note [Functions of scalars] in kernels/scalars.py). Overflow gives NaN,
as in torch. If all elements have the same degree, the recurrence is an elementwise kernel with a fixed number of steps. Inside (-1, 1) the Chebyshev
polynomials of higher degree are trigonometric functions of n acos(x), in float64.

Derivatives in x: H' = 2 n H(n - 1), torch has none for this family; He' = n He(n - 1); L' = n (L(n) - L(n - 1)) / x;
P' = n (x P(n) - P(n - 1)) / (x**2 - 1); T' = n U(n - 1).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import executable
from ..scalars import apply, constant, elementwise_in_dtype, wide
from . import MOST_DEGREE
from .common import Array, as_it_is, unary

_HERMITE_H, _HERMITE_HE, _LAGUERRE, _LEGENDRE, _T, _U, _V, _W = map(float, range(8))


def _first(family: float, x: Any) -> Any:
    """The polynomial of degree 1."""
    if family == _LAGUERRE:
        return 1.0 - x
    if family == _V:
        return x + x - 1.0
    if family == _W:
        return x + x + 1.0
    return x + x if family == _HERMITE_H or family == _U else x  # noqa: SIM109 - the compiler reads no `in`


def _slope(family: float, x: Any) -> Any:
    """The factor that is the same in all steps of the recurrence."""
    if family == _LAGUERRE:
        return 1.0 - x
    return x + x if family >= _T or family == _HERMITE_H else x


def _next(family: float, k: float, slope: Any, q: Any, p: Any) -> Any:
    """The polynomial of degree k + 1, from those of degrees k and k - 1."""
    if family >= _T:
        return slope * q - p
    if family == _HERMITE_H:
        return slope * q - (k + k) * p
    if family == _HERMITE_HE:
        return slope * q - k * p
    if family == _LAGUERRE:
        return ((k + k + slope) * q - k * p) / (k + 1.0)
    return ((k + k + 1.0) * slope * q - k * p) / (k + 1.0)


@elementwise_in_dtype
def _value(x: float, n: float, family: float, shifted: float, limit: float) -> float:
    """`limit` is the highest degree for which torch runs the recurrence inside (-1, 1)."""
    if not -1.0 < n < math.inf:
        return 0.0
    degree, y = math.floor(n) if n > 0.0 else 0.0, x + x - 1.0 if shifted else x
    if family >= _T and y == 1.0:
        return _at_one(family, degree)
    if family >= _T and y == -1.0:
        # V(-y) = (-1)**n W(y), and the reverse; T and U are even or odd.
        size = _at_one(_W if family == _V else _V if family == _W else family, degree)
        return size if math.floor(0.5 * degree) == 0.5 * degree else -size
    if abs(y) < 1.0 and degree > limit:
        return _closed(x, family, shifted, degree)
    if degree == 0.0:
        return 1.0
    p, q, k, slope = 1.0, _first(family, y), 1.0, _slope(family, y)
    while k < degree and q == q:
        p, q, k = q, _next(family, k, slope, q, p), k + 1.0
    return q


def _at_one(family: float, degree: float) -> float:
    """Chebyshev polynomials at 1."""
    if family == _U:
        return degree + 1.0
    return degree + degree + 1.0 if family == _W else 1.0


@wide
def _closed(x: float, family: float, shifted: float, degree: float) -> float:
    """Chebyshev polynomials inside (-1, 1)."""
    angle = math.acos(x + x - 1.0 if shifted else x)
    if family == _T:
        return math.cos(degree * angle)
    if family == _U:
        return math.sin((degree + 1.0) * angle) / math.sin(angle)
    if family == _V:
        return math.cos((degree + 0.5) * angle) / math.cos(0.5 * angle)
    return math.sin((degree + 0.5) * angle) / math.sin(0.5 * angle)


def _polynomial(family: float, shifted: bool = False, limit: float = math.inf) -> Callable[[Array, Array], Array]:
    """The function of a family; if all elements have one degree, up to `limit`, it is an elementwise kernel."""

    def run(x: Array, n: Array) -> Array:
        in_numpy = executable.backend() is None
        degree = _only_degree(n, min(MOST_DEGREE, limit), in_numpy and n.shape == x.shape)
        made = None
        if degree and n.dtype == x.dtype and n.ndim <= x.ndim:

            def kernel(x: Array, out: Array) -> None:
                y = x + x - 1.0 if shifted else x
                p: Any = 1.0
                q, slope = _first(family, y), _slope(family, y)
                for k in range(1, degree):
                    p, q = q, _next(family, float(k), slope, q, p)
                out[...] = q

            made = unary(kernel, x) if in_numpy else as_it_is(kernel, x)
        if made is None:
            made = apply(_value, x, n, *[constant(c, x.dtype) for c in (family, float(shifted), limit)])
        return made

    return run


def _only_degree(n: Array, most: float, compare: bool) -> int:
    """The degree of all elements if it is one number from 1 to `most`, otherwise 0. Arrays are compared only if `compare`."""
    if n.size != 1 and not (compare and n.size):
        return 0
    degree = n.item(0)
    if n.size != 1 and np.count_nonzero(n == degree) != n.size:
        return 0
    return int(degree) if 1.0 <= degree < most + 1 else 0


hermite_polynomial_h = _polynomial(_HERMITE_H)  # the physicists' polynomials
hermite_polynomial_he = _polynomial(_HERMITE_HE)  # the probabilists' polynomials
laguerre_polynomial_l = _polynomial(_LAGUERRE)
legendre_polynomial_p = _polynomial(_LEGENDRE)
chebyshev_polynomial_t = _polynomial(_T, limit=6.0)  # cos(n t) at x = cos(t)
chebyshev_polynomial_u = _polynomial(_U, limit=8.0)  # sin((n + 1) t) / sin(t)
chebyshev_polynomial_v = _polynomial(_V, limit=8.0)  # cos((n + 1/2) t) / cos(t / 2)
chebyshev_polynomial_w = _polynomial(_W, limit=8.0)  # sin((n + 1/2) t) / sin(t / 2)
# The same at 2 x - 1.
shifted_chebyshev_polynomial_t = _polynomial(_T, True, 6.0)
shifted_chebyshev_polynomial_u = _polynomial(_U, True, 6.0)
shifted_chebyshev_polynomial_v = _polynomial(_V, True, 6.0)
shifted_chebyshev_polynomial_w = _polynomial(_W, True, 6.0)
