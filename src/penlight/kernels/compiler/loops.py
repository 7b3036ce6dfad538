"""Kernels that are written as Python loops over arrays.

Note [Compiled loops]
Pooling, sampling at the points of a grid, the alignments of a CTC loss: a few nested loops with a condition or two. In NumPy they
take dozens of passes over temporary arrays, whose overhead dominates small arrays, and which read large arrays from memory again
and again. So such a kernel is written directly as loops:

    def sums(begin: int, end: int, x: Floats, out: Floats, columns: int) -> None:
        for row in range(begin, end):
            total = 0.0
            for i in range(columns):
                total += x[row * columns + i]
            out[row] = total

`compile_loops(sums, dtype)(0, 3, x, (3,), 4)` runs it and returns `out`. Arrays are flat and contiguous: `Floats` and `Elements`
(which may also be integers or 16-bit floats, read-only) have the kernel's dtype, `Results` the dtype in which these are computed
(int64, float32), `Doubles` float64, `Ints` int64, `Bytes` uint8. The first two arguments are a range of the work, so that threads
can share it (`over` in waiting_threads.py). Arguments after a `*` are compile-time constants; branches that depend only on them
are decided then. Note [What a kernel may say] in python.py has the rest. Every index is computed from loop limits and arguments,
or clamped by `checked`, `min` and `max`: Note [Bounds].
"""

from __future__ import annotations

import linecache
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np

from .. import executable

Floats: TypeAlias = np.ndarray
Results: TypeAlias = np.ndarray
Elements: TypeAlias = np.ndarray
Doubles: TypeAlias = np.ndarray
Ints: TypeAlias = np.ndarray
Bytes: TypeAlias = np.ndarray

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_DTYPES = (*FLOATS, *map(np.dtype, (np.uint8, np.int16, np.int32, np.int64)))
_kernels: dict[Any, Any] = {}


def fma(x: float, y: float, z: float) -> float:
    """x * y + z; in a kernel it is rounded once."""
    return x * y + z


def checked(index: int, extent: int) -> int:
    """The index if it is in bounds, else 0."""
    return index if 0 <= index < extent else 0


def reassociated(counted: range) -> range:
    """The range itself. A loop over it may reduce in another order: Note [Vector loops] in vectorise.py."""
    return counted


def simd(counted: range) -> range:
    """The range itself. A loop over it, with the loops inside, may do several iterations at once: Note [Vector loops]."""
    return counted


@lru_cache(None)
def can_compile(function: Callable[..., None]) -> bool:
    """Whether machine code runs here, and there is source to read."""
    return executable.backend() is not None and bool(
        linecache.getlines(function.__code__.co_filename, function.__globals__)
    )


def compile_loops(function: Callable[..., None], dtype: np.dtype[Any], wide: bool = False, **known: Any) -> Any:
    """The function as machine code, for arrays of float32, float64 or integers; with `wide`, float32 is computed in float64.

    None if no machine code runs, if there is no source to read, and for other dtypes.
    """
    key = (function, dtype, wide, *known.values())
    try:
        return _kernels[key]
    except KeyError:
        made = None
        if dtype in _DTYPES and executable.backend() is not None:
            from . import load

            made = load.loops(function, dtype, wide, **known)
        _kernels[key] = made
        return made
