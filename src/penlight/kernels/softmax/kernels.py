"""Row kernels for softmax, log-softmax and cross entropy. The NumPy versions are in kernels/softmax/.

Exponents are at most 0 here, except in `logsumexp`.
"""

from __future__ import annotations

from ..compiler.math import exp, exp_below, log
from ..compiler.rows import Rows
from ..compiler.values import Value, absolute, greater, larger, without


def softmax(b: Rows) -> None:
    """out = e**(x - max) / sum."""
    x, out = b.array(), b.array()
    top = b.largest(x.load)
    total = b.total(lambda: out.store(exp_below(x.load() - top)))
    scale = 1.0 / total
    b.each(lambda: out.store(out.load() * scale), unroll=4)


def softmax_backward(b: Rows) -> None:
    """out = y * (grad - sum(y * grad))."""
    y, grad, out = b.array(), b.array(), b.array()
    along = b.total(lambda: y.load() * grad.load(), unroll=4)
    b.each(lambda: out.store(y.load() * (grad.load() - along)), unroll=4)


def log_softmax(b: Rows) -> None:
    """out = x - max - log(sum(e**(x - max)))."""
    x, out = b.array(), b.array()
    top = b.largest(x.load)
    shift = log(b.total(lambda: exp_below(x.load() - top)))
    b.each(lambda: out.store(x.load() - top - shift), unroll=4)


def log_softmax_backward(b: Rows) -> None:
    """out = grad - e**y * sum(grad)."""
    y, grad, out = b.array(), b.array(), b.array()
    total = b.total(grad.load, unroll=4)
    b.each(lambda: out.store(grad.load() - exp_below(y.load()) * total))


def logsumexp(b: Rows) -> None:
    """out = max + log(sum(e**(x - max))) of each row; an infinite maximum is replaced by 0."""
    x, out = b.array(), b.per_row()
    top = b.largest(x.load)
    infinite = greater(absolute(top), 1.7976931348623157e308 if b.double else 3.4028234663852886e38)
    top = without(infinite, top)
    out.put(log(b.total(lambda: exp(x.load() - top))) + top)


def exponentials(b: Rows, keep: bool) -> None:
    """The maximum of each row and the sum of e**(x - max), and with `keep` these exponentials."""
    x, tops, totals = b.array(), b.per_row(), b.per_row()
    out = b.array() if keep else None
    top = b.largest(x.load)
    tops.put(top)

    def power() -> Value:
        value = exp_below(x.load() - top)
        return out.store(value) if out else value

    totals.put(b.total(power))


def scaled(b: Rows) -> None:
    """out = x * scale with a scale for each row."""
    x, scale, out = b.array(), b.per_row(), b.array()
    factor = scale.get()
    b.each(lambda: out.store(x.load() * factor), unroll=4)


# Along the columns of a matrix. Results per column are accumulated in rows that all rows share: `native.in_order`.


def column_tops(b: Rows) -> None:
    """top = max(top, x)."""
    x, top = b.array(), b.array(width=0)
    b.each(lambda: top.store(larger(x.load(), top.load())), unroll=4)


def column_exponentials(b: Rows, keep: bool) -> None:
    """total += e**(x - top), and with `keep` these exponentials."""
    x, top, total = b.array(), b.array(width=0), b.array(width=0)
    out = b.array() if keep else None

    def power() -> None:
        value = exp_below(x.load() - top.load())
        total.add(value)
        if out:
            out.store(value)

    b.each(power)


def column_scaled(b: Rows) -> None:
    """x *= scale."""
    x, scale = b.array(), b.array(width=0)
    b.each(lambda: x.store(x.load() * scale.load()), unroll=4)


def column_shifted(b: Rows) -> None:
    """out = x - top - shift."""
    x, top, shift, out = b.array(), b.array(width=0), b.array(width=0), b.array()
    b.each(lambda: out.store(x.load() - top.load() - shift.load()), unroll=4)


def column_products(b: Rows) -> None:
    """total += x * y."""
    x, y, total = b.array(), b.array(), b.array(width=0)
    b.each(lambda: total.add(x.load() * y.load()), unroll=4)


def column_softmax_backward(b: Rows) -> None:
    """out = y * (grad - along)."""
    y, grad, along, out = b.array(), b.array(), b.array(width=0), b.array()
    b.each(lambda: out.store(y.load() * (grad.load() - along.load())), unroll=4)


def column_log_softmax_backward(b: Rows) -> None:
    """out = grad - e**y * total."""
    y, grad, total, out = b.array(), b.array(), b.array(width=0), b.array()
    b.each(lambda: out.store(grad.load() - exp_below(y.load()) * total.load()))
