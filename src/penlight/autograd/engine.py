"""The engine: one loop that runs the backward graph, youngest node first.

# Note [Order of execution]
A node's inputs exist before it, so reverse creation order is a topological order, and the one PyTorch's queue follows. Leaves
are the exception: an AccumulateGrad runs as soon as the last of its consumers has.

# Note [Two worlds]
Gradients travel as ndarrays unless something must see them as tensors: create_graph=True, or a slow mode (forward mode,
batching). Then the same rules run on tensors through differentiable ops. Hooks get tensors in either world.

# Note [Who owns a gradient]
An array that arrives at a leaf becomes its `.grad` without a copy if nobody else holds it. Reference counts tell: a rule
may hand on the same array twice, or one that the user holds. What it should be for an unshared array is measured at
import, since Python versions differ.

# Note [What is captured]
`autograd.grad` takes a gradient where it arrives. A node that must run anyway, on the way to another input, gives it before
the hooks on its tensor; one that need not run gives it after them. That is what PyTorch does. `backward(inputs=...)`
captures nothing: it runs the nodes on the way to the inputs, and non-leaf inputs keep their gradient by retain_grad().
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from operator import attrgetter
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from . import hooks, modes
from .modes import grad_mode
from .node import AccumulateGrad, Edge, Node
from .shapes import fitted

if TYPE_CHECKING:
    from ..tensor import Tensor

_by_age = attrgetter("seq")

# The pass that is running in this thread: what hooks on several tensors ask about.
task: ContextVar[Task | None] = ContextVar("penlight_graph_task", default=None)

# Called around each node while anomaly mode or a profiler is on: `watcher(node, go)`, where `go()` runs the node.
watchers: ContextVar[tuple[Any, ...]] = ContextVar("penlight_engine_watchers", default=())
everywhere: list[Any] = []  # the same for all threads: anomaly mode


class Captures:
    """The edges whose gradients `autograd.grad` or `backward(inputs=...)` asked for."""

    def __init__(self, edges: Sequence[Edge], accumulate: bool = False) -> None:
        self.accumulate = accumulate  # into `.grad` instead of into `grads`: backward(inputs=...)
        self.places: dict[Node, list[tuple[int, int]]] = {}
        for place, (node, nr) in enumerate(edges):
            if node is None:
                continue
            self.places.setdefault(node, []).append((nr, place))
        self.grads: list[Any] = [None] * len(edges)

    def take(self, node: Node, grad: Any) -> None:
        for nr, place in self.places[node]:
            self.grads[place] = grad[nr] if type(grad) is list else grad


class Task:
    """One pass of the engine: what it plans to run."""

    __slots__ = ("__weakref__", "_nodes", "captures", "needed", "order", "pending")

    def __init__(
        self, order: list[Node], pending: dict[Node, int], needed: set[Node] | None, captures: Captures | None
    ) -> None:
        self.order, self.pending, self.needed, self.captures = order, pending, needed, captures
        self._nodes: set[Node] | None = None

    def runs(self, node: Node) -> bool:
        """Whether the hooks on this node's tensors are called in this pass."""
        captures = self.captures
        if node in self.pending:
            return captures is None or node in captures.places
        if self.needed is not None:
            assert captures is not None
            return node in self.needed or node in captures.places
        if self._nodes is None:
            self._nodes = set(self.order)
        return node in self._nodes


def execute(
    roots: Sequence[Edge], grads: Sequence[Any], keep: bool, create_graph: bool, captures: Captures | None
) -> None:
    """Run the graph from `roots` with their gradients: into the leaves' `.grad`, or into `captures`.

    `grads` are tensors; they are taken as arrays unless the tensor world is needed. See Note [Two worlds].
    """
    graph = create_graph or modes.slow()
    token, outer = grad_mode.set(create_graph), task.set(None)
    try:
        if graph:
            _loop(roots, list(grads), keep, True, captures)
        else:
            with np.errstate(all="ignore"):
                _loop(roots, [g._array for g in grads], keep, False, captures)
    finally:
        task.reset(outer)
        grad_mode.reset(token)


def _plan(roots: Sequence[Edge]) -> tuple[list[Node], dict[Node, int], dict[Node, Any]]:
    """The reachable nodes except leaves, youngest first; how many gradients each leaf waits for; empty buffers."""
    pending: dict[Node, int] = {}
    buffers: dict[Node, Any] = {}
    seen: set[Node] = set()
    stack: list[Node] = []
    for root, _ in roots:
        assert root is not None
        if type(root) is AccumulateGrad:
            pending[root] = pending.get(root, 0) + 1
        elif root not in seen:
            seen.add(root)
            stack.append(root)
            if root.outputs != 1:
                buffers[root] = [None] * root.outputs
    order = []
    while stack:
        node = stack.pop()
        order.append(node)
        for child, _ in node.next_functions:
            if child is None or child in seen:
                continue
            if type(child) is AccumulateGrad:
                pending[child] = pending.get(child, 0) + 1
            else:
                seen.add(child)
                stack.append(child)
                if child.outputs != 1:
                    buffers[child] = [None] * child.outputs
    order.sort(key=_by_age, reverse=True)
    return order, pending, buffers


def _needed(order: list[Node], captures: Captures) -> set[Node]:
    """The nodes that must run to reach a captured edge."""
    places = captures.places
    needed: set[Node] = set(places) if captures.accumulate else set()
    for node in reversed(order):
        for child, _ in node.next_functions:
            if child in needed or child in places:
                needed.add(node)
                break
    return needed


def _loop(roots: Sequence[Edge], grads: list[Any], keep: bool, graph: bool, captures: Captures | None) -> None:
    order, pending, buffers = _plan(roots)
    needed = None if captures is None else _needed(order, captures)
    task.set(Task(order, pending, needed, captures))
    watching = (*everywhere, *watchers.get()) if graph else ()
    only_root = roots[0][0] if len(roots) == 1 else None
    for (root, nr), grad in zip(roots, grads):
        _add(buffers, root, nr, grad)
        if type(root) is AccumulateGrad:
            pending[root] -= 1
            if pending[root] == 0:
                _run_leaf(root, buffers.pop(root), graph, captures)
    del grads
    for node in order:
        grad = buffers.pop(node, None)
        if captures is not None and not _go_on(node, grad, graph, captures, needed, only_root):
            _skip(node, pending, buffers, graph, captures)
            continue
        if watching:
            results: Any = _watched(watching, node, grad, keep)
        else:
            if node._hooks is not None:
                grad = hooks.before(node, grad, graph)
            if (grad is None or (type(grad) is list and _nothing(grad))) and not node.runs_on_none:
                results = (None,) * len(node.next_functions)
            elif graph:
                results = node.run_graph(grad, keep)
            else:
                results = node.run_raw(grad, keep)
            if node._hooks is not None and node._hooks.post:
                results = hooks.after(node, results, grad, graph)
        del grad
        ready: list[Node] | None = None
        for (child, nr), arrived in zip(node.next_functions, results):
            if child is None:
                continue
            if arrived is not None:
                buffer = buffers.get(child)
                if buffer is None:
                    buffers[child] = arrived
                elif type(buffer) is list:
                    buffer[nr] = arrived if buffer[nr] is None else buffer[nr] + arrived
                else:
                    buffers[child] = buffer + arrived
            if child in pending:
                pending[child] -= 1
                if pending[child] == 0:
                    ready = [child] if ready is None else [*ready, child]
        results = arrived = buffer = None  # a leaf asks who else holds its gradient
        if ready is not None:
            for child in ready:
                _run_leaf(child, buffers.pop(child, None), graph, captures)


def _go_on(node: Node, grad: Any, graph: bool, captures: Captures, needed: Any, only_root: Any) -> bool:
    """Whether a node must run for what was asked for; takes its gradient if that was. See Note [What is captured]."""
    taken = node in captures.places and not captures.accumulate
    if node in needed:
        if taken:
            captures.take(node, grad)
        return True
    if node._hooks is not None and (taken or node is only_root):
        grad = hooks.before(node, grad, graph, run_pre=False)
    if taken:
        captures.take(node, grad)
    return False


def evaluate(node: Node, grad: Any, keep: bool) -> Any:
    """Run one node with its hooks, in the tensor world."""
    if node._hooks is not None:
        grad = hooks.before(node, grad, True)
    results: Any = (None,) * len(node.next_functions)
    if node.runs_on_none or not (grad is None or (type(grad) is list and _nothing(grad))):
        results = node.run_graph(grad, keep)
    if node._hooks is not None:
        if isinstance(node, AccumulateGrad):
            hooks.after_leaf(node, grad, True)
        elif node._hooks.post:
            results = hooks.after(node, results, grad, True)
    return results


def _nothing(grads: list[Any]) -> bool:
    """Whether none of a node's outputs got a gradient."""
    return all(g is None for g in grads)


def _watched(watching: tuple[Any, ...], node: Node, grad: Any, keep: bool) -> Any:
    if not watching:
        return evaluate(node, grad, keep)
    return watching[-1](node, lambda: _watched(watching[:-1], node, grad, keep))


def _skip(node: Node, pending: dict[Node, int], buffers: Any, graph: bool, captures: Captures) -> None:
    """A node that leads to nothing asked for does not run; the leaves behind it wait for one gradient less."""
    for child, _ in node.next_functions:
        if child in pending:
            pending[child] -= 1
            if pending[child] == 0:
                _run_leaf(child, buffers.pop(child, None), graph, captures)


def _add(buffers: dict[Node, Any], node: Any, nr: int, grad: Any) -> None:
    buffer = buffers.get(node)
    if buffer is None:
        buffers[node] = grad
    elif type(buffer) is list:
        buffer[nr] = grad if buffer[nr] is None else buffer[nr] + grad
    else:
        buffers[node] = buffer + grad


def _run_leaf(leaf: Any, grad: Any, graph: bool, captures: Captures | None) -> None:
    """A leaf's gradient is complete: its hooks, then into `.grad`."""
    if captures is not None and leaf not in captures.places:
        return
    if graph and (captures is None or captures.accumulate) and (everywhere or watchers.get()):
        _watched((*everywhere, *watchers.get()), leaf, grad, True)
        return
    if leaf._hooks is not None:
        grad = hooks.before(leaf, grad, graph, run_pre=captures is None or captures.accumulate)
    if captures is not None and not captures.accumulate:
        captures.take(leaf, grad)
        return
    if grad is None:
        pass
    elif graph:
        leaf.run_graph(grad, True)
    else:
        leaf.run_raw(grad, True)
    if leaf._hooks is not None:
        hooks.after_leaf(leaf, grad, graph)


# ----- Accumulation -------------------------------------------------------------------------------------------------


def accumulate_raw(leaf: AccumulateGrad, grad: Any) -> None:
    """Add an array into a leaf's `.grad`: in place if there is one, else the array itself if nobody else holds it."""
    variable = leaf.variable
    if not variable.requires_grad:
        return  # told so since the graph was made
    present = variable._grad
    if grad.shape != variable._array.shape:
        grad = fitted(np.asarray(grad), variable._array.shape)
    if present is None:
        if type(grad) is not np.ndarray or getrefcount(grad) > UNSHARED or not _fits(grad, variable._array):
            grad = copy_like(grad, variable._array)
        variable._grad = _wrap(grad)
    else:
        array = present._array
        np.add(array, grad, out=array, casting="unsafe")
        _bump(present)


def _count_unshared() -> int:
    """The reference count that `accumulate_raw` sees for an array that only the engine holds."""
    seen = []

    def inner(leaf: Any, grad: Any) -> None:
        seen.append(getrefcount(grad))

    class Leaf:
        def run_raw(self, grad: Any, keep: bool) -> None:
            inner(self, grad)

    def run_leaf(leaf: Any, grad: Any) -> None:
        leaf.run_raw(grad, True)

    buffers = {0: np.empty(1)}
    run_leaf(Leaf(), buffers.pop(0))
    return seen[0]


UNSHARED = _count_unshared()


def _fits(grad: np.ndarray[Any, Any], like: np.ndarray[Any, Any]) -> bool:
    return grad.base is None and grad.strides == like.strides and grad.dtype is like.dtype and grad.shape == like.shape


def copy_like(grad: Any, like: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy of a gradient in the layout of the tensor that it belongs to."""
    from .views import _empty_like_strides

    grad = np.asarray(grad)
    dense = like.flags.c_contiguous or 0 in like.strides or like.size == 0
    fresh = np.empty(grad.shape, like.dtype) if dense or grad.shape != like.shape else None
    if fresh is None:
        gaps = sum((n - 1) * s for n, s in zip(like.shape, like.strides)) // like.itemsize + 1 != like.size
        if gaps or min(like.strides) < 0:
            fresh = np.empty(grad.shape, like.dtype)
        else:
            fresh = _empty_like_strides(like.shape, like.strides, like.dtype)
    fresh[...] = grad
    return fresh


def accumulate_graph(leaf: AccumulateGrad, grad: Tensor) -> None:
    """Add a tensor into a leaf's `.grad`; while a graph is made, as a new tensor, for the old one is part of history."""
    variable = leaf.variable
    if not variable.requires_grad:
        return
    present = variable._grad
    if not grad_mode.get():
        accumulate_raw(leaf, grad._array)
    elif present is None:
        from ..creation import empty_strided

        variable._grad = empty_strided(variable.shape, variable.stride(), dtype=grad.dtype).copy_(grad)
    else:
        variable._grad = present + grad


def _wrap(array: Any) -> Tensor:
    from ..tensor import wrap

    return wrap(array)


def _bump(tensor: Tensor) -> None:
    from .views import bump

    bump(tensor)


# ----- One node by hand ---------------------------------------------------------------------------------------------


def run_node(node: Node, grads: Sequence[Any]) -> Any:
    """Run a single node on tensors, as `grad_fn(grad)` does: with its hooks, in the current grad mode, freeing nothing."""
    if len(grads) != node.outputs:
        raise TypeError(f"{node.name()} expected {node.outputs} arguments, got {len(grads)}")
    grad: Any = list(grads) if node.outputs != 1 else grads[0]
    results = evaluate(node, grad, True)
    return results[0] if len(results) == 1 else results
