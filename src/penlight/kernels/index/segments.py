"""Reductions of consecutive rows: each row has an owner, and each owner's rows become one."""

from __future__ import annotations

import math

import numpy as np

from ..index_width import native_counts
from ..numpy_warnings import hush, unhush
from ..rows import narrow, widen
from .scatter import reduce_rows

_WAYS = {
    "sum": (np.add, 0.0),
    "mean": (np.add, 0.0),
    "max": (np.maximum, -math.inf),
    "min": (np.minimum, math.inf),
    "prod": (np.multiply, 1.0),
}


def reduce_segments(
    x: np.ndarray,
    owners: np.ndarray,
    parts: np.ndarray | None,
    shape: tuple[int, ...],
    reduce: str,
    initial: float | None,
) -> np.ndarray:
    """The sum, mean, max, min or product of the rows of each owner and an initial number, in a shape. For means, `parts` tells how many rows
    each owner has.

    The mean is that sum divided by the number of rows. Without rows it is the initial number, and NaN if there is none.
    """
    ufunc, neutral = _WAYS[reduce]
    wide = widen(x)
    out = np.empty(shape, wide.dtype)
    out.fill(neutral if initial is None else initial)
    if wide.size:
        inner = wide.size // len(owners)
        table = out.reshape(-1, inner)
        reduce_rows(ufunc, table, owners, wide.reshape(-1, inner), initial is None and ufunc is np.add)
        if parts is not None:
            token = hush()
            table /= parts if initial is None else np.maximum(parts, 1)
            unhush(token)
    elif parts is not None and initial is None:
        out.fill(math.nan)
    return narrow(out, x.dtype)


def covered(sizes: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The positions that belong to segments of these sizes, which follow each other; `starts` is where the first in each row of them starts."""
    first = (starts[..., None] + np.cumsum(sizes, -1) - sizes).reshape(-1)
    counts = sizes.reshape(-1)
    before = np.cumsum(counts) - counts
    return np.repeat(first - before, native_counts(counts)) + np.arange(counts.sum())
