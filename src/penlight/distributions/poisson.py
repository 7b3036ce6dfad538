"""The Poisson distribution."""

from __future__ import annotations

from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily
from .utils import broadcast_all, formula

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """Numbers of events that come at a constant `rate`.

    >>> import penlight as torch
    >>> torch.distributions.Poisson(3.5).mode
    tensor(3.)
    """

    arg_constraints = _batched = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    mean = variance = formula(lambda d: d.rate)
    mode = formula(lambda d: d.rate.floor())

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with penlight.no_grad():
            return penlight.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    _natural_params = property(lambda d: (d.rate.log(),))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.exp()
