"""What a case does, as a few numbers and strings."""

from __future__ import annotations

from typing import Any

from nn_data import gradients
from nn_parity import numbers as of_array


def numbers(value: Any) -> Any:
    return of_array(value.detach().numpy())


def flat(outputs: Any, lib: Any) -> list[Any]:
    if isinstance(outputs, lib.Tensor):
        return [numbers(outputs)]
    if isinstance(outputs, (list, tuple)):
        return [part for item in outputs for part in flat(item, lib)]
    return []


def summary(case: Any, lib: Any) -> dict[str, Any]:
    """The text, the state, the outputs and the gradients of a case."""
    lib.manual_seed(0)
    module = case.make(lib.nn).train(case.train)
    seen: dict[str, Any] = {"repr": repr(module)}
    if case.inputs != (None,):
        inputs = case.arguments(lib)
        lib.manual_seed(1)
        outputs = module(*inputs, **case.kwargs)
        leaves = {f"input{i}": x for i, x in enumerate(inputs) if x.requires_grad}
        leaves.update(module.named_parameters())
        seen["outputs"] = flat(outputs, lib)
        grads = gradients(outputs, leaves, lib)
        seen["gradients"] = {name: numbers(grad) for name, grad in grads.items()}
    seen["state"] = {name: numbers(value) for name, value in module.state_dict().items()}
    return seen
