"""a * b + c with one rounding, like a processor's fused multiply-add. NumPy has no such function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .compiler.loops import Floats, compile_loops, fma
from .rows import each_block
from .waiting_threads import over

_GRAIN = 1 << 16  # elements per thread, at least
_BLOCK = 1 << 13  # elements of a block in NumPy, whose dozen temporaries stay in the cache


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
    if a.size <= _BLOCK or a.ndim != 1 or isinstance(b, np.ndarray):
        return fused(a, b, c)
    out, whole = np.empty(a.shape), isinstance(c, np.ndarray) and c.ndim > 0

    def body(part: slice) -> None:
        out[part] = fused(a[part], b, c[part] if whole else c)  # type: ignore[index]

    each_block(body, a.size, 1, block=_BLOCK)
    return out


# Note [Exact sums and products]
# Dekker's product and Knuth's sum give the result and its rounding error. So a * b + c is exactly a sum of three floats, of which
# the two small ones are added first, rounded to odd: an inexact sum that ended in an even digit moves to its odd neighbour on the
# side of the error. Then the last rounding comes out as if it were the only one.


def fused(a: Any, b: Any, c: Any) -> Any:
    """a * b + c in NumPy, rounded once; of float64 unless a product is too large or too small for its rounding error to be a float64."""
    if a.dtype == np.float32:
        product = a.astype(np.float64) * b  # exact
        return _odd_sum(product, np.asarray(c, np.float64)).astype(np.float32)
    product = a * b
    total, rest = _two_sum(product, c)
    exact = total + _odd_sum(rest, product_error(a, b, product))
    known = np.abs(exact) > 0.0  # not the NaN that infinities give, which have no rounding error, nor the sign of 0
    return exact if known.all() else np.where(known, exact, product + c)


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """The rounded sum and its error; together they are exactly a + b."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def product_error(a: Any, b: Any, product: Any) -> Any:
    """The rounding error of a product of float64 below 1e150; of arrays or, in functions of scalars, of numbers."""
    (high_a, low_a), (high_b, low_b) = _split(a), _split(b)
    return low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)


def _split(a: Any) -> tuple[Any, Any]:
    """A float64 as a sum of two with 26 bits each."""
    large = a * 134217729.0
    high = large - (large - a)
    return high, a - high


def _odd_sum(a: Any, b: Any) -> np.ndarray:
    """A sum of float64, rounded to odd: rounding it again gives the same as rounding the exact sum once."""
    total, error = map(np.asarray, _two_sum(a, b))
    bits = total.view(np.int64)
    to_odd = (np.abs(error) > 0.0) & (bits & 1 == 0)
    bits += np.where(to_odd, np.where((error > 0.0) == (total > 0.0), 1, -1), 0)
    return total
