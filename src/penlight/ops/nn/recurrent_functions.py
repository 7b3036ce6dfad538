"""Recurrent layers as functions: torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu and single steps of them.

The modules of `nn` are the fast way; these are for programs that call what stands behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import penlight
from penlight import Tensor

__all__ = [
    "gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell"
]  # fmt: skip


def _linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return penlight.nn.functional.linear(x, weight, bias)


def lstm_cell(
    input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """One step of an LSTM: the next hidden state and cell state.

    >>> import penlight as torch
    >>> h, c = torch.lstm_cell(torch.ones(1, 2), (torch.zeros(1, 1), torch.zeros(1, 1)), torch.zeros(4, 2), torch.zeros(4, 1))
    >>> h
    tensor([[0.]])
    """
    h, c = hx
    i, f, g, o = (_linear(input, w_ih, b_ih) + _linear(h, w_hh, b_hh)).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of a GRU: the next hidden state.

    >>> import penlight as torch
    >>> torch.gru_cell(torch.ones(1, 2), torch.ones(1, 1), torch.zeros(3, 2), torch.zeros(3, 1))
    tensor([[0.5000]])
    """
    r, z, n = _linear(input, w_ih, b_ih).chunk(3, -1)
    hr, hz, hn = _linear(hx, w_hh, b_hh).chunk(3, -1)
    z = (z + hz).sigmoid()
    return (1 - z) * (n + (r + hr).sigmoid() * hn).tanh() + z * hx


def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of a plain recurrent layer with tanh: the next hidden state.

    >>> import penlight as torch
    >>> torch.rnn_tanh_cell(torch.ones(1, 2), torch.ones(1, 1), torch.zeros(1, 2), torch.zeros(1, 1))
    tensor([[0.]])
    """
    return (_linear(input, w_ih, b_ih) + _linear(hx, w_hh, b_hh)).tanh()


def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of a plain recurrent layer with relu: the next hidden state.

    >>> import penlight as torch
    >>> torch.rnn_relu_cell(torch.ones(1, 2), torch.ones(1, 1), torch.ones(1, 2), torch.ones(1, 1))
    tensor([[3.]])
    """
    return (_linear(input, w_ih, b_ih) + _linear(hx, w_hh, b_hh)).relu()


def _sequence(
    name: str, step: Callable[..., Any], input: Tensor, hx: Any, params: Sequence[Tensor], has_biases: bool, num_layers: int,
    dropout: float, train: bool, bidirectional: bool, batch_first: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """All layers and directions over a whole sequence. `hx` is one state or a tuple of them, all layers stacked."""
    if isinstance(hx, bool) or not isinstance(params, (list, tuple)):
        raise NotImplementedError(f"torch.{name} with packed sequences is not available. Use torch.nn.{name.upper()}")
    states = hx if isinstance(hx, (tuple, list)) else (hx,)
    directions, width = 1 + bidirectional, 4 if has_biases else 2
    x = input.transpose(0, 1) if batch_first else input
    last: list[list[Tensor]] = [[] for _ in states]
    for layer in range(num_layers):
        outputs = []
        for d in range(directions):
            row = layer * directions + d
            weights = params[row * width : (row + 1) * width]
            state: Any = tuple(s[row] for s in states)
            steps = []
            for t in x.flip(0) if d else x:
                state = step(t, state if len(states) > 1 else state[0], *weights)
                state = state if isinstance(state, tuple) else (state,)
                steps.append(state[0])
            outputs.append(penlight.stack(steps[::-1] if d else steps))
            for kept, s in zip(last, state):
                kept.append(s)
        x = penlight.cat(outputs, -1)
        if dropout and train and layer < num_layers - 1:
            x = penlight.dropout(x, dropout, True)
    return (x.transpose(0, 1) if batch_first else x), *(penlight.stack(kept) for kept in last)


def lstm(input: Tensor, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
         bidirectional: bool, batch_first: bool = False) -> tuple[Tensor, ...]:  # fmt: skip
    """An LSTM over a sequence with these weights: its outputs, and the last hidden and cell states.

    >>> import penlight as torch
    >>> m, h = torch.nn.LSTM(2, 3), torch.zeros(1, 1, 3)
    >>> out, h, c = torch.lstm(torch.ones(5, 1, 2), (h, h), list(m.parameters()), True, 1, 0.0, False, False, False)
    >>> out.shape
    torch.Size([5, 1, 3])
    """
    return _sequence("lstm", lstm_cell, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)  # fmt: skip


def gru(input: Tensor, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
        bidirectional: bool, batch_first: bool = False) -> tuple[Tensor, ...]:  # fmt: skip
    """A GRU over a sequence with these weights: its outputs and the last hidden states.

    >>> import penlight as torch
    >>> m = torch.nn.GRU(2, 3)
    >>> torch.gru(torch.ones(5, 1, 2), torch.zeros(1, 1, 3), list(m.parameters()), True, 1, 0.0, False, False)[0].shape
    torch.Size([5, 1, 3])
    """
    return _sequence("gru", gru_cell, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)  # fmt: skip


def rnn_tanh(input: Tensor, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
             bidirectional: bool, batch_first: bool = False) -> tuple[Tensor, ...]:  # fmt: skip
    """A plain recurrent layer with tanh over a sequence: its outputs and the last hidden states.

    >>> import penlight as torch
    >>> m = torch.nn.RNN(2, 3)
    >>> torch.rnn_tanh(torch.ones(5, 1, 2), torch.zeros(1, 1, 3), list(m.parameters()), True, 1, 0.0, False, False)[1].shape
    torch.Size([1, 1, 3])
    """
    return _sequence("rnn", rnn_tanh_cell, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)  # fmt: skip


def rnn_relu(input: Tensor, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
             bidirectional: bool, batch_first: bool = False) -> tuple[Tensor, ...]:  # fmt: skip
    """A plain recurrent layer with relu over a sequence: its outputs and the last hidden states.

    >>> import penlight as torch
    >>> m = torch.nn.RNN(2, 3, nonlinearity="relu")
    >>> torch.rnn_relu(torch.ones(5, 1, 2), torch.zeros(1, 1, 3), list(m.parameters()), True, 1, 0.0, False, False)[1].shape
    torch.Size([1, 1, 3])
    """
    return _sequence("rnn", rnn_relu_cell, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)  # fmt: skip
