"""Kernels over rows and elements, compiled at their first use and called with float arrays.

Note [Native kernels]
NumPy does one thing at a time: each of its functions reads its operands from the cache and writes its result back, and its
`exp` alone takes longer than all of PyTorch's softmax. A row of softmax, a gelu with its derivative, or a step of Adam is a few
dozen instructions on eight elements that can stay in registers throughout. So such kernels are also written as small Python
functions (softmax/kernels.py, recurrent/kernels.py, ...), which compiler/rows.py translates to IR and the compiler to machine
code: no external compiler or binary is needed.

The NumPy version stays: the tests use it as the specification, it serves every other dtype, layout and machine (`available` says
whether a backend compiles for this one), and PENLIGHT_NATIVE=0 chooses it. The two agree within rounding.

A kernel takes arrays without converting them and refuses those that do not fit: Note [Calling machine code]. `suits` checks that beforehand.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from . import waiting_threads
from .executable import compiles as available
from .lazy import lazy_import

__all__ = ["Kernel", "available", "in_order", "kernel", "over_elements", "over_rows", "suits"]

load = lazy_import(globals(), "load", ".compiler.load")
definitions = lazy_import(globals(), "definitions", ".compiler.rows")

FLOATS = np.dtype(np.float32), np.dtype(np.float64)
_SHARE = 1 << 19  # operations on single elements in some ten microseconds, the cost of sharing work
_CHEAPEST = 8  # operations per element; kernels with fewer are limited by memory


class Kernel:
    """A compiled definition. Call `run(low, high, columns, array, ..., scalar, ...)`, without `columns` if it is flat."""

    def __init__(
        self, define: Callable[..., None], flat: bool = False, broadcast: tuple[int, ...] = (), double: bool = False, **options: Any
    ) -> None:  # fmt: skip
        rows = definitions.Rows(define.__name__.strip("_"), flat, broadcast, double)
        define(rows, **options)
        self.ir = rows.kernel()
        self.written = sorted(rows.written)  # indices of output arrays
        self.partial = rows.build.partial  # returns NaN outside its domain; the caller then recomputes with NumPy
        self.narrow = rows.narrow  # works on full vectors only, see Note [Narrow arrays]
        self.length = 2 * rows.work  # operations in the code; unrolled ones count once
        self.grain = _SHARE // max(_CHEAPEST, rows.work)  # elements per thread, at least
        self._least = 8 if flat and rows.narrow else rows.together
        whole = ("(high - low) % 8 == 0" if flat else "columns % 8 == 0",) if rows.narrow else ()
        self.run = load.machine_code(self.ir, *whole)
        if self.run is None:
            raise OSError("no machine code can be loaded")

    def over(self, total: int, grain: int, *arguments: Any) -> None:
        """Run over all `total` rows or elements; threads share the work if there are at least twice `grain`."""
        waiting_threads.over(self.run, total, grain, *arguments, multiple=self._least)


def suits(*arrays: np.ndarray) -> bool:
    """Whether kernels run here and accept these arrays: contiguous ones of float32, or of float64."""
    dtype = arrays[0].dtype
    if dtype not in FLOATS or not available():
        return False
    for array in arrays:  # noqa: SIM110 - a generator takes twice as long
        if array.dtype != dtype or not array.flags.c_contiguous:
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
    """Run a kernel over `shape` = (rows, columns); threads share the work if it is large.

    `arrays` are in the order of the definition; the first one's dtype decides. Threads share the rows, so each row must only write
    its own elements.
    """
    rows, columns = shape
    compiled = kernel(define, double=arrays[0].dtype == FLOATS[1], **options)
    compiled.over(rows, -(-compiled.grain // max(columns, 1)), columns, *arrays, *numbers)


def in_order(define: Callable[..., None], shape: tuple[int, int], *arrays: np.ndarray, **options: Any) -> None:
    """Run a kernel whose rows write to one shared row: row by row, in this thread."""
    rows, columns = shape
    kernel(define, double=arrays[0].dtype == FLOATS[1], **options).run(0, rows, columns, *arrays)


def over_elements(
    define: Callable[..., None], *arrays: np.ndarray, numbers: tuple[float, ...] = (), **options: Any
) -> None:
    """Run a flat kernel over all elements of arrays of one size; threads share the work if there are many."""
    compiled = kernel(define, flat=True, **options)
    compiled.over(arrays[0].size, compiled.grain, *arrays, *numbers)
