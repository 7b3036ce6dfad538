"""Correlation with kernels of 3 x 3 by Winograd's minimal filtering F(2 x 2, 3 x 3), in machine code only.

Note [Winograd's products]
Two neighbouring results of a filter ``g0 g1 g2`` over ``d0 d1 d2 d3`` take six products. They also equal ``m0 + m1 + m2`` and
``m1 - m2 - m3`` with the four products

    m0 = (d0 - d2) g0                    m1 = (d1 + d2) (g0 + g1 + g2) / 2
    m3 = (d1 - d3) g2                    m2 = (d2 - d1) (g0 - g1 + g2) / 2

The same along rows and columns: a tile of 2 x 2 results depends on 4 x 4 inputs, and takes 16 products instead of 36. With 4 x 4 inputs `d`, a kernel
`g`, the results `y` of a tile, and the matrices B, G and A of the sums above

    y = A ((G g G^T) * (B d B^T)) A^T

where * is the elementwise product of the 16 elements, summed over the channels: 16 matrix products of (channels of the result x
channels) with (channels x tiles). The transpose in the weights is G^T (sum over tiles of (A^T e A) * (B d B^T)) G. In NumPy the
sums would cost as much as the saved products, since each is a pass over memory. In machine code
(kernels/assembly/winograd.py) they cost a tenth of the products. Each result still depends on exactly the right inputs.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from .. import parallel
from ..assembly.products import G_ROWS, X_ROWS
from ..assembly.tables import At, Plan, Step, job_count, ranges, scratch
from ..lazy import lazy_import
from ..linalg import blas
from .im2col import Ints

_winograd = lazy_import(globals(), "_winograd", "..assembly.winograd")


_BLOCK_BYTES = 9 << 17  # of the transformed input and the products of a block
_WEIGHT_BYTES = 3 << 20  # the same for weight gradients, where adding each block's sums has an overhead
_BLOCK_TILES = 48  # per block, at least: fewer make inefficient products
_SUMMED_TILES = 256  # the same for weight gradients
_NS = 0.15  # per result and channel
_MIXING = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], np.float32)
_MIXING = np.kron(_MIXING, _MIXING)  # (16, 9): from the elements of a kernel to the factors of its products
# See kernels/assembly/winograd.py, _mix_gradient
_SIGNED = _MIXING * np.kron([1, 1, 1, -1], [1, 1, 1, -1]).astype(np.float32)[:, None]


class _Blocks:
    """How a batch is split: into blocks of some images, or of some rows of tiles of one image."""

    def __init__(self, images: int, out: Ints, each: int, target: int, least: int) -> None:
        down, self.across = -(-out[0] // 2), -(-out[1] // 2)
        tiles = down * self.across
        most = max(least, target // (64 * each))
        self.images = max(1, min(most // tiles, max(-(-images // 4), least // tiles)))
        blocks, threads = -(-images // self.images), parallel.native_thread_count()
        if blocks % threads and self.images * tiles >= _BLOCK_TILES:  # equally many for each thread
            self.images = -(-images // (-(-blocks // threads) * threads))
        self.height = -(-down // -(-tiles // most)) if tiles > most else down
        pieces = -(-down // self.height)
        self.count = -(-images // self.images) * pieces
        self.eights = -(-self.across // 8)
        # The buffer's size in tiles, including those that are written past the end.
        self.room = -(-(self.images * self.height * self.across + 15) // 16) * 16
        # For each block the first image and the one past the last, and the same for rows of tiles.
        n, at = np.divmod(np.arange(self.count), pieces)
        self.first, self.top = n * self.images, at * self.height
        self.last, self.bottom = np.minimum(self.first + self.images, images), np.minimum(self.top + self.height, down)

    def record(self) -> dict[str, Any]:
        """The record's entries about the tiles of each block."""
        images, rows = self.last - self.first, self.bottom - self.top
        each = rows * self.across
        count = images * each
        return {"images": images, "tile rows": rows, "image": 4 * each, "length": 4 * count, "panels": -(-count // 16)}


class _Room:
    """A bump allocator for the scratch memory of each job, in floats."""

    def __init__(self) -> None:
        self.size = 0

    def take(self, floats: int) -> int:
        """Reserve memory for so many floats, aligned to a cache line; return its byte offset."""
        offset = 4 * self.size
        self.size += -(-floats // 16) * 16
        return offset

    def sixteen(self, rows: int, room: int) -> tuple[int, int]:
        """Reserve memory for the sixteen elements of tiles; return its byte offset and the elements' stride in bytes."""
        # Addresses that are a multiple of 4096 bytes apart share a set of the L1 cache: so the stride is not near such a multiple.
        apart = -(-rows * room // 1024) * 1024 + 80
        return self.take(16 * apart), 4 * apart


class _Planes:
    """Planes that are copied to a scratch plane and transformed: the kernel's parameters for them."""

    def __init__(self, of: str, shape: Ints, low: Ints, blocks: _Blocks, reach: int, room: _Room) -> None:
        self.of, self.low, self.blocks, self.reach = of, low, blocks, reach
        self.image = 4 * prod(shape[1:])
        self.rows, self.columns = shape[2:]
        self.skip = max(0, -low[1])
        self.wide = min(self.columns, 2 * blocks.across + reach - low[1]) - self.skip
        self.at = self.skip + low[1]
        self.half = -(-max(8 * blocks.eights + 8, self.at // 2 + 9 + self.wide // 16 * 8) // 8) * 8
        self.size = (2 * blocks.height + reach) * 2 * self.half
        self.offset = room.take(self.size)

    def numbers(self, channels: int, scratch: int) -> dict[str, int | np.ndarray | At]:
        """The parameters common to all blocks, for so many channels and scratch memory at this offset."""
        pitch, plane, first = 8 * self.half, 4 * self.rows * self.columns, scratch + self.offset
        known: dict[str, int | At] = {
            "plane": plane, "others": self.image - channels * plane, "line": self.columns * 4, "whole": self.wide // 16, "pitch": pitch,
            "scratch": self.size // 8, "back": 2 * pitch - 32 * self.blocks.eights, "planes": channels,
            "first": At("scratch", first), "first odd": At("scratch", first + 4 * self.half),
        }  # fmt: skip
        return {f"{self.of} {name}": number for name, number in known.items()}

    @property
    def masks(self) -> dict[str, int]:
        return {self.of: self.wide % 16, f"{self.of} second": self.wide % 16 - 8}

    def record(self, channel: int, scratch: int) -> dict[str, Any]:
        """The parameters of each block, starting at a channel."""
        blocks = self.blocks
        first = np.maximum(2 * blocks.top - self.low[0], 0)
        last = np.minimum(2 * blocks.bottom + self.reach - self.low[0], self.rows)
        even = scratch + self.offset + (first + self.low[0] - 2 * blocks.top) * (8 * self.half) + self.at // 2 * 4
        odd = even + 4 * self.half
        if self.at % 2:  # the first column is odd in the scratch plane
            even, odd = odd, even + 4
        source = blocks.first * self.image + 4 * ((channel * self.rows + first) * self.columns + self.skip)
        known = {
            "source": At(self.of, source),
            "rows": last - first,
            "even": At("scratch", even),
            "odd": At("scratch", odd),
        }
        return {f"{self.of} {name}": number for name, number in known.items()}


def _records(plan: Plan, record: dict[str, Any], first: int, last: int) -> At:
    """The records of some blocks."""
    columns = []
    for name in _winograd.RECORD:
        column = record.get(name, 0)
        if isinstance(column, At):
            column = At(column.array, column.offset[first:last])
        columns.append(column[first:last] if isinstance(column, np.ndarray) else column)
    return plan.records(columns)


class _Tiled:
    """The common part of the plans for results and for weights: blocks, jobs, and scratch memory."""

    def __init__(self, images: int, out: Ints, each: int, target: int, least: int, cost: float) -> None:
        self.blocks = _Blocks(images, out, each, target, least)
        self.count = job_count(self.blocks.count, cost)
        self.starts = ranges(self.blocks.count, self.count).tolist()
        self.room, self.plan = _Room(), Plan()
        self.cleared: list[Ints] = []  # which ranges of the sixteen elements of tiles must be 0

    def finish(self, groups: int) -> None:
        """Write the tables of all jobs, once their memory needs are known."""
        steps = [[self.table(job, g, 4 * job * self.room.size) for g in range(groups)] for job in range(self.count)]
        self.jobs = self.plan.calls(steps)

    def table(self, job: int, g: int, scratch: int) -> Step:
        """The step for a group of channels, for the blocks of a job."""
        raise NotImplementedError

    def common(self, record: dict[str, Any], job: int) -> dict[str, int | np.ndarray | At]:
        """Entries of every table."""
        blocks, (first, last) = self.blocks, self.starts[job : job + 2]
        return {
            "eights": blocks.eights, "row": 4 * blocks.room, "skip": 4 * blocks.across - 32 * blocks.eights,
            "blocks": last - first, "record": _records(self.plan, blocks.record() | record, first, last),
        }  # fmt: skip

    def run(self, arrays: dict[str, np.ndarray]) -> None:
        memory = scratch(self.count * self.room.size)
        for offset, apart, first, last in self.cleared:
            part = memory.reshape(self.count, -1)[:, offset // 4 : offset // 4 + 4 * apart]
            part.reshape(self.count, 16, -1)[:, :, first:last] = 0
        self.plan.run(self.jobs, self.count, arrays | {"scratch": memory})


class _Forward(_Tiled):
    """The plan for results; the weights' layout is given by the strides, in elements, of each product's rows and columns."""

    def __init__(self, x: Ints, out: Ints, low: Ints, groups: int, row: int, inner: int) -> None:
        self.channels, self.results, self.total = x[1] // groups, out[1] // groups, x[1] // groups * out[1]
        self.out, self.weight = out, (row, inner)
        each = self.channels + self.results
        super().__init__(x[0], out[2:], each, _BLOCK_BYTES, _BLOCK_TILES, _NS * prod(out) * self.channels)
        self.x = _Planes("x", x, low, self.blocks, 2, self.room)
        self.mixed = self.room.sixteen(self.channels, self.blocks.room)
        self.products = self.room.sixteen(self.results, self.blocks.room)
        self.result = self.room.take(2 * self.blocks.height * 16 * self.blocks.eights)
        self.finish(groups)

    def table(self, job: int, g: int, scratch: int) -> Step:
        (height, width), blocks = self.out[2:], self.blocks
        plane, row, inner = 4 * height * width, *self.weight
        image = self.out[1] * plane
        record = self.x.record(g * self.channels, scratch)
        record["y"] = At("y", blocks.first * image + g * self.results * plane + 8 * blocks.top * width)
        record["y rows"] = np.minimum(2 * blocks.bottom, height) - 2 * blocks.top
        numbers = self.common(record, job) | self.x.numbers(self.channels, scratch)
        numbers |= {
            "x into": At("scratch", scratch + self.mixed[0]), "x apart": self.mixed[1],
            "products": At("scratch", scratch + self.products[0]), "products apart": self.products[1],
            "rows": self.results, "inner": self.channels, "bias": At("bias", 4 * g * self.results),
            "weight": At("weight", 4 * g * self.results * self.channels), "weight row": 4 * row, "weight inner": 4 * inner, "weight apart": 4 * self.total,
            "y plane": plane, "y others": image - self.results * plane, "y line": 4 * width, "y whole": width // 8, "y tail": 4 * (width - 8),
            "y scratch": At("scratch", scratch + self.result), "y pitch": 64 * blocks.eights,
        }  # fmt: skip
        return _winograd.correlate(), [self.plan.table(_winograd.TABLE, numbers, self.x.masks | {"y": width})]


@lru_cache(64)
def _forward(x: Ints, out: Ints, low: Ints, groups: int, row: int, inner: int, threads: int) -> _Forward:
    return _Forward(x, out, low, groups, row, inner)


def _mixed_weights(w: np.ndarray) -> tuple[np.ndarray, int, int]:
    """The weights of the sixteen products, and the strides of their rows and columns in elements."""
    mixing = _MIXING
    if w.strides[2] < 0 and w.strides[3] < 0:
        w, mixing = w[:, :, ::-1, ::-1], mixing[:, ::-1]
    swapped = not w.flags.c_contiguous and w.swapaxes(0, 1).flags.c_contiguous
    if swapped:
        w = w.swapaxes(0, 1)
    mixed = blas.multiply(mixing, w.reshape(-1, 9).T.astype(np.float32, copy=False))
    return mixed, *((1, w.shape[1]) if swapped else (w.shape[1], 1))


def winograd_correlate(
    x: np.ndarray, w: np.ndarray, low: Ints, groups: int, out: np.ndarray, bias: np.ndarray | None = None
) -> None:
    """Write into contiguous `out` the correlation of contiguous `x` with `w`, as `im2col.gather` does."""
    if groups > 1:
        w = np.ascontiguousarray(w)
    weight, row, inner = _mixed_weights(w)
    shift = np.zeros(len(w), np.float32) if bias is None else np.ascontiguousarray(bias, np.float32)
    plan = _forward(x.shape, out.shape, low, groups, row, inner, parallel.native_thread_count())
    plan.run({"x": x, "y": out, "weight": weight, "bias": shift})


class _Weigh(_Tiled):
    """The plan for weights."""

    def __init__(self, x: Ints, grad: Ints, low: Ints, groups: int) -> None:
        self.channels, self.results, self.groups = x[1] // groups, grad[1] // groups, groups
        self.x_groups, self.g_groups = -(-self.channels // X_ROWS), -(-self.results // G_ROWS)
        self.shape = 16, self.g_groups * G_ROWS, self.x_groups * X_ROWS  # of the sums
        cost = _NS * prod(grad) * self.channels
        super().__init__(x[0], grad[2:], self.shape[1] + self.shape[2], _WEIGHT_BYTES, _SUMMED_TILES, cost)
        self.x = _Planes("x", x, low, self.blocks, 2, self.room)
        self.g = _Planes("g", grad, (0, 0), self.blocks, 0, self.room)
        self.mixed = [self.room.sixteen(rows, self.blocks.room) for rows in (self.shape[2], self.shape[1])]
        # Padding channels: their sums are not used, but uninitialised values can be slow.
        for mixed, used, rows in zip(self.mixed, (self.channels, self.results), self.shape[:0:-1]):
            if used < rows:
                self.cleared.append((*mixed, used * self.blocks.room, rows * self.blocks.room))
        self.finish(groups)

    def table(self, job: int, g: int, scratch: int) -> Step:
        record = self.x.record(g * self.channels, scratch) | self.g.record(g * self.results, scratch)
        numbers = self.common(record, job)
        numbers |= self.x.numbers(self.channels, scratch) | self.g.numbers(self.results, scratch)
        for of, (offset, apart) in zip("xg", self.mixed):
            numbers |= {f"{of} into": At("scratch", scratch + offset), f"{of} apart": apart}
        each = 4 * self.shape[1] * self.shape[2]
        numbers |= {
            "x groups": self.x_groups, "g groups": self.g_groups, "sums row": 4 * self.shape[2], "sums apart": each,
            "sums": At("sums", 16 * each * (job * self.groups + g)),
        }  # fmt: skip
        return _winograd.weigh(), [self.plan.table(_winograd.TABLE, numbers, self.x.masks | self.g.masks)]


@lru_cache(64)
def _weigh(x: Ints, grad: Ints, low: Ints, groups: int, threads: int) -> _Weigh:
    return _Weigh(x, grad, low, groups)


def winograd_weight_grad(grad: np.ndarray, x: np.ndarray, low: Ints, groups: int) -> np.ndarray:
    """The transpose of `winograd_correlate` in its weights, for contiguous `grad` and `x`."""
    grad = np.ascontiguousarray(grad, np.float32)
    plan = _weigh(x.shape, grad.shape, low, groups, parallel.native_thread_count())
    sums = np.zeros((plan.count, groups, *plan.shape), np.float32)
    plan.run({"x": x, "g": grad, "sums": sums})
    sums = sums[..., : plan.results, : plan.channels]
    total = sums[0] if plan.count == 1 else sums.sum(0)
    flat = total.swapaxes(0, 1).reshape(16, -1)
    return blas.multiply(flat.T, _SIGNED).reshape(grad.shape[1], plan.channels, 3, 3)
