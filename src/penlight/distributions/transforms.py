"""Transforms of random variables.

>>> import penlight as torch
>>> torch.distributions.transforms.SigmoidTransform()(torch.tensor(0.0))
tensor(0.5000)
"""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..ops.nonlinear import softplus
from ..tensor import Tensor
from . import constraints
from ._transform import (
    CatTransform,
    ComposeTransform,
    IndependentTransform,
    Plain,
    StackTransform,
    Transform,
    identity_transform,
    inside_unit,
    log_tanh_slope,
)
from ._transform import (
    _InverseTransform as _InverseTransform,
)
from ._vector_transforms import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    ReshapeTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)
from .utils import _Number, broadcast_all, lazy_property

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]


class ExpTransform(Plain):
    """y = exp(x).

    >>> import penlight as torch
    >>> torch.distributions.ExpTransform().codomain
    GreaterThan(lower_bound=0.0)
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """y = x ** exponent, of positive numbers.

    >>> import penlight as torch
    >>> torch.distributions.PowerTransform(2.0)(torch.tensor(3.0))
    tensor(9.)
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def _rebuilt(self, cache_size: int) -> Any:
        return PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self) -> Any:
        return self.exponent.sign()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape: Any) -> Any:
        return penlight.broadcast_shapes(shape, self.exponent.shape)

    inverse_shape = forward_shape


def _clipped_sigmoid(x: Tensor) -> Tensor:
    return inside_unit(x.sigmoid())


class SigmoidTransform(Plain):
    """y = 1 / (1 + exp(-x)), kept off 0 and 1.

    >>> import penlight as torch
    >>> torch.distributions.SigmoidTransform().inv(torch.tensor(0.5))
    tensor(0.)
    """

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return inside_unit(x.sigmoid())

    def _inverse(self, y: Tensor) -> Tensor:
        y = inside_unit(y)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(Plain):
    """y = log(1 + exp(x)).

    >>> import penlight as torch
    >>> torch.distributions.SoftplusTransform()(torch.tensor(0.0))
    tensor(0.6931)
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(Plain):
    """y = tanh(x).

    >>> import penlight as torch
    >>> torch.distributions.TanhTransform().codomain
    Interval(lower_bound=-1.0, upper_bound=1.0)
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return log_tanh_slope(x)


class AbsTransform(Plain):
    """y = |x|; not a bijection.

    >>> import penlight as torch
    >>> torch.distributions.AbsTransform()(torch.tensor(-2.0))
    tensor(2.)
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, _Number) and isinstance(b, _Number):
        return a == b
    return bool((a == b).all())


class AffineTransform(Transform):
    """y = loc + scale * x.

    >>> import penlight as torch
    >>> torch.distributions.AffineTransform(1.0, 2.0)(torch.tensor(3.0))
    tensor(7.)
    """

    bijective = True

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    @constraints.dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self.domain

    def _rebuilt(self, cache_size: int) -> Any:
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AffineTransform) and _same(self.loc, other.loc) and _same(self.scale, other.scale)

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, _Number):
            return (self.scale > 0) - (self.scale < 0)
        return self.scale.sign()

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x  # type: ignore[no-any-return]

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        shape, scale = x.shape, self.scale
        result = penlight.full_like(x, math.log(abs(scale))) if isinstance(scale, _Number) else scale.abs().log()
        if self.event_dim:
            result = result.view(tuple(result.shape[: -self.event_dim]) + (-1,)).sum(-1)
            shape = shape[: -self.event_dim]
        return result.expand(shape)

    def forward_shape(self, shape: Any) -> Any:
        return penlight.broadcast_shapes(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    inverse_shape = forward_shape


class CumulativeDistributionTransform(Transform):
    """y = F(x), the distribution function of a distribution: uniform if x has that distribution.

    >>> import penlight as torch
    >>> D = torch.distributions
    >>> D.CumulativeDistributionTransform(D.Normal(0.0, 1.0))(torch.tensor(0.0))
    tensor(0.5000)
    """

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support

    def _call(self, x: Tensor) -> Any:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Any:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Any:
        return self.distribution.log_prob(x)

    def _rebuilt(self, cache_size: int) -> Any:
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)


# Their home is this module, as in PyTorch: that is the name that pickles carry.
for _class in (
    *(CatTransform, ComposeTransform, IndependentTransform, StackTransform, Transform),
    *(CorrCholeskyTransform, LowerCholeskyTransform, PositiveDefiniteTransform, ReshapeTransform),
    *(SoftmaxTransform, StickBreakingTransform),
):
    _class.__module__ = __name__
