"""Elementary functions for native kernels of float64; within about two units in the last place.

The same as in _functions.py with more terms. Around zero these are Taylor's series: of exp up to r**13, where the next term is below 1e-17, and of the
inverse hyperbolic tangent, which log needs, up to z**10.
"""

from __future__ import annotations

from math import factorial

from ._build import Value
from ._functions import absolute, clip, equal, fma, fnma, full, greater, less, polynomial, where, with_sign_of
from ._x86 import Pooled

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
