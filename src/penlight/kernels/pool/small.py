"""Pooling of small batches, in as few calls of NumPy as there can be.

Note [Pooling by positions]
Where the elements of each window lie in a flattened plane is worked out once for each geometry and kept, as a table with a row for each
window. A small batch is pooled by taking these elements from all planes at once: the largest of each row, or their sum. The transpose of
a sum goes the same way with the table of the windows that each element belongs to. A tap that falls outside stands for an element that changes
nothing: for the largest, the first one of the window; for sums, a zero behind the plane. Each function returns None for what is not
simple; `kernels/pool/` does everything.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ..rows import quiet
from . import loops
from .loops import output_sizes as pool_output_sizes

SMALL = 8192  # elements of a batch
_TAPS = 1 << 15  # elements of all windows together
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
Ints = tuple[int, ...]


class _Table:
    """The positions of the elements of each window: `inside` (windows, taps), where the taps that fall outside repeat the first one that does
    not, and `padded`, where they are the position behind the plane."""

    def __init__(self, sizes: Ints, starts: list[np.ndarray], taps: list[np.ndarray]) -> None:
        # `starts` of windows and `taps` from there, for each dimension; a tap may depend on the window.
        self.out = tuple(len(s) for s in starts)
        windows, size = prod(self.out), prod(sizes)
        places = np.zeros((windows, 1), np.int64)
        valid = np.ones((windows, 1), bool)
        step = size
        for d, n in enumerate(sizes):
            step //= n
            at = starts[d][:, None] + taps[d]  # (windows of this dimension, taps)
            shape = [1] * len(sizes)
            shape[d] = len(at)
            wide = np.broadcast_to(at.reshape(*shape, -1), (*self.out, at.shape[1])).reshape(windows, -1)
            places = (places[:, :, None] + (wide * step)[:, None]).reshape(windows, -1)
            valid = (valid[:, :, None] & ((wide >= 0) & (wide < n))[:, None]).reshape(windows, -1)
        first = places[np.arange(windows), valid.argmax(1)]
        self.inside = np.where(valid, places, first[:, None])
        self.complete = bool(valid.all())
        self.padded = self.inside if self.complete else np.where(valid, places, size)
        self.by_taps = np.ascontiguousarray(self.padded.T)
        self.taps = places.shape[1]
        self.rows = np.arange(windows) * self.taps
        self.counts = valid.sum(1)
        self.valid = valid

    def transposed(self, size: int) -> tuple[np.ndarray, bool]:
        """For each element of a plane the windows that it belongs to, and one behind the last where it belongs to fewer than others; whether
        there is such a one."""
        if not hasattr(self, "back"):
            windows = len(self.padded)
            owner = np.broadcast_to(np.arange(windows)[:, None], self.padded.shape)[self.valid]
            element = self.padded[self.valid]
            order = element.argsort(kind="stable")
            element, owner = element[order], owner[order]
            counts = np.bincount(element, minlength=size)
            rank = np.arange(len(element)) - np.repeat(np.cumsum(counts) - counts, counts)
            table = np.full((size, max(int(counts.max(initial=0)), 1)), windows)
            table[element, rank] = owner
            self.back = np.ascontiguousarray(table.T), bool((table == windows).any())
        return self.back


@lru_cache(128)
def _sliding(sizes: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool) -> _Table:
    out = pool_output_sizes(sizes, kernel, stride, padding, dilation, ceil_mode)
    starts = [np.arange(o) * s - p for o, s, p in zip(out, stride, padding, strict=True)]
    return _Table(sizes, starts, [(np.arange(k) * d)[None] for k, d in zip(kernel, dilation, strict=True)])


@lru_cache(128)
def _even(sizes: Ints, out: Ints) -> _Table:
    """Window i of o over n elements goes from floor(i * n / o) to ceil((i + 1) * n / o)."""
    starts, taps = [], []
    for n, o in zip(sizes, out, strict=True):
        low, high = np.arange(o) * n // o, -(-(np.arange(1, o + 1) * n) // o)
        steps = np.arange(int((high - low).max(initial=1)))[None]
        starts.append(low)
        taps.append(np.where(steps < (high - low)[:, None], steps, -n - 1))  # what the window lacks falls outside
    return _Table(sizes, starts, taps)


@lru_cache(64)
def _starts(count: int, size: int) -> np.ndarray:
    return np.arange(count)[:, None] * size


def serves(x: np.ndarray) -> bool:
    """Whether this is the way for a batch: it is small, and there is no machine code for it."""
    return x.size <= SMALL and not loops.suits(x)


def _simple(x: np.ndarray, dims: int) -> bool:
    return 0 < x.size <= SMALL and x.dtype in _FLOATS and x.flags.c_contiguous and x.ndim - dims in (1, 2)


def _largest(x: np.ndarray, table: _Table, dims: int) -> tuple[Any, Any] | None:
    lead = x.shape[:-dims]
    planes = prod(lead)
    windows = len(table.inside)
    if not 0 < planes * windows * table.taps <= _TAPS:
        return None
    found = x.reshape(planes, -1).take(table.inside, 1)
    best = found.argmax(2)
    best += table.rows
    indices = table.inside.take(best)
    values = found.take(best + _starts(planes, windows * table.taps))
    top = values.item(values.argmax())
    if top != top:
        return None  # of several NaNs the last counts
    shape = (*lead, *table.out)
    return values.reshape(shape), indices.reshape(shape)


def _sums(x: np.ndarray, table: np.ndarray, padded: bool) -> np.ndarray:
    """For each column of the table the sum of the elements there, of all rows of x."""
    if padded:
        longer = np.zeros((len(x), x.shape[1] + 1), x.dtype)
        longer[:, :-1] = x
        x = longer
    return np.add.reduce(x.take(table, 1), 1)


def max_pool(
    x: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, ceil_mode: bool
) -> tuple[Any, Any] | None:
    """The largest element of each window, and its position in the flattened plane."""
    dims = len(kernel)
    if not _simple(x, dims):
        return None
    return _largest(x, _sliding(x.shape[-dims:], kernel, stride, padding, dilation, ceil_mode), dims)


def adaptive_max_pool(x: np.ndarray, out: Ints) -> tuple[Any, Any] | None:
    """The same with windows that divide a plane evenly into `out`."""
    dims = len(out)
    if not _simple(x, dims) or 0 in out:
        return None
    return _largest(x, _even(x.shape[-dims:], out), dims)


@quiet
def max_pool_backward(
    grad: np.ndarray, indices: np.ndarray, shape: Ints, dims: int, distinct: bool
) -> np.ndarray | None:
    """Each gradient at the place it came from; `distinct` if no place gets two."""
    if grad.dtype not in _FLOATS or not 0 < grad.size <= SMALL:
        return None
    result = np.zeros(shape, grad.dtype)
    planes = prod(shape[:-dims])
    at = indices.reshape(planes, -1) + _starts(planes, result.size // planes)
    if distinct:
        result.reshape(-1)[at] = grad.reshape(planes, -1)
    else:
        result.reshape(-1)[...] = np.bincount(at.reshape(-1), grad.reshape(-1), result.size)
    return result


def _divisor(table: _Table, sizes: Ints, kernel: Ints, stride: Ints, padding: Ints, include_pad: bool) -> Any:
    """What each window's sum is divided by."""
    if table.complete:
        return table.taps
    if not include_pad:
        return table.counts
    result = np.ones(table.out, np.int64)
    for d, (n, o, k, s, p) in enumerate(zip(sizes, table.out, kernel, stride, padding, strict=True)):
        first = np.arange(o) * s - p
        result *= (np.minimum(first + k, n + p) - first).reshape([-1 if j == d else 1 for j in range(len(sizes))])
    return result.reshape(-1)


@lru_cache(128)
def _mean_table(
    sizes: Ints, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool, include_pad: bool
) -> tuple[_Table, Any]:
    table = _sliding(sizes, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    return table, _divisor(table, sizes, kernel, stride, padding, include_pad)


@quiet
def _mean(x: np.ndarray, table: _Table, divisor: Any, dims: int) -> np.ndarray | None:
    lead = x.shape[:-dims]
    planes = prod(lead)
    if not 0 < planes * table.padded.size <= _TAPS:
        return None
    total = _sums(x.reshape(planes, -1), table.by_taps, not table.complete)
    return np.divide(total, divisor, out=total, casting="same_kind").reshape(*lead, *table.out)


@quiet
def _mean_backward(grad: np.ndarray, table: _Table, divisor: Any, shape: Ints, dims: int) -> np.ndarray | None:
    size, planes = prod(shape[-dims:]), prod(shape[:-dims])
    back, padded = table.transposed(size)
    if not 0 < planes * back.size <= _TAPS:
        return None
    shares = np.divide(grad.reshape(planes, -1), divisor, dtype=grad.dtype, casting="same_kind")
    return _sums(shares, back, padded).reshape(shape)


def avg_pool(
    x: np.ndarray, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool, include_pad: bool
) -> np.ndarray | None:
    """The mean of each window."""
    dims = len(kernel)
    if not _simple(x, dims):
        return None
    return _mean(x, *_mean_table(x.shape[-dims:], kernel, stride, padding, ceil_mode, include_pad), dims)


def avg_pool_backward(
    grad: np.ndarray, shape: Ints, kernel: Ints, stride: Ints, padding: Ints, ceil_mode: bool, include_pad: bool
) -> np.ndarray | None:
    """Each element's share of its windows' gradients."""
    dims = len(kernel)
    if not _simple(grad, dims) or prod(shape) > SMALL:
        return None
    table = _mean_table(shape[-dims:], kernel, stride, padding, ceil_mode, include_pad)
    return _mean_backward(grad, *table, shape, dims)


def adaptive_avg_pool(x: np.ndarray, out: Ints) -> np.ndarray | None:
    """The mean of windows that divide a plane evenly into `out`."""
    dims = len(out)
    if not _simple(x, dims) or 0 in out:
        return None
    table = _even(x.shape[-dims:], out)
    return _mean(x, table, table.taps if table.complete else table.counts, dims)


def adaptive_avg_pool_backward(grad: np.ndarray, shape: Ints, dims: int) -> np.ndarray | None:
    """The transpose of `adaptive_avg_pool`."""
    if not _simple(grad, dims) or prod(shape) > SMALL:
        return None
    table = _even(shape[-dims:], grad.shape[-dims:])
    return _mean_backward(grad, table, table.taps if table.complete else table.counts, shape, dims)
