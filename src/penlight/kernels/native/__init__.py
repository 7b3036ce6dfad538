"""Kernels over rows and elements, compiled when they are first used, and called with arrays of float32 or other floats.

Note [Native kernels]
NumPy does one thing at a time: each of its functions reads its operands from the cache and writes its result back, and its
`exp` alone takes longer than all of PyTorch's softmax. A row of softmax, a gelu with its derivative, or a step of Adam is a
few dozen instructions on eight numbers that need not leave the processor's registers in between. So such kernels are also
written down as small Python functions (softmax/kernels.py, recurrent/kernels.py, ...), which compiler/rows.py turns to IR and the
compiler to machine code: no compiler and no binary is shipped or needed.

What is written in NumPy stays: it is the specification that the tests compare with, it serves every other dtype, layout and
machine (`available` says whether a backend compiles for this one), and PENLIGHT_NATIVE=0 chooses it. The two agree within rounding.

A kernel gets arrays as they are and refuses those that do not fit it: Note [Calling machine code]. `suits` says beforehand
whether arrays do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .. import waiting_threads
from ..executable import compiles as available
from ..lazy import lazy_import

__all__ = [
    "Kernel",
    "available",
    "in_order",
    "kernel",
    "over_elements",
    "over_rows",
    "suits",
]

load = lazy_import(globals(), "load", "..compiler.load")
definitions = lazy_import(globals(), "definitions", "..compiler.rows")

_FLOAT = np.dtype(np.float32)
_SHARE = 1 << 19  # operations on single elements that take some ten microseconds: what it costs to share work
_CHEAPEST = 8  # operations; what does fewer waits for memory


class Kernel:
    """A compiled definition. Call `run(low, high, columns, array, ..., number, ...)`, without `columns` if it is flat."""

    def __init__(
        self, define: Callable[..., None], flat: bool = False, broadcast: tuple[int, ...] = (), **options: Any
    ) -> None:
        rows = definitions.Rows(define.__name__.strip("_"), flat, broadcast)
        define(rows, **options)
        self.ir = rows.kernel()
        self.written = sorted(rows.written)  # which of the arrays
        self.partial = rows.build.partial  # returns NaN outside its domain; the caller then recomputes with NumPy
        self.narrow = rows.narrow  # works on whole vectors only, see Note [Narrow arrays]
        self.length = 2 * rows.work  # operations that are written down, unrolled ones once
        self.grain = _SHARE // max(_CHEAPEST, rows.work)  # elements that are worth waking a thread for
        self._least = 8 if flat and rows.narrow else rows.together
        whole = ("(high - low) % 8 == 0" if flat else "columns % 8 == 0",) if rows.narrow else ()
        self.run = load.machine_code(self.ir, *whole)
        if self.run is None:
            raise OSError("no machine code can be loaded")

    def over(self, total: int, grain: int, *arguments: Any) -> None:
        """Run over all of `total` rows or elements, shared between threads if there are at least two times `grain`."""
        waiting_threads.over(self.run, total, grain, *arguments, multiple=self._least)


def suits(*arrays: np.ndarray | None) -> bool:
    """Whether kernels run here and can work on these arrays; None stands for one that is not given."""
    if not available():
        return False
    for array in arrays:  # noqa: SIM110 - a generator takes twice as long
        if array is not None and (array.dtype != _FLOAT or not array.flags.c_contiguous):
            return False
    return True


@lru_cache(None)
def kernel(define: Callable[..., None], flat: bool = False, **options: Any) -> Kernel:
    """The kernel of a definition, compiled at the first call."""
    return Kernel(define, flat, **options)


def over_rows(
    define: Callable[..., None],
    shape: tuple[int, int],
    *arrays: np.ndarray,
    numbers: tuple[float, ...] = (),
    **options: Any,
) -> None:
    """Run a kernel over `shape` = (rows, columns), shared between threads if that is large.

    `arrays` are those that the definition asks for, in its order. Rows are shared out, so each must only write what is its own.
    """
    rows, columns = shape
    compiled = kernel(define, **options)
    compiled.over(rows, -(-compiled.grain // max(columns, 1)), columns, *arrays, *numbers)


def in_order(define: Callable[..., None], shape: tuple[int, int], *arrays: np.ndarray, **options: Any) -> None:
    """Run a kernel whose rows write to a row that they share: one after the other, in this thread."""
    rows, columns = shape
    kernel(define, **options).run(0, rows, columns, *arrays)


def over_elements(
    define: Callable[..., None], *arrays: np.ndarray, numbers: tuple[float, ...] = (), **options: Any
) -> None:
    """Run a flat kernel over all elements of arrays of one size, shared between threads if there are many."""
    compiled = kernel(define, flat=True, **options)
    compiled.over(arrays[0].size, compiled.grain, *arrays, *numbers)
