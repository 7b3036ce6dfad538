"""A backward that is not differentiable itself, part of `function`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..tensor import Tensor
from .modes import grad_mode, sequence
from .node import NO_EDGE, Node


class Error(Node):
    """Stands behind the gradients of a function that differentiates only once: refuses to go on."""

    __slots__ = ("message", "outputs")
    runs_on_none = True

    def __init__(self, message: str, next_functions: tuple[Any, ...]) -> None:
        self.seq = next(sequence)
        self._hooks = self._fit = None
        self.message, self.next_functions = message, next_functions
        self.outputs = len(next_functions)

    def run_raw(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        raise RuntimeError(self.message)

    run_graph = run_raw


Error.__module__ = "torch.autograd.graph"


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that is not differentiable itself: a second derivative raises instead of being wrong.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.x = x.detach().numpy()
    ...         return x * x
    ...     @staticmethod
    ...     @torch.autograd.function.once_differentiable
    ...     def backward(ctx, grad):
    ...         return torch.from_numpy(2 * ctx.x * grad.numpy())
    """

    @functools.wraps(fn)
    def wrapper(ctx: Any, *args: Any) -> Any:
        enabled = grad_mode.get()
        try:
            grad_mode.set(False)
            outputs = fn(ctx, *args)
        finally:
            grad_mode.set(enabled)
        if not enabled or not any(isinstance(a, Tensor) and a.requires_grad for a in args):
            return outputs
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        guarded = _delayed_error(several)
        return guarded if isinstance(outputs, tuple) else guarded[0]

    return wrapper


def _delayed_error(outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The same values as the outputs of an `Error` node."""
    leaves = [None if o is None else o.detach()._require_grad_() for o in outputs]
    node = Error(
        "trying to differentiate twice a function that was marked with @once_differentiable",
        tuple(NO_EDGE if leaf is None else leaf._edge for leaf in leaves),
    )
    guarded = [None if o is None else o.detach() for o in outputs]
    for nr, out in enumerate(guarded):
        if out is not None:
            out._edge = (node, nr)
    return tuple(guarded)
