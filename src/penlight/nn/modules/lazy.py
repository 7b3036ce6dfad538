"""Modules whose sizes are taken from the first input."""

from __future__ import annotations

from itertools import chain
from typing import Any, ClassVar

import penlight
from penlight.nn.parameter import UninitializedParameter, is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Mixed into a module whose parameters are `UninitializedParameter`s until the first call.

    The class says in `initialize_parameters(self, *args)` how to materialize them from the first input, and in
    `cls_to_become` which class the module then turns into. Run one dummy batch before making an optimizer.

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
        """Gives the parameters the shapes of what is about to be loaded."""
        for name, value in chain(self._parameters.items(), self._buffers.items()):
            loaded = state_dict.get(prefix + name)
            if is_lazy(value) and loaded is not None and not is_lazy(loaded):
                with penlight.no_grad():
                    value.materialize(loaded.shape)

    def initialize_parameters(self: Any, *args: Any, **kwargs: Any) -> None:
        """Materializes the parameters for these inputs; every lazy class has its own."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self: Any) -> bool:
        """Whether a parameter or buffer still waits for its shape."""
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
    """The lazy side of a layer of ours: one size is 0, and no number is drawn, until the first input tells it."""

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
        """Draws the parameters, once they have shapes."""
        if getattr(self, self._inferred) != 0 and not self.has_uninitialized_params():
            super().reset_parameters()  # type: ignore[misc]
