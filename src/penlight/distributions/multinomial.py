"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .binomial import Binomial
from .categorical import _OverCategories
from .utils import broadcast_all, formula, lazy_property

__all__ = ["Multinomial"]


class Multinomial(_OverCategories):
    """How often each category comes up in `total_count` draws.

    >>> import penlight as torch
    >>> torch.distributions.Multinomial(4, torch.ones(2)).mean
    tensor([2., 2.])
    """

    _batched = ("_categorical",)
    _shared = ("total_count",)

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        super().__init__(*self._hold_categories(probs, logits), validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:
        return constraints.multinomial(self.total_count)

    mean = formula(lambda d: d.probs * d.total_count)
    variance = formula(lambda d: d.total_count * d.probs * (1 - d.probs))

    @lazy_property
    def _binomial(self) -> Any:
        return Binomial(total_count=self.total_count, probs=self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        sample_shape = Size(sample_shape)
        drawn = self._categorical.sample(Size((self.total_count,)) + sample_shape).movedim(0, -1)
        counts = self._unfilled(sample_shape, penlight.int64).zero_()
        return counts.scatter_add_(-1, drawn, penlight.ones_like(drawn)).type_as(self.probs)

    def entropy(self) -> Tensor:
        n = penlight.tensor(self.total_count)
        counts = self._binomial.enumerate_support(expand=False)[1:]
        expected = (self._binomial.log_prob(counts).exp() * (counts + 1).lgamma()).sum([0, -1])
        return n * self._categorical.entropy() - (n + 1).lgamma() + expected

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -math.inf), 0)
        arrangements = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return arrangements + (logits * value).sum(-1)
