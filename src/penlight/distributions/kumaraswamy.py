"""The Kumaraswamy distribution."""

from __future__ import annotations

import math

import penlight

from ..tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant, formula

__all__ = ["Kumaraswamy"]


def _moment(a: Tensor, b: Tensor, n: int) -> Tensor:
    first = 1 + n / a
    return b * (first.lgamma() + b.lgamma() - (first + b).lgamma()).exp()


class Kumaraswamy(TransformedDistribution):
    """Kumaraswamy distributions over [0, 1]: like beta distributions, with a simple distribution function.

    >>> import penlight as torch
    >>> torch.distributions.Kumaraswamy(1.0, 1.0).mean
    tensor(0.5000)
    """

    arg_constraints = _batched = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        zeros = penlight.zeros_like(self.concentration0)
        base = Uniform(zeros, zeros + 1, validate_args=validate_args)
        inner, outer = (PowerTransform(c.reciprocal()) for c in (self.concentration0, self.concentration1))
        super().__init__(base, [inner, AffineTransform(1.0, -1.0), outer], validate_args=validate_args)

    mean = formula(lambda d: _moment(d.concentration1, d.concentration0, 1))

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log_mode = b.reciprocal() * (-b).log1p() - (-b * a).log1p()
        return log_mode.masked_fill((b < 1) | (a < 1), math.nan).exp()

    variance = formula(lambda d: _moment(d.concentration1, d.concentration0, 2) - d.mean.pow(2))

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + euler_constant
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
