"""allow_mutation_on_saved_tensors: makes in-place writes to saved tensors safe by copying them first.

# Note [Copy before a write]
Inside the context a node's saved tensor is a handle. An op that is about to write to memory announces it (`write_watchers` in
ops/machinery/dispatch.py); handles of tensors that share that memory then get a copy. Memory that is never written to is never copied.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from ..kernels.lazy import lazy_import
from ..ops.machinery.dispatch import write_watchers
from . import modes
from .modes import grad_mode
from .saved import versions_of

if TYPE_CHECKING:
    from ..tensor import Tensor

_graph = lazy_import(globals(), "_graph", ".graph")


class _Handle:
    """Represents one saved tensor; `tensor` is the copy once its memory was written to."""

    __slots__ = ("__weakref__", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


class _AllowMutationOnSavedContext:
    """The saved tensors of one `with allow_mutation_on_saved_tensors()` block."""

    def __init__(self) -> None:
        self.open = True
        # Keyed by memory (the identity of the version counter shared by all its views, which the entry keeps alive).
        self.saved: dict[int, tuple[Any, WeakSet[_Handle]]] = {}

    def clear(self) -> None:
        """Forget everything: graphs recorded in this context can no longer run backward."""
        self.open = False
        self.saved.clear()

    def pack(self, tensor: Tensor) -> _Handle:
        handle = _Handle(tensor.detach())
        counter = versions_of(tensor)
        self.saved.setdefault(id(counter), (counter, WeakSet()))[1].add(handle)
        return handle

    def unpack(self, handle: _Handle) -> Tensor:
        if not self.open:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' contextin which the graph was originally "
                "recorded."
            )
        return handle.tensor

    def before_write(self, tensor: Tensor) -> None:
        """Copy the saved tensors whose memory is about to change."""
        found = self.saved.pop(id(tensor._vc), None)
        if found is None:
            return
        copies: dict[Any, Tensor] = {}
        before = grad_mode.get()
        try:
            grad_mode.set(False)
            for handle in list(found[1]):
                array = handle.tensor._array
                key = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype)
                if key not in copies:
                    copies[key] = handle.tensor.clone()
                handle.tensor = copies[key]
        finally:
            grad_mode.set(before)


@contextmanager
def allow_mutation_on_saved_tensors() -> Generator[_AllowMutationOnSavedContext, None, None]:
    """Inside, tensors that were saved for backward may be changed in place: they are copied first.

    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     x = torch.ones(2, requires_grad=True)
    ...     y = x.clone()
    ...     out = (y**2).sum()
    ...     y = y.sin_()
    ...     out.backward()
    >>> x.grad
    tensor([2., 2.])
    """
    context = _AllowMutationOnSavedContext()
    before = write_watchers.get()
    if before:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    modes.open_slow_mode()
    write_watchers.set((context.before_write,))
    try:
        with _graph.saved_tensors_hooks(context.pack, context.unpack):
            yield context
    finally:
        write_watchers.set(before)
        modes.close_slow_mode()
        context.clear()
