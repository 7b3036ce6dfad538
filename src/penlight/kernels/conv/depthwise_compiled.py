"""Depthwise correlation in one or two dimensions of float32 by native kernels, see kernels/conv/depthwise_kernels.py. The same in NumPy: kernels/conv/depthwise.py."""

from __future__ import annotations

from functools import cached_property, lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

from ..native._table import At, Numbers
from . import depthwise_kernels
from .im2col import Ints, overlap, spans

_GRAIN = 1 << 17  # products that are worth sharing


class _Plane:
    """A scratch plane: where images and taps are in it. In one dimension there is one row."""

    def __init__(self, size: Ints, low: Ints, kernel: Ints, stride: Ints, dilation: Ints, out: Ints) -> None:
        span = spans(out, kernel, stride, dilation)
        into, source = overlap(size, low, span)
        one = len(out) == 1
        self.stride, self.columns = stride[-1], out[-1]
        self.height = 1 if one else out[0]
        self.each = -(-out[-1] // 8)  # vectors for a row of results
        self.wide = source[-1].stop - source[-1].start
        self.rows = 1 if one else source[0].stop - source[0].start
        at = into[-1].start
        reach = (kernel[-1] - 1) * dilation[-1] // self.stride
        chunks = self.wide // (8 * self.stride) + 1
        self.half = -(-max(8 * self.each + reach, at // self.stride + 1 + 8 * chunks) // 8) * 8
        self.pitch = 4 * self.half * self.stride
        self.bytes = (1 if one else span[0]) * self.pitch
        top = 0 if one else into[0].start * self.pitch
        # Where the first column goes and where, with halves for even and odd ones, the second.
        self.even, self.odd = top + 4 * (at // self.stride), top + 4 * (self.half + at // 2)
        if self.stride == 2 and at % 2:
            self.even, self.odd = self.odd, self.even + 4
        self.begin = 4 * (source[-1].start + (0 if one else source[0].start * size[-1]))
        self.line, self.plane = 4 * size[-1], 4 * prod(size)
        self.row_step = self.pitch * (1 if one else stride[0])
        self.taps = np.array(
            [
                (0 if one else tap[0] * dilation[0] * self.pitch)
                + 4 * (tap[-1] * dilation[-1] // self.stride + tap[-1] * dilation[-1] % self.stride * self.half)
                for tap in product(*map(range, kernel))
            ],
            np.int64,
        )

    @cached_property
    def vectors(self) -> np.ndarray:
        """For eight vectors of results each, where they are in the scratch plane and where in the result, in bytes."""
        wide = max(self.columns, 8)
        columns = np.minimum(np.arange(self.each) * 8, wide - 8)
        rows = np.arange(self.height)[:, None]
        offsets = np.stack([(rows * self.row_step + 4 * columns).reshape(-1), 4 * (rows * wide + columns).reshape(-1)])
        offsets = np.concatenate([offsets, np.repeat(offsets[:, -1:], -offsets.shape[1] % 8, axis=1)], axis=1)
        return np.ascontiguousarray(offsets.reshape(2, -1, 8).swapaxes(0, 1))

    @cached_property
    def summed(self) -> np.ndarray:
        """For sums, where vectors are in the scratch plane: none may overlap, and there is an even number."""
        vectors = (np.arange(self.height)[:, None] * self.row_step + np.arange(self.each) * 32).reshape(-1)
        return np.append(vectors, vectors[: len(vectors) % 2])

    def numbers(self, x: np.ndarray) -> dict[str, Any]:
        """What the kernel wants to know of the images."""
        return {
            "x": At(x, self.begin), "x plane": self.plane, "x line": self.line, "x rows": self.rows,
            "x whole": self.wide // (8 * self.stride), "x even": self.even, "x odd": self.odd, "x pitch": self.pitch,
        }  # fmt: skip


find_plane = lru_cache(maxsize=32)(_Plane)


def _run(kernel: Any, numbers: Numbers, planes: int, size: int, work: int) -> None:
    """Call a kernel over planes, each range with a scratch plane of so many bytes of its own."""
    step = numbers.step(planes, -(-_GRAIN // work))
    apart = -(-size // (32 * step)) * 32
    scratch = np.empty(planes * apart // 4 + size // 4 + 8, np.float32)
    numbers.put({"scratch": scratch, "scratch step": apart, "clear": size // 32})
    numbers.over(kernel, planes, step)


def planes(
    x: np.ndarray, w: np.ndarray, low: Ints, stride: Ints, dilation: Ints, out: np.ndarray, bias: np.ndarray | None
) -> None:
    """Write into `out` the correlation of each channel of contiguous `x` with its own kernel."""
    out_size, channels = out.shape[2:], x.shape[1]
    plane = find_plane(x.shape[2:], low, w.shape[2:], stride, dilation, out_size)
    count, taps = len(x) * channels, len(plane.taps)
    direct = out.flags.c_contiguous and plane.columns >= 8
    wide = max(plane.columns, 8)
    result = out if direct else np.empty((*out.shape[:-1], wide), np.float32)
    vectors = plane.vectors
    # A copy of an expanded array has the layout that its strides suggest, which is not by rows.
    weight = np.ascontiguousarray(np.tile(w.reshape(channels, taps).astype(np.float32, copy=False), (len(x), 1)))
    shift = np.zeros(count, np.float32) if bias is None else np.tile(bias.astype(np.float32, copy=False), len(x))
    numbers = Numbers(depthwise_kernels.TABLE)
    numbers.put(
        plane.numbers(x)
        | {
            "vectors": vectors, "groups": len(vectors), "taps": plane.taps, "tap count": taps,
            "weight": weight, "weight plane": 4 * taps, "bias": shift,
            "y": result, "y plane": 4 * plane.height * wide,
        }
    )  # fmt: skip
    _mask(numbers, plane)
    _run(depthwise_kernels.correlate(plane.stride), numbers, count, plane.bytes, 8 * vectors.size // 2 * taps)
    if not direct:
        out[...] = result[..., : plane.columns]


def planes_weight(grad: np.ndarray, x: np.ndarray, low: Ints, kernel: Ints, stride: Ints, dilation: Ints) -> np.ndarray:
    """The transpose of `planes` in its weights, ``(C, 1, *kernel)``. Infinities may meet zeros, and give NaN."""
    grad = np.ascontiguousarray(grad, np.float32)
    plane = find_plane(x.shape[2:], low, kernel, stride, dilation, grad.shape[2:])
    count, taps = len(x) * x.shape[1], len(plane.taps)
    groups = -(-taps // 4)
    found = np.zeros(4 * groups, np.int64)
    found[:taps] = plane.taps
    vectors = plane.summed
    room = plane.bytes + 32 * (len(vectors) + 2)  # of the gradient: rows of whole vectors, and zeros behind them
    sums = np.empty((count, 4 * groups), np.float32)
    numbers = Numbers(depthwise_kernels.TABLE)
    numbers.put(
        plane.numbers(x)
        | {
            "g": grad, "g plane": 4 * prod(grad.shape[2:]), "g line": 4 * plane.columns, "g rows": plane.height,
            "g whole": plane.columns // 8, "g even": plane.bytes, "g odd": plane.bytes, "g pitch": 32 * plane.each,
            "vectors": vectors, "groups": len(vectors) // 2, "taps": found, "tap count": groups,
            "sums": sums, "sums plane": 16 * groups,
        }
    )  # fmt: skip
    _mask(numbers, plane)
    numbers.mask("g", plane.columns % 8)
    _run(depthwise_kernels.weigh(plane.stride), numbers, count, room, 8 * len(vectors) * taps)
    total = sums.reshape(len(x), -1, 4 * groups).sum(0)[:, :taps]
    return total.reshape(x.shape[1], 1, *kernel)


def _mask(numbers: Numbers, plane: _Plane) -> None:
    rest = plane.wide % (8 * plane.stride)
    numbers.mask("x", rest)
    numbers.mask("x second", rest - 8)
