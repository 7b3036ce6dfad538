"""Geometry and work partitioning for the plans of kernels/conv/implicit.py. See Note [Windows in place] there."""

from __future__ import annotations

from itertools import pairwise, product
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..assembly import copy_and_pack
from ..assembly.products import groups_of_rows
from ..assembly.tables import At, Plan, Step, job_count, ranges
from .im2col import Ints, overlap

_CROWDED = 256  # bytes: planes whose stride is a multiple of this collide in the L1 cache
_FOURS = 1.07  # relative cost of products with columns that are copied by fours


class Correlation(NamedTuple):
    """One correlation: the kernel elements' positions in each dim, the size of its results, and strides in bytes."""

    taps: tuple[Ints, ...]
    out_size: Ints
    weight: Ints  # strides of the weights' rows, channels and kernel elements
    target: Ints = ()  # strides of the results

    @property
    def tap_count(self) -> int:
        """The number of kernel elements."""
        return prod(map(len, self.taps))


class Images:
    """The offsets of windows in images, or in a copy of them in scratch memory; `together` means that all channels are read in turn.

    Addresses that are a multiple of 4096 bytes apart share a set of the 8-way L1 cache: so the stride of planes must not be such a multiple.
    """

    def __init__(
        self, shape: Ints, low: Ints, stride: Ints, correlations: tuple[Correlation, ...], together: bool, item: int
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

    def offsets(self, taps: tuple[Ints, ...], channels: int) -> np.ndarray:
        """Byte offsets of the inputs for each channel and kernel element."""
        leading = [sum(t * step for t, step in zip(tap, self.steps)) for tap in product(*taps[:-1])]
        found = np.add.outer(leading, [self._column(tap) for tap in taps[-1]]).reshape(-1)
        return np.add.outer(np.arange(channels) * self.plane, found).reshape(-1)

    def _column(self, tap: int) -> int:
        if self.direct:
            return self.item * tap
        quotient, phase = divmod(tap, self.stride[-1])
        return self.item * (self.phases.index(phase) * self.width + quotient)

    def rows(self, out_size: Ints) -> np.ndarray:
        """Byte offsets of the inputs for each row of results."""
        found = np.full(1, self.start, np.int64)
        for n, stride, step in zip(out_size[:-1], self.stride, self.steps):
            found = np.add.outer(found, np.arange(n) * (stride * step)).reshape(-1)
        return found

    def copies(self, plan: Plan, first: int, images: int, scratch: int) -> list[Step]:
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
                plan, box, (item * prod(self.size), *steps[:-1], item * s), (self.plane, *self.steps[:-1], item),
                At("x", first * image + source), At("scratch", scratch + target), item, images * image, 0,
            )  # fmt: skip
        return found


def steps_of(size: Ints, item: int) -> list[int]:
    """The strides of a contiguous array of elements of `item` bytes."""
    return [item * prod(size[i + 1 :]) for i in range(len(size))]


def copy_step(
    plan: Plan, box: Ints, source: Ints, target: Ints, first: At, into: At, item: int, first_block: int = 0, into_block: int = 0
) -> list[Step]:  # fmt: skip
    """The step that copies a box of up to four dims, with its strides in both arrays; none if it is empty."""
    if min(box) < 1:
        return []
    sizes, source, target = (
        (given[0], *(fill,) * (4 - len(box)), *given[1:]) for given, fill in ((box, 1), (source, 0), (target, 0))
    )
    kind = copy_and_pack.kind_of(sizes[3], source[3], target[3], item)
    table: dict[str, Any] = {
        "from": first, "into": into, "from block": first_block, "into block": into_block,
        "tail": item * sizes[3] - (32 if kind == "eights" else 16),
    }  # fmt: skip
    for name, n, a, b in zip(("plane", "layer", "row", "column"), sizes, source, target):
        table |= {f"{name}s": n, f"from {name}": a, f"into {name}": b}
    return [(copy_and_pack.copy(kind, item), [plan.table(copy_and_pack.COPY, table)])]


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
    plan: Plan, correlation: Correlation, first: At, rows: int, channels: int, into: int, item: int
) -> tuple[list[Step], np.ndarray]:
    """The steps that pack weights ``(rows, channels, taps)`` in the kernel's order, one per group of rows; and a list that must
    be kept alive."""
    offsets = np.zeros(1, np.int64)
    for n, step in zip((channels, *map(len, correlation.taps)), correlation.weight[1:]):
        offsets = np.add.outer(offsets, np.arange(n) * step).reshape(-1)
    steps: list[Step] = []
    at = 0
    for some in groups_of_rows(rows):
        table: dict[str, int | np.ndarray | At] = {
            "rows": At(first.array, first.offset + at * correlation.weight[0]), "row": correlation.weight[0],
            "offsets": offsets, "inner": offsets.size, "into": At("packed", into + item * at * offsets.size),
        }  # fmt: skip
        steps.append((copy_and_pack.pack(some, item), [plan.table(copy_and_pack.PACK, table)]))
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
