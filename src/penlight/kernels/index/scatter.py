"""Writes at indices: scatter_add and the like, index_add, index_put with accumulation, embedding backward.

All return a new array, or write into `base` with `inplace=True`; indices are checked before anything is written.

Note [Accumulating by flat positions]
`np.add.at` on a 2-d array with a row index runs a generic loop of some 25 ns for each element, but with one flat index array on a
flat array it takes a specialised loop of 1 to 2 ns. So every accumulation here uses flat positions. Rows of an even number of
real floats are added as half as many complex numbers: the same additions with half as many positions.
"""

from __future__ import annotations

import math
from functools import lru_cache
from math import prod
from types import EllipsisType
from typing import Any

import numpy as np

from .. import index_width
from ..index_width import native_counts
from ..numpy_calls import broadcast_to, positions, row_starts
from ..numpy_warnings import hush, silent, unhush
from ..rows import is_half, narrow, split_shape, widen
from . import LEAST_COLUMNS, LEAST_MOVED, gather_scatter
from .gather_scatter import add_columns, all_inside, nonzero, put_masked, reduce_along

Index = np.ndarray | slice | int | None | EllipsisType

_PAIRS: dict[np.dtype, np.dtype] = {
    np.dtype(np.float32): np.dtype(np.complex64),
    np.dtype(np.float64): np.dtype(np.complex128),
}
_POSITION_BLOCK = 1 << 16


def _checked(index: np.ndarray, size: int, message: str, error: type[Exception] = IndexError) -> np.ndarray:
    """`index` as intp, after checking 0 <= index < size; `message` may hold {index}."""
    index = np.asarray(index, np.intp)
    if index.size and not all_inside(index, size):
        bad = index[(index < 0) | (index >= size)].flat[0]
        raise error(message.format(index=bad))
    return index


def _checked_along(index: np.ndarray, shape: tuple[int, ...], dim: int) -> np.ndarray:
    size = shape[dim] if shape else 1
    if type(index) is np.ndarray and index.dtype == _INTP and index.size and all_inside(index, size):
        return index
    return _checked(index, size, f"index {{index}} is out of bounds for dimension {dim} with size {size}", RuntimeError)


_INTP = np.dtype(np.intp)


def _wrapped(index: np.ndarray, dim: int, size: int) -> np.ndarray:
    """`index` as intp with negative entries counted from the end, as in indexing."""
    index = np.asarray(index, np.intp)
    if index.size and not all_inside(index, size):
        bad = index[(index < -size) | (index >= size)]
        if bad.size:
            raise IndexError(f"index {bad.flat[0]} is out of bounds for dimension {dim} with size {size}")
        index = np.where(index < 0, index + size, index)
    return index


def _working_copy(base: np.ndarray, inplace: bool) -> np.ndarray:
    """A C-contiguous array to accumulate into: `base` itself if it may be written directly, else a widened copy."""
    if inplace and base.flags.c_contiguous and not is_half(base.dtype):
        return base
    return base.astype(np.float32, order="C") if is_half(base.dtype) else base.copy()


def _accumulator(base: np.ndarray | tuple[int, ...], dtype: np.dtype, inplace: bool) -> tuple[np.ndarray, np.ndarray]:
    """(base, array to accumulate into); a shape as `base` means zeros of `dtype`."""
    if isinstance(base, np.ndarray):
        return base, _working_copy(base, inplace)
    base = np.zeros(base, dtype)
    return base, _working_copy(base, True)


def _finish(out: np.ndarray, base: np.ndarray, inplace: bool) -> np.ndarray:
    if not inplace:
        return narrow(out, base.dtype)
    if out is not base:
        base[...] = out
    return base


def _positions(index: np.ndarray, shape: tuple[int, ...], dim: int) -> np.ndarray:
    """Flat positions, in a C-contiguous array of `shape`, of the elements that `index` selects along `dim`."""
    shape = shape or (1,)
    if index.shape[:dim] == shape[:dim] and index.shape[dim + 1 :] == shape[dim + 1 :]:
        return positions(shape, index, dim).reshape(-1)
    flat = index * split_shape(shape, dim)[2]
    step = 1
    for k in range(index.ndim - 1, -1, -1):
        if k != dim and index.shape[k] > 1:
            coordinate = np.arange(0, index.shape[k] * step, step)
            flat += coordinate.reshape((-1,) + (1,) * (index.ndim - 1 - k))
        step *= shape[k]
    return flat.reshape(-1)


def _is_expanded(index: np.ndarray, shape: tuple[int, ...], dim: int) -> bool:
    """Whether `index` is one vector along `dim`, expanded (with stride 0) over full rows of `shape`."""
    if index.ndim < 2:
        return False
    for k, (n, m, step) in enumerate(zip(index.shape, shape, index.strides, strict=True)):
        if k != dim and (n != m or (n != 1 and step != 0)):
            return False
    return True


def _prefix(source: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The leading part of `source` that an index of `shape` reads."""
    if source.shape == shape or source.ndim != len(shape):
        return source
    return source[tuple(slice(n) for n in shape)]


def _at(ufunc: np.ufunc, out: np.ndarray, positions: np.ndarray, values: np.ndarray) -> None:
    """ufunc.at without NumPy's warnings: NaN and inf are data here."""
    token = hush()
    try:
        ufunc.at(out, positions, values)
    finally:
        unhush(token)


@lru_cache(64)
def _columns(count: int) -> np.ndarray:
    return np.arange(count)


_WAYS: dict[Any, str] = {np.add: "add", np.multiply: "mul", np.maximum: "max", np.minimum: "min"}


def reduce_rows(ufunc: np.ufunc, out: np.ndarray, index: np.ndarray, rows: np.ndarray) -> None:
    """ufunc.at(out, index, rows) for contiguous 2-d `out`: every repetition counts. See Note [Accumulating by flat positions]."""
    columns = rows.shape[1]
    if columns == 1 and reduce_along(out.reshape(-1), index, rows.reshape(-1), 0, _WAYS[ufunc]):
        return
    if columns >= LEAST_COLUMNS and gather_scatter.reduce_rows(out, index, np.ascontiguousarray(rows), _WAYS[ufunc]):
        return
    rows = np.ascontiguousarray(rows, out.dtype)
    if ufunc is np.add and columns % 2 == 0 and columns and out.dtype in _PAIRS:
        pair = _PAIRS[out.dtype]
        out, rows, columns = out.view(pair), rows.view(pair), columns // 2
    out = out.reshape(-1)
    if columns == 1:
        _at(ufunc, out, index, rows.reshape(-1))
        return
    step, targets = max(1, _POSITION_BLOCK // max(columns, 1)), _columns(columns)
    for start in range(0, len(index), step):
        flat = (index[start : start + step, None] * columns + targets).reshape(-1)
        _at(ufunc, out, flat, rows[start : start + step].reshape(-1))


def scatter_add(
    base: np.ndarray | tuple[int, ...], dim: int, index: np.ndarray, source: np.ndarray, inplace: bool = False
) -> np.ndarray:
    """base with base[index[i][j]][j] += source[i][j] (for dim 0). A shape as `base` means zeros."""
    shape = base if isinstance(base, tuple) else base.shape
    if index.size:
        index = _checked_along(index, shape, dim)
    base, out = _accumulator(base, source.dtype, inplace)
    if index.size:
        source = widen(_prefix(source, index.shape))
        if not index.flags.c_contiguous and _is_expanded(index, shape, dim):
            vector = index[tuple(slice(None) if k == dim else 0 for k in range(index.ndim))]
            _index_add(out, dim, vector, source)
        elif not reduce_along(out, index, source, dim):
            values = source.reshape(-1).astype(out.dtype, copy=False)
            _at(np.add, out.reshape(-1), _positions(index, shape, dim), values)
    return _finish(out, base, inplace)


def _index_add(out: np.ndarray, dim: int, index: np.ndarray, source: np.ndarray) -> None:
    """out[..., index, ...] += source in place, for contiguous `out`."""
    if dim == 0 and out.ndim == 2 and index.ndim == 1:
        reduce_rows(np.add, out, index, source)
        return
    outer, size, inner = split_shape(out.shape, dim)
    if inner == 1 and add_columns(out.reshape(outer, size), index.reshape(-1), source.reshape(outer, -1)):
        return
    if outer > 1:
        index = (row_starts(outer, size) + index).reshape(-1)
    reduce_rows(np.add, out.reshape(outer * size, inner), index.reshape(-1), source.reshape(-1, inner))


def index_add(
    base: np.ndarray | tuple[int, ...],
    dim: int,
    index: np.ndarray,
    source: np.ndarray,
    alpha: float = 1,
    inplace: bool = False,
) -> np.ndarray:
    """base with alpha * source[i] added to slice index[i] along `dim`. A shape as `base` means zeros."""
    shape = base if isinstance(base, tuple) else base.shape
    # PyTorch has two wordings of this error, depending on its code path.
    if source.size and len(shape) > 1 and dim in (0, len(shape) - 1):
        index = _checked_along(index, shape, dim)
    elif source.size:
        index = _checked(index, shape[dim] if shape else 1, "index out of range in self")
    base, out = _accumulator(base, source.dtype, inplace)
    if source.size:
        source = widen(source)
        if alpha != 1:
            with silent():
                source = np.multiply(source, np.asarray(alpha).astype(source.dtype))
        _index_add(out, dim, index, source)
    return _finish(out, base, inplace)


def embedding_backward(
    grad: np.ndarray, indices: np.ndarray, num_weights: int, padding_idx: int = -1, scale_grad_by_freq: bool = False
) -> np.ndarray:
    """Gradient (num_weights, D) of an embedding table from grad (..., D) at indices (...)."""
    columns = grad.shape[-1]
    index = _checked(indices, num_weights, "index out of range in self").reshape(-1)
    rows = widen(grad).reshape(len(index), columns)
    if scale_grad_by_freq:
        rows = rows / index_width.bincount(index, minlength=num_weights)[index].astype(rows.dtype)[:, None]
    out = np.zeros((num_weights, columns), rows.dtype)
    reduce_rows(np.add, out, index, rows)
    if padding_idx >= 0:
        out[padding_idx] = 0
    return narrow(out, grad.dtype)


_REDUCTIONS = {"sum": np.add, "mean": np.add, "prod": np.multiply, "amax": np.maximum, "amin": np.minimum}


def _identity(reduce: str, dtype: np.dtype) -> object:
    if reduce in ("sum", "mean"):
        return 0
    if reduce == "prod":
        return 1
    lowest = reduce == "amax"
    if dtype.kind == "b":
        return not lowest
    if dtype.kind in "iu":
        return np.iinfo(dtype).min if lowest else np.iinfo(dtype).max
    return -np.inf if lowest else np.inf


def _start(flat: np.ndarray, targets: np.ndarray, reduce: str) -> None:
    """Reset the targets to the reduction's neutral element."""
    flat[targets] = _identity(reduce, flat.dtype)


def _divide(totals: np.ndarray, count: np.ndarray) -> None:
    """Divide sums by their counts, in place, to get means; a count of 0 is treated as 1."""
    np.maximum(count, 1, out=count)
    if totals.dtype.kind in "iu":
        np.floor_divide(totals, count.astype(totals.dtype), out=totals)
    else:
        np.divide(totals, count.astype(totals.real.dtype), out=totals)


def scatter_reduce(
    base: np.ndarray,
    dim: int,
    index: np.ndarray,
    source: np.ndarray,
    reduce: str,
    include_self: bool = True,
    inplace: bool = False,
) -> np.ndarray:
    """base with source[i][j] reduced into base[index[i][j]][j] (for dim 0) by sum, prod, mean, amax or amin."""
    if reduce == "mean" and base.dtype.kind == "b":
        raise NotImplementedError("\"scatter_gather_tensor_cpu_reduce_mean\" not implemented for 'Bool'")
    if index.size:
        index = _checked_along(index, base.shape, dim)
    out = _working_copy(base, inplace)
    if index.size:
        ufunc, flat = _REDUCTIONS[reduce], out.reshape(-1)
        values = widen(_prefix(source, index.shape)).astype(out.dtype, copy=False)
        targets: Any = _positions(index, base.shape, dim) if reduce == "mean" or not include_self else None
        if not include_self:
            _start(flat, targets, reduce)
        if not reduce_along(out, index, values, dim, _WAYS[ufunc]):
            targets = _positions(index, base.shape, dim) if targets is None else targets
            _at(ufunc, flat, targets, values.reshape(-1))
        if reduce == "mean":
            _divide(flat, index_width.bincount(targets, minlength=flat.size) + int(include_self))
    return _finish(out, base, inplace)


def index_reduce(
    base: np.ndarray,
    dim: int,
    index: np.ndarray,
    source: np.ndarray,
    reduce: str,
    include_self: bool = True,
    inplace: bool = False,
) -> np.ndarray:
    """base with source[i] reduced into slice index[i] along `dim` by prod, mean, amax or amin."""
    size = base.shape[dim] if base.ndim else 1
    if not include_self:
        _wrapped(index, dim, size)  # PyTorch replaces the slices first, which accepts negative indices
    index = _checked(index, size, "index out of range in self").reshape(-1)
    out = _working_copy(base, inplace)
    if source.size:
        outer, size, inner = split_shape(out.shape, dim)
        if outer > 1:
            index = (row_starts(outer, size) + index).reshape(-1)
        table = out.reshape(outer * size, inner)
        if not include_self:
            _start(table, index, reduce)
        reduce_rows(_REDUCTIONS[reduce], table, index, widen(source).reshape(-1, inner))
        if reduce == "mean":
            _divide(table, index_width.bincount(index, minlength=len(table))[:, None] + int(include_self))
    return _finish(out, base, inplace)


def masked_scatter(base: np.ndarray, mask: np.ndarray, source: np.ndarray, inplace: bool = False) -> np.ndarray:
    """base with its masked elements replaced by those of `source`, in order; base and mask broadcast together."""
    if not inplace and base.shape != mask.shape:
        base, mask = np.broadcast_arrays(base, mask)
    mask = broadcast_to(mask, base.shape)
    count = np.count_nonzero(mask)
    if source.size < count:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    out = base if inplace else np.array(base, order="C")
    chosen = source.reshape(-1)[:count]
    if out.size < LEAST_MOVED or not put_masked(out, mask, chosen):
        out[mask] = chosen
    return out


def put(
    base: np.ndarray, index: np.ndarray, source: np.ndarray, accumulate: bool = False, inplace: bool = False
) -> np.ndarray:
    """base, viewed as flat, with `source` written (or added) at `index`; negative indices count from the end."""
    if index.size != source.size:
        raise IndexError(
            "put_(): Expected source and index to have the same number of elements, but got "
            f"source.numel() = {source.size}, index.numel() = {index.size}"
        )
    flat = np.asarray(index, np.intp).reshape(-1)
    if flat.size and not all_inside(flat, base.size):
        bad = flat[(flat < -base.size) | (flat >= base.size)]
        if bad.size:
            raise IndexError(f"out of range: tried to access index {bad[0]} on a tensor of {base.size} elements.")
        flat = np.where(flat < 0, flat + base.size, flat)
    out = _working_copy(base, inplace)
    values = source.reshape(-1).astype(out.dtype, copy=False)
    if not accumulate:
        out.reshape(-1)[flat] = values
    elif not reduce_along(out.reshape(-1), flat, values, 0):
        _at(np.add, out.reshape(-1), flat, values)
    return _finish(out, base, inplace)


def _split_index(indices: tuple[Index, ...], shape: tuple[int, ...]) -> tuple[list[Index], list[Index]]:
    """Split an index into two steps: a basic one (slices, ints, None), then one of arrays and full slices.

    Boolean arrays become their nonzero positions, and every array is checked and made non-negative.
    """
    used = sum((i.ndim if i.dtype.kind == "b" else 1) if isinstance(i, np.ndarray) else i is not None for i in indices)
    used -= any(i is Ellipsis for i in indices)
    if used > len(shape):
        raise IndexError(f"too many indices for tensor of dimension {len(shape)}")
    basic: list[Index] = []
    advanced: list[Index] = []
    dim = 0
    for entry in (*indices, Ellipsis) if not any(i is Ellipsis for i in indices) else indices:
        if entry is Ellipsis:
            rest = len(shape) - used
            basic += [slice(None)] * rest
            advanced += [slice(None)] * rest
            dim += rest
        elif isinstance(entry, np.ndarray):
            if entry.dtype.kind == "b" and entry.ndim == 0:  # x[True] is x[None], x[False] is empty
                basic.append(None)
                advanced.append(np.zeros(int(entry), np.intp))
                continue
            for array in nonzero(entry) if entry.dtype.kind == "b" else (entry,):
                basic.append(slice(None))
                advanced.append(_wrapped(array, dim, shape[dim]))
                dim += 1
        else:
            basic.append(entry)
            dim += entry is not None
            if not isinstance(entry, int):
                advanced.append(slice(None))
    return basic, advanced


def _flat_index(indices: tuple[Index, ...], shape: tuple[int, ...]) -> tuple[np.ndarray, tuple[int, ...], int]:
    """(targets, result shape, row length): the index selects the rows `targets`, each of that length."""
    basic, advanced = _split_index(indices, shape)
    arrays = [entry for entry in advanced if isinstance(entry, np.ndarray)]
    try:
        common = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        shapes = ", ".join(str(list(array.shape)) for array in arrays)
        message = f"shape mismatch: indexing tensors could not be broadcast together with shapes {shapes}"
        raise IndexError(message) from None
    lead = len(arrays)
    whole_rows = len(basic) == len(advanced) == len(shape) and all(entry == slice(None) for entry in basic)
    if lead and whole_rows and all(isinstance(entry, np.ndarray) for entry in advanced[:lead]):
        return _rows_at(arrays, common, shape)
    # The general case: the flat position is the sum of stride * coordinate, and each coordinate is indexed as the
    # array itself would be. The coordinates are expanded views, so the cost is proportional to the result's size.
    positions = np.zeros((), np.intp)
    step = 1
    for k in range(len(shape) - 1, -1, -1):
        coordinate = (np.arange(shape[k]) * step).reshape((-1,) + (1,) * (len(shape) - 1 - k))
        positions = positions + np.broadcast_to(coordinate, shape)[tuple(basic)][tuple(advanced)]
        step *= shape[k]
    return positions.reshape(-1), positions.shape, 1


def _rows_at(
    arrays: list[np.ndarray], common: tuple[int, ...], shape: tuple[int, ...]
) -> tuple[np.ndarray, tuple[int, ...], int]:
    """`_flat_index` of arrays for the first dimensions, which broadcast to a common shape."""
    lead, targets = len(arrays), arrays[0]
    for array, size in zip(arrays[1:], shape[1:lead], strict=True):
        targets = targets * size + array
    return targets.reshape(-1), common + shape[lead:], prod(shape[lead:])


def _row_numbers(indices: tuple[Index, ...], values: tuple[int, ...], shape: tuple[int, ...]) -> np.ndarray | None:
    """The indices of the full rows that values of a shape go to, from one int64 array for each of the first dimensions; None if
    the index is not that simple."""
    first, count = indices[0] if indices else None, len(indices)
    if type(first) is not np.ndarray or count > len(shape) or values != (*first.shape, *shape[count:]):
        return None
    numbers: Any = None
    for dim, array in enumerate(indices):
        if type(array) is not np.ndarray or array.dtype != _INTP or array.shape != first.shape:
            return None
        array = _wrapped(array, dim, shape[dim])
        if numbers is None:
            numbers = array
        else:
            numbers = numbers * shape[dim]
            numbers += array
    return numbers


def _only_vector(indices: tuple[Index, ...]) -> int | None:
    """The dimension in which a vector of indices selects, if all others are full slices; else None."""
    found = None
    for dim, entry in enumerate(indices):
        if type(entry) is np.ndarray and entry.ndim == 1 and entry.dtype == _INTP and found is None:
            found = dim
        elif not (type(entry) is slice and entry == _WHOLE):
            return None
    return found


_WHOLE = slice(None)


def index_put_add(
    base: np.ndarray | tuple[int, ...], indices: tuple[Index, ...], values: np.ndarray, inplace: bool = False
) -> np.ndarray:
    """base with `values` added at base[indices], counting every repetition. A shape as `base` means zeros.

    Indices may be integer or boolean arrays (which broadcast), slices, ints, None and Ellipsis, with PyTorch's
    meaning: ints select first, so that they do not move the dimensions of the arrays.
    """
    whole = base if isinstance(base, tuple) else base.shape
    rows = _row_numbers(indices, values.shape, whole)
    if rows is not None:
        base, out = _accumulator(base, values.dtype, inplace)
        if values.size:
            columns = values.size // rows.size
            table = widen(values).reshape(rows.size, columns)
            reduce_rows(np.add, out.reshape(-1, columns), rows.reshape(-1), table)
        return _finish(out, base, inplace)
    if isinstance(base, tuple) and len(indices) > 1 and (dim := _only_vector(indices)) is not None:
        size = base[dim]
        index = _wrapped(indices[dim], dim, size)  # type: ignore[arg-type]
        if values.shape == (*base[:dim], len(index), *base[dim + 1 :]):
            return index_add(base, dim, index, values)
    targets, shape, columns = _flat_index(indices, base if isinstance(base, tuple) else base.shape)
    try:
        rows = broadcast_to(widen(values), shape).reshape(len(targets), columns)
    except ValueError:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to "
            f"indexing result of shape {list(shape)}"
        ) from None
    base, out = _accumulator(base, values.dtype, inplace)
    if rows.size:
        reduce_rows(np.add, out.reshape(-1, columns), targets, rows)
    return _finish(out, base, inplace)


# ----- Reductions of consecutive rows ---------------------------------------------------------------------------------
# Each row has an owner; each owner's rows are reduced to one.


_SEGMENT_REDUCTIONS = {
    "sum": (np.add, 0.0),
    "mean": (np.add, 0.0),
    "max": (np.maximum, -math.inf),
    "min": (np.minimum, math.inf),
    "prod": (np.multiply, 1.0),
}


def reduce_segments(
    x: np.ndarray,
    owners: np.ndarray,
    row_counts: np.ndarray | None,
    shape: tuple[int, ...],
    reduce: str,
    initial: float | None,
) -> np.ndarray:
    """The sum, mean, max, min or product of each owner's rows and an initial scalar, in a shape. For means, `row_counts` is the
    number of rows per owner.

    The mean is that sum divided by the number of rows. Without rows it is the initial scalar, or NaN if there is none.
    """
    ufunc, neutral = _SEGMENT_REDUCTIONS[reduce]
    wide = widen(x)
    out = np.empty(shape, wide.dtype)
    out.fill(neutral if initial is None else initial)
    if wide.size:
        inner = wide.size // len(owners)
        table = out.reshape(-1, inner)
        reduce_rows(ufunc, table, owners, wide.reshape(-1, inner))
        if row_counts is not None:
            token = hush()
            table /= row_counts if initial is None else np.maximum(row_counts, 1)
            unhush(token)
    elif row_counts is not None and initial is None:
        out.fill(math.nan)
    return narrow(out, x.dtype)


def covered(sizes: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The positions covered by consecutive segments of these sizes; `starts` is the start of the first segment in each row."""
    first = (starts[..., None] + np.cumsum(sizes, -1) - sizes).reshape(-1)
    counts = sizes.reshape(-1)
    before = np.cumsum(counts) - counts
    return np.repeat(first - before, native_counts(counts)) + np.arange(counts.sum())
