"""The LKJ distribution of correlation matrices."""

from __future__ import annotations

import math
from typing import Any

import penlight

from ..size import Size
from ..tensor import Tensor
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of random correlation matrices; uniform over the matrices for a concentration of 1.

    >>> import penlight as torch
    >>> torch.distributions.LKJCholesky(3).event_shape
    torch.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky
    _batched = ("concentration", "_beta")
    _shared = ("dim",)

    def __init__(self, dim: int, concentration: Any = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        marginal = self.concentration + 0.5 * (dim - 2)
        offset = (penlight.arange(dim, dtype=self.concentration.dtype) - 1).clamp(min=0)  # 0, 0, 1, 2, ...
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        """By the onion method: each row is a point in a ball, of beta-distributed squared radius."""
        with penlight.no_grad():
            radius = self._beta.sample(sample_shape).unsqueeze(-1)
            below = penlight.randn(self._extended_shape(sample_shape), dtype=radius.dtype).tril(-1)
            direction = below / below.norm(dim=-1, keepdim=True)
            direction[..., 0, :].fill_(0.0)  # the first row has nothing below the diagonal
            factor = radius.sqrt() * direction
            rest = (1 - (factor**2).sum(dim=-1)).clamp(min=penlight.finfo(factor.dtype).tiny)
            return factor + rest.sqrt().diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - penlight.arange(2, self.dim + 1)
        steps = self.dim - 1
        alpha = self.concentration + 0.5 * steps
        norm = 0.5 * steps * math.log(math.pi) + penlight.mvlgamma(alpha - 0.5, steps) - alpha.lgamma() * steps
        return (order * diagonal.log()).sum(dim=-1) - norm
