"""Elementary functions for native kernels, built of vector instructions; float32, within about one unit in the last place.

The coefficients are our own minimax fits (Lawson's iteration in float64). `exp` gives subnormal results, zero and infinity where they are
due, and NaN for NaN; `log` takes subnormal numbers, zero and infinity for what they are.
"""

from __future__ import annotations

from ._build import Value
from ._x86 import Pooled

_ONE = Pooled(0x3F800000)
_MAGIC = 12582912.0  # 1.5 * 2**23: a sum with it has the rounded number in its lowest bits
_MAGIC_BITS = Pooled(0x4B400000)
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4  # the first has few bits: its product with a small integer is exact
_EXP = (
    0.4999999403953552,
    0.1666652113199234,
    0.04166838899254799,
    0.00836874544620514,
    0.001381453825160861,
)  # of r**2 on
_TANH = (-0.33333271741867065, 0.13331152498722076, -0.05371410399675369, 0.020551711320877075, -0.00560390530154109)
_ERF_NEAR = (
    (0.1283791065216064, -0.3761262595653534, 0.1128358542919159, -0.026853810995817184, 0.005188327748328447)
    + (-0.0008010192541405559, 7.853857823647559e-05)
)  # fmt: skip
_ERF_FAR = (
    (-0.0001880402269307524, 1.1295784711837769, 0.6332198977470398, 0.10841857641935349, -0.025208257138729095)
    + (0.004204561933875084, -0.00044133636401966214, 2.1686850232072175e-05)
)  # fmt: skip

_LOG = (
    (0.3333333134651184, -0.2500081956386566, 0.20001226663589478, -0.16623356938362122)
    + (0.14201758801937103, -0.13160185515880585, 0.12761570513248444, -0.0763448178768158)
)  # fmt: skip
_LOG2_E_HIGH, _LOG2_E_LOW = 1.4423828125, 0.0003122283889634  # 1 / log(2); the first has few bits
_LOG10_E_HIGH, _LOG10_E_LOW = 0.434326171875, -3.1689971748e-05
_LOG10_2_HIGH, _LOG10_2_LOW = 0.301025390625, 4.605038981e-06
_ROOT_OF_HALF = Pooled(0x3F3504F3)
_MINUS_INFINITY = Pooled(0xFF800000)
_LARGEST, _LEAST_NORMAL = 3.4028234663852886e38, 1.1754943508222875e-38


def fma(a: Value, b: Value | float, c: Value | float) -> Value:
    """a * b + c, rounded once."""
    return a.builder.emit("fma", a, b, c)


def fnma(a: Value, b: Value | float, c: Value | float) -> Value:
    """c - a * b, rounded once."""
    return a.builder.emit("fnma", a, b, c)


def sqrt(x: Value) -> Value:
    """The square root."""
    return x.builder.emit("vsqrtps", x)


def absolute(x: Value) -> Value:
    """The absolute value."""
    return x.builder.emit("vandps", x, Pooled(x.builder.sign.bits - 1))


def where(mask: Value, yes: Value, no: Value) -> Value:
    """`yes` where a comparison holds, else `no`."""
    return mask.builder.emit("blend", no, yes, mask)


def full(like: Value, number: float) -> Value:
    """A number in all lanes."""
    return like.builder.emit("constant", like.builder.constant(number))


def less(a: Value, b: Value | float) -> Value:
    """The mask of a < b, false for NaN."""
    return a.builder.emit("less", a, b)


def greater(a: Value, b: Value | float) -> Value:
    """The mask of a > b, false for NaN."""
    return a.builder.emit("greater", a, b)


def at_most(a: Value, b: Value | float) -> Value:
    """The mask of a <= b, false for NaN."""
    return a.builder.emit("at most", a, b)


def at_least(a: Value, b: Value | float) -> Value:
    """The mask of a >= b, false for NaN."""
    return a.builder.emit("at least", a, b)


def equal(a: Value, b: Value | float) -> Value:
    """The mask of a == b, false for NaN."""
    return a.builder.emit("equal", a, b)


def not_equal(a: Value, b: Value | float) -> Value:
    """The mask of a != b, true for NaN."""
    return a.builder.emit("not equal", a, b)


def is_nan(a: Value) -> Value:
    """The mask of NaN."""
    return a.builder.emit("unordered", a, a)


def maximum(a: Value, b: Value | float) -> Value:
    """The larger; NaN if either is, as NumPy and PyTorch have it. The instruction itself gives `b` for any NaN."""
    return where(is_nan(a), a, a.builder.emit("vmaxps", a, b))


def minimum(a: Value, b: Value | float) -> Value:
    """The smaller; NaN if either is."""
    return where(is_nan(a), a, a.builder.emit("vminps", a, b))


def limited_below(x: Value, low: float) -> Value:
    """The larger of x and a number; of 0 and -0 it is x, and NaN stays NaN."""
    return maximum(x, low) if low != low else x.builder.emit("vmaxps", x.builder.constant(low), x)


def limited_above(x: Value, high: float) -> Value:
    """The smaller of x and a number; of 0 and -0 it is x, and NaN stays NaN."""
    return minimum(x, high) if high != high else x.builder.emit("vminps", x.builder.constant(high), x)


def only(mask: Value, value: Value) -> Value:
    """`value` where a comparison holds, else 0."""
    return mask.builder.emit("vandps", mask, value)


def without(mask: Value, value: Value) -> Value:
    """0 where a comparison holds, else `value`."""
    return mask.builder.emit("vandnps", mask, value)


def clip(x: Value, low: float, high: float) -> Value:
    """x limited to [low, high]; NaN stays."""
    b = x.builder
    return b.emit("vminps", b.constant(high), b.emit("vmaxps", b.constant(low), x))


def polynomial(x: Value, coefficients: tuple[float, ...]) -> Value:
    """The sum of coefficients[i] * x**i, by Horner's rule."""
    *rest, second, first = coefficients
    result = fma(x, first, second)
    for coefficient in reversed(rest):
        result = fma(result, x, coefficient)
    return result


def exp(x: Value) -> Value:
    """e**x."""
    b = x.builder
    x = clip(x, -105.0, 89.0)
    power, shifted = _split(x)
    # 2**n may be out of range where the result is not: two factors, each about its square root.
    n = b.emit("vpsubd", shifted, _MAGIC_BITS)
    half = b.emit("vpsrad", n, 1)
    power = power * _power_of_two(half)
    # What is below the least subnormal number is made 0 beforehand: a product that underflows takes processors a hundred cycles.
    power = b.emit("vandnps", less(x, -104.0), power)
    return power * _power_of_two(b.emit("vpsubd", n, half))


def exp_half(x: Value) -> Value:
    """e**x / 2 for x that is not below -80; so it is finite a little further than `exp`."""
    b = x.builder
    power, shifted = _split(b.emit("vminps", b.constant(91.0), x))
    n = b.emit("vpsubd", shifted, _MAGIC_BITS)
    half = b.emit("vpsrad", n, 1)
    rest = b.emit("vpsubd", b.emit("vpsubd", n, half), Pooled(1))
    return power * _power_of_two(half) * _power_of_two(rest)


def exp2(x: Value) -> Value:
    """2**x, exact for integers."""
    b = x.builder
    x = clip(x, -151.0, 129.0)
    shifted = x + _MAGIC
    power = _exp_near(b.emit("vmulps", x - (shifted - _MAGIC), 0.6931471805599453))
    n = b.emit("vpsubd", shifted, _MAGIC_BITS)
    half = b.emit("vpsrad", n, 1)
    power = b.emit("vandnps", less(x, -150.0), power * _power_of_two(half))
    return power * _power_of_two(b.emit("vpsubd", n, half))


def exp_within(x: Value) -> Value:
    """e**x for x that lies between -87 and 88, or is NaN: in two thirds of the instructions."""
    power, shifted = _split(x)
    return power * _power_of_two(shifted)


def exp_below(x: Value) -> Value:
    """e**x for x that is not above 40, or is NaN: with one factor 2**(n + 64), which cannot be out of range, and another of 2**-64."""
    b = x.builder
    power, shifted = _split(b.emit("vmaxps", b.constant(-104.0), x))
    scaled = power * b.emit("vpaddd", b.emit("vpslld", shifted, 23), Pooled((127 + 64) << 23))
    return b.emit("vandnps", less(x, -104.0), scaled) * 2.0**-64  # nothing underflows on the way to 0, see `exp`


def _split(x: Value) -> tuple[Value, Value]:
    """e**r, and n in the lowest bits of a vector, where x = n * log(2) + r and |r| is at most half of log(2)."""
    shifted = x * 1.4426950408889634 + _MAGIC
    whole = shifted - _MAGIC
    return _exp_near(fnma(whole, _LN2_LOW, fnma(whole, _LN2_HIGH, x))), shifted


def _exp_near(x: Value) -> Value:
    """e**x for |x| up to half of log(2), by Estrin's scheme: as many operations as Horner's, of which fewer have to wait for each other."""
    square = x * x
    high = fma(square, _EXP[4], fma(x, _EXP[3], _EXP[2]))
    return fma(fma(high, square, fma(x, _EXP[1], _EXP[0])), square, x) + 1.0


def _power_of_two(n: Value) -> Value:
    """2**n for an integer in the lowest bits; the other bits are shifted out."""
    return n.builder.emit("vpaddd", n.builder.emit("vpslld", n, 23), _ONE)


def log(x: Value) -> Value:
    """The natural logarithm: of x = 2**n * (1 + f), with 1 + f between the roots of 1/2 and 2, n * log(2) + log(1 + f)."""
    f, whole = _mantissa(x)
    rest = fma(f * f, fma(polynomial(f, _LOG), f, -0.5), whole * _LN2_LOW) + f
    return _log_everywhere(x, fma(whole, _LN2_HIGH, rest))


def log2(x: Value) -> Value:
    """The logarithm to base 2: n + log(1 + f) / log(2), with 1 / log(2) in two parts. Exact for powers of 2."""
    f, whole = _mantissa(x)
    tail = f * f * fma(polynomial(f, _LOG), f, -0.5)  # log(1 + f) - f
    low = fma(f, _LOG2_E_LOW, tail * 1.4426950408889634)
    return _log_everywhere(x, fma(f, _LOG2_E_HIGH, low) + whole)


def log10(x: Value) -> Value:
    """The logarithm to base 10, likewise."""
    f, whole = _mantissa(x)
    tail = f * f * fma(polynomial(f, _LOG), f, -0.5)
    low = fma(whole, _LOG10_2_LOW, fma(f, _LOG10_E_LOW, tail * 0.4342944819032518))
    return _log_everywhere(x, fma(whole, _LOG10_2_HIGH, fma(f, _LOG10_E_HIGH, low)))


def _mantissa(x: Value) -> tuple[Value, Value]:
    """(f, n) with x = 2**n * (1 + f), where x is positive and finite."""
    b = x.builder
    subnormal = less(x, _LEAST_NORMAL)
    scaled = where(subnormal, x * 8388608.0, x)
    n = b.emit("vpsrad", b.emit("vpsubd", scaled, _ROOT_OF_HALF), 23)
    f = b.emit("vpsubd", scaled, b.emit("vpslld", n, 23)) - 1.0
    return f, b.emit("vcvtdq2ps", n) - b.emit("vandps", subnormal, b.constant(23.0))


def _log_everywhere(x: Value, result: Value) -> Value:
    """A logarithm, with infinity for infinity, -infinity for 0, and NaN for NaN and what is negative."""
    b = x.builder
    result = where(greater(x, _LARGEST), x, result)
    # The mask of negative numbers, all bits set, is NaN; for 0 this is -infinity, and NaN for NaN.
    return where(greater(x, 0.0), result, b.emit("vorps", less(x, 0.0), _MINUS_INFINITY) + x)


def expm1(x: Value) -> Value:
    """e**x - 1: as that beyond +-1; within, where it would cancel, 2**n * (e**r - 1) + (2**n - 1)."""
    b = x.builder
    near = clip(x, -1.0, 1.0)
    shifted = near * 1.4426950408889634 + _MAGIC
    whole = shifted - _MAGIC
    rest = fnma(whole, _LN2_LOW, fnma(whole, _LN2_HIGH, near))
    scale = _power_of_two(b.emit("vpsubd", shifted, _MAGIC_BITS))
    near = fma(scale, rest * polynomial(rest, (1.0, *_EXP)), scale - 1.0)
    return with_sign_of(x, where(less(absolute(x), 1.0), near, exp(x) - 1.0))


def log1p(x: Value) -> Value:
    """log(1 + x): of u, which is 1 + x rounded, and the first-order correction (x - (u - 1)) / u of that rounding."""
    u = x + 1.0
    inside = x.builder.emit("vandps", greater(u, 0.0), less(u, float("inf")))
    return with_sign_of(x, log(u) + only(inside, (x - (u - 1.0)) / u))


def sigmoid(x: Value) -> Value:
    """1 / (1 + e**-x)."""
    return 1.0 / (exp(-x) + 1.0)


def gate(x: Value) -> Value:
    """A sigmoid that goes down to e**-87 only, which is as good as 0 where it scales something."""
    capped = x.builder.emit("vminps", x.builder.constant(87.0), x.builder.emit("vmaxps", x.builder.constant(-87.0), x))
    return 1.0 / (exp_within(-capped) + 1.0)


def tanh(x: Value) -> Value:
    """The hyperbolic tangent: a polynomial near 0, else by way of e**(2 * |x|)."""
    size, square = absolute(x), x * x
    near = fma(size * square, polynomial(square, _TANH), size)
    capped = x.builder.emit("vminps", x.builder.constant(20.0), size)  # NaN stays
    far = 1.0 - 2.0 / (exp_within(capped + capped) + 1.0)
    return with_sign_of(x, where(less(size, 0.625), near, far))


def erf(x: Value) -> Value:
    """The error function: a polynomial in x**2 up to 1, beyond it 1 - e**-Q(|x|)."""
    size = absolute(x)
    near = fma(size, polynomial(x * x, _ERF_NEAR), size)
    capped = x.builder.emit("vminps", x.builder.constant(4.0), size)  # NaN stays
    far = 1.0 - exp_within(-polynomial(capped, _ERF_FAR))
    return with_sign_of(x, where(less(size, 1.0), near, far))


def with_sign_of(x: Value, size: Value) -> Value:
    """`size`, which is not negative, with the sign of x."""
    return x.builder.emit("vorps", size, x.builder.emit("vandps", x, x.builder.sign))
