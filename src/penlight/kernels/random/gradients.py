"""Derivatives of gamma and Dirichlet samples with respect to their concentrations.

# Note [Implicit reparameterisation]
A sample x with distribution function F(x; a), at a fixed probability F, has the derivative
dx/da = -(dF/da) / (dF/dx). F is a power series in x for both the gamma and the beta distribution; dividing it by the
density term by term leaves series without gamma functions, whose terms satisfy a recurrence. They are summed in
float64 until they are negligible, separately for each element: Note [Functions of scalars] in kernels/scalars.py.
"""

from __future__ import annotations

import math
from typing import Any

from ..scalars import apply, constant, elementwise
from ..special.gamma import digamma_from_one, digamma_of_number

_MANY = 1000.0  # from this concentration on the Cornish-Fisher expansion has eight digits
_LIMIT = 100_000.0  # terms at most; values that can be sampled need fewer
_COUNTS = {4: 1e-10, 8: 1e-17}  # the relative size below which a term is negligible, by the bytes of the dtype


def gamma_grad(alpha: Any, x: Any) -> Any:
    """d sample / d alpha of standard gamma samples x (arrays of one shape)."""
    return apply(_gamma_grad, alpha, x, constant(_COUNTS[x.dtype.itemsize], x.dtype))


@elementwise
def _gamma_grad(a: float, x: float, counts: float) -> float:
    if a > _MANY:
        return _large_gamma_grad(a, x)
    if not a > 0.0:
        return 0.0
    term, slope, factor, n = 1.0 / a, math.log(x) - digamma_from_one(a + 1.0), 2.0, a
    total = term * slope
    # Once the factor is below 1, a geometric series bounds the rest.
    while factor >= 1.0 or abs(term) * (1.0 + abs(slope)) > counts * (1.0 - factor) * abs(total):
        n += 1.0
        if n > a + _LIMIT:
            return -x * total
        r = 1.0 / n
        factor = x * r
        term *= factor
        slope -= r
        total += term * slope
    return -x * total


def _large_gamma_grad(a: float, x: float) -> float:
    """From x = a + z sqrt(a) + (z^2 - 1)/3 + ..., with the normal quantile z held fixed."""
    root = math.sqrt(a)
    z = (x - a) / root
    k = 0.0
    while k < 6.0:
        zz = z * z
        rest = (zz - 1.0) / 3.0 + (zz - 7.0) * z / (36.0 * root) - ((3.0 * zz + 7.0) * zz - 16.0) / (810.0 * a)
        z = (x - a - rest) / root
        k += 1.0
    zz = z * z
    return (
        1.0 + z / (2.0 * root) - (zz - 7.0) * z / (72.0 * a * root) + ((3.0 * zz + 7.0) * zz - 16.0) / (810.0 * a * a)
    )


def dirichlet_grad(x: Any, alpha: Any, total: Any) -> Any:
    """d x / d alpha / (1 - x) for x ~ Beta(alpha, total - alpha), with total - alpha held fixed."""
    return apply(_dirichlet_grad, x, alpha, total)


@elementwise
def _dirichlet_grad(x: float, a: float, t: float) -> float:
    if x * t <= a and x < 0.9:
        start = math.log(x) + digamma_of_number(t) - digamma_from_one(a + 1.0)
        return -x * _beta_sum(x, a, t, start, 1.0)
    # By symmetry, the series in 1 - x, which converges fast for large x.
    y = 1.0 - x
    start = math.log1p(-y) + digamma_of_number(t) - digamma_of_number(a)
    return x * _beta_sum(y, t - a, t, start, 0.0)


def _beta_sum(x: float, a: float, t: float, start: float, away: float) -> float:
    """The series of beta samples, with the sum t of both concentrations; `away` is 1 on the left side of the distribution, 0 on the right."""
    term, slope, factor, n = 1.0 / a, start, 2.0, 0.0
    total = term * slope
    while factor >= 1.0 or abs(term) * (1.0 + abs(slope)) > 1e-17 * (1.0 - factor) * abs(total):
        n += 1.0
        if n == _LIMIT:
            return total
        factor = x * (t + n - 1.0) / (a + n)
        term *= factor
        slope += 1.0 / (t + n - 1.0) - away / (a + n)
        total += term * slope
    return total
