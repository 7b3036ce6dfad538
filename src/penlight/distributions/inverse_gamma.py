"""The inverse gamma distribution."""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..tensor import Tensor
from . import constraints
from .gamma import Gamma
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform
from .utils import formula

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """1 / x of gamma-distributed x.

    >>> import penlight as torch
    >>> torch.distributions.InverseGamma(3.0, 2.0).mean
    tensor(1.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Any
    _batched = ()

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-base.rate.new_ones(())), validate_args=validate_args)

    concentration = formula(lambda d: d.base_dist.concentration)
    rate = formula(lambda d: d.base_dist.rate)
    mean = formula(lambda d: penlight.where(d.concentration > 1, d.rate / (d.concentration - 1), math.inf))
    mode = formula(lambda d: d.rate / (d.concentration + 1))

    @property
    def variance(self) -> Tensor:
        value = self.rate.square() / ((self.concentration - 1).square() * (self.concentration - 2))
        return penlight.where(self.concentration > 2, value, math.inf)

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape + self.rate.log() + shape.lgamma() - (1 + shape) * shape.digamma()
