"""`arange` and `linspace` of floats, with PyTorch's rounding.

# Note [Ranges to the last bit]
Grid points often sit on kinks (a pixel's centre, an integer), where the last bit decides a derivative. So ranges round as
PyTorch's do on a processor with AVX2: `step * i + start` is one fused multiply-add. `linspace` counts from both ends toward the
middle. `arange` fills registers of 32 bytes, two at a time: within a register each element is the first one plus a multiple of
the step; the tail is computed from the start again. For float32 the sums run in float64.
"""

from __future__ import annotations

import numpy as np

from .fma import fma64
from .numpy_calls import kept

_PART = 1 << 13  # elements
_EXACT = 1 << 24  # integers below this are exact in every float dtype


def linspace(start: float, end: float, steps: int, dtype: np.dtype) -> np.ndarray:
    """`steps` floats from `start` to `end`, both included; columns of starts and ends give rows.

    >>> import numpy as np
    >>> linspace(0.0, 1.0, 3, np.dtype("float32"))
    array([0. , 0.5, 1. ], dtype=float32)
    """
    if dtype.itemsize == 4 and isinstance(start, (int, float)) and isinstance(end, (int, float)):
        return _linspace32(np.float32(start), np.float32(end), steps)
    if dtype.itemsize == 8 and steps > 1 and type(start) in (int, float) and type(end) in (int, float):
        return _linspace64(float(start), float(end), steps)
    first, last = np.asarray(start, dtype), np.asarray(end, dtype)
    step = ((last - first) / dtype.type(steps - 1)).astype(np.float64)
    first, last = first.astype(np.float64), last.astype(np.float64)
    half = steps // 2
    forward = np.arange(half, dtype=np.float64)
    backward = np.arange(steps - half - 1, -1, -1, dtype=np.float64)
    if dtype.itemsize == 4:
        halves = [forward * step + first, last - backward * step]
    else:
        halves = [fma64(forward, step, first), fma64(backward, -step, last)]
    return np.concatenate(halves, -1).astype(dtype)


def _linspace32(first: np.float32, last: np.float32, steps: int) -> np.ndarray:
    """`linspace` for one row of float32, in fewer calls; a long row is computed in blocks that fit in the cache."""
    if steps > 2 * _PART:
        return _linspace32_by_parts(float(first), float(last), float((last - first) / np.float32(steps - 1)), steps)
    half = steps // 2
    values = np.arange(steps, dtype=np.float64)
    values *= float((last - first) / np.float32(steps - 1))
    backward = values[steps - half - 1 :: -1].copy()
    values += float(first)
    np.subtract(float(last), backward, out=values[half:])
    return values.astype(np.float32)


def _linspace64(first: float, last: float, steps: int) -> np.ndarray:
    """`linspace` for one row of float64."""
    half = steps // 2
    ends = np.empty(steps)
    ends[:half] = first
    ends[half:] = last
    return fma64(_counts(steps), (last - first) / (steps - 1), ends)


@kept(lambda steps: steps, _PART, 32)
def _counts(steps: int) -> np.ndarray:
    """The number of steps from each point to the nearer end: to the start in the first half, to the end in the second."""
    counts = np.arange(steps, dtype=np.float64)
    counts[steps // 2 :] -= steps - 1
    return counts


def _linspace32_by_parts(first: float, last: float, step: float, steps: int) -> np.ndarray:
    out = np.empty(steps, np.float32)
    index, values = np.arange(_PART, dtype=np.float64), np.empty(_PART)
    for begin, end, from_end in ((0, steps // 2, False), (steps // 2, steps, True)):
        for low in range(begin, end, _PART):
            high = min(low + _PART, end)
            part = values[: high - low]
            if from_end:
                np.subtract(float(steps - 1 - low), index[: high - low], part)
            else:
                np.add(index[: high - low], float(low), part)
            part *= step
            if from_end:
                np.subtract(last, part, part)
            else:
                part += first
            out[low:high] = part
    return out


def arange(start: float, step: float, count: int, dtype: np.dtype) -> np.ndarray:
    """`count` floats, beginning at `start`.

    >>> import numpy as np
    >>> arange(1.0, 0.5, 3, np.dtype("float64"))
    array([1. , 1.5, 2. ])
    """
    if start == int(start) and step == int(step) and abs(start) + abs(step) * count < _EXACT:
        return np.arange(int(start), int(start + step * count), int(step), dtype=np.int32).astype(dtype)
    index = np.arange(count, dtype=np.float64)
    if start == int(start) and step == int(step):  # exact in any order of computation
        return (index * step + start).astype(dtype)
    values = _from(index, step, start, dtype)
    width = 32 // dtype.itemsize
    whole = count // (2 * width) * (2 * width)
    if whole:
        first = values[:whole:width, None].astype(np.float64)
        position = np.broadcast_to(index[:width], (len(first), width))
        values[:whole] = _from(position, step, np.broadcast_to(first, position.shape), dtype).reshape(-1)
    return values


def _from(index: np.ndarray, step: float, start: float | np.ndarray, dtype: np.dtype) -> np.ndarray:
    """index * step + start, rounded once."""
    return (index * step + start).astype(dtype) if dtype.itemsize == 4 else fma64(index, step, start)
