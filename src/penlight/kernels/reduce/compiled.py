"""Sums, products and extrema of large arrays over any dimensions, by compiled kernels.

Note [Reductions in steps]
A kernel reduces rows, or the columns of matrices. So an array is reduced over one run of neighbouring dimensions at a time, the
last one first. Dimensions are taken in memory order: a transposed array is read sequentially, and neighbouring dimensions are
merged. Long rows and columns are also split into units, which threads share, and another step reduces the units' results. The
split does not depend on the number of threads, so neither do the results.

Note [Many short rows]
A reduction over the last dimension of (many, few), or the middle one of (many, few, few), loops over so few elements, for so many
results, that loop overhead takes all the time. With the large dimension last, it is a few operations on long rows, and
transposing the array, and the result back, costs little.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..copies import contiguous
from ..copies.convert import plain_mask
from ..executable import compiles
from ..lazy import lazy_import
from ..numpy_calls import contiguous_strides
from ..waiting_threads import over
from .strategies import FEW_COLUMNS, LEAST_REDUCED, MOST_ELEMENTS, MOST_ROWS, MOST_SHORT, MOST_SMALL

_kernels = lazy_import(globals(), "_kernels", ".kernels")

_GRAIN = 1 << 16  # elements per thread, at least
_UNITS = 8  # at least, instead of a single unit of work
_FLOATS = ("float32", "float64", "float16", "bfloat16")
_INTEGERS = ("int64", "int32", "int16", "int8", "uint8")


def reduce_compiled(
    x: np.ndarray, how: str, dims: tuple[int, ...] | None = None, keepdim: bool = False, of: str = ""
) -> np.ndarray | None:
    """The "sum", "prod", "max" or "min" over `dims`, or of all elements; None if there is no kernel for that.

    The result is float32 for 16-bit floats, too, and int64 for integers, which have only sums. `of` says what is reduced: the
    elements, their "squares", their "absolute" values, or those that are "not nan". If there is a NaN, the extremum is NaN.
    """
    if x.size < LEAST_REDUCED or not compiles():
        return None
    if x.dtype == np.bool_:
        x = plain_mask(x).view(np.uint8)
    plan = _plan(x.dtype, x.shape, x.strides, how, of, dims, keepdim)
    if plan is None:
        return None
    begin, steps, finish = plan
    if begin is not None:
        x = begin(x)
    for kernel, total, grain, shape, numbers in steps:
        x = over(kernel, total, grain, x, shape, *numbers)
    return x if finish is None else finish(x)


class _Plan(NamedTuple):
    """The steps of a reduction: the array is viewed or copied, kernels reduce it, and the result gets its shape."""

    begin: Callable[[np.ndarray], np.ndarray] | None
    steps: list[tuple[Any, int, int, tuple[int, ...], tuple[int, ...]]]
    finish: Callable[[np.ndarray], np.ndarray] | None


class _Dim(NamedTuple):
    """A dimension, or several merged ones: its size, its stride in elements, and whether it is reduced."""

    size: int
    stride: int
    reduced: bool


@lru_cache(512)
def _plan(
    dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...], how: str, of: str, dims: tuple[int, ...] | None, keepdim: bool
) -> _Plan | None:  # fmt: skip
    """How to reduce arrays of this layout; None if there is no kernel for it."""
    name, itemsize = dtype.name, dtype.itemsize
    dims = tuple(range(len(shape))) if dims is None else tuple(sorted(dims))
    if (
        all([shape[k] == 1 for k in dims])  # nothing to reduce
        or not dtype.isnative
        or (name not in _FLOATS and (name not in _INTEGERS or how != "sum" or of))
    ):
        return None
    result = tuple([1 if k in dims else n for k, n in enumerate(shape) if keepdim or k not in dims])
    outer, first, last = prod(shape[: dims[0]]), dims[0], dims[-1] + 1
    is_contiguous = strides == contiguous_strides(shape, itemsize)
    inner = prod(shape[last:])
    if (
        is_contiguous
        and prod(shape[first:]) <= (MOST_SHORT if inner == 1 else MOST_SMALL) < outer
        and len(dims) == last - first
    ):
        # See Note [Many short rows].
        columns = inner * outer
        steps = _steps(dtype, how, of, [_Dim(prod(shape) // columns, columns, True), _Dim(columns, 1, False)])
        return steps and _Plan(
            lambda x: contiguous(x.reshape(outer, -1).T),
            steps,
            lambda x: contiguous(x.reshape(inner, outer).T).reshape(result),
        )
    order = sorted(range(len(shape)), key=lambda k: (strides[k] != 0, -strides[k]))  # broadcast ones are outermost
    layout = _merged([_Dim(shape[k], strides[k] // itemsize, k in dims) for k in order])
    steps = None if any([s < 0 or s % itemsize for s in strides]) else _steps(dtype, how, of, layout)
    if steps is None:
        copied = (
            None if is_contiguous else _plan(dtype, shape, contiguous_strides(shape, itemsize), how, of, dims, keepdim)
        )
        return copied and copied._replace(begin=copied.begin or np.ascontiguousarray)
    begin: Callable[[np.ndarray], np.ndarray] | None = None
    span = 1 + sum([(dim.size - 1) * dim.stride for dim in layout])
    if span != prod(shape):
        begin = lambda x: np.lib.stride_tricks.as_strided(x, (span,), (itemsize,))
    elif not is_contiguous:
        begin = lambda x: x.transpose(order)
    kept = [k for k in order if k not in dims]
    if kept == sorted(kept):
        return _Plan(begin, [*steps[:-1], (*steps[-1][:3], result, steps[-1][4])], None)
    sizes, back = tuple([shape[k] for k in kept]), np.argsort(kept)
    return _Plan(begin, steps, lambda x: np.ascontiguousarray(x.reshape(sizes).transpose(back)).reshape(result))


def _merged(layout: list[_Dim]) -> list[_Dim]:
    """The dimensions of size above one, with contiguous neighbours merged."""
    merged: list[_Dim] = []
    for dim in layout:
        if dim.size == 1:
            continue
        if merged and merged[-1].reduced == dim.reduced and merged[-1].stride == dim.size * dim.stride:
            merged[-1] = dim._replace(size=merged[-1].size * dim.size)
        else:
            merged.append(dim)
    return merged


def _steps(dtype: np.dtype[Any], how: str, of: str, layout: list[_Dim]) -> Any:
    """The kernel calls that reduce a layout: a kernel, its number of work units, the minimum of units per thread, the shape of
    its result, and its other arguments. None if there is no kernel for it."""
    made: list[Any] = []
    while any([dim.reduced for dim in layout]):
        step = _step(layout)
        if step is None:
            return None
        along_rows, split, total, grain, numbers, sizes = step
        kernel = _kernels.kernel(dtype, how, of, along_rows, split)
        if kernel is None:
            return None
        made.append((kernel, total, grain, tuple([size for size, _ in sizes]), numbers))
        layout = _merged(
            [_Dim(n, prod([m for m, _ in sizes[i + 1 :]]), reduced) for i, (n, reduced) in enumerate(sizes)]
        )
        dtype, of = _kernels.result_dtype(dtype), ""
    return made


def _step(layout: list[_Dim]) -> Any:
    """How to reduce the last run of reduced dimensions: whether they are rows, whether each is split, the number of units, the
    minimum of units per thread, the kernel's other arguments, and the remaining sizes, with whether they are reduced."""
    at = max([i for i, dim in enumerate(layout) if dim.reduced])
    lead, (n, stride, _), behind = layout[:at], layout[at], layout[at + 1 :]
    if len(behind) > 1 or layout[-1].stride != 1 or any([a.stride != b.size * b.stride for a, b in pairwise(lead)]):
        return None
    outer, apart = prod([dim.size for dim in lead]), lead[-1].stride if lead else 0
    left = [(dim.size, dim.reduced) for dim in lead]
    if not behind:
        units = -(-n // MOST_ELEMENTS)
        size = -(-n // units)
        numbers: tuple[int, ...] = (outer, n, apart, units, size)
        return True, n > _kernels.BLOCK, outer * units, -(-_GRAIN // size), numbers, [*left, (units, True)]
    inner = columns = behind[0].size
    if inner < FEW_COLUMNS and stride == inner and n * inner >= LEAST_REDUCED:  # several contiguous rows as one
        least = -(-FEW_COLUMNS // inner)
        rows = next((rows for rows in range(least, 8 * least) if n % rows == 0), 1)
        n, stride, columns = n // rows, rows * stride, rows * inner
    size = min(n, MOST_ROWS)
    if n * outer * columns >= 2 * _GRAIN and outer < _UNITS:
        size = min(size, -(-n * outer // (_UNITS * 32)) * 32)
    units = -(-n // size)
    numbers = outer, n, columns, apart, stride, units, size
    sizes = [*left, (units * columns // inner, True), (inner, False)]
    return False, units > 1, outer * units, -(-_GRAIN // (size * columns)), numbers, sizes
