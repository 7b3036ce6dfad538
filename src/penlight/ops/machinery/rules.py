"""The readable implementation of running a node's rules: on arrays where the generated function gives up, and on tensors.

# Note [Complex rules]
Rules of pointwise ops are written for real numbers, g * f'(x). PyTorch's complex gradient is g * conj(f'(x)), which
is conj(rule(conj(g))) for every holomorphic op: this module conjugates before and after the rule. Ops that are not
holomorphic (abs, angle, ...) declare complex_rule=True: their rules are exact as written.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from threading import get_ident
from typing import TYPE_CHECKING, Any

import numpy as np

from ...autograd import engine, modes, saved, views
from ...autograd.modes import NAMESPACE, grad_mode, is_grad_enabled, sequence
from ...autograd.node import DEAD_END, FREED, NO_EDGE, READY, Edge, Freed, Node
from ...kernels.copies.convert import is_half
from ...kernels.elementwise import apply
from ...kernels.elementwise.strategies import HALVES, LARGE
from ...kernels.lazy import lazy_import
from ...tensor import Tensor, wrap
from .op import LIST, Op, parameters_of, saved_anyhow, slot_kind, unpack_order

if TYPE_CHECKING:
    from ...tensor import Tensor

_subclasses = lazy_import(globals(), "_subclasses", ".subclasses")
_forward_ad = lazy_import(globals(), "_forward_ad", "...autograd.forward_ad")


class CastFit(tuple[Any, ...]):
    """The `_fit` of a pointwise node with a complex result: the shape and dtype of each input. See Note [Complex rules]."""

    __slots__ = ()


class PackedFit:
    """Wraps the `_fit` of a node with packed values: its generated backward then calls `dispatch_backward`."""

    __slots__ = ("fit",)

    def __init__(self, fit: Any) -> None:
        self.fit = fit


def fit_gradient(grad: Any, fit: Any, xp: Any) -> Any:
    """Bring a gradient to its input's shape and dtype: drop the imaginary part, sum over broadcast dimensions, and cast."""
    shape, np_dtype = fit
    if np_dtype.kind != "c":
        grad = xp.real_part(grad)
    if tuple(grad.shape) != shape:
        grad = xp.sum_to(grad, shape)
    return xp.cast(grad, np_dtype)


def dispatch_backward(node: Any, grads: Any, keep: bool) -> tuple[Any, ...]:
    """Run a node's rules on arrays by the readable path."""
    return _run_rules(node, grads, keep, unpack_raw, NAMESPACE["raw"])


def wanted_edges_checked(node: Any) -> Any:
    """A node's edges, without those that lead to no requested gradient; the values saved for skipped edges are checked for changes but not used."""
    edges = engine.wanted_edges(node)
    op: Op = node.op
    for i, edge, original in zip(op.wants, edges, node.next_functions):
        if edge is not original and original[0] is not None:
            for want in unpack_order(op, i):
                if slot_kind(op, want) in ("input", "result"):
                    unpack_raw(op, node, want)
    return edges


NAMESPACE["wanted_edges_checked"] = wanted_edges_checked


def run_graph(node: Any, grads: Any, keep: bool) -> tuple[Any, ...]:
    """Run a node's rules on tensors: the same formulas with differentiable ops."""
    results = _run_as_node(node, grads, keep) if node.op.traits.backward else None
    return _run_rules(node, grads, keep, unpack_graph, NAMESPACE["ops"]) if results is None else results


def nothing(grads: list[Any]) -> bool:
    """Whether none of a node's outputs received a gradient."""
    return all(g is None for g in grads)


NAMESPACE["nothing"] = nothing


def _run_rules(node: Any, grads: Any, keep: bool, unpack: Any, xp: Any) -> tuple[Any, ...]:
    op: Op = node.op
    if (op.outputs > 1 or op.kind == "multi") and type(grads) is not list:
        grads = [grads]
    if type(grads) is list and nothing(grads):
        return (None,) * len(node.next_functions)
    given = {"grad": grads, "grads": grads, "xp": xp}
    edges = engine.wanted_edges(node) if NAMESPACE["PARTIAL"] else node.next_functions
    given["needs"] = [e[0] is not None for e in edges]
    fit = _fit_of(node)
    if _conjugates(op, fit):
        given["grad"] = xp.conj(grads)
    results: list[Any] = []
    for index, i in enumerate(op.rules):
        edge = node.next_functions[index]
        if op.kinds[i] != LIST and edge[0] is None and not (edge is DEAD_END and saved_anyhow(op, i)):
            results.append(None)
            continue
        for want in unpack_order(op, i):
            if want not in given:
                value = unpack(op, node, want)  # once: with saved-tensor hooks this calls the user's function
                if isinstance(fit, CastFit) and want in op.operands:
                    value = _not_integers(value, grads, xp)
                given[want] = value
        if op.kinds[i] != LIST and edges[index][0] is None:
            results.append(None)
            continue
        g = _gradient_of(op, index, given, fit)
        if op.kinds[i] == LIST:
            results += g
        else:
            results.append(g)
    if not keep:
        for slot in node.saved_slots:
            setattr(node, slot, FREED)
    return tuple(results)


def _not_integers(value: Any, grad: Any, xp: Any) -> Any:
    """An operand of integers or bools in the dtype that the kernel computed in: its own may overflow, and has logarithms of 16 bits."""
    array = getattr(value, "_array", value)
    if isinstance(array, np.ndarray) and array.dtype.kind in "iub":
        return xp.cast(value, getattr(grad, "_array", grad).dtype)
    return value


def _fit_of(node: Any) -> Any:
    return node._fit.fit if type(node._fit) is PackedFit else node._fit


def _conjugates(op: Op, fit: Any) -> bool:
    """Whether an op's rules run on the conjugate of the gradient. See Note [Complex rules]."""
    return isinstance(fit, CastFit) and not op.complex_rule and op.outputs == 1


def _gradient_of(op: Op, index: int, given: dict[str, Any], fit: Any) -> Any:
    """The gradient for the input whose rule has this index, in that input's shape and dtype."""
    i, rule = list(op.rules.items())[index]
    grad, xp = given["grad"], given["xp"]
    g = _gradient(op, i, rule, [given[want] for want in op.wants[i]], grad)
    if g is None or fit is None or op.kinds[i] == LIST:
        return g
    if isinstance(fit, CastFit):
        return fit_gradient(xp.conj(g) if not op.complex_rule else g, fit[index], xp)
    return g if tuple(g.shape) == fit[index] else xp.sum_to(g, fit[index])


def elementwise_rule(op: Op, i: str) -> bool:
    """Whether a rule is itself elementwise, so that the gradient can be computed in blocks and with its dimensions in any order."""
    wants = op.wants[i]
    return (
        op.kind == "pointwise"
        and wants != ("grad",)
        and all(want in ("grad", "xp") or slot_kind(op, want) in ("input", "result", "plain") for want in wants)
    )


def _gradient(op: Op, i: str, rule: Any, values: list[Any], grad: Any) -> Any:
    if type(grad) is not np.ndarray or not elementwise_rule(op, i):
        return rule(*values)
    # Note [Elementwise work] in kernels/elementwise; generated code handles float32 itself
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
    """Whether a gradient must have 16-bit floats. See Note [Numbers beside 16-bit floats] in scalars.py."""
    fit = _fit_of(node)
    return isinstance(fit, CastFit) and any(of is not None and is_half(of[1]) for of in fit)


def unpack_graph(op: Op, node: Any, want: str, edges: bool = True) -> Any:
    """A saved value in the tensor namespace: inputs as tensors, outputs as tensors with this node as their edge."""
    value = getattr(node, "s_" + want)
    kind = slot_kind(op, want)
    if isinstance(value, Freed):
        saved.freed(node)
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
    """A saved output as a tensor, with its edge in the graph restored."""
    out = wrap(array)
    out._vc = vc
    if array.dtype.kind in "fcV":
        out._edge = (node, output_nr)
    if modes.slow():
        _forward_ad.restore_tangent(node, output_nr, out)
    return out


# ----- Backward passes that are one node of the gradient's own graph ------------------------------------------------
# Note [Backward passes as nodes]
# In PyTorch the backward pass of some ops is an op itself. With `create_graph=True` the gradient of `glu` has the node GluBackwardBackward0, which
# has edges to the incoming gradient and to the input. Here that gradient is a formula over other ops. `traits(backward="grad input")` makes
# it a single node with these edges. The kernel of a plain backward pass then computes the gradient, and the node differentiates the
# formula when it runs. It also has edges to tensors that the gradient does not depend on (the gradient of a pool does not depend on the pool's
# input, that of a bias on nothing): these receive zeros, or no gradient if the op has several gradients.


_dispatch = lazy_import(globals(), "_dispatch", ".dispatch")
_creation = lazy_import(globals(), "_creation", "...creation")


class BackwardPass(Node):
    """The node of the gradient of one input: see Note [Backward passes as nodes]."""

    __slots__ = ("given", "op", "position", "versions")
    op: Op

    def __init__(self, node: Any, position: int, given: dict[str, Any], edges: tuple[Edge, ...]) -> None:
        self.seq = next(sequence)
        self._hooks, self._fit = None, node._fit
        self.op, self.position, self.next_functions = node.op, position, edges
        self.given: Any = given
        self.versions = [(name, v._version) for name, v in given.items() if isinstance(v, Tensor)]

    def run_raw(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        results = self._differentiate(wrap(np.asarray(grad)), _leaf, keep, False)
        return tuple(getattr(r, "_array", r) for r in results)

    def run_graph(self, grad: Any, keep: bool) -> tuple[Any, ...]:
        return self._differentiate(grad, NAMESPACE["ops"]._alias, keep, is_grad_enabled())

    def _differentiate(self, grad: Tensor, stand_in: Any, keep: bool, create_graph: bool) -> tuple[Any, ...]:
        """The gradients of the formula by its inputs. The formula runs on stand-ins, because a pass to the tensors themselves would call
        their hooks."""
        if self.given is FREED:
            saved.freed(self)
        for name, version in self.versions:
            if self.given[name]._version != version:
                saved.input_modified(self.given[name], version, self)
        given, fit, before = dict(self.given), _fit_of(self), grad_mode.get()
        if not keep:
            self.given, self.versions = FREED, []
        captured: list[Edge] = []
        try:
            grad_mode.set(True)
            for name, edge in zip(self.op.traits.backward.split(), self.next_functions):
                if edge[0] is None or given.get(name) is None:  # no gradient depends on a value that was not saved
                    captured.append(NO_EDGE)
                    continue
                given[name] = stand_in(given[name])
                captured.append(views.edge_of(given[name]))
            outer = [given["grad"], *[None] * (self.op.outputs - 1)]
            needs = [index == self.position for index in range(len(self.op.rules))]
            given.update(grads=outer, xp=NAMESPACE["ops"], needs=needs)
            if _conjugates(self.op, fit):
                given["grad"] = given["grad"].conj()
            inner = _gradient_of(self.op, self.position, given, fit)
        finally:
            grad_mode.set(before)
        captures = engine.Captures(captured)
        if inner.requires_grad:
            engine.execute([views.edge_of(inner)], [grad], create_graph, create_graph, captures)
        results = list(captures.grads)
        if len(self.op.rules) == 1:
            for k, (name, edge) in enumerate(zip(self.op.traits.backward.split(), self.next_functions)):
                if results[k] is None and edge[0] is not None:  # an unsaved input has the gradient's shape
                    results[k] = _creation.zeros_like(grad if given.get(name) is None else given[name])
        return tuple(results)


def _leaf(tensor: Tensor) -> Tensor:
    leaf = wrap(tensor._array)
    leaf._require_grad_()
    return leaf


@functools.cache
def _class(name: str) -> type[BackwardPass]:
    made = type(name, (BackwardPass,), {"__slots__": (), "__module__": "torch.autograd.graph"})
    READY.add(made)
    return made


def _run_as_node(node: Any, grads: Any, keep: bool) -> tuple[Any, ...] | None:
    """A node's gradients, each as the output of one node with the edges given in its op's traits; None if a formula must run instead."""
    op: Op = node.op
    grad = grads[0] if type(grads) is list else grads
    if type(grad) is not Tensor or grad._level is not None or not is_grad_enabled() or _dispatch.interpreters.get():
        return None  # transforms give zeros for independent inputs anyway
    edges = tuple(_edge_to(node, name, grad) for name in op.traits.backward.split())
    if all(edge[0] is None for edge in edges):
        return None
    given: dict[str, Any] = {"grad": grad}
    for i in op.rules:
        for want in unpack_order(op, i):
            if slot_kind(op, want) != "call" and want not in given:
                given[want] = unpack_graph(op, node, want)
    arrays = [None if g is None else g._array for g in grads] if type(grads) is list else grads._array
    results: list[Any] = list(node.run_raw(arrays, keep))
    made = _class(op.node_name[:-1] + "Backward0")
    for position, array in enumerate(results):
        if array is not None:
            results[position] = out = wrap(np.asarray(array))
            out._edge = (made(node, position, given, edges), 0)
    return tuple(results)


def _edge_to(node: Any, name: str, grad: Tensor) -> Edge:
    """The edge to an incoming gradient, an input or a result of a node."""
    op: Op = node.op
    if name == "grad":
        return views.edge_of(grad)
    if name in op.rules:
        return node.next_functions[list(op.rules).index(name)]  # type: ignore[no-any-return]
    return (node, op.results.index(name)) if name == "result" else NO_EDGE


def zero_gradient(grad: Any, xp: Any) -> Any:
    """The rule of an input on which the result does not depend locally: it was overwritten, or rounded."""
    return xp.zeros_like(grad)


# ----- Gradients of several inputs from one function ------------------------------------------------------------------


def joint_rules(gradients: Callable[..., Sequence[Any]], *inputs: str) -> dict[str, Any]:
    """The rules of inputs whose gradients one function computes together.

    `gradients` has the parameters of a rule, including `needs`, and returns one gradient per input, or None where none is
    needed. The rules of a node run in succession: the first calls `gradients`, and the others take their results.
    """
    wants = parameters_of(gradients)
    at = wants.index("needs")
    computed: dict[int, tuple[Any, list[Any]]] = {}  # by thread: the incoming gradient, and the results not yet taken

    def rule_at(position: int) -> Callable[..., Any]:
        def rule(*values: Any) -> Any:
            thread, needs = get_ident(), values[at]
            held = computed.pop(thread, None)
            if held is None or held[0] is not values[0] or True not in needs[:position]:  # the first rule of a node
                held = values[0], list(gradients(*values))
            results = held[1]
            own, results[position] = results[position], None
            if True in needs[position + 1 :]:
                computed[thread] = held
            return own

        rule.wants = wants  # type: ignore[attr-defined]
        return rule

    return {i: rule_at(position) for position, i in enumerate(inputs)}


def saved_as_input(*ops: Any) -> None:
    """Mark ops whose nodes expose their saved input as `_saved_input` instead of `_saved_self`, as in PyTorch."""
    for op in ops:
        for name in ("_saved_self", "_raw_saved_self"):
            reader = op.Backward.__dict__.get(name)
            if reader is not None:
                setattr(op.Backward, name.replace("self", "input"), reader)
                delattr(op.Backward, name)
