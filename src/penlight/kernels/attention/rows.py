"""Row kernels on the attention scores of queries (rows) and keys (columns), in float32 or float64. The NumPy version is in kernels/attention/.

In a `causal` row only the keys up to a column are visible: `column_numbers` holds the columns' indices, `last` the last visible one of each row.
"""

from __future__ import annotations

from collections.abc import Callable

from ..compiler.math import exp_below, log
from ..compiler.rows import Array, Rows
from ..compiler.values import Value, full, greater, larger, less, where, without

_LEAST = {False: -3.4028234663852886e38, True: -1.7976931348623157e308}  # of float32 and of float64


def attend(b: Rows, causal: bool) -> None:
    """From products to probabilities, in place: softmax of x * scale; and the log of the sum of exponentials.

    A fully masked row becomes 0.
    """
    x, logs = b.array(), b.per_row()
    score = _scores(b, x, causal)
    top = larger(b.largest(score, unroll=2), _LEAST[b.double])  # finite, so that masked scores stay -inf
    total = b.total(lambda: x.store(exp_below(score() - top)))
    logs.put(log(total) + top)
    # The largest score contributes 1, so a smaller total means a fully masked row.
    inverse = without(less(total, 0.5), 1.0 / total)
    b.each(lambda: x.store(x.load() * inverse), unroll=4)


def attend_again(b: Rows, causal: bool) -> None:
    """The probabilities recomputed from the logs, which are +inf for fully masked rows."""
    x, logs = b.array(), b.per_row()
    low = logs.get()
    score = _scores(b, x, causal)
    b.each(lambda: x.store(exp_below(score() - low)))


def attend_backward(b: Rows) -> None:
    """Gradients of the products, in place of those of the probabilities p: scale * p * (grad - sum(p * grad))."""
    grad, p, scale = b.array(), b.array(), b.number()
    along, factor = b.total(lambda: p.load() * grad.load(), unroll=4), scale()
    b.each(lambda: grad.store(p.load() * factor * (grad.load() - along)), unroll=4)


def _scores(b: Rows, x: Array, causal: bool) -> Callable[[], Value]:
    """The scores of a loop's vector: x * scale, and -inf where masked."""
    scale = b.number()()
    if not causal:
        return lambda: x.load() * scale
    column_numbers, last = b.array(width=0), b.per_row().get()
    hidden = full(scale, float("-inf"))
    return lambda: where(greater(column_numbers.load(), last), hidden, x.load() * scale)
