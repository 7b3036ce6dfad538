"""The engine: one loop that runs the backward graph, youngest node first.

# Note [Order of execution]
A node is created after its inputs, so reverse creation order is a topological order, and PyTorch's queue follows it too. Leaves are the
exception: an AccumulateGrad runs as soon as its last consumer has run.

# Note [Two namespaces]
Gradients travel as ndarrays unless something must see them as tensors: create_graph=True, or a slow mode (forward mode,
batching). Then the same rules run on tensors through differentiable ops. Hooks get tensors in either namespace.

# Note [What is captured]
`autograd.grad` captures a gradient where it arrives. A node that must run anyway, on the way to another input, captures it before the
tensor hooks; a node that need not run, after them. PyTorch does the same. `backward(inputs=...)`
captures nothing: it runs the nodes on the way to the inputs, and non-leaf inputs keep their gradient by retain_grad().

# Note [Only what was asked for]
If only the gradient of an image is requested, the gradients of the weights are not computed: a rule is skipped if its edge leads to
nothing captured. In such a pass nodes read their edges by `wanted_edges`. The saved tensors of a skipped rule are still version-checked,
as in PyTorch. Most passes need every gradient, so generated code checks this only while `NAMESPACE["PARTIAL"]`, the number of partial
passes in the process, is not zero.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextvars import ContextVar, copy_context
from operator import attrgetter
from typing import Any

import numpy as np

from ..kernels.lazy import lazy_import
from ..kernels.numpy_warnings import hush, unhush
from . import hooks
from .accumulate import accumulate, accumulate_graph, accumulate_raw, join, require_leaf
from .modes import NAMESPACE, count_partial_passes, grad_mode, log
from .node import NO_EDGE, READY, AccumulateGrad, Edge, Node

_dispatch = lazy_import(globals(), "_dispatch", "..ops.machinery.dispatch")


add = np.add
_by_age, _array_of = attrgetter("seq"), attrgetter("_array")
NONE = 1 << 62  # the age of the last consumer of a leaf without consumers
DONE = -1  # the same for a leaf that has run
_DEEPEST = 24  # nested passes in one thread: each takes a dozen of the thousand frames that Python allows

# The pass running in this thread, which multi-tensor hooks look up.
task: ContextVar[Task | None] = ContextVar("penlight_graph_task", default=None)

# Called around each node while anomaly mode or a profiler is on: `watcher(node, go)`, where `go()` runs the node.
watchers: ContextVar[tuple[Any, ...]] = ContextVar("penlight_engine_watchers", default=())
watchers_of_all_threads: list[Any] = []  # the same for all threads: anomaly mode


class Captures:
    """The edges whose gradients `autograd.grad` or `backward(inputs=...)` requested."""

    def __init__(self, edges: Sequence[Edge], accumulate: bool = False) -> None:
        self.accumulate = accumulate  # into `.grad` instead of `grads`: backward(inputs=...)
        self.leaves = True  # whether only leaves were requested
        self.indices: dict[Node, list[tuple[int, int]]] = {}
        for index, (node, nr) in enumerate(edges):
            if node is None:
                continue
            self.indices.setdefault(node, []).append((nr, index))
            if type(node) is not AccumulateGrad:
                self.leaves = False
        self.grads: list[Any] = [None] * len(edges)

    def take(self, node: Node, grad: Any) -> None:
        for nr, index in self.indices[node]:
            self.grads[index] = grad[nr] if type(grad) is list else grad


class Task:
    """One pass of the engine, and its execution plan."""

    __slots__ = ("__weakref__", "_nodes", "callbacks", "captures", "depth", "last", "needed", "order")

    def __init__(
        self, order: list[Node], last: dict[Node, int], needed: set[Node] | None, captures: Captures | None
    ) -> None:
        self.order, self.last, self.needed, self.captures = order, last, needed, captures
        self._nodes: set[Node] | None = None
        self.callbacks: list[Any] | None = None  # called when the pass has ended
        outer = task.get()
        self.depth: int = 1 if outer is None else outer.depth + 1  # nesting depth of passes in this thread

    def runs(self, node: Node) -> bool:
        """Whether this pass calls the hooks on this node's tensors."""
        captures = self.captures
        if node in self.last:
            return captures is None or node in captures.indices
        if self.needed is not None:
            assert captures is not None
            return node in self.needed or node in captures.indices
        if self._nodes is None:
            self._nodes = set(self.order)
        return node in self._nodes


def execute(
    roots: Sequence[Edge], grads: Sequence[Any], keep: bool, create_graph: bool, captures: Captures | None
) -> None:
    """Run the graph from `roots` with their gradients: accumulate into the leaves' `.grad`, or into `captures`.

    `grads` are tensors; their arrays are used unless the tensor namespace is needed. See Note [Two namespaces].
    """
    outer = task.get()
    if outer is not None and outer.depth >= _DEEPEST:
        _in_a_new_thread(outer, lambda: execute(roots, grads, keep, create_graph, captures))
        return
    slow = NAMESPACE["SLOW"]
    seen = log.get() if slow else None
    order, last, buffers = _plan(roots)
    if seen is not None:
        seen.on_backward(roots, last)
    needed = None if captures is None else _needed(order, captures)
    chosen, subset = order, needed
    if needed is not None and captures.leaves and (len(roots) != 1 or roots[0][0] in needed):  # type: ignore[union-attr]
        # Nodes off the path to a captured edge are left out.
        chosen, subset = [node for node in order if node in needed], None
    some = needed is not None and not _all_wanted(order, last, needed, captures)
    this = Task(order, last, needed, captures)
    counted, before = False, grad_mode.get()
    try:  # see Note [Ctrl-C and modes]
        task.set(this)
        grad_mode.set(create_graph)
        if some:
            count_partial_passes(1)
            counted = True
        graph = create_graph or (slow != 0 and not _plain(grads))
        token_numpy = None if graph else hush()
        try:
            start = list(grads if graph else map(_array_of, grads))
            _start(roots, start, last, buffers, graph, captures)
            if graph or subset is not None or (seen is not None and seen.sees_nodes):
                _loop(chosen, last, buffers, keep, graph, captures, subset, roots[0][0] if len(roots) == 1 else None)
            else:
                _run(chosen, last, buffers, keep, captures)
        finally:
            if token_numpy is not None:
                unhush(token_numpy)
        while this.callbacks:
            this.callbacks.pop(0)()
    finally:
        grad_mode.set(before)
        task.set(outer)
        if counted:
            count_partial_passes(-1)


def _in_a_new_thread(outer: Task, run: Any) -> None:
    """Run a pass in a new thread with this thread's modes: the new thread starts with an empty stack, so Python allows it as many frames again.

    If no thread can be started (Pyodide, limits), the pass runs in this thread, up to Python's recursion limit.
    """
    failures: list[BaseException] = []

    def target() -> None:
        try:
            run()
        except BaseException as failure:
            failures.append(failure)

    depth, outer.depth = outer.depth, 0
    try:
        thread = threading.Thread(target=copy_context().run, args=(target,), name="penlight-backward", daemon=True)
        try:
            thread.start()
        except RuntimeError:
            run()
        else:
            thread.join()
    finally:
        outer.depth = depth
    if failures:
        raise failures[0]


def _plain(grads: Sequence[Any]) -> bool:
    """Whether a pass can run on arrays although a slow mode is open: nothing observes it, and it has no tangents or batches."""
    if watchers_of_all_threads or watchers.get() or _dispatch.subclass_levels or not _dispatch.unseen():
        return False
    return all(level.batching for level in _dispatch.interpreters.get()) and all(g._level is None for g in grads)


def _all_wanted(order: list[Node], last: dict[Node, int], needed: set[Node], captures: Any) -> bool:
    """Whether every leaf was requested, so that every edge is needed."""
    indices = captures.indices
    return captures.leaves and len(last) == len(indices) and len(needed) == len(order) + len(indices)


def wanted_edges(node: Node) -> tuple[Edge, ...]:
    """A node's edges, without those that lead to nothing requested. See Note [Only what was asked for]."""
    running = task.get()
    if running is None or running.needed is None or node not in running.needed:
        return node.next_functions  # a node inside CopySlices, whose own edges count
    needed, indices = running.needed, running.captures.indices  # type: ignore[union-attr]
    return tuple([edge if edge[0] in needed or edge[0] in indices else NO_EDGE for edge in node.next_functions])


def _plan(roots: Sequence[Edge]) -> tuple[list[Node], dict[Node, int], dict[Node, Any]]:
    """The reachable nodes except leaves, youngest first; the age of each leaf's last consumer; and a slot for the gradient of each node
    and leaf, which is a list if there are several outputs."""
    order: list[Any] = []
    last: dict[Any, int] = {}
    buffers: dict[Any, Any] = {None: None}  # its keys are the visited nodes; an edge to nowhere counts as visited
    visit = order.append
    for root, _ in roots:
        if root not in buffers:
            buffers[root] = None if root.outputs == 1 else [None] * root.outputs  # type: ignore[union-attr]
            if type(root) is AccumulateGrad:
                last[root] = NONE
            else:
                root.prepare()  # type: ignore[union-attr]
                visit(root)
    for node in order:  # grows during the loop
        for child, _ in node.next_functions:
            if child not in buffers:
                kind = type(child)
                if kind in READY:
                    buffers[child] = None
                    visit(child)
                elif kind is AccumulateGrad:
                    buffers[child] = None
                    last[child] = node.seq
                else:
                    child.prepare()
                    buffers[child] = None if child.outputs == 1 else [None] * child.outputs
                    visit(child)
            elif child in last and last[child] > node.seq:
                last[child] = node.seq
    order.sort(key=_by_age, reverse=True)
    return order, last, buffers


def _needed(order: list[Node], captures: Captures) -> set[Node]:
    """The nodes that must run to reach a captured edge."""
    indices = captures.indices
    if captures.leaves:
        reached = set(indices)
        for node in reversed(order):
            for child, _ in node.next_functions:
                if child in reached:
                    reached.add(node)
                    break
        return reached
    needed: set[Node] = set(indices) if captures.accumulate else set()
    for node in reversed(order):
        for child, _ in node.next_functions:
            if child in needed or child in indices:
                needed.add(node)
                break
    return needed


def _start(
    roots: Sequence[Edge], grads: list[Any], last: dict[Node, int], buffers: dict[Any, Any], graph: bool, captures: Any
) -> None:
    """Put the starting gradients in their slots; leaves that wait for no node are then complete."""
    for (root, nr), grad in zip(roots, grads):
        _add(buffers, root, nr, grad)
    grads.clear()
    for root, _ in roots:
        if root in last and last[root] == NONE and buffers.get(root) is not None:
            grad = buffers.pop(root)
            if captures is None or root in captures.indices:
                _run_leaf(root, grad, graph, captures)
            elif len(roots) == 1 and root._hooks is not None:  # as `_go_on` does for a node
                hooks.before(root, grad, graph, run_pre=False)


def _run(
    order: list[Node], last: dict[Node, int], buffers: dict[Any, Any], keep: bool, captures: Captures | None
) -> None:
    """The usual pass: on arrays, through all of these nodes."""
    ours: set[Any] = set()  # slots whose gradient is a sum owned by the engine: later gradients are added in place
    ages = set(last.values())
    for node in order:
        grad = buffers.pop(node)
        if node._hooks is not None:
            results: Any = hooks.around(node, grad, keep)
        elif grad is not None or node.runs_on_none:
            results = node.run_raw(grad, keep)
        else:
            results = ()
        edges, index = node.next_functions, 0
        for arrived in results:  # `zip` would allocate six objects
            if arrived is not None:
                child, nr = edges[index]
                buffer = buffers[child]
                if buffer is None:
                    buffers[child] = arrived
                elif child in ours:
                    try:
                        add(buffer, arrived, buffer)
                    except (TypeError, ValueError):  # a rule returned another dtype or shape
                        buffers[child] = buffer + arrived
                        ours.discard(child)
                else:
                    join(buffers, child, nr, buffer, arrived, ours)
            index += 1  # noqa: SIM113
        if node.seq in ages:
            grad = results = arrived = buffer = None  # drop references: a leaf checks who else holds its gradient
            age = node.seq
            for leaf, _ in edges:
                if leaf in last and last[leaf] == age:
                    last[leaf] = DONE
                    if captures is None and leaf._hooks is None:
                        accumulate(leaf, buffers)  # type: ignore[arg-type]
                    else:
                        _run_leaf(leaf, buffers.pop(leaf), False, captures)


def _completed(node: Node, last: dict[Node, int]) -> dict[Any, None]:
    """The leaves for which this node was the last consumer, in the order of its edges."""
    age = node.seq
    return {child: None for child, _ in node.next_functions if child in last and last[child] == age}


def _loop(
    order: list[Node], last: dict[Node, int], buffers: dict[Any, Any], keep: bool, graph: bool, captures: Any,
    subset: set[Node] | None, only_root: Any,
) -> None:  # fmt: skip
    """The general pass: on tensors or arrays, complete or partial, with observers."""
    watching = (*watchers_of_all_threads, *watchers.get()) if graph else ()
    seen = log.get()
    ours: set[Any] = set()  # as in `_run`
    ages = set(last.values())

    def run(node: Node, grad: Any) -> Any:
        if graph:
            return _watched(watching, node, grad, keep)
        if node._hooks is not None:
            return hooks.around(node, grad, keep)
        return node.run_raw(grad, keep) if grad is not None or node.runs_on_none else ()

    for node in order:
        grad = buffers.pop(node)
        if subset is None or _go_on(node, grad, graph, captures, subset, only_root):
            results = run(node, grad) if seen is None else seen.on_node(node, grad, run)
            for (child, nr), arrived in zip(node.next_functions, results):
                if arrived is not None and child is not None:
                    present = buffers[child]
                    if present is None:
                        buffers[child] = arrived
                    else:
                        join(buffers, child, nr, present, arrived, ours)
        grad = results = arrived = present = None  # as in `_run`
        if node.seq in ages:
            for leaf in _completed(node, last):
                if graph or captures is not None or leaf._hooks is not None:
                    _run_leaf(leaf, buffers.pop(leaf), graph, captures)
                else:
                    accumulate(leaf, buffers)


def _go_on(node: Node, grad: Any, graph: bool, captures: Captures, needed: Any, only_root: Any) -> bool:
    """Whether a node must run for a requested gradient; captures the node's own gradient if requested. See Note [What is captured]."""
    taken = node in captures.indices and not captures.accumulate
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
    """Run one node with its hooks, in the tensor namespace."""
    if node._hooks is not None:
        grad = hooks.before(node, grad, True)
    results: Any = (None,) * len(node.next_functions)
    if node.runs_on_none or grad is not None:
        results = node.run_graph(grad, keep)
    if node._hooks is not None:
        if isinstance(node, AccumulateGrad):
            hooks.after_leaf(node, grad, True)
        elif node._hooks.post:
            results = hooks.after(node, results, grad, True)
    return results


def _watched(watching: tuple[Any, ...], node: Node, grad: Any, keep: bool) -> Any:
    if not watching:
        return evaluate(node, grad, keep)
    return watching[-1](node, lambda: _watched(watching[:-1], node, grad, keep))


def _add(buffers: dict[Node, Any], node: Any, nr: int, grad: Any) -> None:
    buffer = buffers.get(node)
    if buffer is None:
        buffers[node] = grad
    elif type(buffer) is list:
        buffer[nr] = grad if buffer[nr] is None else buffer[nr] + grad
    else:
        buffers[node] = buffer + grad


def _run_leaf(leaf: Any, grad: Any, graph: bool, captures: Captures | None) -> None:
    """Called when a leaf's gradient is complete: run its hooks, then accumulate into `.grad`."""
    if captures is not None and leaf not in captures.indices:
        return
    if graph and (captures is None or captures.accumulate) and (watchers_of_all_threads or watchers.get()):
        _watched((*watchers_of_all_threads, *watchers.get()), leaf, grad, True)
        return
    if leaf._hooks is not None:
        if captures is None:
            require_leaf(leaf)
        grad = hooks.before(leaf, grad, graph, run_pre=captures is None or captures.accumulate)
    if captures is not None and not captures.accumulate:
        captures.take(leaf, grad)
        return
    if grad is None:
        pass
    elif graph:
        accumulate_graph(leaf, grad)
    elif leaf._hooks is None:
        arrived = {leaf: grad}
        grad = None
        accumulate(leaf, arrived)
    else:
        accumulate_raw(leaf, grad)
    if leaf._hooks is not None:
        hooks.after_leaf(leaf, grad, graph)


def stepwise(
    roots: Sequence[Edge], grads: Sequence[Any], keep: bool, into_grad: bool
) -> Iterator[tuple[Node, Any, list[Any]]]:
    """A pass on tensors that yields after each node, and before each leaf takes its gradient: `(node, incoming, outgoing)`.

    `outgoing` is a list that the caller may change before resuming. Without `into_grad`, leaves keep their `.grad`.
    """
    order, last, buffers = _plan(roots)
    this = Task(order, last, None, None)

    def during(function: Any, *arguments: Any) -> Any:
        outer, before = task.get(), grad_mode.get()
        try:  # see Note [Ctrl-C and modes]
            task.set(this)
            grad_mode.set(False)
            return function(*arguments)
        finally:
            grad_mode.set(before)
            task.set(outer)

    def arrive(leaf: Any) -> Iterator[tuple[Node, Any, list[Any]]]:
        grad = buffers.pop(leaf)
        leaving = [grad]
        yield leaf, grad, leaving
        if into_grad:
            during(_run_leaf, leaf, leaving[0], True, None)

    for (root, nr), grad in zip(roots, grads):
        _add(buffers, root, nr, grad)
    for root in [leaf for leaf, age in last.items() if age == NONE]:
        yield from arrive(root)
    for node in order:
        grad = buffers.pop(node)
        leaving = list(during(evaluate, node, grad, keep))
        yield node, grad, leaving
        for (child, nr), arrived in zip(node.next_functions, leaving):
            if arrived is not None and child is not None:
                _add(buffers, child, nr, arrived)
        for leaf in _completed(node, last):
            yield from arrive(leaf)
    while this.callbacks:
        this.callbacks.pop(0)()


def queue_callback(callback: Any) -> None:
    """Call this function at the end of the running backward pass; for nested passes, of the innermost."""
    running = task.get()
    if running is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    if running.callbacks is None:
        running.callbacks = []
    running.callbacks.append(callback)


# ----- One node by hand ---------------------------------------------------------------------------------------------


def run_node(node: Node, grads: Sequence[Any]) -> Any:
    """Run a single node on tensors, as `grad_fn(grad)` does: with its hooks, in the current grad mode, freeing nothing."""
    if len(grads) != node.outputs:
        raise TypeError(f"expected {node.outputs} arguments, got {len(grads)} instead")
    for index, given in enumerate(grads):
        if given is not None and not hasattr(given, "_array"):
            raise TypeError(f"argument {index} is not a Variable")
    grad: Any = list(grads) if node.outputs != 1 else grads[0]
    results = evaluate(node, grad, True)
    return results[0] if len(results) == 1 else results
