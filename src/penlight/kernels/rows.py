"""Small helpers shared by the kernels that work row by row (softmax, norms, losses, reductions).

Note [Row blocks]
A kernel that passes several times over an array larger than the cache processes one block of rows at a time: each pass then finds
its block in the cache, and temporaries are only as large as a block. `each_block` does that, and splits very large arrays between
threads.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from math import prod
from typing import Any, TypeVar

import numpy as np

from .copies.convert import cast, is_half
from .numpy_warnings import hush, unhush
from .parallel import parallel_for

F = TypeVar("F", bound=Callable[..., Any])
BLOCK_ELEMENTS = 1 << 16
GROUP = 64  # rows; see Note [Column sums] in reduce/__init__.py
_FLOAT = np.dtype(np.float32)
THREADS_FROM = 1 << 16  # elements; below, waking a thread costs more than it saves


def quiet(kernel: F) -> F:
    """A decorator for kernels that treat inf and NaN as ordinary data."""

    @wraps(kernel)
    def run(*args: Any, **kwargs: Any) -> Any:
        token = hush()
        try:
            return kernel(*args, **kwargs)
        finally:
            unhush(token)

    return run  # type: ignore[return-value]


def in_float32(kernel: F) -> F:
    """A decorator for kernels that compute 16-bit floats in float32. The first array's dtype decides; the result (the first of
    several) is rounded to it."""

    @wraps(kernel)
    def run(first: np.ndarray, *rest: Any, **options: Any) -> Any:
        if not is_half(first.dtype):
            return kernel(first, *rest, **options)
        found = kernel(widen(first), *[widen(a) if isinstance(a, np.ndarray) else a for a in rest], **options)
        return (narrow(found[0], first.dtype), *found[1:]) if type(found) is tuple else narrow(found, first.dtype)

    return run  # type: ignore[return-value]


def widen(x: np.ndarray) -> np.ndarray:
    """`x` itself, or a float32 copy if it holds 16-bit floats."""
    return cast(x, _FLOAT) if is_half(x.dtype) else x


def narrow(x: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """`x` rounded to `dtype`; `x` itself if it has that dtype already."""
    return x if x.dtype == dtype else cast(x, dtype)


def each_block(
    body: Callable[[slice], None], rows: int, columns: int, least: int = 1, block: int = BLOCK_ELEMENTS
) -> None:
    """Call `body` with slices that cover `rows` rows of `columns` elements: blocks of `block` elements, and of at least `least`
    rows. See Note [Row blocks].

    Large arrays are split between threads, so `body` must only write to its own rows.
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
        for i in range(count):  # of almost equal size
            body(slice(low + (high - low) * i // count, low + (high - low) * (i + 1) // count))

    if size < THREADS_FROM or rows < 2:
        run(0, rows)
    else:
        parallel_for(run, rows, max(least, THREADS_FROM // 2 // columns))


def split_shape(shape: tuple[int, ...], dim: int) -> tuple[int, int, int]:
    """(outer, n, inner): the sizes before, at and after `dim`; a 0-d shape counts as one element."""
    if not shape:
        return 1, 1, 1
    return prod(shape[:dim]), shape[dim], prod(shape[dim + 1 :])
