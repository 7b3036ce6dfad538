"""`Module`, the base class of all layers and models."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

from penlight._common.arguments import explain
from penlight._common.declared_classes import copy_members
from penlight._common.docstrings import complete, example
from penlight._common.user_warnings import warn_user

from . import _hooks
from ._calling import Calling, _WrappedHook as _WrappedHook
from ._conversion import Conversion
from ._hooks import *  # noqa: F403
from ._registry import HOOK_TABLES, Registry, make_quick
from ._state_dict import (
    _EXTRA_STATE_KEY_SUFFIX as _EXTRA_STATE_KEY_SUFFIX,
    StateDict,
    _IncompatibleKeys as _IncompatibleKeys,
)

__all__ = ["Module", *(name for name in _hooks.__all__ if name[0] != "_")]


def _addindent(text: str, spaces: int) -> str:
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line if line.strip() else "" for line in rest)])


def _forward_unimplemented(self: Any, *input: Any) -> None:
    """The computation of the module: each class defines its own.

    >>> class Double(torch.nn.Module):
    ...     def forward(self, x):
    ...         return 2 * x
    >>> Double()(torch.ones(2))
    tensor([2., 2.])
    """
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


if TYPE_CHECKING:

    class _Methods(Registry, Calling, StateDict, Conversion): ...

else:
    _Methods = object


class Module(_Methods):
    """The base class of all neural network modules: subclass it, assign layers in `__init__`, compute in `forward`.

    Assigned attributes are registered by kind: a `Parameter` is trained, a buffer is saved, a module becomes a child. Calling the module
    runs `forward` with its hooks.

    >>> class Shift(torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.by = torch.nn.Parameter(torch.ones(1))
    ...     def forward(self, x):
    ...         return x + self.by
    >>> Shift()(torch.zeros(2))
    tensor([1., 1.], grad_fn=<AddBackward0>)
    """

    dump_patches: bool = False

    forward: Callable[..., Any] = _forward_unimplemented

    def __init_subclass__(cls, example: tuple[str, str] | None = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        complete(cls, ">>> torch.nn.{}{}\n{}", example)

    @example("torch.nn.Dropout().train(False).training", "False")
    def train(self, mode: bool = True) -> Self:
        """Sets the module and its submodules to training mode, or with False to evaluation mode."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    @example("torch.nn.Dropout().eval()(torch.ones(2))", "tensor([1., 1.])")
    def eval(self) -> Self:
        """Sets the module and its submodules to evaluation mode."""
        return self.train(False)

    @example("torch.nn.Linear(1, 1).requires_grad_(False).weight.requires_grad", "False")
    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Sets `requires_grad` of all parameters, in place."""
        for param in self.parameters():
            param.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drops the gradients of all parameters, or sets them to zero.

        >>> m = torch.nn.Linear(1, 1)
        >>> m(torch.ones(1)).backward()
        >>> m.zero_grad()
        >>> print(m.weight.grad)
        None
        """
        if getattr(self, "_is_replica", False):
            warn_user(
                "Calling .zero_grad() from a module created with nn.DataParallel() has no effect. The parameters are "
                "copied (in a differentiable manner) from the original module. This means they are not leaf nodes in "
                "autograd and so don't accumulate gradients. If you need gradients in your forward method, consider "
                "using autograd.grad instead.",
            )
        for param in self.parameters():
            if set_to_none:
                param.grad = None
            elif param.grad is not None:
                if param.grad.grad_fn is not None:
                    param.grad.detach_()
                else:
                    param.grad.requires_grad_(False)
                param.grad.zero_()

    _compiled_call_impl: Any = None  # set by `compile`

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Accepted without compiling: the module runs as written. See `penlight.compile`.

        >>> model = torch.nn.Linear(2, 3)
        >>> model.compile()
        """
        import penlight

        self._compiled_call_impl = penlight.compile(self._call_impl, *args, **kwargs)

    @example("torch.nn.Linear(2, 3).extra_repr()", "'in_features=2, out_features=3, bias=True'")
    def extra_repr(self) -> str:
        """The text in the brackets of the printed module; override it to show settings."""
        return ""

    def _get_name(self) -> str:
        return type(self).__name__

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        children = [f"({name}): {_addindent(repr(child), 2)}" for name, child in self._modules.items()]
        if not children and len(extra_lines) <= 1:
            return f"{self._get_name()}({extra})"
        return self._get_name() + "(\n  " + "\n  ".join(extra_lines + children) + "\n)"

    def _replicate_for_data_parallel(self) -> Self:
        replica = self.__new__(type(self))
        tables = {"_parameters": {}, "_buffers": self._buffers.copy(), "_modules": self._modules.copy()}
        replica.__dict__ = {**self.__dict__, **tables, "_is_replica": True}
        return replica

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Tables that modules pickled by older versions lack.
        for name in HOOK_TABLES:
            self.__dict__.setdefault(name, OrderedDict())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)
        for table in ("_parameters", "_buffers", "_modules"):
            for name in self.__dict__[table]:
                make_quick(self, table, name, Registry.__getattr__)


copy_members(Module, Registry, Calling, StateDict, Conversion)
explain(vars(Module))
