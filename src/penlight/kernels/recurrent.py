"""Recurrent layers over a whole sequence: LSTM, GRU and plain RNN, one direction of one layer, and their gradients.

The inputs of all steps are projected by one product. Then each step is one product of the state with the recurrent
weights and a few passes over small buffers. Backwards, everything that does not depend on the gradient is computed for all
steps first, so that a step is again a product and a few passes; the gradients of the weights are one product at the end.

# Note [Gates of a step]
The gates of one step lie one after the other in memory, each (batch, features), so that a non-linearity runs once over all
gates that share it. That is another order than that of the product with the weights, which has the gates of one sample side
by side; the addition of the two products moves them. Sigmoid gates come first, with their weights negated, which is exact:
1 / (1 + exp(z)) is all that is left to do for them.

# Note [Segments of a packed sequence]
In a packed sequence the batch shrinks as sequences end (backwards in time: grows as they begin). It is run as segments of
constant batch size, each a dense array. The state of all sequences is one array; a segment reads and writes its first
rows, so that sequences that have ended keep their last state there, and those to come their first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray

_add, _multiply, _subtract, _exp, _tanh, _reciprocal = np.add, np.multiply, np.subtract, np.exp, np.tanh, np.reciprocal
_quiet = np.errstate(all="ignore")  # a saturated gate overflows on the way, and is right


class _Segment:
    """Some steps with the same batch size. See Note [Segments of a packed sequence]."""

    __slots__ = ("batch", "reverse", "start", "steps")

    def __init__(self, start: int, steps: int, batch: int, reverse: bool) -> None:
        self.start, self.steps, self.batch, self.reverse = start, steps, batch, reverse

    def of(self, rows: Array) -> Array:
        """Of an array with a row for each step and sample, (steps, batch, features) in the order of the run."""
        part = rows[self.start : self.start + self.steps * self.batch].reshape(self.steps, self.batch, -1)
        return part[::-1] if self.reverse else part

    def by_gate(self, rows: Array, width: int) -> Array:
        """The same, with the gates that lie side by side in a row as (steps, gates, batch, features): a view."""
        part = self.of(rows)
        return part.reshape(self.steps, self.batch, -1, width).swapaxes(1, 2)

    def gates(self, flat: Array, count: int, width: int) -> Array:
        """Of memory for `count` gates, (steps, gates, batch, features). See Note [Gates of a step]."""
        start, each = self.start * count * width, self.batch * count * width
        part = flat[start : start + self.steps * each].reshape(self.steps, count, self.batch, width)
        return part[::-1] if self.reverse else part


def _segments(shape: tuple[int, ...], sizes: Any, reverse: bool) -> list[_Segment]:
    """The segments in the order of the run."""
    if sizes is None:
        return [_Segment(0, shape[0], shape[1], reverse)]
    found: list[_Segment] = []
    start = 0
    for size in sizes:
        if found and found[-1].batch == size:
            found[-1].steps += 1
        else:
            found.append(_Segment(start, 1, size, reverse))
        start += size
    return found[::-1] if reverse else found


def _rows(array: Array) -> Array:
    """(time, batch, features), or packed rows as they are, as rows."""
    return array.reshape(-1, array.shape[-1])


def _arranged(weight: Array, order: tuple[int, ...], negated: int) -> Array:
    """Weights (gates, features) as (features, gates), the gates in another order, of which the first are negated; or a bias."""
    parts = weight.reshape(max(order) + 1, -1, *weight.shape[1:])
    result = np.empty_like(parts)
    for place, gate in enumerate(order):
        if place < negated:
            np.negative(parts[gate], result[place])
        else:
            result[place] = parts[gate]
    return np.ascontiguousarray(result.reshape(weight.shape).T)


def _projected(x: Array, weight: Array, bias: Array | None) -> Array:
    """One product for the inputs of all steps; `weight` is (features, gates)."""
    result = _rows(x) @ weight
    if bias is not None:
        result += bias
    return result


def _sum(a: Array | None, b: Array | None) -> Array | None:
    return None if a is None or b is None else a + b


def _carry(past: Array, states: Array, first: Array) -> None:
    """What each step started from: the states one step later."""
    past[0] = first
    past[1:] = states[:-1]


def _start(grad: Array | None, like: Array) -> Array:
    return np.zeros(like.shape, like.dtype) if grad is None else np.array(grad, like.dtype, order="C")


def _weight_grads(slopes: Array, hidden: Array, x: Array, past: Array, w_ih: Array, needs: Any) -> list[Any]:
    """Gradients of input, w_ih, w_hh, b_ih, b_hh from the slopes of the gates, as the input and as the state see them."""
    grads: list[Any] = [None] * 5
    if needs[0]:
        grads[0] = (slopes @ w_ih).reshape(x.shape)
    if needs[1]:
        grads[1] = slopes.T @ _rows(x)
    if needs[2]:
        grads[2] = hidden.T @ past
    ones = np.ones(len(slopes), slopes.dtype)
    if needs[3]:
        grads[3] = ones @ slopes
    if needs[4]:
        grads[4] = grads[3].copy() if hidden is slopes and needs[3] else ones @ hidden
    return grads


# ----- LSTM ----------------------------------------------------------------------------------------------------------

# What is kept of a step: the gates o, i, f, g, the cell before the step, and the tanh of the cell after it.
_O, _G, _C, _BENT, _KEPT = 0, 3, 4, 5, 6
_ORDER = (3, 0, 1, 2)  # where PyTorch's order i, f, g, o has them


@_quiet
def lstm(
    x: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None, h: Array, c: Array, w_hr: Array | None,
    sizes: Any, reverse: bool,
) -> tuple[Array, ...]:  # fmt: skip
    """(outputs, last h, last c, and for the backward pass: the gates, what each step started from)."""
    width, bias = c.shape[1], _sum(b_ih, b_hh)
    projected = _projected(x, _arranged(w_ih, _ORDER, 3), None if bias is None else _arranged(bias, _ORDER, 3))
    recurrent = _arranged(w_hh, _ORDER, 3)
    turned = None if w_hr is None else np.ascontiguousarray(w_hr.T)
    rows, size = len(projected), h.shape[1]
    gates = np.empty(rows * _KEPT * width, x.dtype)
    states, past = np.empty((rows, size), x.dtype), np.empty((rows, size), x.dtype)
    h, c = h.copy(), c.copy()
    for part in _segments(x.shape, sizes, reverse):
        kept, out = part.gates(gates, _KEPT, width), part.of(states)
        n = part.batch
        kept[0, _C] = c[:n]
        _lstm_steps(kept, part.by_gate(projected, width), out, h[:n], c[:n], recurrent, turned)
        _carry(part.of(past), out, h[:n])
        h[:n] = out[-1]
    return states.reshape(*x.shape[:-1], size), h, c, gates, past


def _lstm_steps(kept: Array, projected: Array, out: Array, h: Array, last: Array, recurrent: Array, w_hr: Any) -> None:
    """The steps of a segment; the cell after the last of them goes into `last`."""
    batch, width = last.shape
    one = np.ones((), last.dtype)
    product, terms = np.empty((batch, 4 * width), last.dtype), np.empty((2, batch, width), last.dtype)
    moved = product.reshape(batch, 4, width).swapaxes(0, 1)
    i_g, f_c = terms
    raw, dot = terms[0], np.dot
    for z, x, sigmoid, i_f, g, g_c, o, bent, cell, h_next in zip(
        list(kept[:, :4]), list(projected), list(kept[:, :3]), list(kept[:, 1:3]), list(kept[:, _G]), list(kept[:, _G : _C + 1]),
        list(kept[:, _O]), list(kept[:, _BENT]), [*kept[1:, _C], last], list(out),
    ):  # fmt: skip
        dot(h, recurrent, product)
        _add(moved, x, z)
        _exp(sigmoid, sigmoid)
        _add(sigmoid, one, sigmoid)
        _reciprocal(sigmoid, sigmoid)
        _tanh(g, g)
        _multiply(i_f, g_c, terms)
        _add(i_g, f_c, cell)
        _tanh(cell, bent)
        if w_hr is None:
            _multiply(o, bent, h_next)
        else:
            _multiply(o, bent, raw)
            dot(raw, w_hr, h_next)
        h = h_next


@_quiet
def lstm_backward(
    grad: Array | None, grad_h: Array | None, grad_c: Array | None, x: Array, w_ih: Array, w_hh: Array, h: Array, c: Array,
    w_hr: Array | None, sizes: Any, reverse: bool, gates: Array, past: Array, needs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Gradients of input, w_ih, w_hh, b_ih, b_hh, h, c and w_hr."""
    rows, width = len(past), c.shape[1]
    slopes = np.empty((rows, 4 * width), x.dtype)
    upstream = None if grad is None else _rows(grad)
    dh, dc, raw = _start(grad_h, h), _start(grad_c, c), None
    shown = None if w_hr is None else np.empty(past.shape, x.dtype)
    for part in reversed(_segments(x.shape, sizes, reverse)):
        kept, n = part.gates(gates, _KEPT, width), part.batch
        given = None if upstream is None else part.of(upstream)
        seen = None if shown is None else part.of(shown)
        _lstm_back(kept, given, part.of(slopes), dh[:n], dc[:n], w_hh, w_hr, seen)
    grads = _weight_grads(slopes, slopes, x, past, w_ih, needs)
    if shown is not None and needs[7]:
        raw = np.empty((rows, width), x.dtype)
        for part in _segments(x.shape, sizes, reverse):
            kept = part.gates(gates, _KEPT, width)
            _multiply(kept[:, _O], kept[:, _BENT], part.of(raw))
        raw = shown.T @ raw
    return (*grads, dh, dc, raw)


def _lstm_back(
    kept: Array,
    upstream: Array | None,
    slopes: Array,
    dh: Array,
    dc: Array,
    w_hh: Array,
    w_hr: Array | None,
    shown: Any,
) -> None:
    """The steps of a segment backwards: the slopes of the gates, and dh and dc from after the segment to before it."""
    factors = _lstm_factors(kept)
    (batch, width), steps = dc.shape, len(kept)
    by_gate = slopes.reshape(steps, batch, 4, width).swapaxes(1, 2)
    tmp, raw, dot = np.empty_like(dc), dh, np.dot
    given = [None] * steps if upstream is None else list(upstream)
    seen = [None] * steps if shown is None else list(shown)
    for g, k, k_o, through, f, s_ifg, s_o, s, state in reversed(list(zip(
        given, list(factors[:, 1:4]), list(factors[:, 0]), list(factors[:, 4]), list(kept[:, 2]), list(by_gate[:, :3]),
        list(by_gate[:, 3]), list(slopes), seen,
    ))):  # fmt: skip
        if g is not None:
            _add(dh, g, dh)
        if w_hr is not None:
            state[...] = dh
            raw = dh @ w_hr
        _multiply(raw, through, tmp)
        _add(dc, tmp, dc)
        _multiply(k, dc, s_ifg)
        _multiply(k_o, raw, s_o)
        _multiply(dc, f, dc)
        dot(s, w_hh, dh)


def _lstm_factors(kept: Array) -> Array:
    """What the gradients of o, i, f, g are multiples of, and last, what reaches the cell from the state."""
    steps, _, batch, width = kept.shape
    factors, one = np.empty((steps, 5, batch, width), kept.dtype), np.ones((), kept.dtype)
    sigmoid, curves = factors[:, :3], factors[:, 3:]
    _subtract(one, kept[:, :3], sigmoid)
    _multiply(sigmoid, kept[:, :3], sigmoid)
    _multiply(sigmoid[:, 1:], kept[:, _G : _C + 1], sigmoid[:, 1:])
    _multiply(sigmoid[:, 0], kept[:, _BENT], sigmoid[:, 0])
    bent = kept[:, _G :: _BENT - _G]  # g and the tanh of the cell, which i and o scale
    _multiply(bent, bent, curves)
    _subtract(one, curves, curves)
    _multiply(curves, kept[:, 1::-1], curves)
    return factors


# ----- GRU -----------------------------------------------------------------------------------------------------------

# What is kept of a step: the gates r, z, n, and what r scales.
_Z, _N, _SCALED, _GRU_KEPT = 1, 2, 3, 4


@_quiet
def gru(
    x: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None, h: Array, sizes: Any, reverse: bool
) -> tuple[Array, ...]:
    """(outputs, last h, and for the backward pass: the gates, what each step started from)."""
    width, order = h.shape[1], (0, 1, 2)
    bias = None if b_ih is None else _arranged(b_ih, order, 2)
    inner = None if b_hh is None else _arranged(b_hh, order, 2)
    if bias is not None and inner is not None:
        bias[: 2 * width] += inner[: 2 * width]
        inner = inner[2 * width :]
    projected, recurrent = _projected(x, _arranged(w_ih, order, 2), bias), _arranged(w_hh, order, 2)
    rows = len(projected)
    gates = np.empty(rows * _GRU_KEPT * width, x.dtype)
    states, past = np.empty((rows, width), x.dtype), np.empty((rows, width), x.dtype)
    h = h.copy()
    for part in _segments(x.shape, sizes, reverse):
        out, n = part.of(states), part.batch
        _gru_steps(part.gates(gates, _GRU_KEPT, width), part.by_gate(projected, width), out, h[:n], recurrent, inner)
        _carry(part.of(past), out, h[:n])
        h[:n] = out[-1]
    return states.reshape(*x.shape[:-1], width), h, gates, past


def _gru_steps(kept: Array, projected: Array, out: Array, h: Array, recurrent: Array, bias: Array | None) -> None:
    batch, width = h.shape
    one = np.ones((), h.dtype)
    product, dot = np.empty((batch, 3 * width), h.dtype), np.dot
    moved = product.reshape(batch, 3, width).swapaxes(0, 1)
    for_gates, for_n = moved[:2], moved[2]
    for sigmoid, r, z, n, scaled, x, x_n, h_next in zip(
        list(kept[:, :2]), list(kept[:, 0]), list(kept[:, _Z]), list(kept[:, _N]), list(kept[:, _SCALED]),
        list(projected[:, :2]), list(projected[:, 2]), list(out),
    ):  # fmt: skip
        dot(h, recurrent, product)
        _add(for_gates, x, sigmoid)
        _exp(sigmoid, sigmoid)
        _add(sigmoid, one, sigmoid)
        _reciprocal(sigmoid, sigmoid)
        if bias is None:
            scaled[...] = for_n
        else:
            _add(for_n, bias, scaled)
        _multiply(r, scaled, n)
        _add(n, x_n, n)
        _tanh(n, n)
        _subtract(h, n, h_next)
        _multiply(h_next, z, h_next)
        _add(h_next, n, h_next)
        h = h_next


@_quiet
def gru_backward(
    grad: Array | None, grad_h: Array | None, x: Array, w_ih: Array, w_hh: Array, h: Array, sizes: Any, reverse: bool,
    gates: Array, past: Array, needs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Gradients of input, w_ih, w_hh, b_ih, b_hh and h."""
    rows, width = past.shape
    slopes, inner = np.empty((rows, 3 * width), x.dtype), np.empty((rows, width), x.dtype)
    upstream, dh = None if grad is None else _rows(grad), _start(grad_h, h)
    for part in reversed(_segments(x.shape, sizes, reverse)):
        kept = part.gates(gates, _GRU_KEPT, width)
        given = None if upstream is None else part.of(upstream)
        _gru_back(kept, part.of(past), given, part.of(slopes), part.of(inner), dh[: part.batch], w_hh)
    seen = slopes
    if needs[0] or needs[1] or needs[3]:
        seen = slopes.copy()
        seen[:, 2 * width :] = inner
    return (*_weight_grads(seen, slopes, x, past, w_ih, needs), dh)


def _gru_back(kept: Array, past: Array, upstream: Any, slopes: Array, inner: Array, dh: Array, w_hh: Array) -> None:
    """The steps of a segment backwards: the slopes of the gates as the state sees them, and of n as the input does."""
    factors = _gru_factors(kept, past)
    (batch, width), steps = dh.shape, len(kept)
    by_gate = slopes.reshape(steps, batch, 3, width).swapaxes(1, 2)
    tmp, dot = np.empty_like(dh), np.dot
    given = [None] * steps if upstream is None else list(upstream)
    for g, k, k_n, z, s_gates, s_n, s in reversed(list(zip(
        given, list(factors[:, :3]), list(factors[:, 3]), list(kept[:, _Z]), list(by_gate), list(inner), list(slopes),
    ))):  # fmt: skip
        if g is not None:
            _add(dh, g, dh)
        _multiply(k, dh, s_gates)
        _multiply(k_n, dh, s_n)
        dot(s, w_hh, tmp)
        _multiply(dh, z, dh)
        _add(dh, tmp, dh)


def _gru_factors(kept: Array, past: Array) -> Array:
    """What the gradients of r, z and of n as the state sees it are multiples of; and last, of n as the input sees it."""
    r, n = kept[:, 0], kept[:, _N]
    factors, one = np.empty(kept.shape, kept.dtype), np.ones((), kept.dtype)
    sigmoid, for_r, for_z, for_h, for_n = factors[:, :2], *(factors[:, k] for k in range(4))
    _subtract(one, kept[:, _Z], for_h)
    _multiply(n, n, for_n)
    _subtract(one, for_n, for_n)
    _multiply(for_n, for_h, for_n)
    _multiply(for_n, r, for_h)
    _subtract(one, kept[:, :2], sigmoid)
    _multiply(sigmoid, kept[:, :2], sigmoid)
    _multiply(for_r, for_n, for_r)
    _multiply(for_r, kept[:, _SCALED], for_r)
    _multiply(for_z, past - n, for_z)
    return factors


# ----- Plain ---------------------------------------------------------------------------------------------------------


@_quiet
def rnn(
    x: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None, h: Array, relu: bool, sizes: Any, reverse: bool
) -> tuple[Array, ...]:  # fmt: skip
    """(outputs, last h, states for the backward pass) of h' = tanh(W x + U h + b), or relu."""
    states, recurrent = _projected(x, w_ih.T, _sum(b_ih, b_hh)), np.ascontiguousarray(w_hh.T)
    zero, h, dot = np.zeros((), x.dtype), h.copy(), np.dot
    for part in _segments(x.shape, sizes, reverse):
        state = h[: part.batch]
        product = np.empty_like(state)
        for z in part.of(states):
            dot(state, recurrent, product)
            _add(z, product, z)
            if relu:
                np.maximum(z, zero, out=z)
            else:
                _tanh(z, z)
            state = z
        h[: part.batch] = state
    return states.copy().reshape(*x.shape[:-1], -1), h, states


@_quiet
def rnn_backward(
    grad: Array | None, grad_h: Array | None, x: Array, w_ih: Array, w_hh: Array, h: Array, relu: bool, sizes: Any,
    reverse: bool, states: Array, needs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Gradients of input, w_ih, w_hh, b_ih, b_hh and h."""
    if relu:
        slopes = (states > 0).astype(x.dtype)
    else:
        slopes = states * states
        _subtract(np.ones((), x.dtype), slopes, slopes)
    upstream, dh, dot = None if grad is None else _rows(grad), _start(grad_h, h), np.dot
    parts = _segments(x.shape, sizes, reverse)
    for part in reversed(parts):
        given, after = None if upstream is None else part.of(upstream)[::-1], dh[: part.batch]
        for t, s in enumerate(part.of(slopes)[::-1]):
            if given is not None:
                _add(after, given[t], after)
            _multiply(s, after, s)
            dot(s, w_hh, after)
    past, state = np.empty_like(states), h.copy()
    for part in parts:
        of_part = part.of(states)
        _carry(part.of(past), of_part, state[: part.batch])
        state[: part.batch] = of_part[-1]
    return (*_weight_grads(slopes, slopes, x, past, w_ih, needs), dh)
