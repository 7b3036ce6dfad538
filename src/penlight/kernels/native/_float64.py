"""Elementary functions for native kernels of float64; within about two units in the last place.

The same as in _functions.py with more terms. Around zero these are Taylor's series: of exp up to r**13, where the next term is below 1e-17, of the
inverse hyperbolic tangent, which log needs, up to z**10, of sine and cosine up to r**17 and r**16.
"""

from __future__ import annotations

from math import factorial

from ..lazy import lazy_import
from ._build import Value
from ._functions import (
    absolute,
    at_most,
    clip,
    equal,
    fma,
    fnma,
    full,
    greater,
    less,
    only,
    polynomial,
    where,
    with_sign_of,
)
from ._x86 import Pooled

error_functions = lazy_import(globals(), "error_functions", "..special.error_functions")


_LOG2_E = 1.4426950408889634
_LN2_HIGH, _LN2_LOW = (
    0.6931471803691238,
    1.9082149292705877e-10,
)  # the first has few bits: its product with an integer is exact
_EXP = tuple([1 / factorial(n) for n in range(2, 14)])  # of r**2 on
_ATANH = tuple([2 / (2 * n + 1) for n in range(1, 11)])  # of z on, with z = s**2
_MAGIC = 6755399441055744.0  # 1.5 * 2**52: a sum with it has the rounded number in its lowest bits
_SPLIT = 4503599627370496.0  # 2**52
_SPLIT_BITS = Pooled(0x4330000000000000)
_ONE_BITS = Pooled(0x3FF0000000000000)
_HALF_BITS = Pooled(0x3FE0000000000000)
_FRACTION = Pooled(0x000FFFFFFFFFFFFF)
_LEAST_NORMAL = 2.2250738585072014e-308
_SIN = tuple([(-1) ** n / factorial(2 * n + 1) for n in range(1, 9)])  # of r**3 on
_COS = tuple([(-1) ** n / factorial(2 * n) for n in range(2, 9)])  # of r**4 on
_QUARTER_TURN = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33)  # pi / 2, to 160 bits
_FAR = 2.0**28  # beyond, sines are NumPy's: Note [Partial functions] in _angles.py
_LARGE_QUOTIENT = 2.0**50  # the same of remainders
_NAN = Pooled(0x7FF8000000000000)
_LOWEST, _HIGHEST = -746.0, 710.0  # beyond, exp is 0 or infinity


def _reduced(x: Value) -> tuple[Value, Value]:
    """(n, e^r - 1) where x = n * log(2) + r with a whole n."""
    n = x.builder.emit("nearest", x * _LOG2_E)
    r = fnma(n, _LN2_LOW, fnma(n, _LN2_HIGH, x))
    return n, fma(polynomial(r, _EXP), r * r, r)


def _power_of_two(n: Value) -> Value:
    """2**n for whole numbers from -1022 to 1023."""
    b = n.builder
    return b.emit("vpaddq", b.emit("vpsllq", n + _MAGIC, 52), _ONE_BITS)


def exp(x: Value) -> Value:
    """e**x: subnormal results, zero and infinity where they are due, NaN for NaN."""
    n, rest = _reduced(clip(x, _LOWEST, _HIGHEST))
    half = x.builder.emit("floor", n * 0.5)
    return (rest + 1.0) * _power_of_two(half) * _power_of_two(n - half)


def tanh(x: Value) -> Value:
    """With e = e**(-2|x|): (1 - e) / (1 + e), where 1 - e is accurate however small x is; and 1 - 2 e / (1 + e) where that is near 1."""
    size = absolute(x)
    n, rest = _reduced(clip(size * -2.0, -40.0, 0.0))
    scale = _power_of_two(n)
    below = fnma(scale, rest, 1.0 - scale)
    e = fma(scale, rest, scale)
    near = below / (2.0 - below)
    far = 1.0 - (e + e) / (e + 1.0)
    return with_sign_of(x, where(less(size, 1.0), near, far))


def log(x: Value) -> Value:
    """The natural logarithm: subnormal numbers, zero and infinity for what they are, NaN below zero."""
    b = x.builder
    tiny = less(x, _LEAST_NORMAL)
    bits = where(tiny, x * float(2**54), x)
    exponent = b.emit("vorps", b.emit("vpsrlq", bits, 52), _SPLIT_BITS) - (_SPLIT + 1022.0)
    exponent = where(tiny, exponent - 54.0, exponent)
    m = b.emit("vorps", b.emit("vandps", bits, _FRACTION), _HALF_BITS)
    low = less(m, 0.7071067811865476)
    exponent = where(low, exponent - 1.0, exponent)
    f = where(low, m + m, m) - 1.0
    s = f / (f + 2.0)
    z = s * s
    half_square = f * f * 0.5
    series = polynomial(z, _ATANH) * z
    result = f - (half_square - fma(exponent, _LN2_LOW, s * (half_square + series)))
    result = fma(exponent, _LN2_HIGH, result)
    result = where(greater(x, 1.7976931348623157e308), x, result)
    result = where(equal(x, 0.0), full(x, float("-inf")), result)
    result = where(less(x, 0.0), full(x, float("nan")), result)
    return where(b.emit("unordered", x, x), x, result)


def expm1(x: Value) -> Value:
    """e**x - 1: 2**n * (e**r - 1) + (2**n - 1), of which the second part is exact; beyond 40, where 1 is nothing, e**x."""
    n, rest = _reduced(clip(x, _LOWEST, _HIGHEST))
    half = x.builder.emit("floor", n * 0.5)
    far = (rest + 1.0) * _power_of_two(half) * _power_of_two(n - half)
    scale = _power_of_two(clip(n, -64.0, 64.0))
    return with_sign_of(x, where(greater(x, 40.0), far, fma(scale, rest, scale - 1.0)))


def log1p(x: Value) -> Value:
    """log(1 + x): of u, which is 1 + x rounded, and the first-order correction (x - (u - 1)) / u of that rounding."""
    u = x + 1.0
    inside = x.builder.emit("vandps", greater(u, 0.0), less(u, float("inf")))
    return with_sign_of(x, log(u) + only(inside, (x - (u - 1.0)) / u))


def _wave(x: Value, ahead: int) -> Value:
    """The sine of x plus `ahead` quarter turns.

    x less n quarter turns is r + s, where s is what r lacks. The first part's product with n is subtracted exactly, since both are
    multiples of 2**-53 that nearly cancel; of the second part's, s keeps what rounding the product and the difference loses.
    """
    b = x.builder
    b.partial = True
    shifted = fma(x, 1 / _QUARTER_TURN[0], full(x, _MAGIC))
    n = shifted - _MAGIC
    first = fnma(n, _QUARTER_TURN[0], x)
    second = n * _QUARTER_TURN[1]
    lost = fma(n, _QUARTER_TURN[1], -second)
    r = first - second
    back = r - first
    s = (first - (r - back)) - (second + back)
    s = fnma(n, _QUARTER_TURN[2], s - lost)
    z = r * r
    sine = r + fma(r * z, polynomial(z, _SIN), s)
    half = z * 0.5
    most = 1.0 - half
    cosine = most + fma(z * z, polynomial(z, _COS), fnma(r, s, (1.0 - most) - half))
    odd, flipped = (b.emit("vpsllq", shifted, by) for by in (63, 62))  # the highest bit of a lane decides
    if ahead:
        result = b.emit("blend of doubles", cosine, sine, odd)
        flipped = b.emit("vxorps", flipped, odd)
    else:
        result = b.emit("blend of doubles", sine, cosine, odd)
    result = b.emit("vxorps", result, b.emit("vandps", flipped, b.sign))
    return where(at_most(absolute(x), _FAR), result, b.emit("constant", _NAN))


def sin(x: Value) -> Value:
    """The sine; of what is tiny that itself."""
    return where(less(absolute(x), 1e-8), x, _wave(x, 0))


def cos(x: Value) -> Value:
    """The cosine."""
    return _wave(x, 1)


def erf(x: Value) -> Value:
    """The error function, by the fits of kernels/special/error_functions.py: x + x * quotient near 0, else 1 - p**-16 for a polynomial p.

    Squaring q = p - 1 as (1 + q)**2 - 1 loses less than squaring p, which is near 1.
    """
    size = absolute(x)
    z = x * x
    below = (*error_functions.ERF_CENTRE_Q[::-1], 1.0)
    above = tuple([p - q for p, q in zip(error_functions.ERF_CENTRE_P[::-1], below)])
    near = fma(size, polynomial(z, above) / polynomial(z, below), size)
    one, *rest = error_functions.ERF_TAIL[::-1]
    q = polynomial(x.builder.emit("vminps", full(x, 6.0), size), (one - 1.0, *rest))  # NaN stays
    for _ in range(4):
        q = fma(q, q, q + q)
    return with_sign_of(x, where(less(size, 1.125), near, 1.0 - 1.0 / (q + 1.0)))


def fmod(x: Value, y: Value) -> Value:
    """What is left of x after taking y as often as it goes, with the sign of x. Exact.

    The rounded quotient, cut off, is the whole number wanted or the next one; what is left then, and after adding y back, is a multiple of
    the last place of y, and no larger than y, so nothing is rounded.
    """
    b = x.builder
    b.partial = True
    size, step = absolute(x), absolute(y)
    left = fnma(b.emit("trunc", size / step), step, size)
    left = left + only(less(left, 0.0), step)
    left = b.emit("vorps", left, greater(size, step * _LARGE_QUOTIENT))
    return where(less(size, step), x, with_sign_of(x, left))
