"""Norms and their backward over rows. The same in NumPy: kernels/norm/ and kernels/norm/channels.py."""

from __future__ import annotations

from collections.abc import Callable

from ..compiler.rows import Array, Rows
from ..compiler.values import Value, at_least_number, fma, fnma, sqrt


def layer_norm(b: Rows, centred: bool, weighted: bool, biased: bool) -> None:
    """out = (x - mean) * rstd * weight + bias, and the mean and rstd of each row; without `centred` the mean is taken as 0."""
    x, out, rstd = b.array(), b.array(), b.per_row()
    mean = b.per_row() if centred else None
    weight = b.array(width=0) if weighted else None
    bias = b.array(width=0) if biased else None
    columns, eps = b.number(), b.number()
    count = columns()
    if mean:
        middle, square = _mean_and_variance(b, x, count)
        mean.put(middle)
    else:
        middle, square = None, b.total(lambda: _square(x.load()), unroll=4) / count
    scale = 1.0 / sqrt(square + eps())
    rstd.put(scale)

    def normalise() -> None:
        value = _from(middle, x) * scale
        if weight and bias:
            value = fma(value, weight.load(), bias.load())
        elif weight:
            value = value * weight.load()
        elif bias:
            value = value + bias.load()
        out.store(value)

    b.each(normalise, unroll=4)


def layer_norm_backward(b: Rows, centred: bool, weighted: bool, dx: bool, dweight: bool, dbias: bool) -> None:
    """dx = rstd * (gw - mean(gw) - xhat * mean(gw * xhat)) with gw = grad * weight and xhat = (x - mean) * rstd, and the sums over
    rows of grad * xhat and of grad. Without `centred` the mean is 0 and does not depend on x."""
    grad, x, rstd = b.array(), b.array(), b.per_row()
    mean = b.per_row() if centred else None
    weight = b.array(width=0) if weighted else None
    out = b.array() if dx else None
    down_weight = b.sums() if dweight else None
    down_bias = b.sums() if dbias else None
    columns = b.number() if dx else None
    scale, middle = rstd.get(), mean.get() if mean else None

    def sums() -> list[Value]:
        g = grad.load()
        if down_bias:
            down_bias.add(g)
        if not (out or down_weight):
            return []
        product = g * (_from(middle, x) * scale)
        if down_weight:
            down_weight.add(product)
        if not out:
            return []
        if weight:
            w = weight.load()
            g, product = g * w, product * w
        return [product, g] if centred else [product]

    totals = b.totals(sums, (1 + centred) if out else 0, unroll=2)
    if out and columns:
        _write_dx(b, out, grad, x, weight, middle, scale, [total / columns() for total in totals])


def _write_dx(
    b: Rows,
    out: Array,
    grad: Array,
    x: Array,
    weight: Array | None,
    middle: Value | None,
    scale: Value,
    means: list[Value],
) -> None:
    slope = -(means[0] * scale)
    shift = means[1] if middle else None

    def write() -> None:
        g = grad.load()
        if weight:
            g = g * weight.load()
        if shift:
            g = g - shift
        out.store(fma(_from(middle, x), slope, g) * scale)

    b.each(write, unroll=4)


def _from(middle: Value | None, x: Array) -> Value:
    """x at the loop's place, as a distance from `middle`."""
    return x.load() - middle if middle else x.load()


def _mean_and_variance(b: Rows, x: Array, count: Value) -> tuple[Value, Value]:
    """Of a row. The distances from the mean are summed up, too: by what their mean is not 0, the mean was off."""
    middle = b.total(x.load, unroll=4) / count

    def pair() -> list[Value]:
        distance = x.load() - middle
        return [distance, distance * distance]

    off, square = (total / count for total in b.totals(pair, 2, unroll=4))
    return middle + off, at_least_number(fnma(off, off, square), 0.0)


def _square(value: Value) -> Value:
    return value * value


def statistics(b: Rows) -> None:
    """The mean and 1 / sqrt(variance + eps) of each row."""
    x, mean, rstd = b.array(), b.per_row(), b.per_row()
    columns, eps = b.number(), b.number()
    middle, square = _mean_and_variance(b, x, columns())
    mean.put(middle)
    rstd.put(1.0 / sqrt(square + eps()))


# In the following, numbers belong to rows with `by_row`, else to columns.


def moments(b: Rows, by_row: bool, centred: bool, squared: bool) -> None:
    """The sums of x and x * (other - center), or with `squared` of x - center and its square; without `centred` that is 0."""
    x, other = b.array(), None if squared else b.array()
    center = _numbers(b, by_row) if centred else None
    results = [b.per_row() if by_row else b.sums() for _ in range(2)]

    def pair() -> list[Value]:
        value, partner = x.load(), other.load() if other else None
        if not partner:
            value = value - center() if center else value
        elif center:
            partner = partner - center()
        return [value, value * (partner or value)]

    def add() -> None:
        for result, value in zip(results, pair(), strict=True):
            result.add(value)

    if by_row:
        for result, total in zip(results, b.totals(pair, 2, unroll=4), strict=True):
            result.put(total)
    else:
        b.each(add, unroll=2)


def affine(b: Rows, by_row: bool) -> None:
    """out = x * scale + shift."""
    x, scale, shift, out = b.array(), _numbers(b, by_row), _numbers(b, by_row), b.array()
    b.each(lambda: out.store(fma(x.load(), scale(), shift())), unroll=4)


def affine_pair(b: Rows, by_row: bool) -> None:
    """out = grad * scale - x * slope + shift."""
    grad, scale, x, slope = b.array(), _numbers(b, by_row), b.array(), _numbers(b, by_row)
    shift, out = _numbers(b, by_row), b.array()
    b.each(lambda: out.store(fma(grad.load(), scale(), fnma(x.load(), slope(), shift()))), unroll=4)


def _numbers(b: Rows, by_row: bool) -> Callable[[], Value]:
    """The next argument, with numbers for rows or columns; call it in a loop for those at its place."""
    if not by_row:
        return b.array(width=0).load
    number = b.per_row().get()
    return lambda: number
