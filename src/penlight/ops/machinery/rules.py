"""Running the rules of a node in the readable way: on arrays where the generated function gives up, and on tensors.

# Note [Complex rules]
Rules of pointwise ops are written as for real numbers, g * f'(x). PyTorch's complex gradient is g * conj(f'(x)), which
is conj(rule(conj(g))) for every holomorphic op: the conjugations are done here, around the rule. Ops that are not
holomorphic (abs, angle, ...) declare complex_rule=True: their rules are exact as written.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from ...autograd import engine, modes, saved, views
from ...autograd.modes import NAMESPACE, is_grad_enabled, sequence
from ...autograd.node import DEAD_END, FREED, USED_TWICE, Edge, Freed, Node
from ...kernels.copies.convert import is_half
from ...kernels.elementwise import apply
from ...kernels.elementwise.strategies import HALVES, LARGE
from ...kernels.lazy import lazy_import
from ...tensor import Tensor, wrap
from .op import LIST, Op, saved_anyhow, slot_kind, unpack_order

if TYPE_CHECKING:
    from ...tensor import Tensor

_subclasses = lazy_import(globals(), "_subclasses", ".subclasses")
_forward_ad = lazy_import(globals(), "_forward_ad", "...autograd.forward_ad")


class ComplexFit(tuple[Any, ...]):
    """The `_fit` of a pointwise node with a complex result: per input its shape and dtype. See Note [Complex rules]."""

    __slots__ = ()


class PackedFit:
    """Around the `_fit` of a node with packed values: its generated backward hands over to `dispatch_backward`."""

    __slots__ = ("fit",)

    def __init__(self, fit: Any) -> None:
        self.fit = fit


def fit_gradient(grad: Any, fit: Any, xp: Any) -> Any:
    """Bring a gradient to its input's shape and dtype: sum over broadcast dimensions, drop an imaginary part, cast."""
    shape, np_dtype = fit
    if np_dtype.kind != "c" and grad_kind(grad) == "c":
        grad = xp.real_part(grad)
    if tuple(grad.shape) != shape:
        grad = xp.sum_to(grad, shape)
    return xp.cast(grad, np_dtype)


def grad_kind(grad: Any) -> str:
    return (grad._array if hasattr(grad, "_array") else grad).dtype.kind  # type: ignore[no-any-return]


def dispatch_backward(node: Any, grads: Any, keep: bool) -> tuple[Any, ...]:
    """Run a node's rules on arrays in the readable way."""
    return _run_rules(node, grads, keep, unpack_raw, NAMESPACE["raw"])


def wanted_edges(node: Any) -> Any:
    """A node's edges, without those that lead to nothing asked for, whose saved values are only looked at."""
    edges = engine.wanted_edges(node)
    op: Op = node.op
    for i, edge, whole in zip(op.wants, edges, node.next_functions):
        if edge is not whole and whole[0] is not None:
            for want in unpack_order(op, i):
                if slot_kind(op, want) in ("input", "result"):
                    unpack_raw(op, node, want)
    return edges


NAMESPACE["wanted_edges"] = wanted_edges


def run_graph(node: Any, grads: Any, keep: bool) -> tuple[Any, ...]:
    """Run a node's rules on tensors: the same formulas over differentiable ops."""
    results = _run_rules(node, grads, keep, unpack_graph, NAMESPACE["ops"])
    return attach(node, results) if unmoved(node.op.node_name) else results


def nothing(grads: list[Any]) -> bool:
    """Whether none of a node's outputs got a gradient."""
    return all(g is None for g in grads)


NAMESPACE["nothing"] = nothing


def _run_rules(node: Any, grads: Any, keep: bool, unpack: Any, xp: Any) -> tuple[Any, ...]:
    op: Op = node.op
    if (op.outputs > 1 or op.kind == "multi") and type(grads) is not list:
        grads = [grads]
    if type(grads) is list and nothing(grads):
        return (None,) * len(node.next_functions)
    given = {"grad": grads, "grads": grads, "xp": xp}
    edges = engine.wanted_edges(node) if NAMESPACE["PICKY"] else node.next_functions
    given["needs"] = [e[0] is not None for e in edges]
    fit = node._fit.fit if type(node._fit) is PackedFit else node._fit
    conjugate = isinstance(fit, ComplexFit) and not op.complex_rule
    if conjugate and op.outputs == 1:
        given["grad"] = xp.conj(grads)
    results: list[Any] = []
    for index, (i, rule) in enumerate(op.rules.items()):
        edge = node.next_functions[index]
        if op.kinds[i] != LIST and edge[0] is None and not (edge is DEAD_END and saved_anyhow(op, i)):
            results.append(None)
            continue
        for want in unpack_order(op, i):
            if want not in given:
                given[want] = unpack(op, node, want)  # once: with saved-tensor hooks this calls the user's function
        if op.kinds[i] != LIST and edges[index][0] is None:
            results.append(None)
            continue
        values = [given[want] for want in op.wants[i]]
        g = _gradient(op, i, rule, values, grads)
        if op.kinds[i] == LIST:
            results += g
            continue
        if g is not None and fit is not None:
            if conjugate:
                g = xp.conj(g)
            if isinstance(fit, ComplexFit):
                g = fit_gradient(g, fit[index], xp)
            elif tuple(g.shape) != fit[index]:
                g = xp.sum_to(g, fit[index])
        results.append(g)
    if not keep:
        for slot in node.saved_slots:
            setattr(node, slot, FREED)
    return tuple(results)


def elementwise_rule(op: Op, i: str) -> bool:
    """Whether a rule is elementwise itself: the gradient may be computed in parts, and its dimensions in any order."""
    wants = op.wants[i]
    return (
        op.kind == "pointwise"
        and wants != ("grad",)
        and all(want in ("grad", "xp") or slot_kind(op, want) in ("input", "result", "plain") for want in wants)
    )


def _gradient(op: Op, i: str, rule: Any, values: list[Any], grad: Any) -> Any:
    if type(grad) is not np.ndarray or not elementwise_rule(op, i):
        return rule(*values)
    # Note [Elementwise work] in kernels/elementwise; generated code does not come here with float32
    large = grad.size >= LARGE or (grad.size >= HALVES and grad.dtype.itemsize == 2)
    return apply(rule, *values) if large else rule(*values)


def unpack_raw(op: Op, node: Any, want: str) -> Any:
    value = unpack_graph(op, node, want, edges=False)
    if op.kinds.get(want) == LIST and isinstance(value, tuple):
        return [t._array for t in value]
    if op.traits.full_scalars and type(value) in (float, int) and _of_halves(node):
        return np.asarray(value, np.float32)
    return getattr(value, "_array", value)


def _of_halves(node: Any) -> bool:
    """Whether a gradient is to be one of 16-bit floats. See Note [Numbers beside 16-bit floats] in scalars.py."""
    fit = node._fit.fit if type(node._fit) is PackedFit else node._fit
    return isinstance(fit, ComplexFit) and any(of is not None and is_half(of[1]) for of in fit)


def unpack_graph(op: Op, node: Any, want: str, edges: bool = True) -> Any:
    """A saved value as the tensor namespace sees it: inputs as tensors, outputs as tensors with this node as their edge."""
    value = getattr(node, "s_" + want)
    kind = slot_kind(op, want)
    if isinstance(value, Freed):
        raise RuntimeError(USED_TWICE)
    if kind == "input" and hasattr(value, "_vc"):
        if value._vc is not None and value._vc[0] != getattr(node, "v_" + want):
            saved.input_modified(value, getattr(node, "v_" + want), node, want)
        if hasattr(value, "unpack"):
            return value.unpack()
        if edges and value._view is None and want in op.rules:
            saved.refuse_detached(value._edge[0], node.next_functions[list(op.rules).index(want)][0])
        return value
    if kind == "result":
        vc, version = getattr(node, "c_" + want), getattr(node, "v_" + want)
        output_nr = op.results.index(want)
        if getattr(value, "_level", None) is not None:  # see Note [Subclasses that dispatch] in subclasses.py
            out = _subclasses.twin(value)
            out._edge = (node, output_nr)
            return out
        array = value if isinstance(value, np.ndarray) else value._array
        if vc[0] != version:
            saved.result_modified(node, array, vc[0], version, output_nr)
        return restore_result(node, array, vc, output_nr) if edges else array
    return value


def restore_result(node: Node, array: Any, vc: Any, output_nr: int) -> Tensor:
    """A saved output as a tensor again, with its edge in the graph."""
    out = wrap(array)
    out._vc = vc
    if array.dtype.kind in "fcV":
        out._edge = (node, output_nr)
    if modes.slow():
        _forward_ad.restore_tangent(node, output_nr, out)
    return out


# ----- Gradients that do not depend on an op's inputs, as PyTorch's graph has them ------------------------------------
# Note [Gradients that nothing moves]
# PyTorch's backward passes are ops of their own, and some take the forward pass's inputs although the gradient does not depend on them: pools, pads,
# the likelihood of classes, and the gradient of a bias, which comes from the same op as those of the input and the weight. With `create_graph=True` such a
# gradient requires grad there, and its derivative in those inputs is zero, or nothing. The rules here only name what the gradient depends on: it would be
# cut off from the inputs, and `autograd.grad` of it refused. So it gets a node that leads to them as well.


_dispatch = lazy_import(globals(), "_dispatch", ".dispatch")
_creation = lazy_import(globals(), "_creation", "...creation")


_ZERO = ("MaxPool", "AvgPool", "AdaptiveAvgPool", "AdaptiveMaxPool", "FractionalMaxPool", "ReflectionPad", "ReplicationPad", "NllLoss")  # fmt: skip
_NOTHING = ("ConvolutionBackward", "NativeLayerNorm", "NativeBatchNorm")


class Unmoved(Node):
    """Behind a gradient: leads on to what it depends on, if to anything, and to inputs that it does not depend on; those get zeros, or nothing."""

    __slots__ = ("zeros",)

    def __init__(self, through: Edge, edges: tuple[Edge, ...], zeros: bool) -> None:
        self.seq = next(sequence)
        self._hooks = self._fit = None
        self.next_functions, self.zeros = (through, *edges), zeros

    def run_raw(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        return self._given(grad, np.zeros_like(grad) if self.zeros else None)

    def run_graph(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        return self._given(grad, _creation.zeros_like(grad) if self.zeros else None)

    def _given(self, grad: Any, nothing: Any) -> tuple[Any, ...]:
        return (grad if self.next_functions[0][0] is not None else None, *[nothing] * (len(self.next_functions) - 1))


@functools.cache
def _class(name: str) -> type[Unmoved]:
    return type(name, (Unmoved,), {"__slots__": (), "__module__": "torch.autograd.graph"})


@functools.cache
def unmoved(name: str) -> bool:
    """Whether gradients of nodes of this name are among those of Note [Gradients that nothing moves]."""
    return name.startswith(_ZERO + _NOTHING)


def attach(node: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """A node's gradients, those that nothing moves with a way to its inputs."""
    if (
        not is_grad_enabled() or _dispatch.interpreters.get()
    ):  # a transform gives zeros for what depends on nothing anyway
        return grads
    edges = tuple(edge for name, edge in zip(node.op.rules, node.next_functions) if name != "bias")
    if all(edge[0] is None for edge in edges):
        return grads
    name = node.op.node_name
    zeros = name.startswith(_ZERO)
    return tuple(_attached(name, g, edges, zeros) if type(g) is Tensor and (zeros or not g.requires_grad) else g for g in grads)  # fmt: skip


def _attached(name: str, grad: Tensor, edges: tuple[Edge, ...], zeros: bool) -> Tensor:
    through = views.edge_of(grad)
    if grad._vc is None:
        grad._vc = [0, None]
    out = wrap(grad._array)
    out._vc = grad._vc  # a rule may have given on what it got
    out._edge = (_class(name[:-1] + "Backward0")(through, edges, zeros), 0)
    return out


# ----- Gradients of several inputs from one backward kernel -----------------------------------------------------------


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
