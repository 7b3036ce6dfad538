"""Elementary functions of float32 and float64 vectors: exponentials, logarithms, powers, error functions, remainders.

Those of float32 are within about one unit in the last place, those of float64 within two. The coefficients for float32 are our
own minimax fits (Lawson's iteration in float64); those for float64 are Taylor's around zero: exp up to r**13, where the next term
is below 1e-17, and the inverse hyperbolic tangent, which log needs, up to z**10. Subnormal numbers, zero and infinity are handled
exactly, as arguments and as results; NaN stays NaN.

Note [Partial functions]
The sine of a number beyond 2**40, or the remainder of a division with a quotient beyond 2**28, would take many more instructions
than other arguments, and a power of a negative number has too many cases. They give NaN here, and a kernel with such a function
(`partial` in ufuncs.py) is partial: its caller looks for NaN and recomputes arrays that have any with NumPy.
"""

from __future__ import annotations

from math import factorial

from ..lazy import lazy_import
from .ir import Type
from .values import (
    Halves,
    Value,
    absolute,
    as_float,
    as_integer,
    at_least,
    at_least_number,
    at_most_number,
    cast,
    clip,
    equal,
    fma,
    fnma,
    full,
    full_bits,
    greater,
    has_sign,
    is_nan,
    larger,
    less,
    logical_right,
    maximum,
    not_equal,
    of_halves,
    only,
    polynomial,
    rounded,
    smaller,
    sqrt,
    where,
    with_sign_of,
    without,
)

error_functions = lazy_import(globals(), "error_functions", "..special.error_functions")

LOG2_E, LN2 = 1.4426950408889634, 0.6931471805599453
INFINITY = float("inf")

# ----- Exponentials of float32 ----------------------------------------------------------------------------------------

_MAGIC = 12582912.0  # 1.5 * 2**23: adding it leaves the rounded integer in the lowest bits
_MAGIC_BITS = 0x4B400000
_ONE_BITS = 0x3F800000
_LN2_HIGH, _LN2_LOW = 0.693359375, -2.12194440e-4  # the first has few bits: its product with a small integer is exact
_EXP = (
    0.4999999403953552,
    0.1666652113199234,
    0.04166838899254799,
    0.00836874544620514,
    0.001381453825160861,
)  # from r**2 on


def exp(x: Value) -> Value:
    """e**x."""
    if x.is_double:
        return _exp_of_doubles(x)
    x = clip(x, -105.0, 89.0)
    power, shifted = _split(x)
    return _scaled(power, shifted, less(x, -104.0))


def _scaled(power: Value, shifted: Value, vanishes: Value) -> Value:
    """A power times 2**n, where 2**n may be out of range though the result is not: two factors, each about its square root.

    Results below the least subnormal number are set to 0 beforehand: a product that underflows takes a hundred cycles.
    """
    n = as_integer(shifted) - _MAGIC_BITS
    half = n >> 1
    return without(vanishes, power * _power_of_two(half)) * _power_of_two(n - half)


def exp_half(x: Value) -> Value:
    """e**x / 2 for float32 not below -80; it stays finite a little further than `exp`."""
    power, shifted = _split(at_most_number(x, 91.0))
    n = as_integer(shifted) - _MAGIC_BITS
    half = n >> 1
    return power * _power_of_two(half) * _power_of_two(n - half - 1)


def exp2(x: Value) -> Value:
    """2**x of float32, exact for integers."""
    x = clip(x, -151.0, 129.0)
    shifted = x + _MAGIC
    power = _exp_near((x - (shifted - _MAGIC)) * LN2)
    return _scaled(power, shifted, less(x, -150.0))


def exp_within(x: Value) -> Value:
    """e**x for float32 between -87 and 88, or NaN: in two thirds of the instructions."""
    power, shifted = _split(x)
    return power * _power_of_two(as_integer(shifted))


def exp_below(x: Value) -> Value:
    """e**x for x not above 40, or NaN: for float32 with one factor 2**(n + 64), which cannot be out of range, and another of
    2**-64. No intermediate result underflows on the way to 0."""
    if x.is_double:
        return _exp_of_doubles(x)
    power, shifted = _split(at_least_number(x, -104.0))
    scaled = power * as_float((as_integer(shifted) << 23) + ((127 + 64) << 23))
    return without(less(x, -104.0), scaled) * 2.0**-64


def _split(x: Value) -> Halves:
    """e**r, and n in the lowest bits of a vector, where x = n * log(2) + r and |r| is at most half of log(2)."""
    shifted = x * LOG2_E + _MAGIC
    whole = shifted - _MAGIC
    return _exp_near(fnma(whole, _LN2_LOW, fnma(whole, _LN2_HIGH, x))), shifted


def _exp_near(x: Value) -> Value:
    """e**x for |x| up to half of log(2), by Estrin's scheme: as many operations as Horner's, with a shorter dependency chain."""
    square = x * x
    high = fma(square, _EXP[4], fma(x, _EXP[3], _EXP[2]))
    return fma(fma(high, square, fma(x, _EXP[1], _EXP[0])), square, x) + 1.0


def _power_of_two(n: Value) -> Value:
    """2**n for an integer in the lowest bits; the other bits are shifted out."""
    return as_float((n << 23) + _ONE_BITS)


def expm1(x: Value) -> Value:
    """e**x - 1: computed like this beyond +-1; within, where it would cancel, as 2**n * (e**r - 1) + (2**n - 1)."""
    if x.is_double:
        return _expm1_of_doubles(x)
    near = clip(x, -1.0, 1.0)
    shifted = near * LOG2_E + _MAGIC
    whole = shifted - _MAGIC
    rest = fnma(whole, _LN2_LOW, fnma(whole, _LN2_HIGH, near))
    scale = _power_of_two(as_integer(shifted) - _MAGIC_BITS)
    near = fma(scale, rest * polynomial(rest, (1.0, *_EXP)), scale - 1.0)
    return with_sign_of(x, where(less(absolute(x), 1.0), near, exp(x) - 1.0))


def gate(x: Value) -> Value:
    """A sigmoid of float32 whose smallest value is e**-87, which as a factor is as good as 0."""
    return 1.0 / (exp_within(-clip(x, -87.0, 87.0)) + 1.0)


_TANH = (-0.33333271741867065, 0.13331152498722076, -0.05371410399675369, 0.020551711320877075, -0.00560390530154109)


def tanh(x: Value) -> Value:
    """The hyperbolic tangent: for float32 a polynomial near 0, else from e**(2 * |x|)."""
    if x.is_double:
        return _tanh_of_doubles(x)
    size, square = absolute(x), x * x
    near = fma(size * square, polynomial(square, _TANH), size)
    capped = at_most_number(size, 20.0)  # NaN stays
    far = 1.0 - 2.0 / (exp_within(capped + capped) + 1.0)
    return with_sign_of(x, where(less(size, 0.625), near, far))


# ----- Exponentials of float64 ----------------------------------------------------------------------------------------

_LN2_HIGH_64, _LN2_LOW_64 = 0.6931471803691238, 1.9082149292705877e-10
_EXP_64 = tuple([1 / factorial(n) for n in range(2, 14)])  # from r**2 on
MAGIC_64 = 6755399441055744.0  # 1.5 * 2**52: adding it leaves the rounded integer in the lowest bits
_ONE_BITS_64 = 0x3FF0000000000000
_LOWEST, _HIGHEST = -746.0, 710.0  # beyond, exp is 0 or infinity


def _reduced(x: Value) -> Halves:
    """(n, e^r - 1) where x = n * log(2) + r with an integer n."""
    n = rounded(x * LOG2_E, "nearest")
    r = fnma(n, _LN2_LOW_64, fnma(n, _LN2_HIGH_64, x))
    return n, fma(polynomial(r, _EXP_64), r * r, r)


def _power_of_two_64(n: Value) -> Value:
    """2**n for integers from -1022 to 1023."""
    return as_float((as_integer(n + MAGIC_64) << 52) + _ONE_BITS_64)


def _exp_of_doubles(x: Value) -> Value:
    n, rest = _reduced(clip(x, _LOWEST, _HIGHEST))
    half = rounded(n * 0.5, "floor")
    # Results below the least subnormal number are set to 0 beforehand: see `_scaled`.
    power = without(less(x, -745.2), (rest + 1.0) * _power_of_two_64(half))
    return power * _power_of_two_64(n - half)


def _expm1_of_doubles(x: Value) -> Value:
    """2**n * (e**r - 1) + (2**n - 1), where the second term is exact; beyond 40, where 1 is negligible, e**x."""
    n, rest = _reduced(clip(x, _LOWEST, _HIGHEST))
    half = rounded(n * 0.5, "floor")
    far = (rest + 1.0) * _power_of_two_64(half) * _power_of_two_64(n - half)
    scale = _power_of_two_64(clip(n, -64.0, 64.0))
    return with_sign_of(x, where(greater(x, 40.0), far, fma(scale, rest, scale - 1.0)))


def _tanh_of_doubles(x: Value) -> Value:
    """With e = e**(-2|x|): (1 - e) / (1 + e), where 1 - e is accurate however small x is; and 1 - 2 e / (1 + e) where that
    is near 1."""
    size = absolute(x)
    n, rest = _reduced(clip(size * -2.0, -40.0, 0.0))
    scale = _power_of_two_64(n)
    below = fnma(scale, rest, 1.0 - scale)
    e = fma(scale, rest, scale)
    near = below / (2.0 - below)
    far = 1.0 - (e + e) / (e + 1.0)
    return with_sign_of(x, where(less(size, 1.0), near, far))


# ----- Logarithms -----------------------------------------------------------------------------------------------------

_LOG = (
    (0.3333333134651184, -0.2500081956386566, 0.20001226663589478, -0.16623356938362122)
    + (0.14201758801937103, -0.13160185515880585, 0.12761570513248444, -0.0763448178768158)
)  # fmt: skip
_LOG2_E_HIGH, _LOG2_E_LOW = 1.4423828125, 0.0003122283889634  # 1 / log(2); the first has few bits
_LOG10_E_HIGH, _LOG10_E_LOW = 0.434326171875, -3.1689971748e-05
_LOG10_2_HIGH, _LOG10_2_LOW = 0.301025390625, 4.605038981e-06
_ROOT_OF_HALF = 0x3F3504F3
_LARGEST, _LEAST_NORMAL = 3.4028234663852886e38, 1.1754943508222875e-38


def log(x: Value) -> Value:
    """The natural logarithm: n * log(2) + log(1 + f) for x = 2**n * (1 + f), with 1 + f between the roots of 1/2 and 2."""
    if x.is_double:
        return _log_of_doubles(x)
    f, whole = _mantissa(x)
    rest = fma(f * f, fma(polynomial(f, _LOG), f, -0.5), whole * _LN2_LOW) + f
    return _log_everywhere(x, fma(whole, _LN2_HIGH, rest))


def log2(x: Value) -> Value:
    """The logarithm of float32 to base 2: n + log(1 + f) / log(2), with 1 / log(2) in two parts. Exact for powers of 2."""
    f, whole = _mantissa(x)
    tail = f * f * fma(polynomial(f, _LOG), f, -0.5)  # log(1 + f) - f
    low = fma(f, _LOG2_E_LOW, tail * LOG2_E)
    return _log_everywhere(x, fma(f, _LOG2_E_HIGH, low) + whole)


def log10(x: Value) -> Value:
    """The logarithm of float32 to base 10, likewise."""
    f, whole = _mantissa(x)
    tail = f * f * fma(polynomial(f, _LOG), f, -0.5)
    low = fma(whole, _LOG10_2_LOW, fma(f, _LOG10_E_LOW, tail * 0.4342944819032518))
    return _log_everywhere(x, fma(whole, _LOG10_2_HIGH, fma(f, _LOG10_E_HIGH, low)))


def _mantissa(x: Value) -> Halves:
    """(f, n) with x = 2**n * (1 + f), where x is positive and finite."""
    subnormal = less(x, _LEAST_NORMAL)
    scaled = as_integer(where(subnormal, x * 8388608.0, x))
    n = (scaled - _ROOT_OF_HALF) >> 23
    f = as_float(scaled - (n << 23)) - 1.0
    return f, cast(n, "f32") - only(subnormal, full(x, 23.0))


def _log_everywhere(x: Value, result: Value) -> Value:
    """A logarithm, with infinity for infinity, -infinity for 0, and NaN for NaN and negative x."""
    result = where(greater(x, _LARGEST), x, result)
    outside = where(less(x, 0.0), full_bits(x, 0xFFFFFFFF), full(x, -INFINITY)) + x
    return where(greater(x, 0.0), result, outside)


_ATANH = tuple([2 / (2 * n + 1) for n in range(1, 11)])  # from z on, with z = s**2
_SPLIT = 4503599627370496.0  # 2**52
_SPLIT_BITS, _HALF_BITS, _FRACTION = 0x4330000000000000, 0x3FE0000000000000, 0x000FFFFFFFFFFFFF
_LEAST_NORMAL_64 = 2.2250738585072014e-308


def _log_of_doubles(x: Value) -> Value:
    tiny = less(x, _LEAST_NORMAL_64)
    bits = as_integer(where(tiny, x * float(2**54), x))
    exponent = as_float(logical_right(bits, 52) | _SPLIT_BITS) - (_SPLIT + 1022.0)
    exponent = where(tiny, exponent - 54.0, exponent)
    m = as_float((bits & _FRACTION) | _HALF_BITS)
    low = less(m, 0.7071067811865476)
    exponent = where(low, exponent - 1.0, exponent)
    f = where(low, m + m, m) - 1.0
    s = f / (f + 2.0)
    z = s * s
    half_square = f * f * 0.5
    series = polynomial(z, _ATANH) * z
    result = f - (half_square - fma(exponent, _LN2_LOW_64, s * (half_square + series)))
    result = fma(exponent, _LN2_HIGH_64, result)
    result = where(greater(x, 1.7976931348623157e308), x, result)
    result = where(equal(x, 0.0), full(x, -INFINITY), result)
    result = where(less(x, 0.0), full(x, float("nan")), result)
    return where(is_nan(x), x, result)


def log1p(x: Value) -> Value:
    """log(1 + x): log(u), where u is 1 + x rounded, plus the first-order correction (x - (u - 1)) / u of that rounding."""
    u = x + 1.0
    inside = greater(u, 0.0) & less(u, INFINITY)
    return with_sign_of(x, log(u) + only(inside, (x - (u - 1.0)) / u))


def logaddexp(x: Value, y: Value) -> Value:
    """log(e**x + e**y) of float32, without overflow."""
    distance = without(equal(x, y), x - y)  # 0 where they are equal, infinite or not
    return maximum(x, y) + log1p(exp_below(as_float(as_integer(distance) | -(1 << 31))))


# ----- Powers ---------------------------------------------------------------------------------------------------------

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
_ROOT_OF_HALF_64 = 0x3FE6A09E667F3BCD
_MOST_FACTORS = 8
NAN_BITS, NAN_BITS_64 = 0x7FC00000, 0x7FF8000000000000


def integer_power(x: Value, exponent: int) -> Value | None:
    """x**exponent by repeated squaring; None if there would be many factors, or a quotient that underflows early."""
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
    """x**y of float32 as 2**(y * log2(x)) in float64, rounded once. NaN for negative bases, infinities and NaN."""
    result = of_halves(_power_of_doubles, x, y)
    at_zero = where(greater(y, 0.0), full(x, 0.0), full(x, INFINITY))
    result = where(equal(x, 0.0), at_zero, result)
    result = where(equal(y, 0.0), full(x, 1.0), result)
    # Valid: x is +0 or positive (not -0, whose sign may survive) and finite; y is finite.
    known = less(x, INFINITY) & less(absolute(y), INFINITY) & at_least(x, 0.0) & ~has_sign(x)
    return where(known, result, full_bits(x, NAN_BITS))


def _power_of_doubles(x: Value, y: Value) -> Value:
    # x = 2**e * m with m between the roots of 1/2 and 2; e is biased by 1023, and converted to float by the bits of 2**52.
    bits = as_integer(x)
    e = logical_right(bits - _ROOT_OF_HALF_64 + _ONE_BITS_64, 52)
    m = as_float(bits - (e << 52) + _ONE_BITS_64)
    whole = as_float(e | _SPLIT_BITS) - (_SPLIT + 1023)
    s = (m - 1.0) / (m + 1.0)
    log = fma(s, polynomial(s * s, _LOG2), whole)
    t = larger(smaller(y * log, 200.0), -200.0)
    shifted = t + MAGIC_64
    rest = t - (shifted - MAGIC_64)
    return polynomial(rest, _EXP2) * as_float((as_integer(shifted) << 52) + _ONE_BITS_64)


# ----- Error functions ------------------------------------------------------------------------------------------------

_ERF_NEAR = (
    (0.1283791065216064, -0.3761262595653534, 0.1128358542919159, -0.026853810995817184, 0.005188327748328447)
    + (-0.0008010192541405559, 7.853857823647559e-05)
)  # fmt: skip
_ERF_FAR = (
    (-0.0001880402269307524, 1.1295784711837769, 0.6332198977470398, 0.10841857641935349, -0.025208257138729095)
    + (0.004204561933875084, -0.00044133636401966214, 2.1686850232072175e-05)
)  # fmt: skip


def erf(x: Value) -> Value:
    """The error function: for float32 a polynomial in x**2 up to 1, beyond it 1 - e**-Q(|x|)."""
    if x.is_double:
        return _erf_of_doubles(x)
    size = absolute(x)
    near = fma(size, polynomial(x * x, _ERF_NEAR), size)
    capped = at_most_number(size, 4.0)  # NaN stays
    far = 1.0 - exp_within(-polynomial(capped, _ERF_FAR))
    return with_sign_of(x, where(less(size, 1.0), near, far))


def _erf_of_doubles(x: Value) -> Value:
    """By the fits of kernels/special/error_functions.py: x + x * quotient near 0, else 1 - p**-16 for a polynomial p.

    Squaring q = p - 1 as (1 + q)**2 - 1 loses less than squaring p, which is near 1.
    """
    size = absolute(x)
    z = x * x
    below = (*error_functions.ERF_CENTRE_Q[::-1], 1.0)
    above = tuple([p - q for p, q in zip(error_functions.ERF_CENTRE_P[::-1], below, strict=False)])
    near = fma(size, polynomial(z, above) / polynomial(z, below), size)
    one, *rest = error_functions.ERF_TAIL[::-1]
    q = polynomial(at_most_number(size, 6.0), (one - 1.0, *rest))  # NaN stays
    for _ in range(4):
        q = fma(q, q, q + q)
    return with_sign_of(x, where(less(size, 1.125), near, 1.0 - 1.0 / (q + 1.0)))


def erfc(x: Value) -> Value:
    """1 - erf(x) of float32; beyond a half, where that would cancel, e**-x**2 * erfcx(x)."""
    far = clip(x, 0.0, 12.0)
    square = far * far
    lost = fma(far, far, -square)  # the rounding error of the square
    density = exp_below(-square)
    density = fnma(density, lost, density)
    k = error_functions.ERFCX32_K
    t = fma(1.0 / (far + k), -2.0 * k, 1.0)
    tail = density * polynomial(t, error_functions.ERFCX32[::-1]) / (far + 0.5)
    return where(greater(x, 0.5), tail, 1.0 - erf(x))


def erfinv(y: Value) -> Value:
    """The x with erf(x) = y, of float32: from y**2, or from the logarithm of 1 - |y| beyond three quarters; NaN beyond 1."""
    fits = error_functions
    size = absolute(y)
    centre = size * _quotient(fnma(y, y, 0.5625), fits.INV32_CENTRE_P, fits.INV32_CENTRE_Q)
    s = sqrt(-log(1.0 - size))
    tail = s * _quotient(s, fits.INV32_TAIL_P, fits.INV32_TAIL_Q)
    tail = where(equal(size, 1.0), full(y, INFINITY), tail)
    return with_sign_of(y, where(greater(size, 0.75), tail, centre))


def _quotient(x: Value, numerator: tuple[float, ...], denominator: tuple[float, ...]) -> Value:
    """The quotient of a polynomial and a monic polynomial, with their highest coefficients first."""
    return polynomial(x, numerator[::-1]) / polynomial(x, (*denominator[::-1], 1.0))


# ----- Remainders -----------------------------------------------------------------------------------------------------

_LARGE_QUOTIENT, _LARGE_QUOTIENT_64 = 2.0**28, 2.0**50


def fmod(x: Value, y: Value) -> Value:
    """The remainder of x / y, with the sign of x.

    float32 is computed in float64: a quotient that rounds to an integer is one, unless it has more digits than `_LARGE_QUOTIENT`,
    and the product with that integer is exact.
    """
    if x.is_double:
        return _fmod_of_doubles(x, y)
    left = with_sign_of(x, absolute(of_halves(lambda x, y: fnma(rounded(x / y, "trunc"), y, x), x, y)))
    large = greater(absolute(x), absolute(y) * _LARGE_QUOTIENT)
    left = where(large, full_bits(x, 0xFFFFFFFF), left)
    return where(less(absolute(x), absolute(y)), x, left)


def _fmod_of_doubles(x: Value, y: Value) -> Value:
    """Exact: the rounded quotient, truncated, is the right integer or the next one; the remainder, before and after adding y
    back, is a multiple of the last place of y, and no larger than y, so nothing is rounded."""
    size, step = absolute(x), absolute(y)
    left = fnma(rounded(size / step, "trunc"), step, size)
    left = left + only(less(left, 0.0), step)
    left = where(greater(size, step * _LARGE_QUOTIENT_64), full_bits(x, (1 << 64) - 1), left)
    return where(less(size, step), x, with_sign_of(x, left))


def _has_wrong_sign(left: Value, y: Value) -> Value:
    """The mask of remainders that are not 0 and do not have the divisor's sign."""
    return not_equal(left, 0.0) & (less(left, 0.0) ^ less(y, 0.0))


def remainder(x: Value, y: Value) -> Value:
    """The remainder of x / y, with the sign of y."""
    left = fmod(x, y)
    return where(_has_wrong_sign(left, y), left + y, left)


def floor_divide(x: Value, y: Value) -> Value:
    """The largest integer not above x / y, from the remainder, as in PyTorch."""
    left = fmod(x, y)
    quotient = (x - left) / y - only(_has_wrong_sign(left, y), full(x, 1.0))
    below = rounded(quotient, "floor")
    below = below + only(greater(quotient - below, 0.5), full(x, 1.0))
    sign = full(x, 0.0)
    below = where(equal(quotient, 0.0), with_sign_of(x / y, sign), below)
    return where(equal(y, 0.0), x / y, below)


def lowest_words(halves: Halves) -> Value:
    """The lower 32 bits of each lane of two vectors of 64 bits."""
    whole = Type.of("i32", 2 * halves[0].type.lanes)
    low, high = (Value(v.build, v.build.op("bitcast", whole, v.op)) for v in halves)
    return low.made("evens", high)
