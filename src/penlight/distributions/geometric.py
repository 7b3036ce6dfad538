"""The geometric distribution."""

from __future__ import annotations

from typing import Any

import penlight

from ..ops.loss import binary_cross_entropy_with_logits
from ..size import Size
from ..tensor import Tensor
from . import constraints
from ._probs import _Binary
from .utils import broadcast_all, formula

__all__ = ["Geometric"]


class Geometric(_Binary):
    """Numbers of failures before the first success.

    >>> import penlight as torch
    >>> torch.distributions.Geometric(0.25).mean
    tensor(3.)
    """

    arg_constraints = _batched = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer
    _shared = ("_from_logits",)

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        super().__init__(self._broadcast_probs(probs, logits), validate_args=validate_args)
        if self._validate_args and not self._from_logits:
            value = self.probs
            valid = value > 0
            if not valid.all():
                raise ValueError(
                    f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                    f"{self!r} to be positive but found invalid values:\n{value.data[~valid]}"
                )

    mean = formula(lambda d: 1.0 / d.probs - 1.0)
    mode = formula(lambda d: penlight.zeros_like(d.probs))
    variance = formula(lambda d: (1.0 / d.probs - 1.0) / d.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        dtype = self.probs.dtype
        with penlight.no_grad():
            u = self._unfilled(sample_shape, dtype).uniform_(penlight.finfo(dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._check(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.masked_fill((probs == 1) & (value == 0), 0)
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
