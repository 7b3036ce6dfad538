"""Sums and maxima of rows and columns by NumPy, quicker or more accurate than its own.

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

from functools import lru_cache

import numpy as np

from ..rows import GROUP
from .strategies import LONG_ROW


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
