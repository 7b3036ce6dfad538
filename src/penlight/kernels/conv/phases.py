"""Windows of images with a stride, as shifts of contiguous memory.

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

from .im2col import Ints


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
