"""Kernels in machine code that Python writes when they are first used, for large float32 arrays.

Note [Native kernels]
NumPy does one thing at a time: each of its functions reads its operands from the cache and writes its result back, and its `exp`
alone takes longer than all of PyTorch's softmax. A row of softmax, a gelu with its derivative, or a step of Adam is a few dozen
instructions on eight numbers that need not leave the processor's registers in between. So such kernels are also written down
as small Python functions (`softmax.py`, `norm.py`, ...), from which `_build.py` makes machine code with the assembler in `_x86.py`:
no compiler and no binary is shipped or needed. `Kernel.listing` shows the instructions.

What is written in NumPy stays: it is the specification that the tests compare with, it serves every other dtype, layout and machine
(`available` says whether this one can), and PENLIGHT_NATIVE=0 chooses it. The two agree within rounding.

A kernel gets arrays as they are and refuses those that do not fit it: Note [Calling machine code]. `suits` says beforehand whether arrays do.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ..executable import available
from ..rows import column_sum
from ._build import GROUP, Builder
from ._compile import Kernel

__all__ = [
    "Builder",
    "Kernel",
    "available",
    "in_order",
    "kernel",
    "over_elements",
    "over_rows",
    "suits",
    "summed",
    "sums",
]

_FLOAT = np.dtype(np.float32)
_ONES = np.ones(GROUP, _FLOAT)


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


def sums(shape: tuple[int, int]) -> np.ndarray:
    """Zeros for a kernel over (rows, columns) that sums up rows, see Note [Sums over rows]; then call `summed`."""
    rows, columns = shape
    return np.zeros(columns if 0 < rows <= GROUP else (-(-rows // GROUP), columns), _FLOAT)


def summed(groups: np.ndarray) -> np.ndarray:
    """The sum over all rows, from what a kernel added to `sums`."""
    if groups.ndim == 1:
        return groups
    return _ONES[: len(groups)].dot(groups) if len(groups) <= GROUP else column_sum(groups)


def over_elements(
    define: Callable[..., None], *arrays: np.ndarray, numbers: tuple[float, ...] = (), **options: Any
) -> None:
    """Run a flat kernel over all elements of arrays of one size, shared between threads if there are many."""
    compiled = kernel(define, flat=True, **options)
    compiled.over(arrays[0].size, compiled.grain, *arrays, *numbers)
