"""The transpose of correlation by scattering: multiply first, then add each tap's product where it belongs (col2im).

Note [Flat phases]
An output position ``t`` and a tap ``k`` meet at the padded input position ``t * stride + k * dilation``. Split the
input by its remainder modulo the stride into phases: tap ``k`` then belongs to one phase, and inside that phase its
contribution is the whole output shifted by ``k * dilation // stride``. If rows are stored with the phase's width, a
shift in several dims is one shift of the flattened array. So every tap is a single long contiguous operation, which
NumPy does some five times faster than the same additions in short strided rows.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import product
from math import prod

import numpy as np

from .im2col import GRAIN_NS, Ints, share

_BLOCK_BYTES = 1 << 21

# For each phase, where it meets the input: (in the phase, in the input).
Targets = dict[Ints, tuple[tuple[slice, ...], tuple[slice, ...]]]


class Phases:
    """The geometry of Note [Flat phases] for one kernel: widths, and the phase and shift of each tap."""

    def __init__(self, out: Ints, kernel: Ints, stride: Ints, dilation: Ints) -> None:
        reach = [(k - 1) * d // s for k, s, d in zip(kernel, stride, dilation, strict=True)]
        self.width = tuple(o + r for o, r in zip(out, reach, strict=True))
        # Output rows are stored as wide as the phases; the first dim needs no widening.
        self.wide = (out[0], *self.width[1:])
        self.length = prod(self.wide)
        steps = [prod(self.width[i + 1 :]) for i in range(len(out))]
        # The last tap's shifted rows end this many elements beyond the phase.
        self.size = max(prod(self.width), self.length + sum(r * s for r, s in zip(reach, steps, strict=True)))
        self.taps: list[tuple[Ints, int]] = []
        for tap in product(*map(range, kernel)):
            at = [k * d for k, d in zip(tap, dilation, strict=True)]
            shift = sum(a // s * step for a, s, step in zip(at, stride, steps, strict=True))
            self.taps.append((tuple(a % s for a, s in zip(at, stride, strict=True)), shift))
        self.names = sorted({name for name, _ in self.taps})

    def slices(self, name: Ints, low: Ints, stride: Ints, size: Ints) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """Where the phase `name` meets an input of `size` with `low` zeros before it: (in the phase, in the input)."""
        inside, outside = [], []
        for r, before, s, n, m in zip(name, low, stride, size, self.width, strict=True):
            first = max(-((r - before) // s), 0)
            last = min((n - 1 + before - r) // s + 1, m)
            count = max(last - first, 0)
            begin = first * s + r - before
            inside.append(slice(first, first + count))
            outside.append(slice(begin, begin + count * s, s) if count else slice(0, 0))
        return tuple(inside), tuple(outside)


# Geometry takes longer to find than small images take to convolve, and is small.
find_phases = lru_cache(maxsize=128)(Phases)


def scatter(
    grad: np.ndarray, w: np.ndarray, low: Ints, stride: Ints, dilation: Ints, groups: int, out: np.ndarray,
    bias: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Write into `out` ``(N, C, *input)`` the transpose of a correlation with `w` ``(O, C // groups, *kernel)``."""
    phases = find_phases(grad.shape[2:], w.shape[2:], stride, dilation)
    targets = {name: phases.slices(name, low, stride, out.shape[2:]) for name in phases.names}
    if sum(prod(s.stop - s.start for s in inside) for inside, _ in targets.values()) < prod(out.shape[2:]):
        out.fill(0)
    small = out.shape[1] * len(phases.taps) * prod(phases.width) * grad.itemsize < _BLOCK_BYTES // 4
    (_scatter_images if small else _scatter_rows)(grad, w, groups, phases, targets, out)
    if bias is not None:
        out += bias.reshape(-1, *(1,) * len(stride))


def _cost(grad: np.ndarray, w: np.ndarray, groups: int, phases: Phases) -> float:
    """The estimated time in ns."""
    sums = len(grad) * phases.length * w[0].size * groups
    return grad.itemsize / 4 * sums * (len(w) / groups / 40 + 0.6)


def _scatter_rows(
    grad: np.ndarray, w: np.ndarray, groups: int, phases: Phases, targets: Targets, out: np.ndarray
) -> None:
    """Image by image, some rows at a time."""
    place, depth = grad.shape[2:], out.shape[1]
    each = grad.shape[1] // groups
    taps, rest = len(phases.taps), phases.length // place[0]
    weight = np.ascontiguousarray(w.reshape(groups, each, -1).swapaxes(1, 2))
    rows = max(1, min(place[0], _BLOCK_BYTES // (depth * taps * rest * grad.itemsize)))
    inner = (*(slice(None),) * 3, *(slice(n) for n in place[1:]))

    def body(first: int, last: int) -> None:
        sums = {name: np.empty((depth, phases.size), grad.dtype) for name in phases.names}
        wide = np.zeros((groups, each, rows, *phases.wide[1:]), grad.dtype)
        for n in range(first, last):
            for total in sums.values():
                total.fill(0)
            for top in range(0, place[0], rows):
                here = min(rows, place[0] - top)
                g = wide[:, :, :here]
                g[inner] = grad[n, :, top : top + here].reshape(groups, each, here, *place[1:])
                p = np.matmul(weight, g.reshape(groups, each, here * rest)).reshape(depth, taps, here * rest)
                for tap, (name, shift) in enumerate(phases.taps):
                    part = sums[name][:, top * rest + shift : (top + here) * rest + shift]
                    np.add(part, p[:, tap], out=part)
            for name, (inside, outside) in targets.items():
                total = sums[name][:, : prod(phases.width)].reshape(depth, *phases.width)
                out[n][(slice(None), *outside)] = total[(slice(None), *inside)]

    share(body, len(grad), _cost(grad, w, groups, phases))


def _scatter_images(
    grad: np.ndarray, w: np.ndarray, groups: int, phases: Phases, targets: Targets, out: np.ndarray
) -> None:
    """Several small images side by side, so that a tap still is one long operation.

    The planes are widened in all dims. The zeros at the end of each are as many as any shift, so that nothing moves from
    one plane into the next.
    """
    count, place, depth = len(grad), grad.shape[2:], out.shape[1] // groups
    each, taps, size = grad.shape[1] // groups, len(phases.taps), prod(phases.width)
    weight = w.reshape(groups, each, depth, taps).transpose(0, 3, 2, 1).reshape(groups, taps * depth, each)
    cost = _cost(grad, w, groups, phases)
    busy = 8 if cost > 2 * GRAIN_NS else 1
    images = max(1, min(-(-count // busy), _BLOCK_BYTES // (groups * depth * taps * size * grad.itemsize)))

    def body(first: int, last: int) -> None:
        sums = {name: np.empty((groups, depth * images * size), grad.dtype) for name in phases.names}
        wide = np.zeros((groups, each, images, *phases.width), grad.dtype)
        p = np.empty((groups, taps * depth, images * size), grad.dtype)
        for n in range(first * images, min(last * images, count), images):
            stop = min(n + images, count)
            into = wide[(slice(None), slice(None), slice(stop - n), *map(slice, place))]
            into[...] = np.moveaxis(grad[n:stop].reshape(stop - n, groups, each, *place), 0, 2)
            products = np.matmul(weight, wide.reshape(groups, each, -1), out=p).reshape(groups, taps, -1)
            for total in sums.values():
                total.fill(0)
            for tap, (name, shift) in enumerate(phases.taps):
                part = sums[name][:, shift:]
                np.add(part, products[:, tap, : part.shape[1]], out=part)
            for name, (inside, outside) in targets.items():
                total = sums[name].reshape(groups * depth, images, *phases.width)[:, : stop - n]
                result = total[(slice(None), slice(None), *inside)].swapaxes(0, 1)
                out[(slice(n, stop), slice(None), *outside)] = result

    share(body, -(-count // images), cost)
