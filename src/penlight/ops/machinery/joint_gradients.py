"""Gradients of several inputs from one backward kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import get_ident
from typing import Any


class Together:
    """A backward kernel that gives the gradients of all inputs at once, for rules that each ask for one.

    The rules of a node run one after the other. The first computes the gradients of all inputs that need one; those of
    the others wait here until their rules come, which is at once. `kernel(grad, *saved, needs)` returns a sequence.
    """

    __slots__ = ("kernel", "waiting")

    def __init__(self, kernel: Callable[..., Sequence[Any]]) -> None:
        self.kernel = kernel
        self.waiting: dict[int, tuple[Any, list[Any]]] = {}  # by thread: the gradient they were computed from, and they

    def __call__(self, position: int, needs: Sequence[bool], grad: Any, *rest: Any) -> Any:
        """The gradient of the input at `position` among those that have rules."""
        thread = get_ident()
        held = self.waiting.pop(thread, None)
        if held is None or held[0] is not grad or True not in needs[:position]:  # the first of a node starts anew
            held = grad, list(self.kernel(grad, *rest, tuple(needs)))
        grads = held[1]
        mine, grads[position] = grads[position], None
        if True in needs[position + 1 :]:
            self.waiting[thread] = held
        return mine


def saved_as_input(*ops: Any) -> None:
    """Nodes of these ops show what they saved of their input as `_saved_input`, not as `_saved_self`, as in PyTorch."""
    for op in ops:
        for name in ("_saved_self", "_raw_saved_self"):
            reader = op.Backward.__dict__.get(name)
            if reader is not None:
                setattr(op.Backward, name.replace("self", "input"), reader)
                delattr(op.Backward, name)
