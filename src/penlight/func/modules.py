"""Modules in transforms: calling one with other parameters, stacking several for an ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..kernels.lazy import lazy_import
from ..ops import stack

_batchnorm = lazy_import(globals(), "_batchnorm", "..nn.modules.normalization")
_stateless = lazy_import(globals(), "_stateless", "..nn.utils.stateless")


def functional_call(
    module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: dict[str, Any] | None = None, *,
    tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Call a module with the given tensors (a dict, or several) in place of its parameters and buffers.

    >>> layer = torch.nn.Linear(1, 1, bias=False)
    >>> torch.func.functional_call(layer, {"weight": torch.tensor([[3.0]])}, torch.tensor([2.0]))
    tensor([6.])
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        tensors = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        tensors = _merged(parameter_and_buffer_dicts)
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    return _stateless._functional_call(module, tensors, args, kwargs, tie_weights=tie_weights, strict=strict)


def _merged(dicts: Sequence[Any]) -> dict[str, Any]:
    if not all(isinstance(d, dict) for d in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    keys = [k for d in dicts for k in d]
    repeated = list(dict.fromkeys(k for k in keys if keys.count(k) > 1))
    if repeated:
        raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
    return {k: v for d in dicts for k, v in d.items()}


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and buffers of several modules of one class, each stacked along a new first dimension.

    >>> models = [torch.nn.Linear(2, 1) for _ in range(3)]
    >>> params, buffers = torch.func.stack_module_state(models)
    >>> call = lambda p, x: torch.func.functional_call(models[0], p, (x,))
    >>> torch.vmap(call, in_dims=(0, None))(params, torch.ones(4, 2)).shape
    torch.Size([3, 4, 1])
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    params = _stacked([dict(m.named_parameters()) for m in models])
    return params, _stacked([dict(m.named_buffers()) for m in models])


def _stacked(states: list[dict[str, Any]]) -> dict[str, Any]:
    found = {}
    for name in states[0]:
        tensors = [state[name] for state in states]
        if len({t.requires_grad for t in tensors}) > 1:
            raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
        joined = stack(tensors)
        found[name] = joined.detach()._require_grad_() if tensors[0].requires_grad else joined
    return found


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Turn off running statistics in all batch norm layers, in place: inside vmap each sample would have its own.

    >>> model = torch.nn.Sequential(torch.nn.BatchNorm1d(3))
    >>> torch.func.replace_all_batch_norm_modules_(model)[0].track_running_stats
    False
    """
    for module in root.modules():
        if isinstance(module, _batchnorm._BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
