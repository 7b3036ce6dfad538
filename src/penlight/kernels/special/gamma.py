"""The logarithm of the gamma function and its derivatives: gammaln, multigammaln, digamma, polygamma, and zeta.

See Note [How the special functions are evaluated] in special/common.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .. import executable, special
from ..numpy_warnings import silent
from ..rows import in_float32
from ..scalars import apply, constant, elementwise
from .common import Array, chosen, corrected, fraction, natively, one_by_one, over_arrays, rational, rounded, unary

Function = Callable[[Array], Array]
_HALF_LOG_TWO_PI_LESS_HALF = 0.4189385332046727

# fmt: off
# gammaln(x) / ((x - 1) (x - 2)) in x on [1, 2.5], so that the zeros at 1 and 2 are exact.
LOG_GAMMA_P = (
    0.008878679937964104, 3.7701547089633256, 93.61874882545783, 597.4629567708714, 1277.6895897242966,
    958.1204117052647, 228.5505476404036, 11.344904964463668,
)
LOG_GAMMA_Q = (
    42.84587905088744, 446.13889698163604, 1596.571923602419, 2161.792153871045, 1074.4943713833086,
    165.35321005955296, 4.665914101442042,
)
# x times the remainder of Stirling's formula (x - 1/2) log(x) - x + log(2 pi) / 2, in 1/x**2 for x >= 2.5.
STIRLING_P = (
    -0.0007254937290866027, 0.07140655903205423, 0.47444944074073647, 0.6146182372791301, 0.22936680986092076,
    0.022879626462672,
)
STIRLING_Q = (5.917882410569529, 7.464855818597327, 2.7615535689157653, 0.2745555175520645)
# digamma(x) / (x - root) in x on [1, 2.5]; the root in two parts.
_DIGAMMA_ROOT, _DIGAMMA_ROOT_LOW = 1.4616321449683622, 9.549995429965697e-17
_DIGAMMA_P = (
    0.008414979787743266, 4.835600577794003, 152.47284950946832, 1325.5378801849727, 4181.280921477074,
    4847.457447699986, 1541.1775792327753,
)
_DIGAMMA_Q = (
    47.35185245672274, 574.6525588539585, 2519.873205839342, 4243.774137816267, 2252.633274511951,
    0.00012241744203427931,
)
# (log(x) - 1/(2x) - digamma(x)) x**2 in 1/x**2 for x >= 2.5.
_DIGAMMA_LARGE_P = (
    -0.001379835609162957, 0.05874375980272885, 0.35011350490077725, 0.3976204473193083, 0.13259462411072556,
    0.012048434930680385,
)
_DIGAMMA_LARGE_Q = (4.624646179109406, 4.925119910380054, 1.6055936112347806, 0.14458121916819489)
# trigamma(x) in x on [1, 2.5], and (trigamma(x) - 1/x - 1/(2 x**2)) x**3 in 1/x**2 beyond.
_TRIGAMMA_P = (
    -1.2601433612097479e-08, 3.7705168081999e-07, 0.9999946457048564, 4.395061663097324, 8.41242924955305,
    8.49474116237821, 4.696269363285179, 1.3374941747647338,
)
_TRIGAMMA_Q = (
    3.895013632808494, 6.298561147449608, 4.694830189311237, 1.3378686959197001, -6.191282068300585e-05,
    4.905076919286106e-06,
)
_TRIGAMMA_LARGE_P = (
    0.06455073860788468, 1.013377538999206, 2.100554975180794, 1.2740088892365924, 0.2661328155335297,
    0.016552452752679272,
)
_TRIGAMMA_LARGE_Q = (8.018863041398767, 13.982880818117017, 7.95319748682561, 1.616659836500226, 0.09931471651608337)
# Roots of log|gamma|, each as a sum of two numbers, and the Taylor coefficients there, from the first derivative on.
_GAMMALN_ROOTS = np.array((
    (-2.4570247382208006, -3.7075610815513266e-17, 1.5156034480216574, 4.8583209516339965, 1.41129114307798, 8.721782583815346,
     5.800414566599873, 24.824942121894072, 24.038823062292956, 82.22915682704253, 100.6481235455116),
    (-2.7476826467274127, 9.055340329338315e-17, -1.9143501856115988, 9.575189475709667, -20.095134916842603, 62.627282713513715,
     -194.76615530344623, 646.9059997129283, -2193.112776480624, 7610.397986658329, -26804.57842061811),
    (-3.14358088834998, -2.1818179852331714e-16, 7.781884658131351, 25.831338372387957, 112.268986297176, 588.8907422380014,
     3277.1937854953417, 19023.061984356358, 113559.66423713516, 692049.6022897746, 4284377.443645979),
    (-3.955294284858598, -1.999428391746348e-17, -20.725060845803707, 251.7146825868894, -3730.6047156806126, 62588.08191876606,
     -1119991.501665522, 20877114.726503327, -400276998.18746364, 7834398183.738318, -155772242416.57217),
    (-4.039361839740537, 2.1143995503980602e-16, 26.790480886140593, 324.25532293784715, 5465.691820777134, 104145.55520145541,
     2116669.417577535, 44812215.95015571, 975830163.5382146, 21692364960.71331, 489867910498.2002),
    (-4.991544640560048, 1.5174411760571722e-16, -116.53578161624363, 6995.235954894064, -551419.9978512884, 48911582.709059045,
     -4627747171.739249, 456096042262.1976, -46235700276520.07, 4784685740359657.0, -5.030009689871695e+17),
    (-5.0082181683225935, -4.3926353491015815e-17, 123.3621845633534, 7404.762432228682, 600556.168452811, 54807486.35665586,
     5335250743.384385, 541001609074.7738, 56425671356242.34, 6007721002863435.0, 6.498037320929976e+17),
    (-5.998607480080875, -3.311862478893795e-16, -716.2454304275473, 257851.58963956262, -123445282.15783688, 66486633581.99334,
     -38196442388133.234, 2.2858106530205276e+16, -1.4069933557931436e+19, 8.840944889988646e+21, -5.643450820388608e+24),
    (-6.001385294453155, 6.415847287933042e-17, 723.7366299252801, 260548.41030309396, 125386984.94090366, 67884656938.77096,
     39203019565186.83, 2.3582843991458176e+16, 1.4591747070346195e+19, 9.216653295242381e+21, 5.913963409167623e+24),
))
# fmt: on


def gammaln(x: Array) -> Array:
    """The logarithm of |gamma(x)|. Derivative: digamma(x)."""
    result = _gammaln_anywhere(x)
    if x.dtype.char == "d" and type(result) is np.ndarray:
        _correct_near_roots(x, result)
    return result


def _correct_near_roots(x: Array, result: Array) -> None:
    """Between -6.1 and -2.4 two large terms cancel in the reflection, so close to a root a Taylor series is more accurate."""
    near = (x > -6.1) & (x < -2.4)
    if not near.any():
        return
    z = x[near]
    which = np.abs(z[:, None] - _GAMMALN_ROOTS[:, 0]).argmin(1)
    root, rest, *series = _GAMMALN_ROOTS[which].T
    step = (z - root) - rest
    value = np.zeros_like(z)
    for coefficient in reversed(series):
        value = (value + coefficient) * step
    pole = np.abs(root - np.rint(root))
    result[near] = np.where(np.abs(step) < pole / 32, value, result[near])


def _gammaln_anywhere(x: Array) -> Array:
    if x.dtype.char == "f":  # for float64 the C library is not accurate enough
        made = natively(_gammaln, x)
        made = one_by_one(math.lgamma, x) if made is None else made
        if made is not None:
            return made
    return unary(_gammaln, x, wide=True)


def _gammaln(x: Array, out: Array) -> None:
    _reflect(x, out, _gammaln_small, _gammaln_large, _gammaln_reflection, -1.0)


def _reflect(x: Array, out: Array, small: Function, large: Function, reflection: Function, sign: float) -> None:
    """Fill `out` with `small(x)` below 2.5 and `large(x)` from there on; for negative x with `reflection(x)` plus the sign times the same
    of 1 - x, or infinity if the former is."""

    def positive(x: Array) -> Array:
        below = x < 2.5
        return chosen(x, (below, small), (~below, large))

    if type(x) is np.ndarray:
        index = (x < 0.0).nonzero()[0]
        if not index.size:
            out[...] = positive(x)
            return
        y, negative = x.copy(), x.take(index)
        y[index] = 1.0 - negative
        out[...] = positive(y)
        part = reflection(negative)
        out[index] = np.where(part == np.inf, np.inf, part + sign * out.take(index))
        return
    part = reflection(x)
    below = x < 0.0
    result = positive(np.where(below, 1.0 - x, x))
    there = np.where(part == np.inf, np.inf, part + sign * result)
    out[...] = np.where(below, there, result)


def _gammaln_reflection(x: Array) -> Array:
    """By gamma(x) gamma(1 - x) = pi / sin(pi x)."""
    f = np.abs(fraction(x))
    s = np.where(f < 1e-9, f, np.sin(np.pi * f) * (1.0 / np.pi))
    return np.where((f == 0.0) | np.isinf(x), np.inf, -np.log(s))


def _gammaln_small(x: Array) -> Array:
    """0 <= x < 2.5; below one, gamma(x) = gamma(x + 1) / x."""
    below = x < 1.0
    less_one = np.where(below, x, x - 1.0)  # the argument minus one, exactly
    result = rational(LOG_GAMMA_P, LOG_GAMMA_Q, x + below)
    result *= less_one
    np.subtract(1.0, less_one, less_one)
    result *= less_one
    np.subtract(0.0, result, result)  # not a negation: torch has the positive zero at 1 and 2
    return corrected(result, below, x, lambda v: -np.log(v))


def _gammaln_large(x: Array) -> Array:
    result = np.log(x)
    result -= 1.0
    result *= x - 0.5
    rest = stirling_remainder(x)
    rest += _HALF_LOG_TWO_PI_LESS_HALF
    result += rest
    return result


def stirling_remainder(x: Array) -> Array:
    """gammaln(x) less Stirling's (x - 1/2) log(x) - x + log(2 pi) / 2, for x >= 2.5."""
    r = 1.0 / x
    u = r * r
    rest = rational(STIRLING_P, STIRLING_Q, u)
    rest *= r
    return rest


@in_float32
def multigammaln(x: Array, p: int) -> Array:
    """The logarithm of the multivariate gamma function. Derivative: sum of digamma(x - j/2) for j < p."""
    shifted = x[..., np.newaxis] - 0.5 * np.arange(p, dtype=x.dtype)
    total = gammaln(shifted).sum(axis=-1, dtype=x.dtype)
    return np.asarray(total + x.dtype.type(p * (p - 1) * 0.25 * math.log(math.pi)))


@over_arrays(wide=True)
def digamma(x: Array, out: Array) -> None:
    """The logarithmic derivative of gamma. Derivative: polygamma(1, x)."""
    _reflect(x, out, _digamma_small, _digamma_large, _digamma_reflection, 1.0)


def digamma_of_number(x: float) -> float:
    """`digamma` of one number, which is positive."""
    value = digamma_from_one(x + 1.0 if x < 1.0 else x)
    return value - 1.0 / x if x < 1.0 else value


def digamma_from_one(x: float) -> float:
    """`digamma` of one number, which is at least 1."""
    if x < 2.5:
        return rational(_DIGAMMA_P, _DIGAMMA_Q, x) * ((x - _DIGAMMA_ROOT) - _DIGAMMA_ROOT_LOW)
    r = 1.0 / x
    return math.log(x) - (rational(_DIGAMMA_LARGE_P, _DIGAMMA_LARGE_Q, r * r) * (r * r) + 0.5 * r)


def _digamma_reflection(x: Array) -> Array:
    f = fraction(x)
    angle = np.pi * f
    return np.where(f == 0.0, np.nan, -np.pi * np.cos(angle) / np.sin(angle))


def _digamma_small(x: Array) -> Array:
    """0 <= x < 2.5, the sign of a zero included; below one, digamma(x) = digamma(x + 1) - 1/x."""
    below = x < 1.0
    y = x + below
    result = rational(_DIGAMMA_P, _DIGAMMA_Q, y)
    y -= _DIGAMMA_ROOT
    y -= _DIGAMMA_ROOT_LOW
    result *= y
    return corrected(result, below, x, lambda v: -1.0 / v)


def _digamma_large(x: Array) -> Array:
    r = 1.0 / x
    u = r * r
    result = rational(_DIGAMMA_LARGE_P, _DIGAMMA_LARGE_Q, u)
    result *= u
    r *= 0.5
    result += r
    return np.subtract(np.log(x), result, result)


def polygamma(n: int, x: Array) -> Array:
    """The n-th derivative of digamma, n >= 0. Derivative: polygamma(n + 1, x)."""
    if n < 0:
        raise RuntimeError("polygamma(n, x) does not support negative n.")
    if n <= 1:
        return _trigamma(x) if n else digamma(x)
    wide = x.astype(np.float64, copy=False)
    factor = (-1.0) ** (n + 1) * (float(math.factorial(n)) if n <= 170 else math.inf)
    order = constant(n + 1.0, wide.dtype)
    if executable.backend() is None:
        with silent():
            result = special.zeta(order, wide) * factor
    else:
        result = apply(_polygamma, order, wide, constant(factor, wide.dtype))
    return result if x.dtype == np.float64 else rounded(result, x.dtype)


@elementwise
def _polygamma(s: float, x: float, factor: float) -> float:
    return zeta_of_number(s, x) * factor


@over_arrays(wide=True)
def _trigamma(x: Array, out: Array) -> None:
    _reflect(x, out, _trigamma_small, _trigamma_large, _trigamma_reflection, -1.0)


def _trigamma_reflection(x: Array) -> Array:
    """Infinity at the poles; torch, which does not reduce the argument of the sine, has large numbers there."""
    s = np.sin(np.pi * fraction(x)) / np.pi
    return 1.0 / s / s


def _trigamma_small(x: Array) -> Array:
    """0 <= x < 2.5; below one, trigamma(x) = trigamma(x + 1) + 1/x**2."""
    below = x < 1.0
    result = rational(_TRIGAMMA_P, _TRIGAMMA_Q, x + below)
    return corrected(result, below, x, lambda v: 1.0 / v / v)


def _trigamma_large(x: Array) -> Array:
    r = 1.0 / x
    u = r * r
    result = rational(_TRIGAMMA_LARGE_P, _TRIGAMMA_LARGE_Q, u)
    result *= r
    result += 0.5
    result *= u
    result += r
    return result


# ----- The Hurwitz zeta function --------------------------------------------------------------------------------------
# It is computed in float64, of each element what its region takes: Note [Functions of scalars] in kernels/scalars.py.


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
