"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from ._discrete import Categorical
from .distribution import Distribution, _incompatible
from .utils import formula

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture whose components are the last batch dimension of `component_distribution`, selected by a categorical distribution.

    >>> D = torch.distributions
    >>> D.MixtureSameFamily(D.Categorical(torch.ones(2)), D.Normal(torch.tensor([0.0, 2.0]), 1.0)).mean
    tensor(1.)
    """

    arg_constraints: dict[str, Any] = {}
    has_rsample = False
    _batched = ()
    _shared = ("_num_component", "_event_ndims")

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        self._mixture_distribution, self._component_distribution = mixture_distribution, component_distribution
        outer, inner = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        if _incompatible(outer, inner):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({outer}) is not compatible with "
                f"`component_distribution.batch_shape`({inner})"
            )
        weights, components = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if weights != components:
            raise ValueError(
                f"`mixture_distribution component` ({weights}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components})"
            )
        self._num_component = weights
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(inner, component_distribution.event_shape, validate_args=validate_args)

    def _expand_into(self, new: Any, batched: Iterable[str]) -> None:
        super()._expand_into(new, ())
        new._component_distribution = self._component_distribution.expand(new._batch_shape + (self._num_component,))
        new._mixture_distribution = self._mixture_distribution.expand(new._batch_shape)

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    mixture_distribution: Any = property(lambda d: d._mixture_distribution)
    component_distribution: Any = property(lambda d: d._component_distribution)

    def _pad(self, x: Tensor) -> Tensor:
        """Insert the component dimension."""
        return x.unsqueeze(-1 - self._event_ndims)

    def _average(self, values: Tensor) -> Tensor:
        """The weighted mean over the components."""
        probs = self.mixture_distribution.probs
        have = len(self.mixture_distribution.batch_shape)
        missing = 0 if have == 1 else len(self.batch_shape) - have
        shape = tuple(probs.shape)
        probs = probs.reshape(shape[:-1] + (1,) * missing + shape[-1:] + (1,) * self._event_ndims)
        return (probs * values).sum(dim=-1 - self._event_ndims)

    mean = formula(lambda d: d._average(d.component_distribution.mean))

    @property
    def variance(self) -> Tensor:
        within = self._average(self.component_distribution.variance)
        return within + self._average((self.component_distribution.mean - self._pad(self.mean)).pow(2.0))

    def cdf(self, x: Tensor) -> Tensor:
        return (self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs).sum(dim=-1)

    def log_prob(self, x: Tensor) -> Tensor:
        self._check(x)
        each = self.component_distribution.log_prob(self._pad(x))
        return (each + self.mixture_distribution.logits.log_softmax(dim=-1)).logsumexp(dim=-1)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        with penlight.no_grad():
            dim = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            every = self.component_distribution.sample(sample_shape)
            shape = tuple(chosen.shape)
            chosen = chosen.reshape(shape + (1,) * (1 + self._event_ndims))
            return every.gather(dim, chosen.expand(shape + (1,) + tuple(self.event_shape))).squeeze(dim)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
