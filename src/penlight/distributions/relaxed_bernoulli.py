"""Continuous relaxations of the Bernoulli distribution."""

from __future__ import annotations

from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from ._probs import _Binary
from .bernoulli import Bernoulli
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs, formula

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(_Binary):
    """The log odds of a relaxed Bernoulli variable: a logistic variable, scaled by the temperature.

    >>> import penlight as torch
    >>> from penlight.distributions.relaxed_bernoulli import LogitRelaxedBernoulli
    >>> LogitRelaxedBernoulli(torch.tensor(1.0), 0.5).log_prob(torch.tensor(0.0))
    tensor(-1.3863)
    """

    arg_constraints = _batched = Bernoulli.arg_constraints
    _shared = ("_from_logits", "temperature")
    support = constraints.real

    def __init__(
        self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        super().__init__(self._broadcast_probs(probs, logits), validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(penlight.rand(shape, dtype=probs.dtype))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        diff = logits - value.mul(self.temperature)
        return self.temperature.log() + diff - 2 * diff.exp().log1p()


class _Relaxed(TransformedDistribution):
    """A transform of a smooth base with a temperature, whose parameters are its own."""

    has_rsample = True
    base_dist: Any
    temperature = formula(lambda d: d.base_dist.temperature)
    logits = formula(lambda d: d.base_dist.logits)
    probs = formula(lambda d: d.base_dist.probs)


class RelaxedBernoulli(_Relaxed):
    """A Bernoulli variable made continuous, so that its samples have gradients; exact as the temperature goes to 0.

    >>> import penlight as torch
    >>> torch.distributions.RelaxedBernoulli(torch.tensor(0.5), 0.25).probs
    tensor(0.2500)
    """

    arg_constraints = Bernoulli.arg_constraints
    support = constraints.unit_interval
    _batched = ()

    def __init__(
        self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)
