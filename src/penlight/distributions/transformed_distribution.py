"""Distributions of transformed random variables, and independent ones joined into one event."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .transforms import ComposeTransform, Transform
from .utils import _sum_rightmost, formula, method

__all__ = ["TransformedDistribution"]


class TransformedDistribution(Distribution):
    """The distribution of transform(x), where x has a base distribution.

    >>> D = torch.distributions
    >>> D.TransformedDistribution(D.Normal(0.0, 1.0), [D.ExpTransform()]).log_prob(torch.tensor(1.0))
    tensor(-0.9189)
    """

    arg_constraints: dict[str, Any] = {}
    _batched: Iterable[str] = ()
    _shared: tuple[str, ...] = ("transforms",)

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        if isinstance(transforms, Transform):
            transforms = [transforms]
        if not isinstance(transforms, list):
            raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
        if not all(isinstance(t, Transform) for t in transforms):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms = transforms
        chain = ComposeTransform(transforms)
        shape = base_distribution.batch_shape + base_distribution.event_shape
        dims = len(base_distribution.event_shape)
        inside, outside = chain.domain.event_dim, chain.codomain.event_dim
        if len(shape) < inside:
            raise ValueError(f"base_distribution needs to have shape with size at least {inside}, but got {shape}.")
        # The transforms may broadcast, and may turn batch dimensions of the base into event dimensions.
        forward_shape = chain.forward_shape(shape)
        expanded = chain.inverse_shape(forward_shape)
        if shape != expanded:
            base_distribution = base_distribution.expand(expanded[: len(expanded) - dims])
        if inside > dims:
            base_distribution = Independent(base_distribution, inside - dims)
        self.base_dist = base_distribution
        cut = len(forward_shape) - max(outside, dims + outside - inside)
        super().__init__(forward_shape[:cut], forward_shape[cut:], validate_args=validate_args)

    def _expand_into(self, new: Any, batched: Iterable[str]) -> None:
        super()._expand_into(new, batched)
        shape = ComposeTransform(self.transforms).inverse_shape(new._batch_shape + new._event_shape)
        new.base_dist = self.base_dist.expand(shape[: len(shape) - len(self.base_dist.event_shape)])

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        more = len(self.event_shape) - support.event_dim
        return constraints.independent(support, more) if more > 0 else support

    has_rsample = property(lambda d: d.base_dist.has_rsample)

    def _forward(self, x: Tensor) -> Tensor:
        return functools.reduce(lambda value, transform: transform(value), self.transforms, x)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with penlight.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    rsample = method(lambda d, sample_shape=Size(): d._forward(d.base_dist.rsample(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        dims = len(self.event_shape)
        result: Any = 0.0
        for transform in reversed(self.transforms):
            before = transform.inv(value)
            dims += transform.domain.event_dim - transform.codomain.event_dim
            slope = transform.log_abs_det_jacobian(before, value)
            result = result - _sum_rightmost(slope, dims - transform.domain.event_dim)
            value = before
        base = _sum_rightmost(self.base_dist.log_prob(value), dims - len(self.base_dist.event_shape))
        return result + base

    def _monotonize_cdf(self, value: Tensor) -> Tensor:
        """The base's probabilities, or 1 minus them where the transforms are decreasing."""
        sign = math.prod(transform.sign for transform in self.transforms)
        return value if type(sign) is int and sign == 1 else sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        for transform in reversed(self.transforms):
            value = transform.inv(value)
        if self._validate_args:
            self.base_dist._validate_sample(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    icdf = method(lambda d, value: d._forward(d.base_dist.icdf(d._monotonize_cdf(value))))


# ----- Batch dimensions taken as dimensions of the event -------------------------------------------------------------


class Independent(Distribution):
    """Reinterprets the last batch dimensions of a distribution as event dimensions, whose components are independent.

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

    has_rsample = property(lambda d: d.base_dist.has_rsample)
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
