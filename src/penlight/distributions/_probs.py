"""Families that are given by probabilities or by logits."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor
from .distribution import Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

__all__ = []


class _ProbsOrLogits(Distribution):
    """Keeps the one of the two that is given; the other is made from it when it is asked for."""

    _is_binary = False
    _from_logits: bool

    def _given(self, probs: Any, logits: Any) -> tuple[str, Any]:
        """The name and the value of the one that is given."""
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._from_logits = probs is None
        return ("logits", logits) if self._from_logits else ("probs", probs)

    @lazy_property
    def logits(self) -> Any:
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self) -> Any:
        return logits_to_probs(self.logits, self._is_binary)

    _param: Any = property(lambda self: self.__dict__["logits" if self._from_logits else "probs"])
    param_shape: Any = property(lambda self: self._param.size())

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._param.new(*args, **kwargs)


class _Binary(_ProbsOrLogits):
    """One success probability (or its log odds) for each member of the batch."""

    _is_binary = True

    def _broadcast_probs(self, probs: Any, logits: Any, **others: Any) -> Any:
        """Keeps the given one, broadcast with the other parameters, which take its dtype; gives the batch shape."""
        name, given = self._given(probs, logits)
        *rest, value = broadcast_all(*others.values(), given)
        setattr(self, name, value)
        for other, tensor in zip(others, rest, strict=True):
            setattr(self, other, tensor.type_as(value))
        return value.size()
