"""Recurrent layers over a whole sequence: LSTM, GRU and plain RNN, one direction of one layer, and their gradients.

The inputs of all steps are projected by one product. Then each step is one product of the state with the recurrent
weights and a few passes over small buffers. Backwards, everything that does not depend on the gradient is computed for all
steps first, so that a step is again a product and a few passes; the gradients of the weights are one product at the end.

# Note [Gates of a step]
The gates of one step lie one after the other in memory, each (batch, features), so that a non-linearity runs once over all
gates that share it. That is another order than that of the product with the weights, which has the gates of one sample side
by side; the addition of the two products moves them. Sigmoid gates come first, with their weights negated, which is exact:
1 / (1 + exp(z)) is all that is left to do for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import executable
from . import compiled
from .segments import Array, carry, projected_inputs, rows_of, segments, start_gradient, sum_of, weight_gradients

_add, _multiply, _subtract, _exp, _tanh, _reciprocal = np.add, np.multiply, np.subtract, np.exp, np.tanh, np.reciprocal
_quiet = np.errstate(all="ignore")  # a saturated gate overflows on the way, and is right


def _by_machine(*arrays: Array | None) -> bool:
    """Whether native steps can do the work; weights need not be contiguous."""
    return executable.available() and all(a is None or a.dtype == np.float32 for a in arrays)


def _arranged(weight: Array, order: tuple[int, ...], negated: int) -> Array:
    """Weights (gates, features) as (features, gates), the gates in another order, of which the first are negated; or a bias."""
    gates = weight.reshape(max(order) + 1, -1, *weight.shape[1:])
    result = np.empty_like(gates)
    for position, gate in enumerate(order):
        if position < negated:
            np.negative(gates[gate], result[position])
        else:
            result[position] = gates[gate]
    return np.ascontiguousarray(result.reshape(weight.shape).T)


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
    if w_hr is None and _by_machine(x, w_ih, w_hh, b_ih, b_hh, h, c):
        return compiled.lstm(x, w_ih, w_hh, b_ih, b_hh, h, c, sizes, reverse)
    width, bias = c.shape[1], sum_of(b_ih, b_hh)
    projected = projected_inputs(x, _arranged(w_ih, _ORDER, 3), None if bias is None else _arranged(bias, _ORDER, 3))
    recurrent = _arranged(w_hh, _ORDER, 3)
    transposed = None if w_hr is None else np.ascontiguousarray(w_hr.T)
    rows, size = len(projected), h.shape[1]
    gates = np.empty(rows * _KEPT * width, x.dtype)
    states, past = np.empty((rows, size), x.dtype), np.empty((rows, size), x.dtype)
    h, c = h.copy(), c.copy()
    for part in segments(x.shape, sizes, reverse):
        kept, out = part.gates(gates, _KEPT, width), part.of(states)
        n = part.batch
        kept[0, _C] = c[:n]
        _lstm_steps(kept, part.by_gate(projected, width), out, h[:n], c[:n], recurrent, transposed)
        carry(part.of(past), out, h[:n])
        h[:n] = out[-1]
    return states.reshape(*x.shape[:-1], size), h, c, gates, past


def _product(width: int) -> Any:
    """np.dot, which is quicker than np.matmul, but does not multiply NaN with a single zero."""
    return np.matmul if width == 1 else np.dot


def _lstm_steps(kept: Array, projected: Array, out: Array, h: Array, last: Array, recurrent: Array, w_hr: Any) -> None:
    """The steps of a segment; the cell after the last of them goes into `last`."""
    batch, width = last.shape
    one = np.ones((), last.dtype)
    product, terms = np.empty((batch, 4 * width), last.dtype), np.empty((2, batch, width), last.dtype)
    moved = product.reshape(batch, 4, width).swapaxes(0, 1)
    i_g, f_c = terms
    raw, dot = terms[0], _product(width)
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
    if gates.ndim > 1:
        return compiled.lstm_backward(grad, grad_h, grad_c, x, w_ih, w_hh, h, c, sizes, reverse, gates, past, needs)
    rows, width = len(past), c.shape[1]
    slopes = np.empty((rows, 4 * width), x.dtype)
    upstream = None if grad is None else rows_of(grad)
    dh, dc, raw = start_gradient(grad_h, h), start_gradient(grad_c, c), None
    shown = None if w_hr is None else np.empty(past.shape, x.dtype)
    for part in reversed(segments(x.shape, sizes, reverse)):
        kept, n = part.gates(gates, _KEPT, width), part.batch
        given = None if upstream is None else part.of(upstream)
        seen = None if shown is None else part.of(shown)
        _lstm_back(kept, given, part.of(slopes), dh[:n], dc[:n], w_hh, w_hr, seen)
    grads = weight_gradients(slopes, slopes, x, past, w_ih, needs)
    if shown is not None and needs[7]:
        raw = np.empty((rows, width), x.dtype)
        for part in segments(x.shape, sizes, reverse):
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
    if _by_machine(x, w_ih, w_hh, b_ih, b_hh, h):
        return compiled.gru(x, w_ih, w_hh, b_ih, b_hh, h, sizes, reverse)
    width, order = h.shape[1], (0, 1, 2)
    bias = None if b_ih is None else _arranged(b_ih, order, 2)
    inner = None if b_hh is None else _arranged(b_hh, order, 2)
    if bias is not None and inner is not None:
        bias[: 2 * width] += inner[: 2 * width]
        inner = inner[2 * width :]
    projected, recurrent = projected_inputs(x, _arranged(w_ih, order, 2), bias), _arranged(w_hh, order, 2)
    rows = len(projected)
    gates = np.empty(rows * _GRU_KEPT * width, x.dtype)
    states, past = np.empty((rows, width), x.dtype), np.empty((rows, width), x.dtype)
    h = h.copy()
    for part in segments(x.shape, sizes, reverse):
        out, n = part.of(states), part.batch
        _gru_steps(part.gates(gates, _GRU_KEPT, width), part.by_gate(projected, width), out, h[:n], recurrent, inner)
        carry(part.of(past), out, h[:n])
        h[:n] = out[-1]
    return states.reshape(*x.shape[:-1], width), h, gates, past


def _gru_steps(kept: Array, projected: Array, out: Array, h: Array, recurrent: Array, bias: Array | None) -> None:
    batch, width = h.shape
    one = np.ones((), h.dtype)
    product, dot = np.empty((batch, 3 * width), h.dtype), _product(width)
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
    if gates.ndim > 1:
        return compiled.gru_backward(grad, grad_h, x, w_ih, w_hh, h, sizes, reverse, gates, past, needs)
    rows, width = past.shape
    slopes, inner = np.empty((rows, 3 * width), x.dtype), np.empty((rows, width), x.dtype)
    upstream, dh = None if grad is None else rows_of(grad), start_gradient(grad_h, h)
    for part in reversed(segments(x.shape, sizes, reverse)):
        kept = part.gates(gates, _GRU_KEPT, width)
        given = None if upstream is None else part.of(upstream)
        _gru_back(kept, part.of(past), given, part.of(slopes), part.of(inner), dh[: part.batch], w_hh)
    seen = slopes
    if needs[0] or needs[1] or needs[3]:
        seen = slopes.copy()
        seen[:, 2 * width :] = inner
    return (*weight_gradients(seen, slopes, x, past, w_ih, needs), dh)


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
    states, recurrent = projected_inputs(x, w_ih.T, sum_of(b_ih, b_hh)), np.ascontiguousarray(w_hh.T)
    zero, h, dot = np.zeros((), x.dtype), h.copy(), _product(len(w_hh))
    by_machine = _by_machine(x, w_hh, h)
    for part in segments(x.shape, sizes, reverse):
        state = h[: part.batch]
        if by_machine:
            compiled.rnn_steps(part, w_hh, state, states, relu)
            h[: part.batch] = part.of(states)[-1]
            continue
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
    upstream, dh, dot = None if grad is None else rows_of(grad), start_gradient(grad_h, h), _product(len(w_hh))
    pieces, by_machine = segments(x.shape, sizes, reverse), _by_machine(x, w_hh, dh, upstream)
    for piece in reversed(pieces):
        if by_machine:
            compiled.rnn_steps_backward(piece, w_hh, slopes, upstream, dh[: piece.batch])
            continue
        given, after = None if upstream is None else piece.of(upstream)[::-1], dh[: piece.batch]
        for t, s in enumerate(piece.of(slopes)[::-1]):
            if given is not None:
                _add(after, given[t], after)
            _multiply(s, after, s)
            dot(s, w_hh, after)
    past, state = np.empty_like(states), h.copy()
    for piece in pieces:
        of_part = piece.of(states)
        carry(piece.of(past), of_part, state[: piece.batch])
        state[: piece.batch] = of_part[-1]
    return (*weight_gradients(slopes, slopes, x, past, w_ih, needs), dh)
