"""The error function and its relatives: erf, erfc, erfcx, erfinv, ndtri, log_ndtr.

See Note [How the special functions are evaluated] in special/common.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..fma import product_error
from .common import Array, as_it_is, chosen, horner, is_half, one_by_one, over_arrays, piecewise, rational, unary

_SQRT2 = 1.4142135623730951
_SQRT_HALF = 0.7071067811865476

# Note [erf in float32]
# With y = erf(x) / sqrt(1 - erf(x)**2), erf(x) = y / sqrt(1 + y**2): no exponential, no regions, and the sign comes by
# itself. y / x is a power series in x**2 that grows like exp(x**2 / 2), so its square root is already a polynomial of
# degree five to float32's accuracy. Scaled to be monic, that makes 17 passes (and `clip` takes half the
# time of a minimum or a maximum). The weight of the fit is relative error
# times 1 + 4 exp(-x**2), because rounding errors of the square add most near zero. Past |x| = 3.92 the result rounds to
# one, so clamping to 4 only keeps y**2 finite.
_ERF32 = (1.6016985177993774, 148.76852416992188, 1841.7392578125, 11564.591796875, 76261.4609375)
_ERF32_ONE = 2.6565034356882014e19

# The same for (1 + erf(x / sqrt(2))) / 2: the polynomial in x**2 / 2 is made monic in x**2, which scales y by 2**10.5.
_CDF32 = tuple(np.float32(c * 2.0 ** (i + 1)) for i, c in enumerate(_ERF32))
_CDF32_ONE = np.float32(_ERF32_ONE * 2.0**21)
_CDF32_END = 5.656854
# The slope of gelu, Phi(x) + x phi(x), less a half: x times a quotient of polynomials in x**2, within 1.4e-7 for |x| <= 6.
SLOPE32_END = 6.0
_SLOPE32_P = tuple(map(np.float32, (0.02147798, 4.033831, 2.7211795, 1598.7861, -3459.1863, 89776.28)))
_SLOPE32_Q = tuple(map(np.float32, (21.77446, 397.04892, 4620.5137, 33170.914, 112517.89)))
_HALF32, _ONE32 = np.float32(0.5), np.float32(1.0)

# fmt: off
# float64: erf(x) / x in x**2 for |x| < 1.125, and (1 - erf(x))**(-1/16) in x up to 6, fitted for the accuracy of erf.
ERF_CENTRE_P = (
    0.010588794052511409, 9.194686910313186, 90.51861515933004, 2099.294697305053, 6694.537324831722,
    51674.115548531445,
)
ERF_CENTRE_Q = (32.741529927459126, 499.75970679448307, 4346.911145981474, 21197.876746736285, 45794.99254806558)
ERF_TAIL = (
    2.6910598593493853e-11, -8.465543461944892e-10, 1.378208775845699e-08, -1.4203482108806459e-07,
    1.0534122893869847e-06, -5.672707113433389e-06, 2.370566613692314e-05, -6.581056242709125e-05,
    0.00014777884231873464, 0.00019126470376012433, 0.0001797728590298717, 0.009270833438400107,
    0.04228202690518635, 0.07052215574792021, 1.0000001709514388,
)

# (x + 1/2) erfcx(x) for all x >= 0, as a polynomial in t = 1 - 2 k / (x + k), which maps [0, inf] to [-1, 1].
ERFCX_K = 3.5
ERFCX = (
    -5.690614964905428e-10, 3.3636882167359953e-11, 6.734828320762455e-09, 3.1416339085259184e-10,
    -4.801150909830306e-08, -4.263163257448401e-09, 3.00479531607586e-07, -2.1601762986094523e-08,
    -1.906779078291734e-06, 1.163710361199508e-06, 1.2130022251130291e-05, -2.139089320021055e-05,
    -6.0756013186197135e-05, 0.0002821921411255108, -0.00015113398786041526, -0.002107509941469202,
    0.009549665478232317, -0.024411662915252888, 0.04399157691189206, -0.057544799080026916, 0.04875954757664811,
    -0.005277798166110561, -0.0700045900688099, 0.6211746224355772,
)
ERFCX32_K = 2.5
ERFCX32 = (
    -3.0730356e-05, 0.00020244255, 0.00022876047, -0.0020894632, 0.0004757414, 0.01633831, -0.051486026, 0.07882227,
    -0.04951204, -0.06117874, 0.6324191,
)

# erfinv(y) / y in 9/16 - y**2 for |y| < 3/4; with s = sqrt(-log(q)), erfcinv(q) / s in s on [1.15, 3], [3, 8], [8, 27.5].
_INV_CENTRE_P = (
    0.17605424821655383, 8.64242545240782, 65.46007350203075, 169.02195535926458, 186.47757888417124,
    90.80106825919562, 16.0336655453048,
)
_INV_CENTRE_Q = (
    20.60214189754533, 107.61469364197114, 222.13113363563681, 210.19079974279825, 91.3905362529628,
    14.783569880295365,
)
_INV_NEAR_P = (
    1.0000853796436426, 20.42421547582746, 96.95722829141506, 156.746066226237, 157.80145632179912,
    115.45773900182772, 51.124342334833635, 14.443528989123747, -0.007591657500410714,
)
_INV_NEAR_Q = (
    20.43513756622263, 99.23469523326904, 185.22889951486133, 237.8185746558828, 209.04975900412293,
    137.1252407031681, 58.143136369879095, 16.204403368688684,
)
_INV_FAR_P = (
    1.0000048293874921, 94.7311386909126, 2289.7951697221392, 18283.275139901427, 48453.101681959044,
    40712.85155724169, 31306.844125046242, 12521.846969598835, 148.39094847308098,
)
_INV_FAR_Q = (
    94.73367795692886, 2292.818776053417, 18489.941373625912, 52114.87509034908, 60562.934882816015,
    61182.29562083475, 31551.279071006167, 15280.458913488239,
)
_INV_EXTREME_P = (
    1.0000006359061355, 282.3314720356456, 21916.59638431018, 631541.064165294, 7348180.062880912,
    33630915.71452695, 50715264.127065554, 10638020.126194539, 2385236.5920905485,
)
_INV_EXTREME_Q = (
    282.3323718667633, 21920.151335025424, 632315.7005345213, 7396454.255886414, 34731171.14094899,
    60302268.02647174, 39606771.1316243, 22762919.957465246,
)
INV32_CENTRE_P = (0.28847492, 3.9001267, 6.7549357, 2.6253684)
INV32_CENTRE_Q = (5.979142, 7.483994, 2.4206765)
INV32_TAIL_P = (1.0002434, 9.73705, 17.664515, 9.043815, 4.6132107, -0.09765304)
INV32_TAIL_Q = (9.75661, 19.614624, 18.629795, 12.451644, 4.449822)
# fmt: on


def erf(x: Array) -> Array:
    """The error function. Derivative: 2/sqrt(pi) exp(-x**2)."""
    if type(x) is not np.ndarray and hasattr(x, "special"):
        return x.special("erf")  # in a body that becomes machine code
    result = as_it_is(_erf_in_machine_code, x)
    result = one_by_one(math.erf, x) if result is None else result
    if result is not None:
        return result
    if is_half(x.dtype):
        return erf(x.astype(np.float32)).astype(x.dtype)
    return unary(_erf32 if x.dtype == np.float32 else _erf64, x)


def _erf_in_machine_code(x: Array, out: Array) -> None:
    out[...] = x.special("erf")  # type: ignore[attr-defined]  # see Note [Bodies as machine code]


def _erf32(x: Array, out: Array, end: float = 4.0, coefficients: Sequence[Any] = _ERF32, one: Any = _ERF32_ONE) -> None:
    x.clip(-end, end, out=out)
    squares = np.square(out)
    p = np.add(squares, coefficients[0])
    for c in coefficients[1:]:
        np.multiply(p, squares, p)
        np.add(p, c, p)
    np.square(p, p)
    np.multiply(out, p, out)
    np.square(out, squares)
    np.add(squares, one, squares)
    np.sqrt(squares, squares)
    np.divide(out, squares, out)


def normal_cdf32(x: Array, out: Array) -> None:
    """(1 + erf(x / sqrt(2))) / 2 of a float32 block, by the same formula with its constants scaled to x."""
    _erf32(x, out, _CDF32_END, _CDF32, _CDF32_ONE)
    np.add(out, _ONE32, out)
    np.multiply(out, _HALF32, out)


def gelu_slope32(x: Array, out: Array) -> None:
    """The derivative of x * normal_cdf(x) for a float32 block within +-SLOPE32_END."""
    squares = np.square(x)
    np.multiply(squares, _SLOPE32_P[0], out)
    for c in _SLOPE32_P[1:-1]:
        np.add(out, c, out)
        np.multiply(out, squares, out)
    np.add(out, _SLOPE32_P[-1], out)
    np.multiply(out, x, out)
    below = np.add(squares, _SLOPE32_Q[0])
    for c in _SLOPE32_Q[1:]:
        np.multiply(below, squares, below)
        np.add(below, c, below)
    np.divide(out, below, out)
    np.add(out, _HALF32, out)


def _erf64(x: Array, out: Array) -> None:
    centre = np.abs(x) < 1.125
    piecewise(x, out, (centre, _erf_centre), (~centre, _erf_tail))


def _erf_centre(x: Array) -> Array:
    result = rational(ERF_CENTRE_P, ERF_CENTRE_Q, x * x)
    result *= x
    return result


def _erf_tail(x: Array) -> Array:
    result = horner(ERF_TAIL, np.minimum(np.abs(x), 6.0))
    for _ in range(4):
        np.square(result, result)
    np.divide(-1.0, result, result)
    result += 1.0
    return np.copysign(result, x, result)


def erfcx_positive(x: Array) -> Array:
    """erfcx(x) for x >= 0, infinity included."""
    k, coefficients = (ERFCX32_K, ERFCX32) if x.dtype == np.float32 else (ERFCX_K, ERFCX)
    t = x + k
    np.divide(-2.0 * k, t, t)
    t += 1.0
    result = horner(coefficients, t)
    result /= np.add(x, 0.5, t)
    return result


def exp_square(x: Array, scale: float) -> Array:
    """exp(scale * x**2) for scale = +-1 or +-1/2, without the error that rounding a large x**2 would make."""
    x = x.clip(-60.0, 60.0)
    if x.dtype == np.float32:
        exact = np.square(x, dtype=np.float64)
        high = exact.astype(np.float32)
        exact -= high
        low = exact.astype(np.float32)
    else:
        high = x * x
        low = product_error(x, x, high)
    high *= scale
    np.exp(high, high)
    low *= scale
    low += 1.0
    high *= low
    return high


def erfc(x: Array) -> Array:
    """The complementary error function, 1 - erf(x), accurate in the tail. Derivative: -2/sqrt(pi) exp(-x**2)."""
    result = as_it_is(_erfc_in_machine_code, x) if x.dtype == np.float32 else None
    result = one_by_one(math.erfc, x, _erfc) if result is None else result
    return unary(_erfc, x, machine=True) if result is None else result


def _erfc_in_machine_code(x: Array, out: Array) -> None:
    out[...] = x.special("erfc")  # type: ignore[attr-defined]


def _erfc(x: Array, out: Array) -> None:
    tail = x > 0.5
    piecewise(x, out, (~tail, lambda v: 1.0 - erf(v)), (tail, _erfc_tail))


def _erfc_tail(x: Array) -> Array:
    result = exp_square(x, -1.0)
    result *= erfcx_positive(x)
    return result


@over_arrays(machine=True)
def erfcx(x: Array, out: Array) -> None:
    """The scaled complementary error function exp(x**2) erfc(x). Derivative: 2 x erfcx(x) - 2/sqrt(pi)."""
    negative = x < 0.0
    piecewise(x, out, (~negative, erfcx_positive), (negative, _erfcx_negative))


def _erfcx_negative(x: Array) -> Array:
    result = exp_square(x, 1.0)
    result *= 2.0
    result -= erfcx_positive(-x)
    return result


def _normal_tail(x: Array) -> Array:
    """The probability of a normal variate above x > 0."""
    result = exp_square(x, -0.5)
    result *= erfcx_positive(x * _SQRT_HALF)
    result *= 0.5
    return result


@over_arrays(machine=True)
def log_ndtr(x: Array, out: Array) -> None:
    """The logarithm of the normal distribution function. Derivative: sqrt(2/pi) / erfcx(-x / sqrt(2))."""
    low, high = x < -1.0, x > 1.0
    piecewise(
        x,
        out,
        (low, _log_ndtr_low),
        (high, lambda v: np.log1p(-_normal_tail(v))),
        (~(low | high), lambda v: np.log(0.5 + 0.5 * erf(v * _SQRT_HALF))),
    )


def _log_ndtr_low(x: Array) -> Array:
    result = np.log(0.5 * erfcx_positive(x * -_SQRT_HALF))
    result -= 0.5 * x * x
    return result


def erfinv(y: Array) -> Array:
    """The inverse of erf on [-1, 1]. Derivative: sqrt(pi)/2 exp(erfinv(y)**2)."""
    result = as_it_is(_erfinv_in_machine_code, y) if y.dtype == np.float32 else None
    return unary(_erfinv, y, machine=True) if result is None else result


def _erfinv_in_machine_code(y: Array, out: Array) -> None:
    out[...] = y.special("erfinv")  # type: ignore[attr-defined]


def _erfinv(y: Array, out: Array) -> None:
    centre = np.abs(y) <= 0.75
    piecewise(y, out, (centre, _erfinv_centre), (~centre, _erfinv_tail))


def _erfinv_centre(y: Array) -> Array:
    single = y.dtype == np.float32
    p, q = (INV32_CENTRE_P, INV32_CENTRE_Q) if single else (_INV_CENTRE_P, _INV_CENTRE_Q)
    result = rational(p, q, 0.5625 - y * y)
    result *= y
    return result


def _erfinv_tail(y: Array) -> Array:
    return np.copysign(_erfcinv(1.0 - np.abs(y)), y)


def _erfcinv(q: Array) -> Array:
    """The x with erfc(x) = q, for q <= 1/4; zero gives infinity and a negative q NaN."""
    s = np.sqrt(-np.log(q))
    if q.dtype == np.float32:
        result = rational(INV32_TAIL_P, INV32_TAIL_Q, s)
    else:
        far, extreme = s >= 3.0, s >= 8.0
        result = chosen(
            s,
            (~far, lambda v: rational(_INV_NEAR_P, _INV_NEAR_Q, v)),  # NaN, too
            (far & ~extreme, lambda v: rational(_INV_FAR_P, _INV_FAR_Q, v)),
            (extreme, lambda v: rational(_INV_EXTREME_P, _INV_EXTREME_Q, v)),
        )
    result *= s
    return np.where(q == 0.0, np.inf, result)


@over_arrays(wide=True)
def ndtri(p: Array, out: Array) -> None:
    """The inverse of the normal distribution function on [0, 1]. Derivative: sqrt(2 pi) exp(ndtri(p)**2 / 2)."""
    low, high = p < 0.125, p > 0.875
    piecewise(
        p,
        out,
        (~(low | high), lambda v: _SQRT2 * _erfinv_centre(2.0 * v - 1.0)),
        (low, lambda v: -_SQRT2 * _erfcinv(2.0 * v)),
        (high, lambda v: _SQRT2 * _erfcinv(2.0 * (1.0 - v))),
    )
