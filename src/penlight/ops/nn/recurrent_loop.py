"""Recurrences over sequences, as loops over time that use tensor ops.

Note [Where a fused kernel goes]: `run` handles everything above one direction of one layer (layers, directions, dropout, packed batches),
`run_direction` everything below. `ops.recurrent.fused` computes a full sequence as one op; it returns NotImplemented for unsupported cases,
and then the loop runs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import penlight
from penlight import Tensor

from ..linalg.addmm import check_sum, linear
from .recurrent import fused, stacked

State = tuple[Tensor, ...]
"""The state passed from step to step: (h,), and for an LSTM (h, c)."""


def run(mode: str, input: Tensor, hidden: State, weights: Sequence[Tensor], has_biases: bool, num_layers: int,
        dropout: float, train: bool, bidirectional: bool,
        batch_sizes: Sequence[int] | None = None) -> tuple[Tensor, State]:  # fmt: skip
    """All layers and directions of a recurrent network.

    `input` is (time, batch, features) or, with `batch_sizes`, the data of a packed sequence. `hidden` has one row for
    each layer and direction, and so does the returned state.
    """
    if batch_sizes is None and input.size(0) == 0:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    directions = 2 if bidirectional else 1
    each = len(weights) // (num_layers * directions)
    if batch_sizes is not None and _is_even(mode, input, batch_sizes, each, has_biases):
        rest = (has_biases, num_layers, dropout, train, bidirectional)
        padded = input.view(len(batch_sizes), batch_sizes[0], input.size(1))
        output, state = run(mode, padded, hidden, weights, *rest)
        return output.view(input.size(0), output.size(2)), state
    if any([part.size(0) != num_layers * directions for part in hidden]):
        raise RuntimeError("Expected more hidden states in stacked_rnn")  # PyTorch's words, also for too many
    finals: list[State] = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            row = layer * directions + direction
            of_layer = _named(weights[row * each : (row + 1) * each], has_biases)
            start = tuple(part[row] for part in hidden)
            output, final = run_direction(mode, input, start, of_layer, batch_sizes, reverse=direction == 1)
            outputs.append(output)
            finals.append(final)
        input = outputs[0] if directions == 1 else penlight.cat(outputs, -1)
        if dropout and train and layer < num_layers - 1:
            input = penlight.dropout(input, dropout, True)
    return input, tuple(stacked(states) for states in zip(*finals, strict=True))


def _is_even(mode: str, input: Tensor, batch_sizes: Sequence[int], each: int, has_biases: bool) -> bool:
    """Whether a packed sequence is run as a padded one: as in PyTorch, if all have one length and a kernel exists for it."""
    plain = mode == "LSTM" and each == (4 if has_biases else 2) and input.dtype is penlight.float32
    return plain and batch_sizes[0] == batch_sizes[-1] and input.numel() > 0


def _named(weights: Sequence[Tensor], has_biases: bool) -> dict[str, Tensor | None]:
    """The parameters of one direction of one layer, by role."""
    names = ["w_ih", "w_hh", "b_ih", "b_hh", "w_hr"] if has_biases else ["w_ih", "w_hh", "w_hr"]
    given = dict(zip(names, weights, strict=False))
    return {name: given.get(name) for name in ("w_ih", "w_hh", "b_ih", "b_hh", "w_hr")}


def run_direction(mode: str, input: Tensor, start: State, weights: dict[str, Tensor | None],
                  batch_sizes: Sequence[int] | None, reverse: bool) -> tuple[Tensor, State]:  # fmt: skip
    """One direction of one layer: the outputs of all steps and the last state. See Note [Where a fused kernel goes]."""
    result: Any = NotImplemented
    if _fit(mode, input, start, weights, batch_sizes):
        result = fused(mode, input, start, weights, batch_sizes, reverse)
    if result is NotImplemented:  # the ops of the loop report wrong sizes
        result = loop_direction(mode, input, start, weights, batch_sizes, reverse)
    return result


def _fit(mode: str, input: Tensor, start: State, weights: dict[str, Any], batch_sizes: Sequence[int] | None) -> bool:
    """Whether input, states and weights have the sizes that the kernel assumes."""
    gates = {"LSTM": 4, "GRU": 3}.get(mode, 1)
    w_hh, w_hr = weights["w_hh"], weights["w_hr"]
    rows, columns = w_hh.shape
    hidden = columns if w_hr is None else w_hr.shape[1]
    batch = input.shape[-2] if batch_sizes is None else batch_sizes[0]
    return (
        rows == gates * hidden
        and weights["w_ih"].shape == (rows, input.shape[-1])
        and all([b is None or b.shape == (rows,) for b in (weights["b_ih"], weights["b_hh"])])
        and (w_hr is None or w_hr.shape == (columns, hidden))
        and start[0].shape == (batch, columns)
        and (mode != "LSTM" or start[1].shape == (batch, hidden))
    )


def loop_direction(mode: str, input: Tensor, start: State, weights: dict[str, Tensor | None],
                   batch_sizes: Sequence[int] | None, reverse: bool) -> tuple[Tensor, State]:  # fmt: skip
    """`run_direction` by ops, step by step."""
    prepare, step = _STEPS[mode]
    # The part that depends only on the input is one product for the full sequence.
    projected, recurrent = prepare(input, weights)
    if batch_sizes is None:
        return _loop(step, projected, recurrent, start, reverse)
    return _packed_loop(step, projected, recurrent, start, batch_sizes, reverse)


def _loop(step: Any, projected: Any, recurrent: Any, start: State, reverse: bool) -> tuple[Tensor, State]:
    steps = projected.unbind(0)
    state, outputs = start, []
    for x in reversed(steps) if reverse else steps:
        state = step(x, state, *recurrent)
        outputs.append(state[0])
    if reverse:
        outputs.reverse()
    return penlight.stack(outputs), state


def _packed_loop(
    step: Any, projected: Any, recurrent: Any, start: State, batch_sizes: Sequence[int], reverse: bool
) -> tuple[Tensor, State]:
    """The loop over a packed sequence: the batch shrinks as sequences end or, backwards, grows as they begin."""
    steps = list(zip(projected.split(list(batch_sizes)), batch_sizes, strict=True))
    if reverse:
        return _growing(step, steps[::-1], recurrent, start)
    return _shrinking(step, steps, recurrent, start)


def _shrinking(step: Any, steps: list[Any], recurrent: Any, state: State) -> tuple[Tensor, State]:
    outputs: list[Tensor] = []
    ended: list[State] = []
    for x, size in steps:
        if size < state[0].size(0):
            ended.append(tuple(part[size:] for part in state))
            state = tuple(part[:size] for part in state)
        state = step(x, state, *recurrent)
        outputs.append(state[0])
    if ended:
        ended.append(state)
        state = tuple(penlight.cat(states[::-1]) for states in zip(*ended, strict=True))
    return penlight.cat(outputs), state


def _growing(step: Any, steps: list[Any], recurrent: Any, start: State) -> tuple[Tensor, State]:
    outputs: list[Tensor] = []
    state = tuple(part[: steps[0][1]] for part in start)
    for x, size in steps:
        begun = state[0].size(0)
        if size > begun:
            state = tuple(penlight.cat([old, new[begun:size]]) for old, new in zip(state, start, strict=True))
        state = step(x, state, *recurrent)
        outputs.append(state[0])
    return penlight.cat(outputs[::-1]), state


# One step of each kind. `prepare` returns the projected inputs and the other values that each step needs.


def _prepare_sum(input: Tensor, weights: dict[str, Any]) -> tuple[Tensor, tuple[Any, ...]]:
    """If both biases are simply added, add them to the full sequence at once."""
    projected = linear(input, weights["w_ih"], weights["b_ih"])
    if weights["b_hh"] is not None:
        projected = projected + weights["b_hh"]
    w_hr = weights["w_hr"]
    return projected, (weights["w_hh"].t(), *(() if w_hr is None else (w_hr.t(),)))


def _prepare_gru(input: Tensor, weights: dict[str, Any]) -> tuple[Tensor, tuple[Any, ...]]:
    return linear(input, weights["w_ih"], weights["b_ih"]), (weights["w_hh"], weights["b_hh"])


def _lstm_step(x: Tensor, state: State, w: Tensor, w_hr: Tensor | None = None) -> State:
    h, c = state
    i, f, g, o = penlight.addmm(x, h, w).chunk(4, 1)
    c = penlight.sigmoid(f) * c + penlight.sigmoid(i) * penlight.tanh(g)
    h = penlight.sigmoid(o) * penlight.tanh(c)
    return (h if w_hr is None else h @ w_hr), c


def _gru_step(x: Tensor, state: State, w: Tensor, b: Tensor | None) -> State:
    (h,) = state
    x_r, x_z, x_n = x.chunk(3, 1)
    h_r, h_z, h_n = linear(h, w, b).chunk(3, 1)
    r = penlight.sigmoid(x_r + h_r)
    z = penlight.sigmoid(x_z + h_z)
    n = penlight.tanh(x_n + r * h_n)
    return ((h - n) * z + n,)


_STEPS: dict[str, tuple[Callable[..., Any], Callable[..., State]]] = {
    "RNN_TANH": (_prepare_sum, lambda x, state, w: (penlight.tanh(penlight.addmm(x, state[0], w)),)),
    "RNN_RELU": (_prepare_sum, lambda x, state, w: (penlight.relu(penlight.addmm(x, state[0], w)),)),
    "LSTM": (_prepare_sum, _lstm_step),
    "GRU": (_prepare_gru, _gru_step),
}


def _check_input(input: Tensor, w_ih: Tensor) -> None:
    if input.size(1) != w_ih.size(1):
        raise RuntimeError(f"input has inconsistent input_size: got {input.size(1)} expected {w_ih.size(1)}")


def _check_state(input: Tensor, state: State, w_hh: Tensor) -> None:
    for i, part in enumerate(state):
        if part.size(0) != input.size(0):
            raise RuntimeError(f"Input batch size {input.size(0)} doesn't match hidden{i} batch size {part.size(0)}")
        if part.size(1) != w_hh.size(1):
            raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {part.size(1)}, expected {w_hh.size(1)}")


def _check_weights(gates: int, w_ih: Tensor, w_hh: Tensor) -> int:
    """Check the number of rows of the weights."""
    rows = gates * w_hh.size(1)
    for name, weight in (("weight_ih", w_ih), ("weight_hh", w_hh)):
        if weight.size(0) != rows:
            raise RuntimeError(f"{name} first dim must be {gates} * hidden_size = {rows}, but got {weight.size(0)}")
    return rows


def run_cell(mode: str, input: Tensor, state: State, weights: Sequence[Tensor | None]) -> State:
    """A single step, as in the cell modules; `weights` are w_ih, w_hh, b_ih, b_hh."""
    w_ih, w_hh, b_ih, b_hh = weights
    assert w_ih is not None and w_hh is not None
    # Each kind of cell checks its arguments in PyTorch's order.
    if mode == "LSTM":
        _check_input(input, w_ih)
        rows = _check_weights(4, w_ih, w_hh)
        _check_state(input, state, w_hh)
    elif mode == "GRU":
        _check_input(input, w_ih)
        _check_state(input, state, w_hh)
        rows = _check_weights(3, w_ih, w_hh)
    else:
        rows = _check_weights(1, w_ih, w_hh)
        _check_input(input, w_ih)
        _check_state(input, state, w_hh)
    for bias in (b_ih, b_hh) if mode == "GRU" else (b_hh, b_ih):
        if bias is not None and bias.shape != (rows,):
            bias.expand(input.size(0), rows)  # raises unless it broadcasts
    if b_hh is not None and mode != "GRU" and b_hh.dtype is not w_hh.dtype:
        check_sum(b_hh, w_hh, w_hh)
    prepare, step = _STEPS[mode]
    named = {"w_ih": w_ih, "w_hh": w_hh, "b_ih": b_ih, "b_hh": b_hh, "w_hr": None}
    projected, recurrent = prepare(input, named)
    return step(projected, state, *recurrent)
