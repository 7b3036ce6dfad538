"""Small helpers shared by the kernels that work row by row (softmax, norms, losses, reductions).

Note [Row blocks]
A kernel of several passes over an array that is larger than the cache runs block of rows by block of rows: each pass
then finds its block in the cache, and the temporaries are as small as a block. `each_block` does that, and shares very
large arrays between threads.

Note [Row sums]
NumPy's reduction over a short last axis pays some 40 ns for each row, and adds with one accumulator where BLAS's dot product
has many. So a row sum is the dot product with ones (`vecdot`), which stays in one thread whatever the number of rows. For
long rows NumPy's pairwise summation is as fast and more accurate, so it is used there.

Note [Column sums]
NumPy adds pairwise along the last axis, but row after row along any other: a float32 sum of 100000 rows is wrong in the
fourth digit. So rows are summed in groups of 64, then their sums likewise, which costs next to nothing.

Note [Row maxima by argmax]
`maximum.reduce` over a short last axis is slow for the same reason, while `argmax` is vectorised for each row. So the row
maximum is `argmax` followed by a gather. A NaN in a row is its maximum, either way.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from math import prod
from typing import Any, TypeVar

import numpy as np

from .copies.convert import cast, is_half
from .lazy import lazy_import
from .numpy_warnings import hush, silent, unhush
from .parallel import parallel_for

machine = lazy_import(globals(), "machine", ".native")
small = lazy_import(globals(), "small", ".native.small")  # see Note [Small arrays in machine code]
traced = lazy_import(globals(), "traced", ".native.traced")
F = TypeVar("F", bound=Callable[..., Any])
BLOCK_ELEMENTS = 1 << 16
GROUP = 64  # rows; see Note [Column sums]
LONG_ROW = 4096  # columns; see Note [Row sums]
NATIVE_FROM = 1 << 12  # elements; below, compiling a kernel would not be worth the while
_FLOAT, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
THREADS_FROM = 1 << 16  # elements; below, waking a thread costs more than it saves


def quiet(kernel: F) -> F:
    """To decorate kernels for which inf and NaN are data like any other."""

    @wraps(kernel)
    def run(*args: Any, **kwargs: Any) -> Any:
        token = hush()
        try:
            return kernel(*args, **kwargs)
        finally:
            unhush(token)

    return run  # type: ignore[return-value]


def widen(x: np.ndarray) -> np.ndarray:
    """`x` itself, or its float32 copy of 16-bit floats."""
    return cast(x, _FLOAT) if is_half(x.dtype) else x


def narrow(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`x` rounded to `dtype`; `x` itself if it has that dtype already."""
    return x if x.dtype == dtype else cast(x, dtype)


def each_block(
    body: Callable[[slice], None], rows: int, columns: int, least: int = 1, block: int = BLOCK_ELEMENTS
) -> None:
    """Call `body` with slices that cover `rows` rows of `columns` elements: blocks of `block` elements, and of at least `least`
    rows. See Note [Row blocks].

    A large array is shared between threads, so `body` must only write to its own rows.
    """
    size = rows * columns
    if not size:
        return
    step = max(least, min(rows, block // columns))
    if size < THREADS_FROM and rows <= step:
        body(slice(0, rows))
        return

    def run(low: int, high: int) -> None:
        count = -(-(high - low) // step)
        for i in range(count):  # of one size, or nearly
            body(slice(low + (high - low) * i // count, low + (high - low) * (i + 1) // count))

    if size < THREADS_FROM or rows < 2:
        run(0, rows)
    else:
        parallel_for(run, rows, max(least, THREADS_FROM // 2 // columns))


def pointwise(
    body: Callable[..., None],
    *arrays: np.ndarray,
    numbers: tuple[float, ...] = (),
    native: Callable[..., None] | None = None,
) -> np.ndarray:
    """Run `body(*blocks, out_block, *numbers)` over arrays of one shape, block by block; the result has the first one's dtype.

    Large float32 arrays are done by its machine code, see Note [Bodies as machine code], or that of `native`, if it is given.
    """
    first = arrays[0]
    dtype, shape, size = first.dtype, first.shape, first.size
    if size < BLOCK_ELEMENTS and (dtype in (_FLOAT, _DOUBLE)):
        alone = small.elementwise(body if native is None or dtype == _DOUBLE else native, arrays, numbers)
        if alone is not None:
            return alone
    elif size < NATIVE_FROM and is_half(dtype):
        alone = small.elementwise(native or body, tuple(map(widen, arrays)), numbers)
        if alone is not None:
            with silent():
                return cast(alone, dtype)
    if size >= NATIVE_FROM and (dtype == _DOUBLE or (dtype.itemsize <= 4 and dtype.kind not in "iub")):
        result = by_machine(body if native is None or dtype == _DOUBLE else native, *arrays, numbers=numbers)
        if result is not None:
            return result
    if size <= BLOCK_ELEMENTS and shape and dtype.itemsize != 2 and all(a.flags.c_contiguous for a in arrays):
        out = np.empty(shape, dtype)  # the shortest way for small arrays
        with silent():
            body(*arrays, out, *numbers)
        return out
    flat = [np.ascontiguousarray(widen(a)).reshape(-1) for a in arrays]
    out = np.empty(shape, flat[0].dtype)
    flat.append(out.reshape(-1))
    with silent():
        if out.size <= BLOCK_ELEMENTS:
            body(*flat, *numbers)
        else:
            each_block(lambda part: body(*[a[part] for a in flat], *numbers), out.size, 1)
    return narrow(out, dtype)


def by_machine(body: Callable[..., None], *arrays: np.ndarray, numbers: tuple[float, ...] = ()) -> np.ndarray | None:
    """What `pointwise` gives, by machine code; None if that cannot be, or is not worth the while."""
    if arrays[0].size < NATIVE_FROM:
        return None
    if not machine.available():
        return None
    out = np.empty(arrays[0].shape, arrays[0].dtype)
    return out if traced.run(body, *_plain(arrays), out, numbers=numbers) else None


def _plain(arrays: tuple[np.ndarray, ...]) -> list[np.ndarray]:
    """Copies of what a flat native kernel cannot work on, which is other layouts."""
    return [a if a.flags.c_contiguous or not any(a.strides) else np.ascontiguousarray(a) for a in arrays]


def pointwise_sum(body: Callable[..., None], *arrays: np.ndarray) -> float:
    """The sum of what `pointwise` would give, without storing it."""
    if arrays[0].size < NATIVE_FROM:
        result = small.total(body, arrays) if arrays[0].dtype == _FLOAT else None
        if result is not None:
            return result
    else:
        total = traced.total(body, *_plain(tuple(map(widen, arrays)))) if machine.available() else None
        if total is not None:
            return total
    flat = [np.ascontiguousarray(widen(a)).reshape(-1) for a in arrays]
    size, dtype = flat[0].size, flat[0].dtype
    sums: dict[int, float] = {}

    def block(part: slice) -> None:
        out = np.empty(part.stop - part.start, dtype)
        body(*[a[part] for a in flat], out)
        sums[part.start] = float(np.add.reduce(out))

    with silent():
        each_block(block, size, 1)
    return sum(sums[start] for start in sorted(sums))


@lru_cache
def _ones(dtype: np.dtype) -> np.ndarray:
    return np.ones(LONG_ROW, dtype)


@lru_cache(256)
def ones_column(count: int, dtype: np.dtype) -> np.ndarray:
    """Ones (count, 1): `rows @ ones_column(...)` is the quickest sum of small rows, and keeps their dimension."""
    return np.ones((count, 1), dtype)


def row_sum(x: np.ndarray) -> np.ndarray:
    """Sum over the last axis of a 2-d float array, shape (rows,); see Note [Row sums]."""
    columns = x.shape[1]
    if columns > LONG_ROW:
        return np.add.reduce(x, 1)
    return np.vecdot(_ones(x.dtype)[:columns], x)  # in this order, since it conjugates the first


def column_sum(x: np.ndarray, other: np.ndarray | None = None) -> np.ndarray:
    """Sum over the rows of a 2-d array, or of its product with another; shape (columns,). See Note [Column sums]."""
    rows, columns = x.shape
    whole = rows // GROUP * GROUP if rows > 2 * GROUP else 0
    rest = np.add.reduce(x[whole:], 0) if other is None else np.einsum("ij,ij->j", x[whole:], other[whole:])
    if not whole:
        return rest
    groups = x[:whole].reshape(-1, GROUP, columns)
    if other is None:
        sums = np.add.reduce(groups, 1)
    else:
        sums = np.einsum("gij,gij->gj", groups, other[:whole].reshape(-1, GROUP, columns))
    rest += column_sum(sums)
    return rest


def even_pieces(columns: int) -> int:
    """Into how many pieces of one length, of at most some thousand elements, a row can be cut to be summed up; 0 if it cannot."""
    least = -(-columns // LONG_ROW)
    return next((n for n in range(least, 8 * least + 1) if columns % n == 0), 0)


def row_max(x: np.ndarray) -> np.ndarray:
    """Maximum over the last axis of a contiguous 2-d array, shape (rows, 1); see Note [Row maxima by argmax]."""
    rows, columns = x.shape
    where = x.argmax(1)
    where += np.arange(0, rows * columns, columns)
    return x.reshape(-1).take(where).reshape(rows, 1)


def split_shape(shape: tuple[int, ...], dim: int) -> tuple[int, int, int]:
    """(outer, n, inner): the sizes before, at and after `dim`; a 0-d shape counts as one element."""
    if not shape:
        return 1, 1, 1
    return prod(shape[:dim]), shape[dim], prod(shape[dim + 1 :])
