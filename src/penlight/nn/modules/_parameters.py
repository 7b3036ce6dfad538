"""How modules get their parameters: shapes by name, and the usual first values."""

from __future__ import annotations

import math
from typing import Any

import penlight
from penlight import Tensor
from penlight._common.docstrings import example
from penlight._common.function_code import copy_of
from penlight.nn import init
from penlight.nn.parameter import Parameter

from .module import Module

Shape = int | tuple[int, ...]


def make_parameters(module: Module, device: Any, dtype: Any, **shapes: Shape | None) -> None:
    """Gives a module parameters without values; the shape None registers a name whose parameter is absent."""
    for name, shape in shapes.items():
        value = None if shape is None else Parameter(penlight.empty(shape, device=device, dtype=dtype))
        module.register_parameter(name, value)


def reset_by_fan_in(weight: Tensor, bias: Tensor | None) -> None:
    """Draws weight and bias uniformly from ±1/√fan_in."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in = init._calculate_fan_in_and_fan_out(weight)[0]
        reset_uniformly(1 / math.sqrt(fan_in) if fan_in > 0 else 0, bias)


def reset_uniformly(bound: float, *tensors: Tensor | None) -> None:
    """Draws tensors uniformly from ±bound, those that are there."""
    for tensor in tensors:
        if tensor is not None:
            init.uniform_(tensor, -bound, bound)


def reset_affine(weight: Tensor | None, bias: Tensor | None) -> None:
    """Makes a scale and shift the identity, as far as they are there."""
    for tensor, value in ((weight, 1.0), (bias, 0.0)):
        if tensor is not None:
            init.constant_(tensor, value)


def named_after(cls: str, init: Any) -> Any:
    """A copy of an `__init__` for a class of that name, so that errors name the class, as in PyTorch."""
    init = copy_of(init)
    init.__qualname__ = f"{cls}.__init__"
    return init


@example("unless_default(torch.nn.Dropout(0.1), p=0.5, inplace=False)", "', p=0.1'")
def unless_default(module: Module, **defaults: Any) -> str:
    """The part of `extra_repr` that shows settings only where they differ from their defaults."""
    shown = ""
    for name, default in defaults.items():
        value = getattr(module, name)
        if value is not default if isinstance(default, bool) else value != default:
            shown += f", {name}={value}"
    return shown
