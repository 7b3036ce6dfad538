"""a * b + c with one rounding, like a processor's fused multiply-add. NumPy has no such function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .compiler.loops import Floats, compile_loops, fma
from .waiting_threads import over

_GRAIN = 1 << 16  # elements per thread, at least


def _shifted(begin: int, end: int, a: Floats, out: Floats, b: float, c: float) -> None:
    for i in range(begin, end):
        out[i] = fma(a[i], b, c)


def _added(begin: int, end: int, a: Floats, c: Floats, out: Floats, b: float) -> None:
    for i in range(begin, end):
        out[i] = fma(a[i], b, c[i])


def _compiled(a: np.ndarray, b: Any, c: Any) -> np.ndarray | None:
    """a * b + c in machine code, for a scalar b; None if no kernel fits."""
    whole = bool(getattr(c, "ndim", 0))
    run = compile_loops(_added if whole else _shifted, a.dtype) if type(a) is np.ndarray and a.size else None
    if run is None or bool(getattr(b, "ndim", 0)) or not a.flags.c_contiguous or a.dtype.kind != "f":
        return None
    if not whole:
        return over(run, a.size, _GRAIN, a, a.shape, float(b), float(c))
    if c.shape != a.shape or c.dtype != a.dtype:
        return None
    return over(run, a.size, _GRAIN, a, np.ascontiguousarray(c), a.shape, float(b))


def fma32(a: np.ndarray, b: float, c: float | np.ndarray) -> np.ndarray:
    """a * b + c for float32, rounded once: the product is exact in float64."""
    made = _compiled(a, b, c)
    if made is not None:
        return made
    product = a.astype(np.float64)
    product *= b
    product += c
    return product.astype(np.float32)


def fma64(a: np.ndarray, b: float | np.ndarray, c: float | np.ndarray) -> np.ndarray:
    """a * b + c for float64, rounded once."""
    # Note [Exact sums and products]
    # Dekker's product and Knuth's sum give the result and its rounding error, so a * b + c is exactly the sum big + small of
    # floats. `small` is then rounded to odd (an inexact sum that ended in an even digit moves to its odd neighbour on the side of
    # the error), which makes the last rounding come out as if it were the only one.
    made = _compiled(a, b, c)
    if made is not None:
        return made
    size = max(float(np.abs(n).max(initial=0)) if isinstance(n, np.ndarray) else abs(n) for n in (b, c))
    if not 1e-150 < size < 1e150:  # the parts could overflow or underflow float64
        if size == 0.0 or not size < math.inf:
            return a * b + c
        shift = math.frexp(size)[1]
        scaled = fma64(a, np.ldexp(b, -shift), np.ldexp(c, -shift))
        np.ldexp(scaled, shift, out=scaled)
        return scaled
    split = 134217729.0
    high_b = b * split - (b * split - b)
    low_b = b - high_b
    high_a = a * split
    high_a -= high_a - a
    low_a = a - high_a
    product = a * b
    error = ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b
    big, carry = _two_sum(product, np.asarray(c, np.float64))
    small, lost = _two_sum(carry, error)
    odd = small.view(np.int64)
    to_odd = (lost != 0) & (odd & 1 == 0)
    odd += np.where(to_odd, np.where((lost > 0) == (small > 0), 1, -1), 0)
    big += small
    finite = np.isfinite(big)
    if not finite.all():  # the rounding errors of infinities, and of values near them, are NaN
        np.copyto(big, a * b + c, where=~finite)
    return big


def _two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rounded sum and its error; together they are exactly a + b."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)
