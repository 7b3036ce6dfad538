"""Single steps of recurrent networks, part of `rnn`."""

from __future__ import annotations

import math
from typing import Any

import penlight
from penlight import Tensor
from penlight._common.docstrings import example

from . import _rnn_loop
from ._parameters import make_parameters, reset_uniformly, unless_default
from .module import Module

_HOME = "penlight.nn.modules.rnn"  # where PyTorch has these classes, and so what pickles name


@example("isinstance(torch.nn.GRUCell(2, 3), torch.nn.RNNCellBase)", "True")
class RNNCellBase(Module):
    """What the three cells share."""

    __module__ = _HOME

    weight_ih: Tensor
    weight_hh: Tensor

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates = num_chunks * hidden_size
        make_parameters(self, device, dtype, weight_ih=(gates, input_size), weight_hh=(gates, hidden_size))
        make_parameters(self, device, dtype, **dict.fromkeys(("bias_ih", "bias_hh"), gates if bias else None))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws all weights uniformly from ±1/√hidden_size."""
        reset_uniformly(1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0, *self.parameters())

    def extra_repr(self) -> str:
        defaults = {"bias": True, "nonlinearity": "tanh"}
        own = {name: default for name, default in defaults.items() if name in self.__dict__}
        return f"{self.input_size}, {self.hidden_size}{unless_default(self, **own)}"

    def _step(self, mode: str, input: Tensor, state: tuple[Tensor, ...] | None, *names: str) -> tuple[Tensor, ...]:
        """One step, with a batch of one put around an input that has none, and a state of zeros if none is given.

        `names` are those of the parts of the state in errors.
        """
        for name, tensor in (("input", input), *zip(names, state or (), strict=False)):
            if tensor.dim() not in (1, 2):
                raise ValueError(f"{type(self).__name__}: Expected {name} to be 1D or 2D, got {tensor.dim()}D instead")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
        if state is None:
            zeros = penlight.zeros(input.size(0), self.hidden_size, dtype=input.dtype, device=input.device)
            state = (zeros,) * len(names)
        elif not batched:
            state = tuple(part.unsqueeze(0) for part in state)
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        result = _rnn_loop.run_cell(mode, input, state, weights)
        return result if batched else tuple(part.squeeze(0) for part in result)


class RNNCell(RNNCellBase, example=("(10, 20)(torch.randn(3, 10)).shape", "torch.Size([3, 20])")):
    """One step of an `RNN`."""

    __module__ = _HOME

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh",
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next hidden state."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._step("RNN_" + self.nonlinearity.upper(), input, None if hx is None else (hx,), "hidden")[0]


class LSTMCell(RNNCellBase):
    """One step of an `LSTM`.

    >>> import penlight as torch
    >>> h, c = torch.nn.LSTMCell(10, 20)(torch.randn(3, 10))
    >>> h.shape, c.shape
    (torch.Size([3, 20]), torch.Size([3, 20]))
    """

    __module__ = _HOME

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The next hidden and cell state."""
        h, c = self._step("LSTM", input, hx, "hx[0]", "hx[1]")
        return h, c


class GRUCell(RNNCellBase, example=("(10, 20)(torch.randn(3, 10)).shape", "torch.Size([3, 20])")):
    """One step of a `GRU`."""

    __module__ = _HOME

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next hidden state."""
        return self._step("GRU", input, None if hx is None else (hx,), "hidden")[0]
