"""The nodes of the backward graph.

A tensor refers to its node by an edge `(node, output_nr)`; a node refers to further nodes by `next_functions`, the edges of its op's
inputs. A leaf that requires grad ends in an `AccumulateGrad`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.lazy import lazy_import
from .modes import sequence

if TYPE_CHECKING:
    from ..tensor import Tensor

_accumulate = lazy_import(globals(), "_accumulate", ".accumulate")
_engine = lazy_import(globals(), "_engine", ".engine")


Edge = tuple["Node | None", int]

# The edge of a tensor outside every graph: one shared object, so that `is` decides whether a tensor requires grad.
NO_EDGE: Edge = (None, 0)

# The edge of a view made under no_grad of a tensor that requires grad. PyTorch reports that it requires grad too, but it leads nowhere. The
# tuple is made from a list, so that it is a different object than NO_EDGE.
DEAD_END: Edge = tuple([None, 0])  # type: ignore[assignment]


class Freed:
    """Replaces a saved tensor that a backward pass without retain_graph has freed."""

    __slots__ = ()


FREED = Freed()

USED_TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)


class HookDict(dict[int, Any]):
    """Hooks by the id of their handle. Unlike a dict it supports weak references, so that a handle does not keep its hook alive."""

    __slots__ = ("__weakref__",)


def _weak(hooks: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(hooks)
    except TypeError:
        return lambda: hooks


class RemovableHandle:
    """The handle of a registered hook; `remove()` unregisters the hook. Usable as a context manager.

    `extra_dict` is another dict (or a list of them) from which the same key is removed.

    >>> x = torch.ones(2, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: grad * 2)
    >>> handle.remove()
    """

    id: int
    next_id: int = 0

    def __init__(self, hooks_dict: Any, *, extra_dict: Any = None) -> None:
        self.hooks_dict_ref = _weak(hooks_dict)
        self.id = RemovableHandle.next_id
        RemovableHandle.next_id += 1
        extra = extra_dict if isinstance(extra_dict, list) else [] if extra_dict is None else [extra_dict]
        self.extra_dict_ref = tuple(_weak(d) for d in extra)

    def remove(self) -> None:
        """Take the hook away."""
        for ref in (self.hooks_dict_ref, *self.extra_dict_ref):
            hooks = ref()
            if hooks is not None:
                hooks.pop(self.id, None)

    def __getstate__(self) -> Any:
        return (self.hooks_dict_ref(), self.id, tuple(ref() for ref in self.extra_dict_ref))

    def __setstate__(self, state: Any) -> None:
        self.hooks_dict_ref = _weak(HookDict() if state[0] is None else state[0])
        self.id = state[1]
        RemovableHandle.next_id = max(RemovableHandle.next_id, self.id + 1)
        self.extra_dict_ref = () if len(state) < 3 or state[2] is None else tuple(_weak(d) for d in state[2])

    def __enter__(self) -> RemovableHandle:
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()


RemovableHandle.__module__ = "penlight.utils.hooks"


class Hooks:
    """The hooks of one node, created when the first is registered."""

    __slots__ = ("post", "post_accumulate", "pre", "retain", "tensor")

    def __init__(self) -> None:
        self.tensor: dict[int, HookDict] = {}  # by output number: hooks on that tensor
        self.retain: dict[int, weakref.ref[Tensor]] = {}  # by output number: the tensor that retains its .grad
        self.pre, self.post, self.post_accumulate = HookDict(), HookDict(), HookDict()


def add_hook(hooks: Any, hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


@cache
def _label(name: str) -> str:
    head, found, digits = name.rpartition("Backward")
    return head + digits.removeprefix("0") if found and (digits.isdigit() or not digits) else name


class Node:
    """One step of the backward pass. A tensor's `grad_fn` is the node that its gradient flows to.

    >>> y = torch.ones(2, requires_grad=True) * 3
    >>> y.grad_fn.name(), len(y.grad_fn.next_functions)
    ('MulBackward0', 2)
    """

    __slots__ = ("__weakref__", "_fit", "_hooks", "_more", "_shape", "next_functions", "seq")

    seq: int
    _shape: Any  # shape of its op's result (a list for several), for graph drawings. Not set if it follows from the inputs, as for `a * b`
    next_functions: tuple[Edge, ...]
    _hooks: Hooks | None
    outputs = 1  # how many outputs of the forward op are differentiable
    runs_on_none = False  # whether it must run even if no gradient arrived

    def name(self) -> str:
        """The name of the node's class, such as `MulBackward0`; for PyTorch's hand-written ones with their C++ namespace.

        >>> torch.ones(1, requires_grad=True).exp().grad_fn.name()
        'ExpBackward0'
        """
        name = type(self).__name__
        return "torch::autograd::" + name if name in _HAND_WRITTEN else name

    def label(self) -> str:
        """The op's name as PyTorch's error messages give it: `Mul` for `MulBackward0`, `Sum1` for `SumBackward1`."""
        return _label(self.name())

    def __call__(self, *grads: Any, **named: Any) -> Any:
        """Run this node alone on gradients of its outputs; returns the gradients of its inputs."""
        if named:
            raise TypeError("keyword arguments are not supported")
        return _engine.run_node(self, grads)

    def prepare(self) -> None:
        """Generate `run_raw` before the pass, if necessary, so that a debugger that steps into the node shows its rule."""

    def run_raw(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        """The gradients of the inputs, as ndarrays, from those of the outputs; frees the saved values unless `keep`."""
        raise NotImplementedError

    def run_graph(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        """`run_raw` on tensors, by differentiable ops."""
        raise NotImplementedError

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict for the user's own data, which lives as long as the node.

        >>> node = torch.ones(1, requires_grad=True).exp().grad_fn
        >>> node.metadata["made by"] = "me"
        >>> node.metadata
        {'made by': 'me'}
        """
        return self.extra().setdefault("metadata", {})  # type: ignore[no-any-return]

    def extra(self) -> dict[str, Any]:
        """Rare attributes, by name. A `__dict__` would cost memory in every node."""
        more = getattr(self, "_more", None)
        if more is None:
            self._more: dict[str, Any] = {}
            return self._more
        return more  # type: ignore[no-any-return]

    @property
    def requires_grad(self) -> bool:
        """Always True."""
        return True

    def _sequence_nr(self) -> int:
        return self.seq

    def hooks(self) -> Hooks:
        """The hooks of this node, created on first access.

        >>> node = torch.ones(1, requires_grad=True).exp().grad_fn
        >>> handle = node.register_hook(lambda grad_inputs, grad_outputs: None)
        """
        if self._hooks is None:
            self._hooks = Hooks()
        return self._hooks

    def register_hook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_inputs, grad_outputs)` after this node ran; it may return other gradients of the inputs.

        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> y = x * x
        >>> handle = y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: print(grad_outputs))
        >>> y.backward()
        (tensor(1.),)
        """
        return add_hook(self.hooks().post, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> RemovableHandle:
        """Call `fn(grad_outputs)` before this node runs; it may return other gradients of the outputs.

        >>> x = torch.tensor(2.0, requires_grad=True)
        >>> y = x * x
        >>> handle = y.grad_fn.register_prehook(lambda grad_outputs: (10 * grad_outputs[0],))
        >>> y.backward()
        >>> x.grad
        tensor(40.)
        """
        return add_hook(self.hooks().pre, fn)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at {hex(id(self))}>"


Node.__module__ = "torch.autograd.graph"

_HAND_WRITTEN = {"AccumulateGrad", "CopySlices", "CopyBackwards", "Error", "NotImplemented"}


class AccumulateGrad(Node):
    """Where the gradient of a leaf arrives; adds it into the leaf's `.grad`.

    The leaf's edge refers to this node, so the node refers to its leaf weakly, which avoids a cycle. If the graph outlives the leaf's
    Python object, `variable` makes another one, which takes the leaf's place: of its class, over its memory, with its `__dict__` and its
    `.grad` (see `set_grad`), and this node in its edge. In PyTorch the graph keeps the object itself alive.
    """

    __slots__ = ("_array", "_attributes", "_class", "_grad", "_ref", "_versions")

    def __init__(self, variable: Tensor) -> None:
        self.seq = next(sequence)
        self.next_functions = ()
        self._hooks = self._fit = None
        self._grad: Tensor | None = None
        self._ref = weakref.ref(variable)
        self._class, self._attributes = type(variable), variable.__dict__
        self._array: np.ndarray[Any, Any] = variable._array
        if variable._vc is None:
            variable._vc = [0, None]
        self._versions = variable._vc

    @property
    def variable(self) -> Tensor:
        """The leaf."""
        found = self._ref()
        if found is None:
            found = object.__new__(self._class)
            found._array, found._vc, found._grad = self._array, self._versions, self._grad
            found._edge, found._view, found._rare_state = (self, 0), None, None
            found.__dict__ = self._attributes
            self._ref = weakref.ref(found)
        return found

    def run_raw(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        _accumulate.accumulate_raw(self, grad)
        return ()

    def run_graph(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        _accumulate.accumulate_graph(self, grad)
        return ()


def set_grad(tensor: Tensor, grad: Tensor | None) -> None:
    """Set the `.grad` of a tensor and of its AccumulateGrad node, without the setter's checks and without `__torch_function__`."""
    tensor._grad = grad
    edge = getattr(tensor, "_edge", NO_EDGE)
    if edge is NO_EDGE:
        edge = getattr(tensor, "_leaf_edge", NO_EDGE)
    if type(edge[0]) is AccumulateGrad:
        edge[0]._grad = grad


# Node classes that certainly have one output and need no `prepare`. Testing the class is faster than asking each node.
READY: set[type[Node]] = set()


def walk(roots: list[Node]) -> Iterator[Node]:
    """All nodes reachable from these, each once."""
    seen = set(roots)
    stack = list(roots)
    while stack:
        node = stack.pop()
        yield node
        for child, _ in node.next_functions:
            if child is not None and child not in seen:
                seen.add(child)
                stack.append(child)
