"""Sums, products and extrema of large arrays over any dimensions, by native kernels: see kernels/reduce/plans.py."""

from __future__ import annotations

from math import prod

import numpy as np

from ..copies import contiguous
from ..lazy import lazy_import
from .strategies import LEAST_FOLDED, LEAST_TRANSPOSED, MOST_BLOCK, MOST_SHORT

_plans = lazy_import(globals(), "_plans", ".plans")


def fold(
    x: np.ndarray, how: str, dims: tuple[int, ...] | None = None, keepdim: bool = False, of: str = ""
) -> np.ndarray | None:
    """The "sum", "product", "largest" or "smallest" over `dims`, or of all elements; None if there is no kernel for that.

    The result is float32 also of 16-bit floats, and int64 of whole numbers, of which there are sums only. `of` is "", "squares", "size" or
    "numbers", which are those that are not NaN. Where there is NaN, it is the extremum.
    """
    if x.size < LEAST_FOLDED:
        return None
    sizes = None if dims is None else short_columns(x, dims)
    if sizes is None:
        return _plans.fold(x, how, dims, keepdim, of)  # type: ignore[no-any-return]
    total = _plans.fold(transposed(x, *sizes), how, (0,), False, of)
    if total is None:
        return None
    kept = [(1 if d in dims else n) for d, n in enumerate(x.shape) if keepdim or d not in dims]  # type: ignore[operator]
    return contiguous(total.reshape(sizes[2], sizes[0]).T).reshape(kept)


# Note [Many short columns]
# A reduction over the middle one of (many, few, few) sizes is a loop over so few elements, for so many results, that all the time goes into beginning
# loops. With the many as the last dimension it is a few operations on long rows, and transposing the array, and the result back, costs little.


def short_columns(x: np.ndarray, dims: tuple[int, ...]) -> tuple[int, int, int] | None:
    """The sizes before, of and behind some dimensions that follow each other, if there are many, few and few; else None."""
    first, last = (min(dims), max(dims)) if dims else (0, 0)
    if not 0 < first <= last < x.ndim - 1 or last - first + 1 != len(dims) or not x.flags.c_contiguous:
        return None
    outer, n, inner = prod(x.shape[:first]), prod(x.shape[first : last + 1]), prod(x.shape[last + 1 :])
    return (
        (outer, n, inner)
        if outer >= LEAST_TRANSPOSED and 1 < inner <= MOST_SHORT and 0 < n * inner <= MOST_BLOCK
        else None
    )


def transposed(x: np.ndarray, outer: int, n: int, inner: int) -> np.ndarray:
    """An array of these sizes as n rows, in which those of one `inner` follow each other."""
    return contiguous(x.reshape(outer, n * inner).T).reshape(n, inner * outer)
