"""Powers for native kernels: x**y as 2**(y * log2(x)) in float64, rounded once to float32.

Negative bases, infinities and NaN are left to NumPy, see Note [Partial functions] in _angles.py; but a whole exponent that is known
when the kernel is made, and small, is a product.
"""

from __future__ import annotations

from . import _doubles as d
from ._build import Value
from ._functions import absolute, at_least, full, greater, less, where
from ._x86 import Pooled

# log2((1 + s) / (1 - s)) / s in powers of s**2, and 2**r for r up to a half: our own minimax fits, to 13 and 10 digits.
_LOG2 = (
    2.88539008177785,
    0.9617966941140255,
    0.5770779421300569,
    0.41220927764385634,
    0.3199046256576586,
    0.282915803356379,
)
_EXP2 = (
    (0.9999999999595499, 0.6931471805350271, 0.24022651213584278, 0.05550410976106721, 0.009618025604122532)
    + (0.0013333422647546491, 0.0001546973166475646, 1.5316461178966896e-05)
)  # fmt: skip
_ROOT_OF_HALF, _ONE = Pooled(0x3FE6A09E667F3BCD), Pooled(0x3FF0000000000000)
_MAGIC = 1.5 * 2.0**52  # a sum with it has the rounded number in its lowest bits
_MOST_FACTORS = 8
_NAN = Pooled(0x7FC00000)


def whole_power(x: Value, exponent: int) -> Value | None:
    """x**exponent as a product, each half of it once; None if there would be many factors, or a quotient that underflows early."""
    size = abs(exponent)
    if not 0 < size <= (_MOST_FACTORS if exponent > 0 else 2):
        return None
    result, square = None, x
    while size:
        if size & 1:
            result = square if result is None else result * square
        size >>= 1
        if size:
            square = square * square
    assert result is not None
    return 1.0 / result if exponent < 0 else result


def power(x: Value, y: Value) -> Value:
    """x**y."""
    b = x.builder
    b.partial = True
    result = d.of_halves(_power_of_doubles, x, y)
    at_zero = where(greater(y, 0.0), full(x, 0.0), full(x, float("inf")))
    result = where(b.emit("equal", x, 0.0), at_zero, result)
    result = where(b.emit("equal", y, 0.0), full(x, 1.0), result)
    # Known: x from +0 on, not -0, whose sign may stay, and below infinity; y finite.
    known = b.emit("vandps", less(x, float("inf")), less(absolute(y), float("inf")))
    known = b.emit("vandps", known, at_least(x, 0.0))
    known = b.emit("vandnps", b.emit("vpsrad", x, 31), known)
    return where(known, result, b.emit("constant", _NAN))


def _power_of_doubles(x: Value, y: Value) -> Value:
    b = x.builder
    # x = 2**e * m with m between the roots of 1/2 and 2; e is biased by 1023, and made a float beside the bits of 2**52.
    e = b.emit("vpsrlq", b.emit("vpaddq", b.emit("vpsubq", x, _ROOT_OF_HALF), _ONE), 52)
    m = b.emit("vpaddq", b.emit("vpsubq", x, b.emit("vpsllq", e, 52)), _ONE)
    whole = b.emit("vsubpd", b.emit("vorps", e, d.double(2.0**52)), d.double(2.0**52 + 1023))
    s = b.emit("vdivpd", b.emit("vsubpd", m, _ONE), b.emit("vaddpd", m, _ONE))
    log = d.fma(s, d.polynomial(b.emit("vmulpd", s, s), _LOG2), whole)
    t = b.emit("vmaxpd", b.emit("vminpd", b.emit("vmulpd", y, log), d.double(200.0)), d.double(-200.0))
    shifted = b.emit("vaddpd", t, d.double(_MAGIC))
    rest = b.emit("vsubpd", t, b.emit("vsubpd", shifted, d.double(_MAGIC)))
    scale = b.emit("vpaddq", b.emit("vpsllq", shifted, 52), _ONE)
    return b.emit("vmulpd", d.polynomial(rest, _EXP2), scale)
