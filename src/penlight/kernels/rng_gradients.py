"""How gamma and Dirichlet samples move with their concentrations.

# Note [Implicit reparameterisation]
A sample x with distribution function F(x; a) moves, when its probability F is held fixed, by
dx/da = -(dF/da) / (dF/dx). F is a power series in x for both the gamma and the beta distribution; dividing it by the
density term by term leaves series without gamma functions, whose terms follow from one another. They are summed in
float64 until they no longer count: each element's own, in machine code made of `_gamma_sum` and `_beta_sum` (Note [Compiled scalars] in
native/scalar.py), or in NumPy all elements' together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .native.scalar import over

_MANY = 1000.0  # from this concentration on the Cornish-Fisher expansion has eight digits
_LIMIT = 100_000  # terms; never needed by a value that can be sampled


def _digamma(x: Any) -> Any:
    from .special import digamma

    return digamma(x)


def _series(total: Any, first: Any, slope: Any, ratio: Any, more: Any) -> Any:
    """Adds up t_n * s_n, where t_n = t_(n-1) * ratio(n, i) and s_n = s_(n-1) + more(n, i), for the elements i that count."""
    active = np.arange(first.size)
    term, slope = first.copy(), slope.copy()
    total += term * slope
    for n in range(1, _LIMIT):
        factor = ratio(n, active)
        term *= factor
        slope += more(n, active)
        step = term * slope
        total[active] += step
        # Below a factor of 1 the rest is at most a geometric series.
        counts = (factor >= 1) | (np.abs(term) * (1 + np.abs(slope)) > 1e-17 * (1 - factor) * np.abs(total[active]))
        if not counts.all():
            active, term, slope = active[counts], term[counts], slope[counts]
            if not active.size:
                break
    return total


def _gamma_sum(x: float, a: float, start: float) -> float:
    """The series of gamma samples x of shape a: what `_series` gives, of one element."""
    term, slope, factor, n = 1 / a, start, 2.0, 0.0
    total = term * slope
    while factor >= 1 or abs(term) * (1 + abs(slope)) > 1e-17 * (1 - factor) * abs(total):
        n += 1
        if n == _LIMIT:
            return total
        factor = x / (a + n)
        term *= factor
        slope -= 1 / (a + n)
        total += term * slope
    return total


def _beta_sum(x: float, a: float, t: float, start: float, away: float) -> float:
    """The same of beta samples, with the sum t of both concentrations; `away` is 1 on the left side of the distribution, 0 on the right."""
    term, slope, factor, n = 1 / a, start, 2.0, 0.0
    total = term * slope
    while factor >= 1 or abs(term) * (1 + abs(slope)) > 1e-17 * (1 - factor) * abs(total):
        n += 1
        if n == _LIMIT:
            return total
        factor = x * (t + n - 1) / (a + n)
        term *= factor
        slope += 1 / (t + n - 1) - away / (a + n)
        total += term * slope
    return total


def gamma_grad(alpha: Any, x: Any) -> Any:
    """d sample / d alpha of standard gamma samples x (arrays of one shape)."""
    a = np.ascontiguousarray(alpha, np.float64).ravel()
    v = np.ascontiguousarray(x, np.float64).ravel()
    out = np.empty_like(a)
    large = a > _MANY
    if large.any():
        out[large] = _large_gamma_grad(a[large], v[large])
    small = ~large & (a > 0)
    out[~large & ~small] = 0.0
    if small.any():
        a, v = a[small], v[small]
        start = np.log(v) - _digamma(a + 1)
        total = over(_gamma_sum, v, a, start)
        if total is None:
            total = _series(
                np.zeros_like(a), 1 / a, start, lambda n, i: v[i] / (a[i] + n), lambda n, i: -1 / (a[i] + n)
            )
        out[small] = -v * total
    return out.reshape(np.shape(x)).astype(np.asarray(x).dtype)


def _large_gamma_grad(a: Any, x: Any) -> Any:
    """From x = a + z sqrt(a) + (z^2 - 1)/3 + ..., with the normal quantile z held fixed."""
    root = np.sqrt(a)
    z = (x - a) / root
    for _ in range(6):
        rest = (z * z - 1) / 3 + (z**3 - 7 * z) / (36 * root) - (3 * z**4 + 7 * z * z - 16) / (810 * a)
        z = (x - a - rest) / root
    return 1 + z / (2 * root) - (z**3 - 7 * z) / (72 * a * root) + (3 * z**4 + 7 * z * z - 16) / (810 * a * a)


def dirichlet_grad(x: Any, alpha: Any, total: Any) -> Any:
    """d x / d alpha / (1 - x) for x ~ Beta(alpha, total - alpha), with total - alpha held fixed."""
    shape, dtype = np.shape(x), np.asarray(x).dtype
    v, a, t = (np.ascontiguousarray(array, np.float64).ravel() for array in (x, alpha, total))
    b = t - a
    out = np.empty_like(v)
    left = (v * t <= a) & (v < 0.9)
    if left.any():
        out[left] = _left_beta_grad(v[left], a[left], t[left])
    if not left.all():
        right = ~left
        out[right] = _right_beta_grad(v[right], a[right], b[right], t[right])
    return out.reshape(shape).astype(dtype)


def _left_beta_grad(x: Any, a: Any, t: Any) -> Any:
    return -x * _beta_sums(x, a, t, np.log(x) + _digamma(t) - _digamma(a + 1), 1.0)


def _right_beta_grad(x: Any, a: Any, b: Any, t: Any) -> Any:
    """By symmetry from the series in 1 - x, which converges fast where x is large."""
    y = 1 - x
    return x * _beta_sums(y, b, t, np.log1p(-y) + _digamma(t) - _digamma(a), 0.0)


def _beta_sums(x: Any, a: Any, t: Any, start: Any, away: float) -> Any:
    """`_beta_sum` of each element."""
    total = over(_beta_sum, x, a, t, start, np.full_like(x, away))
    if total is not None:
        return total
    return _series(
        np.zeros_like(x),
        1 / a,
        start,
        lambda n, i: x[i] * (t[i] + n - 1) / (a[i] + n),
        lambda n, i: 1 / (t[i] + n - 1) - away / (a[i] + n),
    )
