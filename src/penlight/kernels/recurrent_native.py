"""LSTM and GRU over a whole sequence with native steps: what kernels/recurrent.py does, for float32. See Note [Native kernels].

A step is one product in BLAS and one native kernel. What is kept of the gates is (rows, gates * features), by which `recurrent.py`
knows which of the two backward passes is due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from . import native
from .native import recurrent as steps
from .native.product import WIDTH, panels, product
from .parallel import blas_alone
from .recurrent_segments import (
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

_SMALL_PRODUCT = 1 << 20  # multiplications; below, waking BLAS's threads takes longer than the product of a step
_FEW_ROWS = 4  # below, BLAS is faster

Product = Callable[[Array, Array], object]  # of a state, into a result


def _products(batch: int, weight: Array) -> Any:
    """The context for the products of the steps."""
    return blas_alone() if batch * weight.size < _SMALL_PRODUCT else nullcontext()


def _multiplier(weight: Array, batch: int) -> Product:
    """What multiplies the states of steps with `weight`, (inner, columns)."""
    inner, columns = weight.shape
    if columns % WIDTH or batch < _FEW_ROWS or batch * weight.size >= _SMALL_PRODUCT:
        return partial(_dot, weight if weight.flags.c_contiguous else np.ascontiguousarray(weight))
    arranged, run = panels(weight), product()

    def multiply(state: Array, result: Array) -> None:
        run(batch, inner, columns // WIDTH, id(state), id(arranged), id(result))

    return multiply


def _dot(weight: Array, state: Array, result: Array) -> None:
    np.dot(state, weight, result)


def _starts(part: Segment) -> Iterable[int]:
    """The first row of each step, in the order of the run."""
    found = range(part.start, part.start + part.steps * part.batch, part.batch)
    return reversed(found) if part.reverse else found


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
    run = native.kernel(steps.lstm, biased=bias is not None).run
    h, c = h.copy(), c.copy()
    for part in segments(x.shape, sizes, reverse):
        n, out = part.batch, part.of(states)
        fresh, cell, state = np.empty((n, 4 * width), x.dtype), c[:n], h[:n]
        places = [id(fresh), id(projected), id(kept), id(cell), id(states)] + ([] if bias is None else [id(bias)])
        multiply = _multiplier(w_hh.T, n)
        with _products(n, w_hh):
            for low, following in zip(_starts(part), list(out)):
                multiply(state, fresh)
                run(low, low + n, width, *places)
                state = following
        carry(part.of(past), out, h[:n])
        h[:n] = state
    return states.reshape(*x.shape[:-1], width), h, c, kept, past


def lstm_backward(
    grad: Array | None, grad_h: Array | None, grad_c: Array | None, x: Array, w_ih: Array, w_hh: Array, h: Array, c: Array,
    sizes: Any, reverse: bool, kept: Array, past: Array, needs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Gradients of input, w_ih, w_hh, b_ih, b_hh, h, c and (there is none) w_hr."""
    rows, width = past.shape
    slopes, given = np.empty((rows, 4 * width), x.dtype), _contiguous(grad)
    dh, dc = start_gradient(grad_h, h), start_gradient(grad_c, c)
    run = native.kernel(steps.lstm_backward, upstream=given is not None).run
    for part in reversed(segments(x.shape, sizes, reverse)):
        n, slope = part.batch, list(part.of(slopes))
        dstate, dcell = dh[:n], dc[:n]
        places = [id(kept), id(slopes), id(dstate), id(dcell)] + ([] if given is None else [id(given)])
        multiply = _multiplier(w_hh, n)
        with _products(n, w_hh):
            for low in reversed(list(_starts(part))):
                run(low, low + n, width, *places)
                multiply(slope.pop(), dstate)
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
    run = native.kernel(steps.gru, bias=inner is not None).run
    h = h.copy()
    for part in segments(x.shape, sizes, reverse):
        n, out = part.batch, part.of(states)
        fresh, state = np.empty((n, 3 * width), x.dtype), h[:n]
        places = [id(fresh), id(projected), id(kept)]
        ending = [id(states)] + ([] if inner is None else [id(inner)])
        multiply = _multiplier(w_hh.T, n)
        with _products(n, w_hh):
            for low, following in zip(_starts(part), list(out)):
                multiply(state, fresh)
                run(low, low + n, width, *places, id(state), *ending)
                state = following
        carry(part.of(past), out, h[:n])
        h[:n] = state
    return states.reshape(*x.shape[:-1], width), h, kept, past


def gru_backward(
    grad: Array | None, grad_h: Array | None, x: Array, w_ih: Array, w_hh: Array, h: Array, sizes: Any, reverse: bool,
    kept: Array, past: Array, needs: Any,
) -> tuple[Any, ...]:  # fmt: skip
    """Gradients of input, w_ih, w_hh, b_ih, b_hh and h."""
    rows, width = past.shape
    slopes, inner = np.empty((rows, 3 * width), x.dtype), np.empty((rows, width), x.dtype)
    given, dh = _contiguous(grad), start_gradient(grad_h, h)
    run = native.kernel(steps.gru_backward, upstream=given is not None).run
    for part in reversed(segments(x.shape, sizes, reverse)):
        n, slope, dstate = part.batch, list(part.of(slopes)), dh[: part.batch]
        through = np.empty_like(dstate)
        places = [id(kept), id(slopes), id(inner), id(past), id(dstate)] + ([] if given is None else [id(given)])
        multiply = _multiplier(w_hh, n)
        with _products(n, w_hh):
            for low in reversed(list(_starts(part))):
                run(low, low + n, width, *places)
                multiply(slope.pop(), through)
                np.add(dstate, through, dstate)
    seen = slopes
    if needs[0] or needs[1] or needs[3]:
        seen = slopes.copy()
        seen[:, 2 * width :] = inner
    return (*weight_gradients(seen, slopes, x, past, w_ih, needs), dh)


def _contiguous(grad: Array | None) -> Array | None:
    return None if grad is None else np.ascontiguousarray(rows_of(grad))
