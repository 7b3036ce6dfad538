"""Correlation by im2col: copy the windows to columns and multiply, one cache-sized block at a time.

Arrays are ``(N, C, *spatial)``. The zero border is given as `low`, the number of zeros before the first element of each
spatial dim. It may be negative, which crops; the far end is padded or cropped to the extent of the windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from ..parallel import parallel_for

Ints = tuple[int, ...]

# The columns of one block should stay in a core's own cache, next to the result they produce.
_BLOCK_BYTES = 1 << 20
# Fewer positions per image than this make an inefficient matrix product: several images then share one.
_MERGE_BELOW = 100
# Nanoseconds of estimated work per thread, at least.
GRAIN_NS = 400_000


def spans(out: Ints, kernel: Ints, stride: Ints, dilation: Ints) -> Ints:
    """How many input positions the windows cover in each dim."""
    return tuple((o - 1) * s + (k - 1) * d + 1 for o, k, s, d in zip(out, kernel, stride, dilation, strict=True))


def overlap(size: Ints, low: Ints, span: Ints) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """The overlap of an input of `size` with a buffer of `span` that begins `low` before it, as slices (of the buffer, of the input)."""
    into, source = [], []
    for n, before, m in zip(size, low, span, strict=True):
        first, skip = max(before, 0), max(-before, 0)
        count = max(min(n - skip, m - first), 0)
        into.append(slice(first, first + count))
        source.append(slice(skip, skip + count))
    return tuple(into), tuple(source)


def share(body: Callable[[int, int], None], items: int, cost: float) -> None:
    """Run ``body(low, high)`` over the items: in threads, if the estimated `cost` in ns is worth it."""
    if items > 1 and cost > 2 * GRAIN_NS:
        parallel_for(body, items, max(1, int(items * GRAIN_NS / cost)))
    else:
        body(0, items)


def summed(body: Callable[[int, int], np.ndarray], items: int, cost: float) -> np.ndarray:
    """The sum of `body` over ranges of the items, run as by `share`; partial sums are added in order, whichever thread finishes first."""
    partial_sums: dict[int, np.ndarray] = {}

    def run(first: int, last: int) -> None:
        partial_sums[first] = body(first, last)

    share(run, items, cost)
    total, *others = [partial_sums[first] for first in sorted(partial_sums)]
    for other in others:
        total += other
    return total


class _Columns:
    """The windows of a batch as matrices, split into blocks: of some images, or of some rows of a single image."""

    def __init__(
        self,
        x: np.ndarray,
        low: Ints,
        kernel: Ints,
        stride: Ints,
        dilation: Ints,
        out: Ints,
        cost: float,
        least: int = 0,
    ) -> None:
        self.x, self.kernel, self.stride, self.dilation, self.out = x, kernel, stride, dilation, out
        span = spans(out, kernel, stride, dilation)
        self.span = span if any(low) or any(m > n for m, n in zip(span, x.shape[2:], strict=True)) else None
        self.border = overlap(x.shape[2:], low, span)
        self.rows = x.shape[1] * prod(kernel)
        self.positions = prod(out)
        # Columns that equal the input itself are not copied.
        self.plain = prod(kernel) == 1 and self.span is None and out == x.shape[2:]
        # Images share a matrix when each has few positions.
        self.merged = self.positions < _MERGE_BELOW and len(x) > 1
        size = self.rows * self.positions * x.itemsize
        busy = 1 if cost < 2 * GRAIN_NS else 2 if least > _BLOCK_BYTES else 8
        target = max(_BLOCK_BYTES, least)
        busy = min(busy, 1 + self.positions * len(x) // _MERGE_BELOW)  # each block reads all weights
        self.pieces = min(out[0], max(-(-size // (2 * target)), busy // len(x)))
        if self.plain or self.merged:
            self.pieces = 1
        self.images = 1 if self.pieces > 1 else max(1, min(-(-len(x) // busy), target // size))
        if self.merged:
            self.images = min(len(x), max(self.images, 4 * _MERGE_BELOW // self.positions))
        self.count = -(-len(x) // self.images) * self.pieces
        # Short rows are copied for only one row of the kernel, see `_fill`.
        self.staged = self.pieces == 1 == stride[0] and min(len(kernel), kernel[0]) > 1 and prod(out[1:]) < 32

    def blocks(self, low: int, high: int) -> Iterator[tuple[int, int, slice, np.ndarray]]:
        """For blocks `low` to `high`: the images (first and past the last), the positions, and the columns.

        The columns are ``(images, rows, positions)``, or ``(rows, images * positions)`` when merged.
        """
        x, held = self.x, -1
        pad = np.zeros((self.images, x.shape[1], *self.span), x.dtype) if self.span else None
        part = -(-self.out[0] // self.pieces)
        rest = self.positions // self.out[0]
        copies = self.merged or not self.plain
        buffer = np.empty(self.images * self.rows * part * rest, x.dtype) if copies else None
        stage = np.empty(0, x.dtype)
        if self.staged:
            height = self.out[0] + (self.kernel[0] - 1) * self.dilation[0]
            stage = np.empty(self.images * self.rows // self.kernel[0] * height * rest, x.dtype)
        for block in range(low, high):
            n, at = divmod(block, self.pieces)
            n, stop = n * self.images, min(len(x), (n + 1) * self.images)
            top, bottom = at * part, min((at + 1) * part, self.out[0])
            if top >= bottom:
                continue
            if pad is not None and n != held:
                into, source = self.border
                pad[(slice(stop - n), slice(None), *into)] = x[(slice(n, stop), slice(None), *source)]
                held = n
            columns = x[n:stop]
            if buffer is not None:
                columns = self._fill(columns if pad is None else pad[: stop - n], top, bottom, buffer, stage)
            columns = columns.reshape((self.rows, -1) if self.merged else (stop - n, self.rows, -1))
            yield n, stop, slice(top * rest, bottom * rest), columns

    def _fill(self, a: np.ndarray, top: int, bottom: int, buffer: np.ndarray, stage: np.ndarray) -> np.ndarray:
        """Copy the windows at rows `top` to `bottom` into `buffer`.

        With a `stage` there are two copies: first the windows of a single row of the kernel at every height, whose rows are
        short; the windows of all kernel rows are then long runs of those.
        """
        kernel, stride, dilation, out = self.kernel, self.stride, self.dilation, (bottom - top, *self.out[1:])
        if stage.size:
            height = out[0] + (kernel[0] - 1) * dilation[0]
            view = self._windows(a, 0, (1, *kernel[1:]), stride, dilation, (height, *out[1:]))
            a = stage[: view.size].reshape(view.shape)
            np.copyto(a, view)
            # Now the kernel's dims after the first belong to the shape, and only the first one slides.
            row = a.itemsize * prod(out[1:])
            steps, shape = list(a.strides), [*view.shape[: -len(out)], *out]
            at = 1 if self.merged else 2
            shape[at], steps[at] = kernel[0], row * dilation[0]
            view = np.ndarray(shape, a.dtype, a, 0, steps)
        else:
            view = self._windows(a, top * stride[0] * a.strides[2], kernel, stride, dilation, out)
        columns = buffer[: view.size].reshape(view.shape)
        np.copyto(columns, view)
        return columns

    def _windows(self, a: np.ndarray, at: int, kernel: Ints, stride: Ints, dilation: Ints, out: Ints) -> np.ndarray:
        """The windows of `a` from byte offset `at` on, as a view: ``(images, C, *kernel, *positions)``."""
        inner = a.strides[2:]
        shape = [*a.shape[:2], *kernel, *out]
        steps = [*a.strides[:2], *(s * d for s, d in zip(inner * 2, dilation + stride, strict=True))]
        if self.merged:
            # Move the images' dim after the kernel's: (C, *kernel, images, *positions).
            shape.insert(1 + len(inner), shape.pop(0))
            steps.insert(1 + len(inner), steps.pop(0))
        return np.ndarray(shape, a.dtype, a, at, steps)


def all_columns(x: np.ndarray, low: Ints, kernel: Ints, stride: Ints, dilation: Ints, out: Ints) -> np.ndarray:
    """Copies of all windows of a small contiguous `x`: ``(N, C, *kernel, *out)``."""
    span = spans(out, kernel, stride, dilation)
    if any(low) or any(m > n for m, n in zip(span, x.shape[2:], strict=True)):
        into, source = overlap(x.shape[2:], low, span)
        pad = np.zeros((*x.shape[:2], *span), x.dtype)
        pad[(slice(None), slice(None), *into)] = x[(slice(None), slice(None), *source)]
        x = pad
    inner = x.strides[2:]
    steps = [s * d for s, d in zip(inner * 2, dilation + stride, strict=True)]
    view = np.ndarray((*x.shape[:2], *kernel, *out), x.dtype, x, 0, (*x.strides[:2], *steps))
    return view.copy()


def im2col_correlate(
    x: np.ndarray, w: np.ndarray, low: Ints, stride: Ints, dilation: Ints, groups: int, out: np.ndarray,
    bias: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Write into `out` the correlation of contiguous `x` with `w`; `out` may be a strided view."""
    count, channels, out_size = out.shape[0], out.shape[1], out.shape[2:]
    weight = w.reshape(groups, channels // groups, -1)
    positions = prod(out_size)
    cost = x.itemsize / 4 * count * positions * weight[0].size * (groups / 40 + 0.4 * groups / weight.shape[1])
    add = None if bias is None else bias.reshape(groups, channels // groups, 1)
    columns = _Columns(x, low, w.shape[2:], stride, dilation, out_size, cost)
    direct = out.flags.c_contiguous and not columns.merged
    flat = out.reshape(count, groups, channels // groups, positions) if direct else None

    def body(first: int, last: int) -> None:
        for n, stop, where, block in columns.blocks(first, last):
            if columns.merged:
                block = block.reshape(groups, weight.shape[2], -1)
            else:
                block = block.reshape(stop - n, groups, weight.shape[2], -1)
            y = np.matmul(weight, block, out=None if flat is None else flat[n:stop, :, :, where])
            if add is not None:
                y += add
            if flat is None:
                rows = slice(where.start * out_size[0] // positions, where.stop * out_size[0] // positions)
                if columns.merged:
                    out[n:stop] = y.reshape(channels, stop - n, *out_size).swapaxes(0, 1)
                else:
                    out[n:stop, :, rows] = y.reshape(stop - n, channels, -1, *out_size[1:])

    share(body, columns.count, cost)


def im2col_weight_grad(
    grad: np.ndarray, x: np.ndarray, low: Ints, kernel: Ints, stride: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """The transpose of `im2col_correlate` in its weights: ``(O, C // groups, *kernel)``, for contiguous `grad` and `x`."""
    count, channels, out_size = grad.shape[0], grad.shape[1], grad.shape[2:]
    each, positions = channels // groups, prod(out_size)
    rows = x.shape[1] // groups * prod(kernel)
    cost = x.itemsize / 4 * count * positions * rows * groups * (each / 40 + 0.4)
    flat = grad.reshape(count, groups, each, positions)
    # Adding to the sums, once per block, should not cost more than the block itself.
    least = 2 * groups * each * rows * x.itemsize
    columns = _Columns(x, low, kernel, stride, dilation, out_size, cost, least)

    def body(first: int, last: int) -> np.ndarray:
        total = np.zeros((groups, each, rows), x.dtype)
        for n, stop, where, block in columns.blocks(first, last):
            if columns.merged:
                g = np.ascontiguousarray(flat[n:stop].transpose(1, 2, 0, 3)).reshape(groups, each, -1)
                total += np.matmul(g, block.reshape(groups, rows, -1).swapaxes(1, 2))
            else:
                block = block.reshape(stop - n, groups, rows, -1)
                part = np.matmul(flat[n:stop, :, :, where], block.swapaxes(2, 3))
                total += part[0] if stop - n == 1 else part.sum(0)
        return total

    total = summed(body, columns.count, cost)
    return total.reshape(channels, x.shape[1] // groups, *kernel)


# ----- Windows of images with a stride, as shifts of contiguous memory ------------------------------------------------
# Note [Flat phases]
# An output position ``t`` and a kernel element ``k`` meet at the padded input position ``t * stride + k * dilation``. Split the
# input by its remainder modulo the stride into phases: element ``k`` then belongs to one phase, and inside that phase its
# contribution is the full output shifted by ``k * dilation // stride``. If rows are stored with the phase's width, a shift in
# several dims is one shift of the flattened array. So every kernel element is a single long contiguous operation, which NumPy
# does some five times faster than the same additions in short strided rows.


class Phases:
    """The geometry of Note [Flat phases] for one kernel: widths, and the phase and shift of each kernel element."""

    def __init__(self, out: Ints, kernel: Ints, stride: Ints, dilation: Ints) -> None:
        reach = [(k - 1) * d // s for k, s, d in zip(kernel, stride, dilation, strict=True)]
        self.width = tuple(o + r for o, r in zip(out, reach, strict=True))
        # Output rows are stored as wide as the phases; the first dim needs no widening.
        self.wide = (out[0], *self.width[1:])
        self.length = prod(self.wide)
        steps = [prod(self.width[i + 1 :]) for i in range(len(out))]
        # The last kernel element's shifted rows end this many elements beyond the phase.
        self.size = max(prod(self.width), self.length + sum(r * s for r, s in zip(reach, steps, strict=True)))
        self.taps: list[tuple[Ints, int]] = []
        for tap in product(*map(range, kernel)):
            at = [k * d for k, d in zip(tap, dilation, strict=True)]
            shift = sum(a // s * step for a, s, step in zip(at, stride, steps, strict=True))
            self.taps.append((tuple(a % s for a, s in zip(at, stride, strict=True)), shift))
        self.names = sorted({name for name, _ in self.taps})

    def slices(self, name: Ints, low: Ints, stride: Ints, size: Ints) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """The overlap of the phase `name` with an input of `size` after `low` zeros, as slices (of the phase, of the input)."""
        inside, outside = [], []
        for r, before, s, n, m in zip(name, low, stride, size, self.width, strict=True):
            first = max(-((r - before) // s), 0)
            last = min((n - 1 + before - r) // s + 1, m)
            count = max(last - first, 0)
            begin = first * s + r - before
            inside.append(slice(first, first + count))
            outside.append(slice(begin, begin + count * s, s) if count else slice(0, 0))
        return tuple(inside), tuple(outside)


# Computing the geometry takes longer than convolving small images, and it is small: so it is cached.
find_phases = lru_cache(maxsize=128)(Phases)
