"""The Laplace distribution."""

from __future__ import annotations

from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, formula

__all__ = ["Laplace"]


class Laplace(Distribution):
    """Laplace distributions around `loc`.

    >>> import penlight as torch
    >>> torch.distributions.Laplace(0.0, 1.0).entropy()
    tensor(1.6931)
    """

    arg_constraints = _batched = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.size(), validate_args=validate_args)

    mean = mode = formula(lambda d: d.loc)
    variance = formula(lambda d: 2 * d.scale.pow(2))
    stddev = formula(lambda d: 2**0.5 * d.scale)

    def rsample(self, sample_shape: Any = Size()) -> Tensor:
        dtype = self.loc.dtype
        u = self._unfilled(sample_shape, dtype).uniform_(penlight.finfo(dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        self._check(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * (-distance.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        centred = value - 0.5
        return self.loc - self.scale * centred.sign() * (-2 * centred.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()
