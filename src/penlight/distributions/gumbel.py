"""The Gumbel distribution."""

from __future__ import annotations

import math

import penlight

from ..tensor import Tensor
from . import constraints
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, ExpTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant, formula

__all__ = ["Gumbel"]


class Gumbel(TransformedDistribution):
    """Gumbel distributions: the limit of maxima.

    >>> import penlight as torch
    >>> torch.distributions.Gumbel(0.0, 1.0).mean
    tensor(0.5772)
    """

    arg_constraints = _batched = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        finfo = penlight.finfo(self.loc.dtype)
        low, high = (penlight.full_like(self.loc, bound) for bound in (finfo.tiny, 1 - finfo.eps))
        negated = AffineTransform(0, -penlight.ones_like(self.scale))
        steps = [ExpTransform().inv, negated, ExpTransform().inv, AffineTransform(loc, -self.scale)]
        super().__init__(Uniform(low, high, validate_args=validate_args), steps, validate_args=validate_args)

    mean = formula(lambda d: d.loc + d.scale * euler_constant)
    mode = formula(lambda d: d.loc)
    stddev = formula(lambda d: (math.pi / math.sqrt(6)) * d.scale)
    variance = formula(lambda d: d.stddev.pow(2))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)
