"""All taps of a depthwise correlation in one pass. The same in NumPy: kernels/conv_depthwise.py, with Note [Flat phases].

A tap is the number of its phase and its shift in it; rows are planes, `apart` elements from one to the next in the phases.
"""

from __future__ import annotations

from collections.abc import Iterator

from ._build import Array, Builder, Value
from ._functions import fma

Taps = tuple[tuple[int, int], ...]
_HELD = 9  # numbers that stay in registers during a loop


def _phases(b: Builder, taps: Taps, apart: int) -> list[Array]:
    return [b.apart(apart) for _ in range(1 + max(phase for phase, _ in taps))]


def depthwise(b: Builder, taps: Taps, apart: int) -> None:
    """out = the sum of weight * x over all taps."""
    planes, weight, out = _phases(b, taps, apart), b.apart(len(taps)), b.array()
    held = [weight.get(i) for i in range(len(taps))] if len(taps) <= _HELD else None

    def body() -> None:
        total: Value | None = None
        for i, (phase, shift) in enumerate(taps):
            factor = weight.get(i) if held is None else held[i]
            value = planes[phase].load(shift)
            total = factor * value if total is None else fma(factor, value, total)
        assert total is not None
        out.store(total)

    b.each(body)


def depthwise_weight(b: Builder, taps: Taps, apart: int) -> None:
    """For each tap, the sum of grad * x."""
    planes, grad, out = _phases(b, taps, apart), b.array(), b.apart(len(taps))
    for start in range(0, len(taps), _HELD):
        some = taps[start : start + _HELD]

        def body(some: Taps = some) -> Iterator[Value]:
            g = grad.load()
            for phase, shift in some:
                yield g * planes[phase].load(shift)

        for i, total in enumerate(b.totals(body, len(some))):
            out.put(total, start + i)
