"""Geometry and work partitioning for the plans of kernels/conv/implicit.py. See Note [Windows in place] there."""

from __future__ import annotations

from itertools import pairwise, product
from math import prod
from typing import NamedTuple

import numpy as np

from ..assembly.products import groups_of_rows
from ..assembly.tables import At, Passed, Step, job_count, ranges
from ..call import object_address
from ..compiler.loops import FLOATS, Elements, Ints, checked, compile_loops, simd
from .im2col import Ints as Sizes, overlap

_CROWDED = 256  # bytes: planes whose stride is a multiple of this collide in the L1 cache
_LANES = 8  # elements that are copied at a time
_FOURS = 1.07  # relative cost of products with columns that are copied by fours


class Correlation(NamedTuple):
    """One correlation: the kernel elements' positions in each dim, the size of its results, and strides in bytes."""

    taps: tuple[Sizes, ...]
    out_size: Sizes
    weight: Sizes  # strides of the weights' rows, channels and kernel elements
    target: Sizes = ()  # strides of the results

    @property
    def tap_count(self) -> int:
        """The number of kernel elements."""
        return prod(map(len, self.taps))


class Images:
    """The offsets of windows in images, or in a copy of them in scratch memory; `together` means that all channels are read in turn.

    Addresses that are a multiple of 4096 bytes apart share a set of the 8-way L1 cache: so the stride of planes must not be such a multiple.
    """

    def __init__(
        self, shape: Sizes, low: Sizes, stride: Sizes, correlations: tuple[Correlation, ...], together: bool, item: int
    ) -> None:
        self.shape, self.low, self.stride, self.size, self.item = shape, low, stride, shape[2:], item
        dims = range(len(stride))
        reach = [
            max(correlation.taps[i][-1] + (correlation.out_size[i] - 1) * stride[i] for correlation in correlations) + 1
            for i in dims
        ]
        self.direct = stride[-1] == 1 and all(p <= 0 and m - p <= n for p, m, n in zip(low, reach, self.size))
        if together and shape[1] >= 16 and item * prod(self.size) % _CROWDED == 0:
            self.direct = False
        self.phases = sorted({tap % stride[-1] for correlation in correlations for tap in correlation.taps[-1]})
        self.width = max(
            correlation.taps[-1][-1] // stride[-1] + correlation.out_size[-1] for correlation in correlations
        )
        self.wide = self.size if self.direct else (*reach[:-1], self.width * len(self.phases))
        self.steps = steps_of(self.wide, item)
        self.plane = item * prod(self.wide)
        if together and not self.direct and self.plane % _CROWDED == 0:
            self.plane += 64
        self.image = shape[1] * self.plane
        self.start = -sum(p * step for p, step in zip(low, self.steps)) if self.direct else 0

    def offsets(self, taps: tuple[Sizes, ...], channels: int) -> np.ndarray:
        """Byte offsets of the inputs for each channel and kernel element."""
        leading = [sum(t * step for t, step in zip(tap, self.steps)) for tap in product(*taps[:-1])]
        found = np.add.outer(leading, [self._column(tap) for tap in taps[-1]]).reshape(-1)
        return np.add.outer(np.arange(channels) * self.plane, found).reshape(-1)

    def _column(self, tap: int) -> int:
        if self.direct:
            return self.item * tap
        quotient, phase = divmod(tap, self.stride[-1])
        return self.item * (self.phases.index(phase) * self.width + quotient)

    def rows(self, out_size: Sizes) -> np.ndarray:
        """Byte offsets of the inputs for each row of results."""
        found = np.full(1, self.start, np.int64)
        for n, stride, step in zip(out_size[:-1], self.stride, self.steps):
            found = np.add.outer(found, np.arange(n) * (stride * step)).reshape(-1)
        return found

    def copies(self, first: int, images: int, scratch: int) -> list[Step]:
        """The steps that copy `images` images to scratch memory: at the first call from image `first` on, then the next ones."""
        if self.direct:
            return []
        s, n, p, item = self.stride[-1], self.size[-1], self.low[-1], self.item
        inside, outside = overlap(self.size[:-1], self.low[:-1], self.wide[:-1])
        steps = steps_of(self.size, item)
        image = item * prod(self.shape[1:])
        found = []
        for i, phase in enumerate(self.phases):
            begin = max(-((phase - p) // s), 0)
            columns = min((n - 1 + p - phase) // s + 1, self.width) - begin
            box = (images * self.shape[1], *[a.stop - a.start for a in inside], columns)
            source = sum(a.start * step for a, step in zip(outside, steps)) + item * (begin * s + phase - p)
            target = sum(a.start * step for a, step in zip(inside, self.steps)) + item * (begin + i * self.width)
            found += copy_step(
                box, (item * prod(self.size), *steps[:-1], item * s), (self.plane, *self.steps[:-1], item),
                At("x", first * image + source), At("scratch", scratch + target), item, images * image, 0,
            )  # fmt: skip
        return found


def steps_of(size: Sizes, item: int) -> list[int]:
    """The strides of a contiguous array of elements of `item` bytes."""
    return [item * prod(size[i + 1 :]) for i in range(len(size))]


def _copy(
    x: Elements, out: Elements, planes: int, layers: int, rows: int, columns: int, plane: int, layer: int, row: int,
    out_plane: int, out_layer: int, out_row: int, *, step: int, out_step: int, vectors: bool, narrow: tuple[int, ...],
) -> None:  # fmt: skip
    """Copy a box, given its sizes and the strides of both arrays in elements. With `vectors` a row is full ones, and a last one that
    may overlap; `columns` is where that begins. The columns of a `narrow` box are copied one by one."""
    for i in range(planes):
        for j in range(layers):
            for k in range(rows):
                start = i * plane + j * layer + k * row
                to = i * out_plane + j * out_layer + k * out_row
                if vectors:
                    for at in range(0, columns, _LANES):
                        _copy_vector(x, start + at * step, out, to + at, step)
                    _copy_vector(x, start + columns * step, out, to + columns, step)
                elif len(narrow) > 0:
                    for c in narrow:
                        out[to + c * out_step] = x[start + c * step]
                else:
                    for c in range(columns):
                        out[to + c * out_step] = x[start + c * step]


def _copy_vector(x: Elements, start: int, out: Elements, to: int, step: int) -> None:
    for c in simd(range(_LANES)):
        out[to + c] = x[start + c * step]


def copy_step(
    box: Sizes, source: Sizes, target: Sizes, first: At, into: At, item: int, first_block: int = 0, into_block: int = 0
) -> list[Step]:  # fmt: skip
    """The step that copies a box of up to four dims, with its strides in both arrays in bytes; none if it is empty. After each
    repetition both addresses grow by so many bytes."""
    if min(box) < 1:
        return []
    sizes = box[0], *(1,) * (4 - len(box)), *box[1:]
    (*strides, step), (*out_strides, out_step) = (
        [n // item for n in (given[0], *(0,) * (4 - len(box)), *given[1:])] for given in (source, target)
    )
    vectors = sizes[3] >= _LANES and out_step == 1 and step <= 2
    narrow = tuple(range(sizes[3])) if sizes[3] < _LANES else ()
    kernel = compile_loops(_copy, FLOATS[item == 8], step=step, out_step=out_step, vectors=vectors, narrow=narrow)
    sizes = *sizes[:3], sizes[3] - _LANES * vectors
    return [(kernel, [Passed(first, first_block), Passed(into, into_block), *sizes, *strides, *out_strides])]


def _pack(
    weight: Elements, offsets: Ints, out: Elements, row: int, inner: int, extent: int, *, rows: tuple[int, ...]
) -> None:
    """Interleave rows: the first elements of all rows, then the second ones, and so on, at offsets below `extent`."""
    for n in range(inner):
        at = checked(offsets[n], extent)
        for i in rows:
            out[n * len(rows) + i] = weight[at + i * row]


def pieces(width: int, item: int) -> tuple[int, np.ndarray]:
    """Elements per chunk of a row (a vector or half of one), and the chunks' byte offsets; the last may overlap the previous one."""
    vector, half = 32 // item, 16 // item
    whole = width >= vector and vector * -(-width // vector) <= _FOURS * half * -(-width // half)
    unit = vector if whole else half
    return unit, np.minimum(np.arange(-(-width // unit)) * unit, width - unit) * item


def in_pairs(offsets: np.ndarray, overlapping: bool, several: int) -> np.ndarray:
    """Offsets ``(..., chunks of a row)`` in groups of `several` that are computed together; the last offset fills up the last group.

    Two that overlap must be in one group, since results are added to the array.
    """
    cut = offsets.shape[-1] - 2 if overlapping else 0
    found = np.concatenate((offsets[..., cut:].reshape(-1), offsets[..., :cut].reshape(-1)))
    return np.append(found, np.repeat(found[-1], -found.size % several)).reshape(-1, several)


def packing(
    correlation: Correlation, first: At, rows: int, channels: int, into: int, item: int
) -> tuple[list[Step], np.ndarray]:
    """The steps that pack weights ``(rows, channels, taps)`` in the kernel's order, one per group of rows; and a list that must
    be kept alive."""
    offsets = np.zeros(1, np.int64)
    for n, step in zip((channels, *map(len, correlation.taps)), correlation.weight[1:]):
        offsets = np.add.outer(offsets, np.arange(n) * (step // item)).reshape(-1)
    least = int(offsets.min())  # of flipped kernels negative
    offsets -= least
    extent, row = int(offsets.max()) + 1, correlation.weight[0]
    steps: list[Step] = []
    at = 0
    for some in groups_of_rows(rows):
        start = At(first.array, first.offset + at * row + item * least)
        target = At("packed", into + item * at * offsets.size)
        kernel = compile_loops(_pack, FLOATS[item == 8], rows=tuple(range(some)))
        table = object_address(offsets)
        steps.append((kernel, [Passed(start), table, Passed(target), row // item, offsets.size, extent]))
        at += some
    return steps, offsets


class Work:
    """How the images, or the rows of weights of each group, are split between jobs, and how many images form a block."""

    def __init__(self, count: int, rows: int, cost: float, image: int, target: int) -> None:
        self.jobs = job_count(max(count, rows // 6), cost)
        self.by_images = by_images = count >= self.jobs
        bounds = ranges(count if by_images else rows, self.jobs).tolist()
        shares = list(pairwise(bounds))
        self.images = shares if by_images else [(0, count)] * self.jobs
        self.rows = [(0, rows)] * self.jobs if by_images else shares
        most = max(last - first for first, last in self.images)
        self.block = -(-most // -(-most // max(1, target // image)))

    def blocks(self, job: int) -> list[tuple[int, int, int]]:
        """For a job: the first image of its blocks, the number of images per block, and the number of blocks."""
        first, last = self.images[job]
        whole, rest = divmod(last - first, self.block)
        found = [(first, self.block, whole)] if whole else []
        return found + ([(last - rest, rest, 1)] if rest else [])
