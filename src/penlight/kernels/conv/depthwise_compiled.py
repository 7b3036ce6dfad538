"""Depthwise correlation in one or two dimensions as compiled loops. The NumPy version is kernels/conv/depthwise.py.

A plane is copied to a scratch plane with a border of zeros, which stays in the L1 cache; for stride 2, even and odd columns go to
separate halves. Then the inputs of eight neighbouring results for a kernel element are contiguous, and eight such vectors are
computed at a time.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod
from typing import Any

import numpy as np

from .. import waiting_threads
from ..compiler.loops import Floats, Ints, can_compile, checked, compile_loops, fma, reassociated, simd
from .im2col import Ints as Sizes, overlap, spans

_GRAIN = 1 << 17  # products per thread, at least


class _Plane:
    """A scratch plane: the offsets of images and kernel elements in it. In one dimension it has one row."""

    def __init__(self, size: Sizes, low: Sizes, kernel: Sizes, stride: Sizes, dilation: Sizes, out: Sizes) -> None:
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
        # Rows and columns of results per step, and the padded totals: there may be fewer results.
        self.tall = 1 if self.height == 1 else 4 if self.columns > 8 else 8
        self.broad = 64 if self.height == 1 else min(self.columns, 16) if self.columns > 8 else 8
        self.least = max(self.height, self.tall), max(self.columns, self.broad)
        vectors = self.each + self.each % 2 * (self.height == 1)  # sums take two vectors at a time
        needed = max(self.least[1], 8 * vectors) + reach, -(-(at + self.wide) // self.stride)
        self.half = -(-max(needed) // 8) * 8
        self.pitch = self.half * self.stride
        below = 0 if one else max(self.least[0] - self.height, 1) * stride[0]
        self.size = (1 if one else span[0] + below) * self.pitch
        top = 0 if one else into[0].start * self.pitch
        # Offset of the first column and, with halves for even and odd columns, of the second.
        self.even, self.odd = top + at // self.stride, top + self.half + at // 2
        if self.stride == 2 and at % 2:
            self.even, self.odd = self.odd, self.even + 1
        self.begin = source[-1].start + (0 if one else source[0].start * size[-1])
        self.line, self.plane = size[-1], prod(size)
        self.row_step = self.pitch * (1 if one else stride[0])
        self.taps = np.array(
            [
                (0 if one else tap[0] * dilation[0] * self.pitch)
                + tap[-1] * dilation[-1] // self.stride + tap[-1] * dilation[-1] % self.stride * self.half
                for tap in product(*map(range, kernel))
            ],
            np.int64,
        )  # fmt: skip

    @property
    def sizes(self) -> tuple[int, ...]:
        """The kernel's arguments that describe the images."""
        last, last_even = max(self.wide // self.stride - 8, 0), (self.wide - 1) // 2
        return self.plane, self.line, self.rows, self.even, max(self.odd, 0), self.pitch, last, last_even

    @property
    def narrow(self) -> tuple[int, ...]:
        """The columns, if they do not fill a vector."""
        return _narrow(self.wide, 8 * self.stride)


def _narrow(columns: int, least: int) -> tuple[int, ...]:
    return tuple(range(columns)) if columns < least else ()


find_plane = lru_cache(maxsize=32)(_Plane)


# ----- Kernels --------------------------------------------------------------------------------------------------------
# Images: `plane` and `line` are the strides of planes and rows in elements, `rows` the number of rows to copy; `even` and `odd`
# are the columns' offsets in the scratch plane, whose row stride is `pitch`. Vectors are copied up to the one at `last`, which
# may overlap the previous one; `last_even` is the last even column. The columns of a `narrow` plane are copied one by one. Each
# of the `slots` scratch planes of `room` elements serves `each` planes.


def _clear(scratch: Floats, start: int, room: int) -> None:
    for i in range(room):
        scratch[start + i] = 0.0


def _copy(x: Floats, start: int, scratch: Floats, target: int, last: int) -> None:
    for at in range(0, last, 8):
        _copy_vector(x, start + at, scratch, target + at)
    _copy_vector(x, start + last, scratch, target + last)


def _copy_vector(x: Floats, start: int, scratch: Floats, target: int) -> None:
    for c in simd(range(8)):
        scratch[target + c] = x[start + c]


def _copy_halves(x: Floats, start: int, scratch: Floats, even: int, odd: int, last: int) -> None:
    for at in range(0, last, 8):
        _split_vector(x, start + 2 * at, scratch, even + at, odd + at)
    _split_vector(x, start + 2 * last, scratch, even + last, odd + last)


def _split_vector(x: Floats, start: int, scratch: Floats, even: int, odd: int) -> None:
    for c in simd(range(8)):
        scratch[even + c] = x[start + 2 * c]
        scratch[odd + c] = x[start + 2 * c + 1]


def _copy_each(x: Floats, start: int, stride: int, scratch: Floats, target: int, columns: tuple[int, ...]) -> None:
    for c in columns:
        scratch[target + c] = x[start + stride * c]


def _copy_plane(
    x: Floats, start: int, stride: int, line: int, rows: int, scratch: Floats, even: int, odd: int, pitch: int, last: int,
    last_even: int, narrow: tuple[int, ...],
) -> None:  # fmt: skip
    for row in range(rows):
        if len(narrow) > 0:
            _copy_each(
                x,
                start + row * line,
                stride,
                scratch,
                even + row * pitch,
                narrow[: (len(narrow) + stride - 1) // stride],
            )
            if stride == 2:
                _copy_each(x, start + row * line + 1, stride, scratch, odd + row * pitch, narrow[: len(narrow) // 2])
        elif stride == 2:
            _copy_halves(x, start + row * line, scratch, even + row * pitch, odd + row * pitch, last)
            scratch[even + row * pitch + last_even] = x[start + row * line + 2 * last_even]
        else:
            _copy(x, start + row * line, scratch, even + row * pitch, last)


def _correlate(
    begin: int, end: int, scratch: Floats, x: Floats, weight: Floats, bias: Floats, taps: Ints, out: Floats,
    slots: int, each: int, room: int, tap_count: int, out_plane: int, down: int, out_down: int, last_row: int, last_column: int,
    plane: int, line: int, rows: int, even: int, odd: int, pitch: int, last: int, last_even: int,
    *, stride: int, narrow: tuple[int, ...], across: int, apart: int, out_apart: int, tall: int, broad: int,
) -> None:  # fmt: skip
    """Compute eight vectors of results at a time, `tall` rows and `broad` columns: groups of `across` vectors with stride
    `apart`, or `out_apart` in the result; groups have stride `down`, or `out_down`."""
    start = checked(begin // each, slots) * room
    _clear(scratch, start, room)
    for image in range(begin, end):
        _copy_plane(
            x, image * plane, stride, line, rows, scratch, start + even, start + odd, pitch, last, last_even, narrow
        )
        for top in range(0, last_row + tall, tall):
            row = min(top, last_row)
            for side in range(0, last_column + broad, broad):
                column = min(side, last_column)
                x0 = start + row * down + column
                x1, x2, x3 = x0 + (1 // across) * down, x0 + (2 // across) * down, x0 + (3 // across) * down
                x4, x5, x6 = x0 + (4 // across) * down, x0 + (5 // across) * down, x0 + (6 // across) * down
                x7 = x0 + (7 // across) * down
                for c in simd(range(8)):
                    y0 = y1 = y2 = y3 = y4 = y5 = y6 = y7 = bias[image]
                    for tap in range(tap_count):
                        at = checked(taps[tap], room) + c
                        factor = weight[image * tap_count + tap]
                        y0 = fma(factor, scratch[x0 + at], y0)
                        y1 = fma(factor, scratch[x1 + at + 1 % across * apart], y1)
                        y2 = fma(factor, scratch[x2 + at + 2 % across * apart], y2)
                        y3 = fma(factor, scratch[x3 + at + 3 % across * apart], y3)
                        y4 = fma(factor, scratch[x4 + at + 4 % across * apart], y4)
                        y5 = fma(factor, scratch[x5 + at + 5 % across * apart], y5)
                        y6 = fma(factor, scratch[x6 + at + 6 % across * apart], y6)
                        y7 = fma(factor, scratch[x7 + at + 7 % across * apart], y7)
                    to = image * out_plane + row * out_down + column + c
                    out[to] = y0
                    out[to + 1 // across * out_down + 1 % across * out_apart] = y1
                    out[to + 2 // across * out_down + 2 % across * out_apart] = y2
                    out[to + 3 // across * out_down + 3 % across * out_apart] = y3
                    out[to + 4 // across * out_down + 4 % across * out_apart] = y4
                    out[to + 5 // across * out_down + 5 % across * out_apart] = y5
                    out[to + 6 // across * out_down + 6 % across * out_apart] = y6
                    out[to + 7 // across * out_down + 7 % across * out_apart] = y7


def _weigh(
    begin: int, end: int, scratch: Floats, x: Floats, grad: Floats, taps: Ints, sums: Floats,
    slots: int, each: int, room: int, groups: int, behind: int, height: int, columns: int, row_step: int, last_column: int,
    width: int, length: int, down: int, plane: int, line: int, rows: int, even: int, odd: int, pitch: int, last: int, last_even: int,
    *, stride: int, narrow: tuple[int, ...], narrow_grad: tuple[int, ...],
) -> None:  # fmt: skip
    """For each kernel element, sum the products of the gradient and the inputs it meets: four elements and two vectors, one below
    the other, at a time.

    The gradient, `height` rows of `columns`, is at offset `behind` in the scratch plane, with the row stride `row_step` and zeros
    after each row. Loops run over `width` columns, 8 at a time, and `length` elements of rows, `down` at a time.
    """
    start = checked(begin // each, slots) * room
    _clear(scratch, start, room)
    for image in range(begin, end):
        _copy_plane(
            x, image * plane, stride, line, rows, scratch, start + even, start + odd, pitch, last, last_even, narrow
        )
        for row in range(height):
            at = (image * height + row) * columns
            if len(narrow_grad) > 0:
                _copy_each(grad, at, 1, scratch, start + behind + row * row_step, narrow_grad)
            else:
                _copy(grad, at, scratch, start + behind + row * row_step, last_column)
        for group in range(groups):
            x0 = start + checked(taps[4 * group], room)
            x1 = start + checked(taps[4 * group + 1], room)
            x2 = start + checked(taps[4 * group + 2], room)
            x3 = start + checked(taps[4 * group + 3], room)
            sum0 = sum1 = sum2 = sum3 = 0.0
            for c in reassociated(range(8)):
                y0 = y1 = y2 = y3 = z0 = z1 = z2 = z3 = 0.0
                for column in range(0, width, 8):
                    for top in range(column, column + length, 2 * down):
                        at = top + c
                        g = scratch[start + behind + at]
                        y0 = fma(g, scratch[x0 + at], y0)
                        y1 = fma(g, scratch[x1 + at], y1)
                        y2 = fma(g, scratch[x2 + at], y2)
                        y3 = fma(g, scratch[x3 + at], y3)
                        at = top + down + c
                        g = scratch[start + behind + at]
                        z0 = fma(g, scratch[x0 + at], z0)
                        z1 = fma(g, scratch[x1 + at], z1)
                        z2 = fma(g, scratch[x2 + at], z2)
                        z3 = fma(g, scratch[x3 + at], z3)
                sum0 += y0 + z0
                sum1 += y1 + z1
                sum2 += y2 + z2
                sum3 += y3 + z3
            to = 4 * (image * groups + group)
            sums[to] = sum0
            sums[to + 1] = sum1
            sums[to + 2] = sum2
            sums[to + 3] = sum3


# ----- Calls ----------------------------------------------------------------------------------------------------------


def _run(kernel: Any, planes: int, room: int, work: int, arrays: tuple[np.ndarray, ...], *sizes: int) -> None:
    """Call a kernel over planes; each range has its own scratch plane. The last array is written."""
    step = min(waiting_threads.step(planes, -(-_GRAIN // work)), planes)
    slots = -(-planes // step)
    scratch = (slots + 1) * room + 8  # for the bounds check, kernel element and vector may be anywhere in a plane
    waiting_threads.in_steps(kernel, planes, step, (scratch,), *arrays, slots, step, room, *sizes)


def depthwise_compiles() -> bool:
    """Whether machine code runs here."""
    return can_compile(_correlate)


def _correlation(plane: _Plane, dtype: np.dtype) -> Any:
    """The kernel for a plane. Distances between vectors are compile-time constants, which need no registers."""
    across, apart = 8 // plane.tall, 8 if plane.height == 1 else plane.broad - 8
    out_apart = apart
    if plane.columns <= 8 and plane.height > 1:
        across, apart, out_apart = 8, plane.row_step, plane.least[1]
    return compile_loops(
        _correlate, dtype, stride=plane.stride, narrow=plane.narrow, across=across, apart=apart, out_apart=out_apart,
        tall=plane.tall, broad=plane.broad,
    )  # fmt: skip


def compiled_depthwise(
    x: np.ndarray, w: np.ndarray, low: Sizes, stride: Sizes, dilation: Sizes, out: np.ndarray, bias: np.ndarray | None
) -> None:
    """Write into `out` the correlation of each channel of contiguous `x` with its own kernel."""
    channels = x.shape[1]
    plane = find_plane(x.shape[2:], low, w.shape[2:], stride, dilation, out.shape[2:])
    count, taps = len(x) * channels, len(plane.taps)
    height, wide = plane.least
    direct = out.flags.c_contiguous and (height, wide) == (plane.height, plane.columns)
    result = out if direct else np.empty((*out.shape[:2], height, wide), x.dtype)
    # A copy of an expanded array keeps the order of its strides, which is not row-major.
    weight = np.ascontiguousarray(np.tile(w.reshape(channels, taps).astype(x.dtype, copy=False), (len(x), 1)))
    shift = np.zeros(count, x.dtype) if bias is None else np.tile(bias.astype(x.dtype, copy=False), len(x))
    arrays = x.reshape(-1)[plane.begin :], weight, shift, plane.taps, result
    sizes = taps, height * wide, plane.row_step, wide, height - plane.tall, wide - plane.broad
    _run(_correlation(plane, x.dtype), count, plane.size, height * wide * taps, arrays, *sizes, *plane.sizes)
    if not direct:
        out[...] = result[..., : plane.height, : plane.columns].reshape(out.shape)


def compiled_depthwise_weight_grad(
    grad: np.ndarray, x: np.ndarray, low: Sizes, kernel: Sizes, stride: Sizes, dilation: Sizes
) -> np.ndarray:
    """The transpose of `compiled_depthwise` in its weights, ``(C, 1, *kernel)``. Infinities may meet zeros and give NaN."""
    grad = np.ascontiguousarray(grad, x.dtype)
    plane = find_plane(x.shape[2:], low, kernel, stride, dilation, grad.shape[2:])
    count, taps = len(x) * x.shape[1], len(plane.taps)
    groups = -(-taps // 4)
    found = np.zeros(4 * groups, np.int64)
    found[:taps] = plane.taps
    width, down = (8 * plane.each, plane.row_step) if plane.height > 1 else (8, 8)
    length = plane.height * plane.row_step if plane.height > 1 else 8 * plane.each
    compiled = compile_loops(
        _weigh, x.dtype, stride=plane.stride, narrow=plane.narrow, narrow_grad=_narrow(plane.columns, 8)
    )
    sums = np.empty((count, 4 * groups), x.dtype)
    arrays = x.reshape(-1)[plane.begin :], grad, found, sums
    gradient = plane.size, plane.height, plane.columns, plane.row_step, max(plane.columns - 8, 0)
    sizes = groups, *gradient, width, length, down, *plane.sizes
    work = 8 * plane.each * plane.height * taps
    _run(compiled, count, plane.size + length + down + width, work, arrays, *sizes)
    total = sums.reshape(len(x), -1, 4 * groups).sum(0)[:, :taps]
    return total.reshape(x.shape[1], 1, *kernel)
