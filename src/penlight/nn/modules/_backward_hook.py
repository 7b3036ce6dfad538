"""Module backward hooks, made of two identity nodes: one around the inputs and one around the outputs of a call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import penlight
from penlight import Tensor

from ...kernels.lazy import lazy_import

_functions = lazy_import(globals(), "_functions", "._functions")


class BackwardHook:
    """The backward hooks of one call of a module.

    The output node sees the gradients arrive and runs the pre-hooks; the input node sees them leave and runs the
    hooks. When no input requires grad there is no input node, and the hooks run at the output node.
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
        """The arguments, with the tensors among them led through the input node."""
        result, self.input_tensors_index = _through_node(args, self._on_input_grads)
        self.n_inputs = len(args)
        for index in self.input_tensors_index or ():
            if not args[index].requires_grad:
                self.constant_inputs[index] = (args[index].shape, args[index].dtype)
        return result

    def setup_output_hook(self, output: Any) -> Any:
        """The output, led through the output node."""
        outputs = output if isinstance(output, tuple) else (output,)
        result, self.output_tensors_index = _through_node(outputs, self._on_output_grads)
        self.n_outputs = len(outputs)
        return result if isinstance(output, tuple) else result[0]

    def _on_output_grads(self, _: Any, grad_output: tuple[Any, ...]) -> tuple[Any, ...]:
        assert self.output_tensors_index is not None
        grads = _spread(self.output_tensors_index, grad_output, self.n_outputs)
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
        warnings.warn(
            "Full backward hook is firing when gradients are computed with respect to module outputs since no inputs "
            "require gradients. See https://docs.pytorch.org/docs/main/generated/torch.nn.Module.html"
            "#torch.nn.Module.register_full_backward_hook for more details.",
            stacklevel=6,
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
        grads = _spread(self.input_tensors_index, grad_input, self.n_inputs)
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
        """Hooks are shown zeros for tensors that require no grad; None is for what is no tensor."""
        shown = list(grads)
        for index, (shape, dtype) in self.constant_inputs.items():
            if shown[index] is None:
                shown[index] = penlight.zeros(shape, dtype=dtype)
        return tuple(shown)


def _spread(indices: Sequence[int], values: Sequence[Any], size: int) -> tuple[Any, ...]:
    """`values` at their `indices` in a tuple of `size`, None elsewhere."""
    result: list[Any] = [None] * size
    for index, value in zip(indices, values, strict=True):
        result[index] = value
    return tuple(result)


def _through_node(args: tuple[Any, ...], hook: Callable[..., Any]) -> tuple[tuple[Any, ...], list[int] | None]:
    """The arguments with their tensors led through one identity node that has the hook, and where those tensors are.

    None in the second place says that nothing requires grad, so that no node was made.
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
