"""Recurrent layers as functions: torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu and single steps of them.

The modules of `nn` are faster; these are for programs that call the underlying functions directly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penlight import Tensor

from . import recurrent_loop

__all__ = ["gru", "gru_cell", "lstm", "lstm_cell", "rnn_relu", "rnn_relu_cell", "rnn_tanh", "rnn_tanh_cell"]


def lstm_cell(
    input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """One step of an LSTM: the next hidden state and cell state.

    >>> h, c = torch.lstm_cell(torch.ones(1, 2), (torch.zeros(1, 1), torch.zeros(1, 1)), torch.zeros(4, 2), torch.zeros(4, 1))
    >>> h
    tensor([[0.]])
    """
    h, c = recurrent_loop.run_cell("LSTM", input, tuple(hx), (w_ih, w_hh, b_ih, b_hh))
    return h, c


def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of a GRU: the next hidden state.

    >>> torch.gru_cell(torch.ones(1, 2), torch.ones(1, 1), torch.zeros(3, 2), torch.zeros(3, 1))
    tensor([[0.5000]])
    """
    return recurrent_loop.run_cell("GRU", input, (hx,), (w_ih, w_hh, b_ih, b_hh))[0]


def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of a plain recurrent layer with tanh: the next hidden state.

    >>> torch.rnn_tanh_cell(torch.ones(1, 2), torch.ones(1, 1), torch.zeros(1, 2), torch.zeros(1, 1))
    tensor([[0.]])
    """
    return recurrent_loop.run_cell("RNN_TANH", input, (hx,), (w_ih, w_hh, b_ih, b_hh))[0]


def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of a plain recurrent layer with relu: the next hidden state.

    >>> torch.rnn_relu_cell(torch.ones(1, 2), torch.ones(1, 1), torch.ones(1, 2), torch.ones(1, 1))
    tensor([[3.]])
    """
    return recurrent_loop.run_cell("RNN_RELU", input, (hx,), (w_ih, w_hh, b_ih, b_hh))[0]


def _sequence(mode: str, input: Tensor, hx: Any, params: Any, *layers: Any, batch_first: bool) -> tuple[Tensor, ...]:
    """All layers and directions over a full sequence. `hx` is one state or a tuple of states, each stacked over the layers."""
    if isinstance(hx, bool) or not isinstance(params, (list, tuple)):
        name = mode.partition("_")[0]
        raise NotImplementedError(f"torch.{name.lower()} with packed sequences is not available. Use torch.nn.{name}")
    states = tuple(hx) if isinstance(hx, (tuple, list)) else (hx,)
    output, last = recurrent_loop.run(mode, input.transpose(0, 1) if batch_first else input, states, params, *layers)
    return (output.transpose(0, 1) if batch_first else output), *last


def lstm(input: Tensor, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
         bidirectional: bool, batch_first: bool = False) -> tuple[Tensor, ...]:  # fmt: skip
    """An LSTM over a sequence with these weights: its outputs, and the last hidden and cell states.

    >>> m, h = torch.nn.LSTM(2, 3), torch.zeros(1, 1, 3)
    >>> out, h, c = torch.lstm(torch.ones(5, 1, 2), (h, h), list(m.parameters()), True, 1, 0.0, False, False, False)
    >>> out.shape
    torch.Size([5, 1, 3])
    """
    layers = (has_biases, num_layers, dropout, train, bidirectional)
    return _sequence("LSTM", input, hx, params, *layers, batch_first=batch_first)


def gru(input: Tensor, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
        bidirectional: bool, batch_first: bool = False) -> tuple[Tensor, ...]:  # fmt: skip
    """A GRU over a sequence with these weights: its outputs and the last hidden states.

    >>> m = torch.nn.GRU(2, 3)
    >>> torch.gru(torch.ones(5, 1, 2), torch.zeros(1, 1, 3), list(m.parameters()), True, 1, 0.0, False, False)[0].shape
    torch.Size([5, 1, 3])
    """
    layers = (has_biases, num_layers, dropout, train, bidirectional)
    return _sequence("GRU", input, hx, params, *layers, batch_first=batch_first)


def rnn_tanh(input: Tensor, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
             bidirectional: bool, batch_first: bool = False) -> tuple[Tensor, ...]:  # fmt: skip
    """A plain recurrent layer with tanh over a sequence: its outputs and the last hidden states.

    >>> m = torch.nn.RNN(2, 3)
    >>> torch.rnn_tanh(torch.ones(5, 1, 2), torch.zeros(1, 1, 3), list(m.parameters()), True, 1, 0.0, False, False)[1].shape
    torch.Size([1, 1, 3])
    """
    layers = (has_biases, num_layers, dropout, train, bidirectional)
    return _sequence("RNN_TANH", input, hx, params, *layers, batch_first=batch_first)


def rnn_relu(input: Tensor, hx: Any, params: Any, has_biases: bool, num_layers: int, dropout: float, train: bool,
             bidirectional: bool, batch_first: bool = False) -> tuple[Tensor, ...]:  # fmt: skip
    """A plain recurrent layer with relu over a sequence: its outputs and the last hidden states.

    >>> m = torch.nn.RNN(2, 3, nonlinearity="relu")
    >>> torch.rnn_relu(torch.ones(5, 1, 2), torch.zeros(1, 1, 3), list(m.parameters()), True, 1, 0.0, False, False)[1].shape
    torch.Size([1, 1, 3])
    """
    layers = (has_biases, num_layers, dropout, train, bidirectional)
    return _sequence("RNN_RELU", input, hx, params, *layers, batch_first=batch_first)
