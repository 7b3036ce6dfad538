"""Contiguous copies. NumPy makes them, except for large transposed matrices of four-byte elements: machine code is 2 to 11 times as fast."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import executable
from ..lazy import lazy_import

_transpose = lazy_import(globals(), "_transpose", "..assembly.transpose")
_threads = lazy_import(globals(), "_threads", "..waiting_threads")

FROM = 1 << 15  # elements; NumPy copies smaller matrices as fast
# Elements, in conversions from and to 16-bit floats: below, finding a kernel takes longer than it saves
LEAST_CONVERTED = 1 << 11
_GRAIN = 1 << 15  # elements per thread, at least
_ROWS = 64  # of a transposed matrix per range of a thread


class _Plan(NamedTuple):
    """Arguments of the kernel: byte offsets in both arrays, sizes and strides."""

    source: int
    target: int
    sizes: tuple[int, ...]  # of four dimensions
    steps: tuple[int, ...]  # their strides in the source, then in the target


def fresh(x: np.ndarray) -> np.ndarray:
    """A contiguous copy."""
    if x.size < FROM or x.flags.c_contiguous or x.itemsize != 4 or not executable.available():
        return np.array(x, order="C")
    out = np.empty(x.shape, x.dtype)
    plans = _plans(x.shape, x.strides, out.strides)
    if plans is None:
        np.copyto(out, x)
        return out
    for plan in plans:
        first, second, third, length = plan.sizes
        grain = -(-_GRAIN // (second * third * length))
        numbers = (length, *plan.steps, plan.source, plan.target)
        _threads.over(_transpose.kernel(), first, grain, second, third, x, out, *numbers)
    return out


def contiguous(x: np.ndarray) -> np.ndarray:
    """The array itself if it is contiguous, else a contiguous copy."""
    return x if x.flags.c_contiguous else fresh(x)


Dim = tuple[int, int, int]  # a size, and its strides in the source and the target


def _merged(shape: Any, source: Any, target: Any) -> list[Dim]:
    """The dimensions of size above one, in the target's memory order; dimensions that are contiguous in both arrays are merged."""
    dims = sorted([d for d in zip(shape, source, target) if d[0] > 1], key=lambda d: -abs(d[2]))
    merged: list[Dim] = []
    for n, step, into in dims:
        if merged and merged[-1][1:] == (n * step, n * into):
            merged[-1] = merged[-1][0] * n, step, into
        else:
            merged.append((n, step, into))
    return merged


def _plan(dims: list[Dim], source: int = 0, target: int = 0) -> _Plan:
    """A plan for up to four dimensions: the first one, which threads split, comes first, the last ones last."""
    one = (1, 0, 0)
    lead = dims[:-2] or [one]
    whole = [lead[0], *[one] * (2 - len(lead)), *lead[1:], *dims[-2:]]
    steps = tuple([d[1] for d in whole]) + tuple([d[2] for d in whole])
    return _Plan(source, target, tuple([d[0] for d in whole]), steps)


@lru_cache(256)
def _plans(shape: tuple[int, ...], source: tuple[int, ...], target: tuple[int, ...]) -> list[_Plan] | None:
    """Plans for a transposed matrix, or several of them; None for another layout.

    The target is contiguous along its last dimension, the source along some other one.
    """
    *outer, last = _merged(shape, source, target) or [(1, 0, 0)]
    beside = next((d for d in outer if abs(d[1]) == 4), None)
    rest = [d for d in outer if d is not beside]
    if beside is None or last[2] != 4 or last[0] < 8 or beside[0] < 8 or len(rest) > 2:
        return None
    n, step, into = beside
    begin = end = 0
    if step < 0:  # reverse it in both
        begin, end, step, into = (n - 1) * step, (n - 1) * into, -step, -into
    if rest:
        return [_plan([*rest, (n, step, into), last], begin, end)]
    pieces, left = divmod(n, _ROWS)
    if left and (left < 8 or not pieces):
        pieces, left = (pieces - 1, left + _ROWS) if pieces else (0, n)
    plans = []
    if pieces:
        many = [(pieces, _ROWS * step, _ROWS * into), (_ROWS, step, into), last]
        plans.append(_plan(many, begin, end))
    if left:
        done = pieces * _ROWS
        plans.append(_plan([(left, step, into), last], begin + done * step, end + done * into))
    return plans
