"""The log-normal distribution."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from . import constraints
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import formula

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """exp(x) of normal x.

    >>> import penlight as torch
    >>> torch.distributions.LogNormal(0.0, 1.0).mean
    tensor(1.6487)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Any
    _batched = ()

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Normal(loc, scale, validate_args=validate_args), ExpTransform(), validate_args=validate_args)

    loc = formula(lambda d: d.base_dist.loc)
    scale = formula(lambda d: d.base_dist.scale)
    mean = formula(lambda d: (d.loc + d.scale.pow(2) / 2).exp())
    mode = formula(lambda d: (d.loc - d.scale.square()).exp())

    @property
    def variance(self) -> Tensor:
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
