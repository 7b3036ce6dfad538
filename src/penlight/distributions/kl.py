"""Kullback-Leibler divergences: the registry of pairs of families, and the dispatch to it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from .distribution import Distribution

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable[..., Any]] = {}
_KL_MEMOIZE: dict[tuple[type, type], Callable[..., Any] | None] = {}


def register_kl(type_p: Any, type_q: Any) -> Callable[[Any], Any]:
    """Registers a function as the divergence between two families (and their subclasses).

    >>> class Mine(torch.distributions.Normal): ...
    >>> @torch.distributions.register_kl(Mine, Mine)
    ... def divergence(p, q):
    ...     return torch.zeros(())
    >>> torch.distributions.kl_divergence(Mine(0.0, 1.0), Mine(1.0, 1.0))
    tensor(0.)
    """
    # Any class will do, as in PyTorch: the base of Pyro's distributions is not derived from ours.
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def registered(formula: Any) -> Any:
        _KL_REGISTRY[type_p, type_q] = formula
        _KL_MEMOIZE.clear()  # another pair may now be closer
        return formula

    return registered


def _closest(matches: list[tuple[type, type]], first: int) -> tuple[type, type]:
    """The most special match, by one side first and then the other."""

    def closer(best: tuple[type, type], match: tuple[type, type]) -> tuple[type, type]:
        side = first if match[first] is not best[first] else 1 - first
        return match if issubclass(match[side], best[side]) else best

    return functools.reduce(closer, matches)


def _dispatch_kl(type_p: type, type_q: type) -> Callable[..., Any] | None:
    matches = [(p, q) for p, q in _KL_REGISTRY if issubclass(type_p, p) and issubclass(type_q, q)]
    if not matches:
        return None
    left, right = _closest(matches, 0), _closest(matches, 1)
    if _KL_REGISTRY[left] is not _KL_REGISTRY[right]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({left[0].__name__}, {right[1].__name__})",
            RuntimeWarning,
            stacklevel=3,
        )
    return _KL_REGISTRY[left]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence KL(p || q), for each member of the batch.

    >>> D = torch.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    formula = _KL_MEMOIZE[pair]
    if formula is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return formula(p, q)


from . import _kl_formulas as _kl_formulas  # noqa: E402  # fills the registry
