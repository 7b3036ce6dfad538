"""Hooks of a tensor, and retaining the gradient of a non-leaf. A part of `Tensor`.

`__init__.py` copies the members of the class into `Tensor` itself, so that `Tensor` has no such base class at runtime.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import tensor as _tensor  # type: ignore[no-redef]  # it needs this file: its names are looked up when used
from ..autograd import modes, views
from ..autograd.node import AccumulateGrad, HookDict, RemovableHandle, add_hook

if TYPE_CHECKING:
    from . import Tensor


class Hooked:
    """Hooks that run when a gradient arrives, and retained gradients."""

    __slots__ = ()

    def retain_grad(self: Any) -> None:
        """Make backward passes store this non-leaf's gradient in `.grad`.

        >>> y = torch.ones(1, requires_grad=True) * 2
        >>> y.retain_grad(); y.backward(); y.grad
        tensor([1.])
        """
        if modes.transforms.get():
            raise RuntimeError(modes.IN_A_TRANSFORM.format("retain_grad()", "retain_grad"))
        if not self.requires_grad:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if _tensor._is_leaf(self):
            return
        node, nr = views.edge_of(self)
        if node is not None and not isinstance(node, AccumulateGrad):
            node.hooks().retain[nr] = weakref.ref(self)

    @property
    def retains_grad(self: Any) -> bool:
        """Whether this is a non-leaf that stores its gradient in `.grad`.

        >>> x = torch.ones(1, requires_grad=True) * 2
        >>> x.retain_grad()
        >>> x.retains_grad
        True
        """
        try:
            node, nr = self._edge
        except AttributeError:
            return self._view.retained is not None
        return node is not None and node._hooks is not None and nr in node._hooks.retain

    def register_hook(self: Any, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(grad)` when this tensor's gradient is computed; its return value replaces the gradient.

        >>> x = torch.ones(1, requires_grad=True)
        >>> handle = x.register_hook(lambda grad: grad * 10)
        >>> x.sum().backward(); x.grad
        tensor([10.])
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node, nr = views.edge_of(self)
        if node is None:
            return RemovableHandle({})
        return add_hook(node.hooks().tensor.setdefault(nr, HookDict()), hook)

    @property
    def _backward_hooks(self: Any) -> Any:
        if "_backward_hooks" in self.__dict__:
            return self.__dict__["_backward_hooks"]
        node, nr = views.edge_of(self)
        return None if node is None or node._hooks is None else node._hooks.tensor.get(nr)

    @_backward_hooks.setter
    def _backward_hooks(self: Any, value: Any) -> None:
        node, nr = views.edge_of(self)
        if self.grad_fn is not None:  # PyTorch keeps the attribute, and calls the registered hooks
            self.__dict__["_backward_hooks"] = value
        elif node is not None and value is not None:
            node.hooks().tensor[nr] = value
        elif node is not None and node._hooks is not None:
            node._hooks.tensor.pop(nr, None)
        elif value:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")

    @_backward_hooks.deleter
    def _backward_hooks(self: Any) -> None:
        raise RuntimeError("Deletion of _backwards_hooks not allowed!")

    def register_post_accumulate_grad_hook(self: Any, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(tensor)` after this leaf's `.grad` has been updated.

        >>> w = torch.tensor(3.0, requires_grad=True)
        >>> handle = w.register_post_accumulate_grad_hook(lambda leaf: print(leaf.grad))
        >>> (w * w).backward()
        tensor(6.)
        """
        if not self.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        node = views.edge_of(self)[0]
        if node is None:
            return RemovableHandle({})
        if not isinstance(node, AccumulateGrad):
            raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
        return add_hook(node.hooks().post_accumulate, hook)
