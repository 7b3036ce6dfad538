"""Sums, products and extrema of large arrays over any dimensions, by native kernels.

Note [Folds in pieces]
One long sum in float32 loses digits: see Note [Folds in registers] for what the kernels do about that. Long rows and columns are cut into pieces
besides, which threads share, and the pieces' results are folded in the same way. Where the cuts are does not depend on the number of threads, so
results do not either. Dimensions are folded in the order of memory: a transposed array is read as it lies, and neighbouring dimensions are one.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from .. import executable
from ..copies.convert import plain_mask
from ..numpy_warnings import silent
from ..waiting_threads import over
from . import kernels
from .strategies import FEW_COLUMNS, MOST_LEFT, MOST_ROWS

_GRAIN = 1 << 16  # elements that are worth waking a thread for
_PIECES = 8  # at least, of what would otherwise be one unit of work
_PIECE = 1 << 15  # elements of a long row


@lru_cache(None)
def _kind(dtype: np.dtype[Any]) -> str | None:
    """The key of folding.KINDS for this dtype, or None."""
    name = dtype.name
    return name if name in kernels.KINDS and dtype.isnative else None


def fold(
    x: np.ndarray, how: str, dims: tuple[int, ...] | None = None, keepdim: bool = False, of: str = ""
) -> np.ndarray | None:
    """See `fold` in kernels/reduce/large.py."""
    if not executable.available():
        return None
    if x.dtype == np.bool_:
        x = plain_mask(x).view(np.uint8)
    kind = _kind(x.dtype)
    if kind is None or (x.dtype.kind in "iub" and (how != "sum" or of)):
        return None
    if dims is None:
        dims = tuple(range(x.ndim))
    elif len(dims) > 1:
        dims = tuple(sorted(dims))
    plan = _single(x.shape, x.strides, kind, how, of, dims, keepdim)
    if plan is not None:
        kernel, total, grain, before, after, shape, dtype, rest = plan
        out = np.empty(shape, dtype)
        over(kernel, total, grain, *before, x, out, *after)
        return out if rest is None else _rest(out, how, *rest)
    if not x.flags.c_contiguous:
        result = _in_memory_order(x, kind, how, of, dims)
    elif len(dims) == x.ndim:
        result = _whole(x, kind, how, of)
    else:
        result = _contiguous(x, kind, how, of, dims)
    return None if result is None else result.reshape(_result_shape(x.shape, dims, keepdim))


def _rest(x: np.ndarray, how: str, dims: tuple[int, ...], shape: tuple[int, ...], kernel: Any) -> np.ndarray:
    """The fold of what a kernel has left, over some of its dimensions, or over all by another kernel."""
    if kernel is None:
        return np.asarray(_reduce(x, how, dims)).reshape(shape)
    out = np.empty(shape, x.dtype)
    kernel(0, 1, x.size, 0, x, out)
    return out


def _result_shape(shape: tuple[int, ...], dims: tuple[int, ...], keepdim: bool) -> tuple[int, ...]:
    if keepdim:
        return tuple([1 if k in dims else n for k, n in enumerate(shape)])
    return tuple([n for k, n in enumerate(shape) if k not in dims])


_Layout = tuple[list[int], list[int], list[bool]]


def _merged(shape: tuple[int, ...], strides: tuple[int, ...], dims: tuple[int, ...]) -> _Layout:
    """Sizes, steps in bytes, and whether they are folded, of the dimensions of more than one element, neighbours merged."""
    sizes: list[int] = []
    steps: list[int] = []
    are: list[bool] = []
    for k, (n, step) in enumerate(zip(shape, strides)):
        if n == 1:
            continue
        if sizes and are[-1] == (k in dims) and steps[-1] == n * step:
            sizes[-1], steps[-1] = sizes[-1] * n, step
        else:
            sizes.append(n)
            steps.append(step)
            are.append(k in dims)
    return sizes, steps, are


@lru_cache(512)
def _single(
    shape: tuple[int, ...], strides: tuple[int, ...], kind: str, how: str, of: str, dims: tuple[int, ...], keepdim: bool
) -> Any:
    """How to fold with one call of a kernel, if that can be: the kernel, its rows or units, its arguments, the result's shape and dtype, and which
    dimensions of that are left to be folded, with the final shape, or None."""
    if not dims or not shape or min(strides) < 0:
        return None
    traits = kernels.KINDS[kind]
    order = sorted(range(len(shape)), key=lambda k: (strides[k] != 0, -strides[k]))  # what is repeated is outermost
    kept = [k for k in order if k not in dims and shape[k] > 1]
    folded = tuple([i for i, k in enumerate(order) if k in dims])
    sizes, steps, are = _merged(tuple([shape[k] for k in order]), tuple([strides[k] for k in order]), folded)
    if kept != sorted(kept) or not steps or steps[-1] != traits.size:
        return None
    result = _result_shape(shape, dims, keepdim), traits.result
    if are[-1]:
        *lead, length = sizes
        left = tuple([i for i, folded_too in enumerate(are[:-1]) if folded_too])
        even = all(steps[i] == sizes[i + 1] * steps[i + 1] for i in range(len(lead) - 1))
        if not even or not traits.lanes <= length < 2 * _GRAIN or (left and prod(lead) > MOST_LEFT):
            return None
        work = prod(lead), -(-_GRAIN // length), (length, steps[-2] if lead else 0), ()
        made: Any = (*result, None)
        if left:
            whole = len(left) == len(lead) and prod(lead) >= kernels.KINDS[traits.result_name].lanes
            last = kernels.rows_kernel(traits.result_name, how, "") if whole else None
            made = (tuple(lead), traits.result, (left, result[0], last))
        return kernels.rows_kernel(kind, how, of), *work, *made
    if are not in ([True, False], [False, True, False]):
        return None
    (outer, n, inner), (apart, step) = (1, *sizes)[-3:], (0, *steps)[-3:-1]
    rows = _rows_of_a_unit(outer, n, inner)
    if inner < max(FEW_COLUMNS, traits.lanes) or rows < n:
        return None
    kernel = kernels.columns_kernel(kind, how, of)
    return kernel, outer, -(-_GRAIN // (n * inner)), (n, inner), (step, apart, 1, n), *result, None


def _rows_of_a_unit(outer: int, n: int, inner: int) -> int:
    """How many of n rows a unit has, of which several are shared between threads if there is enough to do."""
    rows = min(n, MOST_ROWS)
    if n * outer * inner >= 2 * _GRAIN and outer < _PIECES:
        rows = min(rows, -(-n * outer // (_PIECES * kernels.GROUP)) * kernels.GROUP)
    return rows


def _contiguous(x: np.ndarray, kind: str, how: str, of: str, dims: tuple[int, ...]) -> np.ndarray | None:
    """The result, of whatever shape: one run of neighbouring dimensions after the other, the last one first."""
    if not dims:
        return None
    stop = dims[-1] + 1
    start, left = stop - 1, len(dims) - 1
    while left and dims[left - 1] == start - 1:
        start, left = start - 1, left - 1
    shape = x.shape
    outer, n, inner = prod(shape[:start]), prod(shape[start:stop]), prod(shape[stop:])
    size = x.itemsize
    if inner == 1:
        result = _rows(x, kind, how, of, outer, n, n * size)
    else:
        result = _columns(x, kind, how, of, (outer, n, inner), (n * inner * size, inner * size))
    if result is None or not left:
        return result
    lead = result.reshape(shape[:start] + shape[stop:])
    if lead.size < MOST_LEFT:
        return _reduce(lead, how, dims[:left])
    return _contiguous(lead, kernels.KINDS[kind].result_name, how, "", dims[:left])


_UFUNCS: dict[str, Any] = {"sum": np.add, "product": np.multiply, "largest": np.maximum, "smallest": np.minimum}


def _reduce(x: np.ndarray, how: str, dims: int | tuple[int, ...]) -> np.ndarray:
    """The same by NumPy."""
    with silent():
        return _UFUNCS[how].reduce(x, dims)  # type: ignore[no-any-return]


def _in_memory_order(x: np.ndarray, kind: str, how: str, of: str, dims: tuple[int, ...]) -> np.ndarray | None:
    """The result in the order of the dimensions that are left, for any layout."""
    if not dims or min(x.strides) < 0:
        return None
    order = sorted(range(x.ndim), key=lambda k: -x.strides[k])
    y = x.transpose(order)
    folded = tuple([i for i, k in enumerate(order) if k in dims])
    result = None
    if not y.flags.c_contiguous:
        result = _strided(y, kind, how, of, folded)
        if result is None:
            y = np.ascontiguousarray(y)
    if result is None:
        result = _contiguous(y, kind, how, of, folded)
    if result is None:
        return None
    kept = [k for k in order if k not in dims]
    if kept == sorted(kept):
        return result
    back = result.reshape([x.shape[k] for k in kept]).transpose(np.argsort(kept))
    return np.ascontiguousarray(back)


def _strided(y: np.ndarray, kind: str, how: str, of: str, folded: tuple[int, ...]) -> np.ndarray | None:
    """The result where all dimensions but the last two or three have one element, or None: as of slices of a matrix."""
    sizes, steps, are = _merged(y.shape, y.strides, folded)
    if not steps or steps[-1] != y.itemsize:
        return None
    if are == [False, True]:
        return _rows(y, kind, how, of, sizes[0], sizes[1], steps[0])
    if are == [True, False]:
        sizes, steps, are = [1, *sizes], [0, *steps], [False, *are]
    if are == [False, True, False]:
        return _columns(y, kind, how, of, (sizes[0], sizes[1], sizes[2]), (steps[0], steps[1]))
    return None


def _whole(x: np.ndarray, kind: str, how: str, of: str) -> np.ndarray:
    """The fold of all elements of a contiguous array, as an array of no dimensions."""
    traits, size = kernels.KINDS[kind], x.size
    kernel = kernels.rows_kernel(kind, how, of)
    out = np.empty((), traits.result)
    if size < 2 * _GRAIN:
        kernel(0, 1, size, 0, x, out)
        return out
    pieces = max(_PIECES, size // _PIECE)
    pieces = next((n for n in range(pieces, pieces + _PIECES) if size % n == 0), pieces)
    length, rest = divmod(size, pieces)
    parts = np.empty(pieces + (rest > 0), traits.result)
    over(kernel, pieces, -(-_GRAIN // length), length, length * x.itemsize, x, parts)
    if rest:
        parts[-1] = _reduce(_terms(x.reshape(-1)[-rest:], kind, of), how, 0)
    kernels.rows_kernel(traits.result_name, how, "")(0, 1, len(parts), 0, parts, out)
    return out


_OF: dict[str, Any] = {
    "squares": np.square,
    "size": np.abs,
    "numbers": lambda x: np.where(np.isnan(x), x.dtype.type(0), x),
}


def _terms(x: np.ndarray, kind: str, of: str) -> np.ndarray:
    """What is to be folded, as an array of the result's dtype."""
    wide = x.astype(kernels.KINDS[kind].result, copy=False)
    with silent():
        return _OF[of](wide) if of else wide  # type: ignore[no-any-return]


def _view(x: np.ndarray, shape: tuple[int, ...], strides: tuple[int, ...], offset: int = 0) -> np.ndarray:
    """The memory of an array, from some bytes behind its first element on, as an array of another shape."""
    holder = np.lib.stride_tricks.as_strided(x, (offset // x.itemsize + 1,), (x.itemsize,)) if offset else x
    return np.lib.stride_tricks.as_strided(holder[-1:] if offset else holder, shape, strides)


def _rows(x: np.ndarray, kind: str, how: str, of: str, rows: int, length: int, stride: int) -> np.ndarray:
    """The fold of each row, rows being `stride` bytes apart."""
    traits = kernels.KINDS[kind]
    if length < traits.lanes:  # one column after the other: NumPy takes as long for a short row as for a long one
        columns = _view(x, (length, rows), (x.itemsize, stride))
        total = np.array(_terms(columns[0], kind, of))
        with silent():
            for column in columns[1:]:
                _UFUNCS[how](total, _terms(column, kind, of), out=total)
        return total
    if length >= 2 * _GRAIN:
        parts = [_whole(_view(x, (length,), (x.itemsize,), row * stride), kind, how, of) for row in range(rows)]
        return np.array(parts, traits.result)
    out = np.empty(rows, traits.result)
    kernel = kernels.rows_kernel(kind, how, of)
    over(kernel, rows, -(-_GRAIN // length), length, stride, x, out)
    return out


def _columns(
    x: np.ndarray, kind: str, how: str, of: str, shape: tuple[int, int, int], strides: tuple[int, int]
) -> np.ndarray:
    """The fold over the second of three dimensions, of which the first two are `strides` bytes apart, as (outer, inner)."""
    outer, n, inner = shape
    traits = kernels.KINDS[kind]
    if inner < FEW_COLUMNS and strides[1] == inner * x.itemsize and n > 1:
        return _few_columns(x, kind, how, of, shape, strides)
    if inner < traits.lanes:
        return _reduce(_terms(_view(x, shape, (*strides, x.itemsize)), kind, of), how, 1)
    rows = _rows_of_a_unit(outer, n, inner)
    units = -(-n // rows)
    out = np.empty((outer * units, inner), traits.result)
    kernel = kernels.columns_kernel(kind, how, of)
    grain = -(-_GRAIN // (rows * inner))
    over(kernel, outer * units, grain, rows, inner, x, out, strides[1], strides[0], units, n)
    if units == 1:
        return out
    line = inner * out.itemsize
    return _columns(out, traits.result_name, how, "", (outer, units, inner), (units * line, line))


def _few_columns(
    x: np.ndarray, kind: str, how: str, of: str, shape: tuple[int, int, int], strides: tuple[int, int]
) -> np.ndarray:
    """The same where there are few columns: several rows, which lie side by side, as one, then the fold of those."""
    outer, n, inner = shape
    together = min(n, -(-FEW_COLUMNS // inner))
    main = n // together
    wider = (outer, main, together * inner), (strides[0], together * strides[1])
    sums = _columns(x, kind, how, of, *wider)
    result = _reduce(sums.reshape(outer, together, inner), how, 1)
    rest = n - main * together
    if rest:
        view = _view(x, (outer, rest, inner), (*strides, x.itemsize), main * together * strides[1])
        with silent():
            _UFUNCS[how](result, _UFUNCS[how].reduce(_terms(view, kind, of), 1), out=result)
    return result
