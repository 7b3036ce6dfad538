"""Making a module without initialising it."""

from __future__ import annotations

import inspect
from typing import Any

from penlight._common.docstrings import example
from penlight.nn.modules.module import Module


@example("torch.nn.utils.skip_init(torch.nn.Linear, 5, 1).weight.shape", "torch.Size([1, 5])")
def skip_init(module_cls: type[Any], *args: Any, **kwargs: Any) -> Any:
    """A module whose parameters may have any values, and for which no random numbers are drawn."""
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    final = kwargs.pop("device", "cpu")
    kwargs["device"] = "meta"
    return module_cls(*args, **kwargs).to_empty(device=final)
