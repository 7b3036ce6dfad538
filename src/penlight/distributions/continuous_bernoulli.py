"""The continuous Bernoulli distribution."""

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
from .utils import broadcast_all, clamp_probs, lazy_property, logits_to_probs

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(_Binary, ExponentialFamily):
    """Densities over [0, 1] proportional to probs^x (1 - probs)^(1 - x).

    Around probs = 1/2 (between `lims`) the normalizer and what follows from it are Taylor polynomials.

    >>> import penlight as torch
    >>> torch.distributions.ContinuousBernoulli(0.5).mean
    tensor(0.5000)
    """

    arg_constraints = _batched = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _shared = ("_from_logits", "_lims")

    def __init__(
        self, probs: Any = None, logits: Any = None, lims: Any = (0.499, 0.501), validate_args: bool | None = None
    ) -> None:
        batch_shape = self._broadcast_probs(probs, logits)
        if not self._from_logits:
            if validate_args is not None and not constraints.unit_interval.check(self.probs).all():
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        self._lims = lims
        super().__init__(batch_shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Any:
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _outside_unstable_region(self) -> Tensor:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut_probs(self) -> Tensor:
        """The probabilities, with a harmless one where the Taylor polynomial is used."""
        return self._stable(self.probs, self._lims[0])

    def _stable(self, exact: Tensor, taylor: Any) -> Tensor:
        return penlight.where(self._outside_unstable_region(), exact, taylor)

    def _cont_bern_log_norm(self) -> Tensor:
        cut = self._cut_probs()
        below = penlight.where(cut <= 0.5, cut, 0.0)
        above = penlight.where(cut >= 0.5, cut, 1.0)
        width = penlight.where(cut <= 0.5, (-2.0 * below).log1p(), (2.0 * above - 1.0).log())
        exact = ((-cut).log1p() - cut.log()).abs().log() - width
        x = (self.probs - 0.5).pow(2)
        taylor = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return self._stable(exact, taylor)

    @property
    def mean(self) -> Tensor:
        cut = self._cut_probs()
        exact = cut / (2.0 * cut - 1.0) + 1.0 / ((-cut).log1p() - cut.log())
        x = self.probs - 0.5
        taylor = 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x
        return self._stable(exact, taylor)

    @property
    def variance(self) -> Tensor:
        cut = self._cut_probs()
        exact = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2) + 1.0 / ((-cut).log1p() - cut.log()).pow(2)
        x = (self.probs - 0.5).pow(2)
        taylor = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return self._stable(exact, taylor)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        return self.icdf(penlight.rand(self._extended_shape(sample_shape), dtype=self.probs.dtype))

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none") + self._cont_bern_log_norm()

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        cut = self._cut_probs()
        exact = (cut.pow(value) * (1.0 - cut).pow(1.0 - value) + cut - 1.0) / (2.0 * cut - 1.0)
        inside = self._stable(exact, value)
        return penlight.where(value <= 0.0, 0.0, penlight.where(value >= 1.0, 1.0, inside))

    def icdf(self, value: Tensor) -> Tensor:
        cut = self._cut_probs()
        moved = (-cut + value * (2.0 * cut - 1.0)).log1p() - (-cut).log1p()
        return self._stable(moved / (cut.log() - (-cut).log1p()), value)

    def entropy(self) -> Tensor:
        failure, success = (-self.probs).log1p(), self.probs.log()
        return self.mean * (failure - success) - self._cont_bern_log_norm() - failure

    _mean_carrier_measure = 0
    _natural_params = property(lambda d: (d.logits,))

    def _log_normalizer(self, x: Tensor) -> Tensor:
        low, high = self._lims[0] - 0.5, self._lims[1] - 0.5
        outside = (x <= low) | (x > high)
        cut = penlight.where(outside, x, low)
        taylor = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return penlight.where(outside, cut.expm1().abs().log() - cut.abs().log(), taylor)
