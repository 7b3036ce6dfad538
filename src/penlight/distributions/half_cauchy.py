"""The half-Cauchy distribution."""

from __future__ import annotations

import math

import penlight

from ..tensor import Tensor
from .cauchy import Cauchy
from .half_normal import _Folded
from .transforms import AbsTransform
from .utils import formula

__all__ = ["HalfCauchy"]


class HalfCauchy(_Folded):
    """|x| of Cauchy-distributed x around 0.

    >>> import penlight as torch
    >>> torch.distributions.HalfCauchy(1.0).mean
    tensor(inf)
    """

    _batched = ()

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    mean = formula(lambda d: penlight.full(d._extended_shape(), math.inf, dtype=d.scale.dtype))
    variance = formula(lambda d: d.base_dist.variance)

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return super().log_prob(penlight.as_tensor(value, dtype=self.scale.dtype))
