"""Creating the parameters of modules: by shape with the usual initial values, or with sizes inferred from the first input."""

from __future__ import annotations

import math
from itertools import chain
from typing import Any, ClassVar

import penlight
from penlight import Tensor
from penlight._common.docstrings import example
from penlight._common.function_code import copy_of
from penlight.nn import init
from penlight.nn.parameter import Parameter, UninitializedParameter, is_lazy

from .module import Module

__all__ = ["LazyModuleMixin"]

Shape = int | tuple[int, ...]


def make_parameters(module: Module, device: Any, dtype: Any, **shapes: Shape | None) -> None:
    """Gives a module uninitialised parameters; for the shape None, only the name is registered."""
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
    """Draws tensors uniformly from ±bound, skipping absent ones."""
    for tensor in tensors:
        if tensor is not None:
            init.uniform_(tensor, -bound, bound)


def reset_affine(weight: Tensor | None, bias: Tensor | None) -> None:
    """Sets a scale and shift to the identity, skipping absent ones."""
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
    """The part of `extra_repr` that shows settings only if they differ from their defaults."""
    shown = ""
    for name, default in defaults.items():
        value = getattr(module, name)
        if value is not default if isinstance(default, bool) else value != default:
            shown += f", {name}={value}"
    return shown


# ----- Sizes from the first input ------------------------------------------------------------------------------------


class LazyModuleMixin:
    """Mixed into a module whose parameters are `UninitializedParameter`s until the first call.

    The class defines `initialize_parameters(self, *args)`, which materializes them from the first input, and `cls_to_become`, the class
    that the module then turns into. Run one dummy batch before you create an optimizer.

    >>> m = torch.nn.LazyLinear(3)
    >>> m(torch.ones(1, 5)).shape
    torch.Size([1, 3])
    >>> m
    Linear(in_features=5, out_features=3, bias=True)
    """

    cls_to_become: type[Any] | None = None

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self: Any, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, value in self._own_state().items():
            destination[prefix + name] = value if keep_vars or is_lazy(value) else value.detach()

    def _lazy_load_hook(self: Any, state_dict: Any, prefix: str, *rest: Any) -> None:
        """Gives the parameters the shapes of the values about to be loaded."""
        for name, value in chain(self._parameters.items(), self._buffers.items()):
            loaded = state_dict.get(prefix + name)
            if is_lazy(value) and loaded is not None and not is_lazy(loaded):
                with penlight.no_grad():
                    value.materialize(loaded.shape)

    def initialize_parameters(self: Any, *args: Any, **kwargs: Any) -> None:
        """Materializes the parameters for these inputs; every lazy class has its own."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self: Any) -> bool:
        """Whether a parameter or buffer still has no shape."""
        return any(is_lazy(value) for value in chain(self._parameters.values(), self._buffers.values()))

    def _infer_parameters(self: Any, module: Any, args: Any, kwargs: Any = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook, module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become

    def _replicate_for_data_parallel(self: Any) -> Any:
        raise RuntimeError(
            "Modules with uninitialized parameters can't be used with `DataParallel`. "
            "Run a dummy forward pass to correctly initialize the modules"
        )


class LazySized(LazyModuleMixin):
    """The lazy part of our layers: one size is 0, and no random numbers are drawn, until the first input determines it."""

    _inferred: ClassVar[str]  # the attribute with that size

    def _wait_for_shapes(self: Any, device: Any, dtype: Any, *names: str) -> None:
        for name in names:
            setattr(self, name, UninitializedParameter(device=device, dtype=dtype))

    def _materialize(self: Any, **shapes: tuple[int, ...]) -> None:
        for name, shape in shapes.items():
            value = getattr(self, name)
            if value is not None:
                value.materialize(shape)
        self.reset_parameters()

    def reset_parameters(self: Any) -> None:
        """Draws the parameters, if they have shapes."""
        if getattr(self, self._inferred) != 0 and not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]
