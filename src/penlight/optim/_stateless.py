"""Temporarily running an optimiser on other parameters and another state."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import penlight
from penlight import Tensor
from penlight.optim.optimizer import Optimizer

__all__ = ["swap_in_optimizer_params_and_state"]

_WHO = "swap_in_optimizer_params_and_state requires"


def _need(good: bool, message: str) -> None:
    if not good:
        raise RuntimeError(message)


def _checked_state(state: Any) -> dict[Any, Any]:
    _need(
        isinstance(state, dict),
        f"{_WHO} swapin_optim_state['state'] to be a dict mapping packed parameter ids to per-param state dicts, "
        f"got {type(state).__name__}.",
    )
    _need(
        not any(isinstance(key, penlight.Tensor) for key in state),
        f"{_WHO} optimizer.state_dict()-style state keyed by packed parameter ids.",
    )
    _need(
        all(isinstance(value, dict) for key, value in state.items() if isinstance(key, int)),
        f"{_WHO} per-parameter optimizer state entries to be dictionaries.",
    )
    return state


def _checked_ids(index: int, group: dict[str, Any], new: Any) -> list[int]:
    """The parameter indices of a group of the state dict, which must match the optimiser's group."""
    _need(isinstance(new, dict), f"{_WHO} each optimizer param group to be a dictionary.")
    ids = new.get("params")
    _need(
        isinstance(ids, list) and all(isinstance(i, int) for i in ids),
        f"{_WHO} optimizer.state_dict()-style param_groups[*]['params'] entries keyed by packed parameter ids.",
    )
    _need(
        len(group["params"]) == len(ids),
        f"swapin_optim_state param group {index} has a different number of params than the live optimizer param group.",
    )
    only_new, only_old = [k for k in new if k not in group], [k for k in group if k not in new]
    _need(
        not only_new and not only_old,
        f"{_WHO} optimizer.state_dict()-style param group keys to exactly match the live optimizer group keys for group "
        f"{index}. Keys only in swap-in: {only_new}. Keys only in live: {only_old}.",
    )
    return ids


def _checked(
    optimizer: Optimizer, parameters: dict[str, Tensor], optim_state: Any
) -> tuple[dict[Any, Any], list[tuple[dict[str, Any], list[Tensor]]]]:
    """The state to use, and the new options and parameters of each group."""
    _need(bool(optimizer.state), f"{_WHO} initialized optimizer state.")
    _need(isinstance(optim_state, dict), f"{_WHO} a DCP-style optimizer state_dict.")
    state = _checked_state(optim_state.get("state"))
    groups = optim_state.get("param_groups")
    _need(
        isinstance(groups, list),
        f"{_WHO} swapin_optim_state['param_groups'] to be a list of param-group dicts, got {type(groups).__name__}.",
    )
    _need(
        len(optimizer.param_groups) == len(groups),
        "swapin_optim_state has a different number of parameter groups than the live optimizer.",
    )
    tensors = list(parameters.values())
    known: set[int] = set()
    swaps = []
    for index, (group, new) in enumerate(zip(optimizer.param_groups, groups, strict=True)):
        ids = _checked_ids(index, group, new)
        known.update(ids)
        _need(
            len(ids) <= len(tensors), f"{_WHO} the explicit parameter state to match optimizer.param_groups ordering."
        )
        swaps.append((new, tensors[: len(ids)]))
        del tensors[: len(ids)]
    extra = [key for key in state if key not in known]
    _need(
        not extra,
        f"{_WHO} swapin_optim_state['state'] to be keyed only by packed parameter ids from param_groups[*]['params']; "
        f"got extra keys {extra!r}.",
    )
    return state, swaps


@contextlib.contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: dict[str, Tensor], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Let an optimiser temporarily work on other parameters, options and state, and restore its own afterwards.

    ``swapin_parameters`` are in the order of the optimiser's own; ``swapin_optim_state`` has the form of ``state_dict()``. Its tensors are
    updated in place; all other changes of the state are discarded.

    >>> w, other = torch.ones(2, requires_grad=True), torch.zeros(2, requires_grad=True)
    >>> opt = torch.optim.Adagrad([w], lr=0.1)
    >>> other.grad = torch.ones(2)
    >>> with torch.optim.swap_in_optimizer_params_and_state(opt, {"w": other}, opt.state_dict()):
    ...     opt.step()
    >>> w, other
    (tensor([1., 1.], requires_grad=True), tensor([-0.1000, -0.1000], requires_grad=True))
    """
    state, swaps = _checked(optimizer, swapin_parameters, swapin_optim_state)
    own_state, own_groups = optimizer.state, [dict(group) for group in optimizer.param_groups]
    try:
        temporary: defaultdict[Any, Any] = defaultdict(dict)
        for group, (new, params) in zip(optimizer.param_groups, swaps, strict=True):
            group.update({**new, "params": params})
            for param, number in zip(params, new["params"], strict=True):
                temporary[param] = dict(state.get(number, {}))
        optimizer.state = temporary
        yield
    finally:
        for group, own in zip(optimizer.param_groups, own_groups, strict=True):
            group.clear()
            group.update(own)
        optimizer.state = own_state
