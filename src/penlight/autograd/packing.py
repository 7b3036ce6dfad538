"""Hooks on saved tensors: packed when a node saves them, unpacked each time the node reads them.

# Note [Packed values]
While a pair of hooks is open, a node's slot holds a `Packed` instead of a tensor, and its `_fit` a `PackedFit`, which sends the generated
backward to the readable path, where each value is unpacked once per run. `_array` and `unpack()` both call the unpack hook; `unpack()`
returns the tensor with the saved tensor's edge in the graph. `_vc` is None because versions
can't be tracked through hooks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops.machinery.rules import PackedFit, unpack_graph
from ..tensor import Tensor, wrap
from .modes import grad_mode
from .node import NO_EDGE, Edge, Freed, Node
from .saved import freed, input_modified, result_modified, version_of, versions_of
from .views import edge_of


class Pair:
    """The pack and unpack functions of an open `saved_tensors_hooks`."""

    __slots__ = ("pack_hook", "unpack_hook")

    def __init__(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def pack(self, tensor: Tensor, edge: Edge) -> Packed:
        """Call the pack hook on a tensor that a node saves; `edge` is the graph edge of the unpacked tensor."""
        version = version_of(tensor)
        before = grad_mode.get()
        try:
            grad_mode.set(False)
            value = self.pack_hook(tensor)
        finally:
            grad_mode.set(before)
        if version_of(tensor) != version:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot be "
                "modified by in-place operations as this can lead to unexpected side-effects. Please open an issue if you "
                "need to perform in-place operations on the input to a pack hook."
            )
        return Packed(value, self.unpack_hook, edge)


class Packed:
    """The pack hook's result for a saved tensor. See Note [Packed values]."""

    __slots__ = ("edge", "unpack_hook", "value")
    _vc = None

    def __init__(self, value: Any, unpack_hook: Callable[[Any], Tensor], edge: Edge) -> None:
        self.value, self.unpack_hook, self.edge = value, unpack_hook, edge

    @property
    def _array(self) -> np.ndarray[Any, Any]:
        return self.data()._array

    def data(self) -> Tensor:
        """The unpack hook's result."""
        data = self.unpack_hook(self.value)
        if not isinstance(data, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                + type(data).__name__
            )
        return data

    def unpack(self) -> Tensor:
        """The saved tensor with its edge in the graph."""
        return at_edge(self.data(), self.edge)


def at_edge(data: Tensor, edge: Edge) -> Tensor:
    """The values of `data` as a tensor whose gradient flows to `edge`."""
    if edge is NO_EDGE and not data.requires_grad:
        return data
    out = wrap(data._array)
    out._edge, out._rare_state = edge, data._rare_state
    return out


class SavedTensor:
    """A tensor saved by a node, as `grad_fn._raw_saved_self` returns it; hooks can be registered on it.

    >>> x = torch.ones(1, requires_grad=True)
    >>> y = x.exp()
    >>> y.grad_fn._raw_saved_result.register_hooks(lambda t: t.tolist(), torch.tensor)
    >>> y.backward(); x.grad
    tensor([2.7183])
    """

    def __init__(self) -> None:
        raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")

    def _slot(self) -> Any:
        """The saved value: a tensor, an array, a Packed, None, or Freed."""
        raise NotImplementedError

    def _keep(self, packed: Packed) -> None:
        raise NotImplementedError

    def unpack(self) -> Tensor:
        """The saved tensor."""
        raise NotImplementedError

    @property
    def data(self) -> Any:
        """The stored value: the tensor, or the pack hook's result."""
        value = self._slot()
        if isinstance(value, Packed):
            return value.value
        return None if value is None or isinstance(value, Freed) else self.unpack()

    @property
    def unpack_hook(self) -> Callable[[Any], Tensor] | None:
        """The unpack hook, if there is one."""
        value = self._slot()
        return value.unpack_hook if isinstance(value, Packed) else None

    def register_hooks(self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]) -> None:
        """Pack the saved tensor now, and unpack it whenever it is used."""
        value = self._slot()
        if not (callable(pack_hook) and callable(unpack_hook)):
            raise TypeError("register_hooks(): incompatible function arguments. Both hooks must be callable.")
        if isinstance(value, Freed):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved intermediate values of the graph are "
                "freed when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
                "through the graph a second time or if you need to access saved variables after calling backward."
            )
        if value is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        if isinstance(value, Packed):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks is "
                "allowed at a time."
            )
        tensor = self.unpack()
        edge = tensor._edge
        self._keep(Pair(pack_hook, unpack_hook).pack(tensor.detach(), edge))


class SlotSaved(SavedTensor):
    """The value that a node of a declared op saved under one name."""

    def __init__(self, node: Node, want: str) -> None:
        self._node, self._want = node, want

    def _slot(self) -> Any:
        return getattr(self._node, "s_" + self._want)

    def _keep(self, packed: Packed) -> None:
        keep_packed(self._node, self._want, packed)

    def unpack(self) -> Tensor:
        node: Any = self._node
        value = unpack_graph(node.op, node, self._want)
        return value if hasattr(value, "_array") else wrap(np.asarray(value))


def keep_packed(node: Any, want: str, packed: Packed) -> None:
    """Store a packed value in a node's slot. A packed output has a version counter that never changes."""
    if hasattr(type(node), "c_" + want):
        packed.edge = NO_EDGE  # the edge of an output is the node itself: a cycle
        setattr(node, "c_" + want, [0, None])
    setattr(node, "v_" + want, 0)
    setattr(node, "s_" + want, packed)
    if type(node._fit) is not PackedFit:
        node._fit = PackedFit(node._fit)


class Kept(SavedTensor):
    """One tensor that a custom function saved. See Note [Saved inputs and saved outputs] in autograd/saved.py."""

    def __init__(self, tensor: Tensor, node: Node, pair: Pair | None) -> None:
        edge = edge_of(tensor)
        output = edge[0] is node
        self._nr = edge[1] if output else -1
        self._vc = versions_of(tensor)
        self._version = self._vc[0]
        self.value: Any
        if pair is not None:
            self.value = pair.pack(tensor, edge)
            if output:
                self.value.edge = NO_EDGE
        else:
            self.value = tensor._array if output else tensor

    def _slot(self) -> Any:
        return self.value

    def _keep(self, packed: Packed) -> None:
        if self._nr >= 0:
            packed.edge = NO_EDGE
        self.value = packed

    def unpack(self, node: Node | None = None) -> Tensor:
        """The saved tensor; an output becomes an output of `node` again."""
        value = self.value
        if isinstance(value, Freed):
            freed(node)
        if isinstance(value, Packed):
            return value.unpack() if self._nr < 0 or node is None else at_edge(value.data(), (node, self._nr))
        if self._vc[0] != self._version:
            self._refuse(node)
        return value if self._nr < 0 else self._output(node)

    def _output(self, node: Node | None) -> Tensor:
        out = wrap(self.value)
        out._vc = self._vc
        if node is not None:
            out._edge = (node, self._nr)
        return out

    def _refuse(self, node: Node | None) -> None:
        if self._nr < 0:
            input_modified(self.value, self._version, node)
        assert node is not None
        result_modified(node, self.value, self._vc[0], self._version, self._nr)


for _kind in (SavedTensor, SlotSaved, Kept):
    _kind.__module__, _kind.__qualname__ = "torch._C._autograd", "SavedTensor"
