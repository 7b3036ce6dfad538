"""Reductions: sums, variance and quantiles.

`dims` are the dimensions to reduce, in any order and non-negative; for a 0-d array they are ignored. The running reductions are in
scan.py.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

import numpy as np

from ..numpy_calls import moveaxis
from ..numpy_warnings import silent
from ..rows import GROUP, each_block, narrow, quiet, widen
from .compiled import reduce_compiled
from .strategies import LONG_ROW, MOST_PLAIN

__all__ = ["nansum", "quantiles", "reduce_sum", "square_sum", "var_mean"]

Dims = tuple[int, ...]


def _kept(shape: tuple[int, ...], dims: Dims) -> tuple[int, ...]:
    return tuple(1 if k in dims else n for k, n in enumerate(shape))


def _finish(result: np.ndarray, shape: tuple[int, ...], dims: Dims, keepdim: bool) -> np.ndarray:
    """A result with reduced dimensions of size 1, in the requested shape."""
    return result.reshape(_kept(shape, dims) if keepdim else tuple(n for k, n in enumerate(shape) if k not in dims))


def _trailing_rows(x: np.ndarray, dims: Dims) -> np.ndarray | None:
    """x as contiguous 2-d rows that `dims` cover, or None if they are not its last dimensions."""
    if not x.size or not x.flags.c_contiguous or dims != tuple(range(x.ndim - len(dims), x.ndim)):
        return None
    return x.reshape(prod(x.shape[: x.ndim - len(dims)]), -1)


def _sum_middle(x: np.ndarray) -> np.ndarray:
    """(outer, n, inner) summed over n; see Note [Column sums]."""
    outer, n, inner = x.shape
    if inner == 1 and outer > 1:
        rows = x.reshape(outer, n)
        total = np.empty(outer, x.dtype)
        each_block(lambda part: np.copyto(total[part], row_sum(rows[part])), outer, n)
        return total.reshape(outer, 1)
    if inner == 1 or n <= 2 * GROUP:
        return np.add.reduce(x, 1)
    if inner <= 16:  # too short for an inner loop
        return np.add.reduce(np.ascontiguousarray(x.swapaxes(1, 2)), 2)
    return np.stack([column_sum(part) for part in x])


def reduce_sum(x: np.ndarray, dims: Dims, keepdim: bool = False) -> np.ndarray:
    """The sum of a float or complex array over `dims`, as accurate along any dimension as along the last one."""
    dims = tuple(sorted(dims)) if x.ndim else ()
    quick = reduce_compiled(x, "sum", dims, keepdim) if dims else None
    if quick is not None:
        return narrow(quick, x.dtype)
    total = widen(x)
    with silent():
        if x.size <= MOST_PLAIN or not dims:
            return narrow(np.asarray(total.sum(dims, keepdims=keepdim)), x.dtype)
        total = np.asarray(total, order="C")
        left = [d for d in dims if x.shape[d] != 1]
        while left:  # one run of neighbouring dimensions at a time, the last one first
            stop = left.pop() + 1
            start = stop - 1
            while left and left[-1] == start - 1:
                start = left.pop()
            shape = total.shape
            cut = (prod(shape[:start]), prod(shape[start:stop]), prod(shape[stop:]))
            total = _sum_middle(total.reshape(cut)).reshape(shape[:start] + (1,) * (stop - start) + shape[stop:])
    return narrow(_finish(total, x.shape, dims, keepdim), x.dtype)


def var_mean(x: np.ndarray, dims: Dims, correction: float = 1, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(variance, mean) over `dims`: the sum of squared distances from the mean, over max(0, count - correction)."""
    dims = tuple(sorted(dims)) if x.ndim else ()
    wide = widen(x)
    count = prod(x.shape[k] for k in dims)
    with silent():
        mean = np.divide(reduce_sum(wide, dims, True), wide.real.dtype.type(count))
        rows = _trailing_rows(wide, dims) if wide.dtype.kind == "f" and x.size > MOST_PLAIN else None
        if rows is not None:
            total = np.empty(len(rows), wide.dtype)
            center = mean.reshape(-1, 1)

            def measure(part: slice) -> None:
                centred = np.subtract(rows[part], center[part])
                np.vecdot(centred, centred, out=total[part])

            each_block(measure, *rows.shape)
            total = total.reshape(mean.shape)
        else:
            centred = np.subtract(wide, mean)
            if centred.dtype.kind == "c":
                centred = centred.real**2 + centred.imag**2
            else:
                centred = np.multiply(centred, centred)
            total = reduce_sum(np.asarray(centred), dims, True)
        total = np.asarray(np.divide(total, total.dtype.type(max(0, count - correction))))
    real = x.real.dtype if x.dtype.kind == "c" else x.dtype
    variance = narrow(_finish(total, x.shape, dims, keepdim), real)
    return variance, narrow(_finish(np.asarray(mean), x.shape, dims, keepdim), x.dtype)


def square_sum(x: np.ndarray, dims: Dims) -> np.ndarray:
    """The sum of squares of float32 or float64 over `dims`, which have size 1 in the result."""
    total = reduce_compiled(x, "sum", dims, True, of="squares") if dims else None
    if total is not None:
        return total
    rows = _trailing_rows(x, dims)
    if rows is None:
        return reduce_sum(np.asarray(np.multiply(x, x)), dims, True)
    if len(rows) == 1 and x.size > 1 << 14:  # in chunks, since one long dot product is less accurate
        whole = x.size >> 12 << 12
        pieces = rows[0, :whole].reshape(-1, 1 << 12)
        tail = rows[0, whole:]
        return (np.add.reduce(np.vecdot(pieces, pieces)) + np.vecdot(tail, tail)).reshape((1,) * x.ndim)
    return np.vecdot(rows, rows).reshape(_kept(x.shape, dims))


def nansum(x: np.ndarray, dims: Dims, keepdim: bool = False) -> np.ndarray:
    """The sum over `dims`, ignoring NaN."""
    quick = reduce_compiled(x, "sum", dims, keepdim, of="not nan") if dims else None
    if quick is not None:
        return narrow(quick, x.dtype)
    total = reduce_sum(x, dims, keepdim)
    return reduce_sum(np.where(np.isnan(x), x.dtype.type(0), x), dims, keepdim) if np.isnan(total).any() else total


@quiet
def quantiles(x: np.ndarray, q: np.ndarray, dim: int | None, interpolation: str, ignore_nan: bool) -> np.ndarray | None:
    """Quantiles along a dimension, or of all elements; a 1-d q adds a last dimension.

    None if NaNs are to be ignored and there are some: then each row has its own ranks.
    """
    ordered = np.sort(x.reshape(-1) if dim is None or not x.ndim else moveaxis(x, dim, -1), -1)
    missing = np.isnan(ordered[..., -1])  # NaNs are sorted last
    some = missing.any()
    if some and ignore_nan:
        return None
    ranks = q * q.dtype.type(ordered.shape[-1] - 1)
    if interpolation in _INTEGER_RANKS:
        values = ordered.take(_INTEGER_RANKS[interpolation](ranks).astype(np.int64), -1)
    else:
        low = ranks.astype(np.int64)
        weight = q.dtype.type(0.5) if interpolation == "midpoint" else ranks - low.astype(q.dtype)
        first, second = ordered.take(low, -1), ordered.take(np.ceil(ranks).astype(np.int64), -1)
        gap = second - first  # interpolate from the nearer end, as PyTorch does
        values = np.where(weight < 0.5, first + weight * gap, second - gap * (1 - weight))
    if some:
        values = np.where(missing[..., None] if q.ndim else missing, q.dtype.type(np.nan), values)
    return np.asarray(values)


_INTEGER_RANKS = {"lower": np.floor, "higher": np.ceil, "nearest": np.rint}


# ----- Sums and maxima of rows and columns by NumPy, quicker or more accurate than its own ----------------------------
# Note [Row sums]
# NumPy's reduction over a short last axis costs some 40 ns per row, and uses one accumulator where BLAS's dot product has many.
# So a row sum is the dot product with ones (`vecdot`), which stays in one thread for any number of rows. For long rows NumPy's
# pairwise summation is used: it is as fast and more accurate.
#
# Note [Column sums]
# NumPy adds pairwise along the last axis, but row by row along any other: a float32 sum of 100000 rows is wrong in the fourth
# digit. So rows are summed in groups of 64, then their sums likewise, at almost no cost.
#
# Note [Row maxima by argmax]
# `maximum.reduce` over a short last axis is slow for the same reason, while `argmax` is vectorised within each row. So the row
# maximum is `argmax` followed by a gather. A NaN in a row is its maximum, either way.


@lru_cache
def _ones(dtype: np.dtype) -> np.ndarray:
    return np.ones(LONG_ROW, dtype)


def row_sum(x: np.ndarray) -> np.ndarray:
    """Sum over the last axis of a 2-d float array, shape (rows,); see Note [Row sums]."""
    columns = x.shape[1]
    if columns > LONG_ROW:
        return np.add.reduce(x, 1)
    return np.vecdot(_ones(x.dtype)[:columns], x)  # in this order, since `vecdot` conjugates the first


def column_sum(x: np.ndarray) -> np.ndarray:
    """Sum over the rows of a 2-d array, shape (columns,). See Note [Column sums]."""
    rows, columns = x.shape
    whole = rows // GROUP * GROUP if rows > 2 * GROUP else 0
    rest = np.add.reduce(x[whole:], 0)
    if whole:
        rest += column_sum(np.add.reduce(x[:whole].reshape(-1, GROUP, columns), 1))
    return rest


def row_max(x: np.ndarray) -> np.ndarray:
    """Maximum over the last axis of a contiguous 2-d array, shape (rows, 1); see Note [Row maxima by argmax]."""
    rows, columns = x.shape
    where = x.argmax(1)
    where += np.arange(0, rows * columns, columns)
    return x.reshape(-1).take(where).reshape(rows, 1)
