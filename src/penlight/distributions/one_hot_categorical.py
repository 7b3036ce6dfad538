"""The categorical distribution over one-hot vectors."""

from __future__ import annotations

from typing import Any

import penlight

from ..ops.embeddings import one_hot
from ..size import Size
from ..tensor import Tensor
from . import constraints
from .categorical import _OverCategories
from .utils import formula

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(_OverCategories):
    """Categorical distributions whose samples are one-hot vectors.

    >>> import penlight as torch
    >>> torch.distributions.OneHotCategorical(torch.tensor([1.0, 0.0])).sample()
    tensor([1., 0.])
    """

    support = constraints.one_hot
    has_enumerate_support = True
    _batched = ("_categorical",)

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(*self._hold_categories(probs, logits), validate_args=validate_args)

    def _one_hot(self, category: Tensor) -> Tensor:
        return one_hot(category, self._categorical._num_events).to(self.probs)

    mean = formula(lambda d: d.probs)
    mode = formula(lambda d: d._one_hot(d.probs.argmax(dim=-1)))
    variance = formula(lambda d: d.probs * (1 - d.probs))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        return self._one_hot(self._categorical.sample(Size(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(penlight.eye(self.event_shape[0], dtype=self._param.dtype), expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot samples through which the gradient goes as through the probabilities.

    >>> import penlight as torch
    >>> torch.distributions.OneHotCategoricalStraightThrough(torch.ones(2)).has_rsample
    True
    """

    has_rsample = True

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return self.sample(sample_shape) + (self.probs - self.probs.detach())
