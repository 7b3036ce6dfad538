"""One step of a recurrent layer for each row of a batch, without its matrix product, in NumPy. The machine-code version is
kernels.py, which describes the gates and the saved values.

Arrays that are local in machine code have only the rows of the step; in others, the step has the rows `low` to `high`. The saved
values have shape (gates, rows, features) here, so that a non-linearity runs over long contiguous memory. The factors of the
gradients do not depend on the gradients: they are computed for all steps at once, before the first step.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

Array = np.ndarray


@lru_cache(8)
def _one(dtype: np.dtype) -> Array:
    """The scalar 1 as an array, which ufuncs need not convert."""
    return np.ones((), dtype)


def _sigmoid(z: Array) -> None:
    """1 / (1 + exp(-z)), in place. A saturated one overflows in between, but its result is right."""
    np.negative(z, z)
    np.exp(z, z)
    np.add(z, _one(z.dtype), z)
    np.reciprocal(z, z)


def _slopes(y: Array, out: Array) -> None:
    """y * (1 - y), the derivatives of sigmoids from their results."""
    np.subtract(_one(y.dtype), y, out)
    np.multiply(out, y, out)


def _bent(y: Array, scale: Array, out: Array) -> None:
    """(1 - y * y) * scale: the same for hyperbolic tangents."""
    np.multiply(y, y, out)
    np.subtract(_one(y.dtype), out, out)
    np.multiply(out, scale, out)


def _by_gate(rows: Array, width: int) -> Array:
    """A view of rows of concatenated gates as (gates, rows, features)."""
    return rows.reshape(len(rows), -1, width).swapaxes(0, 1)


def lstm(
    low: int, high: int, width: int, product: Array, projected: Array, kept: Array, cell: Array, out: Array
) -> None:
    """Compute gates, cell and state."""
    z, before, bent = kept[:4, low:high], kept[4, low:high], kept[5, low:high]
    np.add(_by_gate(product, width), _by_gate(projected[low:high], width), z)
    g = np.tanh(z[2])
    _sigmoid(z)
    z[2] = g
    before[...] = cell
    np.multiply(z[1], before, cell)
    np.multiply(g, z[0], g)
    np.add(cell, g, cell)
    np.tanh(cell, bent)
    np.multiply(z[3], bent, out[low:high])


def lstm_backward(kept: Array) -> Any:
    """A function that computes the slopes of a step's gates, and the gradient of the cell one step earlier."""
    i, _, g, o, before, bent = kept
    factors = np.empty((5, *i.shape), i.dtype)  # of i, f, g, o; and of the cell's gradient through the state
    _slopes(kept[:2], factors[:2])
    _bent(g, i, factors[2])
    _slopes(o, factors[3])
    _bent(bent, o, factors[4])
    for factor, other in zip((factors[0], factors[1], factors[3]), (g, before, bent), strict=True):
        np.multiply(factor, other, factor)

    def step(
        low: int, high: int, width: int, kept: Array, slopes: Array, dstate: Array, dcell: Array, given: Array | None = None
    ) -> None:  # fmt: skip
        if given is not None:
            np.add(dstate, given[low:high], dstate)
        slope, factor = _by_gate(slopes[low:high], width), factors[:, low:high]
        np.add(dcell, factor[4] * dstate, dcell)
        np.multiply(factor[:3], dcell, slope[:3])
        np.multiply(factor[3], dstate, slope[3])
        np.multiply(dcell, kept[1, low:high], dcell)

    return step


def gru(
    low: int, high: int, width: int, product: Array, projected: Array, kept: Array, state: Array, out: Array, inner: Array | None = None
) -> None:  # fmt: skip
    """Compute gates and state."""
    of_state, of_input = _by_gate(product, width), _by_gate(projected[low:high], width)
    gates, n, scaled, following = kept[:2, low:high], kept[2, low:high], kept[3, low:high], out[low:high]
    np.add(of_state[:2], of_input[:2], gates)
    _sigmoid(gates)
    if inner is None:
        scaled[...] = of_state[2]
    else:
        np.add(of_state[2], inner, scaled)
    np.multiply(gates[0], scaled, n)
    np.add(n, of_input[2], n)
    np.tanh(n, n)
    np.subtract(state, n, following)
    np.multiply(following, gates[1], following)
    np.add(following, n, following)


def gru_backward(kept: Array, past: Array) -> Any:
    """A function that computes the slopes of a step's gates, and the direct gradient of the previous state."""
    r, z, n, scaled = kept
    # Of r, z, and n with respect to the state's product; of n with respect to the input's.
    factors = np.empty_like(kept)
    for_r, for_z, for_h, for_n = factors
    _bent(n, _one(n.dtype) - z, for_n)
    np.multiply(for_n, r, for_h)
    _slopes(kept[:2], factors[:2])
    np.multiply(for_r, for_n, for_r)
    np.multiply(for_r, scaled, for_r)
    np.multiply(for_z, past - n, for_z)

    def step(
        low: int, high: int, width: int, kept: Array, slopes: Array, inner: Array, past: Array, dstate: Array, through: Array,
        given: Array | None = None,
    ) -> None:  # fmt: skip
        np.add(dstate, through, dstate)
        if given is not None:
            np.add(dstate, given[low:high], dstate)
        np.multiply(factors[:3, low:high], dstate, _by_gate(slopes[low:high], width))
        np.multiply(for_n[low:high], dstate, inner[low:high])
        np.multiply(dstate, z[low:high], dstate)

    return step


def tanh_rnn(low: int, high: int, width: int, product: Array, state: Array) -> None:
    """The state of a plain recurrence, overwriting the product of the input."""
    z = state[low:high]
    np.add(z, product, z)
    np.tanh(z, z)


def relu_rnn(low: int, high: int, width: int, product: Array, state: Array) -> None:
    """Like `tanh_rnn`, with relu."""
    z = state[low:high]
    np.add(z, product, z)
    np.maximum(z, 0, out=z)


def rnn_backward(low: int, high: int, width: int, slope: Array, dstate: Array, given: Array | None = None) -> None:
    """The slope times the gradient of the state."""
    if given is not None:
        np.add(dstate, given[low:high], dstate)
    slope[low:high] *= dstate
