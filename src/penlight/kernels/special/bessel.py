"""Oscillating Bessel functions: bessel_j0, bessel_j1, bessel_y0, bessel_y1, spherical_bessel_j0, and airy_ai.

See Note [How the special functions are evaluated] in special/common.py. All are computed in float64.
"""

from __future__ import annotations

import math

import numpy as np

from ..fma import product_error
from ..scalars import apply, elementwise
from .common import Array, horner, over_arrays, piecewise, rational

_TWO_OVER_PI = 0.6366197723675814
_SQRT_PI = 1.772453850905516
_HALF_OVER_ROOT_PI, _ROOT_HALF_OVER_ROOT_PI = 0.5 / _SQRT_PI, math.sqrt(0.5) / _SQRT_PI

# Note [Bessel functions of the first and second kind]
# Up to 8: J is its first two zeros times a polynomial in 1 - x**2 / 64, whose coefficients are all positive (the zeros in
# two parts, so that the relative accuracy holds at them); Y is 2/pi log(x) J, the pole, and a polynomial in
# x**2 / 32 - 1. Beyond: J and Y are the real and the imaginary part of sqrt(2 / (pi x)) (P + i Q) exp(i angle), where
# angle = x - pi/4 - order pi/2, and P and x Q are rational in (8/x)**2. The shift by pi/4 is expanded, so that only x
# itself is reduced modulo pi, which NumPy does exactly.
# fmt: off
_J0_ZEROS = ((2.404825557695773, -1.176691651530894e-16), (5.520078110286311, 8.088597146146722e-17))
_J1_ZEROS = ((3.8317059702075125, -1.5269184090088067e-16), (7.015586669815619, -9.414165653410389e-17))
_J0 = (
    9.903217447307593e-11, 7.508269487382181e-10, 9.998514039195434e-09, 9.574892761336324e-08,
    7.896716349435465e-07, 5.372900112970742e-06, 2.9604902080312446e-05, 0.00012855143259146848,
    0.00042460927106351696, 0.001016282304025924, 0.0016415498481618272, 0.001594526960180001,
    0.0007453607032954461, 8.793873470842997e-05,
)
_J1 = (
    3.136428460239638e-12, 2.6233234797779287e-11, 3.704023222800534e-10, 3.8533287593916015e-09,
    3.466702939919669e-08, 2.5974596602916674e-07, 1.5936461121832129e-06, 7.81581209112564e-06,
    2.971249263623971e-05, 8.402550596263958e-05, 0.00016677846521644314, 0.00021255683740963843,
    0.00014890865399199948, 4.0232757124382825e-05,
)
_Y0 = (
    -8.841785374289589e-13, 2.6926938236725185e-11, -7.130454769850066e-10, 1.639087501338213e-08,
    -3.218507855478626e-07, 5.321318810400809e-06, -7.279541882361973e-05, 0.0008061586059616353,
    -0.0070257410572714014, 0.046367047681375125, -0.21895747096171617, 0.6721770783431679, -1.0775477338215995,
    0.14412632369302475, 1.6470964788745466, -0.8284358903604587, -0.382250654459425,
)
_Y1 = (
    8.761820925427772e-13, -2.4995315072527074e-11, 6.169681206433972e-10, -1.3153147368885885e-08,
    2.3804930522902705e-07, -3.601000022587962e-06, 4.467433012568011e-05, -0.00044381734344201576,
    0.0034224907399191718, -0.01962875683311711, 0.07854786922242525, -0.19639839859930203, 0.23507209206669755,
    0.02336757172099348, -0.24337743079193114, 0.07075985882118005,
)
_P0_P = (
    0.8883133089312355, 156.83354560190458, 3642.8379202652927, 22799.235531905728, 45906.65784520787,
    26112.561522084437,
)
_P0_Q = (160.32718628490952, 3666.7398440593556, 22848.986625224105, 45935.345962114436, 26112.561522084437)
_Q0_P = (
    0.0002141848540005975, -0.09090512111746327, -5.287639392484834, -60.76100199420123, -226.09426432298613,
    -301.4114265526027, -121.8621303397919,
)
_Q0_Q = (46.19978345714273, 501.8244217392236, 1830.4794263393596, 2420.2168614203124, 974.8970427183352)
_P1_P = (
    1.2605988087497855, 215.6449235286557, 5219.395567474346, 33759.39182755295, 69640.6833506704,
    40339.61568566305,
)
_P1_Q = (207.21742706517628, 5160.155828934371, 33633.43129252376, 69566.81930827725, 40339.61568566305)
_Q1_P = (
    -0.0003617236515790203, 0.32199852375843385, 17.628131535083057, 203.64397403087963, 767.2635590812481,
    1035.3414336631215, 423.0441707579198,
)
_Q1_Q = (49.04339113458478, 551.364893048022, 2057.6487658552523, 2765.730328953389, 1128.117788687786)

# Airy: Ai(x) / (x - zero) in x/2 + 1 on [-4, 0]; Ai(x) on [0, 2]; beyond, with z = 2/3 |x|**(3/2), the factor of
# exp(-z) / (2 sqrt(pi) x**(1/4)) in 1/z, and the P and z Q of the oscillation in 1/z**2.
_AIRY_ZERO, _AIRY_ZERO_LOW = -2.338107410459767, -3.912260409818305e-17
_AIRY_NEGATIVE = (
    1.0770303786477403e-11, 5.952283720781498e-11, -4.897737900133975e-10, 1.0819357100572186e-10,
    8.016788778680118e-09, -2.770926942460724e-08, -2.7706114647653068e-08, 4.772926256044313e-07,
    -1.1182793366270472e-06, -2.544930707536636e-06, 2.013377489358272e-05, -2.806066650422013e-05,
    -0.00012448053797900434, 0.0005617421558194244, -0.00029397893056022216, -0.0035414547308439586,
    0.0093084294726618, 0.003255329568280814, -0.05497539546961195, 0.07462755895969389, 0.1070434325090695,
    -0.3882622205176224, 0.15280738795972038, 0.6895499296422842, -0.7893113794014979, -0.3213788431354376,
    0.6725893049562303,
)
_AIRY_MIDDLE_P = (
    -0.03432262675839765, 1.2695698736709153, -19.1451471140685, 141.26593287036468, -381.4249739796519,
    -1524.8781279227678, 13712.16419631794, -25270.43064432076, -51357.88500865332, 180733.0810155503,
)
_AIRY_MIDDLE_Q = (
    9.260843941121005, 115.39804182970909, 750.6023872389104, 5101.849013970466, 22240.343711747024,
    93910.89525164211, 226456.8736557944, 509067.0414250105,
)
_AIRY_POSITIVE_P = (
    0.5819543677537685, 27.647603089089763, 245.38791711246802, 772.8905394456428, 1087.1903675153994,
    753.3452130396889, 262.99956023576055, 43.65259572349484, 2.6990740566892724,
)
_AIRY_POSITIVE_Q = (
    35.2654914706996, 279.2731177693665, 830.8102277054775, 1132.3171971235424, 770.2881439670895,
    265.9437808291222, 43.84003142187601, 2.6990740566892724,
)
_AIRY_COS_P = (
    0.9234974370014962, 3.8103658719840348, 2.3348341137489586, 0.42293875402737097, 0.028101332756390214,
    0.0007071624419994272, 5.549936549347085e-06,
)
_AIRY_COS_Q = (
    3.879489680694341, 2.349144292578471, 0.42394405711651917, 0.02812727986763731, 0.0007073685304997637,
    5.549936549347085e-06,
)
_AIRY_SIN_P = (
    -0.0037158339263539406, 0.04382936339174478, 0.08462194074161848, 0.03437356883144142, 0.005048734603333121,
    0.0003202570225370962, 9.263375321118586e-06, 1.1711854272277459e-07, 5.116008351303076e-10,
)
_AIRY_SIN_Q = (
    1.423950259149836, 0.5296424754182916, 0.07505906638231329, 0.004682446318465313, 0.0001343051813606335,
    1.6905375297502734e-06, 7.36705202587643e-09,
)
# fmt: on


def _vanishing(x: Array, zeros: tuple[tuple[float, float], ...], coefficients: tuple[float, ...]) -> Array:
    """The even function with these positive zeros that has the given polynomial as its cofactor."""
    result = horner(coefficients, 1.0 - x * x * 0.015625)
    for high, low in zeros:
        result *= (x - high) - low
        result *= x + high
    return result


def _oscillation(x: Array, order: int) -> tuple[Array, Array]:
    """J and Y of order 0 or 1 for x >= 8."""
    u = 64.0 / x / x
    s, c = np.sin(x), np.cos(x)
    both, difference = s + c, s - c
    scale = 1.0 / (_SQRT_PI * np.sqrt(x))
    if order == 0:
        p, q = rational(_P0_P, _P0_Q, u), rational(_Q0_P, _Q0_Q, u) / x
        return (p * both - q * difference) * scale, (p * difference + q * both) * scale
    p, q = rational(_P1_P, _P1_Q, u), rational(_Q1_P, _Q1_Q, u) / x
    return (p * difference + q * both) * scale, (q * difference - p * both) * scale


@over_arrays(wide=True)
def bessel_j0(x: Array, out: Array) -> None:
    """The Bessel function of the first kind of order zero. Derivative: -bessel_j1(x)."""
    x = np.abs(x)
    small = x < 8.0
    piecewise(x, out, (small, lambda v: _vanishing(v, _J0_ZEROS, _J0)), (~small, lambda v: _oscillation(v, 0)[0]))


@over_arrays(wide=True)
def bessel_j1(x: Array, out: Array) -> None:
    """The Bessel function of the first kind of order one. Derivative: bessel_j0(x) - bessel_j1(x) / x."""
    y = np.abs(x)
    small = y < 8.0
    piecewise(y, out, (small, _j1_small), (~small, lambda v: _oscillation(v, 1)[0]))
    out[...] = np.copysign(1.0, x) * out


def _j1_small(x: Array) -> Array:
    return x * _vanishing(x, _J1_ZEROS, _J1)


@over_arrays(wide=True)
def bessel_y0(x: Array, out: Array) -> None:
    """The Bessel function of the second kind of order zero; NaN for x < 0. Derivative: -bessel_y1(x)."""
    small = x < 8.0
    piecewise(x, out, (small, _y0_small), (~small, lambda v: _oscillation(v, 0)[1]))


def _y0_small(x: Array) -> Array:
    result = np.log(x)
    result *= _vanishing(x, _J0_ZEROS, _J0)
    result *= _TWO_OVER_PI
    result += horner(_Y0, x * x * 0.03125 - 1.0)
    return np.where(x == 0.0, -np.inf, result)


@over_arrays(wide=True)
def bessel_y1(x: Array, out: Array) -> None:
    """The Bessel function of the second kind of order one; NaN for x < 0. Derivative: bessel_y0(x) - bessel_y1(x) / x."""
    small = x < 8.0
    piecewise(x, out, (small, _y1_small), (~small, lambda v: _oscillation(v, 1)[1]))


def _y1_small(x: Array) -> Array:
    result = np.log(x)
    result *= _j1_small(x)
    result -= 1.0 / x
    result *= _TWO_OVER_PI
    result += x * horner(_Y1, x * x * 0.03125 - 1.0)
    return np.where(x == 0.0, -np.inf, result)


@over_arrays(wide=True)
def spherical_bessel_j0(x: Array, out: Array) -> None:
    """sin(x) / x, with its limits at zero and infinity. Derivative: (cos(x) - spherical_bessel_j0(x)) / x."""
    result = np.where(x == 0.0, 1.0, np.sin(x) / x)
    out[...] = np.where(np.isinf(x), 0.0, result)


def airy_ai(x: Array) -> Array:
    """The Airy function Ai. Its derivative Ai' is another function; Ai'' = x Ai."""
    return apply(_airy_ai, x)


@elementwise
def _airy_ai(x: float) -> float:
    if abs(x) == math.inf:
        return math.nan
    if x < -4.0:
        return _airy_negative(-x)
    if x < 0.0:
        return horner(_AIRY_NEGATIVE, 0.5 * x + 1.0) * ((x - _AIRY_ZERO) - _AIRY_ZERO_LOW)
    if x > 2.0:
        return _airy_positive(x)
    return rational(_AIRY_MIDDLE_P, _AIRY_MIDDLE_Q, x)


def _two_thirds_power(x: float) -> float:
    """2/3 x**(3/2), for x > 0."""
    return x * math.sqrt(x) / 1.5


def _two_thirds_low(x: float) -> float:
    """Its rounding error; an argument above 1e100 has no accuracy to keep."""
    root = math.sqrt(x)
    square, product, high = root * root, x * root, _two_thirds_power(x)
    root_low = 0.5 * ((x - square) - product_error(root, root, square)) / root
    low = product_error(x, root, product) + x * root_low
    check = high * 1.5
    return (((product - check) - product_error(high, 1.5, check)) + low) / 1.5


def _airy_positive(x: float) -> float:
    y = x if x < 1e4 else 1e4
    z = _two_thirds_power(y)
    scale = _HALF_OVER_ROOT_PI / math.sqrt(math.sqrt(x))
    return rational(_AIRY_POSITIVE_P, _AIRY_POSITIVE_Q, 1.0 / z) * scale * (1.0 - _two_thirds_low(y)) * math.exp(-z)


def _airy_negative(y: float) -> float:
    z, low = _two_thirds_power(y), _two_thirds_low(y)
    r = 1.0 / z
    u = r * r
    p, q = rational(_AIRY_COS_P, _AIRY_COS_Q, u), rational(_AIRY_SIN_P, _AIRY_SIN_Q, u) * r
    sine, cosine, sine_low, cosine_low = math.sin(z), math.cos(z), math.sin(low), math.cos(low)
    s = sine * cosine_low + cosine * sine_low
    c = cosine * cosine_low - sine * sine_low
    # sin and cos of z + pi/4, but for sqrt(1/2)
    return (p * (s + c) - q * (c - s)) * (_ROOT_HALF_OVER_ROOT_PI / math.sqrt(math.sqrt(y)))
