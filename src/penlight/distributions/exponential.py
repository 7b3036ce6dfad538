"""The exponential distribution."""

from __future__ import annotations

from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily
from .utils import broadcast_all, formula

__all__ = ["Exponential"]


class Exponential(ExponentialFamily):
    """Waiting times until the next event, when events come at a constant `rate`.

    >>> import penlight as torch
    >>> torch.distributions.Exponential(2.0).mean
    tensor(0.5000)
    """

    arg_constraints = _batched = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    mean = stddev = formula(lambda d: d.rate.reciprocal())
    mode = formula(lambda d: penlight.zeros_like(d.rate))
    variance = formula(lambda d: d.rate.pow(-2))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return self._unfilled(sample_shape, self.rate.dtype).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - self.rate.log()

    _mean_carrier_measure = 0
    _natural_params = property(lambda d: (-d.rate,))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return -(-x).log()
