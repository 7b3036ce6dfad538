"""Matrix products by BLAS, split between the threads of waiting_threads.py.

Note [One set of threads]
OpenBLAS has its own threads. After a product they spin for some 25 milliseconds, waiting for the next one, and occupy their
processors meanwhile, so that our helpers (waiting_threads.py) get none: after each product, kernels would run single-threaded. So
large products are split here into ranges of rows, columns or matrices of a batch, and each of our threads calls BLAS for its own
ranges. BLAS is set to one thread for that time, and also for products that are too small to split, but large enough for BLAS to
wake its threads.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from .. import call, executable, parallel, waiting_threads
from ..assembly import library_calls
from ..numpy_warnings import hush, unhush
from . import strategies

_UNIT = 16  # ranges of rows and columns are multiples of this, like BLAS's own
_AS_IT_IS, _TRANSPOSED = 111, 112  # BLAS's constants

_FORMS: dict[np.dtype[Any], tuple[str, int]] = {
    np.dtype(np.float32): ("scipy_cblas_sgemm64_", 0x3F800000),
    np.dtype(np.float64): ("scipy_cblas_dgemm64_", 0x3FF0000000000000),
}


@lru_cache(1)
def _functions() -> dict[np.dtype[Any], tuple[Any, int]]:
    """For each dtype BLAS's product with 64-bit sizes, and the bits of 1; empty if NumPy has another BLAS."""
    library = parallel.numpy_library()
    try:
        return {dtype: (getattr(library, name), one) for dtype, (name, one) in _FORMS.items()}
    except AttributeError:
        return {}


def _layout(array: np.ndarray) -> tuple[int, int] | None:
    """How BLAS reads the matrices of an array: transposed or not, and the stride of rows (or columns) in elements. None if it cannot."""
    rows, columns = array.shape[-2:]
    down, along = array.strides[-2:]
    size = array.itemsize
    if along == size and down >= columns * size and not down % size:
        return _AS_IT_IS, down // size
    if down == size and along >= rows * size and not along % size:
        return _TRANSPOSED, along // size
    return None


class _Plan(NamedTuple):
    """How a product with given shapes and layouts is computed."""

    run: Any
    each: int  # rows, columns or matrices per range
    total: int
    table: bytes
    shape: tuple[int, ...]  # of the result


_plans: dict[Any, _Plan | None] = {}


def product(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray | None:
    """a @ b of matrices, or of batches in one or two dimensions, if it is large enough to split; None if not, or if this BLAS does not allow it.

    `out` must not overlap with the others.
    """
    threads, work = parallel.native_thread_count(), a.size * b.shape[-1]
    if threads < 2 or work < strategies.LEAST_SHARED:
        return None
    given = None if out is None else (out.dtype, out.shape, out.strides)
    key = threads, a.dtype, a.shape, a.strides, b.dtype, b.shape, b.strides, given
    try:
        plan = _plans[key]
    except KeyError:
        if len(_plans) >= strategies.MOST_PLANS:
            _plans.clear()
        plan = _plans[key] = _plan(threads, a, b, out)
    if plan is None or not (a.flags.aligned and b.flags.aligned):
        return None
    if out is None:
        out = np.empty(plan.shape, a.dtype)
    elif not out.flags.behaved:
        return None
    if waiting_threads._working != threads - 1:
        waiting_threads.start(threads - 1)
    with parallel.blas_alone():
        plan.run(plan.each, plan.total, plan.table, a, b, out)
    return out


def _plan(threads: int, a: np.ndarray, b: np.ndarray, out: np.ndarray | None) -> _Plan | None:
    if not 2 <= a.ndim == b.ndim <= 4 or a.dtype != b.dtype or not executable.available():
        return None
    batch, (rows, inner), columns = a.shape[:-2], a.shape[-2:], b.shape[-1]
    shape, function = (*batch, rows, columns), _functions().get(a.dtype)
    if function is None or b.shape != (*batch, inner, columns) or min(rows, inner, columns) < strategies.LEAST_SIZE:
        return None
    result = np.empty(shape, a.dtype) if out is None else out
    layouts = [_layout(array) for array in (a, b, result)]
    first, second, third = layouts
    if first is None or second is None or third is None or third[0] != _AS_IT_IS:
        return None
    if result.shape != shape or result.dtype != a.dtype:
        return None
    count = prod(batch)
    if count > 1:
        cut, total, each = "batch", count, -(-count // (4 * threads))
    else:
        cut, total = ("rows", rows) if rows >= columns else ("columns", columns)
        ranges = threads * (2 if total >= 2 * threads * strategies.LEAST_RANGE else 1)
        each = -(-total // (ranges * _UNIT)) * _UNIT
    numbers = [0, function[1], batch[-1] if batch else 1, rows, columns, inner, first[0], second[0]]
    for which, (layout, array) in enumerate(zip((first, second, third), (a, b, result))):
        numbers += [layout[1], *_steps(array, cut, which)]
    call.add_addresses(numbers, [0], [function[0]], [0])
    return _Plan(library_calls.product(cut), each, total, library_calls.product_table(*numbers), shape)


def multiply(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """a @ b without BLAS's threads if ours are available: split between them if it is large enough, else in the calling thread."""
    work = a.size * b.shape[-1]
    by_blas = work >= strategies.LEAST_HUGE and parallel.thread_limit() > parallel.MAX_NATIVE_THREADS
    if work >= strategies.LEAST_SHARED and not by_blas:
        result = product(a, b, out)
        if result is None and a.dtype == b.dtype and a.dtype in _FORMS and not (_layout(a) and _layout(b)):
            a, b = [x if _layout(x) else np.ascontiguousarray(x) for x in (a, b)]  # as NumPy does, too
            result = product(a, b, out)
        if result is not None:
            return result
    token = hush()  # overflows, and on ARM spurious divisions by zero
    try:
        if by_blas or parallel.native_thread_count() < 2 or not executable.available():
            return np.matmul(a, b, out)
        with parallel.blas_alone():
            return np.matmul(a, b, out)
    finally:
        unhush(token)


def _steps(array: np.ndarray, cut: str, which: int) -> tuple[int, int]:
    """The stride in bytes to the next row, column or matrix, and to the next group of `together` matrices."""
    strides = array.strides
    if cut == "batch":
        return strides[-3], strides[0] if len(strides) == 4 else 0
    if cut == "rows":
        return (0 if which == 1 else strides[-2]), 0
    return (0 if which == 0 else strides[-1]), 0
