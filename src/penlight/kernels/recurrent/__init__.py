"""Recurrent layers over a full sequence: LSTM, GRU and plain RNN, one direction of one layer, and their gradients.

The inputs of all steps are projected by one product. Then each step is one product of the state with the recurrent
weights and one kernel: machine code (kernels.py), or a few calls of NumPy (in_numpy.py). The gradients of the weights are one product at the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import executable
from ..lazy import lazy_import
from . import in_numpy
from .segments import Array, carry, projected_inputs, rows_of, segments, start_gradient, sum_of, weight_gradients
from .steps import Weights, backwards, forwards

kernels = lazy_import(globals(), "kernels", ".kernels")
native = lazy_import(globals(), "native", "..native")

_quiet = np.errstate(all="ignore")  # a saturated gate overflows in between, but its result is right
_LSTM_KEPT, _GRU_KEPT = 6, 4  # saved arrays of a step: kernels.py


def _by_machine(*arrays: Array | None) -> bool:
    """Whether there is machine code for these arrays: all float32, or all float64. Weights need not be contiguous."""
    first = arrays[0]
    assert first is not None
    return (
        first.dtype in native.FLOATS
        and executable.available()
        and all([a is None or a.dtype == first.dtype for a in arrays])
    )


def _kernel(name: str, dtype: np.dtype, **options: bool) -> Any:
    """The machine code of a step."""
    return native.kernel(getattr(kernels, name), double=dtype == native.FLOATS[1], **options).run


def _room(gates: int, rows: int, width: int, dtype: np.dtype, by_machine: bool) -> Array:
    """Memory for the saved values of all steps; its layout tells the backward pass which implementation ran."""
    return np.empty((rows, gates * width) if by_machine else (gates, rows, width), dtype)


def _optional(array: Array | None) -> list[Array]:
    """A list of the array, or an empty one for None."""
    return [] if array is None else [array]


def _given(grad: Array | None) -> Array | None:
    """The gradient of the outputs as contiguous rows."""
    return None if grad is None else np.ascontiguousarray(rows_of(grad))


# ----- LSTM ----------------------------------------------------------------------------------------------------------


@_quiet
def lstm(
    x: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None, h: Array, c: Array, w_hr: Array | None,
    sizes: Any, reverse: bool,
) -> tuple[Array, ...]:  # fmt: skip
    """(outputs, last h, last c, and for the backward pass: the gates, the initial state of each step)."""
    width, bias = c.shape[1], sum_of(b_ih, b_hh)
    by_machine = _by_machine(x, w_ih, w_hh, b_ih, b_hh, h, c)
    projected = projected_inputs(x, w_ih.T, None if by_machine else bias)
    bias = bias if by_machine else None  # machine code adds it in the kernel
    rows, size = len(projected), h.shape[1]
    kept = _room(_LSTM_KEPT, rows, width, x.dtype, by_machine)
    states, past = np.empty((rows, size), x.dtype), np.empty((rows, size), x.dtype)
    run = _kernel("lstm", x.dtype, biased=bias is not None) if by_machine else in_numpy.lstm
    weights, raw, projection = Weights(w_hh.T, by_machine, w_hr is None), states, None
    if w_hr is not None:
        raw = np.empty((rows, width), x.dtype)
        projection = raw, np.ascontiguousarray(w_hr.T)
    h, c = h.copy(), c.copy()
    for part in segments(x.shape, sizes, reverse):
        n, out = part.batch, part.of(states)
        fresh = np.empty((n, 4 * width), x.dtype)

        def operands(_: Any, rows: slice, fresh: Array = fresh, cell: Array = c[:n]) -> list[Any]:
            return [fresh[rows], projected, kept, cell[rows], raw, *_optional(bias)]

        forwards(part, weights, run, h[:n], fresh, out, width, operands, projection)
        carry(part.of(past), out, h[:n])
        h[:n] = out[-1]
    return states.reshape(*x.shape[:-1], size), h, c, kept, past


@_quiet
def lstm_backward(
    grad: Array | None, grad_h: Array | None, grad_c: Array | None, x: Array, w_ih: Array, w_hh: Array, h: Array, c: Array,
    w_hr: Array | None, sizes: Any, reverse: bool, kept: Array, past: Array, needs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Gradients of input, w_ih, w_hh, b_ih, b_hh, h, c and w_hr."""
    rows, width = len(past), c.shape[1]
    slopes, given = np.empty((rows, 4 * width), x.dtype), _given(grad)
    dh, dc = start_gradient(grad_h, h), start_gradient(grad_c, c)
    by_machine = kept.ndim == 2
    inside = given if w_hr is None else None  # added by the kernel; to projected states it is added before
    if by_machine:
        run = _kernel("lstm_backward", x.dtype, upstream=inside is not None)
    else:
        run = in_numpy.lstm_backward(kept)
    weights = Weights(w_hh, by_machine, w_hr is None)
    seen = None if w_hr is None else np.empty(past.shape, x.dtype)  # gradients of states
    for part in reversed(segments(x.shape, sizes, reverse)):
        n, dstate = part.batch, dh[: part.batch]
        raw = dstate if w_hr is None else np.empty((n, width), x.dtype)

        def operands(_: Any, rows: slice, raw: Array = raw, dcell: Array = dc[:n]) -> list[Any]:
            return [kept, slopes, raw[rows], dcell[rows], *_optional(inside)]

        def project(rows: slice, raw: Array = raw, dstate: Array = dstate) -> None:
            if given is not None:
                dstate += given[rows]
            seen[rows] = dstate  # type: ignore[index]
            np.matmul(dstate, w_hr, raw)  # type: ignore[arg-type]

        backwards(part, weights, run, part.of(slopes), dstate, width, operands, None if w_hr is None else project)
    grads = weight_gradients(slopes, slopes, x, past, w_ih, needs)
    of_projection = None
    if seen is not None and needs[7]:
        o, bent = (kept[:, 3 * width : 4 * width], kept[:, 5 * width :]) if by_machine else (kept[3], kept[5])
        of_projection = seen.T @ (o * bent)
    return (*grads, dh, dc, of_projection)


# ----- GRU -----------------------------------------------------------------------------------------------------------


@_quiet
def gru(
    x: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None, h: Array, sizes: Any, reverse: bool
) -> tuple[Array, ...]:
    """(outputs, last h, and for the backward pass: the gates, the initial state of each step)."""
    width = h.shape[1]
    bias, inner = b_ih, None
    if b_ih is not None and b_hh is not None:
        bias, inner = b_ih.copy(), np.ascontiguousarray(b_hh[2 * width :])
        bias[: 2 * width] += b_hh[: 2 * width]
    projected = projected_inputs(x, w_ih.T, bias)
    rows = len(projected)
    by_machine = _by_machine(x, w_ih, w_hh, b_ih, b_hh, h)
    kept = _room(_GRU_KEPT, rows, width, x.dtype, by_machine)
    states, past = np.empty((rows, width), x.dtype), np.empty((rows, width), x.dtype)
    run = _kernel("gru", x.dtype, biased=inner is not None) if by_machine else in_numpy.gru
    weights, h = Weights(w_hh.T, by_machine), h.copy()
    for part in segments(x.shape, sizes, reverse):
        n, out = part.batch, part.of(states)
        fresh = np.empty((n, 3 * width), x.dtype)

        def operands(state: Any, rows: slice, fresh: Array = fresh) -> list[Any]:
            return [fresh[rows], projected, kept, state, states, *_optional(inner)]

        forwards(part, weights, run, h[:n], fresh, out, width, operands)
        carry(part.of(past), out, h[:n])
        h[:n] = out[-1]
    return states.reshape(*x.shape[:-1], width), h, kept, past


@_quiet
def gru_backward(
    grad: Array | None, grad_h: Array | None, x: Array, w_ih: Array, w_hh: Array, h: Array, sizes: Any, reverse: bool,
    kept: Array, past: Array, needs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Gradients of input, w_ih, w_hh, b_ih, b_hh and h."""
    rows, width = past.shape
    slopes, inner = np.empty((rows, 3 * width), x.dtype), np.empty((rows, width), x.dtype)
    given, dh = _given(grad), start_gradient(grad_h, h)
    by_machine = kept.ndim == 2
    if by_machine:
        run = _kernel("gru_backward", x.dtype, upstream=given is not None)
    else:
        run = in_numpy.gru_backward(kept, past)
    weights = Weights(w_hh, by_machine)
    for part in reversed(segments(x.shape, sizes, reverse)):
        direct = dh[: part.batch]
        through = np.zeros_like(direct)

        def operands(_: Any, rows: slice, direct: Array = direct, through: Array = through) -> list[Any]:
            return [kept, slopes, inner, past, direct[rows], through[rows], *_optional(given)]

        backwards(part, weights, run, part.of(slopes), through, width, operands)
        direct += through
    seen = slopes
    if needs[0] or needs[1] or needs[3]:
        seen = slopes.copy()
        seen[:, 2 * width :] = inner
    return (*weight_gradients(seen, slopes, x, past, w_ih, needs), dh)


# ----- Plain ---------------------------------------------------------------------------------------------------------


@_quiet
def rnn(
    x: Array, w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None, h: Array, relu: bool, sizes: Any, reverse: bool
) -> tuple[Array, ...]:  # fmt: skip
    """(outputs, last h, states for the backward pass) of h' = tanh(W x + U h + b), or relu."""
    states, h = projected_inputs(x, w_ih.T, sum_of(b_ih, b_hh)), h.copy()
    by_machine = _by_machine(x, w_hh, h)
    in_steps = in_numpy.relu_rnn if relu else in_numpy.tanh_rnn
    run, weights = _kernel("rnn", x.dtype, relu=relu) if by_machine else in_steps, Weights(w_hh.T, by_machine)
    for part in segments(x.shape, sizes, reverse):
        state, out = h[: part.batch], part.of(states)
        fresh = np.empty_like(state)

        def operands(_: Any, rows: slice, fresh: Array = fresh) -> list[Any]:
            return [fresh[rows], states]

        forwards(part, weights, run, state, fresh, out, len(w_hh), operands)
        state[...] = out[-1]
    return states.copy().reshape(*x.shape[:-1], -1), h, states


@_quiet
def rnn_backward(
    grad: Array | None, grad_h: Array | None, x: Array, w_ih: Array, w_hh: Array, h: Array, relu: bool, sizes: Any,
    reverse: bool, states: Array, needs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Gradients of input, w_ih, w_hh, b_ih, b_hh and h."""
    slopes = (states > 0).astype(x.dtype) if relu else np.subtract(1, states * states, dtype=x.dtype)
    given, dh = _given(grad), start_gradient(grad_h, h)
    pieces, by_machine = segments(x.shape, sizes, reverse), _by_machine(x, w_hh, dh, given)
    run = _kernel("rnn_backward", x.dtype, upstream=given is not None) if by_machine else in_numpy.rnn_backward
    weights = Weights(w_hh, by_machine)
    for piece in reversed(pieces):
        dstate = dh[: piece.batch]

        def operands(_: Any, rows: slice, dstate: Array = dstate) -> list[Any]:
            return [slopes, dstate[rows], *_optional(given)]

        backwards(piece, weights, run, piece.of(slopes), dstate, len(w_hh), operands)
    past, state = np.empty_like(states), h.copy()
    for piece in pieces:
        of_part = piece.of(states)
        carry(piece.of(past), of_part, state[: piece.batch])
        state[: piece.batch] = of_part[-1]
    return (*weight_gradients(slopes, slopes, x, past, w_ih, needs), dh)
