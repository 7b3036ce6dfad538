"""The gamma distribution."""

from __future__ import annotations

from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from ._grads import _standard_gamma
from .exp_family import ExponentialFamily
from .utils import broadcast_all, formula

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """Gamma distributions, by `concentration` (shape) and `rate`.

    >>> import penlight as torch
    >>> torch.distributions.Gamma(2.0, 4.0).mean
    tensor(0.5000)
    """

    arg_constraints = _batched = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    mean = formula(lambda d: d.concentration / d.rate)
    mode = formula(lambda d: ((d.concentration - 1) / d.rate).clamp(min=0))
    variance = formula(lambda d: d.concentration / d.rate.pow(2))

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=penlight.finfo(value.dtype).tiny)  # the gradient is not to see this
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        value = penlight.as_tensor(value, dtype=self.rate.dtype)
        self._check(value)
        shape, rate = self.concentration, self.rate
        return penlight.xlogy(shape, rate) + penlight.xlogy(shape - 1, value) - rate * value - shape.lgamma()

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        return penlight.special.gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape - self.rate.log() + shape.lgamma() + (1.0 - shape) * shape.digamma()

    _mean_carrier_measure = 0
    _natural_params = property(lambda d: (d.concentration - 1, -d.rate))

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()
