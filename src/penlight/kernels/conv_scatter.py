"""The transpose of correlation by scattering: multiply first, then add each tap's product where it belongs (col2im).

Note [Flat phases]
An output position ``t`` and a tap ``k`` meet at the padded input position ``t * stride + k * dilation``. Split the
input by its remainder modulo the stride into phases: tap ``k`` then belongs to one phase, and inside that phase its
contribution is the whole output shifted by ``k * dilation // stride``. If rows are stored with the phase's width, a
shift in several dims is one shift of the flattened array. So every tap is a single long contiguous operation, which
NumPy does some five times faster than the same additions in short strided rows.
"""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from .conv_gather import Ints, share

_BLOCK_BYTES = 1 << 21


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


def scatter(
    grad: np.ndarray, w: np.ndarray, low: Ints, stride: Ints, dilation: Ints, groups: int, out: np.ndarray,
    bias: np.ndarray | None = None,
) -> None:  # fmt: skip
    """Write into `out` ``(N, C, *input)`` the transpose of a correlation with `w` ``(O, C // groups, *kernel)``."""
    count, place, depth = len(grad), grad.shape[2:], out.shape[1]
    each = grad.shape[1] // groups
    phases = Phases(place, w.shape[2:], stride, dilation)
    taps, rest = len(phases.taps), phases.length // place[0]
    weight = np.ascontiguousarray(w.reshape(groups, each, -1).swapaxes(1, 2))
    # A block is some images, or some rows of one.
    row_bytes = depth * taps * rest * grad.itemsize
    rows = max(1, min(place[0], _BLOCK_BYTES // row_bytes))
    images = max(1, min(-(-count // 8), _BLOCK_BYTES // (row_bytes * place[0])))
    inner = (*(slice(None),) * 4, *(slice(n) for n in place[1:]))
    targets = {name: phases.slices(name, low, stride, out.shape[2:]) for name in phases.names}
    if sum(prod(s.stop - s.start for s in inside) for inside, _ in targets.values()) < prod(out.shape[2:]):
        out.fill(0)

    def body(first: int, last: int) -> None:
        sums = {name: np.empty((images, depth, phases.size), grad.dtype) for name in phases.names}
        wide = np.zeros((images, groups, each, rows, *phases.wide[1:]), grad.dtype)
        for n in range(first * images, min(last * images, count), images):
            stop = min(n + images, count)
            for total in sums.values():
                total.fill(0)
            for top in range(0, place[0], rows):
                here = min(rows, place[0] - top)
                g = wide[: stop - n, :, :, :here]
                g[inner] = grad[n:stop, :, top : top + here].reshape(stop - n, groups, each, here, *place[1:])
                p = np.matmul(weight, g.reshape(stop - n, groups, each, here * rest))
                p = p.reshape(stop - n, depth, taps, here * rest)
                for tap, (name, shift) in enumerate(phases.taps):
                    part = sums[name][: stop - n, :, top * rest + shift : (top + here) * rest + shift]
                    np.add(part, p[:, :, tap], out=part)
            for name, (inside, outside) in targets.items():
                total = sums[name][: stop - n, :, : prod(phases.width)].reshape(stop - n, depth, *phases.width)
                out[(slice(n, stop), slice(None), *outside)] = total[(slice(None), slice(None), *inside)]

    share(body, -(-count // images), grad.itemsize / 4 * count * phases.length * depth * taps * (each / 40 + 0.6))
    if bias is not None:
        out += bias.reshape(-1, *(1,) * len(place))
