"""The categorical distribution."""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from ._probs import _ProbsOrLogits
from .distribution import Distribution
from .utils import formula

__all__ = ["Categorical"]


class Categorical(_ProbsOrLogits):
    """Distributions over 0, 1, ..., n-1, by n weights (`probs`) or log weights (`logits`) along the last dimension.

    >>> import penlight as torch
    >>> torch.distributions.Categorical(torch.tensor([1.0, 3.0])).probs
    tensor([0.2500, 0.7500])
    """

    arg_constraints = _batched = {"probs": constraints.simplex, "logits": constraints.real_vector}
    _shared = ("_from_logits", "_num_events")
    has_enumerate_support = True

    def __init__(
        self, probs: Tensor | None = None, logits: Tensor | None = None, validate_args: bool | None = None
    ) -> None:
        name, given = self._given(probs, logits)
        if given.dim() < 1:
            raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
        if self._from_logits:
            self.logits = given - given.logsumexp(dim=-1, keepdim=True)
        else:
            self.probs = given / given.sum(-1, keepdim=True)
        self._num_events = given.size()[-1]
        super().__init__(given.size()[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:
        return constraints.integer_interval(0, self._num_events - 1)

    mean = variance = formula(lambda d: penlight.full(d._extended_shape(), math.nan, dtype=d.probs.dtype))
    mode = formula(lambda d: d.probs.argmax(dim=-1))

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        sample_shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        drawn = penlight.multinomial(rows.detach(), sample_shape.numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        index, log_pmf = penlight.broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return log_pmf.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        finite = self.logits.clamp(min=penlight.finfo(self.logits.dtype).min)  # 0 * -inf is to be 0
        return -(finite * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        return self._enumerated(penlight.arange(self._num_events), expand)


class _OverCategories(Distribution):
    """Families that hold a categorical distribution, and are given by what gives that."""

    arg_constraints: Any = Categorical.arg_constraints
    _categorical: Categorical

    def _hold_categories(self, probs: Any, logits: Any) -> tuple[Any, Any]:
        """Keeps the categorical distribution; gives the shapes of batch and event."""
        self._categorical = Categorical(probs, logits)
        return self._categorical.batch_shape, self._categorical.param_shape[-1:]

    probs = formula(lambda d: d._categorical.probs)
    logits = formula(lambda d: d._categorical.logits)
    _param = formula(lambda d: d._categorical._param)
    param_shape: Any = property(lambda d: d._categorical.param_shape)

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)
