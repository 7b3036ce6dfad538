"""Keeps indices and counts int64, as in PyTorch, where NumPy's own integers have 32 bits: on 32-bit systems and in Pyodide.

NumPy's sorts, searches and counts return `np.intp` there, and `np.repeat` and `reduceat` accept nothing wider.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np


def wide_indices(*positions: int, narrow: bool = np.dtype(np.intp).itemsize < 8) -> Callable[[Any], Any]:
    """Decorate a function that returns indices or counts at these positions of its results; without positions, as its only result.

    Where NumPy's integers have 64 bits, the function is returned unchanged.

    >>> wide_indices(1, narrow=True)(lambda: (np.zeros(1), np.zeros(1, np.int32)))()[1].dtype
    dtype('int64')
    """

    def decorate(function: Any) -> Any:
        if not narrow:
            return function

        @wraps(function)
        def widened(*args: Any, **kwargs: Any) -> Any:
            results = function(*args, **kwargs)
            if not positions:
                return _widened(results)
            return tuple([_widened(r) if i in positions else r for i, r in enumerate(results)])

        return widened

    return decorate


def _widened(array: Any) -> Any:
    return array.astype(np.int64) if array is not None and array.dtype == np.int32 else array


def native_counts(array: np.ndarray) -> np.ndarray:
    """Counts or bounds as NumPy's own integers, for `np.repeat` and `reduceat`."""
    return array.astype(np.intp, copy=False)


def bincount(indices: np.ndarray, weights: np.ndarray | None = None, minlength: int = 0) -> np.ndarray:
    """`np.bincount` for int64 input, which NumPy rejects if its own integers are narrower.

    >>> bincount(np.array([0, 2, 2])).tolist()
    [1, 0, 2]
    """
    return np.bincount(indices.astype(np.intp, copy=False), weights, minlength)
