"""The regularised incomplete gamma functions, gammainc and gammaincc.

See Note [How the special functions are evaluated] in special/common.py. Both are computed in float64, of
each element what its region takes: Note [Functions of scalars] in `scalars`.
"""

from __future__ import annotations

import math

import numpy as np

from ..fma import product_error
from ..scalars import apply, constant, elementwise
from .common import Array, horner, rational
from .error_functions import ERFCX, ERFCX_K
from .gamma import LOG_GAMMA_P, LOG_GAMMA_Q, STIRLING_P, STIRLING_Q

# Note [The incomplete gamma functions]
# P = gammainc and Q = gammaincc = 1 - P. The smaller of the two is computed and the other is one minus it, by region:
#   uniform   a > 20 and |x - a| < 0.3 a: Temme's expansion, the normal distribution and a double series in 1/a and eta;
#   series    x <= 1.1 or x <= a: P as the power series of x**n / ((a + 1) ... (a + n));
#   small     x <= 1.1 and a so small that P is near one: Q by the alternating series in x;
#   fraction  the rest: Q as Legendre's continued fraction.
# Series and fraction have the common factor x**a exp(-x) / gamma(a + 1), which is,
# for a > 2.5, exp(-a phi) / (sqrt(2 pi a) gamma*(a)) with phi = m - log(1 + m) and m = x/a - 1: the exponent is that of
# the result, not the far larger a log(x).

_SINGLE = np.dtype(np.float32)
_COUNTS = {_SINGLE: 1e-10, np.dtype(np.float64): 1.1102230246251565e-16}  # the least part of a sum that counts
_SQRT_TWO_PI = 2.5066282746310002

# fmt: off
# (atanh(s) / s - 1) / s**2 in s**2 for |s| <= 1/2
_ATANH_P = (0.004905195192266784, -0.7638352425501356, 4.822033355859886, -8.88120962833577, 4.952028802824842)
_ATANH_Q = (-9.66484451436876, 29.433574330137564, -35.55728073008738, 14.856086408474518)
# the Taylor coefficients in eta of Temme's C_k, one row for each power of 1/a; they give 1e-17 for a > 20
_TEMME = (
    (
        -5.830772132550426e-11, -2.5514193994946248e-11, 9.14769958223679e-10, -4.382036018453353e-09,
        1.0261809784240309e-08, 6.707853543401498e-09, -1.7665952736826078e-07, 8.296711340953087e-07,
        -1.85406221071516e-06, -2.185448510679992e-06, 3.919263178522438e-05, -0.0001787551440329218,
        0.0003527336860670194, 0.0011574074074074073, -0.014814814814814815, 0.08333333333333333,
        -0.3333333333333333,
    ),
    (
        4.162792991842583e-10, -1.0091543710600413e-09, -1.7543241719747647e-11, 1.1951628599778148e-08,
        -5.752545603517705e-08, 1.378633446915721e-07, 4.647127802807434e-09, -1.6120900894563446e-06,
        7.64916091608111e-06, -1.8098550334489977e-05, -4.018775720164609e-07, 0.00020576131687242798,
        -0.0009902263374485596, 0.0026455026455026454, -0.003472222222222222, -0.001851851851851852,
    ),
    (
        -1.3670488396617114e-09, 6.228974084922022e-09, -1.409252991086752e-08, -2.0477098421990866e-10,
        1.4280614206064242e-07, -6.298992138380055e-07, 1.3721957309062934e-06, 3.423578734096138e-08,
        -1.2760635188618728e-05, 5.2923448829120125e-05, -0.0001073665322636516, 2.0093878600823047e-06,
        0.0007716049382716049, -0.0026813271604938273, 0.004133597883597883,
    ),
    (
        -1.9111168485973655e-08, 8.099464905388083e-08, -1.6958404091930278e-07, -2.7861080291528143e-11,
        1.4230900732435883e-06, -5.6749528269915965e-06, 1.1082654115347302e-05, -2.396505113867297e-07,
        -7.561801671883977e-05, 0.00026772063206283885, -0.0004691894943952557, 0.00022947209362139917,
        0.0006494341563786008,
    ),
    (
        -2.292934834000805e-07, 8.907507532205309e-07, -1.6954149536558305e-06, 2.507497226237533e-10,
        1.1375726970678419e-05, -3.968365047179435e-05, 6.641498215465122e-05, -1.4638452578843418e-06,
        -0.0002990724803031902, 0.0007840392217200666, -0.0008618882909167117,
    ),
    (
        3.4652846491085265e-07, -3.252473551298454e-10, -2.291481176508095e-06, 8.018470256334202e-06,
        -1.3594048189768693e-05, 1.419062920643967e-07, 6.797780477937208e-05, -0.00019932570516188847,
        0.0002772753244959392, -6.972813758365857e-05, -0.00033679855336635813,
    ),
    (
        -2.0291327396058603e-06, 3.465155368803609e-06, -3.0796134506033047e-09, -1.8329116582843375e-05,
        5.61168275310625e-05, -8.153969367561969e-05, 7.902353232660328e-07, 0.0002708782096718045,
        -0.0005921664373536939, 0.0005313079364639922,
    ),
    (
        -1.8263488805711332e-05, 2.7744451511563645e-05, -1.2741009095484485e-07, -0.00010976582244684731,
        0.0002812695154763237, -0.00033493161081142234, 5.171790908260592e-05, 0.00034436760689237765,
    ),
    (
        4.629953263691304e-05, -0.00012783517679769218, 0.00016644846642067547, -6.969091458420552e-07,
        -0.000438297098541721, 0.0008394987206720873, -0.0006526239185953094,
    ),
    (
        0.00027750107634328704, -0.0006401475260262758, 0.0006782308837667328, -7.204895416020011e-05,
        -0.0005967612901927463,
    ),
    (0.0011089369134596636, -0.0019144384985654776, 0.0013324454494800656),
    (0.001579727660730835,),
)
# fmt: on
_TEMME_LAST, _TEMME_BEFORE = _TEMME[-1][0], _TEMME[-2::-1]


def gammainc(a: Array, x: Array) -> Array:
    """The lower regularised incomplete gamma function P(a, x). Derivative in x: exp(-x) x**(a-1) / gamma(a); none in a."""
    return _regularised(a, x, 1.0)


def gammaincc(a: Array, x: Array) -> Array:
    """The upper function Q(a, x) = 1 - P(a, x). Derivative in x: -exp(-x) x**(a-1) / gamma(a); none in a."""
    return _regularised(a, x, -1.0)


def _regularised(a: Array, x: Array, sign: float) -> Array:
    dtype = a.dtype if a.dtype == x.dtype else np.result_type(a, x)
    kind = dtype if dtype in _COUNTS else _SINGLE
    if a.dtype != kind or x.dtype != kind:
        a, x = a.astype(kind), x.astype(kind)
    result = apply(_incomplete, a, x, constant(sign * _COUNTS[kind], kind))
    return result if dtype == kind else result.astype(dtype)


@elementwise
def _incomplete(a: float, x: float, counts: float) -> float:
    """P, or Q if `counts` is negative, of which a part below it is left out. The values at zero and infinity are looked for in torch's order."""
    lower, eps = 1.0 if counts > 0.0 else 0.0, abs(counts)
    if a < 0.0 or x < 0.0:
        return math.nan
    if a == 0.0:
        return lower if x > 0.0 else math.nan
    if x == 0.0:
        return 1.0 - lower
    if a == math.inf:
        return math.nan if x == math.inf else 1.0 - lower
    if x == math.inf:
        return lower
    if not (a > 0.0 and x > 0.0):
        return math.nan
    if a > 20.0 and abs(x - a) < 0.3 * a:
        return _side(_uniform(a, x), 1.0 if x < a else 0.0, lower)
    by_series = x <= a if x > 1.1 else a > 1.1 * x if x > 0.5 else a * math.log(x) < -0.4
    if not by_series and x <= 1.1:
        return _side(_small(a, x, eps), 0.0, lower)
    value = (_series(a, x, eps) if by_series else _fraction(a, x, eps)) * _factor(a, x)
    if not by_series:
        value *= a
    return _side(value, 1.0 if by_series else 0.0, lower)


def _side(value: float, is_lower: float, lower: float) -> float:
    return value if is_lower == lower else 1.0 - value


def _phi(a: float, x: float) -> float:
    """m - log(1 + m) for m = x/a - 1, without cancellation where m is small."""
    m = (x - a) / a
    s = m / (m + 2.0)
    w = s * s
    if w <= 0.25:
        return s * (m - 2.0 * w * rational(_ATANH_P, _ATANH_Q, w))
    return m - math.log(x / a)


def _exp_phi(a: float, x: float, exponent: float) -> float:
    """exp(-exponent), where exponent = a phi; where that loses digits, (x/a)**a exp(a - x) with rounding errors undone."""
    if not (exponent > 3.0 and abs(x - a) < 2000.0):
        return math.exp(-exponent)
    ratio, difference = x / a, a - x
    product = ratio * a
    slack = a * (((x - product) - product_error(ratio, a, product)) / x)
    slack += (a - difference) - x if x < a else a - (difference + x)
    # fourth roots, because the power may underflow and the exponential overflow where the product does neither
    root = math.pow(ratio, 0.25 * a) * math.exp(0.25 * difference)
    root *= root
    root *= root
    return root * (1.0 + slack)


def _factor(a: float, x: float) -> float:
    """x**a exp(-x) / gamma(a + 1)."""
    if a > 2.5:
        r = 1.0 / a
        star = math.exp(rational(STIRLING_P, STIRLING_Q, r * r) * r)
        return _exp_phi(a, x, a * _phi(a, x)) / (_SQRT_TWO_PI * math.sqrt(a) * star)
    gamma = math.exp(_gammaln_one_plus(a - 1.0)) * a if a > 1.5 else math.exp(_gammaln_one_plus(a))
    return math.pow(x, a) * math.exp(-x) / gamma


def _gammaln_one_plus(x: float) -> float:
    """gammaln(1 + x) for 0 <= x <= 1.5, accurate as x goes to zero."""
    return rational(LOG_GAMMA_P, LOG_GAMMA_Q, 1.0 + x) * x * (x - 1.0)


def _series(a: float, x: float, eps: float) -> float:
    """P(a, x) by its power series, without the common factor."""
    n, term, total = a, 1.0, 1.0
    while term > total * eps:
        n += 1.0
        term *= x / n
        total += term
    return total


def _small(a: float, x: float, eps: float) -> float:
    """Q(a, x) for x <= 1.1 as 1 - x**a / gamma(a + 1) (1 + a sum (-x)**n / (n! (a + n)))."""
    n, term, total = 1.0, -x, -x / (a + 1.0)
    while abs(term) > eps * abs(total):
        n += 1.0
        term *= x / -n
        total += term / (a + n)
    exponent = a * math.log(x) - _gammaln_one_plus(a)
    return -math.expm1(exponent) - math.exp(exponent) * a * total


def _fraction(a: float, x: float, eps: float) -> float:
    """Q(a, x) by the continued fraction 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)), summed by Steed's method, without
    the common factor and a."""
    b, i = x + 1.0 - a, 0.0
    d = 1.0 / b
    change, total = d, d
    while abs(change) > total * eps:
        i += 1.0
        b += 2.0
        d = 1.0 / (d * (i * (a - i)) + b)
        change *= b * d - 1.0
        total += change
    return total


def _uniform(a: float, x: float) -> float:
    """The smaller of P and Q for x near a large a."""
    half_square = a * _phi(a, x)  # a eta**2 / 2
    eta = math.sqrt(2.0 * half_square / a)
    eta = -eta if x < a else eta
    total = _TEMME_LAST
    for row in _TEMME_BEFORE:
        total = total / a + horner(row, eta)
    total /= _SQRT_TWO_PI * math.sqrt(a)
    total = -total if x < a else total
    root = math.sqrt(half_square)
    total += 0.5 * horner(ERFCX, 1.0 - 2.0 * ERFCX_K / (root + ERFCX_K)) / (root + 0.5)
    return total * _exp_phi(a, x, half_square)
