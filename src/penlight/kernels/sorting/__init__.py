"""Sorting and functions based on it: sort, topk, kthvalue, median, mode, unique, searchsorted, histc, bincount.

NaN counts as the largest value. Sorting is always stable, as PyTorch's on the CPU is. Where PyTorch does not specify which of
equal elements is chosen (topk, kthvalue), it is the one with the lowest index.

Note [Sorting keys with their positions]
NumPy sorts plain integers with vector instructions, but its stable argsort is ten times slower. So an element of up to 32 bits
becomes an integer key with the same order, and key and position are packed into one 64-bit integer: the key in the high half, the
position in the low half. Sorting these is a stable sort, and the positions are the low halves of the result. For 64-bit integers
the same works whenever their range is below 2^31.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..copies import contiguous
from ..copies.convert import plain_mask
from ..index.gather_scatter import nonzero
from ..index_width import wide_indices
from ..numpy_calls import moveaxis, row_starts, take_along
from ..rows import is_half, quiet
from ..strategy import Strategy, apply

_SMALL = 2048  # elements; below, packing keys costs more than it saves
_MOST_FOUND = 8  # elements of a row that are found one by one
_FEW_BOUNDS = 16  # elements of a sorted row with which values are compared one by one
_LONG = 1 << 14  # length of a row from which on topk first finds its threshold
_LONG_SINGLE = 256  # the same, if there is only one row
_POSITION = 0xFFFFFFFF


def _plain(x: np.ndarray) -> np.ndarray:
    """x, with bytes 0 and 1 only if it is bool: NumPy compares the bytes."""
    return plain_mask(x) if x.dtype == np.bool_ else x


def as_rows(x: np.ndarray, dim: int) -> np.ndarray:
    """x as 2-d contiguous rows along `dim`."""
    x = _plain(x)
    if x.ndim == 0:
        return x.reshape(1, 1)
    moved = x if dim == x.ndim - 1 else x.T if x.ndim == 2 else moveaxis(x, dim, x.ndim - 1)
    return contiguous(moved).reshape(-1, x.shape[dim]) if x.size else moved.reshape(0, x.shape[dim])


def restore_rows(rows: np.ndarray, shape: tuple[int, ...], dim: int) -> np.ndarray:
    """The inverse of `as_rows`, for rows of any length."""
    if not shape:
        return rows.reshape(())
    if dim == len(shape) - 1:
        rows = rows if rows.flags.c_contiguous else rows.copy()
        return rows.reshape(*shape[:dim], rows.shape[1])
    if len(shape) == 2 and rows.size:
        return rows.T.copy()
    laid_out = rows.reshape(*shape[:dim], *shape[dim + 1 :], rows.shape[1])
    return np.ascontiguousarray(moveaxis(laid_out, laid_out.ndim - 1, dim))


def _reduced(column: np.ndarray, shape: tuple[int, ...], dim: int, keepdim: bool) -> np.ndarray:
    """One result for each row, shaped as a reduction of `shape` over `dim`."""
    if not shape:
        return column.reshape(())
    return column.reshape(shape[:dim] + ((1,) if keepdim else ()) + shape[dim + 1 :])


def _keys(rows: np.ndarray) -> np.ndarray | None:
    """int64 keys below 2^31 in magnitude with the order of the elements; None if there are none."""
    if is_half(rows.dtype):
        rows = rows.astype(np.float32)
    if rows.dtype == np.float32:
        positive_zero = rows + np.float32(0)
        bits = positive_zero.view(np.int32)
        keys = bits >> 31
        keys &= 0x7FFFFFFF
        keys ^= bits
        nan = np.isnan(rows)
        if nan.any():
            keys[nan] = 0x7FFFFFFF
        return keys.astype(np.int64)
    if rows.dtype.kind == "b" or (rows.dtype.kind in "iu" and rows.dtype.itemsize < 8):
        return rows.astype(np.int64) - (1 << 31 if rows.dtype == np.uint32 else 0)
    if rows.dtype.kind in "iu" and rows.size:
        low, high = int(rows.min()), int(rows.max())
        if high - low < 1 << 31:
            return (rows - rows.dtype.type(low)).astype(np.int64)
    return None


def _packed(rows: np.ndarray, descending: bool) -> np.ndarray | None:
    """Keys and positions in one integer; see Note [Sorting keys with their positions]."""
    keys = _keys(rows) if rows.size >= _SMALL and rows.shape[1] <= _POSITION else None
    if keys is None:
        return None
    if descending:
        np.invert(keys, keys)
    keys <<= 32
    keys |= np.arange(rows.shape[1])
    return keys


def _comparable(x: np.ndarray) -> np.ndarray:
    """x in a dtype whose NaN NumPy sorts to the end: bfloat16, which is not NumPy's own, becomes float32."""
    return x.astype(np.float32) if x.dtype.kind == "V" else x


def argsort_rows(rows: np.ndarray, descending: bool) -> np.ndarray:
    """Stable argsort of each row."""
    if rows.size < _SMALL and rows.dtype.kind in "fiub":
        if not descending:
            return rows.argsort(1, kind="stable")
        if rows.dtype.kind == "f":
            return np.subtract(rows.shape[1] - 1, rows[:, ::-1].argsort(1, kind="stable")[:, ::-1])
        return np.invert(rows).argsort(1, kind="stable")
    rows = _comparable(rows)
    packed = _packed(rows, descending)
    if packed is not None:
        packed.sort(1)
        packed &= _POSITION
        return packed
    if rows.size >= _SMALL:  # the vectorised sort gives the same if no elements are equal
        order = rows.argsort(1)
        ordered = take_along(rows, order, 1)
        if (ordered[:, 1:] > ordered[:, :-1]).all():
            return np.ascontiguousarray(order[:, ::-1]) if descending else order
    if descending and rows.dtype.kind in "iub":
        return np.invert(rows).argsort(1, kind="stable")
    if descending and rows.size >= _SMALL and not _has_nan(rows):
        return np.negative(rows).argsort(1, kind="stable")
    if descending:
        order = rows[:, ::-1].argsort(1, kind="stable")[:, ::-1]
        return np.subtract(rows.shape[1] - 1, order)
    return rows.argsort(1, kind="stable")


def pick(rows: np.ndarray, order: np.ndarray) -> np.ndarray:
    """rows[i, order[i, j]]."""
    count, n = rows.shape
    if count == 1:
        return rows.take(order)
    return rows.take(order + row_starts(count, n)) if count else rows.reshape(order.shape)


@quiet
def _has_nan(rows: np.ndarray) -> bool:
    """Whether there is a NaN. The sum of squares, which takes one pass and no temporary, is NaN exactly then."""
    if rows.dtype.kind == "f":
        flat = rows.reshape(-1)
        total = flat.dot(flat)
        return bool(total != total)
    return rows.dtype.kind not in "iub" and bool(np.isnan(rows).any())


@wide_indices(1)
def sort(x: np.ndarray, dim: int, descending: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(values, indices) sorted along `dim`, stably; NaN is the largest."""
    rows = as_rows(x, dim)
    order = argsort_rows(rows, descending)
    return restore_rows(pick(rows, order), x.shape, dim), restore_rows(order, x.shape, dim)


@wide_indices()
def argsort(x: np.ndarray, dim: int, descending: bool = False) -> np.ndarray:
    """The indices that `sort` returns."""
    return restore_rows(argsort_rows(as_rows(x, dim), descending), x.shape, dim)


def _top_of_long_row(row: np.ndarray, k: int, largest: bool) -> np.ndarray:
    """Positions of the first k elements of the sorted row, selected from those that reach the k-th value."""
    row = _comparable(row)
    last = len(row) - k if largest else k - 1
    ordered = row.copy()
    ordered.partition(last)
    limit = ordered[last]
    if largest:
        reaching = np.isnan(row) if limit != limit else np.logical_not(row < limit)
    else:
        reaching = np.ones(len(row), bool) if limit != limit else row <= limit
    candidates = reaching.nonzero()[0]
    if len(candidates) >= _SMALL:
        return candidates.take(argsort_rows(row.take(candidates)[None], largest)[0, :k])
    if not largest:
        return candidates.take(row.take(candidates).argsort(kind="stable")[:k])
    candidates = candidates[::-1]  # reversed twice, so that the first of equal ones stays first
    return candidates.take(row.take(candidates).argsort(kind="stable")[: -k - 1 : -1])


def _first_few(rows: np.ndarray, k: int, largest: bool) -> np.ndarray | None:
    """Positions of the first k elements of each sorted row, found one by one; None if -inf or NaN cannot be distinguished from
    those already found."""
    left = rows.copy() if largest else np.negative(rows)
    if not largest and _has_nan(left):
        return None
    flat, starts = left.reshape(-1), row_starts(*rows.shape)[:, 0]
    order = np.empty((len(rows), k), np.int64)
    for i in range(k):
        found = left.argmax(1)  # the first of equal ones, or the first NaN
        order[:, i] = found
        found += starts
        if i == k - 1:
            return None if (flat.take(found) == -np.inf).any() else order
        flat[found] = -np.inf
    return order


def _top_by_partition(rows: np.ndarray, k: int, largest: bool) -> np.ndarray | None:
    """Positions of the first k elements of each sorted row; None if there are no keys that can be packed."""
    packed = _packed(rows, largest)
    if packed is None:
        return None
    packed.partition(k - 1, 1)
    order = packed[:, :k]
    order.sort(1)
    return order & _POSITION


def _top_of_long_rows(rows: np.ndarray, k: int, largest: bool) -> np.ndarray:
    if len(rows) == 1:
        return _top_of_long_row(rows[0], k, largest)[None]
    return np.stack([_top_of_long_row(row, k, largest) for row in rows])


def _has_long_rows(rows: np.ndarray, k: int, largest: bool) -> bool:
    count, n = rows.shape
    return 0 < k < n and count > 0 and (n >= _LONG or (count == 1 and 4 * k < n and n >= _LONG_SINGLE))


def _has_few_first(rows: np.ndarray, k: int, largest: bool) -> bool:
    return 0 < k <= _MOST_FOUND < rows.shape[1] and rows.size >= _SMALL and rows.dtype.char in "fd"


# fmt: off
TOPK = (
    Strategy(_has_long_rows, _top_of_long_rows,
             "2 times partitions of packed keys, 14 times sorting float64: a row takes much longer than a step of Python"),
    Strategy(_has_few_first, _first_few, "2 to 30 times partitions of packed keys"),
    Strategy(lambda rows, k, largest: 0 < 4 * k < rows.shape[1], _top_by_partition, "2.5 times sorting"),
    Strategy(None, lambda rows, k, largest: argsort_rows(rows, largest)[:, :k], "every size and dtype"),
)
# fmt: on


@wide_indices(1)
def topk(x: np.ndarray, k: int, dim: int, largest: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """(values, indices) of the k largest or smallest along `dim`, sorted, the lowest index first among equals."""
    rows = as_rows(x, dim)
    order = apply(TOPK, rows, k, largest)
    return restore_rows(pick(rows, order), x.shape, dim), restore_rows(order, x.shape, dim)


def _check_reduction(name: str, x: np.ndarray, dim: int) -> None:
    if x.ndim and x.shape[dim] == 0:
        raise IndexError(f"{name}(): Expected reduction dim {dim} to have non-zero size.")


def _rank_rows(rows: np.ndarray, rank: np.ndarray | int) -> np.ndarray:
    """For each row the position of its element of this `rank` in sorted order; one rank for all, or (rows,)."""
    rows = _comparable(rows)
    if not isinstance(rank, int):
        if rows.size >= _SMALL:
            starts = row_starts(*rows.shape)[:, 0]
            ordered = np.sort(rows, 1)
            value = ordered.take(starts + rank)
            before = ordered.take(starts + np.maximum(rank - 1, 0))
            if not (before[rank > 0] == value[rank > 0]).any():
                return (rows == value[:, None]).argmax(1)  # the first of equal ones
        return take_along(argsort_rows(rows, False), rank[:, None], 1)[:, 0]
    if rows.size < _SMALL:
        return argsort_rows(rows, False)[:, rank].copy()
    ordered = np.partition(rows, rank, 1)
    value = ordered[:, rank, None]
    equal = rows == value
    if not _has_nan(value) and not (ordered[:, :rank] == value).any():
        return equal.argmax(1)  # the first of equal ones
    below = rows < value
    if rows.dtype.kind not in "iub":
        nan = np.isnan(rows)
        is_nan = np.isnan(value)
        equal |= nan & is_nan
        below |= ~nan & is_nan
    # Of the equal elements, take number (rank - count of smaller elements).
    wanted = rank - np.count_nonzero(below, 1)
    return (equal.cumsum(1) > wanted[:, None]).argmax(1)


def median_of_all(x: np.ndarray, skip_nan: bool) -> np.ndarray:
    """The median of all elements (at least one); NaN if there is any NaN, unless these are skipped."""
    flat = _comparable(x).reshape(-1)
    count = flat.size
    if _has_nan(flat):
        count = int(np.count_nonzero(flat == flat)) if skip_nan else 0
        if not count:
            return np.full((), np.nan, x.dtype)
    rank = (count - 1) // 2
    ordered = np.sort(flat) if flat.size < _SMALL else np.partition(flat, rank)
    return np.asarray(ordered[rank], x.dtype)


@wide_indices(1)
def kthvalue(x: np.ndarray, k: int, dim: int, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(value, index) of the k-th smallest element along `dim`, counted from 1."""
    _check_reduction("kthvalue", x, dim)
    if k < 1 or k > (x.shape[dim] if x.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {dim}")
    rows = as_rows(x, dim)
    return _picked(x, rows, k - 1, dim, keepdim)


def _picked(
    x: np.ndarray, rows: np.ndarray, rank: np.ndarray | int, dim: int, keepdim: bool, nan_wins: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    index = _rank_rows(rows, rank) if len(rows) else np.zeros(0, np.int64)
    if nan_wins and _has_nan(rows):
        nan = np.isnan(rows)
        index = np.where(nan.any(1), nan.argmax(1), index)
    values = pick(rows, index[:, None])
    return _reduced(values, x.shape, dim, keepdim), _reduced(index, x.shape, dim, keepdim)


@wide_indices(1)
def median(x: np.ndarray, dim: int, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(value, index) of the median along `dim`, the lower one of two; if there is a NaN, NaN and the index of the first."""
    _check_reduction("median", x, dim)
    rows = as_rows(x, dim)
    return _picked(x, rows, (rows.shape[1] - 1) // 2, dim, keepdim, nan_wins=True)


@wide_indices(1)
def nanmedian(x: np.ndarray, dim: int, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(value, index) of the median along `dim`, ignoring NaN."""
    _check_reduction("nanmedian", x, dim)
    rows = as_rows(x, dim)
    if not _has_nan(rows):
        return _picked(x, rows, (rows.shape[1] - 1) // 2, dim, keepdim)
    count = np.count_nonzero(rows == rows, 1)
    return _picked(x, rows, np.maximum(count - 1, 0) // 2, dim, keepdim)


@wide_indices(1)
def mode(x: np.ndarray, dim: int, keepdim: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """(value, index) of the most frequent value along `dim`, the smallest of several; the index is its last one."""
    _check_reduction("mode", x, dim)
    rows = as_rows(x, dim)
    order = argsort_rows(rows, False)
    ordered = pick(rows, order)
    changed = ordered[:, 1:] != ordered[:, :-1]
    if rows.size >= _SMALL and changed.all():  # all values are distinct: the smallest
        return _reduced(ordered[:, 0].copy(), x.shape, dim, keepdim), _reduced(
            order[:, 0].copy(), x.shape, dim, keepdim
        )
    count, n = rows.shape
    if not count:
        return _reduced(ordered[:, 0], x.shape, dim, keepdim), _reduced(order[:, 0], x.shape, dim, keepdim)
    columns = row_starts(n, 1)[:, 0]
    starts = np.zeros((count, n), np.int64)
    np.multiply(changed, columns[1:], out=starts[:, 1:])
    np.maximum.accumulate(starts, 1, out=starts)
    # The run lengths so far: the first maximum is at the end of the most frequent value's run.
    best = np.subtract(columns, starts, out=starts).argmax(1)
    if count > 1:
        best += row_starts(count, n)[:, 0]
    return _reduced(ordered.take(best), x.shape, dim, keepdim), _reduced(order.take(best), x.shape, dim, keepdim)


def _changes(ordered: np.ndarray) -> np.ndarray:
    """Where an element differs from the one before it in its row; the first always does."""
    changed = np.empty(ordered.shape, bool)
    changed[:, :1] = True
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=changed[:, 1:])
    return changed


Unique = tuple[np.ndarray, np.ndarray | None, np.ndarray | None]


def _runs(changed: np.ndarray, order: np.ndarray | None, inverse: bool, counts: bool) -> Unique:
    """(starts, inverse, counts) of runs that begin where `changed`, for elements that were ordered by `order`."""
    starts = nonzero(changed)[0]
    back = sizes = None
    if inverse:
        back = number = changed.cumsum()
        number -= 1
        if order is not None:
            back = np.empty_like(number)
            back[order] = number
    if counts:
        sizes = np.empty_like(starts)
        np.subtract(starts[1:], starts[:-1], out=sizes[:-1])
        sizes[-1:] = len(changed) - starts[-1:]
    return starts, back, sizes


@wide_indices(1, 2)
def unique(x: np.ndarray, return_inverse: bool = False, return_counts: bool = False) -> Unique:
    """(values, inverse, counts): the distinct elements, sorted; every NaN is distinct."""
    flat = np.ascontiguousarray(_plain(x)).reshape(1, -1)
    if not return_inverse:
        ordered = np.sort(_comparable(flat), 1)
        starts, _, counts = _runs(_changes(ordered)[0], None, False, return_counts)
        return ordered.take(starts).astype(x.dtype, copy=False), None, counts
    order = argsort_rows(flat, False)
    ordered = flat[0].take(order)
    starts, inverse, counts = _runs(_changes(ordered)[0], order[0], True, return_counts)
    assert inverse is not None
    return ordered.take(starts), inverse.reshape(x.shape), counts


def _slices(x: np.ndarray, dim: int) -> np.ndarray:
    """x as (n along dim, everything else); refuses arrays without elements to compare."""
    if x.size == 0 and x.shape[dim] != 0:
        raise RuntimeError("There are 0 sized dimensions, and they aren't selected, so unique cannot be applied")
    return moveaxis(_plain(x), dim, 0).reshape(x.shape[dim], -1 if x.size else 0)


@wide_indices(1, 2)
def unique_dim(x: np.ndarray, dim: int, return_inverse: bool = False, return_counts: bool = False) -> Unique:
    """(slices, inverse, counts): the distinct slices of x along `dim`, in lexicographic order."""
    slices = _slices(x, dim)
    order = np.lexsort(slices.T[::-1]) if slices.size else np.arange(len(slices))
    starts, inverse, counts = _runs(_slice_changes(slices[order]), order, return_inverse, return_counts)
    return np.take(x, order[starts], dim), inverse, counts


def _slice_changes(slices: np.ndarray) -> np.ndarray:
    changed = np.ones(len(slices), bool)
    changed[1:] = (slices[1:] != slices[:-1]).any(1)
    return changed


@wide_indices(1, 2)
def unique_consecutive(
    x: np.ndarray, dim: int | None = None, return_inverse: bool = False, return_counts: bool = False
) -> Unique:
    """(values, inverse, counts) with each run of equal neighbours reduced to one element (or slice along `dim`)."""
    if dim is None:
        flat = _plain(x).reshape(1, -1)
        starts, inverse, counts = _runs(_changes(flat)[0], None, return_inverse, return_counts)
        return flat.take(starts), None if inverse is None else inverse.reshape(x.shape), counts
    starts, inverse, counts = _runs(_slice_changes(_slices(x, dim)), None, return_inverse, return_counts)
    return np.take(x, starts, dim), inverse, counts


def searchsorted(
    sequence: np.ndarray, values: np.ndarray, right: bool = False, sorter: np.ndarray | None = None
) -> np.ndarray:
    """The insertion index of each value in the sorted sequence: before equal elements, or (`right`) after them.

    A 1-d sequence serves all values; otherwise all but the last dimensions of both agree.
    """
    if sequence.ndim != 1 and sequence.shape[:-1] != values.shape[:-1]:
        raise RuntimeError(
            "torch.searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries "
            f"tensor and input value tensor must match, but we got boundaries tensor {list(sequence.shape)} and input "
            f"value tensor {list(values.shape)}"
        )
    if sorter is not None:
        if sorter.shape != sequence.shape:
            raise RuntimeError(
                "torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor "
                f"{list(sequence.shape)}and got sorter tensor {list(sorter.shape)}"
            )
        if sorter.size and (sorter.min() < 0 or sorter.max() >= sequence.shape[-1]):
            raise RuntimeError("torch.searchsorted(): sorter index out of range")
        sequence = np.take_along_axis(sequence, sorter, -1)
    side: Literal["left", "right"] = "right" if right else "left"
    if sequence.ndim == 1:
        return np.asarray(np.searchsorted(sequence, values, side))
    rows = sequence.reshape(-1, sequence.shape[-1]) if sequence.size else sequence.reshape(0, 0)
    if not len(rows) or not values.size:
        return np.zeros(values.shape, np.int64)
    wanted = values.reshape(len(rows), -1)
    if len(rows) <= 16:
        found = np.stack([np.searchsorted(row, want, side) for row, want in zip(rows, wanted, strict=True)])
    elif rows.shape[1] <= _FEW_BOUNDS and not _has_nan(rows):
        columns = np.ascontiguousarray(wanted.T)
        found = np.full(columns.shape, rows.shape[1])
        for bound in rows.T:
            found -= bound > columns if right else bound >= columns
        found = np.ascontiguousarray(found.T)
    else:
        found = _bisect(np.ascontiguousarray(rows), wanted, right)
    return found.reshape(values.shape)


def _bisect(rows: np.ndarray, wanted: np.ndarray, right: bool) -> np.ndarray:
    """Bisection for all values of all rows at once."""
    count, n = rows.shape
    flat, base = rows.reshape(-1), np.arange(0, count * n, n)[:, None]
    position = np.empty(wanted.shape, np.int64)
    position[...] = base
    left = n  # size of the search interval, which starts at `position`
    while left:
        half = (left + 1) // 2
        at = flat.take(position + (half - 1))
        not_behind = at > wanted if right else at >= wanted
        position += np.logical_not(not_behind) * half
        left -= half
    position -= base
    return position


def histc(x: np.ndarray, bins: int, low: float = 0.0, high: float = 0.0) -> np.ndarray:
    """Counts in `bins` equal bins from low to high, in the dtype of x; by default from its minimum to its maximum."""
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    flat = x.reshape(-1)
    if low == high and flat.size:
        low, high = float(flat.min()), float(flat.max())
    if low == high:
        low, high = low - 1, high + 1
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError("torch.histc: max must be larger than min")
    first, last = x.dtype.type(low), x.dtype.type(high)
    inside = flat[(flat >= first) & (flat <= last)]
    bin_of_each = ((inside - first) * x.dtype.type(bins) / (last - first)).astype(np.int64)
    return np.bincount(np.minimum(bin_of_each, bins - 1), minlength=bins).astype(x.dtype)


@wide_indices()
def bincount(x: np.ndarray, weights: np.ndarray | None = None, minlength: int = 0) -> np.ndarray:
    """How often each of 0, 1, 2, ... occurs, or the sum of its weights: int64, float32 for such weights, else float64."""
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if x.ndim != 1 or (x.size and x.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is not None and x.size and weights.shape != x.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    if weights is None or x.size == 0:
        return np.bincount(x.astype(np.intp, copy=False), minlength=minlength)
    total = np.bincount(x.astype(np.intp, copy=False), weights.astype(np.float64), minlength)
    return total.astype(np.float32) if weights.dtype == np.float32 else total
