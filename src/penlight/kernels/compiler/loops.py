"""Kernels that are written down as Python loops over arrays.

Note [Compiled loops]
Pooling, sampling at the points of a grid, the alignments of a CTC loss: a few nested loops with a condition or two. As
calls of NumPy they are dozens of passes over temporary arrays, which small arrays do not pay back and large ones read
from memory again and again. So such a kernel is written down as the loops that it is:

    def sums(begin: int, end: int, x: Floats, out: Floats, columns: int) -> None:
        for row in range(begin, end):
            total = 0.0
            for i in range(columns):
                total += x[row * columns + i]
            out[row] = total

`compile_loops(sums, dtype)(0, 3, x, (3,), 4)` runs it and returns `out`. Arrays are flat and contiguous: `Floats` and
`Elements` (which may also be integers or 16-bit floats, which are only read) are of the kernel's dtype, `Results` of what these are
computed with (int64, float32), `Doubles` of float64, `Ints` of int64, `Bytes` of uint8. The first two arguments are a range of the
work, so that threads can share it (`over` in waiting_threads.py). Arguments behind a `*` are known when it is compiled,
and so are the branches that depend on them alone. Note [What a kernel may say] in python.py has the rest. Every index is
made of loops' limits and arguments, or clamped by `checked`, `min` and `max`: Note [Bounds].
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
    """x * y + z. In a kernel it is rounded once."""
    return x * y + z


def checked(index: int, extent: int) -> int:
    """An index that is inside, whatever it is made of: where it is not, 0."""
    return index if 0 <= index < extent else 0


def reassociated(counted: range) -> range:
    """The same range. A loop over it may reduce in another order: Note [Vector loops] in vectorise.py."""
    return counted


def simd(counted: range) -> range:
    """The same range. A loop over it may do several iterations at once, with the loops in it: Note [Vector loops]."""
    return counted


@lru_cache(None)
def can_compile(function: Callable[..., None]) -> bool:
    """Whether machine code runs here, and there is source to read."""
    return executable.backend() is not None and bool(
        linecache.getlines(function.__code__.co_filename, function.__globals__)
    )


def compile_loops(function: Callable[..., None], dtype: np.dtype[Any], wide: bool = False, **known: Any) -> Any:
    """The function as machine code, for arrays of float32, float64 or integers; with `wide`, float32 is computed with as float64.

    None where no machine code runs, where there is no source to read, and for other dtypes.
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
