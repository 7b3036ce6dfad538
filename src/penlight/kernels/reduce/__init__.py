"""Reductions: sums, variance, norms and quantiles.

`dims` are the dimensions to reduce, in any order and non-negative; for a 0-d array they are ignored. The running reductions are in
scan.py.
"""

from __future__ import annotations

from math import inf, prod

import numpy as np

from ..numpy_calls import moveaxis
from ..rows import GROUP, each_block, narrow, quiet, widen
from .in_numpy import column_sum, row_sum
from .large import fold
from .strategies import LEAST_MIDDLE, MOST_PLAIN

__all__ = ["nansum", "norm", "quantiles", "reduce_sum", "var_mean"]

Dims = tuple[int, ...]


def _kept(shape: tuple[int, ...], dims: Dims) -> tuple[int, ...]:
    return tuple(1 if k in dims else n for k, n in enumerate(shape))


def _finish(result: np.ndarray, shape: tuple[int, ...], dims: Dims, keepdim: bool) -> np.ndarray:
    """A result with reduced dimensions of size 1, shaped as asked for."""
    return result.reshape(_kept(shape, dims) if keepdim else tuple(n for k, n in enumerate(shape) if k not in dims))


def _trailing_rows(x: np.ndarray, dims: Dims) -> np.ndarray | None:
    """x as contiguous 2-d rows that `dims` cover, or None if they are not its last dimensions."""
    if not x.size or not x.flags.c_contiguous or dims != tuple(range(x.ndim - len(dims), x.ndim)):
        return None
    return x.reshape(prod(x.shape[: x.ndim - len(dims)]), -1)


def _sum_middle(x: np.ndarray) -> np.ndarray:
    """(outer, n, inner) summed over n; see Note [Column sums] in in_numpy.py."""
    outer, n, inner = x.shape
    if x.size >= LEAST_MIDDLE and (inner == 1 or outer == 1):
        total = fold(x.reshape(outer, n), "sum", (1,)) if inner == 1 else fold(x.reshape(n, inner), "sum", (0,))
        if total is not None:
            return total.reshape(outer, inner)
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
    quick = fold(x, "sum", dims, keepdim) if dims else None
    if quick is not None:
        return narrow(quick, x.dtype)
    total = widen(x)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        if x.size <= MOST_PLAIN or not dims:
            return narrow(np.asarray(total.sum(dims, keepdims=keepdim)), x.dtype)
        total = np.asarray(total, order="C")
        left = [d for d in dims if x.shape[d] != 1]
        while left:  # one run of neighbouring dimensions after the other, the last one first
            stop = left.pop() + 1
            start = stop - 1
            while left and left[-1] == start - 1:
                start = left.pop()
            shape = total.shape
            cut = (prod(shape[:start]), prod(shape[start:stop]), prod(shape[stop:]))
            total = _sum_middle(total.reshape(cut)).reshape(shape[:start] + (1,) * (stop - start) + shape[stop:])
    return narrow(_finish(total, x.shape, dims, keepdim), x.dtype)


def var_mean(x: np.ndarray, dims: Dims, correction: float = 1, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(variance, mean) over `dims`: the squared distances from the mean, over max(0, count - correction)."""
    dims = tuple(sorted(dims)) if x.ndim else ()
    wide = widen(x)
    count = prod(x.shape[k] for k in dims)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
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


def _number(p: float) -> str:
    return str(int(p)) if p == int(p) else str(p)


def _check_norm(x: np.ndarray, p: float, dims: Dims) -> None:
    if x.size == 0 and (p < 0 or p == inf):
        name = f"{p:g}" if p in (inf, -inf) else _number(p)
        if len(dims) == x.ndim:
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {name} norm on an empty tensor because the operation does not "
                "have an identity"
            )
        for dim in dims:
            if x.shape[dim] == 0:
                raise RuntimeError(
                    f"linalg.vector_norm cannot compute the {name} norm on the dimension {dim}"
                    "because this dimension is empty and the operation does not have an identity"
                )


def norm(x: np.ndarray, p: float, dims: Dims, keepdim: bool = False) -> np.ndarray:
    """(sum |x|^p)^(1/p) over `dims`; for 0 the number of nonzeros, for inf and -inf the largest and smallest |x|."""
    dims = tuple(sorted(dims)) if x.ndim else ()
    _check_norm(x, p, dims)
    wide = widen(x)
    real = wide.real.dtype
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        if p == 0:
            result = np.asarray(np.count_nonzero(wide, dims, keepdims=True)).astype(real)
        elif p == 2 and wide.dtype.kind == "f":
            result = np.sqrt(_square_sum(wide, dims))
        else:
            size = np.asarray(np.abs(wide))
            if p in (inf, -inf):
                ufunc = np.maximum if p > 0 else np.minimum
                result = np.asarray(ufunc.reduce(size, dims, keepdims=True))
            elif p == 1:
                result = reduce_sum(size, dims, True)
            else:
                result = np.power(reduce_sum(np.asarray(size**p), dims, True), real.type(1.0 / p))
    return narrow(_finish(np.asarray(result), x.shape, dims, keepdim), x.real.dtype if x.dtype.kind == "c" else x.dtype)


def _square_sum(x: np.ndarray, dims: Dims) -> np.ndarray:
    """Sum of squares over `dims`, with size 1 there."""
    total = fold(x, "sum", dims, True, of="squares") if dims else None
    if total is not None:
        return total
    rows = _trailing_rows(x, dims)
    if rows is None:
        return reduce_sum(np.asarray(np.multiply(x, x)), dims, True)
    if len(rows) == 1 and x.size > 1 << 14:  # in pieces, since one long dot product is less accurate
        whole = x.size >> 12 << 12
        pieces = rows[0, :whole].reshape(-1, 1 << 12)
        tail = rows[0, whole:]
        return (np.add.reduce(np.vecdot(pieces, pieces)) + np.vecdot(tail, tail)).reshape((1,) * x.ndim)
    return np.vecdot(rows, rows).reshape(_kept(x.shape, dims))


def nansum(x: np.ndarray, dims: Dims, keepdim: bool = False) -> np.ndarray:
    """The sum over `dims` of what is not NaN."""
    quick = fold(x, "sum", dims, keepdim, of="numbers") if dims else None
    if quick is not None:
        return narrow(quick, x.dtype)
    total = reduce_sum(x, dims, keepdim)
    return reduce_sum(np.where(np.isnan(x), x.dtype.type(0), x), dims, keepdim) if np.isnan(total).any() else total


@quiet
def quantiles(x: np.ndarray, q: np.ndarray, dim: int | None, interpolation: str, ignore_nan: bool) -> np.ndarray | None:
    """Quantiles along a dimension, or of all elements; those of a 1-d q along a new last dimension.

    None if NaNs are to be ignored and there are some: then each row has ranks of its own.
    """
    ordered = np.sort(x.reshape(-1) if dim is None or not x.ndim else moveaxis(x, dim, -1), -1)
    missing = np.isnan(ordered[..., -1])  # NaNs are sorted behind all others
    some = missing.any()
    if some and ignore_nan:
        return None
    ranks = q * q.dtype.type(ordered.shape[-1] - 1)
    if interpolation in _WHOLE_RANKS:
        values = ordered.take(_WHOLE_RANKS[interpolation](ranks).astype(np.int64), -1)
    else:
        low = ranks.astype(np.int64)
        weight = q.dtype.type(0.5) if interpolation == "midpoint" else ranks - low.astype(q.dtype)
        first, second = ordered.take(low, -1), ordered.take(np.ceil(ranks).astype(np.int64), -1)
        gap = second - first  # from the nearer end, as PyTorch computes it
        values = np.where(weight < 0.5, first + weight * gap, second - gap * (1 - weight))
    if some:
        values = np.where(missing[..., None] if q.ndim else missing, q.dtype.type(np.nan), values)
    return np.asarray(values)


_WHOLE_RANKS = {"lower": np.floor, "higher": np.ceil, "nearest": np.rint}
