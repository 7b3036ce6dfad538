"""Linear maps and embedding tables: Linear, Bilinear, Embedding, EmbeddingBag."""

from __future__ import annotations

import math
from typing import Any, Self

import penlight
from penlight import Tensor
from penlight._common.module_table import make_modules, names_of
from penlight.nn import functional as F, init
from penlight.nn.parameter import Parameter

from .lazy import LazySized, make_parameters, reset_by_fan_in, reset_uniformly, unless_default
from .module import Module

__all__ = names_of(__name__)


class Identity(Module, example=("()(torch.ones(2))", "tensor([1., 1.])")):
    """Returns its input; arguments to the constructor are ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        return input


class Linear(Module, example=("(20, 30)(torch.randn(128, 20)).shape", "torch.Size([128, 30])")):
    """y = x Aᵀ + b, on the last dimension of the input."""

    weight: Any  # a tensor
    bias: Any  # a tensor or None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        shapes: dict[str, Any] = {"weight": (out_features, in_features), "bias": out_features if bias else None}
        make_parameters(self, device, dtype, **shapes)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias uniformly from ±1/√in_features."""
        reset_by_fan_in(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear` under another name; the output projection of `MultiheadAttention` is one."""


class Bilinear(Module, example=("(20, 30, 40)(torch.randn(8, 20), torch.randn(8, 30)).shape", "torch.Size([8, 40])")):
    """y = x₁ᵀ A x₂ + b, for each output."""

    weight: Any  # a tensor
    bias: Any  # a tensor or None

    def __init__(self, in1_features: int, in2_features: int, out_features: int, bias: bool = True,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        bias_shape = out_features if bias else None
        make_parameters(self, device, dtype, weight=(out_features, in1_features, in2_features), bias=bias_shape)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws weight and bias uniformly from ±1/√in1_features."""
        if self.in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={self.in1_features})")
        reset_uniformly(1 / math.sqrt(self.weight.size(1)), self.weight, self.bias)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        inputs = f"in1_features={self.in1_features}, in2_features={self.in2_features}"
        return f"{inputs}, out_features={self.out_features}, bias={self.bias is not None}"


class LazyLinear(LazySized, Linear, example=("(3)(torch.ones(1, 5)).shape", "torch.Size([1, 3])")):
    """A `Linear` that infers `in_features` from its first input."""

    cls_to_become = Linear
    _inferred = "in_features"

    def __init__(self, out_features: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(0, 0, False)
        self._wait_for_shapes(device, dtype, "weight", *(["bias"] if bias else []))
        self.out_features = out_features

    def initialize_parameters(self, input: Tensor) -> None:
        """Takes `in_features` from the input."""
        size = input.shape[-1]
        if self.has_uninitialized_params():
            self.in_features = size
            with penlight.no_grad():
                self._materialize(weight=(self.out_features, size), bias=(self.out_features,))
        if self.in_features == 0:  # the weight was loaded, the size was not
            if size != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {size} is not equal to in_features from "
                    f"self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = size


# ----- Tables of vectors ---------------------------------------------------------------------------------------------


class _Table(Module):
    """The common base of both tables: the weight and its padding row."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    weight: Tensor

    def _set_options(self, *options: Any) -> None:
        super().__init__()
        names = ("num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "sparse")
        for name, value in zip(names, options, strict=True):
            setattr(self, name, value)

    def _set_padding_idx(self, padding_idx: int | None, name: str) -> None:
        if padding_idx is not None:
            rows = self.num_embeddings
            # Zero is allowed even for an empty table, as before.
            if (padding_idx > 0 and padding_idx >= rows) or (padding_idx < 0 and padding_idx < -rows):
                raise AssertionError(f"{name} must be within num_embeddings")
            if padding_idx < 0:
                padding_idx += rows
        self.padding_idx = padding_idx

    def _set_weight(self, given: Tensor | None, requires_grad: bool, device: Any, dtype: Any) -> None:
        shape = (self.num_embeddings, self.embedding_dim)
        if given is None:
            table = penlight.empty(shape, device=device, dtype=dtype)
            self.weight = Parameter(table, requires_grad=requires_grad)
            self.reset_parameters()
        elif tuple(given.shape) != shape:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        else:
            self.weight = Parameter(given, requires_grad=requires_grad)

    def reset_parameters(self) -> None:
        """Draws the table from the standard normal distribution; the padding row is zero."""
        init.normal_(self.weight)
        self._fill_padding_idx_with_zero()

    @penlight.no_grad()
    def _fill_padding_idx_with_zero(self) -> None:
        if self.padding_idx is not None:
            self.weight[self.padding_idx] = 0


class Embedding(_Table, example=("(10, 3)(torch.tensor([[1, 2], [4, 5]])).shape", "torch.Size([2, 2, 3])")):
    """A table whose rows are looked up by index.

    The row `padding_idx` is initialised to zero and not trained. With `max_norm`, looked-up rows are first rescaled, in place, to at most that norm.
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None,
                 max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                 sparse: bool = False, _weight: Tensor | None = None, _freeze: bool = False, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        self._set_options(num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, sparse)
        self._set_padding_idx(padding_idx, "Padding_idx")
        self._set_weight(_weight, not _freeze, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The rows at the indices in the input."""
        limits = (self.padding_idx, self.max_norm, self.norm_type)
        return F.embedding(input, self.weight, *limits, self.scale_grad_by_freq, self.sparse)

    def extra_repr(self) -> str:
        shown = f"{self.num_embeddings}, {self.embedding_dim}"
        shown += unless_default(self, padding_idx=None, max_norm=None, norm_type=2.0)
        return shown + unless_default(self, scale_grad_by_freq=False, sparse=False)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, padding_idx: int | None = None,
                        max_norm: float | None = None, norm_type: float = 2.0, scale_grad_by_freq: bool = False,
                        sparse: bool = False) -> Self:  # fmt: skip
        """An embedding with a given table, which is not trained unless `freeze` is False.

        >>> torch.nn.Embedding.from_pretrained(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))(torch.tensor([1]))
        tensor([[3., 4.]])
        """
        rows, columns = _table_shape(embeddings)
        return cls(num_embeddings=rows, embedding_dim=columns, _weight=embeddings, _freeze=freeze,
                   padding_idx=padding_idx, max_norm=max_norm, norm_type=norm_type,
                   scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)  # fmt: skip


class EmbeddingBag(_Table):
    """Sums, means or maxima over bags of rows, without materialising the rows.

    >>> bag = torch.nn.EmbeddingBag(10, 3, mode="sum")
    >>> bag(torch.tensor([1, 2, 4, 5]), torch.tensor([0, 3])).shape
    torch.Size([2, 3])
    """

    def __init__(self, num_embeddings: int, embedding_dim: int, max_norm: float | None = None,
                 norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
                 _weight: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
                 device: Any = None, dtype: Any = None) -> None:  # fmt: skip
        self._set_options(num_embeddings, embedding_dim, max_norm, norm_type, scale_grad_by_freq, sparse)
        self.mode, self.include_last_offset = mode, include_last_offset
        self._set_padding_idx(padding_idx, "padding_idx")
        self._set_weight(_weight, True, device, dtype)

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """One vector for each bag; in a 1-d input bags start at `offsets`, in a 2-d one each row is a bag."""
        settings = (self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, self.sparse)
        bags = (per_sample_weights, self.include_last_offset, self.padding_idx)
        return F.embedding_bag(input, self.weight, offsets, *settings, *bags)

    def extra_repr(self) -> str:
        settings = unless_default(self, max_norm=None, norm_type=2.0, scale_grad_by_freq=False)
        shown = f"{self.num_embeddings}, {self.embedding_dim}{settings}, mode={self.mode!r}"
        return shown + unless_default(self, padding_idx=None)

    @classmethod
    def from_pretrained(cls, embeddings: Tensor, freeze: bool = True, max_norm: float | None = None,
                        norm_type: float = 2.0, scale_grad_by_freq: bool = False, mode: str = "mean",
                        sparse: bool = False, include_last_offset: bool = False,
                        padding_idx: int | None = None) -> Self:  # fmt: skip
        """A bag with a given table, which is not trained unless `freeze` is False.

        >>> bag = torch.nn.EmbeddingBag.from_pretrained(torch.tensor([[1.0], [3.0]]))
        >>> bag(torch.tensor([[0, 1]]))
        tensor([[2.]])
        """
        rows, columns = _table_shape(embeddings)
        bag = cls(num_embeddings=rows, embedding_dim=columns, _weight=embeddings, max_norm=max_norm,
                  norm_type=norm_type, scale_grad_by_freq=scale_grad_by_freq, mode=mode, sparse=sparse,
                  include_last_offset=include_last_offset, padding_idx=padding_idx)  # fmt: skip
        bag.weight.requires_grad = not freeze
        return bag


def _table_shape(embeddings: Tensor) -> tuple[int, int]:
    if embeddings.dim() != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
    rows, columns = embeddings.shape
    return rows, columns


make_modules(__name__)
