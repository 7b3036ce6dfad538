"""Global module hooks, the handles that remove hooks, and the nodes at which backward hooks see gradients."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import penlight
from penlight import Tensor
from penlight._common.docstrings import documented
from penlight._common.user_warnings import warn_user
from penlight.autograd.node import RemovableHandle

from ..._common.arguments import explain as _explain
from ...kernels.lazy import lazy_import

_functions = lazy_import(globals(), "_functions", "._functions")

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

# The ids of global forward hooks registered with these flags.
_global_forward_hooks_always_called, _global_forward_hooks_with_kwargs = _empty_tables(2)

# None until the first global backward hook determines the kind in use: full (True) or legacy (False).
_global_is_full_backward_hook: bool | None = None


def add_hook(
    table: OrderedDict[int, Any], hook: Callable[..., Any], *, prepend: bool = False, flags: tuple[Any, ...] = ()
) -> RemovableHandle:
    """Adds a hook to a table, first if requested; `flags` are (table, wanted) pairs to mark under the same id."""
    handle = RemovableHandle(table, extra_dict=[flag_table for flag_table, _ in flags])
    table[handle.id] = hook
    for flag_table, wanted in flags:
        if wanted:
            flag_table[handle.id] = True
    if prepend:
        table.move_to_end(handle.id, last=False)
    return handle


def run_registration_hooks(table: OrderedDict[int, Any], module: Any, name: str, value: Any) -> Any:
    """The object to register, after each registration hook could replace it."""
    for hook in table.values():
        replacement = hook(module, name, value)
        if replacement is not None:
            value = replacement
    return value


def _registers(name: str, table: HookTable, hook: str, when: str, *example: str) -> Callable[[Any], RemovableHandle]:
    """A function that adds a hook for all modules; its example adds one for the duration of a with block."""

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
    flags = ((_global_forward_hooks_with_kwargs, with_kwargs), (_global_forward_hooks_always_called, always_call))
    return add_hook(_global_forward_hooks, hook, flags=flags)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The legacy form of `register_module_full_backward_hook`, which sees only the last operation of a module.

    Args:
        hook: a function of the module, its input's gradients and its output's

    >>> from penlight.nn.modules.module import register_module_backward_hook
    >>> with register_module_backward_hook(print):  # doctest: +SKIP
    ...     module(x).sum().backward()
    """
    return _add_backward_hook(hook, full=False)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls `hook(module, grad_input, grad_output)` after the backward of every module.

    >>> from penlight.nn.modules.module import register_module_full_backward_hook
    >>> x = torch.ones(2, requires_grad=True)
    >>> with register_module_full_backward_hook(lambda module, grad_input, grad_output: print(grad_input)):
    ...     torch.nn.ReLU()(x).sum().backward()
    (tensor([1., 1.]),)
    """
    return _add_backward_hook(hook, full=True)


def _add_backward_hook(hook: Callable[..., Any], full: bool) -> RemovableHandle:
    global _global_is_full_backward_hook
    if _global_is_full_backward_hook is (not full):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. "
            "Please use only one of them."
        )
    _global_is_full_backward_hook = full
    return add_hook(_global_backward_hooks, hook)


def global_backward_hooks(full: bool) -> list[Callable[..., Any]]:
    """The global backward hooks of one kind."""
    return list(_global_backward_hooks.values()) if _global_is_full_backward_hook is full else []


# ----- The backward hooks of one call: two identity nodes, around the inputs and around the outputs ------------------


class BackwardHook:
    """The backward hooks of one call of a module.

    The output node receives the incoming gradients and runs the pre-hooks; the input node receives the outgoing ones and runs the hooks. If
    no input requires grad there is no input node, and the hooks run at the output node.

    Args:
        module: the module
        user_hooks: called with the module, its input's gradients and its output's
        user_pre_hooks: called with the module and its output's gradients

    >>> torch.utils.hooks.BackwardHook(torch.nn.ReLU(), [], []).n_inputs
    -1
    """

    def __init__(
        self, module: Any, user_hooks: Sequence[Callable[..., Any]], user_pre_hooks: Sequence[Callable[..., Any]]
    ) -> None:
        self.module = module
        self.user_hooks = user_hooks
        self.user_pre_hooks = user_pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.n_inputs = self.n_outputs = -1
        self.input_tensors_index: list[int] | None = None
        self.constant_inputs: dict[int, Any] = {}
        self.output_tensors_index: list[int] | None = None

    def setup_input_hook(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, with their tensors passed through the input node."""
        result, self.input_tensors_index = _through_node(args, self._on_input_grads)
        self.n_inputs = len(args)
        for index in self.input_tensors_index or ():
            if not args[index].requires_grad:
                self.constant_inputs[index] = (args[index].shape, args[index].dtype)
        return result

    def setup_output_hook(self, output: Any) -> Any:
        """The output, passed through the output node."""
        outputs = output if isinstance(output, tuple) else (output,)
        result, self.output_tensors_index = _through_node(outputs, self._on_output_grads)
        self.n_outputs = len(outputs)
        return result if isinstance(output, tuple) else result[0]

    def _on_output_grads(self, _: Any, grad_output: tuple[Any, ...]) -> tuple[Any, ...]:
        assert self.output_tensors_index is not None
        grads = _at_indices(self.output_tensors_index, grad_output, self.n_outputs)
        for hook in self.user_pre_hooks:
            replaced = hook(self.module, grads)
            if replaced is None:
                continue
            if len(replaced) != len(grads):
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, "
                    f"got {len(replaced)}, but expected {len(grads)}"
                )
            grads = replaced
        self.grad_outputs = grads
        if self.input_tensors_index is None:
            self._run_hooks_without_input_grads(grads)
        return tuple(grads[i] for i in self.output_tensors_index)

    def _run_hooks_without_input_grads(self, grads: tuple[Any, ...]) -> None:
        warn_user(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
            "#torch.nn.Module.register_full_backward_hook for more details."
        )
        for hook in self.user_hooks:
            result = hook(self.module, (None,) * self.n_inputs, grads)
            if result is not None and not (isinstance(result, tuple) and all(item is None for item in result)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return None "
                    "or None for all gradients."
                )
        self.grad_outputs = None

    def _on_input_grads(self, grad_input: tuple[Any, ...], _: Any) -> tuple[Any, ...] | None:
        if self.grad_outputs is None:
            return None  # the gradient did not come through the output node
        assert self.input_tensors_index is not None
        grads = _at_indices(self.input_tensors_index, grad_input, self.n_inputs)
        if self.constant_inputs:
            grads = self._with_zeros(grads)
        for hook in self.user_hooks:
            replaced = hook(self.module, grads, self.grad_outputs)
            if replaced is None:
                continue
            if len(replaced) != len(grads):
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, "
                    f"got {len(replaced)}, but expected {len(grads)}"
                )
            grads = replaced
        self.grad_outputs = None
        return tuple(grads[i] for i in self.input_tensors_index)

    def _with_zeros(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        """Replaces missing gradients of tensors by zeros for hooks; None is for arguments that are not tensors."""
        shown = list(grads)
        for index, (shape, dtype) in self.constant_inputs.items():
            if shown[index] is None:
                shown[index] = penlight.zeros(shape, dtype=dtype)
        return tuple(shown)


def _at_indices(indices: Sequence[int], values: Sequence[Any], size: int) -> tuple[Any, ...]:
    """A tuple of `size` with `values` at `indices`, and None elsewhere."""
    result: list[Any] = [None] * size
    for index, value in zip(indices, values, strict=True):
        result[index] = value
    return tuple(result)


def _through_node(args: tuple[Any, ...], hook: Callable[..., Any]) -> tuple[tuple[Any, ...], list[int] | None]:
    """The arguments with their tensors passed through one identity node that has the hook, and the indices of those tensors.

    The second value is None if nothing requires grad, so that no node was made.
    """
    indices = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
    if not (any(args[i].requires_grad for i in indices) and penlight.is_grad_enabled()):
        return args, None
    passed = _functions.BackwardHookFunction.apply(*(args[i] for i in indices))
    node = next(t.grad_fn for t in passed if t.grad_fn is not None)
    node.register_hook(hook)
    result = list(args)
    for index, tensor in zip(indices, passed, strict=True):
        result[index] = tensor
    # A named tuple is built from its fields, not from one sequence.
    return (tuple(result) if type(args) is tuple else type(args)(*result)), indices


_explain(globals())
