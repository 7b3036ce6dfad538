"""The F distribution."""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import broadcast_all, formula

__all__ = ["FisherSnedecor"]


def _where(defined: Tensor, value: Tensor) -> Tensor:
    return value.masked_fill(~defined, math.nan)


class FisherSnedecor(Distribution):
    """Ratios of two scaled chi-squared variables, with `df1` and `df2` degrees of freedom.

    >>> import penlight as torch
    >>> torch.distributions.FisherSnedecor(1.0, 4.0).mean
    tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True
    _batched = (*arg_constraints, "_gamma1", "_gamma2")

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    mean = formula(lambda d: _where(d.df2 > 2, d.df2 / (d.df2 - 2)))
    mode = formula(lambda d: _where(d.df1 > 2, (d.df1 - 2) / d.df1 * d.df2 / (d.df2 + 2)))

    @property
    def variance(self) -> Tensor:
        above = 2 * self.df2.pow(2) * (self.df1 + self.df2 - 2)
        return _where(self.df2 > 4, above / (self.df1 * (self.df2 - 2).pow(2) * (self.df2 - 4)))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        above, below = self._gamma1.rsample(sample_shape), self._gamma2.rsample(sample_shape)
        tiny = penlight.finfo(below.dtype).tiny
        return (above / below.clamp_(min=tiny)).clamp_(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        half1, half2, quotient = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        total = half1 + half2
        scale = total.lgamma() - half1.lgamma() - half2.lgamma()
        power = half1 * quotient.log() + (half1 - 1) * value.log()
        return scale + power - total * (quotient * value).log1p()
