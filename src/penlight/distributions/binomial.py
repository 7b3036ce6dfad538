"""The binomial distribution."""

from __future__ import annotations

from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from ._probs import _Binary
from .utils import formula

__all__ = ["Binomial"]


class Binomial(_Binary):
    """Numbers of successes in `total_count` trials.

    >>> import penlight as torch
    >>> torch.distributions.Binomial(10, torch.tensor(0.25)).mean
    tensor(2.5000)
    """

    arg_constraints = _batched = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    _shared = ("_from_logits",)
    has_enumerate_support = True
    total_count: Tensor

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._broadcast_probs(probs, logits, total_count=total_count), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self.total_count)

    mean = formula(lambda d: d.total_count * d.probs)
    mode = formula(lambda d: ((d.total_count + 1) * d.probs).floor().clamp(max=d.total_count))
    variance = formula(lambda d: d.total_count * d.probs * (1 - d.probs))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with penlight.no_grad():
            return penlight.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        n, logits = self.total_count, self.logits
        # Half of both clamps, so that the slope at a logit of zero is one half.
        positive = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2
        norm = n * positive + n * (-logits.abs()).exp().log1p() - (n + 1).lgamma()
        return value * logits - (value + 1).lgamma() - (n - value + 1).lgamma() - norm

    def _common_count(self, method: str) -> int:
        count = int(self.total_count.max())
        if not self.total_count.min() == count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{method}`.")
        return count

    def entropy(self) -> Tensor:
        self._common_count("entropy")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._common_count("enumerate_support")
        return self._enumerated(penlight.arange(1 + count, dtype=self._param.dtype), expand)
