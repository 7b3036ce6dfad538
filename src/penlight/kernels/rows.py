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
from .numpy_warnings import hush, unhush
from .parallel import parallel_for

F = TypeVar("F", bound=Callable[..., Any])
BLOCK_ELEMENTS = 1 << 16
GROUP = 64  # rows; see Note [Column sums]
LONG_ROW = 4096  # columns; see Note [Row sums]
_FLOAT = np.dtype(np.float32)
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


@lru_cache
def _ones(dtype: np.dtype) -> np.ndarray:
    return np.ones(LONG_ROW, dtype)


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
