"""Continuous relaxations of the categorical distribution (Gumbel softmax)."""

from __future__ import annotations

from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .categorical import _OverCategories
from .relaxed_bernoulli import _Relaxed
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(_OverCategories):
    """The logarithm of a relaxed one-hot vector.

    >>> import penlight as torch
    >>> from penlight.distributions.relaxed_categorical import ExpRelaxedCategorical
    >>> ExpRelaxedCategorical(torch.tensor(1.0), torch.ones(3)).event_shape
    torch.Size([3])
    """

    support = constraints.real_vector
    has_rsample = True
    _batched = ("_categorical",)
    _shared = ("temperature",)

    def __init__(
        self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        super().__init__(*self._hold_categories(probs, logits), validate_args=validate_args)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        u = clamp_probs(penlight.rand(self._extended_shape(sample_shape), dtype=self.logits.dtype))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        n = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        norm = penlight.full_like(self.temperature, float(n)).lgamma() + self.temperature.log().mul(n - 1)
        score = logits - value.mul(self.temperature)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + norm


class RelaxedOneHotCategorical(_Relaxed):
    """A one-hot vector made continuous, so that its samples have gradients; exact as the temperature goes to 0.

    >>> import penlight as torch
    >>> torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5), torch.ones(2)).probs
    tensor([0.5000, 0.5000])
    """

    arg_constraints = ExpRelaxedCategorical.arg_constraints
    support = constraints.simplex
    _batched = ()

    def __init__(
        self, temperature: Tensor, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)
