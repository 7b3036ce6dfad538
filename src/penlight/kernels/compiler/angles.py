"""Trigonometric and hyperbolic functions of vectors: float32 within two units in the last place, and sine and cosine of
float64. See math.py. Some are partial: Note [Partial functions]."""

from __future__ import annotations

from math import factorial

from .math import INFINITY, LN2, MAGIC_64, NAN_BITS, NAN_BITS_64, exp_half, log, log1p, lowest_words
from .values import (
    Halves,
    Value,
    absolute,
    as_float,
    as_integer,
    at_most,
    at_most_number,
    cast,
    equal,
    fma,
    fnma,
    full,
    full_bits,
    greater,
    half,
    has_sign,
    is_nan,
    is_odd,
    larger,
    less,
    narrowed,
    of_halves,
    only,
    polynomial,
    smaller,
    sqrt,
    where,
    widened,
    with_sign_of,
)

_SIN = (-0.16666655242443085, 0.008332174271345139, -0.00019516806059982628)
_COS = (0.04166664555668831, -0.0013887363020330667, 2.4437898900941946e-05)
_ATAN = (
    (-0.33333301544189453, 0.19998638331890106, -0.1426524519920349, 0.10957576334476471, -0.0841946005821228)
    + (0.0582345575094223, -0.03145570680499077, 0.011064443737268448, -0.0018272134475409985)
)  # fmt: skip
_ASIN = (0.16666753590106964, 0.07495241612195969, 0.04547709599137306, 0.024147607386112213, 0.04221855476498604)
_SINH = (0.1666666716337204, 0.008333350531756878, 0.0001983606634894386, 2.8174395083624404e-06)
_HALF_PI, _HALF_PI_REST = 1.5707963267948966, 6.123233995736766e-17
_FAR = 2.0**40
_SIGN = -(1 << 31)


# ----- Sine, cosine, tangent ------------------------------------------------------------------------------------------


def _less_quarter_turns(x: Value) -> Halves:
    """(r, n): x minus n quarter turns, between -pi/4 and pi/4, and n in the lower bits; in float64.

    The quarter turn is in two parts: x and n quarters are multiples of 2**-52 that nearly cancel, so the difference is exact.
    """
    shifted = x * (1 / _HALF_PI) + MAGIC_64
    n = shifted - MAGIC_64
    return fnma(n, _HALF_PI_REST, fnma(n, _HALF_PI, x)), shifted


def _quarter_turns(x: Value) -> Halves:
    """`_less_quarter_turns` of float32."""
    low, high = (_less_quarter_turns(part) for part in widened(x))
    return narrowed((low[0], high[0])), lowest_words((low[1], high[1]))


def _near(r: Value) -> Halves:
    """Sine and cosine between -pi/4 and pi/4."""
    square = r * r
    sine = fma(r * square, polynomial(square, _SIN), r)
    cosine = fma(square * square, polynomial(square, _COS), fma(square, -0.5, 1.0))
    return sine, cosine


def _wave(x: Value, ahead: int) -> Value:
    """The sine of x plus `ahead` quarter turns."""
    r, n = _quarter_turns(x)
    if ahead:
        n = n + ahead
    sine, cosine = _near(r)
    result = where(is_odd(n), cosine, sine)
    result = as_float(as_integer(result) ^ ((n << 30) & _SIGN))
    return where(at_most(absolute(x), _FAR), result, full_bits(x, NAN_BITS))


def sin(x: Value) -> Value:
    """The sine; -0 gives -0, and a tiny x gives itself."""
    if x.is_double:
        return where(less(absolute(x), 1e-8), x, _wave_of_doubles(x, 0))
    return where(less(absolute(x), 1e-4), x, _wave(x, 0))


def cos(x: Value) -> Value:
    """The cosine."""
    return _wave_of_doubles(x, 1) if x.is_double else _wave(x, 1)


_SIN_64 = tuple([(-1) ** n / factorial(2 * n + 1) for n in range(1, 9)])  # from r**3 on
_COS_64 = tuple([(-1) ** n / factorial(2 * n) for n in range(2, 9)])  # from r**4 on
_QUARTER_TURN = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)  # pi / 2, to 160 bits
_FAR_64 = 2.0**28


def _wave_of_doubles(x: Value, ahead: int) -> Value:
    """The sine of x plus `ahead` quarter turns.

    x minus n quarter turns is r + s, where s is the rounding error of r. The first part's product with n is subtracted exactly,
    since both are multiples of 2**-53 that nearly cancel; for the second part, s collects the rounding errors of the product and
    the difference.
    """
    shifted = fma(x, 1 / _QUARTER_TURN[0], MAGIC_64)
    n = shifted - MAGIC_64
    first = fnma(n, _QUARTER_TURN[0], x)
    second = n * _QUARTER_TURN[1]
    lost = fma(n, _QUARTER_TURN[1], -second)
    r = first - second
    back = r - first
    s = (first - (r - back)) - (second + back)
    s = fnma(n, _QUARTER_TURN[2], s - lost)
    z = r * r
    sine = r + fma(r * z, polynomial(z, _SIN_64), s)
    below = z * 0.5
    most = 1.0 - below
    cosine = most + fma(z * z, polynomial(z, _COS_64), fnma(r, s, (1.0 - most) - below))
    turns = as_integer(shifted)
    result = where(is_odd(turns), sine, cosine) if ahead else where(is_odd(turns), cosine, sine)
    flipped = (turns << 62) ^ (turns << 63) if ahead else turns << 62
    result = as_float(as_integer(result) ^ (flipped & -(1 << 63)))
    return where(at_most(absolute(x), _FAR_64), result, full_bits(x, NAN_BITS_64))


def tan(x: Value) -> Value:
    """The tangent of float32: sine / cosine, or -cosine / sine, in float64."""
    result = []
    for which in (0, 1):
        r, n = _less_quarter_turns(cast(half(x, which), "f64"))
        sine, cosine = _near(r)
        odd = is_odd(as_integer(n))
        result.append(where(odd, -cosine, sine) / where(odd, sine, cosine))
    tangent = narrowed((result[0], result[1]))
    tangent = where(at_most(absolute(x), _FAR), tangent, full_bits(x, NAN_BITS))
    return where(less(absolute(x), 1e-4), x, tangent)


# ----- Their inverses -------------------------------------------------------------------------------------------------


def _atan_of_ratio(small: Value, large: Value) -> Value:
    """The angle whose tangent is small / large, for 0 <= small <= large."""
    ratio = small / large
    square = ratio * ratio
    return fma(ratio * square, polynomial(square, _ATAN), ratio)


def _from_quarter(angle: Value) -> Value:
    """pi/2 - angle, with the part of pi/2 that float32 cannot hold."""
    return 1.5707963705062866 - (angle + 4.371139000186241e-08)


def _from_half(angle: Value) -> Value:
    """pi - angle, likewise."""
    return 3.1415927410125732 - (angle + 8.742278000372482e-08)


def atan(x: Value) -> Value:
    """The angle, between -pi/2 and pi/2, whose tangent is x: for large x, a quarter turn minus the angle of 1/x."""
    size = absolute(x)
    one = full(x, 1.0)
    angle = _atan_of_ratio(smaller(one, size), larger(one, size))
    angle = where(greater(size, 1.0), _from_quarter(angle), angle)
    return with_sign_of(x, where(is_nan(x), size, angle))


def atan2(y: Value, x: Value) -> Value:
    """The angle of the point (x, y), between -pi and pi."""
    height, width = absolute(y), absolute(x)
    small, large = smaller(height, width), larger(height, width)
    # 0 / 0 must give 0 and infinity / infinity 1: such points are on an axis, or halfway between two.
    large = where(equal(large, 0.0), full(y, 1.0), large)
    both = equal(small, INFINITY)
    angle = _atan_of_ratio(where(both, full(y, 1.0), small), where(both, full(y, 1.0), large))
    angle = where(greater(height, width), _from_quarter(angle), angle)
    angle = where(has_sign(x), _from_half(angle), angle)
    angle = where(x.made("cmp", y, attribute="unordered", element="bool"), full_bits(x, 0xFFFFFFFF), angle)
    return with_sign_of(y, angle)


def _asin_parts(x: Value) -> tuple[Value, Value, Value]:
    """(mask, near, far): the arc sine of |x| up to 1/2 (not `mask`), and the arc cosine beyond."""
    size = absolute(x)
    mask = greater(size, 0.5)
    z = where(mask, (1.0 - size) * 0.5, size * size)
    root = where(mask, sqrt(z), size)
    # The rounding error of the root, to first order; a root of 0 needs no correction.
    lost = only(mask & greater(z, 0.0), fnma(root, root, z) / (root + root))
    part = root + fma(root * z, polynomial(z, _ASIN), lost)
    return mask, part, part + part


def asin(x: Value) -> Value:
    """The arc sine, NaN beyond 1."""
    mask, near, far = _asin_parts(x)
    return with_sign_of(x, where(mask, _from_quarter(far), near))


def acos(x: Value) -> Value:
    """The arc cosine, NaN beyond 1."""
    mask, near, far = _asin_parts(x)
    return where(mask, where(has_sign(x), _from_half(far), far), _from_quarter(with_sign_of(x, near)))


# ----- Hyperbolic functions -------------------------------------------------------------------------------------------


def sinh(x: Value) -> Value:
    """The hyperbolic sine: a polynomial near 0, else from e**|x| / 2, which is finite whenever the result is."""
    size = absolute(x)
    square = size * size
    near = fma(size * square, polynomial(square, _SINH), size)
    power = exp_half(size)
    return with_sign_of(x, where(less(size, 1.0), near, power - 0.25 / power))


def cosh(x: Value) -> Value:
    """The hyperbolic cosine."""
    power = exp_half(absolute(x))
    return power + 0.25 / power


def asinh(x: Value) -> Value:
    """The inverse of `sinh`: log(|x| + sqrt(x**2 + 1)), near 0 by log1p; a large |x| is only doubled."""
    size = absolute(x)
    far = greater(size, 1e6)
    near = at_most_number(size, 1e6)
    square = near * near
    inner = near + square / (sqrt(square + 1.0) + 1.0)
    return with_sign_of(x, where(far, log(size) + LN2, log1p(inner)))


def acosh(x: Value) -> Value:
    """The inverse of `cosh`, NaN below 1."""
    capped = at_most_number(x - 1.0, 1e6)
    near = log1p(capped + sqrt(fma(capped, capped, capped + capped)))
    result = where(greater(x, 1e6), log(x) + LN2, near)
    return where(less(x, 1.0), full_bits(x, NAN_BITS), result)


def atanh(x: Value) -> Value:
    """The inverse of `tanh`, infinite at 1, NaN beyond it."""
    size = absolute(x)
    twice = size + size
    inner = fma(size, twice / (1.0 - size), twice)
    return with_sign_of(x, where(greater(size, 1.0), full_bits(x, 0xFFFFFFFF), log1p(inner) * 0.5))


def hypot(x: Value, y: Value) -> Value:
    """sqrt(x**2 + y**2) of float32, in float64, where nothing overflows; infinite if one of them is."""
    width, height = absolute(x), absolute(y)
    infinite = equal(where(equal(width, INFINITY), width, height), INFINITY)
    return where(infinite, full(x, INFINITY), of_halves(lambda x, y: sqrt(fma(x, x, y * y)), x, y))
