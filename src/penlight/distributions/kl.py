"""Kullback-Leibler divergences: the registry of pairs of families, and the dispatch to it."""

from __future__ import annotations

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

    >>> import penlight as torch
    >>> class Mine(torch.distributions.Normal): ...
    >>> @torch.distributions.register_kl(Mine, Mine)
    ... def divergence(p, q):
    ...     return torch.zeros(())
    >>> torch.distributions.kl_divergence(Mine(0.0, 1.0), Mine(1.0, 1.0))
    tensor(0.)
    """
    for name, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(
            kind, type
        ):  # PyTorch takes any class: Pyro's base of its distributions is not derived from ours
            raise TypeError(f"Expected {name} to be a Distribution subclass but got {kind}")

    def decorator(fun: Any) -> Any:
        _KL_REGISTRY[type_p, type_q] = fun
        _KL_MEMOIZE.clear()
        return fun

    return decorator


def _closest(matches: list[tuple[type, type]], first: int) -> tuple[type, type]:
    """The most special match, by one side first and then the other."""
    best = matches[0]
    for match in matches[1:]:
        for side in (first, 1 - first):
            if match[side] is not best[side]:
                if issubclass(match[side], best[side]):
                    best = match
                break
    return best


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

    >>> import penlight as torch
    >>> D = torch.distributions
    >>> D.kl_divergence(D.Normal(0.0, 1.0), D.Normal(1.0, 1.0))
    tensor(0.5000)
    """
    key = type(p), type(q)
    if key not in _KL_MEMOIZE:
        _KL_MEMOIZE[key] = _dispatch_kl(*key)
    fun = _KL_MEMOIZE[key]
    if fun is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}"
        )
    return fun(p, q)  # type: ignore[no-any-return]


from . import _kl_cross as _kl_cross  # noqa: E402  # they register themselves here
from . import _kl_same as _kl_same  # noqa: E402
