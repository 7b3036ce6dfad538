"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, formula

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Generalized Pareto distributions: the limit of what lies above a high threshold.

    >>> import penlight as torch
    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints = _batched = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:
        end = penlight.where(self.concentration < 0, self.loc - self.scale / self.concentration, math.inf)
        return constraints.interval(self.loc, end)

    def _split(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is (nearly) zero, and a concentration without zeros."""
        zero = penlight.isclose(self.concentration, penlight.zeros_like(self.concentration))
        return zero, penlight.where(zero, 1.0, self.concentration)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return self.icdf(penlight.rand(self._extended_shape(sample_shape), dtype=self.loc.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        z = (value - self.loc) / self.scale
        zero, shape = self._split()
        factor = 1 / shape + penlight.ones_like(z)
        power = penlight.where(factor == 0, factor, factor * (shape * z).log1p())
        return -self.scale.log() - penlight.where(zero, z, power)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of more than a value."""
        self._check(value)
        z = (value - self.loc) / self.scale
        zero, shape = self._split()
        return penlight.where(zero, -z, -(shape * z).log1p() / shape)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the distribution function."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        zero, shape = self._split()
        log = (-value).log1p()
        power = self.loc + self.scale / shape * (-shape * log).expm1()
        return penlight.where(zero, self.loc - self.scale * log, power)

    @property
    def mean(self) -> Tensor:
        valid = self.concentration < 1
        shape = penlight.where(valid, self.concentration, 0.5)
        return penlight.where(valid, self.loc + self.scale / (1 - shape), math.nan)

    mode = formula(lambda d: d.loc)

    @property
    def variance(self) -> Tensor:
        valid = self.concentration < 0.5
        shape = penlight.where(valid, self.concentration, 0.25)
        return penlight.where(valid, self.scale**2 / ((1 - shape) ** 2 * (1 - 2 * shape)), math.nan)

    def entropy(self) -> Tensor:
        return self.scale.log() + self.concentration + 1
