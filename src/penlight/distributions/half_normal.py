"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..tensor import Tensor
from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform
from .utils import formula

__all__ = ["HalfNormal"]


class _Folded(TransformedDistribution):
    """|x| of an x that is symmetric about 0."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Any

    scale = formula(lambda d: d.base_dist.scale)
    mode = formula(lambda d: penlight.zeros_like(d.scale))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return penlight.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob: Tensor) -> Tensor:
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Folded):
    """|x| of normal x with mean 0.

    >>> import penlight as torch
    >>> torch.distributions.HalfNormal(1.0).mean
    tensor(0.7979)
    """

    _batched = ()

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    mean = formula(lambda d: d.scale * math.sqrt(2 / math.pi))
    variance = formula(lambda d: d.scale.pow(2) * (1 - 2 / math.pi))
