"""The beta distribution."""

from __future__ import annotations

from typing import Any

import penlight

from ..tensor import Tensor
from . import constraints
from .dirichlet import Dirichlet
from .exp_family import ExponentialFamily
from .utils import _Number, broadcast_all, formula

__all__ = ["Beta"]


class Beta(ExponentialFamily):
    """Beta distributions over [0, 1]: the first share of a Dirichlet distribution of two.

    >>> import penlight as torch
    >>> torch.distributions.Beta(1.0, 3.0).mean
    tensor(0.2500)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _batched = ("_dirichlet",)

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ) -> None:
        if isinstance(concentration1, _Number) and isinstance(concentration0, _Number):
            both = penlight.tensor([float(concentration1), float(concentration0)])
        else:
            both = penlight.stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    concentration1 = formula(lambda d: d._dirichlet.concentration[..., 0])
    concentration0 = formula(lambda d: d._dirichlet.concentration[..., 1])
    mean = formula(lambda d: d.concentration1 / (d.concentration1 + d.concentration0))
    mode = formula(lambda d: d._dirichlet.mode[..., 0])

    @property
    def variance(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        return a * b / ((a + b).pow(2) * (a + b + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return self._dirichlet.log_prob(penlight.stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    _natural_params = property(lambda d: (d.concentration1, d.concentration0))

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return x.lgamma() + y.lgamma() - (x + y).lgamma()
