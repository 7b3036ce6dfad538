"""Trigonometric and hyperbolic functions for native kernels, and remainders; float32, within two units in the last place.

The coefficients are our own minimax fits, like those in _functions.py.

Note [Partial functions]
A sine of a number beyond 2**40, or the remainder of a division with a quotient beyond 2**28, would take many more instructions than
all others. They are NaN here, and the kernel is marked as `partial`: who runs it looks for NaN and leaves arrays with any to NumPy.
"""

from __future__ import annotations

from . import _doubles as d
from . import _float64 as of_doubles
from ._build import Value
from ._functions import (
    absolute,
    at_most,
    exp_below,
    exp_half,
    fma,
    fnma,
    full,
    greater,
    less,
    log,
    log1p,
    maximum,
    only,
    polynomial,
    sqrt,
    where,
    with_sign_of,
)
from ._x86 import Pooled

_SIN = (-0.16666655242443085, 0.008332174271345139, -0.00019516806059982628)
_COS = (0.04166664555668831, -0.0013887363020330667, 2.4437898900941946e-05)
_ATAN = (
    (-0.33333301544189453, 0.19998638331890106, -0.1426524519920349, 0.10957576334476471, -0.0841946005821228)
    + (0.0582345575094223, -0.03145570680499077, 0.011064443737268448, -0.0018272134475409985)
)  # fmt: skip
_ASIN = (0.16666753590106964, 0.07495241612195969, 0.04547709599137306, 0.024147607386112213, 0.04221855476498604)
_SINH = (0.1666666716337204, 0.008333350531756878, 0.0001983606634894386, 2.8174395083624404e-06)
_HALF_PI, _HALF_PI_REST = 1.5707963267948966, 6.123233995736766e-17
_FAR, _LARGE_QUOTIENT = 2.0**40, 2.0**28
_NAN = Pooled(0x7FC00000)
_LN2 = 0.6931471805599453
_INFINITY = float("inf")


def _less_quarter_turns(x: Value) -> tuple[Value, Value]:
    """(r, n): four doubles less n quarter turns, between -pi/4 and pi/4, and n in the lower bits.

    With a quarter turn in two parts: x and n quarters are multiples of 2**-52 that nearly cancel, so the difference is exact.
    """
    b = x.builder
    magic = d.double(1.5 * 2.0**52)  # a sum with it has the rounded number in its lowest bits
    shifted = b.emit("vaddpd", b.emit("vmulpd", x, d.double(1 / _HALF_PI)), magic)
    n = b.emit("vsubpd", shifted, magic)
    return d.fnma(n, d.double(_HALF_PI_REST), d.fnma(n, d.double(_HALF_PI), x)), shifted


def _quarter_turns(x: Value) -> tuple[Value, Value]:
    """The same of floats."""
    low, high = (_less_quarter_turns(half) for half in d.widened(x))
    return d.narrowed((low[0], high[0])), d.lowest_words((low[1], high[1]))


def _near(r: Value) -> tuple[Value, Value]:
    """Sine and cosine between -pi/4 and pi/4."""
    square = r * r
    sine = fma(r * square, polynomial(square, _SIN), r)
    cosine = fma(square * square, polynomial(square, _COS), fma(square, -0.5, 1.0))
    return sine, cosine


def _wave(x: Value, ahead: int) -> Value:
    """The sine of x plus `ahead` quarter turns."""
    b = x.builder
    b.partial = True
    r, n = _quarter_turns(x)
    if ahead:
        n = b.emit("vpaddd", n, Pooled(ahead))
    sine, cosine = _near(r)
    odd = b.emit("vpslld", n, 31)  # the highest bit of a lane decides
    result = where(odd, cosine, sine)
    flipped = b.emit("vandps", b.emit("vpslld", n, 30), Pooled(0x80000000))
    result = b.emit("vxorps", result, flipped)
    return where(at_most(absolute(x), _FAR), result, b.emit("constant", _NAN))


def sin(x: Value) -> Value:
    """The sine; of -0 it is -0."""
    small = less(absolute(x), 1e-4)
    return where(small, x, _wave(x, 0))


def cos(x: Value) -> Value:
    """The cosine."""
    return _wave(x, 1)


def tan(x: Value) -> Value:
    """The tangent: sine by cosine, or the negative of the inverse, in float64."""
    b = x.builder
    b.partial = True

    def sine_and_cosine(r: Value) -> tuple[Value, Value]:
        square = b.emit("vmulpd", r, r)
        sine, cosine = (d.polynomial(square, c) for c in (_SIN, _COS))
        sine = d.fma(b.emit("vmulpd", r, square), sine, r)
        near_one = d.fma(square, d.double(-0.5), b.emit("constant", d.double(1.0)))
        return sine, d.fma(b.emit("vmulpd", square, square), cosine, near_one)

    result = []
    for half in (x, b.emit("swap halves", x)):
        r, n = _less_quarter_turns(b.emit("vcvtps2pd", half))
        sine, cosine = sine_and_cosine(r)
        odd = b.emit("vpsllq", n, 63)
        above = b.emit("blend of doubles", sine, b.emit("vxorps", cosine, d.double(-0.0)), odd)
        result.append(b.emit("vdivpd", above, b.emit("blend of doubles", cosine, sine, odd)))
    tangent = d.narrowed((result[0], result[1]))
    tangent = where(at_most(absolute(x), _FAR), tangent, b.emit("constant", _NAN))
    return where(less(absolute(x), 1e-4), x, tangent)


def _atan_of_ratio(small: Value, large: Value) -> Value:
    """The angle whose tangent is small / large, where small is not larger and neither is negative."""
    ratio = small / large
    square = ratio * ratio
    return fma(ratio * square, polynomial(square, _ATAN), ratio)


def _from_quarter(angle: Value) -> Value:
    """pi/2 - angle, with what float32 lacks of pi/2."""
    return 1.5707963705062866 - (angle + 4.371139000186241e-08)


def _from_half(angle: Value) -> Value:
    """pi - angle, likewise."""
    return 3.1415927410125732 - (angle + 8.742278000372482e-08)


def atan(x: Value) -> Value:
    """The angle, between -pi/2 and pi/2, whose tangent is x: that of 1/x taken from a quarter turn if x is large."""
    b = x.builder
    size = absolute(x)
    one = full(x, 1.0)
    angle = _atan_of_ratio(b.emit("vminps", one, size), b.emit("vmaxps", one, size))
    angle = where(greater(size, 1.0), _from_quarter(angle), angle)
    return with_sign_of(x, where(b.emit("unordered", x, x), size, angle))


def atan2(y: Value, x: Value) -> Value:
    """The angle of the point (x, y), between -pi and pi."""
    b = y.builder
    height, width = absolute(y), absolute(x)
    small, large = b.emit("vminps", height, width), b.emit("vmaxps", height, width)
    # 0 / 0 is to be 0 and infinity / infinity 1: those lie on an axis, or between two.
    large = where(b.emit("equal", large, 0.0), full(y, 1.0), large)
    both = b.emit("equal", small, _INFINITY)
    angle = _atan_of_ratio(where(both, full(y, 1.0), small), where(both, full(y, 1.0), large))
    angle = where(greater(height, width), _from_quarter(angle), angle)
    angle = where(x, _from_half(angle), angle)  # where x has a minus sign
    angle = b.emit("vorps", angle, b.emit("unordered", x, y))
    return with_sign_of(y, angle)


def _asin_parts(x: Value) -> tuple[Value, Value, Value]:
    """(mask, near, far): for sizes up to 1/2 (not `mask`) the arc sine of the size, for others the arc cosine."""
    size = absolute(x)
    mask = greater(size, 0.5)
    z = where(mask, (1.0 - size) * 0.5, size * size)
    root = where(mask, sqrt(z), size)
    # What rounding the root lost, to first order; there is no root of 0 to be corrected.
    lost = only(x.builder.emit("vandps", mask, greater(z, 0.0)), fnma(root, root, z) / (root + root))
    part = root + fma(root * z, polynomial(z, _ASIN), lost)
    return mask, part, part + part


def asin(x: Value) -> Value:
    """The arc sine, NaN beyond 1."""
    mask, near, far = _asin_parts(x)
    return with_sign_of(x, where(mask, _from_quarter(far), near))


def acos(x: Value) -> Value:
    """The arc cosine, NaN beyond 1."""
    mask, near, far = _asin_parts(x)
    return where(mask, where(x, _from_half(far), far), _from_quarter(with_sign_of(x, near)))


def sinh(x: Value) -> Value:
    """The hyperbolic sine: a polynomial near 0, else from e**|x| / 2, which is finite wherever the result is."""
    size = absolute(x)
    square = size * size
    near = fma(size * square, polynomial(square, _SINH), size)
    half = exp_half(size)
    return with_sign_of(x, where(less(size, 1.0), near, half - 0.25 / half))


def cosh(x: Value) -> Value:
    """The hyperbolic cosine."""
    half = exp_half(absolute(x))
    return half + 0.25 / half


def asinh(x: Value) -> Value:
    """The inverse of `sinh`: log(|x| + sqrt(x**2 + 1)), near 0 by way of log1p; what is large is only doubled."""
    size = absolute(x)
    far = greater(size, 1e6)
    near = x.builder.emit("vminps", full(x, 1e6), size)
    square = near * near
    inner = near + square / (sqrt(square + 1.0) + 1.0)
    return with_sign_of(x, where(far, log(size) + _LN2, log1p(inner)))


def acosh(x: Value) -> Value:
    """The inverse of `cosh`, NaN below 1."""
    b = x.builder
    above = x - 1.0
    capped = b.emit("vminps", full(x, 1e6), above)
    near = log1p(capped + sqrt(fma(capped, capped, capped + capped)))
    result = where(greater(x, 1e6), log(x) + _LN2, near)
    return where(less(x, 1.0), b.emit("constant", _NAN), result)


def atanh(x: Value) -> Value:
    """The inverse of `tanh`, infinite at 1, NaN beyond it."""
    size = absolute(x)
    twice = size + size
    inner = fma(size, twice / (1.0 - size), twice)
    return with_sign_of(x, x.builder.emit("vorps", log1p(inner) * 0.5, greater(size, 1.0)))


def logaddexp(x: Value, y: Value) -> Value:
    """log(e**x + e**y), without overflow."""
    b = x.builder
    distance = _apart(x, y)
    return maximum(x, y) + log1p(exp_below(b.emit("vorps", distance, Pooled(0x80000000))))


def _apart(x: Value, y: Value) -> Value:
    """x - y, but 0 where they are equal, infinite or not."""
    return x.builder.emit("vandnps", x.builder.emit("equal", x, y), x - y)


def hypot(x: Value, y: Value) -> Value:
    """sqrt(x**2 + y**2), in float64, where nothing overflows; infinite if one of them is."""
    b = x.builder

    def length(x: Value, y: Value) -> Value:
        return b.emit("vsqrtpd", d.fma(x, x, b.emit("vmulpd", y, y)))

    infinite = b.emit("equal", _larger_size(x, y), _INFINITY)
    return where(infinite, full(x, _INFINITY), d.of_halves(length, x, y))


def _larger_size(x: Value, y: Value) -> Value:
    """The larger of the absolute values, where a NaN counts for nothing beside infinity."""
    b = x.builder
    width, height = absolute(x), absolute(y)
    return where(b.emit("equal", width, _INFINITY), width, height)


def fmod(x: Value, y: Value) -> Value:
    """What is left of x after taking y as often as it goes, with the sign of x.

    In float64: a quotient that rounds to an integer is one, unless it has more digits than `_LARGE_QUOTIENT`, and the product with that
    integer is exact.
    """
    b = x.builder
    if b.double:
        return of_doubles.fmod(x, y)
    b.partial = True

    def rest(x: Value, y: Value) -> Value:
        return d.fnma(b.emit("trunc of doubles", b.emit("vdivpd", x, y)), y, x)

    left = with_sign_of(x, absolute(d.of_halves(rest, x, y)))
    large = greater(absolute(x), absolute(y) * _LARGE_QUOTIENT)
    left = b.emit("vorps", left, large)
    return where(less(absolute(x), absolute(y)), x, left)


def remainder(x: Value, y: Value) -> Value:
    """What is left of x after taking y as often as it goes, with the sign of y."""
    b = x.builder
    left = fmod(x, y)
    wrong = b.emit("vandps", b.emit("not equal", left, 0.0), b.emit("vxorps", less(left, 0.0), less(y, 0.0)))
    return where(wrong, left + y, left)


def floor_divide(x: Value, y: Value) -> Value:
    """The largest integer that is not above x / y, from the remainder as PyTorch does."""
    b = x.builder
    left = fmod(x, y)
    wrong = b.emit("vandps", b.emit("not equal", left, 0.0), b.emit("vxorps", less(left, 0.0), less(y, 0.0)))
    quotient = (x - left) / y - only(wrong, full(x, 1.0))
    below = b.emit("floor", quotient)
    below = below + only(greater(quotient - below, 0.5), full(x, 1.0))
    zero = b.emit("vandps", x / y, b.sign)
    below = where(b.emit("equal", quotient, 0.0), zero, below)
    return where(b.emit("equal", y, 0.0), x / y, below)
