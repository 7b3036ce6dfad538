"""Activation functions and dropout as modules."""

from __future__ import annotations

from typing import Any

import penlight
from penlight import Tensor
from penlight._common.module_table import make_modules, names_of
from penlight._common.user_warnings import warn_user
from penlight.nn import functional as F, init as _init
from penlight.nn.parameter import Parameter

from ._options import Unary
from .module import Module
from .multihead_attention import MultiheadAttention as MultiheadAttention

__all__ = names_of(__name__)


class _InPlace(Unary):
    """An activation with the option `inplace`, which is printed only if set."""

    def extra_repr(self) -> str:
        shown = super().extra_repr()
        if not self.inplace:
            return shown
        return f"{shown}, inplace=True" if shown else "inplace=True"


class Threshold(_InPlace, function=F.threshold, shown="threshold={self.threshold}, value={self.value}",
                example=("(0.1, 20)(torch.tensor([0.0, 1.0]))", "tensor([20.,  1.])")):  # fmt: skip
    """x where x > threshold, `value` elsewhere."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None: ...


class ReLU(_InPlace, function=F.relu, example=("()(torch.tensor([-1.0, 2.0]))", "tensor([0., 2.])")):
    """max(0, x)."""

    def __init__(self, inplace: bool = False) -> None: ...


class RReLU(_InPlace, shown="lower={self.lower}, upper={self.upper}",
            example=("(0.25, 0.75).eval()(torch.tensor([-2.0, 2.0]))", "tensor([-1.,  2.])")):  # fmt: skip
    """x where x ≥ 0, a x elsewhere, with `a` drawn from [lower, upper] in training and their mean otherwise."""

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None: ...

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(_InPlace, example=("(-2, 2)(torch.tensor([-3.0, 1.0]))", "tensor([-2.,  1.])")):
    """x limited to [min_val, max_val]."""

    _shown = "min_val={self.min_val}, max_val={self.max_val}"

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False,
                 min_value: float | None = None, max_value: float | None = None) -> None:  # fmt: skip
        limits = {"min_val": min_val, "max_val": max_val}
        for new, old, value in (("min_val", "min_value", min_value), ("max_val", "max_value", max_value)):
            if value is not None:
                message = f"keyword argument `{old}` is deprecated and renamed to `{new}`"
                warn_user(message, FutureWarning)
                limits[new] = value
        self._set_options({**limits, "inplace": inplace})
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh, example=("()(torch.tensor([-1.0, 8.0]))", "tensor([0., 6.])")):
    """min(max(0, x), 6)."""

    _shown = ""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class Sigmoid(Unary, function=penlight.sigmoid, example=("()(torch.zeros(1))", "tensor([0.5000])")):
    """1 / (1 + exp(-x))."""


class Hardsigmoid(Unary, function=F.hardsigmoid,
                  example=("()(torch.tensor([-4.0, 0.0, 4.0]))", "tensor([0.0000, 0.5000, 1.0000])")):  # fmt: skip
    """x/6 + 1/2 limited to [0, 1]."""

    def __init__(self, inplace: bool = False) -> None: ...


class Tanh(Unary, function=penlight.tanh, example=("()(torch.zeros(1))", "tensor([0.])")):
    """The hyperbolic tangent."""


class SiLU(_InPlace, function=F.silu, example=("()(torch.zeros(1))", "tensor([0.])")):
    """x sigmoid(x), also called swish."""

    def __init__(self, inplace: bool = False) -> None: ...


class Mish(_InPlace, function=F.mish, example=("()(torch.zeros(1))", "tensor([0.])")):
    """x tanh(softplus(x))."""

    def __init__(self, inplace: bool = False) -> None: ...


class Hardswish(Unary, function=F.hardswish, example=("()(torch.tensor([0.0, 4.0]))", "tensor([0., 4.])")):
    """x times its hard sigmoid."""

    def __init__(self, inplace: bool = False) -> None: ...


class ELU(_InPlace, function=F.elu, shown="alpha={self.alpha}",
          example=("()(torch.tensor([0.0, 1.0]))", "tensor([0., 1.])")):  # fmt: skip
    """x where x > 0, alpha (exp(x) - 1) elsewhere."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None: ...


class CELU(_InPlace, function=F.celu, shown="alpha={self.alpha}",
           example=("()(torch.tensor([0.0, 1.0]))", "tensor([0., 1.])")):  # fmt: skip
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1))."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None: ...


class SELU(_InPlace, function=F.selu, example=("()(torch.tensor([1.0]))", "tensor([1.0507])")):
    """The scaled ELU of self-normalising networks."""

    def __init__(self, inplace: bool = False) -> None: ...


class GLU(Unary, function=F.glu, shown="dim={self.dim}", example=("()(torch.tensor([4.0, 0.0]))", "tensor([2.])")):
    """One half of the input times the sigmoid of the other, split along `dim`."""

    def __init__(self, dim: int = -1) -> None: ...


class GELU(Unary, shown="approximate={self.approximate!r}", example=("()(torch.tensor([1.0]))", "tensor([0.8413])")):
    """x times the normal distribution function of x; `approximate="tanh"` uses the usual approximation."""

    def __init__(self, approximate: str = "none") -> None: ...

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)


class Hardshrink(Unary, function=F.hardshrink, shown="{self.lambd}",
                 example=("()(torch.tensor([0.4, 0.6]))", "tensor([0.0000, 0.6000])")):  # fmt: skip
    """x where |x| > lambd, 0 elsewhere."""

    def __init__(self, lambd: float = 0.5) -> None: ...


class LeakyReLU(_InPlace, function=F.leaky_relu, shown="negative_slope={self.negative_slope}",
                example=("(0.1)(torch.tensor([-1.0, 2.0]))", "tensor([-0.1000,  2.0000])")):  # fmt: skip
    """x where x ≥ 0, negative_slope x elsewhere."""

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None: ...


class LogSigmoid(Unary, function=F.logsigmoid, example=("()(torch.zeros(1))", "tensor([-0.6931])")):
    """log(sigmoid(x)), computed without overflow."""


class Softplus(Unary, function=F.softplus, shown="beta={self.beta}, threshold={self.threshold}",
               example=("()(torch.zeros(1))", "tensor([0.6931])")):  # fmt: skip
    """log(1 + exp(beta x)) / beta, and x itself where beta x > threshold."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None: ...


class Softshrink(Unary, function=F.softshrink, shown="{self.lambd}",
                 example=("()(torch.tensor([0.4, 1.5]))", "tensor([0., 1.])")):  # fmt: skip
    """x moved towards 0 by lambd; 0 within that distance."""

    def __init__(self, lambd: float = 0.5) -> None: ...


class PReLU(Module, example=("()(torch.tensor([-1.0]))", "tensor([-0.2500], grad_fn=<PreluKernelBackward0>)")):
    """x where x ≥ 0, a x elsewhere, with a learned `a`: one for all or one for each channel."""

    weight: Tensor

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = Parameter(penlight.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the weight to its initial value."""
        _init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Softsign(Unary, function=F.softsign, example=("()(torch.tensor([1.0]))", "tensor([0.5000])")):
    """x / (1 + |x|)."""


class Tanhshrink(Unary, function=F.tanhshrink, example=("()(torch.zeros(1))", "tensor([0.])")):
    """x - tanh(x)."""


class _AlongDim(Unary, shown="dim={self.dim}"):
    """A function along one dimension; if that is None, it is guessed with a warning."""

    def forward(self, input: Tensor) -> Tensor:
        return self._function(input, self.dim, _stacklevel=5)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("dim", None)


class Softmin(_AlongDim, function=F.softmin, example=("(dim=0)(torch.zeros(2))", "tensor([0.5000, 0.5000])")):
    """The softmax of -x along a dimension."""

    def __init__(self, dim: int | None = None) -> None: ...


class Softmax(_AlongDim, function=F.softmax,
              example=("(dim=1)(torch.zeros(1, 4))", "tensor([[0.2500, 0.2500, 0.2500, 0.2500]])")):  # fmt: skip
    """exp(x), normalised to sum to 1 along a dimension."""

    def __init__(self, dim: int | None = None) -> None: ...


class Softmax2d(Module, example=("()(torch.zeros(2, 1, 1)).flatten()", "tensor([0.5000, 0.5000])")):
    """The softmax over the channels at each position of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3, _stacklevel=5)


class LogSoftmax(_AlongDim, function=F.log_softmax, example=("(dim=0)(torch.zeros(2))", "tensor([-0.6931, -0.6931])")):
    """log(softmax(x)) along a dimension, computed without overflow."""

    def __init__(self, dim: int | None = None) -> None: ...


# ----- Dropout: of elements, of channels, and for self-normalising networks ------------------------------------------


class _DropoutNd(Unary, shown="p={self.p}, inplace={self.inplace}"):
    def __init__(self, p: float = 0.5, inplace: bool = False) -> None: ...

    def _check(self) -> None:
        if self.p < 0 or self.p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {self.p}")

    def forward(self, input: Tensor) -> Tensor:
        """The input with elements or channels dropped."""
        return self._function(input, self.p, self.training, self.inplace)


class Dropout(_DropoutNd, function=F.dropout, example=("(0.5).eval()(torch.ones(3))", "tensor([1., 1., 1.])")):
    """Zeroes elements with probability `p` in training, and scales the others by 1/(1-p)."""


class Dropout1d(_DropoutNd, function=F.dropout1d):
    """Zeroes full channels of (N, C, L) or (C, L) with probability `p` in training.

    >>> torch.nn.Dropout1d(1.0)(torch.ones(1, 2, 2))
    tensor([[[0., 0.],
             [0., 0.]]])
    """


class Dropout2d(_DropoutNd, function=F.dropout2d, example=("(1.0)(torch.ones(1, 1, 1, 2))", "tensor([[[[0., 0.]]]])")):
    """Zeroes full channels of (N, C, H, W) with probability `p` in training."""


class Dropout3d(_DropoutNd, function=F.dropout3d,
                example=("(1.0)(torch.ones(1, 1, 1, 1, 2))", "tensor([[[[[0., 0.]]]]])")):  # fmt: skip
    """Zeroes full channels of (N, C, D, H, W) with probability `p` in training."""


class AlphaDropout(_DropoutNd, example=("().eval()(torch.ones(2))", "tensor([1., 1.])")):
    """Dropout that preserves mean and variance of standardised input; for use with `SELU`."""

    def forward(self, input: Tensor) -> Tensor:
        return F.alpha_dropout(input, self.p, self.training)


class FeatureAlphaDropout(_DropoutNd, example=("().eval()(torch.ones(1, 2))", "tensor([[1., 1.]])")):
    """`AlphaDropout` of full channels."""

    def forward(self, input: Tensor) -> Tensor:
        return F.feature_alpha_dropout(input, self.p, self.training)


make_modules(__name__)
