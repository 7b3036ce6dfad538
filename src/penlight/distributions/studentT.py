"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import broadcast_all, formula

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t distributions with `df` degrees of freedom.

    >>> import penlight as torch
    >>> torch.distributions.StudentT(4.0).variance
    tensor(2.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _batched = (*arg_constraints, "_chi2")

    def __init__(self, df: Tensor | float, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    mean = formula(lambda d: d.loc.masked_fill(d.df <= 1, math.nan))
    mode = formula(lambda d: d.loc)

    @property
    def variance(self) -> Tensor:
        finite = self.df > 2
        df = self.df.masked_fill(~finite, 4.0)
        variance = (self.scale.pow(2) * df / (df - 2)).masked_fill(~finite, math.inf)
        return variance.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        noise = self._unfilled(sample_shape, self.df.dtype).normal_()
        spread = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (noise * (spread / self.df).rsqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        df, y = self.df, (value - self.loc) / self.scale
        norm = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi)
        norm = norm + (0.5 * df).lgamma() - (0.5 * (df + 1.0)).lgamma()
        return -0.5 * (df + 1.0) * (y**2.0 / df).log1p() - norm

    def entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = half.lgamma() + math.lgamma(0.5) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + beta
