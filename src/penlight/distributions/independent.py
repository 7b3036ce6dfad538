"""Batch dimensions taken as dimensions of the event."""

from __future__ import annotations

from typing import Any

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import _sum_rightmost, formula, method

__all__ = ["Independent"]


class Independent(Distribution):
    """Takes the last batch dimensions of a distribution as dimensions of one event, whose parts are independent.

    >>> normal = torch.distributions.Normal(torch.zeros(3), 1.0)
    >>> torch.distributions.Independent(normal, 1).event_shape
    torch.Size([3])
    """

    arg_constraints: dict[str, Any] = {}
    _batched = ("base_dist",)
    _shared = ("reinterpreted_batch_ndims",)

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        batch, event = base_distribution.batch_shape, base_distribution.event_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch)}"
            )
        cut = len(batch) - reinterpreted_batch_ndims
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(batch[:cut], batch[cut:] + event, validate_args=validate_args)

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        return self.reinterpreted_batch_ndims <= 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:
        inner, more = self.base_dist.support, self.reinterpreted_batch_ndims
        return constraints.independent(inner, more) if more else inner

    has_rsample = property(lambda d: d.base_dist.has_rsample)  # type: ignore[assignment]
    mean = formula(lambda d: d.base_dist.mean)
    mode = formula(lambda d: d.base_dist.mode)
    variance = formula(lambda d: d.base_dist.variance)
    sample = method(lambda d, sample_shape=Size(): d.base_dist.sample(sample_shape))
    rsample = method(lambda d, sample_shape=Size(): d.base_dist.rsample(sample_shape))
    log_prob = method(lambda d, value: _sum_rightmost(d.base_dist.log_prob(value), d.reinterpreted_batch_ndims))
    entropy = method(lambda d: _sum_rightmost(d.base_dist.entropy(), d.reinterpreted_batch_ndims))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"
