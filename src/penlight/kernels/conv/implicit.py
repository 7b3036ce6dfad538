"""Implicit im2col in machine code, for any kernel, stride and dilation: matrix products with windows that are not copied. See
kernels/assembly/implicit_products.py.

Note [Windows in place]
For a channel, a kernel element and a row of results, the columns that `im2col` would copy are contiguous: in the images
themselves, if the columns have stride 1 and no border is needed; else in a copy with a border of zeros, where columns are sorted
by their remainders modulo the stride. The kernel reads lists of offsets: of channels and kernel elements, and of groups of four
or eight results, of one or several images. The last results of a row may be computed twice.

Everything that depends only on sizes is a cached plan: lists, tables, and the sequence of copies and products. First the weights
are packed in the order in which the kernel reads them; then each thread gets some of the images, or of the rows of weights if
there are few images, and its own scratch memory.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise, product
from math import prod

import numpy as np

from .. import parallel
from ..assembly import implicit_products
from ..assembly.tables import At, Plan, Step, ranges, scratch
from .im2col import Ints
from .implicit_plans import Correlation, Images, Work, copy_step, in_pairs, packing, pieces, steps_of

_BLOCK_BYTES = 5 << 16  # of the images and the results of a block
_INNER = 192  # channels times kernel elements at a time: their inputs for a few columns stay in the L1 cache
_CHUNK_BYTES = 1 << 17  # of results that are accumulated over all channels and kernel elements at a time
_PACKED = 1 << 15  # weights per thread that packs them, at least
_CHUNK = 128  # vectors of four channels and kernel elements that are copied at a time, for weight gradients
_NS = 0.0075  # for one product, per byte of an element


class _Forward:
    """The plan of one or several correlations of the same images; `direct` means a single one, with contiguous results."""

    def __init__(
        self, shape: Ints, low: Ints, stride: Ints, correlations: tuple[Correlation, ...], direct: bool, channels: int, groups: int, item: int
    ) -> None:  # fmt: skip
        self.item = item  # bytes per element
        self.x = Images(shape, low, stride, correlations, True, item)
        self.correlations, self.direct, self.groups = correlations, direct, groups
        self.names = [(f"weight {i}", f"y {i}") for i in range(len(correlations))]
        self.channels, self.each, self.inner = channels, channels // groups, shape[1] // groups
        results = item * channels * max(prod(c.out_size) for c in correlations)  # bytes per image
        macs = sum(prod(c.out_size) * c.tap_count for c in correlations) * self.inner * channels
        self.work = Work(shape[0], self.each, item * _NS * macs * shape[0], self.x.image + results, _BLOCK_BYTES)
        # Scratch memory of a job, in float32s: images, which must be 0 initially, results, a panel.
        self.zeros = 0 if self.x.direct else -(-self.x.image * self.work.block // 64) * 16
        self.results = self.zeros + (0 if direct else -(-results * self.work.block // 64) * 16)
        self.steps = [max(1, _INNER // c.tap_count) * c.tap_count for c in correlations]
        self.scratch = self.results + 16 * max(self.steps)
        self.lists: list[np.ndarray] = []
        self.plan = Plan()
        self.where: dict[Ints, int] = {}
        # A single job packs the weights itself; for several, they are packed beforehand.
        self.packing = self.plan if self.work.jobs == 1 else Plan()
        packing, self.size = self._pack()
        jobs = [self._steps(job) for job in range(self.work.jobs)]
        if self.work.jobs > 1:
            bounds = ranges(len(packing), min(self.work.jobs, len(packing), 1 + self.size // _PACKED)).tolist()
            shares = [packing[a:b] for a, b in pairwise(bounds)]
            self.packed, self.packers = self.packing.calls(shares), len(shares)
        else:
            jobs = [packing + jobs[0]]
        self.jobs = self.plan.calls(jobs)

    def _pack(self) -> tuple[list[Step], int]:
        """The steps that pack the weights, and their size in float32s, a multiple of sixteen; `where` has each correlation's offset."""
        size, item = 0, self.item
        found: list[list[Step]] = []
        for g, (begin, end) in product(range(self.groups), dict.fromkeys(self.work.rows)):
            several = []
            for i, correlation in enumerate(self.correlations):
                self.where[i, begin, g] = item * size
                first = At(self.names[i][0], (g * self.each + begin) * correlation.weight[0])
                steps, held = packing(correlation, first, end - begin, self.inner, item * size, item)
                self.lists.append(held)
                several.append(steps)
                size += (end - begin) * self.inner * correlation.tap_count
            found += map(list, zip(*several))  # for each group of rows all correlations: their weights are contiguous
        return [step for steps in found for step in steps], -(-item * size // 64) * 16

    def _steps(self, job: int) -> list[Step]:
        steps: list[Step] = []
        for first, images, blocks in self.work.blocks(job):
            some = self.x.copies(first, images, 4 * job * self.scratch)
            for i in range(len(self.correlations)):
                some += self._products(i, job, first, images)
                some += [] if self.direct else self._results(i, job, first, images)
            steps.append(self.plan.nested(some, blocks))
        return steps

    def _products(self, i: int, job: int, first: int, images: int) -> list[Step]:
        x, correlation, item = self.x, self.correlations[i], self.item
        plane = item * prod(correlation.out_size)
        image = self.channels * plane
        unit, columns = pieces(correlation.out_size[-1], item)
        rows, n = x.rows(correlation.out_size), np.arange(images)[:, None, None]
        sources = n * x.image + rows[:, None] + columns
        targets = n * image + np.arange(len(rows))[:, None] * (item * correlation.out_size[-1]) + columns
        several = [in_pairs(a, correlation.out_size[-1] % unit > 0, 64 // (item * unit)) for a in (sources, targets)]
        vectors, offsets = np.concatenate(several, axis=1), x.offsets(correlation.taps, self.inner)
        self.lists += vectors, offsets
        begin, end = self.work.rows[job]
        memory = 4 * job * self.scratch
        found: list[Step] = []
        for g in range(self.groups):
            source, channel = g * self.inner * x.plane, g * self.each + begin
            y = At("y 0", first * image) if self.direct else At("scratch", memory + 4 * self.zeros)
            table = {
                "x": At("x", first * x.image + source) if x.direct else At("scratch", memory + source),
                "x block": images * x.image if x.direct else 0,
                "y": At(y.array, y.offset + channel * plane), "y block": images * image if self.direct else 0,
                "y plane": plane, "bias": At("bias", item * channel),
                "offsets": offsets, "inner": offsets.size, "inner step": self.steps[i],
                "vectors": vectors, "pairs": len(vectors), "chunk": max(4, _CHUNK_BYTES // (64 * (end - begin))),
                "rows": end - begin, "weight": At("packed", self.where[i, begin, g]), "panel": At("scratch", memory + 4 * self.results),
            }  # fmt: skip
            kernel = implicit_products.correlate(item * unit == 16, item == 8)
            found.append((kernel, [self.plan.table(implicit_products.CORRELATE, table)]))
        return found

    def _results(self, i: int, job: int, first: int, images: int) -> list[Step]:
        """The steps that copy results from scratch memory."""
        correlation, item = self.correlations[i], self.item
        image, channel, *dims = correlation.target
        begin, end = self.work.rows[job]
        plane, steps = item * prod(correlation.out_size), steps_of(correlation.out_size, item)
        memory = 4 * (job * self.scratch + self.zeros)
        # All channels of several images are contiguous; a part of the channels is copied per image and group.
        whole = end - begin == self.each
        count = images * self.channels if whole else end - begin
        found: list[Step] = []
        for n, g in [(0, 0)] if whole else product(range(images), range(self.groups)):
            at = g * self.each + begin
            found += copy_step(
                (count, *correlation.out_size), (plane, *steps), (channel, *dims),
                At("scratch", memory + (n * self.channels + at) * plane), At(f"y {i}", (first + n) * image + at * channel),
                item, 0, images * image,
            )  # fmt: skip
        return found

    def run(self, x: np.ndarray, weights: list[np.ndarray], outs: list[np.ndarray], bias: np.ndarray | None) -> None:
        jobs = self.work.jobs
        memory = scratch(self.size + jobs * self.scratch)
        if self.zeros:
            memory[self.size :].reshape(jobs, -1)[:, : self.zeros] = 0
        shift = np.zeros(self.channels, x.dtype) if bias is None else np.ascontiguousarray(bias, x.dtype)
        arrays = {"packed": memory, "scratch": memory[self.size :], "x": x, "bias": shift}
        for names, w, out in zip(self.names, weights, outs):
            arrays[names[0]], arrays[names[1]] = w, out
        if jobs > 1:
            self.packing.run(self.packed, self.packers, arrays)
        self.plan.run(self.jobs, jobs, arrays)


@lru_cache(64)
def _forward(
    shape: Ints, low: Ints, stride: Ints, dilation: Ints, groups: int, kernel: Ints, weight: Ints, out: Ints, target: Ints, item: int,
    threads: int,
) -> _Forward:  # fmt: skip
    """The plan of one correlation, for shapes, strides of weights and results, bytes per element, and number of threads."""
    taps = tuple([tuple(range(0, k * d, d)) for k, d in zip(kernel[2:], dilation)])
    contiguous = target == tuple(steps_of(out, item))
    return _Forward(shape, low, stride, (Correlation(taps, out[2:], weight, target),), contiguous, out[1], groups, item)


def implicit_correlate(
    x: np.ndarray, w: np.ndarray, low: Ints, stride: Ints, dilation: Ints, groups: int, out: np.ndarray,
    bias: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Write into `out` the correlation of contiguous `x` with `w`; `out` may be a strided view of contiguous channels."""
    w = w.astype(x.dtype, copy=False)
    sizes = w.shape, w.strides, out.shape, out.strides, x.itemsize
    plan = _forward(x.shape, low, stride, dilation, groups, *sizes, parallel.native_thread_count())
    plan.run(x, [w], [out], bias)


@lru_cache(64)
def _several(
    shape: Ints, dilation: Ints, groups: int, sizes: tuple[tuple[Ints, Ints, Ints, Ints, Ints], ...], item: int, threads: int
) -> _Forward:  # fmt: skip
    """The plan of several correlations with stride 1, each given by its border and by the shapes and strides of weights and results."""
    low = tuple(map(max, zip(*[border for border, *_ in sizes])))
    correlations = []
    for border, kernel, weight, out, target in sizes:
        dims = zip(low, border, kernel[2:], dilation)
        taps = tuple([tuple([most - own + t * d for t in range(k)]) for most, own, k, d in dims])
        correlations.append(Correlation(taps, out[2:], weight, target))
    return _Forward(shape, low, (1,) * len(low), tuple(correlations), False, sizes[0][3][1], groups, item)


def implicit_correlate_together(
    x: np.ndarray, correlations: list[tuple[np.ndarray, Ints, np.ndarray]], dilation: Ints, groups: int,
    bias: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Several correlations of contiguous `x`, each given by weights, border and output array, all with stride 1."""
    weights = [w.astype(x.dtype, copy=False) for w, _, _ in correlations]
    sizes = tuple(
        [(border, w.shape, w.strides, y.shape, y.strides) for w, (_, border, y) in zip(weights, correlations)]
    )
    plan = _several(x.shape, dilation, groups, sizes, x.itemsize, parallel.native_thread_count())
    plan.run(x, weights, [y for _, _, y in correlations], bias)


class _Weigh:
    """The plan of the transpose in the weights."""

    def __init__(
        self, shape: Ints, low: Ints, stride: Ints, correlation: Correlation, channels: int, groups: int, item: int
    ) -> None:
        self.x = Images(shape, low, stride, (correlation,), False, item)
        self.correlation, self.groups = correlation, groups
        self.channels, self.each, self.inner = channels, channels // groups, shape[1] // groups
        self.unit, self.columns = pieces(correlation.out_size[-1], item)
        self.lines, self.item, self.vector = prod(correlation.out_size[:-1]), item, 32 // item
        # A gradient is read in place if it consists of full vectors.
        self.plain = correlation.out_size[-1] % self.unit == 0 and prod(correlation.out_size) % self.vector == 0
        self.row = self.unit * len(self.columns)  # elements of a row of the gradient
        self.plane = -(-self.lines * self.row // self.vector) * self.vector
        found = self.x.offsets(correlation.taps, self.inner)
        self.offsets = np.append(found, np.repeat(found[-1:], -found.size % 4))
        macs = prod(correlation.out_size) * correlation.tap_count * self.inner * channels
        image = self.x.image + item * self.plane * channels
        self.work = Work(shape[0], self.each, item * _NS * macs * shape[0], image, _BLOCK_BYTES // 2)
        self.zeros = 0 if self.x.direct else -(-self.x.image * self.work.block // 64) * 16
        self.gradients = self.zeros + (
            0 if self.plain else -(-item * self.work.block * channels * self.plane // 64) * 16
        )
        self.scratch = self.gradients + 32 * _CHUNK
        self.lists: list[np.ndarray] = []
        self.plan = Plan()
        self.jobs = self.plan.calls([self._steps(job) for job in range(self.work.jobs)])

    def _steps(self, job: int) -> list[Step]:
        steps: list[Step] = []
        for first, images, blocks in self.work.blocks(job):
            some = self.x.copies(first, images, 4 * job * self.scratch)
            some += [] if self.plain else self._gradients(job, first, images)
            some += self._sums(job, first, images)
            steps.append(self.plan.nested(some, blocks))
        return steps

    def _gradients(self, job: int, first: int, images: int) -> list[Step]:
        """The steps that copy the gradient; of a chunk that overlaps the previous one, only the new elements, and zeros."""
        out_size, item = self.correlation.out_size, self.item
        image, plane = item * self.channels * prod(out_size), item * prod(out_size)
        rest = out_size[-1] % self.unit
        found: list[Step] = []
        for columns, at, into in ((out_size[-1] - rest, 0, 0), (rest, out_size[-1] - rest, self.row - rest)):
            found += copy_step(
                (images * self.channels, self.lines, columns), (plane, item * out_size[-1], item), (item * self.plane, item * self.row, item),
                At("g", first * image + item * at), At("scratch", 4 * (job * self.scratch + self.zeros) + item * into), item, images * image, 0,
            )  # fmt: skip
        return found

    def _sums(self, job: int, first: int, images: int) -> list[Step]:
        x, item = self.x, self.item
        fours = item * self.unit == 16
        offsets = np.add.outer(x.rows(self.correlation.out_size), self.columns).reshape(-1)
        offsets = np.append(offsets, offsets[-1:].repeat(self.plane // self.unit - offsets.size)).reshape(
            1, -1, self.vector // self.unit
        )
        n = np.arange(images)[:, None, None]
        image = item * self.channels * self.plane
        inside = n * image + np.arange(self.plane // self.vector)[:, None] * 32
        vectors = np.concatenate((inside, n * x.image + offsets), axis=2)
        self.lists.append(vectors)
        begin, end = self.work.rows[job]
        memory = 4 * job * self.scratch
        found: list[Step] = []
        for g in range(self.groups):
            source, channel = g * self.inner * x.plane, g * self.each + begin
            table = {
                "x": At("x", first * x.image + source) if x.direct else At("scratch", memory + source),
                "x block": images * x.image if x.direct else 0,
                "g": At("g", first * image + item * channel * self.plane) if self.plain else At("scratch", memory + 4 * self.zeros + item * channel * self.plane),
                "g block": images * image if self.plain else 0,
                "g row": item * self.plane, "g rows": end - begin, "offsets": self.offsets, "x groups": self.offsets.size // 4,
                "vectors": vectors, "length": vectors.size // vectors.shape[2],
                "chunk": _CHUNK, "panel": At("scratch", memory + 4 * self.gradients),
                "sums": At("sums", item * ((job if self.work.by_images else 0) * self.channels + channel) * self.offsets.size), "sums row": item * self.offsets.size,
            }  # fmt: skip
            found.append((implicit_products.weigh(fours, item == 8), [self.plan.table(implicit_products.WEIGH, table)]))
        return found

    def run(self, grad: np.ndarray, x: np.ndarray) -> np.ndarray:
        jobs = self.work.jobs
        grad = np.ascontiguousarray(grad, x.dtype)
        memory = scratch(jobs * self.scratch)
        if self.gradients:
            memory.reshape(jobs, -1)[:, : self.gradients] = 0
        sums = np.zeros((jobs if self.work.by_images else 1, self.channels, self.offsets.size), x.dtype)
        arrays = {"x": x, "g": grad, "scratch": memory, "sums": sums}
        self.plan.run(self.jobs, jobs, arrays)
        total = sums[0] if len(sums) == 1 else sums.sum(0)
        return np.ascontiguousarray(total[:, : self.inner * self.correlation.tap_count])


@lru_cache(64)
def _weigh(
    shape: Ints, low: Ints, kernel: Ints, stride: Ints, dilation: Ints, groups: int, grad: Ints, item: int, threads: int
) -> _Weigh:  # fmt: skip
    taps = tuple([tuple(range(0, k * d, d)) for k, d in zip(kernel, dilation)])
    return _Weigh(shape, low, stride, Correlation(taps, grad[2:], ()), grad[1], groups, item)


def implicit_weight_grad(
    grad: np.ndarray, x: np.ndarray, low: Ints, kernel: Ints, stride: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """The transpose of `implicit_correlate` in its weights: ``(O, C // groups, *kernel)``, for contiguous `grad` and `x`.

    An infinity in `x` may meet zeros next to the rows of `grad`, which gives NaN: the caller checks the result.
    """
    plan = _weigh(
        x.shape, low, kernel, stride, dilation, groups, grad.shape, x.itemsize, parallel.native_thread_count()
    )
    return plan.run(grad, x).reshape(grad.shape[1], -1, *kernel)
