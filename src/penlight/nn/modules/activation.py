"""Activation functions as modules."""

from __future__ import annotations

import warnings
from typing import Any

import penlight
from penlight import Tensor
from penlight.nn import functional as F
from penlight.nn import init as _init
from penlight.nn.parameter import Parameter

from ._softmax import LogSoftmax, Softmax, Softmax2d, Softmin
from .module import Module
from .multihead_attention import MultiheadAttention

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class _InPlace(Module):
    """An activation whose only setting is whether it writes into its input."""

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


def _and_inplace(shown: str, inplace: bool) -> str:
    return shown + ", inplace=True" if inplace else shown


class Threshold(Module):
    """x where x > threshold, `value` elsewhere.

    >>> import penlight as torch
    >>> torch.nn.Threshold(0.1, 20)(torch.tensor([0.0, 1.0]))
    tensor([20.,  1.])
    """

    threshold: float
    value: float
    inplace: bool

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return _and_inplace(f"threshold={self.threshold}, value={self.value}", self.inplace)


class ReLU(_InPlace):
    """max(0, x).

    >>> import penlight as torch
    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.relu(input, inplace=self.inplace)


class RReLU(Module):
    """x where x ≥ 0, a x elsewhere, with `a` drawn from [lower, upper] while training and their mean otherwise.

    >>> import penlight as torch
    >>> torch.nn.RReLU(0.25, 0.75).eval()(torch.tensor([-2.0, 2.0]))
    tensor([-1.,  2.])
    """

    lower: float
    upper: float
    inplace: bool

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return _and_inplace(f"lower={self.lower}, upper={self.upper}", self.inplace)


class Hardtanh(Module):
    """x limited to [min_val, max_val].

    >>> import penlight as torch
    >>> torch.nn.Hardtanh(-2, 2)(torch.tensor([-3.0, 1.0]))
    tensor([-2.,  1.])
    """

    min_val: float
    max_val: float
    inplace: bool

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for old, new, value in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if value is not None:
                message = f"keyword argument `{old}` is deprecated and renamed to `{new}`"
                warnings.warn(message, FutureWarning, stacklevel=2)
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return _and_inplace(f"min_val={self.min_val}, max_val={self.max_val}", self.inplace)


class ReLU6(Hardtanh):
    """min(max(0, x), 6).

    >>> import penlight as torch
    >>> torch.nn.ReLU6()(torch.tensor([-1.0, 8.0]))
    tensor([0., 6.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """1 / (1 + exp(-x)).

    >>> import penlight as torch
    >>> torch.nn.Sigmoid()(torch.zeros(1))
    tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return penlight.sigmoid(input)


class Hardsigmoid(_InPlace):
    """x/6 + 1/2 limited to [0, 1].

    >>> import penlight as torch
    >>> torch.nn.Hardsigmoid()(torch.tensor([-4.0, 0.0, 4.0]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Tanh(Module):
    """The hyperbolic tangent.

    >>> import penlight as torch
    >>> torch.nn.Tanh()(torch.zeros(1))
    tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return penlight.tanh(input)


class SiLU(_InPlace):
    """x sigmoid(x), also called swish.

    >>> import penlight as torch
    >>> torch.nn.SiLU()(torch.zeros(1))
    tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.silu(input, inplace=self.inplace)


class Mish(_InPlace):
    """x tanh(softplus(x)).

    >>> import penlight as torch
    >>> torch.nn.Mish()(torch.zeros(1))
    tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.mish(input, inplace=self.inplace)


class Hardswish(_InPlace):
    """x times its hard sigmoid.

    >>> import penlight as torch
    >>> torch.nn.Hardswish()(torch.tensor([0.0, 4.0]))
    tensor([0., 4.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class ELU(Module):
    """x where x > 0, alpha (exp(x) - 1) elsewhere.

    >>> import penlight as torch
    >>> torch.nn.ELU()(torch.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """

    alpha: float
    inplace: bool

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return _and_inplace(f"alpha={self.alpha}", self.inplace)


class CELU(Module):
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)).

    >>> import penlight as torch
    >>> torch.nn.CELU()(torch.tensor([0.0, 1.0]))
    tensor([0., 1.])
    """

    alpha: float
    inplace: bool

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return _and_inplace(f"alpha={self.alpha}", self.inplace)


class SELU(_InPlace):
    """The scaled ELU of self-normalising networks.

    >>> import penlight as torch
    >>> torch.nn.SELU()(torch.tensor([1.0]))
    tensor([1.0507])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.selu(input, self.inplace)


class GLU(Module):
    """One half of the input times the sigmoid of the other, split along `dim`.

    >>> import penlight as torch
    >>> torch.nn.GLU()(torch.tensor([4.0, 0.0]))
    tensor([2.])
    """

    dim: int

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """The gated half."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class GELU(Module):
    """x times the normal distribution function of x; with `approximate="tanh"` by the usual approximation.

    >>> import penlight as torch
    >>> torch.nn.GELU()(torch.tensor([1.0]))
    tensor([0.8413])
    """

    approximate: str

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Hardshrink(Module):
    """x where |x| > lambd, 0 elsewhere.

    >>> import penlight as torch
    >>> torch.nn.Hardshrink()(torch.tensor([0.4, 0.6]))
    tensor([0.0000, 0.6000])
    """

    lambd: float

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class LeakyReLU(Module):
    """x where x ≥ 0, negative_slope x elsewhere.

    >>> import penlight as torch
    >>> torch.nn.LeakyReLU(0.1)(torch.tensor([-1.0, 2.0]))
    tensor([-0.1000,  2.0000])
    """

    negative_slope: float
    inplace: bool

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return _and_inplace(f"negative_slope={self.negative_slope}", self.inplace)


class LogSigmoid(Module):
    """log(sigmoid(x)), computed without overflow.

    >>> import penlight as torch
    >>> torch.nn.LogSigmoid()(torch.zeros(1))
    tensor([-0.6931])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.logsigmoid(input)


class Softplus(Module):
    """log(1 + exp(beta x)) / beta, and x itself where beta x > threshold.

    >>> import penlight as torch
    >>> torch.nn.Softplus()(torch.zeros(1))
    tensor([0.6931])
    """

    beta: float
    threshold: float

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class Softshrink(Module):
    """x moved towards 0 by lambd, and 0 within.

    >>> import penlight as torch
    >>> torch.nn.Softshrink()(torch.tensor([0.4, 1.5]))
    tensor([0., 1.])
    """

    lambd: float

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class PReLU(Module):
    """x where x ≥ 0, a x elsewhere, with `a` learnt: one for all or one for each channel.

    >>> import penlight as torch
    >>> torch.nn.PReLU()(torch.tensor([-1.0]))
    tensor([-0.2500], grad_fn=<PreluKernelBackward0>)
    """

    num_parameters: int

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(penlight.empty(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the weight to its initial value."""
        _init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class Softsign(Module):
    """x / (1 + |x|).

    >>> import penlight as torch
    >>> torch.nn.Softsign()(torch.tensor([1.0]))
    tensor([0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x).

    >>> import penlight as torch
    >>> torch.nn.Tanhshrink()(torch.zeros(1))
    tensor([0.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """The function of each element."""
        return F.tanhshrink(input)
