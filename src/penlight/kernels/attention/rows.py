"""What attention does to the scores of queries (rows) and keys (columns). The same in NumPy: kernels/attention/.

Of a `causal` row only the keys up to a place count: `places` numbers the columns, `last` has the last one for each row.
"""

from __future__ import annotations

from collections.abc import Callable

from ..native._build import Array, Builder, Value
from ..native._functions import exp_below, greater, less, log

_LEAST = -3.4028234663852886e38


def attend(b: Builder, causal: bool) -> None:
    """From products to probabilities, in place: softmax of x * scale; and the log of the sum of exponentials.

    A row that may look at nothing becomes 0.
    """
    x, logs = b.array(), b.per_row()
    score = _scores(b, x, causal)
    top = b.emit("vmaxps", b.largest(score, unroll=2), b.constant(_LEAST))  # finite, so that hidden scores stay -inf
    total = b.total(lambda: x.store(exp_below(score() - top)))
    logs.put(log(total) + top)
    inverse = b.emit("vandnps", less(total, 0.5), 1.0 / total)  # the largest counts 1, so less means that there is none
    b.each(lambda: x.store(x.load() * inverse), unroll=4)


def attend_again(b: Builder, causal: bool) -> None:
    """The same from the logs, which are +inf where a row may look at nothing."""
    x, logs = b.array(), b.per_row()
    low = logs.get()
    score = _scores(b, x, causal)
    b.each(lambda: x.store(exp_below(score() - low)))


def attend_backward(b: Builder) -> None:
    """Gradients of the products, in place of those of the probabilities p: scale * p * (grad - sum(p * grad))."""
    grad, p, scale = b.array(), b.array(), b.number()
    along, factor = b.total(lambda: p.load() * grad.load(), unroll=4), scale()
    b.each(lambda: grad.store(p.load() * factor * (grad.load() - along)), unroll=4)


def _scores(b: Builder, x: Array, causal: bool) -> Callable[[], Value]:
    """The scores at a loop's place: x * scale, and -inf for what may not be looked at."""
    scale = b.number()()
    if not causal:
        return lambda: x.load() * scale
    places, last = b.array(width=0), b.per_row().get()
    hidden = b.constant(float("-inf"))
    return lambda: b.emit("blend", x.load() * scale, hidden, greater(places.load(), last))
