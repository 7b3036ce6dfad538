"""The complement and the inverse of the error function for native kernels, float32: by the fits of kernels/special/error_functions.py, within about three units
in the last place."""

from __future__ import annotations

from ..special.error_functions import ERFCX32, ERFCX32_K, INV32_CENTRE_P, INV32_CENTRE_Q, INV32_TAIL_P, INV32_TAIL_Q
from ._build import Value
from ._functions import (
    absolute,
    clip,
    equal,
    erf,
    exp_below,
    fma,
    fnma,
    full,
    greater,
    log,
    polynomial,
    sqrt,
    where,
    with_sign_of,
)


def erfc(x: Value) -> Value:
    """1 - erf(x); beyond a half, where that would cancel, e**-x**2 * erfcx(x)."""
    far = clip(x, 0.0, 12.0)
    square = far * far
    lost = fma(far, far, -square)  # by rounding the square
    density = exp_below(-square)
    density = fnma(density, lost, density)
    t = fma(1.0 / (far + ERFCX32_K), -2.0 * ERFCX32_K, 1.0)
    tail = density * polynomial(t, ERFCX32[::-1]) / (far + 0.5)
    return where(greater(x, 0.5), tail, 1.0 - erf(x))


def erfinv(y: Value) -> Value:
    """The x with erf(x) = y: from y**2, or from the logarithm of 1 - |y| beyond three quarters; NaN beyond 1."""
    size = absolute(y)
    centre = size * _quotient(fnma(y, y, 0.5625), INV32_CENTRE_P, INV32_CENTRE_Q)
    s = sqrt(-log(1.0 - size))
    tail = s * _quotient(s, INV32_TAIL_P, INV32_TAIL_Q)
    tail = where(equal(size, 1.0), full(y, float("inf")), tail)
    return with_sign_of(y, where(greater(size, 0.75), tail, centre))


def _quotient(x: Value, numerator: tuple[float, ...], denominator: tuple[float, ...]) -> Value:
    """The quotient of a polynomial and a monic polynomial, with their highest coefficients first."""
    return polynomial(x, numerator[::-1]) / polynomial(x, (*denominator[::-1], 1.0))
