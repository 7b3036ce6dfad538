"""The windows of pooling: planes in padded blocks, and the search for the largest element.

NumPy is quick on long contiguous arrays and slow on many short strided rows. So each tap of the window is first copied
out of the image into a contiguous buffer, and all arithmetic runs over whole buffers, some planes at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..conv.im2col import Ints, overlap, share
from ..numpy_warnings import silent

# Results per block: a few buffers of this many elements stay in a core's own cache.
BLOCK = 1 << 16


class Planes:
    """The planes of a batch in blocks, with a border of `fill` wide enough for all windows."""

    def __init__(self, x: np.ndarray, low: Ints, span: Ints, out: Ints, fill: float) -> None:
        self.x = np.ascontiguousarray(x).reshape(prod(x.shape[:2]), *x.shape[2:])
        self.fill, self.span = fill, span
        self.padded = any(low) or any(m > n for m, n in zip(span, x.shape[2:], strict=True))
        self.border = overlap(x.shape[2:], low, span)
        self.each = max(1, BLOCK // max(prod(out), 1))
        self.count = -(-len(self.x) // self.each)

    def blocks(self, low: int, high: int) -> Iterator[tuple[int, int, np.ndarray]]:
        """For blocks `low` to `high`: the first plane, the one past the last, and the padded planes."""
        buffer = np.full((self.each, *self.span), self.fill, self.x.dtype) if self.padded else None
        for block in range(low, high):
            first, last = block * self.each, min((block + 1) * self.each, len(self.x))
            planes = self.x[first:last]
            if buffer is not None:
                into, source = self.border
                buffer[(slice(last - first), *into)] = planes[(slice(None), *source)]
                planes = buffer[: last - first]
            yield first, last, planes


def fill_largest(planes: Planes, windows: Windows, values: np.ndarray, indices: np.ndarray) -> None:
    """Fill `values` and `indices` with the largest element of each window and its position."""
    out = values.shape[2:]
    best, where = values.reshape(-1, *out), indices.reshape(-1, *out)

    def body(low: int, high: int) -> None:
        tap = np.empty((planes.each, *out), values.dtype)
        larger = np.empty(tap.shape, np.bool_)
        codes = np.empty(tap.shape, windows.code)
        step = np.empty(tap.shape, windows.code)
        for first, last, block in planes.blocks(low, high):
            n = last - first
            buffers = best[first:last], tap[:n], larger[:n], codes[:n], step[:n]
            windows.largest(block, *buffers, careful=False)
            if values.dtype.kind == "f" and np.isnan(best[first:last]).any():
                windows.largest(block, *buffers, careful=True)
            np.add(windows.base, codes[:n], out=where[first:last])

    with silent():
        share(body, planes.count, values.size * len(windows.taps) * 2.0)


class Windows:
    """The taps of a window: where each lies in the padded plane, and its code.

    A tap's code is how far it lies behind the first tap in the flattened input. Codes grow from tap to tap, so that
    the code of the best tap so far is a running maximum. They are stored as narrowly as possible.
    """

    def __init__(self, sizes: Ints, out: Ints, kernel: Ints, stride: Ints, padding: Ints, dilation: Ints) -> None:
        steps = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
        self.taps: list[tuple[Any, ...]] = []
        codes: list[Any] = []
        for tap in product(*map(range, kernel)):
            at = [t * d for t, d in zip(tap, dilation, strict=True)]
            slices = (slice(a, a + (o - 1) * s + 1, s) for a, o, s in zip(at, out, stride, strict=True))
            self.taps.append((slice(None), *slices))
            codes.append(sum(a * step for a, step in zip(at, steps, strict=True)))
        self.code: type[np.unsignedinteger] = _narrowest(codes[-1])
        self.codes: list[Any] = [self.code(code) for code in codes]
        # The position of the first tap, and the code of the first tap that is not in the border before the input.
        base, start = np.zeros(out, np.int64), np.zeros(out, self.code)
        for i, (o, s, p, d) in enumerate(zip(out, stride, padding, dilation, strict=True)):
            shape = [-1 if j == i else 1 for j in range(len(out))]
            begin = np.arange(o) * s - p
            base += (begin * steps[i]).reshape(shape)
            start += (np.maximum(-(begin // d), 0) * d * steps[i]).astype(self.code).reshape(shape)
        self.base, self.start = base, start

    def largest(
        self, block: np.ndarray, best: np.ndarray, tap: np.ndarray, larger: np.ndarray, codes: np.ndarray,
        step: np.ndarray, careful: bool,
    ) -> None:  # fmt: skip
        """Fill `best` with the largest elements and `codes` with their codes, `careful` if there are NaNs."""
        np.copyto(best, block[self.taps[0]])
        np.copyto(codes, self.start)
        for where, code in zip(self.taps[1:], self.codes[1:], strict=True):
            np.copyto(tap, block[where])
            np.greater(tap, best, out=larger)
            if careful:
                np.logical_or(larger, np.isnan(tap), out=larger)
            np.maximum(best, tap, out=best)
            np.multiply(larger.view(np.uint8), code, out=step)
            np.maximum(codes, step, out=codes)


def _narrowest(code: int) -> type[np.unsignedinteger]:
    return next(t for t in (np.uint8, np.uint16, np.uint32, np.uint64) if code <= np.iinfo(t).max)


# Geometry is kept for small planes only (at most 36 KB each), where building it would take longer than pooling.
small_windows = lru_cache(maxsize=64)(Windows)


class AdaptiveWindows(Windows):
    """Windows that divide a plane evenly, with sizes that differ by one or two.

    Window ``i`` of ``o`` over ``n`` elements goes from ``floor(i * n / o)`` to ``ceil((i + 1) * n / o)``. The taps of a
    short window repeat its last element, which changes neither the largest nor its place.
    """

    def __init__(self, sizes: Ints, out: Ints) -> None:
        steps = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
        starts = [np.arange(o) * n // o for n, o in zip(sizes, out, strict=True)]
        ends = [-(-(np.arange(1, o + 1) * n) // o) for n, o in zip(sizes, out, strict=True)]
        kernel = [int((e - s).max()) for s, e in zip(starts, ends, strict=True)]
        base = sum(np.ix_(*(s * step for s, step in zip(starts, steps, strict=True))), np.zeros(out, np.int64))
        self.taps, codes = [], []
        for tap in product(*map(range, kernel)):
            at = np.ix_(*(np.minimum(s + t, e - 1) for s, t, e in zip(starts, tap, ends, strict=True)))
            self.taps.append((slice(None), *at))
            codes.append(sum((a * step for a, step in zip(at, steps, strict=True)), -base))
        self.code = _narrowest(int(codes[-1].max()))
        self.codes = [code.astype(self.code) for code in codes]
        self.base, self.start = base, np.zeros(out, self.code)
