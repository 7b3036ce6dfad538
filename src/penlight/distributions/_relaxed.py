"""What the relaxed distributions share: a smooth base with a temperature, and a transform of it."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from .transformed_distribution import TransformedDistribution


class Relaxed(TransformedDistribution):
    """The parameters of the base are its own."""

    has_rsample = True
    base_dist: Any

    @property
    def temperature(self) -> Tensor:
        return self.base_dist.temperature  # type: ignore[no-any-return]

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits  # type: ignore[no-any-return]

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs  # type: ignore[no-any-return]
