"""Helpers of the special functions: polynomials in place, blocks that fit in the cache, and selection by region.

Note [How the special functions are evaluated]
Every function here is a handful of polynomial or rational approximations, each good on one region of the line, fitted in
multiple precision (minimax in the relative error unless a comment says otherwise). NumPy makes one pass over memory for
each multiplication and addition, so the speed depends on the number of passes, and on whether the data is in the cache.
Hence blocks of 256 KiB (shared between threads if there are several), Horner's rule in place, and denominators with
leading coefficient one.

With machine code, a kernel is also traced (Note [Bodies as machine code] in compiler/trace.py). The traced code computes in float64 and, since it cannot
branch, evaluates all regions everywhere; it is still ten times as fast. So kernels select regions only by `chosen`, `piecewise` and `corrected`, and
call only ufuncs and methods that the tracer knows.

In NumPy, the elements of a region are gathered with `nonzero` and `take` and scattered back by index, which is four times as fast as
boolean indexing. A function is evaluated on the elements of its region only, so no other element can raise a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from ..executable import compiles
from ..lazy import lazy_import
from ..numpy_warnings import hush, silent, unhush
from ..rows import each_block, is_half as is_half
from . import MOST_ONE_BY_ONE

elementwise = lazy_import(globals(), "elementwise", "..elementwise")
Array = np.ndarray
Kernel = Callable[[Array, Array], None]  # (contiguous 1-d input, output to fill), both float32 or both float64
Piece = tuple[Array, Callable[[Array], Array]]

BLOCK_BYTES = 1 << 18


def horner(coefficients: Sequence[float], x: Any) -> Any:
    """The polynomial with these coefficients, highest degree first, of an array (in a fresh buffer) or of a float."""
    result = x * coefficients[0]
    for c in coefficients[1:-1]:
        result += c
        result *= x
    result += coefficients[-1]
    return result


def horner_monic(coefficients: Sequence[float], x: Any) -> Any:
    """As `horner`, with a leading coefficient of one that is not listed."""
    result = x + coefficients[0]
    for c in coefficients[1:]:
        result *= x
        result += c
    return result


def rational(numerator: Sequence[float], denominator: Sequence[float], x: Any) -> Any:
    """The quotient of a polynomial and a monic polynomial."""
    result = horner(numerator, x)
    result /= horner_monic(denominator, x)
    return result


def piecewise(x: Array, out: Array, *pieces: Piece) -> None:
    """Fill `out` with `function(x)` where its mask holds, for each `(mask, function)`."""
    if type(x) is not np.ndarray:
        out[...] = chosen(x, *pieces)
        return
    for mask, function in pieces:
        index = mask.nonzero()[0]
        if index.size == x.size:
            out[...] = function(x)
        elif index.size:
            out[index] = function(x.take(index))


def chosen(x: Array, *pieces: Piece) -> Array:
    """`function(x)` where its mask holds, for each `(mask, function)`; each element has a mask that holds."""
    if type(x) is np.ndarray:
        out = np.empty_like(x)
        piecewise(x, out, *pieces)
        return out
    (_, function), *rest = pieces
    result = function(x)
    for mask, function in rest:
        result = np.where(mask, function(x), result)
    return result


def corrected(result: Array, where: Array, x: Array, function: Callable[[Array], Array]) -> Array:
    """`result` with `function(x)` added where the mask holds; may overwrite `result`."""
    if type(x) is not np.ndarray:
        return np.where(where, result + function(x), result)
    index = where.nonzero()[0]
    if index.size:
        result[index] += function(x.take(index))
    return result


def one_by_one(function: Callable[[float], float], x: Array, kernel: Kernel | None = None) -> Array | None:
    """Apply a C library function, or its machine code, to each of a few floats; None for more elements, other dtypes, or if it raises.

    A kernel makes dozens of NumPy calls, each of which takes as long as the C library takes for about ten elements.
    """
    if not 0 < x.size <= MOST_ONE_BY_ONE or x.dtype.char not in "fd":
        return None
    made = None if kernel is None else natively(kernel, x)
    if made is not None:
        return made
    try:
        return np.array([*map(function, x.reshape(-1).tolist())], x.dtype).reshape(x.shape)
    except (ValueError, OverflowError):
        return None


def unary(kernel: Kernel, x: Array, *, wide: bool = False, machine: bool = False) -> Array:
    """Run a kernel over an array of any shape in blocks. `wide` computes float32 in float64; `machine` does so only in machine code."""
    dtype = x.dtype
    if is_half(dtype):
        return unary(kernel, x.astype(np.float32), wide=wide, machine=machine).astype(dtype)
    made = natively(kernel, x) if wide or machine else None
    if made is not None:
        return made
    out = np.empty(x.shape, dtype)
    source, target = x.reshape(-1), out.reshape(-1)
    wide = wide and dtype == np.float32
    step = BLOCK_BYTES // (8 if wide else dtype.itemsize)
    token = hush()
    try:
        each_block(lambda part: _fill(kernel, source[part], target[part], wide), source.size, 1, block=step)
    finally:
        unhush(token)
    return out


def over_arrays(*, wide: bool = False, machine: bool = False) -> Callable[[Kernel], Callable[[Array], Array]]:
    """Decorate a kernel: the result is the function of arrays that runs it by `unary`."""

    def decorate(kernel: Kernel) -> Callable[[Array], Array]:
        @wraps(kernel)
        def run(x: Array) -> Array:
            return unary(kernel, x, wide=wide, machine=machine)

        return run

    return decorate


def _fill(kernel: Kernel, x: Array, out: Array, wide: bool) -> None:
    if wide:
        result = np.empty(x.size)
        kernel(x.astype(np.float64), result)
        out[...] = result
    else:
        kernel(x, out)


def as_it_is(kernel: Kernel, x: Array) -> Array | None:
    """The kernel's result from machine code in the array's own dtype, float32 or float64; None if there is none."""
    if x.dtype.char not in "fd" or not compiles():
        return None
    made: Array | None = elementwise.attempt(elementwise.as_kernel(kernel, 1), (np.ascontiguousarray(x),))
    return made if made is None or x.ndim else made.reshape(())


def natively(kernel: Kernel, x: Array) -> Array | None:
    """The kernel's result from machine code in float64; None if there is none, or if an element is outside its domain."""
    if x.dtype.char not in "fd" or not compiles():
        return None
    wide = np.ascontiguousarray(x, np.float64)  # 1-d if x is 0-d
    made: Array | None = elementwise.attempt(elementwise.as_kernel(kernel, 1), (wide,))
    if made is None:
        return None
    made = made.reshape(x.shape)
    return made if x.dtype == np.float64 else rounded(made)


def rounded(x: Array, dtype: Any = np.float32) -> Array:
    """Float64 results cast to float32 or another dtype."""
    with silent():
        return x.astype(dtype)


def fraction(x: Array) -> Array:
    """The signed distance to the nearest integer, exactly; sin(pi x) depends on it up to a sign."""
    return x - np.rint(x)
