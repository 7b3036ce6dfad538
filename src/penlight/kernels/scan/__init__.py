"""Running reductions (sums, products, cummax, cummin, logcumsumexp) and the gradients of products, exact where factors are zero."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..compiler.loops import Doubles, Elements, Floats, Ints, compile_loops
from ..copies import contiguous
from ..index_width import wide_indices
from ..numpy_calls import kept
from ..numpy_warnings import hush, silent, unhush
from ..rows import is_half, narrow, widen
from ..waiting_threads import over

_LEAST_COMPILED = 1 << 11  # elements: for fewer, NumPy is as fast
_LEAST_EXTREMA = 1 << 8  # the same for running extrema, for dtypes with machine code
_BLOCK = 1 << 15  # elements of float32 that are widened at a time, to stay in the cache
_LEAST_IN_BLOCKS = 1 << 13  # elements whose extrema NumPy looks for in blocks
_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)


def running(x: np.ndarray, dim: int, ufunc: np.ufunc) -> np.ndarray:
    """The running sums (`np.add`) or products (`np.multiply`) of floats along `dim`; float32 is computed in float64, as in PyTorch."""
    x = np.ascontiguousarray(x)
    if x.size >= _LEAST_COMPILED and x.dtype.kind == "f":
        result = _compiled_running(x, dim, ufunc is np.multiply)
        if result is not None:
            return result
    token = hush()
    try:
        if x.ndim == 1 and x.size > _BLOCK and x.dtype == _SINGLE:
            made, before = np.empty_like(x), ufunc.identity
            for start in range(0, x.size, _BLOCK):
                part = x[start : start + _BLOCK].astype(_DOUBLE)
                part[0] = ufunc(before, part[0])
                ufunc.accumulate(part, out=part)
                made[start : start + _BLOCK], before = part, part[-1]
            return made
        found = ufunc.accumulate(x, dim, dtype=_DOUBLE if x.dtype == _SINGLE else None)
        if ufunc is np.add:
            found += 0.0  # PyTorch's sums begin with 0, so that they are never -0
        return found.astype(x.dtype, copy=False)
    finally:
        unhush(token)


@kept(lambda n, behind: n, _LEAST_COMPILED)
def _numbered(n: int, behind: int) -> np.ndarray:
    """The indices along a dimension that `behind` others follow, shaped to broadcast."""
    return np.arange(n).reshape((-1,) + (1,) * behind)


def _accumulate_with_index(x: np.ndarray, dim: int, ufunc: np.ufunc) -> tuple[np.ndarray, np.ndarray]:
    """Running extremum and the last index at which it was reached; a NaN stays, and later NaNs replace its index."""
    if x.ndim == 0:
        return x.copy(), np.zeros((), np.int64)
    x = contiguous(x)  # PyTorch's results are always contiguous
    if x.size >= (_LEAST_EXTREMA if x.dtype.char in "fdl" else _LEAST_COMPILED):
        found = _compiled_extrema(x, dim, ufunc is np.maximum)
        if found is not None:
            return found
    with silent():  # some comparisons of NaNs set a flag
        values = (
            _extrema_in_blocks(x, ufunc) if x.ndim == 1 and x.size >= _LEAST_IN_BLOCKS else ufunc.accumulate(x, dim)
        )
    reached = values == x
    if x.dtype.kind == "f" or is_half(x.dtype):
        reached |= np.isnan(x)
    if x.ndim == 1:
        records = reached.nonzero()[0]
        lengths = np.full(records.size, x.size)
        lengths[:-1] = records[1:]
        lengths -= records
        return values, records.repeat(lengths)
    indices = reached * _numbered(x.shape[dim], x.ndim - 1 - dim)
    np.maximum.accumulate(indices, dim, out=indices)
    return values, indices


def _extrema_in_blocks(x: np.ndarray, ufunc: np.ufunc) -> np.ndarray:
    """`ufunc.accumulate` of a vector. NumPy reduces a block several elements at a time, and accumulates one by one: only blocks that change the extremum."""
    width = 128
    whole = x.size // width * width
    blocks, values = x[:whole].reshape(-1, width), np.empty_like(x)
    best = ufunc.accumulate(ufunc.reduce(blocks, 1))  # up to the end of each block
    new = np.concatenate(([0], (best[1:] != best[:-1]).nonzero()[0] + 1))  # each NaN is new
    made = ufunc.accumulate(blocks[new], 1)
    ufunc(made[1:], best[new[1:] - 1, None], out=made[1:])
    filled = values[:whole].reshape(-1, width)
    filled[...] = best[:, None]
    filled[new] = made
    values[whole:] = ufunc(ufunc.accumulate(x[whole:]), best[-1])
    return values


def _compiled_extrema(x: np.ndarray, dim: int, largest: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """`_accumulate_with_index` by machine code; None if there is none for this. Narrow elements are widened."""
    if is_half(x.dtype) or (x.dtype.kind in "iub" and x.dtype.itemsize < 8):
        wide = _compiled_extrema(widen(x) if is_half(x.dtype) else x.astype(np.int64), dim, largest)
        return None if wide is None else (narrow(wide[0], x.dtype), wide[1])
    return _running_extrema(x, dim, largest)


@wide_indices(1)
def cummax(x: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """(values, indices) of the running maximum along `dim`; of equal elements the last one's index."""
    return _accumulate_with_index(x, dim, np.maximum)


@wide_indices(1)
def cummin(x: np.ndarray, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """(values, indices) of the running minimum along `dim`; of equal elements the last one's index."""
    return _accumulate_with_index(x, dim, np.minimum)


def logcumsumexp(x: np.ndarray, dim: int) -> np.ndarray:
    """log of the running sum of e^x along `dim`, without overflow."""
    if x.ndim == 0 or x.size == 0:
        return x.copy()
    wide = widen(x)
    with silent():
        if wide.dtype.kind != "c":
            return narrow(_log_sums(np.ascontiguousarray(wide), dim), x.dtype)
        return np.ascontiguousarray(np.moveaxis(_complex_scan(np.moveaxis(wide, dim, -1)), -1, dim))


def _log_sums(x: np.ndarray, dim: int) -> np.ndarray:
    """`np.logaddexp.accumulate` in float64, as in PyTorch: with large values a float32 step would lose its increment."""
    return np.logaddexp.accumulate(x, dim, dtype=np.float64)


def _complex_logaddexp(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """log(e^a + e^b) from the one with the larger real part."""
    large = np.where(a.real >= b.real, a, b)
    small = np.where(a.real >= b.real, b, a)
    found = large + np.log1p(np.exp(small - large))
    return np.where(np.isinf(large.real) | (small.real == -np.inf), large, found)


def _complex_scan(x: np.ndarray) -> np.ndarray:
    """`logcumsumexp` of complex numbers along the last dimension, in log2(length) steps.

    A logarithm is defined up to full turns. PyTorch adds one element at a time, and stays within half a turn of the larger
    operand: the sum so far, or the element that exceeds it.
    """
    out, step, n = x.copy(), 1, x.shape[-1]
    while step < n:
        out = np.concatenate([out[..., :step], _complex_logaddexp(out[..., :-step], out[..., step:])], -1)
        step *= 2
    turn, angle = 2 * np.pi, out.imag
    fresh = np.ones(x.shape, bool)
    fresh[..., 1:] = x.real[..., 1:] >= out.real[..., :-1]
    before = np.where(fresh, x.imag, np.roll(angle, 1, -1))
    moved = angle - before - turn * np.round((angle - before) / turn)
    along = np.cumsum(np.where(fresh, 0.0, moved), -1)
    last = np.maximum.accumulate(np.where(fresh, np.arange(n), 0), -1)  # the last index that exceeded the sum so far
    base = np.take_along_axis(x.imag + moved - along, last, -1)
    turns = np.round((base + along - angle) / turn)
    return out.real + 1j * (angle + turn * np.where(np.isfinite(turns), turns, 0))


def logcumsumexp_backward(grad: np.ndarray, x: np.ndarray, result: np.ndarray, dim: int) -> np.ndarray:
    """Gradient of `logcumsumexp`: e^x times the sum of grad e^-result from here on, in logarithms."""
    if x.ndim == 0 or x.size == 0:
        return grad.copy()
    wide, g = widen(x), widen(grad)
    # Rounded to 16 bits, a logarithm is no longer that of the sum.
    total = result if wide is x else _log_sums(wide, dim)

    def part(positive: np.ndarray) -> np.ndarray:
        logs = np.log(positive)
        logs -= total
        logs = np.flip(_log_sums(np.flip(logs, dim), dim), dim)
        logs += wide
        return np.exp(logs, logs)

    with silent():
        out = part(np.where(g > 0, g, 0))
        if (g < 0).any():
            out -= part(np.where(g < 0, -g, 0))
    return narrow(np.ascontiguousarray(out), x.dtype)


def _reverse_cumsum(x: np.ndarray, dim: int) -> np.ndarray:
    if x.dtype.kind == "f":
        return np.flip(running(np.flip(x, dim), dim, np.add), dim)
    return np.flip(np.cumsum(np.flip(x, dim), dim), dim)


# Note [Gradient of cumprod with zeros]
# Let z be the position of the first zero. Before z no divisor is 0, and results from z on are 0, so there the usual sum(grad *
# result from here on) / x holds. After z every term contains x[z] = 0, so the gradient is 0. At z itself it is the same sum with
# x[z] taken as 1 in the products: a second zero ends that sum by itself.


def cumprod_backward(grad: np.ndarray, x: np.ndarray, result: np.ndarray, dim: int) -> np.ndarray:
    """Gradient of the running product along `dim`; see Note [Gradient of cumprod with zeros]."""
    if x.ndim == 0 or x.size == 0:
        return grad.copy()
    wide, g, product = widen(x), widen(grad), np.conj(widen(result))
    with silent():
        sums = _reverse_cumsum(product * g, dim)
        zero = wide == 0
        if not zero.any():
            return narrow(np.ascontiguousarray(sums / np.conj(wide)), x.dtype)
        seen = np.logical_or.accumulate(zero, dim)
        first = seen & zero & (np.cumsum(zero, dim) == 1)
        without = np.where(first, wide.dtype.type(1), wide)
        at_first = _reverse_cumsum(np.conj(np.cumprod(without, dim)) * g, dim)
        out = np.divide(sums, np.conj(np.where(zero, wide.dtype.type(1), wide)))
        out = np.where(seen, wide.dtype.type(0), out)
        out[first] = at_first[first]
    return narrow(np.ascontiguousarray(out), x.dtype)


# ----- Running sums and products, and running extrema with their positions, as compiled loops -------------------------
# See Note [Compiled loops] in compiler/loops.py.
# Sums and products are computed in float64, as in PyTorch. For extrema, an element that equals or beats the best so far, or is
# NaN, replaces it; only NaN replaces NaN.


_GRAIN = 1 << 14  # elements per thread, at least
_SERVED = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64))


def _rows(begin: int, end: int, x: Floats, out: Floats, length: int, *, product: bool) -> None:
    for row in range(begin, end):
        so_far = 1.0 if product else 0.0
        for i in range(length):
            value = x[row * length + i]
            so_far = so_far * value if product else so_far + value
            out[row * length + i] = so_far


def _columns(
    begin: int, end: int, x: Floats, out: Floats, so_far: Doubles, length: int, columns: int, *, product: bool
) -> None:
    """Running sums or products along the columns of matrices; the range is over matrices. `so_far` has a row for each of them."""
    for matrix in range(begin, end):
        first, top = matrix * length * columns, matrix * columns
        for c in range(columns):
            so_far[top + c] = 1.0 if product else 0.0
        for i in range(length):
            row = first + i * columns
            for c in range(columns):
                value = so_far[top + c] * x[row + c] if product else so_far[top + c] + x[row + c]
                so_far[top + c] = value
                out[row + c] = value


def _is_better(value: Any, best: Any, largest: bool) -> Any:
    return (value >= best if largest else value <= best) or value != value


def _extrema_rows(
    begin: int, end: int, x: Elements, values: Elements, indices: Ints, length: int, *, largest: bool
) -> None:
    for row in range(begin, end):
        best, position = x[row * length], 0
        for i in range(length):
            value = x[row * length + i]
            is_better = _is_better(value, best, largest)
            best, position = value if is_better else best, i if is_better else position
            values[row * length + i] = best
            indices[row * length + i] = position


def _extrema_columns(
    begin: int, end: int, x: Elements, values: Elements, indices: Ints, best: Elements, positions: Ints, length: int, columns: int,
    *, largest: bool,
) -> None:  # fmt: skip
    """Running extrema along the columns of matrices; the range is over matrices. `best` and `positions` are rows that all rows of
    a matrix share."""
    for matrix in range(begin, end):
        first, top = matrix * length * columns, matrix * columns
        for c in range(columns):
            best[top + c] = x[first + c]
        for c in range(columns):
            positions[top + c] = 0
        for i in range(length):
            row = first + i * columns
            for c in range(columns):
                value, old, position = x[row + c], best[top + c], positions[top + c]
                is_better = _is_better(value, old, largest)
                new, now = value if is_better else old, i if is_better else position
                best[top + c] = new
                positions[top + c] = now
                values[row + c] = new
                indices[row + c] = now


def _running_extrema(x: np.ndarray, dim: int, largest: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """(values, indices) of a contiguous array; None if there is no machine code for it."""
    columns = prod(x.shape[dim + 1 :])
    loops = _extrema_rows if columns == 1 else _extrema_columns
    compiled = compile_loops(loops, x.dtype, largest=largest) if x.dtype in _SERVED and x.size else None
    if compiled is None:
        return None
    length = x.shape[dim]
    count, grain = x.size // (length * columns), -(-_GRAIN // (length * columns))
    if columns == 1:
        return over(compiled, count, grain, x, x.shape, x.shape, length)
    scratch = (count * columns,)
    return over(compiled, count, grain, x, x.shape, x.shape, scratch, scratch, length, columns)[:2]


def _compiled_running(x: np.ndarray, dim: int, product: bool) -> np.ndarray | None:
    """Running sums or products of a contiguous array of floats; None if there is no machine code for it."""
    columns = prod(x.shape[dim + 1 :])
    compiled = compile_loops(_rows if columns == 1 else _columns, x.dtype, wide=True, product=product)
    if compiled is None or not x.size:
        return None
    length = x.shape[dim]
    count, grain = x.size // (length * columns), -(-_GRAIN // (length * columns))
    if columns == 1:
        return over(compiled, count, grain, x, x.shape, length)
    return over(compiled, count, grain, x, x.shape, (count * columns,), length, columns)[0]
