"""Running sums and products, in float64 as PyTorch's are. The same in NumPy: kernels/scan/."""

from __future__ import annotations

from collections.abc import Callable

from ..compiler.rows import Rows
from ..compiler.values import Value, full, narrowed, shuffled, widened


def _combined(product: bool) -> Callable[[Value, Value], Value]:
    return Value.__mul__ if product else Value.__add__


def running(b: Rows, product: bool, wide: bool) -> None:
    """The running sums or products of each row, of float32 or (`wide`) of float64.

    Four numbers at a time: each with what is before it among the four, in two steps, and all with what came before them.
    """
    kind = "float64" if wide else "float32"
    x, out = b.array(kind=kind), b.array(kind=kind)
    combine = _combined(product)

    def along(four: Value, before: Value) -> tuple[Value, Value]:
        one = full(four, 1.0 if product else 0.0)
        pairs = combine(four, shuffled(four, one, (4, 0, 4, 2)))
        all_four = combine(pairs, shuffled(pairs, one, (4, 4, 1, 1)))
        return combine(all_four, before), combine(shuffled(all_four, all_four, (3, 3, 3, 3)), before)

    def step(before: Value) -> list[Value]:
        if wide:
            result, before = along(x.load(), before)
        else:
            low, high = widened(x.load())
            lower, before = along(low, before)
            upper, before = along(high, before)
            result = narrowed((lower, upper))
        out.store(result)
        return [before]

    b.each(step, carry=[b.of_doubles(1.0 if product else 0.0)])


def running_down(b: Rows, product: bool) -> None:
    """The running sums or products of each column, of rows that are done in order; the second array has them in float64."""
    x, so_far, out = b.array(), b.doubles(), b.array()
    combine = _combined(product)

    def step() -> None:
        low, high = (combine(new, old) for new, old in zip(widened(x.load()), so_far.load_halves()))
        so_far.store_halves(low, high)
        out.store(narrowed((low, high)))

    b.each(step)
