"""The Hurwitz zeta function.

See Note [How the special functions are evaluated] in `special_common`. It is computed in float64, of each element what its region takes: Note
[Functions of scalars] in `scalars`.
"""

from __future__ import annotations

import math

from ..scalars import apply, elementwise
from .common import Array

# Note [The Hurwitz zeta function]
# The Euler-Maclaurin sum: the first ten terms of sum (q + k)**-s, and for the rest, with w = q + 10, the integral
# w**(1 - s) / (s - 1), half the next term, and derivatives at w with Bernoulli numbers. The ratios (s + k) / w of the
# latter are clipped at 1000, where w**-s is already negligible, only to keep 0 * inf away. Where q > s + 20 the rest
# converges from w = q on, which is faster and spares the rounding error of q + k.
# For q < 0 and integer s, with q - floor(q) = f and ceil(q) - q = g,
#     zeta(s, q) = zeta(s, f) + (-1)**s (zeta(s, g) - zeta(s, 1 - q)),
# because the terms with q + k < 0 are those of zeta(s, g), less its own tail.
_TERMS = 10.0
_BERNOULLI = tuple(  # B_2j / (2j)!
    b / math.factorial(2 * j)
    for j, b in enumerate(
        (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330), start=1
    )
)


def zeta(s: Array, q: Array) -> Array:
    """The Hurwitz zeta function, sum over k >= 0 of (q + k)**-s. Derivative in q: -s zeta(s + 1, q); none in s."""
    return apply(zeta_of_number, s, q)


@elementwise
def zeta_of_number(s: float, q: float) -> float:
    """`zeta` of one pair of numbers."""
    if s == math.inf:
        return 1.0 if q == 1.0 else math.inf if q < 1.0 else math.nan
    if s == 1.0 or (q <= 0.0 and q == math.floor(q) and not s < 1.0):
        return math.inf
    if not (s > 1.0 and abs(q) < math.inf):
        return math.nan
    if q < 0.0 and s != math.floor(s):
        return math.nan
    sign = 1.0 if math.floor(0.5 * s) == 0.5 * s else -1.0
    total, part = 0.0, 0.0 if q > 0.0 else 2.0  # one value of the sum above, or three
    while part >= 0.0:
        rest = q - math.floor(q) if q < 0.0 else q
        value = _positive(s, math.ceil(q) - q if part == 2.0 else 1.0 - q if part == 1.0 else rest)
        total = (total - value) * sign if part == 1.0 else total + value
        part -= 1.0
    return total


def _positive(s: float, q: float) -> float:
    total, w = 0.0, q
    if not q > s + 20.0:
        w = q + _TERMS
        k = 0.0
        while k < _TERMS:
            total += math.pow(q + k, -s)
            k += 1.0
    return total + _rest(s, w)


def _rest(s: float, w: float) -> float:
    first = math.pow(w, -s)
    if first < 2.3e-308:  # underflow of w**-s, not yet of w**(1 - s)
        return math.pow(w, 1.0 - s) * (1.0 / (s - 1.0) + 0.5 / w)
    rest = w / (s - 1.0) + 0.5
    rise, k = _clipped(s / w), s
    for b in _BERNOULLI:
        rest += b * rise
        rise *= _clipped((k + 1.0) / w)
        rise *= _clipped((k + 2.0) / w)
        k += 2.0
    return rest * first


def _clipped(x: float) -> float:
    return 1e3 if x > 1e3 else x
