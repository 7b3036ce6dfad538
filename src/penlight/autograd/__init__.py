"""torch.autograd: running the backward graph.

>>> import penlight as torch
>>> x = torch.tensor(2.0, requires_grad=True)
>>> torch.autograd.grad(x**3, x)
(tensor(12.),)
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .._common.arguments import explain as _explain
from .grad_mode import enable_grad, inference_mode, is_grad_enabled, no_grad, set_grad_enabled
from .gradcheck import gradcheck, gradgradcheck  # now: a later import of the module would hide the function

if TYPE_CHECKING:
    from ..tensor import Tensor
    from . import (
        _calls,
        forward_ad as forward_ad,
        functional as functional,
        grad_mode as grad_mode,
        graph as graph,
        profiler as profiler,
        variable as variable,
    )
    from .anomaly_mode import detect_anomaly as detect_anomaly, set_detect_anomaly as set_detect_anomaly
    from .function import Function as Function
    from .switches import (
        enforce_grad_layout_policy as enforce_grad_layout_policy,
        is_multithreading_enabled as is_multithreading_enabled,
        is_view_replay_enabled as is_view_replay_enabled,
        set_multithreading_enabled as set_multithreading_enabled,
    )
    from .variable import Variable as Variable

__all__ = [
    "Function", "Variable", "backward", "detect_anomaly", "enable_grad", "enforce_grad_layout_policy", "grad",
    "grad_mode", "gradcheck", "gradgradcheck", "inference_mode", "is_grad_enabled", "is_multithreading_enabled",
    "is_view_replay_enabled", "no_grad", "set_detect_anomaly", "set_grad_enabled", "set_multithreading_enabled",
    "variable",
]  # fmt: skip

# Lazy imports: the module that defines each name.
_LAZY = {
    "DeviceType": "profiler_util",
    "Function": "function",
    "NestedIOFunction": "function",
    "ProfilerActivity": "profiler_util",
    "ProfilerState": "profiler_util",
    "SavedTensor": "packing",
    "Variable": "variable",
    "detect_anomaly": "anomaly_mode",
    "set_detect_anomaly": "anomaly_mode",
    "_force_original_view_tracking": "switches",
    "_pop_saved_tensors_default_hooks": "graph",
    "_push_saved_tensors_default_hooks": "graph",
    "_unsafe_preserve_version_counter": "switches",
    "enforce_grad_layout_policy": "switches",
    "is_multithreading_enabled": "switches",
    "is_view_replay_enabled": "switches",
    "kineto_available": "profiler",
    "set_multithreading_enabled": "switches",
}
_MODULES = {
    "anomaly_mode",
    "forward_ad",
    "function",
    "functional",
    "graph",
    "profiler",
    "profiler_legacy",
    "profiler_util",
    "variable",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        value = getattr(import_module("." + _LAZY[name], __name__), name)
        globals()[name] = value
        _explain({name: value})
        return value
    if name in _MODULES:
        return import_module("." + name, __name__)
    raise AttributeError(f"module 'torch.autograd' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_LAZY, *_MODULES})


# `_calls` implements these. It needs Tensor, which needs this package, so penlight/__init__.py binds it once both are imported.


def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    grad_variables: Any = None, inputs: Any = None,
) -> None:  # fmt: skip
    """Compute gradients of tensors and add them into the `.grad` of the leaves (or of `inputs` only).

    >>> x = torch.ones(2, requires_grad=True)
    >>> torch.autograd.backward(x * 2, torch.tensor([1.0, 10.0])); x.grad
    tensor([ 2., 20.])
    """
    _calls.backward(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)


def grad(
    outputs: Any, inputs: Any, grad_outputs: Any = None, retain_graph: bool | None = None, create_graph: bool = False,
    only_inputs: bool = True, allow_unused: bool | None = None, is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The gradients of outputs with respect to inputs, returned instead of accumulated.

    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.grad(x * x, x)
    (tensor(6.),)
    """
    return _calls.grad(
        outputs,
        inputs,
        grad_outputs,
        retain_graph,
        create_graph,
        only_inputs,
        allow_unused,
        is_grads_batched,
        materialize_grads,
    )


_explain(globals())
