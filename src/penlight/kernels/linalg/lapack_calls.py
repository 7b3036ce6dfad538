"""Direct calls of NumPy's own LAPACK and BLAS. NumPy's functions for them add 5 to 20 microseconds of Python, and triangular
systems, LU factors and reflectors have none.

Note [LAPACK by address]
The routines are functions of the shared library that NumPy's modules are linked with; all their arguments are addresses. They
read and write column-major matrices, so the functions in lapack*.py lay out their arguments and results that way. All other
arguments of a call depend only on shapes and are cached as a `Plan`. Running it is one call into machine code, which calls the
routine for each matrix of the batch. Arithmetic is in double precision for single precision arguments too, as in `np.linalg`,
except for factorisations that NumPy lacks. Each function returns None if the routines are not available (another BLAS, another
system), and if a matrix is singular or not finite: the callers handle all of that.
"""

from __future__ import annotations

from cmath import isfinite
from functools import lru_cache
from math import prod
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from .. import call, executable, parallel
from ..assembly import library_calls
from ..numpy_warnings import hush, unhush

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]

_LETTERS = {np.dtype(t): letter for t, letter in zip((np.float32, np.float64, np.complex64, np.complex128), "sdcz")}
DOUBLE = {np.dtype(t): np.dtype(d) for t, d in zip("fdFD", "ddDD")}
BLOCK = 64  # rows of a block, which determine LAPACK's workspace
INT, LONG = np.dtype(np.int32), np.dtype(np.int64)
_number = Struct("<q").pack


class Each(NamedTuple):
    """An array argument: its bytes per matrix of the batch; and its total size in bytes if those are none."""

    step: int
    least: int = 0


class Plan:
    """Calls a routine for all matrices of a batch, given its contiguous arrays."""

    __slots__ = ("_kept", "_least", "_run", "_table")

    def __init__(self, run: Any, table: bytes, kept: Any, least: list[int]) -> None:
        self._run, self._table, self._least = run, table, least
        self._kept = kept  # data that the table points to

    def __call__(self, *arrays: Array) -> None:
        for array, least in zip(arrays, self._least, strict=True):
            if array.nbytes < least or not array.flags.c_contiguous:
                raise ValueError(
                    f"LAPACK got {array.nbytes} bytes where it needs {least}, or an array that is not contiguous"
                )
        self._run(self._table, *arrays)


@lru_cache(1)
def _library() -> Any:
    return parallel.numpy_library() if executable.available() else None


@lru_cache(1)
def there() -> bool:
    """Whether LAPACK can be called directly."""
    return hasattr(_library(), "scipy_dgetrf_64_")


_unread = np.empty(1, LONG)  # where routines write an `info` that is not needed


def plan(name: str, dtype: np.dtype[Any], batch: Ints, *arguments: bytes | int | Each | None) -> Plan | None:
    """How to call a routine for a batch of matrices; None if it is not available, or there is nothing to do.

    Its arguments are letters or scalars as bytes, integers, arrays, and None for an `info` that is not needed.
    """
    count = prod(batch)
    function = getattr(_library(), f"scipy_{_LETTERS[dtype]}{name}_64_", None)
    if function is None or not count:
        return None
    # Fortran compilers expect the lengths of strings after all arguments.
    lengths = [1] * sum(isinstance(a, bytes) and len(a) == 1 for a in arguments)
    kept = [
        _unread if a is None else np.frombuffer(a if isinstance(a, bytes) else _number(a), np.uint8)
        for a in arguments
        if not isinstance(a, Each)
    ]
    steps = [a.step if isinstance(a, Each) else 0 for a in arguments] + [0] * len(lengths)
    positions = tuple(i for i, a in enumerate(arguments) if isinstance(a, Each))
    words = [0, count, *[0] * len(arguments), *lengths, *steps]
    known = [2 + i for i, a in enumerate(arguments) if not isinstance(a, Each)]
    call.add_addresses(words, [0, *known], [function, *kept], range(1 + len(kept)))
    table = Struct(f"<{len(words)}q").pack(*words)
    least = [max(count * a.step, a.least) for a in arguments if isinstance(a, Each)]
    return Plan(library_calls.routine(len(steps), positions), table, kept, least)


@lru_cache(32)
def entry(dtype: np.dtype[Any], value: float) -> bytes:
    """A scalar argument, as an element of a matrix."""
    return np.full((), value, dtype).tobytes()


def columns_of(array: Array, dtype: np.dtype[Any], batch: Ints) -> Array:
    """A copy of matrices in column-major order (their columns are its rows)."""
    transposed = array.T if array.ndim == 2 else array.swapaxes(-1, -2)
    if array.shape[:-2] != batch:
        transposed = np.broadcast_to(transposed, (*batch, *transposed.shape[-2:]))
    return np.array(transposed, dtype, order="C")


def readable(array: Array, dtype: np.dtype[Any], batch: Ints) -> tuple[Array, bool]:
    """Square matrices that are only read, and whether they are row-major: then LAPACK sees them transposed."""
    if array.shape[:-2] != batch:
        array = np.broadcast_to(array, (*batch, *array.shape[-2:]))
    if array.flags.c_contiguous:
        return (array if array.dtype == dtype else np.ascontiguousarray(array, dtype)), True
    return np.ascontiguousarray(array.swapaxes(-1, -2), dtype), False


def given_back(transposed: Array, dtype: np.dtype[Any]) -> Array:
    """Column-major results, converted to a dtype and transposed back."""
    back = transposed.T if transposed.ndim == 2 else transposed.swapaxes(-1, -2)
    if back.dtype == dtype:
        return back
    token = hush()
    try:
        return back.astype(dtype)
    finally:
        unhush(token)


def finite(transposed: Array, dtype: np.dtype[Any]) -> Array | None:
    """Like `given_back`, or None if not all results are finite."""
    flat = transposed.reshape(-1)
    token = hush()
    total = flat.dot(flat)  # one pass without a temporary; sums that overflow may take the other path
    unhush(token)
    return given_back(transposed, dtype) if isfinite(total) else None


def common(a: Array, b: Array) -> Ints:
    """The broadcast batch shape of two arrays of matrices."""
    first, second = a.shape[:-2], b.shape[:-2]
    return first if first == second else np.broadcast_shapes(first, second)
