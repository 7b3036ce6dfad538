"""Max pooling of large float32 arrays by native kernels, see kernels/pool/kernels.py."""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from .. import native
from ..conv.im2col import Ints, overlap, spans
from ..native._table import Numbers
from .windows import Windows

_LEAST = 1 << 14  # results: fewer are found as quickly in NumPy
_GRAIN = 1 << 15  # elements read that are worth sharing


def suits(x: np.ndarray, out: Ints, stride: Ints) -> bool:
    """Whether a native kernel can find the largest elements, and it is worth while."""
    return (
        out[-1] >= 8
        and stride[-1] < 3
        and prod(x.shape[2:]) < 1 << 29
        and prod(x.shape[:2]) * prod(out) >= _LEAST
        and x.flags.c_contiguous
        and native.available()
        and x.dtype == np.float32
    )


def fill_largest(
    x: np.ndarray, windows: Windows, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints, values: np.ndarray,
    indices: np.ndarray,
) -> None:  # fmt: skip
    """Fill `values` and `indices` as `pool_windows.fill_largest` does."""
    from .kernels import LARGEST, largest

    out = values.shape[2:]
    x = _bordered(x, padding, spans(out, kernel, stride, dilation))
    sizes = x.shape[2:]
    steps = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    columns = np.minimum(np.arange(-(-out[-1] // 8)) * 8, out[-1] - 8)
    rows = np.zeros(1, np.int64)
    for n, s, step in zip(out[:-1], stride, steps):
        rows = (rows[:, None] + np.arange(n) * (s * step)).reshape(-1)
    starts = rows[:, None] + columns * stride[-1]
    targets = np.arange(len(rows))[:, None] * out[-1] + columns
    vectors = np.stack((4 * starts.reshape(-1), 4 * targets.reshape(-1)), axis=1)
    offsets = [sum(t * d * step for t, d, step in zip(tap, dilation, steps)) for tap in product(*map(range, kernel))]
    taps = np.array([(4 * offset, int(code)) for offset, code in zip(offsets, windows.codes)], np.int64)
    base, start = windows.base.astype(np.int32), windows.start.astype(np.int32)
    numbers = Numbers(LARGEST)
    numbers.put(
        {
            "x": x, "x plane": 4 * prod(sizes), "y": values, "y plane": 4 * prod(out), "places": indices,
            "vectors": vectors, "eights": len(vectors), "taps": taps, "tap count": len(taps),
            "base": base, "start": start,
        }
    )  # fmt: skip
    planes = prod(x.shape[:2])
    numbers.over(largest(stride[-1]), planes, numbers.step(planes, -(-_GRAIN // (prod(out) * len(taps)))))


def _bordered(x: np.ndarray, padding: Ints, span: Ints) -> np.ndarray:
    """`x` with what the windows reach over around it, if they do: less than all."""
    if not any(padding) and all(m <= n for m, n in zip(span, x.shape[2:])):
        return x
    into, source = overlap(x.shape[2:], padding, span)
    result = np.full((*x.shape[:2], *span), -np.inf, np.float32)
    result[(slice(None), slice(None), *into)] = x[(slice(None), slice(None), *source)]
    return result


def place(grad: np.ndarray, indices: np.ndarray, input_shape: Ints) -> np.ndarray | None:
    """What `pool.max_pool_backward` gives, for contiguous arrays; None if there is no native kernel, or a place is outside."""
    size, planes = prod(input_shape[2:]), prod(input_shape[:2])
    if (
        size < 8
        or grad.size < _LEAST
        or grad.dtype != np.float32
        or indices.dtype != np.int64
        or not native.available()
    ):
        return None
    from .kernels import PLACED, placed

    result = np.empty(input_shape, np.float32)
    numbers = Numbers(PLACED)
    numbers.put(
        {
            "result": result, "result plane": 4 * size, "vectors": size // 8, "tail": 4 * (size - 8), "size": size,
            "grad": grad, "grad plane": 4 * (grad.size // planes), "places": indices, "each": grad.size // planes,
        }
    )  # fmt: skip
    numbers.over(placed(), planes, numbers.step(planes, -(-_GRAIN // size)))
    return None if numbers["wrong"] else result
