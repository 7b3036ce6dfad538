"""Correlation with kernels of 3 x 3 by Winograd's minimal filtering F(2 x 2, 3 x 3), as native kernels only.

Note [Winograd along two dims]
As along one dim, see Note [Winograd along one dim], but of columns too: a tile of 2 x 2 results depends on 4 x 4 inputs, and takes 16 products
instead of 36. With the matrices of that note, 4 x 4 inputs `d`, a kernel `g` and the results `y` of a tile

    y = A ((G g G^T) * (B d B^T)) A^T

where * is the product of each of the 16 numbers, summed over the channels: 16 matrix products of (channels of the result x channels) with (channels
x tiles). The transpose in the weights is G^T (sum over tiles of (A^T e A) * (B d B^T)) G. In NumPy the mixing would cost as much
as the products save, since each sum is a pass over memory. In machine code (native/winograd.py) it costs a tenth of them.
Each result still depends on exactly those inputs that it should.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from . import native
from .conv_gather import Ints
from .native._table import Numbers, address, job_count, ranges

_BLOCK_BYTES = 9 << 17  # of the mixed input and the products of a block
_WEIGHT_BYTES = 3 << 20  # the same where each block ends in sums, which have their price
_LEAST_TILES = 48  # of a block: fewer make poor products
_LEAST_SUMMED = 256  # the same for sums
_LEAST_CHANNELS = 16  # fewer make mixing take longer than what it saves
_LEAST_WORK = 1 << 19  # products of the plain way: below, preparations take longer
_NS = 0.15  # for each result and channel
_MIXING = np.array([[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]], np.float32)
_MIXING = np.kron(_MIXING, _MIXING)  # (16, 9): from the taps of a kernel to the numbers of its products
_SIGNED = (
    _MIXING * np.kron([1, 1, 1, -1], [1, 1, 1, -1]).astype(np.float32)[:, None]
)  # see native/winograd.py, _mix_gradient


def suits_tiles(x: np.ndarray, weight: Ints, stride: Ints, dilation: Ints, groups: int, out: Ints) -> bool:
    """Whether the sizes allow this and make it worth while."""
    return (
        weight[2:] == (3, 3)
        and prod(stride) == prod(dilation) == 1
        and weight[0] >= _LEAST_CHANNELS * groups
        and weight[1] >= _LEAST_CHANNELS
        and out[2] > 1
        and out[3] > 1
        and prod(out) * weight[1] >= _LEAST_WORK * groups
        and x.dtype == np.float32
        and native.available()
    )


class _Blocks:
    """How a batch is cut: into blocks of some images, or of some rows of tiles of one."""

    def __init__(self, images: int, out: Ints, each: int, target: int, least: int) -> None:
        down, self.across = -(-out[0] // 2), -(-out[1] // 2)
        tiles = down * self.across
        most = max(least, target // (64 * each))
        self.images = max(1, min(most // tiles, max(-(-images // 4), least // tiles)))
        self.height = -(-down // -(-tiles // most)) if tiles > most else down
        parts = -(-down // self.height)
        self.count = -(-images // self.images) * parts
        self.eights = -(-self.across // 8)
        # So many tiles have room, and those that are written too much.
        self.room = -(-(self.images * self.height * self.across + 15) // 16) * 16
        # For each block the first image and the one past the last, the same of the rows of tiles.
        n, at = np.divmod(np.arange(self.count), parts)
        self.first, self.top = n * self.images, at * self.height
        self.last, self.bottom = np.minimum(self.first + self.images, images), np.minimum(self.top + self.height, down)

    def record(self) -> dict[str, Any]:
        """What the tiles of each block are."""
        images, rows = self.last - self.first, self.bottom - self.top
        each = rows * self.across
        count = images * each
        return {"images": images, "tile rows": rows, "image": 4 * each, "length": 4 * count, "panels": -(-count // 16)}


class _Planes:
    """Planes that are copied to a scratch plane and mixed: what the kernel wants to know of them."""

    def __init__(self, of: str, array: np.ndarray, low: Ints, blocks: _Blocks, reach: int) -> None:
        self.of, self.array, self.low, self.blocks, self.reach = of, array, low, blocks, reach
        self.rows, self.columns = array.shape[2:]
        self.skip = max(0, -low[1])
        self.wide = min(self.columns, 2 * blocks.across + reach - low[1]) - self.skip
        self.at = self.skip + low[1]
        self.half = -(-max(8 * blocks.eights + 8, self.at // 2 + 9 + self.wide // 16 * 8) // 8) * 8

    def scratch(self, numbers: Numbers, jobs: _Jobs) -> tuple[np.ndarray, dict[str, Any]]:
        """Set what is the same for all blocks; gives the scratch planes of the jobs, which must be held, and what differs between jobs."""
        planes = np.empty((jobs.count, 2 * self.blocks.height + self.reach, 2 * self.half), np.float32)
        pitch = 8 * self.half
        known = {
            "plane": self.rows * self.columns * 4, "others": _others(self.array), "line": self.columns * 4, "whole": self.wide // 16,
            "pitch": pitch, "scratch": planes[0].size // 8, "back": 2 * pitch - 32 * self.blocks.eights, "planes": self.array.shape[1],
        }  # fmt: skip
        numbers.put({f"{self.of} {name}": number for name, number in known.items()})
        numbers.mask(self.of, self.wide % 16)
        numbers.mask(f"{self.of} second", self.wide % 16 - 8)
        start = jobs.parts(planes)
        return planes, {f"{self.of} first": start, f"{self.of} first odd": start + 4 * self.half}

    def record(self, plane: np.ndarray) -> dict[str, Any]:
        """What each block reads, with a scratch plane at its address."""
        blocks = self.blocks
        first = np.maximum(2 * blocks.top - self.low[0], 0)
        last = np.minimum(2 * blocks.bottom + self.reach - self.low[0], self.rows)
        even = plane + (first + self.low[0] - 2 * blocks.top) * (8 * self.half) + self.at // 2 * 4
        odd = even + 4 * self.half
        if self.at % 2:  # the first column is an odd one of the scratch plane
            even, odd = odd, even + 4
        source = address(self.array) + blocks.first * self.array.strides[0] + 4 * (first * self.columns + self.skip)
        return {
            f"{self.of} source": source, f"{self.of} rows": last - first, f"{self.of} even": even, f"{self.of} odd": odd,
        }  # fmt: skip


class _Jobs:
    """Ranges of blocks that are done at the same time, each with scratch memory of its own."""

    def __init__(self, blocks: _Blocks, cost: float) -> None:
        self.blocks, self.count = blocks, job_count(blocks.count, cost)
        self.starts = ranges(blocks.count, self.count)
        self.of_block = np.repeat(np.arange(self.count), np.diff(self.starts))

    def parts(self, scratch: np.ndarray) -> np.ndarray:
        """Where each job's part of an array begins."""
        return address(scratch) + np.arange(self.count) * scratch.strides[0]

    def run(self, kernel: Any, numbers: Numbers, record: dict[str, Any], differing: dict[str, Any]) -> None:
        """Call a kernel for all blocks, with their records, and what differs between jobs."""
        from .native.winograd import RECORD

        blocks = self.blocks
        records = np.zeros((blocks.count, len(RECORD)), np.int64)
        for i, name in enumerate(RECORD):
            if name in record:
                records[:, i] = record[name]
        numbers.put(
            {"eights": blocks.eights, "row": 4 * blocks.room, "skip": 4 * blocks.across - 32 * blocks.eights}
        )  # fmt: skip
        begin = {"blocks": np.diff(self.starts), "record": address(records) + self.starts[:-1] * records.strides[0]}
        numbers.at_once(kernel, begin | differing)


def _others(array: np.ndarray) -> int:
    """Bytes between the last plane of an image and the first of the next: of those that belong to other groups of channels."""
    return int(array.strides[0] - array.shape[1] * array.strides[1])


def _sixteen(jobs: int, rows: int, room: int) -> np.ndarray:
    """Room ``(jobs, 16, rows, room)`` for the numbers of tiles."""
    # Multiples of 4096 bytes share a place in the first cache: so the sixteen are not nearly that far apart.
    apart = -(-rows * room // 1024) * 1024 + 80
    return np.empty((jobs, 16, apart), np.float32)[:, :, : rows * room].reshape(jobs, 16, rows, room)


def _mixed_weights(w: np.ndarray) -> tuple[np.ndarray, int, int]:
    """The weights of the sixteen products, and how many elements their rows and columns are apart."""
    mixing = _MIXING
    if w.strides[2] < 0 and w.strides[3] < 0:
        w, mixing = w[:, :, ::-1, ::-1], mixing[:, ::-1]
    swapped = not w.flags.c_contiguous and w.swapaxes(0, 1).flags.c_contiguous
    if swapped:
        w = w.swapaxes(0, 1)
    mixed = np.dot(mixing, w.reshape(-1, 9).T.astype(np.float32, copy=False))
    return mixed, *((1, w.shape[1]) if swapped else (w.shape[1], 1))


def tiles(
    x: np.ndarray, w: np.ndarray, low: Ints, groups: int, out: np.ndarray, bias: np.ndarray | None = None
) -> None:
    """Write into contiguous `out` the correlation of contiguous `x` with `w`, as `conv_gather.gather` does."""
    each, channels = len(w) // groups, w.shape[1]
    for g in range(groups):
        rows = slice(g * each, (g + 1) * each)
        part = x[:, g * channels : (g + 1) * channels]
        _tiles(part, w[rows], low, out[:, rows], None if bias is None else bias[rows])


def _tiles(x: np.ndarray, w: np.ndarray, low: Ints, out: np.ndarray, bias: np.ndarray | None) -> None:
    """For one group, which may be a part of the channels."""
    from .native import winograd

    run = winograd.correlate()
    results, channels = w.shape[:2]
    blocks = _Blocks(len(x), out.shape[2:], results + channels, _BLOCK_BYTES, _LEAST_TILES)
    source = _Planes("x", x, low, blocks, 2)
    weight, row, inner = _mixed_weights(w)
    shift = np.zeros(results, np.float32) if bias is None else np.ascontiguousarray(bias, np.float32)
    width = out.shape[3]
    record = blocks.record()
    record["y"] = address(out) + blocks.first * out.strides[0] + 8 * blocks.top * width
    record["y rows"] = np.minimum(2 * blocks.bottom, out.shape[2]) - 2 * blocks.top

    jobs = _Jobs(blocks, _NS * out.size * channels)
    mixed, products = _sixteen(jobs.count, channels, blocks.room), _sixteen(jobs.count, results, blocks.room)
    result = np.empty((jobs.count, 2 * blocks.height, 16 * blocks.eights), np.float32)
    numbers = Numbers(winograd.TABLE)
    plane, differing = source.scratch(numbers, jobs)
    numbers.mask("y", width)
    numbers.put(
        {
            "x apart": mixed.strides[1], "rows": results, "inner": channels, "bias": address(shift),
            "weight": address(weight), "weight row": 4 * row, "weight inner": 4 * inner, "weight apart": 4 * results * channels,
            "products apart": products.strides[1],
            "y plane": 4 * out[0, 0].size, "y others": _others(out), "y line": 4 * width, "y whole": width // 8, "y tail": 4 * (width - 8),
            "y pitch": 64 * blocks.eights,
        }
    )  # fmt: skip
    differing |= {"x into": jobs.parts(mixed), "products": jobs.parts(products), "y scratch": jobs.parts(result)}
    jobs.run(run, numbers, record | source.record(jobs.parts(plane)[jobs.of_block]), differing)


def tiles_weight(grad: np.ndarray, x: np.ndarray, low: Ints, groups: int) -> np.ndarray:
    """The transpose of `tiles` in its weights, for contiguous `grad` and `x`."""
    each, channels = grad.shape[1] // groups, x.shape[1] // groups
    grad = np.ascontiguousarray(grad, np.float32)
    parts = [
        _tiles_weight(grad[:, g * each : (g + 1) * each], x[:, g * channels : (g + 1) * channels], low)
        for g in range(groups)
    ]
    return parts[0] if groups == 1 else np.concatenate(parts)


def _tiles_weight(grad: np.ndarray, x: np.ndarray, low: Ints) -> np.ndarray:
    from .native import winograd

    run = winograd.weigh()
    results, channels = grad.shape[1], x.shape[1]
    g_groups, x_groups = -(-results // winograd.G_ROWS), -(-channels // winograd.X_ROWS)
    shape = (16, g_groups * winograd.G_ROWS, x_groups * winograd.X_ROWS)
    blocks = _Blocks(len(x), grad.shape[2:], shape[1] + shape[2], _WEIGHT_BYTES, _LEAST_SUMMED)
    inputs, upstream = _Planes("x", x, low, blocks, 2), _Planes("g", grad, (0, 0), blocks, 0)
    record = blocks.record()

    jobs = _Jobs(blocks, _NS * grad.size * channels)
    sums = np.zeros((jobs.count, *shape), np.float32)
    mixed, mixed_grad = (_sixteen(jobs.count, rows, blocks.room) for rows in (shape[2], shape[1]))
    mixed[:, :, channels:], mixed_grad[:, :, results:] = 0, 0  # numbers that mean nothing can be slow
    numbers = Numbers(winograd.TABLE)
    (plane, differing), (plane_grad, others) = inputs.scratch(numbers, jobs), upstream.scratch(numbers, jobs)
    numbers.put(
        {
            "x apart": mixed.strides[1], "x groups": x_groups, "g apart": mixed_grad.strides[1], "g groups": g_groups,
            "sums row": 4 * shape[2], "sums apart": sums[0, 0].nbytes,
        }
    )  # fmt: skip
    differing |= others
    differing |= {"x into": jobs.parts(mixed), "g into": jobs.parts(mixed_grad), "sums": jobs.parts(sums)}
    for planes, of in ((plane, inputs), (plane_grad, upstream)):
        record |= of.record(jobs.parts(planes)[jobs.of_block])
    jobs.run(run, numbers, record, differing)
    total = sums[0] if jobs.count == 1 else sums.sum(0)
    flat = total[:, :results, :channels].reshape(16, -1)
    return np.dot(flat.T, _SIGNED).reshape(results, channels, 3, 3)
