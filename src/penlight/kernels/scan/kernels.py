"""Running sums and products, in float64 as PyTorch's are. The same in NumPy: kernels/scan/."""

from __future__ import annotations

from ..native import _doubles as d
from ..native._build import Builder, Value
from ..native._x86 import Pooled


def running(b: Builder, product: bool, wide: bool) -> None:
    """The running sums or products of each row, of float32 or (`wide`) of float64, whose rows count as twice as many columns.

    Four numbers at a time: each with what is before it among the four, in two steps, and all with what came before them.
    """
    x, out = b.array(), b.array()
    operation, neutral = ("vmulpd", d.double(1.0)) if product else ("vaddpd", Pooled(0))
    so_far = b.emit("constant", neutral)

    def along(four: Value) -> Value:
        one = b.emit("constant", neutral)
        pairs = b.emit(operation, four, b.emit("choose", one, b.emit("reorder", four, 0xA0), 0b1010))
        all_four = b.emit(operation, pairs, b.emit("choose", one, b.emit("reorder", pairs, 0x55), 0b1100))
        result = b.emit(operation, all_four, so_far)
        b.emit("fold", operation, so_far, b.emit("reorder", all_four, 0xFF))
        return result

    def step() -> None:
        if wide:
            out.store(along(x.load()))
        else:
            low, high = d.widened(x.load())
            out.store(d.narrowed((along(low), along(high))))

    b.each(step)


def running_down(b: Builder, product: bool) -> None:
    """The running sums or products of each column, of rows that are done in order; the second array has them in float64."""
    x, so_far, out = b.array(), b.doubles(), b.array()
    operation = "vmulpd" if product else "vaddpd"

    def step() -> None:
        low, high = (b.emit(operation, new, old) for new, old in zip(d.widened(x.load()), so_far.load_halves()))
        so_far.store_halves(low, high)
        out.store(d.narrowed((low, high)))

    b.each(step)
