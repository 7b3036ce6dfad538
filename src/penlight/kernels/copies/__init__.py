"""Copies of large arrays that lie otherwise in memory than the copy: transposed, flipped, in parts. See kernels/copies/kernels.py."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..lazy import lazy_import

_kernels = lazy_import(globals(), "_kernels", ".kernels")

FROM = 1 << 12  # elements; below, NumPy takes no longer
# Elements from and to 16-bit floats: for fewer, looking for a kernel takes longer than it saves
LEAST_CONVERTED = 1 << 11
_LONG_ROW = 1 << 12  # bytes; NumPy copies longer ones as fast
# Elements of rows that are read backwards, for each byte of one, but two at least; NumPy copies fewer as fast
_BACKWARDS = 1 << 13
_GRAIN = 1 << 17  # bytes that are worth waking a thread for
_SHARED = 1 << 21  # bytes that threads copy together
_ROW = 1 << 14  # bytes, of such a copy
_SQUARE = 1 << 17  # bytes of a transposed matrix; NumPy copies smaller ones as fast
_PIECE = 64  # rows of a transposed matrix that a thread takes together


class _Plan(NamedTuple):
    """A kernel's way and its arguments: where in both arrays it begins, in bytes, sizes and strides."""

    way: str
    source: int
    target: int
    sizes: tuple[int, ...]  # of four dimensions
    steps: tuple[int, ...]  # bytes from one to the next, where it is read from, then where it is written to


def fresh(x: np.ndarray) -> np.ndarray:
    """A contiguous copy."""
    if x.size < FROM or (x.flags.c_contiguous and (x.nbytes < _SHARED or x.dtype.kind == "O")):
        return np.array(x, order="C")
    out = np.empty(x.shape, x.dtype)
    if x.flags.c_contiguous:
        _copy_bytes(out.reshape(-1).view(np.uint8), x.reshape(-1).view(np.uint8))
    else:
        copy(out, x)
    return out


def _copy_bytes(target: np.ndarray, source: np.ndarray) -> None:
    """As rows that threads share."""
    rows = len(source) // _ROW
    whole = rows * _ROW
    plan = _plan("forwards", [(rows, _ROW, _ROW), (_ROW, 1, 1)])
    if not _kernels.available():
        np.copyto(target, source)
        return
    _run(plan, 1, target, source)
    target[whole:] = source[whole:]


def contiguous(x: np.ndarray) -> np.ndarray:
    """The array itself if it is contiguous, else a copy that is."""
    return x if x.flags.c_contiguous else fresh(x)


def copy(target: np.ndarray, source: np.ndarray) -> None:
    """Write an array over another, of the same shape and dtype, which does not share memory with it."""
    if source.size < FROM or source.dtype != target.dtype or source.dtype.kind == "O" or not target.flags.writeable:
        np.copyto(target, source)
        return
    plans = _plans(source.shape, source.strides, target.strides, source.itemsize)
    if plans is None or not _kernels.available():
        np.copyto(target, source)
        return
    for plan in plans:
        _run(plan, source.itemsize, target, source)


def _run(plan: _Plan, itemsize: int, target: np.ndarray, source: np.ndarray) -> None:
    first, second, third, length = plan.sizes
    grain = -(-_GRAIN // (second * third * length * itemsize))
    numbers = (length, *plan.steps, plan.source, plan.target)
    _kernels.over(_kernels.copy_kernel(plan.way, itemsize), first, grain, second, third, source, target, *numbers)


@lru_cache(256)
def _plans(shape: tuple[int, ...], source: tuple[int, ...], target: tuple[int, ...], size: int) -> list[_Plan] | None:
    """How to copy, in one or two parts; None if NumPy should."""
    if size not in (1, 2, 4, 8):
        return None
    dims = _merged(shape, source, target)
    if not dims or len(dims) > 4:
        return None
    length, step, into = dims[-1]
    if into != size or abs(step) != size or length * size < 32:
        square, bytes_ = _squares(dims, size), prod(shape) * size
        if square is not None:
            return None if bytes_ < _SQUARE else square
        if size == 8 and bytes_ < _SHARED:  # which NumPy copies as fast
            return None
        way = "singles"
    elif step == size:
        if length * size >= _LONG_ROW:
            return None
        way = "forwards"
    else:
        if prod(shape) < _BACKWARDS * max(size, 2):
            return None
        way = "backwards"
    return [_plan(way, dims)]


def _merged(shape: Any, source: Any, target: Any) -> list[tuple[int, int, int]]:
    """(size, step, step) of the dimensions of more than one element, in the order of the target's memory, those that are one merged."""
    dims = sorted([d for d in zip(shape, source, target) if d[0] > 1], key=lambda d: -abs(d[2]))
    merged: list[tuple[int, int, int]] = []
    for n, step, into in dims:
        if merged and merged[-1][1:] == (n * step, n * into):
            merged[-1] = merged[-1][0] * n, step, into
        else:
            merged.append((n, step, into))
    return merged


def _plan(way: str, dims: list[tuple[int, int, int]], source: int = 0, target: int = 0) -> _Plan:
    """A plan for up to four dimensions: the first of them first, where it is shared between threads, the last ones last."""
    count = 2 if way == "transposed" else 1
    lead, last = dims[:-count], dims[-count:]
    one = (1, 0, 0)
    if not lead:
        lead = [one]
    middle = [one] * (4 - len(lead) - len(last))
    whole = [lead[0], *middle, *lead[1:], *last]
    return _Plan(
        way, source, target, tuple([d[0] for d in whole]), tuple([d[1] for d in whole]) + tuple([d[2] for d in whole])
    )


def _squares(dims: list[tuple[int, int, int]], size: int) -> list[_Plan] | None:
    """Plans for a transposed matrix, or many: some dimension other than the last lies side by side where it is read from."""
    *outer, last = dims
    beside = next((d for d in outer if abs(d[1]) == size), None)
    if size != 4 or beside is None or last[2] != size or last[0] < 8 or beside[0] < 8:
        return None
    rest = [d for d in outer if d is not beside]
    if len(rest) > 2:
        return None
    n, step, into = beside
    source = target = 0
    if step < 0:  # the other way round in both
        source, target, step, into = (n - 1) * step, (n - 1) * into, -step, -into
    if rest:
        return [_plan("transposed", [*rest, (n, step, into), last], source, target)]
    pieces, left = divmod(n, _PIECE)
    if left and (left < 8 or not pieces):
        pieces, left = (pieces - 1, left + _PIECE) if pieces else (0, n)
    plans = []
    if pieces:
        many = [(pieces, _PIECE * step, _PIECE * into), (_PIECE, step, into), last]
        plans.append(_plan("transposed", many, source, target))
    if left:
        done = pieces * _PIECE
        plans.append(_plan("transposed", [(left, step, into), last], source + done * step, target + done * into))
    return plans
