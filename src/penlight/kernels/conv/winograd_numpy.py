"""Correlation with a kernel of 3 along the first spatial dim, by Winograd's minimal filtering F(2, 3).

Note [Winograd along one dim]
Two neighbouring results of a filter ``g0 g1 g2`` over ``d0 d1 d2 d3`` take six products; they also are
``m0 + m1 + m2`` and ``m1 - m2 - m3`` with the four products

    m0 = (d0 - d2) g0                    m1 = (d1 + d2) (g0 + g1 + g2) / 2
    m3 = (d1 - d3) g2                    m2 = (d2 - d1) (g0 - g1 + g2) / 2

Here the d are rows of the image, the g rows of the kernel, and a product is a matrix product over the channels and the
remaining dims of the kernel (which are expanded as usual): two thirds of the multiplications, and fewer columns to
copy. Each result still depends on exactly the rows it should, and the rounding error is as small as the direct way's.
The transpose in the weights is the same four products with ``e0, e0 + e1, e0 - e1, -e1`` of the gradient's rows.

Even and odd rows are first copied apart, so that all arithmetic is on long contiguous runs; see Note [Flat phases].
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

import numpy as np

from .col2im import find_phases
from .im2col import GRAIN_NS, Ints, overlap, share, spans, summed

_BLOCK_BYTES = 1 << 21
_LEAST_CHANNELS = 24  # fewer make mixing take longer than what it saves
_LEAST_WORK = 1 << 20  # products for each tap: below, preparations take longer
_LEAST_PLACES = 600  # of results: for fewer it takes longer to mix the weights
_MOST_WEIGHTS = 1 << 20


def suits_winograd(x: np.ndarray, weight: Ints, stride: Ints, dilation: Ints, groups: int, out: Ints) -> bool:
    """Whether the sizes allow Winograd and make it worth while: channels on both sides, and many positions."""
    return (
        weight[2] == 3
        and stride[0] == dilation[0] == groups == 1
        and weight[0] >= _LEAST_CHANNELS
        and weight[1] >= _LEAST_CHANNELS
        and out[2] > 1
        and prod(out) * weight[1] >= _LEAST_WORK
        and out[0] * prod(out[2:]) >= _LEAST_PLACES
        and prod(weight) <= _MOST_WEIGHTS
        and x.dtype.kind == "f"
    )


class _Tiles:
    """The transformed input: for each block of images and row pairs, the four matrices that are multiplied."""

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
        self.x, self.low, self.out = x, low, out
        self.kernel, self.stride, self.dilation = kernel[1:], stride[1:], dilation[1:]
        self.span = spans(out[1:], self.kernel, self.stride, self.dilation)
        self.border = overlap(x.shape[3:], low[1:], self.span)
        self.rows = x.shape[1] * prod(self.kernel)
        self.pairs, self.rest = -(-out[0] // 2), prod(out[1:])
        size = 4 * self.rows * self.rest * self.pairs * x.itemsize
        busy = 1 if cost < 2 * GRAIN_NS else 2 if least > _BLOCK_BYTES else 8
        target = max(_BLOCK_BYTES, least)
        self.parts = min(self.pairs, max(-(-size // target), busy // len(x)))
        self.images = 1 if self.parts > 1 else max(1, min(-(-len(x) // busy), target // size))
        self.height = -(-self.pairs // self.parts)
        self.count = -(-len(x) // self.images) * self.parts

    def blocks(self, low: int, high: int) -> Iterator[tuple[int, int, int, int, np.ndarray]]:
        """For blocks `low` to `high`: first and past the last image, the same of the pairs, and ``(4, rows, positions)``.

        The positions run over images, pairs and the remaining dims, in this order.
        """
        x, channels, height = self.x, self.x.shape[1], self.height
        # Zeros around the rows, if anything is there; `_load` fills the rest.
        bordered = any(part.stop - part.start < size for part, size in zip(self.border[0], self.span, strict=True))
        halves = (np.zeros if bordered else np.empty)((2, channels, self.images, height + 1, *self.span), x.dtype)
        mixed = np.empty_like(halves[0])
        buffer = np.empty(4 * self.rows * self.images * height * self.rest, x.dtype)
        for block in range(low, high):
            n, at = divmod(block, self.parts)
            n, stop = n * self.images, min(len(x), (n + 1) * self.images)
            top, bottom = at * height, min((at + 1) * height, self.pairs)
            if top >= bottom:
                continue
            for i in (0, 1):
                self._load(halves[i, :, : stop - n, : bottom - top + 1], n, stop, 2 * top + i - self.low[0])
            shape = (4, *self.kernel, channels, stop - n, bottom - top, *self.out[1:])
            tiles = buffer[: prod(shape)].reshape(shape)
            self._mix(halves, mixed, tiles)
            yield n, stop, top, bottom, tiles.reshape(4, self.rows, -1)

    def _mix(self, halves: np.ndarray, mixed: np.ndarray, tiles: np.ndarray) -> None:
        """The sums and differences of rows, and their windows over the remaining dims, into `tiles`.

        As flat arrays, the row below is one row further on. The sum of the last row of each channel is meaningless,
        and is not used.
        """
        row = prod(self.span)
        even, odd = halves.reshape(2, -1)
        flat = mixed.reshape(-1)[:-row]
        upper, lower, middle, last = even[:-row], even[row:], odd[:-row], odd[row:]
        inner = mixed.strides[3:]
        steps = [s * d for s, d in zip(inner, self.dilation, strict=True)]
        moves = [s * d for s, d in zip(inner, self.stride, strict=True)]
        view = np.ndarray(tiles.shape[1:], mixed.dtype, mixed, 0, (*steps, *mixed.strides[:3], *moves))
        np.subtract(upper, lower, out=flat)
        np.copyto(tiles[0], view)
        np.add(middle, lower, out=flat)
        np.copyto(tiles[1], view)
        np.subtract(lower, middle, out=flat)
        np.copyto(tiles[2], view)
        np.subtract(middle, last, out=flat)
        np.copyto(tiles[3], view)

    def _load(self, half: np.ndarray, n: int, stop: int, first: int) -> None:
        """Copy every second row from the `first` on into `half`, zeros where there is none."""
        size, count = self.x.shape[2], half.shape[2]
        skip = max(-first, 0) + 1 >> 1
        begin = first + 2 * skip
        there = max(min(count - skip, (size - begin + 1) // 2), 0)
        into, source = self.border
        half[:, :, :skip] = 0
        half[:, :, skip + there :] = 0
        rows = self.x[(slice(n, stop), slice(None), slice(begin, begin + 2 * there, 2), *source)]
        half[(slice(None), slice(None), slice(skip, skip + there), *into)] = rows.swapaxes(0, 1)


def _transform(w: np.ndarray) -> np.ndarray:
    """The weights of the four products, ``(4, O, kernel rest * C)``."""
    rows = np.ascontiguousarray(w.transpose(2, *range(3, w.ndim), 0, 1)).reshape(3, -1, *w.shape[:2])
    result = np.empty((4, w.shape[0], rows.shape[1], w.shape[1]), w.dtype)
    first, plus, minus, last = result.swapaxes(1, 2)
    first[...], last[...] = rows[0], rows[2]
    rows[0] += rows[2]
    rows[:2] *= w.dtype.type(0.5)
    np.add(rows[0], rows[1], out=plus)
    np.subtract(rows[0], rows[1], out=minus)
    return result.reshape(4, w.shape[0], -1)


def winograd(
    x: np.ndarray, w: np.ndarray, low: Ints, stride: Ints, dilation: Ints, out: np.ndarray,
    bias: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Write into `out` the correlation of contiguous `x` with `w`, as `conv_gather.gather` does for one group."""
    place = out.shape[2:]
    cost = x.itemsize / 4 * len(x) * prod(place) * w[0].size * (w.shape[0] / 60 + 0.5)
    tiles = _Tiles(x, low, w.shape[2:], stride, dilation, place, cost)
    weight = _transform(w)
    add = None if bias is None else bias.reshape(-1, 1)

    def body(first: int, last: int) -> None:
        buffer = np.empty(4 * len(w) * tiles.images * tiles.height * tiles.rest, x.dtype)
        for n, stop, top, bottom, block in tiles.blocks(first, last):
            m = buffer[: 4 * len(w) * block.shape[2]].reshape(4, len(w), -1)
            m0, m1, m2, m3 = np.matmul(weight, block, out=m)
            np.add(m0, m1, out=m0)
            np.add(m0, m2, out=m0)
            np.subtract(m1, m2, out=m1)
            np.subtract(m1, m3, out=m1)
            if add is not None:
                m[:2] += add
            for i in (0, 1):
                rows = out[n:stop, :, 2 * top + i : 2 * bottom : 2]
                y = m[i].reshape(-1, stop - n, bottom - top, *place[1:])[:, :, : rows.shape[2]]
                rows[...] = y.swapaxes(0, 1)

    share(body, tiles.count, cost)


def winograd_weight(
    grad: np.ndarray, x: np.ndarray, low: Ints, kernel: Ints, stride: Ints, dilation: Ints
) -> np.ndarray:
    """The transpose of `winograd` in its weights."""
    place, channels = grad.shape[2:], grad.shape[1]
    cost = x.itemsize / 4 * len(x) * prod(place) * x.shape[1] * prod(kernel) * (channels / 60 + 0.5)
    tiles = _Tiles(
        x, low, kernel, stride, dilation, place, cost, 8 * channels * x.shape[1] * prod(kernel[1:]) * x.itemsize
    )

    def body(first: int, last: int) -> np.ndarray:
        total = np.zeros((4, channels, tiles.rows), x.dtype)
        part = np.empty_like(total)
        buffer = np.empty(4 * channels * tiles.images * tiles.height * tiles.rest, x.dtype)
        for n, stop, top, bottom, block in tiles.blocks(first, last):
            shape = (4, channels, stop - n, bottom - top, *place[1:])
            mix = buffer[: prod(shape)].reshape(shape)
            for i in (0, 3):
                rows = grad[n:stop, :, 2 * top + i // 3 : 2 * bottom : 2]
                mix[i, :, :, : rows.shape[2]] = rows.swapaxes(0, 1)
                mix[i, :, :, rows.shape[2] :] = 0
            np.add(mix[0], mix[3], out=mix[1])
            np.subtract(mix[0], mix[3], out=mix[2])
            total += np.matmul(mix.reshape(4, channels, -1), block.swapaxes(1, 2), out=part)
        return total

    t0, t1, t2, t3 = total = summed(body, tiles.count, cost)
    total[1:3] *= x.dtype.type(0.5)
    t0 += t1
    t0 += t2
    np.subtract(t1, t3, out=t3)
    t3 += t2
    t1 -= t2
    result = np.empty((channels, x.shape[1], *kernel), x.dtype)
    for i, row in enumerate((t0, t1, t3)):
        result[:, :, i] = np.moveaxis(row.reshape(channels, *kernel[1:], -1), -1, 1)
    return result


def winograd_scatter(
    grad: np.ndarray, w: np.ndarray, low: Ints, dilation: Ints, out: np.ndarray, bias: np.ndarray | None = None
) -> None:
    """Write into `out` the transpose of `winograd` in its input, for stride 1: `w` is ``(O, C, 3, ...)``.

    The products come first and the kernel's remaining dims are added up afterwards, as in `conv_scatter`, which copies
    less than correlating with the flipped kernel if there are fewer channels in `out` than in `grad`.
    """
    count, depth, place = len(grad), out.shape[1], grad.shape[2:]
    pairs, ones = -(-place[0] // 2), (1,) * len(place)
    phases = find_phases((pairs, *place[1:]), (1, *w.shape[3:]), ones, (1, *dilation[1:]))
    row = phases.length // pairs
    cost = grad.itemsize / 4 * count * phases.length * 2 * w[0].size * (len(w) / 60 + 0.5)
    images = _BLOCK_BYTES // (4 * len(phases.taps) * depth * phases.length * grad.itemsize)
    images = max(1, min(images, -(-count // 8)))
    weight = np.ascontiguousarray(_transform(w).swapaxes(1, 2))
    inside, outside = phases.slices((0,) * len(place), (0, *low[1:]), ones, out.shape[2:])
    inner = tuple(slice(n) for n in place[1:])

    def body(first: int, last: int) -> None:
        mixed = np.empty((4, len(w), images, *phases.wide), grad.dtype)
        mixed[0], mixed[3] = 0, 0  # what the rows of the gradient leave over
        product = np.empty((4, len(phases.taps), depth, images * phases.length), grad.dtype)
        total = product[:, 0]
        halves = np.empty((2, depth, images, pairs + 1, row), grad.dtype)
        for n in range(first * images, min(last * images, count), images):
            stop = min(n + images, count)
            for i in (0, 3):
                rows = grad[n:stop, :, i // 3 :: 2]
                mixed[(i, slice(None), slice(stop - n), slice(rows.shape[2]), *inner)] = rows.swapaxes(0, 1)
            np.add(mixed[0], mixed[3], out=mixed[1])
            np.subtract(mixed[0], mixed[3], out=mixed[2])
            np.matmul(weight, mixed.reshape(4, len(w), -1), out=product.reshape(4, weight.shape[1], -1))
            # Each row ends in zeros, as many as it is shifted by, so that nothing is lost at the end of the array.
            for tap, (_, shift) in enumerate(phases.taps[1:], 1):
                where = total[:, :, shift:]
                np.add(where, product[:, tap, :, :-shift], out=where)
            _unmix(total.reshape(4, depth, images, pairs, row), halves)
            for i, half in enumerate(halves):
                skip = max(low[0] - i, 0) + 1 >> 1
                target = out[(slice(n, stop), slice(None), slice(2 * skip + i - low[0], None, 2), *outside[1:])]
                half = half.reshape(depth, images, pairs + 1, *phases.width[1:])
                rows = half[(slice(None), slice(stop - n), slice(skip, skip + target.shape[2]), *inside[1:])]
                target[...] = rows.swapaxes(0, 1)

    share(body, -(-count // images), cost)
    if bias is not None:
        out += bias.reshape(-1, *ones)


def _unmix(products: np.ndarray, halves: np.ndarray) -> None:
    """The transpose of the sums and differences of rows: from four products to even and odd rows."""
    v0, v1, v2, v3 = products
    even, odd = halves
    halves[:, :, :, -1] = 0
    even[:, :, :-1] = v0
    np.subtract(v1, v2, out=odd[:, :, :-1])
    odd[:, :, :-1] -= v3
    odd[:, :, 1:] += v3
    v1 += v2
    v1 -= v0
    even[:, :, 1:] += v1
