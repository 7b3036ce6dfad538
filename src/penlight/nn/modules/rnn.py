"""Recurrent networks: RNN, LSTM, GRU, and their single steps as cells."""

from __future__ import annotations

import math
import numbers
from typing import Any

import penlight
from penlight import Tensor
from penlight._common.docstrings import example
from penlight._common.module_table import names_of
from penlight._common.user_warnings import warn_user
from penlight.nn.parameter import Parameter
from penlight.nn.utils.rnn import PackedSequence
from penlight.ops.nn import recurrent_loop

from .lazy import make_parameters, reset_uniformly, unless_default
from .module import Module

__all__ = names_of(__name__)

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    return tensor.index_select(dim, permutation)


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """Deprecated: the same as `tensor.index_select(dim, permutation)`."""
    warn_user(
        "`apply_permutation` is deprecated, please use `tensor.index_select(dim, permutation)` instead",
        FutureWarning,
    )
    return _apply_permutation(tensor, permutation, dim)


@example("isinstance(torch.nn.LSTM(2, 3), torch.nn.RNNBase)", "True")
class RNNBase(Module):
    """The common base of RNN, LSTM and GRU: the parameters of all layers and directions, and the run over a sequence."""

    def __init__(self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self._check_dropout(dropout, num_layers)
        _check_types(bias, batch_first, input_size, hidden_size)
        _check_sizes(mode, num_layers, proj_size, hidden_size)
        self.mode, self.input_size, self.hidden_size, self.proj_size = mode, input_size, hidden_size, proj_size
        self.num_layers, self.bidirectional, self.batch_first = num_layers, bidirectional, batch_first
        self.bias, self.dropout = bias, float(dropout)
        self._name_weights()
        self._make_weights(device, dtype)
        self.reset_parameters()

    def _check_dropout(self, dropout: Any, num_layers: int) -> None:
        if not isinstance(dropout, numbers.Number) or isinstance(dropout, bool) or not 0 <= dropout <= 1:  # type: ignore[operator]
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and num_layers == 1:  # type: ignore[operator]
            warn_user(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            )

    def _name_weights(self) -> None:
        kinds = ["weight_ih", "weight_hh"]
        if self.bias:
            kinds += ["bias_ih", "bias_hh"]
        if self.proj_size > 0:
            kinds.append("weight_hr")
        suffixes = ("", "_reverse") if self.bidirectional else ("",)
        self._all_weights = [
            [f"{kind}_l{layer}{suffix}" for kind in kinds] for layer in range(self.num_layers) for suffix in suffixes
        ]
        self._flat_weights_names = [name for names in self._all_weights for name in names]

    def _make_weights(self, device: Any, dtype: Any) -> None:
        gates = _GATES[self.mode] * self.hidden_size
        output_size = self.proj_size or self.hidden_size
        directions = 2 if self.bidirectional else 1
        for row, names in enumerate(self._all_weights):
            below = self.input_size if row < directions else output_size * directions
            shapes: dict[str, tuple[int, ...]] = {
                "weight_ih": (gates, below),
                "weight_hh": (gates, output_size),
                "bias_ih": (gates,),
                "bias_hh": (gates,),
                "weight_hr": (self.proj_size, self.hidden_size),
            }
            make_parameters(self, device, dtype, **{name: shapes[name.rpartition("_l")[0]] for name in names})

    @property
    def _flat_weights(self) -> list[Any]:
        """The weights in order, read each time, because one may have been replaced or be computed."""
        replaced = self.__dict__.get("_replaced_weights") or {}
        own = [(name, getattr(self, name, None)) for name in self._flat_weights_names]
        return [replaced[name][1] if name in replaced and replaced[name][0] is mine else mine for name, mine in own]

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Any]) -> None:
        """Use these weights instead of the module's own, as `higher` does with updated weights."""
        own = ((name, getattr(self, name, None)) for name in self._flat_weights_names)
        replaced = {name: (mine, given) for (name, mine), given in zip(own, weights) if given is not mine}
        object.__setattr__(self, "_replaced_weights", replaced)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Does nothing: it matters only for memory on a GPU."""

    def reset_parameters(self) -> None:
        """Draws all weights uniformly from ±1/√hidden_size."""
        reset_uniformly(1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0, *self.parameters())

    # Checks

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raises if an input has the wrong dtype or shape."""
        own, given = self._flat_weights[0].dtype, input.dtype
        if given != own and not penlight.is_autocast_enabled("cpu"):
            raise ValueError(
                f"RNN input dtype ({given}) does not match weight dtype ({own}). "
                f"Convert input: input.to({own}), or convert model: model.to({given})"
            )
        dims, size = (3 if batch_sizes is None else 2), input.shape[-1] if input.dim() else None
        if input.dim() != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.dim()}")
        if size != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {size}")

    def _state_shape(self, input: Tensor, batch_sizes: Tensor | None, size: int) -> tuple[int, int, int]:
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        return (self.num_layers * (2 if self.bidirectional else 1), batch, size)

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the hidden state for this input."""
        return self._state_shape(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(self, hx: Tensor, expected_hidden_size: tuple[int, int, int],
                          msg: str = "Expected hidden size {}, got {}") -> None:  # fmt: skip
        """Raises if a state has another shape than expected."""
        if hx.size() != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raises if the input or the hidden state does not match the module."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The hidden state with its batch reordered."""
        return hx if permutation is None else _apply_permutation(hx, permutation)

    # The run. RNN and GRU have a single tensor as state; LSTM overrides these four for its pair.

    def _zero_state(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        shape = self.get_expected_hidden_size(input, batch_sizes)
        return penlight.zeros(shape, dtype=input.dtype, device=input.device)

    def _check_state_dims(self, hx: Any, batched: bool) -> None:
        kind, dims = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
        if hx.dim() != dims:
            raise RuntimeError(f"For {kind} input, hx should also be {dims}-D but got {hx.dim()}-D tensor")

    def _states_of(self, hx: Any) -> tuple[Tensor, ...]:
        return (hx,)

    def _joined_state(self, parts: tuple[Tensor, ...]) -> Any:
        return parts[0]

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The outputs of all steps and the last state, for a padded or packed sequence and an optional initial state.

        The input is (time, batch, features), or (batch, time, features) with `batch_first`, or (time, features)
        without a batch. The state has a row for each layer and direction.
        """
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            what = "D tensor instead" if self._kind() == "RNN" else "D instead"
            raise ValueError(f"{self._kind()}: Expected input to be 2D or 3D, got {input.dim()}{what}")
        batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if hx is not None:
            self._check_state_dims(hx, batched)
        if not batched:
            input = input.unsqueeze(batch_dim)
            if hx is not None:
                hx = self._joined_state(tuple(part.unsqueeze(1) for part in self._states_of(hx)))
        if hx is None:
            hx = self._zero_state(input, None)
            self.check_input(input, None)
        else:
            self.check_forward_args(input, hx, None)
        output, final = self._run(input.transpose(0, 1) if self.batch_first else input, hx, None)
        if self.batch_first:
            output = output.transpose(0, 1)
        if not batched:
            output = output.squeeze(batch_dim)
            final = tuple(part.squeeze(1) for part in final)
        return output, self._joined_state(final)

    def _forward_packed(self, input: PackedSequence, hx: Any) -> tuple[Any, Any]:
        data, batch_sizes, sorted_indices, unsorted_indices = input
        if hx is None:
            hx = self._zero_state(data, batch_sizes)
        else:
            hx = self.permute_hidden(hx, sorted_indices)
        self.check_forward_args(data, hx, batch_sizes)
        output, final = self._run(data, hx, batch_sizes.tolist())
        packed = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return packed, self.permute_hidden(self._joined_state(final), unsorted_indices)

    def _run(self, input: Tensor, hx: Any, batch_sizes: list[int] | None) -> tuple[Tensor, tuple[Tensor, ...]]:
        layers = (self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        return recurrent_loop.run(self.mode, input, self._states_of(hx), self._flat_weights, *layers, batch_sizes)

    def _kind(self) -> str:
        return self.mode.partition("_")[0]

    def extra_repr(self) -> str:
        sizes = f"{self.input_size}, {self.hidden_size}" + unless_default(self, proj_size=0, num_layers=1)
        return sizes + unless_default(self, bias=True, batch_first=False, dropout=0.0, bidirectional=False)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state["_flat_weights"] = self._flat_weights  # PyTorch keeps this list in the instance
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        fields = self.__dict__
        for name in ("_flat_weights", "_flat_weight_refs", "all_weights"):
            fields.pop(name, None)
        fields.setdefault("proj_size", 0)
        self._name_weights()


def _check_types(bias: Any, batch_first: Any, input_size: Any, hidden_size: Any) -> None:
    for name, value in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(value, int):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")


def _check_sizes(mode: str, num_layers: int, proj_size: int, hidden_size: int) -> None:
    mistakes = {
        "num_layers must be greater than zero": num_layers <= 0,
        "proj_size should be a positive integer or zero to disable projections": proj_size < 0,
        "proj_size has to be smaller than hidden_size": proj_size >= hidden_size,
        f"Unrecognized RNN mode: {mode}": mode not in _GATES,
    }
    for message, holds in mistakes.items():
        if holds:
            raise ValueError(message)


class RNN(RNNBase):
    """The plain recurrent network: h' = tanh(W x + b + U h + c), or relu.

    >>> output, h = torch.nn.RNN(10, 20, num_layers=2)(torch.randn(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh",
                 bias: bool = True, batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False,
                 device: Any = None, dtype: Any = None, **kwargs: Any) -> None:  # fmt: skip
        _refuse_proj_size(kwargs)
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        mode = "RNN_" + nonlinearity.upper()
        settings = (num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__(mode, input_size, hidden_size, *settings, device=device, dtype=dtype, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """The long short-term memory network; its state is the pair (h, c).

    The gates are stacked in the order input, forget, cell, output. `proj_size` projects h to a smaller size.

    >>> output, (h, c) = torch.nn.LSTM(10, 20, bidirectional=True)(torch.randn(5, 3, 10))
    >>> output.shape, h.shape
    (torch.Size([5, 3, 40]), torch.Size([2, 3, 20]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0,
                 device: Any = None, dtype: Any = None, **kwargs: Any) -> None:  # fmt: skip
        settings = (num_layers, bias, batch_first, dropout, bidirectional, proj_size)
        super().__init__("LSTM", input_size, hidden_size, *settings, device=device, dtype=dtype, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of the cell state for this input."""
        return self._state_shape(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raises if the input, hidden or cell state does not match the module."""
        self.check_input(input, batch_sizes)
        sizes = (self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes))
        for i, size in enumerate(sizes):
            self.check_hidden_size(hidden[i], size, f"Expected hidden[{i}] size {{}}, got {{}}")

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The pair of states with its batch reordered."""
        if permutation is None:
            return hx
        return _apply_permutation(hx[0], permutation), _apply_permutation(hx[1], permutation)

    def _zero_state(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        state = super()._zero_state(input, batch_sizes)
        if not self.proj_size:
            return state, state  # never written to
        cell = self.get_expected_cell_size(input, batch_sizes)
        return state, penlight.zeros(cell, dtype=input.dtype, device=input.device)

    def _check_state_dims(self, hx: Any, batched: bool) -> None:
        kind, dims = ("batched 3-D", 3) if batched else ("unbatched 2-D", 2)
        if hx[0].dim() != dims or hx[1].dim() != dims:
            raise RuntimeError(
                f"For {kind} input, hx and cx should also be {dims}-D but got "
                f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )

    def _states_of(self, hx: Any) -> tuple[Tensor, ...]:
        return (hx[0], hx[1])

    def _joined_state(self, parts: tuple[Tensor, ...]) -> Any:
        return parts


class GRU(RNNBase):
    """The gated recurrent unit; the gates are stacked in the order reset, update, new.

    >>> output, h = torch.nn.GRU(10, 20, batch_first=True)(torch.randn(3, 5, 10))
    >>> output.shape, h.shape
    (torch.Size([3, 5, 20]), torch.Size([1, 3, 20]))
    """

    def __init__(self, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True,
                 batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, device: Any = None,
                 dtype: Any = None, **kwargs: Any) -> None:  # fmt: skip
        _refuse_proj_size(kwargs)
        settings = (num_layers, bias, batch_first, dropout, bidirectional)
        super().__init__("GRU", input_size, hidden_size, *settings, device=device, dtype=dtype, **kwargs)


def _refuse_proj_size(kwargs: dict[str, Any]) -> None:
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


# ----- Single steps ----------------------------------------------------------------------------------------------------


@example("isinstance(torch.nn.GRUCell(2, 3), torch.nn.RNNCellBase)", "True")
class RNNCellBase(Module):
    """The common base of the three cells."""

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
        """One step; adds a batch of one if the input has none, and uses zeros if no state is given.

        `names` are the names of the state's parts in errors.
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
        result = recurrent_loop.run_cell(mode, input, state, weights)
        return result if batched else tuple(part.squeeze(0) for part in result)


class RNNCell(RNNCellBase, example=("(10, 20)(torch.randn(3, 10)).shape", "torch.Size([3, 20])")):
    """One step of an `RNN`."""

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

    >>> h, c = torch.nn.LSTMCell(10, 20)(torch.randn(3, 10))
    >>> h.shape, c.shape
    (torch.Size([3, 20]), torch.Size([3, 20]))
    """

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

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next hidden state."""
        return self._step("GRU", input, None if hx is None else (hx,), "hidden")[0]
