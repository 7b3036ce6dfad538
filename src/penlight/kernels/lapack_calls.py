"""NumPy's own LAPACK and BLAS called directly: what NumPy exposes of them comes with 5 to 20 microseconds of Python around it,
and triangular systems, LU factors and reflectors it does not expose at all.

Note [LAPACK by address]
The routines are functions of the shared library that NumPy's modules are linked with; all their arguments are addresses. They
read and write matrices column by column, so the functions in lapack*.py lay their arguments out that way, and give results in that
layout. A batch is one call into machine code, which calls the routine for each of its matrices. Arithmetic is in double precision for
single precision arguments too, as it is in `np.linalg`, except for factorisations that NumPy has not. Each function gives None where the
routines cannot be had (another BLAS, another system), and where something is singular or not finite: the callers have a way for
all of that.
"""

from __future__ import annotations

from cmath import isfinite
from functools import lru_cache
from math import prod
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from . import parallel
from .native import _pages
from .silence import hush, unhush

Array = np.ndarray[Any, Any]
Ints = tuple[int, ...]

_LETTERS = {np.dtype(t): letter for t, letter in zip((np.float32, np.float64, np.complex64, np.complex128), "sdcz")}
DOUBLE = {np.dtype(t): np.dtype(d) for t, d in zip("fdFD", "ddDD")}
BLOCK = 64  # rows of a block, for which LAPACK wants room
_BYTES = bytes.__basicsize__ - 1  # from a bytes object to its bytes
number = lru_cache(1024)(Struct("<q").pack)  # a whole number as LAPACK wants it; never written to
_ENTRIES = {np.dtype(np.float64): Struct("<d"), np.dtype(np.complex128): Struct("<dd")}


@lru_cache(64)
def entry(dtype: np.dtype[Any], value: float) -> bytes:
    """A real number as an element of a matrix in double precision."""
    return _ENTRIES[dtype].pack(*(value, 0.0)[: 1 + (dtype.kind == "c")])


class Routine(NamedTuple):
    """A routine of LAPACK's."""

    run: Any
    address: int


@lru_cache(1)
def _library() -> Any:
    return parallel.numpy_library() if _pages.available() else None


@lru_cache(128)
def _routine(name: str, dtype: np.dtype[Any], words: int, rest: int) -> Routine | None:
    """A routine of so many letters first, and other arguments; None if it cannot be had."""
    import ctypes

    function = getattr(_library(), f"scipy_{_LETTERS[dtype]}{name}_64_", None)
    if function is None:
        return None
    # Fortran's compilers expect the lengths of letters behind all arguments.
    function.argtypes = [ctypes.c_char_p] * words + [ctypes.c_void_p] * rest + [ctypes.c_size_t] * words
    function.restype = None
    return Routine(function, ctypes.cast(function, ctypes.c_void_p).value or 0)


def find(name: str, dtype: np.dtype[Any] | None, words: int, rest: int, batch: Ints, size: int) -> Routine | None:
    """The routine for matrices of a dtype and size; None if it cannot be had, or there is nothing to do."""
    if dtype not in _LETTERS or not size or 0 in batch:
        return None
    return _routine(name, dtype, words, rest)


def each(routine: Routine, batch: Ints, words: tuple[Any, ...], *going: tuple[int, int]) -> None:
    """Call a routine for each matrix of a batch; `going` says which of its arguments go on from one to the next, by how many bytes."""
    count = prod(batch) if batch else 1
    if count == 1:
        routine.run(*words)
        return
    from .native.calls import repeat

    steps = [0] * len(words)
    for place, step in going:
        steps[place] = step
    places = [w if type(w) is int else id(w) + _BYTES for w in words]
    repeat(len(words))(routine.address, _table(len(words)).pack(*places, *steps), count)


@lru_cache(32)
def _table(count: int) -> Struct:
    return Struct(f"<{2 * count}q")


@lru_cache(1)
def _reader() -> Any:
    import ctypes

    return ctypes.c_void_p.from_address


def address(array: Array) -> int:
    """Where an array's data begin."""
    place: int = _reader()(id(array) + _pages.DATA_OFFSET).value
    return place


def columns_of(array: Array, dtype: np.dtype[Any], batch: Ints) -> Array:
    """A copy of matrices that has their columns as its rows."""
    turned = array.T if array.ndim == 2 else array.swapaxes(-1, -2)
    if array.shape[:-2] != batch:
        turned = np.broadcast_to(turned, (*batch, *turned.shape[-2:]))
    return np.array(turned, dtype, order="C")


def readable(array: Array, dtype: np.dtype[Any], batch: Ints) -> tuple[Array, bool]:
    """Square matrices that are only read, and whether the array has their rows as its rows: then LAPACK sees them transposed."""
    if array.shape[:-2] != batch:
        array = np.broadcast_to(array, (*batch, *array.shape[-2:]))
    if array.flags.c_contiguous:
        return (array if array.dtype is dtype else np.ascontiguousarray(array, dtype)), True
    return np.ascontiguousarray(array.swapaxes(-1, -2), dtype), False


def given_back(turned: Array, dtype: np.dtype[Any]) -> Array:
    """Results in a dtype, the matrices' columns being the array's rows."""
    back = turned.T if turned.ndim == 2 else turned.swapaxes(-1, -2)
    if back.dtype is dtype:
        return back
    token = hush()
    try:
        return back.astype(dtype)
    finally:
        unhush(token)


def finite(turned: Array, dtype: np.dtype[Any]) -> Array | None:
    """The same, or None if they are not all finite."""
    flat = turned.reshape(-1)
    token = hush()
    total = flat.dot(flat)  # in one pass and without a temporary; sums that overflow may well go the other way
    unhush(token)
    return given_back(turned, dtype) if isfinite(total) else None


def common(a: Array, b: Array) -> Ints:
    """The batch that two arrays of matrices have together."""
    first, second = a.shape[:-2], b.shape[:-2]
    return first if first == second else np.broadcast_shapes(first, second)
