"""Common parts of recurrent kernels: the segments of a packed sequence, and products for all steps at once.

Note [Segments of a packed sequence]
In a packed sequence the batch shrinks as sequences end (backwards in time: grows as they begin). It is processed in segments of
constant batch size, each a dense array. The state of all sequences is one array; a segment reads and writes its first rows, so
the other rows keep the last state of sequences that have ended, or the initial state of those that have not begun.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..linalg.blas import multiply
from ..reduce import reduce_sum

Array = np.ndarray


class Segment:
    """Some steps with the same batch size. See Note [Segments of a packed sequence]."""

    __slots__ = ("batch", "reverse", "start", "steps")

    def __init__(self, start: int, steps: int, batch: int, reverse: bool) -> None:
        self.start, self.steps, self.batch, self.reverse = start, steps, batch, reverse

    def first(self) -> int:
        """The first row of the first step of the run."""
        return self.start + (self.steps - 1) * self.batch if self.reverse else self.start

    def advance(self) -> int:
        """The row offset from one step to the next."""
        return -self.batch if self.reverse else self.batch

    def of(self, rows: Array) -> Array:
        """The segment's part of an array with one row per step and sample, as (steps, batch, features) in the order of the run."""
        part = rows[self.start : self.start + self.steps * self.batch].reshape(self.steps, self.batch, -1)
        return part[::-1] if self.reverse else part


def segments(shape: tuple[int, ...], sizes: Any, reverse: bool) -> list[Segment]:
    """The segments in the order of the run."""
    if sizes is None:
        return [Segment(0, shape[0], shape[1], reverse)]
    found: list[Segment] = []
    start = 0
    for size in sizes:
        if found and found[-1].batch == size:
            found[-1].steps += 1
        else:
            found.append(Segment(start, 1, size, reverse))
        start += size
    return found[::-1] if reverse else found


def rows_of(array: Array) -> Array:
    """(time, batch, features) flattened to rows; packed rows unchanged."""
    return array.reshape(-1, array.shape[-1])


def projected_inputs(x: Array, weight: Array, bias: Array | None) -> Array:
    """One product for the inputs of all steps; `weight` is (features, gates)."""
    result = multiply(rows_of(x), weight)
    if bias is not None:
        result += bias
    return result


def sum_of(a: Array | None, b: Array | None) -> Array | None:
    return None if a is None or b is None else a + b


def carry(past: Array, states: Array, first: Array) -> None:
    """The initial state of each step: the states shifted by one step."""
    past[0] = first
    past[1:] = states[:-1]


def start_gradient(grad: Array | None, like: Array) -> Array:
    return np.zeros(like.shape, like.dtype) if grad is None else np.array(grad, like.dtype, order="C")


def weight_gradients(slopes: Array, hidden: Array, x: Array, past: Array, w_ih: Array, needs: Any) -> list[Any]:
    """Gradients of input, w_ih, w_hh, b_ih, b_hh from the slopes of the gates with respect to the input's and the state's product."""
    grads: list[Any] = [None] * 5
    if needs[0]:
        grads[0] = multiply(slopes, w_ih).reshape(x.shape)
    if needs[1]:
        grads[1] = multiply(slopes.T, rows_of(x))
    if needs[2]:
        grads[2] = multiply(hidden.T, past)
    if needs[3]:
        grads[3] = reduce_sum(slopes, (0,))
    if needs[4]:
        grads[4] = grads[3].copy() if hidden is slopes and needs[3] else reduce_sum(hidden, (0,))
    return grads
