"""The Weibull distribution."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import penlight

from ..tensor import Tensor
from . import constraints
from .exponential import Exponential
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant, formula

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """Weibull distributions: exponential variables to a power.

    >>> import penlight as torch
    >>> torch.distributions.Weibull(2.0, 1.0).mean
    tensor(2.)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive
    _batched = ("scale", "concentration", "concentration_reciprocal")

    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(penlight.ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._steps(), validate_args=validate_args)

    def _steps(self) -> list[Any]:
        return [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]

    def _expand_into(self, new: Any, batched: Iterable[str]) -> None:
        super()._expand_into(new, batched)
        new.transforms = new._steps()

    mean = formula(lambda d: d.scale * (1 + d.concentration_reciprocal).lgamma().exp())
    mode = formula(lambda d: d.scale * ((d.concentration - 1) / d.concentration) ** d.concentration.reciprocal())

    @property
    def variance(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return self.scale.pow(2) * ((1 + 2 * inverse).lgamma().exp() - (2 * (1 + inverse).lgamma()).exp())

    def entropy(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + (self.scale * inverse).log() + 1
