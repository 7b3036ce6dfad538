"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

import penlight

from ..ops.embeddings import one_hot
from ..tensor import Tensor
from . import constraints
from ._grads import _sample_dirichlet
from .exp_family import ExponentialFamily
from .utils import formula

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Distributions over the points of a simplex, by one concentration for each corner.

    >>> import penlight as torch
    >>> torch.distributions.Dirichlet(torch.tensor([1.0, 3.0])).mean
    tensor([0.2500, 0.7500])
    """

    arg_constraints = _batched = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:], validate_args=validate_args)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return _sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        alpha = self.concentration
        return penlight.xlogy(alpha - 1.0, value).sum(-1) + alpha.sum(-1).lgamma() - alpha.lgamma().sum(-1)

    mean = formula(lambda d: d.concentration / d.concentration.sum(-1, True))

    @property
    def mode(self) -> Tensor:
        excess = (self.concentration - 1).clamp(min=0.0)
        mode = excess / excess.sum(-1, True)
        mask = (self.concentration < 1).all(dim=-1)
        mode[mask] = one_hot(mode[mask].argmax(dim=-1), excess.shape[-1]).to(mode)
        return mode

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        alpha = self.concentration
        total = alpha.sum(-1)
        spread = alpha.lgamma().sum(-1) - total.lgamma() - (alpha.size(-1) - total) * total.digamma()
        return spread - ((alpha - 1.0) * alpha.digamma()).sum(-1)

    _natural_params = property(lambda d: (d.concentration,))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
