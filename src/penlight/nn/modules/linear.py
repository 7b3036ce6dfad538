"""Linear maps: Identity, Linear, Bilinear, LazyLinear."""

from __future__ import annotations

import math
from typing import Any

import penlight
from penlight import Tensor
from penlight.nn import functional as F

from ._parameters import make_parameters, reset_by_fan_in, reset_uniformly
from .lazy import LazySized
from .module import Module

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module, example=("()(torch.ones(2))", "tensor([1., 1.])")):
    """Gives back what it gets; arguments to the constructor are ignored."""

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
    """A `Linear` by another name, as the output projection of `MultiheadAttention` is."""


class Bilinear(Module, example=("(20, 30, 40)(torch.randn(8, 20), torch.randn(8, 30)).shape", "torch.Size([8, 40])")):
    """y = x₁ᵀ A x₂ + b, for each of the outputs."""

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
    """A `Linear` that learns `in_features` from its first input."""

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
