"""Correlation with any kernel, stride and dilation as native kernels: matrix products with windows that are not copied.

The images are stored as in Note [Flat phases], once, and the rows of the matrix that `conv_gather` would copy are shifted parts of that. The price are
some results that are computed twice, or in vain. See native/windows.py.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby, product
from math import prod
from typing import Any

import numpy as np

from . import native
from .conv_gather import Ints, overlap, share, summed
from .conv_scatter import find_phases
from .native._table import Numbers, address

_BLOCK_BYTES = 1 << 20  # of the images and the products of a block
_MOST_BYTES = 1 << 24  # the same of a single image
_LEAST_ROWS = 4  # channels of the result: fewer leave registers unused
_LEAST_WORK = 3 << 19  # products for each group: below, preparations take longer
_INNER = 192  # channels times taps at a time: what these meet of a few columns stays in the first cache
_SPREAD = 1.5  # what a vector costs whose results must be copied
_NS = 0.025  # for one product


def suits_flat(x: np.ndarray, weight: Ints, stride: Ints, dilation: Ints, groups: int, out: Ints) -> bool:
    """Whether this can be done, and is worth while."""
    kernel, place, rows = weight[2:], out[2:], weight[0] // groups
    work = prod(out) // groups * prod(weight[1:])
    if x.dtype != np.float32 or rows < _LEAST_ROWS or work < _LEAST_WORK or prod(kernel) == 1 or not native.available():
        return False
    phases = find_phases(place, kernel, stride, dilation)
    size = 4 * (len(phases.names) * phases.size * x.shape[1] + phases.length * weight[0])
    return size <= _MOST_BYTES and 8 * len(_vectors(place, phases.width, _SPREAD)[0]) <= 2 * prod(place)


class _Planes:
    """A batch in blocks of images, whose phases are flat and `size` elements long.

    `parts` says for each phase where it meets the image: in the phase, whose first elements are of the shape `width`, and in the image.
    """

    def __init__(self, x: np.ndarray, width: Ints, size: int, parts: list[Any], groups: int, row: int) -> None:
        self.x, self.width, self.size, self.parts = x, width, size, parts
        self.each = len(parts) * x.shape[1] * size  # elements of an image
        self.images = max(1, min(_BLOCK_BYTES // (4 * (self.each + row)), -(-len(x) // 4)))
        self.count = -(-len(x) // self.images)
        self.channels = x.shape[1] // groups
        self.apart = 4 * self.channels * size  # bytes from a group of channels to the next

    def offsets(self, taps: list[tuple[int, int]]) -> np.ndarray:
        """Where the channels of a group meet taps, given by the number of their phase and a shift, in bytes."""
        starts = [phase * self.x.shape[1] * self.size + shift for phase, shift in taps]
        return (np.arange(self.channels)[:, None] * self.size + starts).reshape(-1) * 4

    def buffer(self) -> np.ndarray:
        """Room for a block; a little more, since products are of sixteen columns."""
        room = np.empty(self.images * self.each + 16, np.float32)
        room.fill(0)
        return room

    def load(self, buffer: np.ndarray, n: int, stop: int) -> None:
        """Copy some images; what is between and around them stays 0."""
        shape = (self.images, len(self.parts), self.x.shape[1], self.size)
        planes = buffer[: self.images * self.each].reshape(shape)[: stop - n, :, :, : prod(self.width)]
        planes = planes.reshape(*planes.shape[:3], *self.width)
        for i, (inside, outside) in enumerate(self.parts):
            planes[:, i][(slice(None), slice(None), *inside)] = self.x[(slice(n, stop), slice(None), *outside)]


def _strided_planes(
    x: np.ndarray, low: Ints, kernel: Ints, stride: Ints, dilation: Ints, out: Ints, groups: int, row: int
) -> tuple[_Planes, np.ndarray]:
    """The planes for one correlation, and its offsets."""
    phases = find_phases(out, kernel, stride, dilation)
    parts = [phases.slices(name, low, stride, x.shape[2:]) for name in phases.names]
    planes = _Planes(x, phases.width, phases.size, parts, groups, row)
    return planes, planes.offsets([(phases.names.index(name), shift) for name, shift in phases.taps])


@lru_cache(32)
def _vectors(place: Ints, width: Ints, price: float) -> tuple[np.ndarray, np.ndarray, bool]:
    """Vectors of eight columns that cover results of size `place`, in planes of size `width`.

    Where each begins in the planes and in the results, in bytes. Either each row has its own, the last of which may overlap with the one before, or
    the planes are passed through as if they were one row: the results are then as wide as the planes. The last of the three says so. That is
    done where rows are shorter than a vector, and where it takes fewer vectors, although each has its `price`.
    """
    rows = _row_starts(place, width)
    wide = int(rows[-1]) + place[-1]
    each = -(-place[-1] // 8)
    if place[-1] < 8 or len(rows) * each > price * -(-wide // 8):
        start = np.arange(-(-wide // 8)) * 32
        return start, start, True
    columns = np.minimum(np.arange(each) * 8, place[-1] - 8)
    target = np.arange(len(rows))[:, None] * place[-1] + columns
    found = []
    for places in (rows[:, None] + columns, target):
        # Two that overlap must be computed together: the result is added to what is there.
        cut = max(each - 2, 0) if place[-1] % 8 else 0
        found.append(4 * np.concatenate((places[:, cut:].reshape(-1), places[:, :cut].reshape(-1))))
    return found[0], found[1], False


def _row_starts(place: Ints, width: Ints) -> np.ndarray:
    """Where the rows of results begin in planes of size `width`, in elements."""
    rows = np.zeros(1, np.int64)
    for i, n in enumerate(place[:-1]):
        rows = (rows[:, None] + np.arange(n) * prod(width[i + 1 :])).reshape(-1)
    return rows


@lru_cache(32)
def _summed(place: Ints, width: Ints) -> tuple[np.ndarray, Ints]:
    """The same for sums, where no vector may overlap: where each begins in the planes, and the size of a gradient with zeros between its rows."""
    start, _, spread = _vectors(place, width, 1)
    if spread:
        return start, (place[0], *width[1:])
    each = -(-place[-1] // 8)
    return 4 * (_row_starts(place, width)[:, None] + np.arange(each) * 8).reshape(-1), (*place[:-1], 8 * each)


def _packed(weight: np.ndarray) -> np.ndarray:
    """Weights ``(groups, rows, inner)`` as the kernel reads them."""
    from .native._products import groups_of_rows

    groups, rows, inner = weight.shape
    result = np.empty((groups, rows * inner), np.float32)
    at = 0
    for some, group in groupby(groups_of_rows(rows)):
        times = len(list(group))
        end = at + some * times
        part = result[:, at * inner : end * inner].reshape(groups, times, inner, some)
        part[...] = weight[:, at:end].reshape(groups, times, some, inner).swapaxes(2, 3)
        at = end
    return result


class _Product:
    """One correlation of planes: its weights, offsets and vectors as the kernel wants them, and where its results go."""

    def __init__(self, planes: _Planes, w: np.ndarray, offsets: np.ndarray, groups: int, out: np.ndarray) -> None:
        place, self.each = out.shape[2:], len(w) // groups
        start, target, spread = _vectors(place, planes.width, _SPREAD)
        self.out, self.direct = out, out.flags.c_contiguous and not spread
        self.wide = (place[0], *planes.width[1:]) if spread else place
        self.plane = max(prod(self.wide), 8 * len(start)) if spread else prod(place)  # elements of a plane of results
        last = [-1] * (len(start) % 2)  # of an odd number, the last one twice
        self.pairs = np.concatenate([np.append(a, a[last]).reshape(-1, 2) for a in (start, target)], axis=1)
        self.weight, self.offsets = _packed(w.reshape(groups, self.each, -1)), offsets
        taps = prod(w.shape[2:])
        self.known = {
            "x step": 4 * planes.each, "rows": self.each, "offsets": address(offsets), "inner": offsets.size,
            "inner step": max(1, _INNER // taps) * taps, "vectors": address(self.pairs), "pairs": len(self.pairs),
            "y plane": 4 * self.plane, "y step": 4 * self.plane * (len(w) if self.direct else self.each),
        }  # fmt: skip

    def run(self, numbers: Numbers, images: int, g: int, result: np.ndarray, part: np.ndarray) -> None:
        """Write a group's results for the images that were loaded to `part` of the result; if need be, by way of `result`."""
        from .native import windows

        if not self.direct:
            result = result[: images * self.each * self.plane].reshape(images, self.each, self.plane)
        numbers.put(
            self.known
            | {
                "images": images, "weight": address(self.weight) + g * self.weight.strides[0],
                "y": address(part if self.direct else result),
            }
        )  # fmt: skip
        numbers.run(windows.correlate())
        if not self.direct:
            rows = result[:, :, : prod(self.wide)].reshape(images, self.each, *self.wide)
            part[...] = rows[(slice(None), slice(None), *map(slice, part.shape[2:]))]


def flat(
    x: np.ndarray, w: np.ndarray, low: Ints, stride: Ints, dilation: Ints, groups: int, out: np.ndarray,
    bias: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Write into `out` the correlation of contiguous `x` with `w`; `out` may be a strided view."""
    place = out.shape[2:]
    planes, offsets = _strided_planes(x, low, w.shape[2:], stride, dilation, place, groups, len(w) * prod(place))
    _run(planes, [_Product(planes, w, offsets, groups, out)], groups, bias)


def flat_together(
    x: np.ndarray, parts: list[tuple[np.ndarray, Ints, np.ndarray]], dilation: Ints, groups: int,
    bias: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Several correlations of contiguous `x`, given by weights, borders and where results are written to, all with stride 1."""
    low = tuple(map(max, zip(*[border for _, border, _ in parts])))
    shifts = [tuple(a - b for a, b in zip(low, border)) for _, border, _ in parts]
    ends = [
        [shift + n + (k - 1) * d for shift, n, k, d in zip(by, out.shape[2:], w.shape[2:], dilation)]
        for by, (w, _, out) in zip(shifts, parts)
    ]
    width = tuple(map(max, zip(*ends)))
    steps = [prod(width[i + 1 :]) for i in range(len(width))]
    row = sum(out[0].size for _, _, out in parts)
    planes = _Planes(x, width, prod(width), [overlap(x.shape[2:], low, width)], groups, row)
    products = []
    for by, (w, _, out) in zip(shifts, parts):
        taps = [
            (0, sum((shift + t * d) * step for shift, t, d, step in zip(by, tap, dilation, steps)))
            for tap in product(*map(range, w.shape[2:]))
        ]
        products.append(_Product(planes, w, planes.offsets(taps), groups, out))
    _run(planes, products, groups, bias)


def _run(planes: _Planes, products: list[_Product], groups: int, bias: np.ndarray | None) -> None:
    """All products of all images."""
    from .native import windows

    x = planes.x
    channels = products[0].out.shape[1]
    shift = np.zeros(channels, np.float32) if bias is None else np.ascontiguousarray(bias, np.float32)
    room = max(0 if p.direct else planes.images * p.each * p.plane for p in products)

    def body(first: int, last: int) -> None:
        buffer, result = planes.buffer(), np.empty(room, np.float32)
        numbers = Numbers(windows.TABLE)
        for n in range(first * planes.images, min(last * planes.images, len(x)), planes.images):
            stop = min(n + planes.images, len(x))
            planes.load(buffer, n, stop)
            for one in products:
                for g in range(groups):
                    numbers.put({"x": address(buffer) + g * planes.apart, "bias": address(shift) + 4 * g * one.each})
                    one.run(numbers, stop - n, g, result, one.out[n:stop, g * one.each : (g + 1) * one.each])

    share(body, planes.count, _NS * sum(p.out.size * p.offsets.size for p in products))


def flat_weight(
    grad: np.ndarray, x: np.ndarray, low: Ints, kernel: Ints, stride: Ints, dilation: Ints, groups: int
) -> np.ndarray:
    """The transpose of `flat` in its weights: ``(O, C // groups, *kernel)``, for contiguous `grad` and `x`.

    Where `x` is infinite, it meets zeros between the rows of `grad`, which gives NaN: the caller looks at the result.
    """
    from .native import windows

    run = windows.weigh()
    place, each = grad.shape[2:], grad.shape[1] // groups
    start, wide = _summed(place, find_phases(place, kernel, stride, dilation).width)
    g_groups = -(-each // windows.G_ROWS)
    rows = g_groups * windows.G_ROWS
    room = max(prod(wide), 8 * len(start))
    elements = groups * rows * room
    source, found = _strided_planes(x, low, kernel, stride, dilation, place, groups, elements)
    inner = found.size
    x_groups = -(-inner // windows.X_ROWS)
    offsets = np.zeros(x_groups * windows.X_ROWS, np.int64)
    offsets[:inner] = found

    def body(first: int, last: int) -> np.ndarray:
        planes = source.buffer()
        upstream = np.empty((source.images, groups, rows, room), np.float32)
        upstream.fill(0)
        inside = upstream[:, :, :each, : prod(wide)].reshape(source.images, groups, each, *wide)
        inside = inside[(slice(None), slice(None), slice(None), *map(slice, place))]
        total = np.zeros((groups, rows, offsets.size), np.float32)
        numbers = Numbers(windows.TABLE)
        numbers.put(
            {
                "x step": 4 * source.each, "offsets": address(offsets), "vectors": address(start),
                "g step": upstream.strides[0], "g row": upstream.strides[2], "length": 32 * len(start),
                "g groups": g_groups, "x groups": x_groups, "sums row": total.strides[1],
            }
        )  # fmt: skip
        for n in range(first * source.images, min(last * source.images, len(x)), source.images):
            stop = min(n + source.images, len(x))
            source.load(planes, n, stop)
            inside[: stop - n] = grad[n:stop].reshape(stop - n, groups, each, *place)
            for g in range(groups):
                numbers.put(
                    {
                        "images": stop - n, "x": address(planes) + g * source.apart,
                        "g": address(upstream) + g * upstream.strides[1], "sums": address(total[g]),
                    }
                )  # fmt: skip
                numbers.run(run)
        return total

    total = summed(body, source.count, _NS * grad.size * inner)
    return total[:, :each, :inner].reshape(grad.shape[1], -1, *kernel)
