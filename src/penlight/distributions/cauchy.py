"""The Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, formula

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """Cauchy distributions: ratios of independent normal variables, without a mean.

    >>> import penlight as torch
    >>> torch.distributions.Cauchy(0.0, 1.0).mean
    tensor(nan)
    """

    arg_constraints = _batched = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    mean = formula(lambda d: penlight.full(d._extended_shape(), math.nan, dtype=d.loc.dtype))
    mode = formula(lambda d: d.loc)
    variance = formula(lambda d: penlight.full(d._extended_shape(), math.inf, dtype=d.loc.dtype))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return self.loc + self._unfilled(sample_shape, self.loc.dtype).cauchy_() * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()
