"""Distributions of an exponential family, whose entropy follows from the log normalizer."""

from __future__ import annotations

from typing import Any

import penlight
from penlight._common.docstrings import example

from ..tensor import Tensor
from .distribution import Distribution, _without_formula
from .utils import _sum_rightmost

__all__ = ["ExponentialFamily"]


@example("isinstance(torch.distributions.Poisson(1.0), torch.distributions.ExponentialFamily)", "True")
class ExponentialFamily(Distribution):
    """Densities exp(<t(x), theta> - F(theta) + k(x)): natural parameters theta, log normalizer F, carrier measure k."""

    _natural_params: Any = property(_without_formula(lambda self: ()))
    _mean_carrier_measure: Any = property(_without_formula(lambda self: 0.0))

    @_without_formula
    def _log_normalizer(self, *natural_params: Any) -> Any:
        """F of the natural parameters."""

    def _normalizer_and_slopes(self) -> tuple[Tensor, list[Tensor], Any]:
        """F at the natural parameters, these parameters, and F's gradients in them (the expected statistics)."""
        with penlight.enable_grad():
            params = [p.detach().requires_grad_() for p in self._natural_params]
            normalizer = self._log_normalizer(*params)
            slopes = penlight.autograd.grad(normalizer.sum(), params, create_graph=True)
        return normalizer, params, slopes

    def entropy(self) -> Tensor:
        """The entropy, by the Bregman divergence of the log normalizer."""
        carrier = -self._mean_carrier_measure
        normalizer, params, slopes = self._normalizer_and_slopes()
        result = normalizer + carrier
        for param, slope in zip(params, slopes, strict=True):
            result = result - _sum_rightmost(param * slope, param.dim() - len(self._batch_shape))
        return result
