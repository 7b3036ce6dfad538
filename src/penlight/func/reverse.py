"""Reverse mode inside transforms: where gradients are requested, and which part of the graph is visible outside.

# Note [Entries]
`grad`, `vjp` and `jacrev` call the user's function with replacements of the given inputs: the same memory, and an `Entry` as the graph node
at which their gradient arrives. An Entry has an edge to the given tensor's own node, so the gradients of an outer transform or of
`backward()` flow through it. Each transform has its own Entries, so nested derivatives can't be confused.

# Note [Reverse mode inside vmap]
The graph connects physical tensors. An unbatched input would get the sum of its gradients over the batch. So inputs are first broadcast
over all open batches, and each sample has its own gradient. (Not over those of jacfwd: there only tangents are batched, and gradients are
not summed over them.) The gradients of the outputs start as ones for each sample, or as the given cotangents with the batches exposed.

# Note [What the outside sees]
A result leaves its transform with its graph only if the graph leads outside: to a leaf that was not made while the transform's function ran
(by the creation numbers of nodes), or to an Entry of a transform that is still running. One walk through the graph decides this, and also
whether backward needs a graph.
"""

from __future__ import annotations

from math import inf
from typing import Any

from ..autograd import modes
from ..autograd.modes import grad_mode
from ..autograd.node import NO_EDGE, AccumulateGrad, Edge
from ..autograd.views import edge_of
from ..creation import ones_like, zeros_like
from ..kernels.lazy import lazy_import
from ..ops.machinery.dispatch import interpreters
from ..tensor import Tensor, views_of, wrap as plain_tensor
from .batched import broadcast, expose, hide, levels_of, physical, wrap_all
from .level import open_levels

_autograd = lazy_import(globals(), "_autograd", "..autograd")


Span = tuple[float, float]  # the range of creation numbers while a transform's function ran


class Entry(AccumulateGrad):
    """The node at which the gradient of a transform's input arrives. See Note [Entries]."""

    __slots__ = ("live", "number")

    def __init__(self, tensor: Tensor, edge: Edge, number: int) -> None:
        super().__init__(tensor)
        self.number = number  # that of its transform
        self.next_functions = () if edge[0] is None else (edge,)
        self.live = True  # until the transform's function has returned

    def run_raw(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        return (grad,) * len(self.next_functions)

    run_graph = run_raw


def same(tensor: Tensor, edge: Edge = NO_EDGE) -> Tensor:
    """A tensor with the same memory and tangents, and another edge in the graph."""
    out = plain_tensor(tensor._array)
    out._vc = views_of(tensor)
    out._edge = edge
    if tensor._rare_state is not None and tensor._rare_state.tangents:
        for level, tangent in tensor._rare_state.tangents.items():
            level.attach(out, tangent)
    return out


def leads_out(tensor: Tensor, span: Span) -> bool:
    """Whether the graph behind a tensor leads to a leaf that was not made in a transform's span, or to a running transform's Entry.
    See Note [What the outside sees]."""
    stack = [edge_of(tensor)[0]]
    seen = set()
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if node.live if type(node) is Entry else type(node) is AccumulateGrad and not span[0] < node.seq < span[1]:
            return True
        stack += [child for child, _ in node.next_functions]
    return False


def released(tensor: Any, span: Span) -> Any:
    """A result as it leaves its transform: without its graph, unless that leads outside. The same for its tangents."""
    levels = levels_of(tensor)
    value = physical(tensor)
    tangents = None if value._rare_state is None else value._rare_state.tangents
    cut = value.requires_grad and not leads_out(value, span)
    if cut or tangents:
        inside = value
        value = same(value, NO_EDGE if cut else edge_of(value))
        if tangents:
            value._rare_state.tangents.update(  # type: ignore[union-attr]
                {level: released(t, span) for level, t in inside._rare_state.tangents.items()}
            )
    return wrap_all(levels, value)


class Tape:
    """One use of reverse mode: from inputs to outputs, and gradients back."""

    def __init__(self) -> None:
        self.levels = [level for level in open_levels() if not level.tangents_only]
        self.entries: list[Tensor] = []
        self.span: Span = (next(modes.sequence), inf)
        self.recording = grad_mode.get()  # whether the caller records a graph

    def __enter__(self) -> Tape:
        self._outer = grad_mode.get(), modes.inference.get()
        grad_mode.set(True)
        modes.inference.set(False)
        self.number = modes.transforms.get() + 1  # its number among the open transforms
        modes.transforms.set(self.number)
        return self

    def __exit__(self, *exc: object) -> None:
        modes.transforms.set(modes.transforms.get() - 1)
        modes.inference.set(self._outer[1])
        grad_mode.set(self._outer[0])
        for entry in self.entries:
            entry._edge[0].live = False  # type: ignore[union-attr]
        self.span = (self.span[0], next(modes.sequence))

    def enter(self, tensor: Any) -> Any:
        """An input as the transform's function gets it."""
        if not isinstance(tensor, Tensor):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(tensor)}")
        if not (tensor.dtype.is_floating_point or tensor.dtype.is_complex):
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        for level in self.levels:
            tensor = broadcast(level, tensor)
        value = physical(tensor)
        entry = same(value)
        entry._edge = (Entry(entry, edge_of(value), self.number), 0)
        self.entries.append(entry)
        # The function gets another tensor with the same edge, because it may detach the tensor or write to it.
        return wrap_all(levels_of(tensor), same(entry, entry._edge))

    def pull(self, outputs: list[Any], cotangents: list[Any] | None, keep: bool, create_graph: bool) -> list[Any]:
        """The gradients of the inputs, given those of the outputs (ones by default)."""
        roots, grads = [], []
        before = grad_mode.get()
        try:
            grad_mode.set(True)
            for index, out in enumerate(outputs):
                root = physical(self._broadcast(out))
                given = None if cotangents is None else cotangents[index]
                _check_cotangent(index, out, given)
                if root.requires_grad:
                    roots.append(root)
                    grads.append(ones_like(root) if given is None else expose(given, self.levels))
        finally:
            grad_mode.set(before)
        if not roots:
            return [hide(zeros_like(e), self.levels) for e in self.entries]
        create_graph = create_graph and (
            _dual_levels_open()
            or any(leads_out(root, self.span) for root in roots)
            or any(physical(g).requires_grad for g in grads)
        )
        found = _autograd.grad(
            roots, self.entries, grads, retain_graph=keep or create_graph, create_graph=create_graph, allow_unused=True
        )
        results = [hide(zeros_like(e) if g is None else g, self.levels) for g, e in zip(found, self.entries)]
        return [released(r, self.span) for r in results] if create_graph else results

    def _broadcast(self, tensor: Any) -> Any:
        for level in self.levels:
            tensor = broadcast(level, tensor)
        return tensor


def _dual_levels_open() -> bool:
    return any(not level.batching for level in interpreters.get())


def _check_cotangent(index: int, out: Any, given: Any) -> None:
    if given is None:
        if out.dtype.is_complex:
            raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {out.dtype}")
    elif not isinstance(given, Tensor):
        raise RuntimeError(f"gradients can be either Tensors or None, but got {type(given).__name__}")
    elif given.shape != out.shape:
        raise RuntimeError(
            f"Mismatch in shape: grad_output[{index}] has a shape of {given.shape} and output[{index}] has a shape of {out.shape}."
        )
