"""The half-Cauchy distribution."""

from __future__ import annotations

import math

import penlight

from ..tensor import Tensor
from .cauchy import Cauchy
from .half_normal import _Folded
from .transforms import AbsTransform

__all__ = ["HalfCauchy"]


class HalfCauchy(_Folded):
    """|x| of Cauchy-distributed x around 0.

    >>> import penlight as torch
    >>> torch.distributions.HalfCauchy(1.0).mean
    tensor(inf)
    """

    _parameters = ()

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return penlight.full(self._extended_shape(), math.inf, dtype=self.scale.dtype)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance  # type: ignore[no-any-return]

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return super().log_prob(penlight.as_tensor(value, dtype=self.scale.dtype))
