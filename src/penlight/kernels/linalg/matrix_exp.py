"""The matrix exponential, by scaling and squaring of Padé approximants (Higham 2005)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..numpy_warnings import silent
from . import gufuncs

Array = np.ndarray[Any, Any]

# For each degree the largest 1-norm for which the approximant is exact to the last bit.
_REACH = {
    np.dtype(np.float32): ((3, 4.258730016922831e-1), (5, 1.880152677804762), (7, 3.925724783138660)),
    np.dtype(np.float64): (
        (3, 1.495585217958292e-2), (5, 2.539398330063230e-1), (7, 9.504178996162932e-1), (9, 2.097847961257068),
        (13, 5.371920351148152),
    ),
}  # fmt: skip


def _coefficients(degree: int) -> list[float]:
    """The coefficients of the numerator of the [degree/degree] approximant to exp, scaled so that the last is 1."""
    top = [
        math.factorial(2 * degree - k) * math.factorial(degree) // (math.factorial(k) * math.factorial(degree - k))
        for k in range(degree + 1)
    ]
    return [float(t // top[-1]) for t in top]


def matrix_exp(A: Array) -> Array:
    """exp of each square matrix in a batch."""
    if A.dtype.itemsize == 2 and A.dtype.kind not in "iu":
        return matrix_exp(A.astype(np.float32)).astype(A.dtype)
    if A.size == 0:
        return A.copy()
    flat = A.reshape(-1, *A.shape[-2:])
    norms = np.abs(flat).sum(-2).max(-1)
    reach = _REACH[A.real.dtype]
    out = np.empty_like(flat)
    left = np.isfinite(norms)
    out[~left] = np.nan
    for degree, limit in reach[:-1]:
        here = left & (norms <= limit)
        if here.any():
            out[here] = _pade(flat[here], degree)
            left &= ~here
    if left.any():
        degree, limit = reach[-1]
        times = np.maximum(np.ceil(np.log2(norms[left] / limit)), 0).astype(int)
        with silent():
            out[left] = _squared(flat[left], times, degree)
    return out.reshape(A.shape)


def _squared(A: Array, times: Array, degree: int) -> Array:
    """Divide each matrix by 2 `times` times, exponentiate, and square the result as often."""
    result = _pade(A * np.ldexp(np.ones((), A.real.dtype), -times)[:, None, None], degree)
    for step in range(int(times.max(initial=0))):
        again = times > step
        if again.all():
            result = result @ result
        else:
            part = result[again]
            result[again] = part @ part
    return result


def _pade(A: Array, degree: int) -> Array:
    b = _coefficients(degree)
    eye = np.eye(A.shape[-1], dtype=A.dtype)
    square = A @ A
    if degree == 13:
        fourth = square @ square
        sixth = fourth @ square
        odd = sixth @ (b[13] * sixth + b[11] * fourth + b[9] * square)
        odd = A @ (odd + b[7] * sixth + b[5] * fourth + b[3] * square + b[1] * eye)
        even = sixth @ (b[12] * sixth + b[10] * fourth + b[8] * square)
        even = even + b[6] * sixth + b[4] * fourth + b[2] * square + b[0] * eye
    else:
        odd, even, power = b[1] * eye, b[0] * eye, eye
        for k in range(2, degree, 2):
            power = power @ square if k > 2 else square
            odd = odd + b[k + 1] * power
            even = even + b[k] * power
        odd = A @ odd
    return gufuncs.solve(even - odd, even + odd)
