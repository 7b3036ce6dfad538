"""Hooks that hold for every module, and the handles that take any hook away again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from penlight._common.docstrings import documented
from penlight.autograd.node import RemovableHandle

__all__ = [
    "_global_backward_hooks", "_global_backward_pre_hooks", "_global_buffer_registration_hooks",
    "_global_forward_hooks", "_global_forward_hooks_always_called", "_global_forward_hooks_with_kwargs",
    "_global_forward_pre_hooks", "_global_module_registration_hooks", "_global_parameter_registration_hooks",
    "register_module_backward_hook", "register_module_buffer_registration_hook", "register_module_forward_hook",
    "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]  # fmt: skip

HookTable = OrderedDict[int, Callable[..., Any]]


def _empty_tables(count: int) -> list[HookTable]:
    return [OrderedDict() for _ in range(count)]


(_global_buffer_registration_hooks, _global_module_registration_hooks, _global_parameter_registration_hooks,
 _global_backward_pre_hooks, _global_backward_hooks, _global_forward_pre_hooks,
 _global_forward_hooks) = _empty_tables(7)  # fmt: skip

# The ids of the global forward hooks that were registered with these flags.
_global_forward_hooks_always_called, _global_forward_hooks_with_kwargs = _empty_tables(2)

# None until the first global backward hook decides which of the two kinds is in use: full (True) or legacy (False).
_global_is_full_backward_hook: bool | None = None

_MIXED_BACKWARD_HOOKS = (
    "Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
    "Please use only one of them."
)


def add_hook(
    table: OrderedDict[int, Any], hook: Callable[..., Any], *, prepend: bool = False, flags: tuple[Any, ...] = ()
) -> RemovableHandle:
    """Puts a hook into a table, in front if asked; `flags` are (table, wanted) pairs marked under the same id."""
    handle = RemovableHandle(table, extra_dict=[flag_table for flag_table, _ in flags])
    table[handle.id] = hook
    for flag_table, wanted in flags:
        if wanted:
            flag_table[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def run_registration_hooks(table: OrderedDict[int, Any], module: Any, name: str, value: Any) -> Any:
    """What is to be registered, after each registration hook had the chance to replace it."""
    for hook in table.values():
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value


def _registers(name: str, table: HookTable, hook: str, when: str, *example: str) -> Callable[[Any], RemovableHandle]:
    """A function that adds a hook for all modules; its example adds one for the length of a with block."""

    def register(hook: Callable[..., Any]) -> RemovableHandle:
        return add_hook(table, hook)

    register.__name__ = register.__qualname__ = f"register_module_{name}_hook"
    *action, shown = example
    register.__doc__ = documented(
        f"Calls `hook({hook})` {when}.",
        f">>> from penlight.nn.modules.module import {register.__name__}",
        f">>> with {register.__name__}(lambda {hook}: {action[0]}):", f"...     {action[1]}", shown,
    )  # fmt: skip
    return register


register_module_buffer_registration_hook = _registers(
    "buffer_registration", _global_buffer_registration_hooks, "module, name, buffer",
    "whenever a buffer is registered; what it returns is registered instead",
    "print(name)", 'torch.nn.Module().register_buffer("scale", torch.ones(1))', "scale",
)  # fmt: skip
register_module_module_registration_hook = _registers(
    "module_registration", _global_module_registration_hooks, "module, name, submodule",
    "whenever a submodule is registered; what it returns is taken instead",
    "print(name, submodule)", "_ = torch.nn.Sequential(torch.nn.ReLU())", "0 ReLU()",
)  # fmt: skip
register_module_parameter_registration_hook = _registers(
    "parameter_registration", _global_parameter_registration_hooks, "module, name, parameter",
    "whenever a parameter is registered; what it returns is taken instead",
    "print(name)", "_ = torch.nn.Linear(2, 2, bias=False)", "weight",
)  # fmt: skip
register_module_forward_pre_hook = _registers(
    "forward_pre", _global_forward_pre_hooks, "module, args", "before the forward of every module",
    "print(module)", "_ = torch.nn.Tanh()(torch.zeros(1))", "Tanh()",
)  # fmt: skip
register_module_full_backward_pre_hook = _registers(
    "full_backward_pre", _global_backward_pre_hooks, "module, grad_output", "before the backward of every module",
    "print(grad_output)", "torch.nn.Tanh()(torch.zeros(1, requires_grad=True)).backward()", "(tensor([1.]),)",
)  # fmt: skip


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Calls `hook(module, args, output)` after the forward of every module.

    >>> from penlight.nn.modules.module import register_module_forward_hook
    >>> with register_module_forward_hook(lambda module, args, output: print(module, tuple(output.shape))):
    ...     _ = torch.nn.Tanh()(torch.zeros(1))
    Tanh() (1,)
    """
    flags = (
        (_global_forward_hooks_with_kwargs, with_kwargs),
        (_global_forward_hooks_always_called, always_call),
    )
    return add_hook(_global_forward_hooks, hook, flags=flags)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The legacy form of `register_module_full_backward_hook`; it sees the last operation of a module only."""
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is True:
        raise RuntimeError(_MIXED_BACKWARD_HOOKS)
    _global_is_full_backward_hook = False
    return add_hook(_global_backward_hooks, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(module, grad_input, grad_output)` after the backward of every module.

    >>> from penlight.nn.modules.module import register_module_full_backward_hook
    >>> x = torch.ones(2, requires_grad=True)
    >>> with register_module_full_backward_hook(lambda module, grad_input, grad_output: print(grad_input)):
    ...     torch.nn.ReLU()(x).sum().backward()
    (tensor([1., 1.]),)
    """
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is False:
        raise RuntimeError(_MIXED_BACKWARD_HOOKS)
    _global_is_full_backward_hook = True
    return add_hook(_global_backward_hooks, hook)


def global_backward_hooks(full: bool) -> list[Callable[..., Any]]:
    """The global backward hooks of one kind."""
    return list(_global_backward_hooks.values()) if _global_is_full_backward_hook is full else []
