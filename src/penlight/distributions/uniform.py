"""The uniform distribution."""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, formula

__all__ = ["Uniform"]


class Uniform(Distribution):
    """Uniform distributions over [low, high).

    >>> import penlight as torch
    >>> torch.distributions.Uniform(0.0, 4.0).mean
    tensor(2.)
    """

    has_rsample = True
    _batched = ("low", "high")

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.size(), validate_args=validate_args)

    @property
    def arg_constraints(self) -> Any:
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        return constraints.interval(self.low, self.high)

    mean = formula(lambda d: (d.high + d.low) / 2)
    mode = formula(lambda d: math.nan * d.high)
    stddev = formula(lambda d: (d.high - d.low) / 12**0.5)
    variance = formula(lambda d: (d.high - d.low).pow(2) / 12)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        share = penlight.rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + share * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        inside = (self.low.le(value) & self.high.gt(value)).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()
