"""LSTM and GRU over a whole sequence with native steps: what kernels/recurrent/ does, for float32. See Note [Native kernels].

A step is a product and one native kernel, and all steps are one call (Note [Repeated calls] in kernels/recurrent/sequence.py). Where the
weights have too few columns for the native product, BLAS does it, step by step. What is kept of the gates is (rows, gates * features), by which `recurrent.py`
knows which of the two backward passes is due.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import native
from ..linalg.blas import multiply
from ..parallel import native_thread_count
from . import kernels as steps
from .product import WIDTH, panels, products
from .segments import (
    Array,
    Segment,
    carry,
    projected_inputs,
    rows_of,
    segments,
    start_gradient,
    sum_of,
    weight_gradients,
)
from .sequence import Call, Counting, Moving, repeat
from .strategies import LEAST_ROWS, LEAST_SHARED


class _Weights:
    """What the states or slopes of the steps are multiplied with: (inner, columns)."""

    def __init__(self, weight: Array) -> None:
        self.arranged = panels(weight) if weight.shape[1] >= WIDTH else None
        self.plain = np.ascontiguousarray(weight) if self.arranged is None else weight


# The arrays that a step's kernel gets for some rows of the batch; one may be the state before, which comes first.
Operands = Callable[[Any, slice], list[Any]]
_ALL = slice(None)


def _shares(part: Segment, weights: _Weights) -> list[slice]:
    """Rows of the batch that a thread takes through all steps: two shares for each thread, where there are enough rows."""
    count = 1
    if part.steps * part.batch * weights.plain.size >= LEAST_SHARED:
        count = max(1, min(native_thread_count(), part.batch // LEAST_ROWS))
        if 1 < count <= part.batch // (4 * LEAST_ROWS):
            count *= 2
    return [slice(part.batch * i // count, part.batch * (i + 1) // count) for i in range(count)]


def _forwards(
    part: Segment, weights: _Weights, run: Any, first: Array, fresh: Array, out: Array, operands: Operands
) -> Array:
    """All steps of a segment, whose states go into `out`; the last of them."""
    n, width, low, each = part.batch, out.shape[2], part.first(), part.advance()
    if weights.arranged is None:
        for state in [first, *out][:-1]:
            multiply(state, weights.plain, fresh)
            run(low, low + n, width, *operands(state, _ALL))
            low += each
        return out[-1]
    arranged, rows = weights.arranged, _shares(part, weights)

    def calls(at: int, some: slice) -> list[Call]:
        bounds, started = (
            (Counting(at + some.start, each), Counting(at + some.stop, each)),
            Moving(out[0][some], out.strides[0]),
        )
        return [*products(started, arranged, fresh[some]), (run, [*bounds, width, *operands(started, some)])]

    # The first step starts from elsewhere; from zeros, as a rule, whose product need not be computed.
    if first.any():
        repeat(1, products(first, arranged, fresh))
    else:
        fresh.fill(0)
    run(low, low + n, width, *operands(first, _ALL))
    repeat(len(out) - 1, *[calls(low + each, some) for some in rows])
    return out[-1]


def _backwards(
    part: Segment, weights: _Weights, run: Any, slopes: Array, result: Array, width: int, operands: Operands
) -> None:
    """All steps of a segment from the last to the first: their `slopes`, and the products of these, into `result` in turn."""
    n, each = part.batch, -part.advance()
    low = part.first() - each * (part.steps - 1)
    if weights.arranged is None:
        for slope in list(slopes)[::-1]:
            run(low, low + n, width, *operands(slope, _ALL))
            multiply(slope, weights.plain, result)
            low += each
        return
    arranged = weights.arranged

    def calls(some: slice) -> list[Call]:
        bounds = Counting(low + some.start, each), Counting(low + some.stop, each)
        last = Moving(slopes[-1][some], -slopes.strides[0])
        return [(run, [*bounds, width, *operands(last, some)]), *products(last, arranged, result[some])]

    repeat(part.steps, *[calls(some) for some in _shares(part, weights)])


def lstm(
    x: Array,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None,
    b_hh: Array | None,
    h: Array,
    c: Array,
    sizes: Any,
    reverse: bool,
) -> tuple[Array, ...]:
    """(outputs, last h, last c, and for the backward pass: the gates, what each step started from)."""
    width, bias = c.shape[1], sum_of(b_ih, b_hh)
    projected = projected_inputs(x, w_ih.T, None)
    rows = len(projected)
    kept = np.empty((rows, steps.LSTM_KEPT * width), x.dtype)
    states, past = np.empty((rows, width), x.dtype), np.empty((rows, width), x.dtype)
    run, weights = native.kernel(steps.lstm, biased=bias is not None).run, _Weights(w_hh.T)
    h, c = h.copy(), c.copy()
    for part in segments(x.shape, sizes, reverse):
        n, out = part.batch, part.of(states)
        fresh = np.empty((n, 4 * width), x.dtype)
        ending = [states] + ([] if bias is None else [bias])

        def operands(
            _: Any, rows: slice, fresh: Array = fresh, cell: Array = c[:n], ending: list[Array] = ending
        ) -> list[Any]:
            return [fresh[rows], projected, kept, cell[rows], *ending]

        last = _forwards(part, weights, run, h[:n], fresh, out, operands)
        carry(part.of(past), out, h[:n])
        h[:n] = last
    return states.reshape(*x.shape[:-1], width), h, c, kept, past


def lstm_backward(
    grad: Array | None, grad_h: Array | None, grad_c: Array | None, x: Array, w_ih: Array, w_hh: Array, h: Array, c: Array,
    sizes: Any, reverse: bool, kept: Array, past: Array, needs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Gradients of input, w_ih, w_hh, b_ih, b_hh, h, c and (there is none) w_hr."""
    rows, width = past.shape
    slopes, given = np.empty((rows, 4 * width), x.dtype), _contiguous(grad)
    dh, dc = start_gradient(grad_h, h), start_gradient(grad_c, c)
    run, weights = native.kernel(steps.lstm_backward, upstream=given is not None).run, _Weights(w_hh)
    for part in reversed(segments(x.shape, sizes, reverse)):
        n, dstate = part.batch, dh[: part.batch]
        ending = [] if given is None else [given]

        def operands(
            _: Any, rows: slice, dstate: Array = dstate, dcell: Array = dc[:n], ending: list[Array] = ending
        ) -> list[Any]:
            return [kept, slopes, dstate[rows], dcell[rows], *ending]

        _backwards(part, weights, run, part.of(slopes), dstate, width, operands)
    return (*weight_gradients(slopes, slopes, x, past, w_ih, needs), dh, dc, None)


def gru(
    x: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None, h: Array, sizes: Any, reverse: bool
) -> tuple[Array, ...]:
    """(outputs, last h, and for the backward pass: the gates, what each step started from)."""
    width = h.shape[1]
    bias, inner = b_ih, None
    if b_ih is not None and b_hh is not None:
        bias, inner = b_ih.copy(), np.ascontiguousarray(b_hh[2 * width :])
        bias[: 2 * width] += b_hh[: 2 * width]
    projected = projected_inputs(x, w_ih.T, bias)
    rows = len(projected)
    kept = np.empty((rows, steps.GRU_KEPT * width), x.dtype)
    states, past = np.empty((rows, width), x.dtype), np.empty((rows, width), x.dtype)
    run, weights = native.kernel(steps.gru, bias=inner is not None).run, _Weights(w_hh.T)
    h = h.copy()
    for part in segments(x.shape, sizes, reverse):
        n, out = part.batch, part.of(states)
        fresh = np.empty((n, 3 * width), x.dtype)
        ending = [states] + ([] if inner is None else [inner])

        def operands(state: Any, rows: slice, fresh: Array = fresh, ending: list[Array] = ending) -> list[Any]:
            return [fresh[rows], projected, kept, state, *ending]

        last = _forwards(part, weights, run, h[:n], fresh, out, operands)
        carry(part.of(past), out, h[:n])
        h[:n] = last
    return states.reshape(*x.shape[:-1], width), h, kept, past


def gru_backward(
    grad: Array | None, grad_h: Array | None, x: Array, w_ih: Array, w_hh: Array, h: Array, sizes: Any, reverse: bool,
    kept: Array, past: Array, needs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Gradients of input, w_ih, w_hh, b_ih, b_hh and h."""
    rows, width = past.shape
    slopes, inner = np.empty((rows, 3 * width), x.dtype), np.empty((rows, width), x.dtype)
    given, dh = _contiguous(grad), start_gradient(grad_h, h)
    run, weights = native.kernel(steps.gru_backward, upstream=given is not None).run, _Weights(w_hh)
    for part in reversed(segments(x.shape, sizes, reverse)):
        direct = dh[: part.batch]
        through = np.zeros_like(direct)
        ending = [] if given is None else [given]

        def operands(
            _: Any, rows: slice, direct: Array = direct, through: Array = through, ending: list[Array] = ending
        ) -> list[Any]:
            return [kept, slopes, inner, past, direct[rows], through[rows], *ending]

        _backwards(part, weights, run, part.of(slopes), through, width, operands)
        direct += through
    seen = slopes
    if needs[0] or needs[1] or needs[3]:
        seen = slopes.copy()
        seen[:, 2 * width :] = inner
    return (*weight_gradients(seen, slopes, x, past, w_ih, needs), dh)


def rnn_steps(part: Segment, w_hh: Array, first: Array, states: Array, relu: bool) -> None:
    """The steps of a segment of a plain recurrence: the products of the inputs, `states`, become the states."""
    fresh, run = np.empty_like(first), native.kernel(steps.rnn, relu=relu).run
    _forwards(part, _Weights(w_hh.T), run, first, fresh, part.of(states), lambda _, rows: [fresh[rows], states])


def rnn_steps_backward(part: Segment, w_hh: Array, slopes: Array, grad: Array | None, dstate: Array) -> None:
    """The steps of a segment backwards: `slopes` times the gradient of the states; and `dstate` from after the segment to before it."""
    given = _contiguous(grad)
    run = native.kernel(steps.rnn_backward, upstream=given is not None).run
    ending = [] if given is None else [given]

    def operands(_: Any, rows: slice) -> list[Any]:
        return [slopes, dstate[rows], *ending]

    _backwards(part, _Weights(w_hh), run, part.of(slopes), dstate, slopes.shape[1], operands)


def _contiguous(grad: Array | None) -> Array | None:
    return None if grad is None else np.ascontiguousarray(rows_of(grad))
