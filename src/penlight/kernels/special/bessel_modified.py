"""Modified Bessel functions: i0, i0e, i1, i1e, and k0, k1 with their scaled forms.

See Note [How the special functions are evaluated] in special/common.py. All are computed in float64.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .common import Array, horner, piecewise, rational, unary

# fmt: off
# I0(x) and I1(x) / x in (x/8)**2 up to 8 (all coefficients positive); sqrt(x) exp(-x) I(x) in 16/x - 1 beyond.
_I0 = (
    1.0605400427152645e-06, 8.122459182518951e-06, 0.00011888426524589404, 0.001223174590856279,
    0.011044278509152723, 0.08349542873028239, 0.5218607159022741, 2.641914504858875, 10.567659440565915,
    32.36345677663475, 72.81777777929699, 113.777777777669, 113.77777777778232, 63.99999999999991, 16.0, 1.0,
)
_I1 = (
    5.008474907552091e-07, 3.531531054878136e-06, 4.835398628150989e-05, 0.0004586049559594358,
    0.0037965517119587086, 0.0260922710518759, 0.14677334698232747, 0.6604786209132907, 2.3116755033494774,
    6.068148145611113, 11.377777778001562, 14.222222222210654, 10.66666666666697, 3.999999999999997, 0.5,
)
_I0_LARGE = (
    8.966957950507746e-11, 3.945480410364509e-11, -6.425716100393884e-10, -2.965377770185205e-10,
    2.150447534527566e-09, 1.140559783286456e-09, -4.517260351455903e-09, -3.1780751055687858e-09,
    6.5151173479434265e-09, 7.368479320919078e-09, -5.016019536633274e-09, -1.3341407702046188e-08,
    -6.856198165128185e-09, 7.538860522852027e-09, 2.1567555091138262e-08, 3.932810058309901e-08,
    8.87202029546009e-08, 2.9735968102867563e-07, 1.4838476726498344e-06, 1.1143033797359122e-05,
    0.00013621607438969954, 0.0033605519836677933, 0.4021765094450081,
)
_I1_LARGE = (
    -9.338744029257409e-11, -3.686829485489497e-11, 6.701707512394012e-10, 2.798471500876841e-10,
    -2.2488798275355296e-09, -1.0954130485006036e-09, 4.750288319351118e-09, 3.13079776279214e-09,
    -6.937339038641861e-09, -7.477224500319843e-09, 5.570599751004984e-09, 1.3973955051103818e-08,
    6.847196476397953e-09, -8.413701622183989e-09, -2.3393841727821153e-08, -4.31311713003591e-08,
    -1.0001081239399155e-07, -3.4838542000226515e-07, -1.8349102435784928e-06, -1.5038547206167845e-05,
    -0.0002192357638315731, -0.009749577193235678, 0.38939845902587233,
)
# Up to 1: K0(x) = P(x**2) - log(x) I0(x) and K1(x) = 1/x + log(x) I1(x) + x P(x**2), with I0 and I1 / x of their own.
_K0 = (
    6.621484050096507e-12, 1.2082309366534668e-09, 1.6271073922685944e-07, 1.4914719207424222e-05,
    0.0008460350907347077, 0.025248929932158746, 0.2789828789146034, 0.11593151565841245,
)
_K1 = (
    -9.04065654150291e-11, -1.4027401286474397e-08, -1.559291117708091e-06, -0.00011253606926597442,
    -0.004642182766748916, -0.08537071972861736, -0.3079657578292076,
)
_K0_LOG = (
    2.4403525023253053e-12, 4.708896363274551e-10, 6.781689114555922e-08, 6.7816840041968265e-06,
    0.00043402777778369766, 0.015624999999999273, 0.25000000000000006, 1.0,
)
_K1_LOG = (
    3.416655206297761e-11, 5.650680314355438e-09, 6.781688933340883e-07, 5.4253472051696604e-05,
    0.0026041666666948324, 0.06249999999999826, 0.5,
)
# sqrt(x) exp(x) K(x) in 1/x beyond.
_K0_LARGE_P = (
    0.3439957334125778, 42.89128272877287, 856.2373712991363, 5933.142037866883, 18590.922595982567,
    29892.477031690847, 26273.051938676388, 12900.180307692573, 3472.5313986833376, 471.7424028903603,
    24.9389049406592,
)
_K0_LARGE_Q = (
    63.85393937505306, 982.8808250531616, 5922.988967681685, 17069.466055840046, 26037.093662318464,
    22117.80505997876, 10619.75193061765, 2816.6404954483587, 378.8832758441984, 19.898367215482274,
)
_K1_LARGE_P = (
    17.86860427627051, 867.9471348782176, 11158.785489292928, 59644.57945380997, 159501.6435973764,
    233500.73173306914, 194973.6916660878, 93501.12022152393, 25016.532620674665, 3414.178675715884,
    182.45479206412264,
)
_K1_LARGE_Q = (
    153.86901067359355, 3385.48867098568, 25250.617487081196, 84225.48621916267, 143104.5583814395,
    132118.20618217826, 67784.89881408865, 18976.291765368045, 2669.5287550639073, 145.5778616324606,
)
# fmt: on


def _first_kind(x: Array, out: Array, order: int, scaled: bool) -> None:
    y = np.abs(x)
    large = y > 8.0
    piecewise(
        y,
        out,
        (~large, lambda v: _first_kind_small(v, order, scaled)),
        (large, lambda v: _first_kind_large(v, order, scaled)),
    )
    if order == 1:
        out[...] = np.where(x < 0.0, -out, out)


def _first_kind_small(x: Array, order: int, scaled: bool) -> Array:
    result = horner(_I1 if order else _I0, x * x * 0.015625)
    if order:
        result *= x
    if scaled:
        result *= np.exp(-x)
    return result


def _first_kind_large(x: Array, order: int, scaled: bool) -> Array:
    result = horner(_I1_LARGE if order else _I0_LARGE, 16.0 / x - 1.0)
    result /= np.sqrt(x)
    if not scaled:
        half = np.exp(0.5 * x)  # twice, because exp(x) overflows before the product does
        result *= half
        result *= half
        result = np.where(x == np.inf, np.nan, result)  # as in torch, which multiplies by the limit zero
    return result


def _second_kind(x: Array, out: Array, order: int, scaled: bool) -> None:
    small = x <= 1.0
    piecewise(
        x,
        out,
        (small, lambda v: _second_kind_small(v, order, scaled)),
        (~small, lambda v: _second_kind_large(v, order, scaled)),
    )


def _second_kind_small(x: Array, order: int, scaled: bool) -> Array:
    z = x * x
    if order == 0:
        result = horner(_K0, z) - np.log(x) * horner(_K0_LOG, z)
    else:
        result = 1.0 / x + x * (np.log(x) * horner(_K1_LOG, z) + horner(_K1, z))
    if scaled:
        result *= np.exp(x)
    return np.where(x == 0.0, np.inf, result)


def _second_kind_large(x: Array, order: int, scaled: bool) -> Array:
    p, q = (_K1_LARGE_P, _K1_LARGE_Q) if order else (_K0_LARGE_P, _K0_LARGE_Q)
    result = rational(p, q, 1.0 / x)
    if not scaled:
        half = np.exp(-0.5 * x)  # twice, so that a denormal exp(-x) costs no accuracy
        result *= half
        result *= half
    result /= np.sqrt(x)
    return result


def _of(
    kernel: Callable[[Array, Array, int, bool], None], order: int, scaled: bool = False
) -> Callable[[Array], Array]:
    """A kernel's function of arrays, of an order, and perhaps scaled by an exponential."""
    return lambda x: unary(lambda v, out: kernel(v, out, order, scaled), x, wide=True)


# The first kind. Derivatives: i1; i1e - sign(x) i0e; i0 - i1 / x; i0e - i1e (sign(x) + 1 / x); the last two are 1/2 at zero.
i0 = modified_bessel_i0 = _of(_first_kind, 0)
i0e = _of(_first_kind, 0, scaled=True)  # times exp(-|x|)
i1 = modified_bessel_i1 = _of(_first_kind, 1)
i1e = _of(_first_kind, 1, scaled=True)
# The second kind; NaN for x < 0. Derivatives: -k1; -k0 - k1 / x; scaled k0 - scaled k1; (1 - 1 / x) scaled k1 - scaled k0.
modified_bessel_k0 = _of(_second_kind, 0)
modified_bessel_k1 = _of(_second_kind, 1)
scaled_modified_bessel_k0 = _of(_second_kind, 0, scaled=True)  # times exp(x)
scaled_modified_bessel_k1 = _of(_second_kind, 1, scaled=True)
