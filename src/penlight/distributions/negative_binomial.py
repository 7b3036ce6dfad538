"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

import penlight

from ..ops.nonlinear import logsigmoid
from ..size import Size
from ..tensor import Tensor
from . import constraints
from ._probs import _Binary
from .gamma import Gamma
from .utils import formula, lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(_Binary):
    """Numbers of successes before `total_count` failures.

    >>> import penlight as torch
    >>> torch.distributions.NegativeBinomial(2.0, torch.tensor(0.5)).mean
    tensor(2.)
    """

    arg_constraints = _batched = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer
    _shared = ("_from_logits",)
    total_count: Tensor

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._broadcast_probs(probs, logits, total_count=total_count), validate_args=validate_args)

    mean = formula(lambda d: d.total_count * d.logits.exp())
    mode = formula(lambda d: ((d.total_count - 1) * d.logits.exp()).floor().clamp(min=0.0))
    variance = formula(lambda d: d.mean / (-d.logits).sigmoid())

    @lazy_property
    def _gamma(self) -> Any:
        return Gamma(concentration=self.total_count, rate=(-self.logits).exp(), validate_args=False)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with penlight.no_grad():
            return penlight.poisson(self._gamma.sample(sample_shape=sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        total, logits = self.total_count, self.logits
        weight = total * logsigmoid(-logits) + value * logsigmoid(logits)
        norm = -(total + value).lgamma() + (1.0 + value).lgamma() + total.lgamma()
        return weight - norm.masked_fill(total + value == 0.0, 0.0)
