"""The Bernoulli distribution."""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..ops.loss import binary_cross_entropy_with_logits
from ..size import Size
from ..tensor import Tensor
from . import constraints
from ._probs import _Binary
from .exp_family import ExponentialFamily
from .utils import broadcast_all, formula

__all__ = ["Bernoulli"]


class Bernoulli(_Binary, ExponentialFamily):
    """Coins that show 1 with probability `probs`.

    >>> import penlight as torch
    >>> torch.distributions.Bernoulli(0.25).variance
    tensor(0.1875)
    """

    arg_constraints = _batched = {"probs": constraints.unit_interval, "logits": constraints.real}
    _shared = ("_from_logits",)
    support = constraints.boolean
    has_enumerate_support = True

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self._broadcast_probs(probs, logits), validate_args=validate_args)

    mean = formula(lambda d: d.probs)
    mode = formula(lambda d: (d.probs >= 0.5).to(d.probs).masked_fill(d.probs == 0.5, math.nan))
    variance = formula(lambda d: d.probs * (1 - d.probs))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with penlight.no_grad():
            return penlight.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(penlight.arange(2, dtype=self._param.dtype), expand)

    _mean_carrier_measure = 0
    _natural_params = property(lambda d: (d.probs.logit(),))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return x.exp().log1p()
