"""Python loops over arrays as machine code, for what NumPy takes many calls for.

Note [Compiled loops]
Pooling, sampling at the places of a grid, the alignments of a CTC loss: a few nested loops with a condition or two. As calls of NumPy they
are dozens of passes over temporary arrays, which small arrays don't pay back and large ones read from memory again and again. So such a
kernel is also written down as the loops that it is, in Python, and translated here, word by word, to machine code.

    def sums(begin: int, end: int, x: Floats, out: Floats, columns: int) -> None:
        for row in range(begin, end):
            total = 0.0
            for i in range(row * columns, (row + 1) * columns):
                total += x[i]
            out[row] = total

`run_of(sums, np.float64)` is a function of the same arguments. Arrays are flat and contiguous: `Floats` are of the
kernel's dtype, `Doubles` of float64, `Ints` of int64, `Bytes` of truth values or uint8. Numbers are whole or floats, and a name is one or the other throughout. The first two
arguments are a range of the work, so that threads can share it (`_pool.over`). Arguments behind a `*` are known when it is translated, and so are
the branches that depend on them alone.

What is understood: assignments, `if`, `for` over a `range` (with steps that are positive numbers), `while`, `break`, `continue`; arithmetic, where `//` and `%` are for whole numbers that
are not negative; comparisons, `and`, `or`, `not`; `min` and `max` of two; `abs`, `int`, `float`, `round` (of floats, halves to even), `math.sqrt`, `math.floor` and so on, which stay floats here; `fma`; functions of the C library; calls of other functions of the
module that return a number, whose code is repeated. What is not understood raises when it is translated, which a test does for every kernel.

Nothing checks an index: who calls a kernel has made sure that all it will read and write is there, and a kernel that reads indices from an
array checks them itself. The Python function is the specification of the machine code; NumPy is its fallback.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from .. import call, executable

Floats: TypeAlias = np.ndarray
Doubles: TypeAlias = np.ndarray
Ints: TypeAlias = np.ndarray
Bytes: TypeAlias = np.ndarray


def fma(x: float, y: float, z: float) -> float:
    """x * y + z. In machine code it is rounded once."""
    return x * y + z


_runs: dict[Any, Any] = {}
_FLOAT, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def run_of(function: Callable[..., None], dtype: np.dtype, wide: bool = False, **known: Any) -> Any:
    """The function as machine code, for arrays of float32 or float64; with `wide`, float32 is computed with as float64.

    None where no machine code runs, and for other dtypes.
    """
    key = (function, dtype, wide, *known.values())
    try:
        return _runs[key]
    except KeyError:
        made = None
        if executable.available() and (dtype in (_FLOAT, _DOUBLE)):
            from ._loop_translate import translate

            try:
                made = call.load(*translate(function, dtype, wide, **known), double=True)
            except OSError:  # no source, or no C library where it is expected
                made = None
        _runs[key] = made
        return made
