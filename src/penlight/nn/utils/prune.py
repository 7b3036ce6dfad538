"""Pruning: setting parts of a parameter to zero with a mask that can be taken off again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import penlight
from penlight import Tensor

from . import _computed
from ._pruning_methods import (
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
)
from .convert_parameters import parameters_to_vector


def _pruned(method: Any, module: Any, *args: Any, **kwargs: Any) -> Any:
    """The module, after a method was applied to it."""
    method.apply(module, *args, **kwargs)
    return module


def identity(module: Any, name: str) -> Any:
    """Puts a mask of ones on a parameter.

    >>> import penlight as torch
    >>> torch.nn.utils.prune.identity(torch.nn.Linear(2, 1), "bias").bias_mask
    tensor([1.])
    """
    return _pruned(Identity, module, name)


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prunes elements of a parameter at random.

    >>> import penlight as torch
    >>> m = torch.nn.utils.prune.random_unstructured(torch.nn.Linear(2, 3), "weight", amount=1)
    >>> int((m.weight_mask == 0).sum())
    1
    """
    return _pruned(RandomUnstructured, module, name, amount)


def l1_unstructured(module: Any, name: str, amount: float, importance_scores: Tensor | None = None) -> Any:
    """Prunes the elements of a parameter that are smallest, or least important by the scores.

    >>> import penlight as torch
    >>> m = torch.nn.utils.prune.l1_unstructured(torch.nn.Linear(2, 3), "weight", amount=0.5)
    >>> int((m.weight == 0).sum())
    3
    """
    return _pruned(L1Unstructured, module, name, amount=amount, importance_scores=importance_scores)


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prunes channels of a parameter at random.

    >>> import penlight as torch
    >>> m = torch.nn.utils.prune.random_structured(torch.nn.Linear(5, 3), "weight", amount=3, dim=1)
    >>> int((m.weight.sum(0) == 0).sum())
    3
    """
    return _pruned(RandomStructured, module, name, amount, dim)


def ln_structured(
    module: Any, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Any:
    """Prunes the channels of a parameter that have the smallest n-norm.

    >>> import penlight as torch
    >>> m = torch.nn.utils.prune.ln_structured(torch.nn.Conv2d(5, 3, 2), "weight", amount=1, n=2, dim=0)
    >>> int((m.weight.flatten(1).abs().sum(1) == 0).sum())
    1
    """
    return _pruned(LnStructured, module, name, amount, n, dim, importance_scores=importance_scores)


def global_unstructured(
    parameters: Any, pruning_method: Any, importance_scores: dict[Any, Tensor] | None = None, **kwargs: Any
) -> None:
    """Prunes several parameters, given as (module, name) pairs, as if they were one.

    >>> import penlight as torch
    >>> a, b = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    >>> prune = torch.nn.utils.prune
    >>> prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=4)
    >>> int((a.weight_mask == 0).sum() + (b.weight_mask == 0).sum())
    4
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = importance_scores if importance_scores is not None else {}
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = [(module, name, getattr(module, name)) for module, name in parameters]
    relevant = parameters_to_vector([scores.get((module, name), value) for module, name, value in pairs])
    masks = [getattr(module, name + "_mask", None) for module, name, _ in pairs]
    default_mask = parameters_to_vector(
        [penlight.ones_like(value) if mask is None else mask for mask, (_, _, value) in zip(masks, pairs, strict=True)]
    )
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "temp"
    final = PruningContainer(method).compute_mask(relevant, default_mask)
    start = 0
    for module, name, value in pairs:
        stop = start + value.numel()
        custom_from_mask(module, name, mask=final[start:stop].view_as(value))
        start = stop


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prunes a parameter by a given mask.

    >>> import penlight as torch
    >>> m = torch.nn.utils.prune.custom_from_mask(torch.nn.Linear(5, 3), "bias", torch.tensor([0, 1, 0]))
    >>> m.bias_mask
    tensor([0., 1., 0.])
    """
    return _pruned(CustomFromMask, module, name, mask)


def remove(module: Any, name: str) -> Any:
    """Makes the pruning of a parameter permanent.

    >>> import penlight as torch
    >>> m = torch.nn.utils.prune.l1_unstructured(torch.nn.Linear(2, 3), "weight", amount=0.5)
    >>> list(torch.nn.utils.prune.remove(m, "weight").state_dict())
    ['bias', 'weight']
    """
    for key, method in _computed.hooks_for(module, BasePruningMethod, name, named_by="_tensor_name"):
        method.remove(module)
        del module._forward_pre_hooks[key]
        return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module: Any) -> bool:
    """Whether any parameter in a module is pruned.

    >>> import penlight as torch
    >>> torch.nn.utils.prune.is_pruned(torch.nn.Linear(5, 7))
    False
    """
    return any(
        isinstance(hook, BasePruningMethod) for part in module.modules() for hook in part._forward_pre_hooks.values()
    )
