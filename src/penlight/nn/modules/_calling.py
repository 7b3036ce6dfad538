"""Calling a module: the hooks around `forward`, and registering them on one module."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from penlight import Tensor
from penlight._common.user_warnings import warn_user
from penlight.autograd.node import RemovableHandle

from . import _error_notes, _hooks as global_hooks
from ._hooks import (
    BackwardHook,
    _global_backward_hooks,
    _global_backward_pre_hooks,
    _global_forward_hooks,
    _global_forward_pre_hooks,
    add_hook,
)
from ._registry import Tables


class _WrappedHook:
    """A hook with a weak reference to its module, so that a module does not keep itself alive through its hooks."""

    __module__ = "penlight.nn.modules.module"  # pickles of modules with hooks refer to this name

    def __init__(self, hook: Callable[..., Any], module: Any = None) -> None:
        self.hook = hook
        functools.update_wrapper(self, hook)
        self.with_module = module is not None
        if self.with_module:
            self.module = weakref.ref(module)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> dict[str, Any]:
        state = {"hook": self.hook, "with_module": self.with_module}
        if self.with_module:
            state["module"] = self.module()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        module = state.get("module")
        if state["with_module"] and module is None:
            raise RuntimeError("You are trying to revive the hook of a dead Module!")
        self.hook, self.with_module = state["hook"], state["with_module"]
        if module is not None:
            self.module = weakref.ref(module)


class Calling(Tables):
    """The part of `Module` that implements calls."""

    forward: Callable[..., Any]

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        fields = self.__dict__
        try:
            hooked = (
                fields["_forward_hooks"]
                or fields["_forward_pre_hooks"]
                or fields["_backward_hooks"]
                or fields["_backward_pre_hooks"]
                or _global_forward_hooks
                or _global_forward_pre_hooks
                or _global_backward_hooks
                or _global_backward_pre_hooks
            )
        except KeyError:  # Module.__init__ has not run
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '_backward_hooks'") from None
        try:
            if hooked:
                return _HookedCall(self, args, kwargs).run()
            if len(args) == 1 and not kwargs:  # the usual call, without unpacking
                return self.forward(args[0])
            return self.forward(*args, **kwargs)
        except Exception as error:
            _error_notes.add_layer(error, self, args)
            raise

    __call__: Callable[..., Any] = _call_impl

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Calls `hook(module, args)` before `forward`; its return value, if not None, replaces the arguments.

        With `with_kwargs` the hook is `hook(module, args, kwargs)` and returns both as a pair.

        >>> m = torch.nn.Identity()
        >>> handle = m.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
        >>> m(torch.zeros(2))
        tensor([1., 1.])
        >>> handle.remove()
        """
        flags = ((self._forward_pre_hooks_with_kwargs, with_kwargs),)
        return add_hook(self._forward_pre_hooks, hook, prepend=prepend, flags=flags)

    def register_forward_hook(self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False,
                              always_call: bool = False) -> RemovableHandle:  # fmt: skip
        """Calls `hook(module, args, output)` after `forward`; its return value, if not None, replaces the output.

        With `with_kwargs` the hook is `hook(module, args, kwargs, output)`; with `always_call` it also runs if forward raises.

        >>> m = torch.nn.Identity()
        >>> handle = m.register_forward_hook(lambda module, args, output: output * 2)
        >>> m(torch.ones(2))
        tensor([2., 2.])
        """
        flags = ((self._forward_hooks_with_kwargs, with_kwargs), (self._forward_hooks_always_called, always_call))
        return add_hook(self._forward_hooks, hook, prepend=prepend, flags=flags)

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls `hook(module, grad_output)` once the gradients of the outputs have arrived.

        >>> x, m = torch.ones(2, requires_grad=True), torch.nn.Identity()
        >>> handle = m.register_full_backward_pre_hook(lambda module, grad_output: (grad_output[0] * 5,))
        >>> m(x).sum().backward()
        >>> x.grad
        tensor([5., 5.])
        """
        return add_hook(self._backward_pre_hooks, hook, prepend=prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls `hook(module, grad_input, grad_output)` once the gradients of the inputs have been computed.

        >>> x, m = torch.ones(2, requires_grad=True), torch.nn.Identity()
        >>> handle = m.register_full_backward_hook(lambda module, grad_input, grad_output: (grad_input[0] * 3,))
        >>> m(x).sum().backward()
        >>> x.grad
        tensor([3., 3.])
        """
        self._choose_backward_hook_kind(full=True)
        return add_hook(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The legacy backward hook, which sees only the last operation of forward.

        Use `register_full_backward_hook` instead.

        >>> layer = torch.nn.ReLU()
        >>> handle = layer.register_full_backward_hook(lambda module, grad_input, grad_output: print(grad_output))
        >>> layer(torch.ones(1, requires_grad=True)).backward()
        (tensor([1.]),)
        """
        self._choose_backward_hook_kind(full=False)
        return add_hook(self._backward_hooks, hook)

    def _choose_backward_hook_kind(self, full: bool) -> None:
        if self._is_full_backward_hook is (not full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. "
                "Please use only one of them."
            )
        self._is_full_backward_hook = full

    def _get_backward_hooks(self) -> tuple[list[Callable[..., Any]], list[Callable[..., Any]]]:
        own = list(self._backward_hooks.values())
        full = global_hooks.global_backward_hooks(True) + (own if self._is_full_backward_hook is True else [])
        legacy = global_hooks.global_backward_hooks(False) + (own if self._is_full_backward_hook is False else [])
        return full, legacy

    def _get_backward_pre_hooks(self) -> list[Callable[..., Any]]:
        return [*_global_backward_pre_hooks.values(), *self._backward_pre_hooks.values()]


class _HookedCall:
    """One call of a module with hooks: runs pre-hooks, forward and hooks, and sets up the backward hooks."""

    def __init__(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.module = module
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        self.always_called_done: set[int] = set()

    def run(self) -> Any:
        try:
            self.run_pre_hooks()
            full, legacy = self.module._get_backward_hooks()
            pre = self.module._get_backward_pre_hooks()
            around = BackwardHook(self.module, full, pre) if full or pre else None
            if around is not None:
                self.args = around.setup_input_hook(self.args)
            self.result = self.module.forward(*self.args, **self.kwargs)
            self.run_hooks()
            if around is not None:
                self.set_up_output(around)
            if legacy:
                self.hang_legacy_hooks(legacy)
            return self.result
        except Exception:
            self.run_hooks_after_failure()
            raise

    def run_pre_hooks(self) -> None:
        module = self.module
        with_kwargs = module._forward_pre_hooks_with_kwargs
        for key, hook in (*_global_forward_pre_hooks.items(), *module._forward_pre_hooks.items()):
            if key in with_kwargs:
                changed = hook(module, self.args, self.kwargs)
                if changed is None:
                    continue
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {changed}."
                    )
                self.args, self.kwargs = changed
            else:
                changed = hook(module, self.args)
                if changed is not None:
                    self.args = changed if isinstance(changed, tuple) else (changed,)

    def run_hooks(self) -> None:
        module = self.module
        for key, hook in (*_global_forward_hooks.items(), *module._forward_hooks.items()):
            if key in module._forward_hooks_always_called or key in global_hooks._global_forward_hooks_always_called:
                self.always_called_done.add(key)
            self.run_hook(key, hook)

    def run_hook(self, key: int, hook: Callable[..., Any]) -> None:
        if key in self.module._forward_hooks_with_kwargs or key in global_hooks._global_forward_hooks_with_kwargs:
            changed = hook(self.module, self.args, self.kwargs, self.result)
        else:
            changed = hook(self.module, self.args, self.result)
        if changed is not None:
            self.result = changed

    def run_hooks_after_failure(self) -> None:
        groups = (
            ("global module", _global_forward_hooks, global_hooks._global_forward_hooks_always_called),
            ("module", self.module._forward_hooks, self.module._forward_hooks_always_called),
        )
        for kind, table, always in groups:
            for key, hook in table.items():
                if key not in always or key in self.always_called_done:
                    continue
                try:
                    self.run_hook(key, hook)
                except Exception as error:
                    warn_user(
                        f"{kind} forward hook with ``always_call=True`` raised an exception that was silenced "
                        f"as another error was raised in forward: {error}",
                    )

    def set_up_output(self, around: BackwardHook) -> None:
        if not isinstance(self.result, (Tensor, tuple)):
            warn_user(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                f"but received {type(self.result)}",
            )
        self.result = around.setup_output_hook(self.result)

    def hang_legacy_hooks(self, legacy: list[Callable[..., Any]]) -> None:
        first = self.result
        while not isinstance(first, Tensor):
            if isinstance(first, dict):
                first = next(value for value in first.values() if isinstance(value, Tensor))
            else:
                first = first[0]
        node = first.grad_fn
        if node is None:
            return
        for hook in legacy:
            node.register_hook(_WrappedHook(hook, self.module))
        _warn_about_legacy_hook(self.args, self.result, node)


_LEGACY_ADVICE = "Please use register_full_backward_hook to get the documented behavior."


def _warn_about_legacy_hook(inputs: Any, result: Any, node: Any) -> None:
    """Warns if a legacy backward hook will not see all gradients."""
    problem = _legacy_hook_problem(inputs, result, node)
    if problem is not None:
        warn_user(problem, FutureWarning)


def _legacy_hook_problem(inputs: Any, result: Any, node: Any) -> str | None:
    def all_tensors(value: Any) -> bool:
        return isinstance(value, Tensor) or (
            isinstance(value, tuple) and all(isinstance(item, Tensor) for item in value)
        )

    gone = "is deprecated and will be removed in future versions. This hook will be missing some"
    if not all_tensors(result):
        return (
            "Using non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors "
            f"{gone} of the grad_output. {_LEGACY_ADVICE}"
        )
    if not all_tensors(inputs):
        return (
            "Using non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of "
            f"Tensors {gone} of the grad_input. {_LEGACY_ADVICE}"
        )
    results = (result,) if isinstance(result, Tensor) else result
    inputs = (inputs,) if isinstance(inputs, Tensor) else inputs
    result_nodes = {r.grad_fn for r in results if r.grad_fn is not None}
    if not result_nodes or (len(result_nodes) == 1 and node not in result_nodes):
        return f"Using a non-full backward hook when outputs are nested in python data structure {gone} grad_output."
    if len(result_nodes) > 1:
        return (
            "Using a non-full backward hook when outputs are generated by different autograd Nodes "
            f"{gone} grad_output. {_LEGACY_ADVICE}"
        )
    if {i.grad_fn for i in inputs if i.grad_fn is not None} != {edge[0] for edge in node.next_functions}:
        return (
            "Using a non-full backward hook when the forward contains multiple autograd Nodes "
            f"{gone} grad_input. {_LEGACY_ADVICE}"
        )
    return None
