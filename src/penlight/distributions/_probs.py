"""Families that are given by probabilities or by logits."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from .distribution import Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = []


def either(probs: Any, logits: Any) -> bool:
    """Whether the probabilities were given; exactly one of the two must be."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")
    return probs is not None


class _Binary(Distribution):
    """One success probability per member of the batch; probabilities and log odds are made from one another on demand."""

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def _param(self) -> Any:
        return self.__dict__["logits" if self._from_logits else "probs"]

    _from_logits = False

    @property
    def param_shape(self) -> Any:
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)  # type: ignore[no-any-return]

    def _set(self, probs: Any, logits: Any, *others: Any) -> tuple[Tensor, ...]:
        """Takes the given one of the two, broadcast with `others`, which are returned."""
        given = either(probs, logits)
        *rest, value = broadcast_all(*others, probs if given else logits)
        self._from_logits = not given
        setattr(self, "probs" if given else "logits", value)
        return tuple(other.type_as(value) for other in rest)
