"""The readable path of an op: what the generated functions do, in full generality, one step after the other.

An op comes here when a slow mode is open, for mixed dtypes, numbers of another category, complex numbers, lists of
tensors, `out=`, several results, and for its in-place form.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..autograd import modes, saved, views
from ..autograd.modes import NAMESPACE, is_grad_enabled, sequence
from ..autograd.node import FREED, NO_EDGE, USED_TWICE, Edge, Freed, Node
from ._op import LIST, NUMBER, OPTIONAL, PLAIN, Op, as_array, slot_kind
from ._refusals import REFUSED, refuse

if TYPE_CHECKING:
    from ..tensor import Tensor

# The open dual levels and batching levels of this thread, outermost first. Each has `run(op, arguments, out)`.
interpreters: ContextVar[tuple[Any, ...]] = ContextVar("penlight_interpreters", default=())

# Called with each new node while a slow mode is open (anomaly mode, node creation hooks, ...).
node_watchers: ContextVar[tuple[Any, ...]] = ContextVar("penlight_node_watchers", default=())

OVERLAPS = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
    "Please clone() the tensor before performing the operation."
)

# The same for all threads: anomaly mode.
everywhere: list[Any] = []

# Called around each op while a slow mode is open: `watcher(op, arguments, go, inplace)`. `go()` runs the op; out of place
# `go(raw)` records `raw` as what its kernel gave.
op_watchers: ContextVar[tuple[Any, ...]] = ContextVar("penlight_op_watchers", default=())

# Called with each tensor that is about to be written to while a slow mode is open.
write_watchers: ContextVar[tuple[Any, ...]] = ContextVar("penlight_write_watchers", default=())

# The innermost pair of saved-tensor hooks of this thread.
pack_hooks: ContextVar[Any] = ContextVar("penlight_pack_hooks", default=None)


class ComplexFit(tuple):
    """The `_fit` of a pointwise node with a complex result: per input its shape and dtype. See Note [Complex rules]."""

    __slots__ = ()


class PackedFit:
    """Around the `_fit` of a node with packed values: its generated backward hands over to `dispatch_backward`."""

    __slots__ = ("fit",)

    def __init__(self, fit: Any) -> None:
        self.fit = fit


def dispatch(op: Op, arguments: tuple[Any, ...], out: Any = None) -> Any:
    """Run an op on these arguments (in the order of its face)."""
    stack = interpreters.get()
    level = interpreter(stack, arguments) if stack else None
    return execute(op, arguments, out) if level is None else level.run(op, arguments, out)


def interpreter(stack: tuple[Any, ...], arguments: tuple[Any, ...]) -> Any:
    """Which of the open levels an op on these arguments goes to: the innermost vmap that one of them is batched at, else the
    innermost level of forward mode, else None. See Note [Levels] in func/level.py."""
    found = None
    for value in arguments:
        for v in value if isinstance(value, (tuple, list)) else (value,):
            level = getattr(v, "_level", None)
            if level is not None and (found is None or level.depth > found.depth):
                found = level
    if found is None:
        return next((level for level in reversed(stack) if not level.batching), None)
    return found.checked(stack)


def apply(op: Op, arguments: tuple[Any, ...]) -> Any:
    """Run an op by its generated function; for callers that choose between this and `inplace`."""
    return op.function(*arguments)


def execute(op: Op, arguments: tuple[Any, ...], out: Any = None, raw: Any = None) -> Any:
    """Compute and record, without the interpreters. What the kernel would give may be known already: `raw`."""
    if op_watchers.get():
        return _watched(op, arguments, lambda known=raw: execute(op, arguments, out, known), False)
    env = coerce(op, arguments)
    try:
        raw = _computed(op, raw_arguments(op, env)) if raw is None else raw
    except ValueError as error:
        raise explain_value_error(op, arguments, error) from None
    if out is not None:
        return write_out(op, env, raw, out)
    return record(op, arguments, raw, env)


def _computed(op: Op, raws: list[Any]) -> Any:
    """What an op's kernel gives.

    # Note [Numbers beside bfloat16]
    NumPy does not widen float32 or float16 for a Python number beside it, but it does widen bfloat16, which is not its own. So
    a result that came out wider than bfloat16 operands is narrowed here, and a gradient where it leaves a pointwise op.
    """
    raw = silently(op.kernel, raws)
    if op.kind in ("linear", "multi", "plain") or dtypes.bfloat16._np is None:
        return raw
    kinds = {getattr(r, "dtype", None) for r in raws}
    if dtypes.bfloat16._np not in kinds or np.dtype(np.float32) in kinds or np.dtype(np.float64) in kinds:
        return raw
    if op.outputs > 1:
        return tuple(_narrow(as_array(r)) for r in raw)
    return _narrow(as_array(raw))


def _narrow(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return array.astype(dtypes.bfloat16.np) if array.dtype.kind == "f" else array


def _watched(op: Op, arguments: tuple[Any, ...], go: Any, inplace: bool) -> Any:
    """Let the innermost watcher run an op; the ops that it runs itself are seen by the others only."""
    watching = op_watchers.get()
    token = op_watchers.set(watching[:-1])
    try:
        return watching[-1](op, arguments, go, inplace)
    finally:
        op_watchers.reset(token)


def coerce(op: Op, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Arguments by name, with NumPy scalars as Python numbers; refuses what is no tensor where one must be."""
    from ..tensor import Tensor

    env = dict(zip(op.parameters, arguments))
    for place, i in enumerate(op.inputs):
        value, kind = env[i], op.kinds[i]
        if isinstance(value, Tensor) or (kind == OPTIONAL and value is None):
            continue
        if kind == LIST and isinstance(value, (list, tuple)) and all(isinstance(t, Tensor) for t in value):
            env[i] = tuple(value)
        elif kind == NUMBER and isinstance(value, (bool, int, float, complex)):
            continue
        elif kind == NUMBER and isinstance(value, np.generic) and value.dtype.kind in "biufc":
            env[i] = value.item()
        else:
            wanted = "tuple of Tensors" if kind == LIST else "Tensor"
            raise TypeError(
                f"{op.public}(): argument '{i}' (position {place + 1}) must be {wanted}, not {type(value).__name__}"
            )
    if op.check is not None:
        op.check(env)
    return env


def raw_arguments(op: Op, env: dict[str, Any]) -> list[Any]:
    """The arrays and plain arguments for the kernel; a pointwise op's operands in their common dtype."""
    raws: dict[str, Any] = {}
    for p, value in env.items():
        kind = op.kinds[p]
        if kind == PLAIN or value is None:
            raws[p] = value
        elif kind == LIST:
            raws[p] = [t._array for t in value]
        else:
            raws[p] = getattr(value, "_array", value)
    if op.kind == "pointwise":
        promote(op, raws)
    return [raws[p] for p in op.parameters]


def promote(op: Op, raws: dict[str, Any]) -> None:
    """Bring the operands of a pointwise op to their common dtype, in place. See Note [Dimension categories]."""
    names = op.operands
    arrays = [raws[i] for i in names if isinstance(raws[i], np.ndarray)]
    numbers = [raws[i] for i in names if not isinstance(raws[i], np.ndarray)]
    common = dtypes.result_dtype(arrays, numbers)
    if common.category == dtypes.COMPLEX and op.name in REFUSED:
        refuse(op.name, common.np)
    if op.floating and common.category < dtypes.FLOATING:
        common = dtypes.get_default_dtype()
    for i in names:
        value = raws[i]
        if isinstance(value, np.ndarray):
            raws[i] = value.astype(common.np, copy=False)
        elif len(names) > 1:
            raws[i] = cast_number(value, common)


def cast_number(value: Any, to: dtypes.dtype) -> np.ndarray[Any, Any]:
    """A Python number as a 0-d array; integers wrap around as in C."""
    if to.category == dtypes.INTEGRAL and isinstance(value, int):
        return np.asarray(value & (2 ** (8 * to.itemsize) - 1), np.uint64).astype(to.np)
    return np.asarray(value).astype(to.np)


def silently(kernel: Any, raws: Any) -> Any:
    """Run a kernel without NumPy's warnings. See Note [Silent arithmetic] in autograd/modes.py."""
    if type(kernel) is np.ufunc:
        return NAMESPACE["call"](kernel, raws)
    with np.errstate(all="ignore"):
        return kernel(*raws)


exec("def call(kernel, raws): return kernel(*raws)\ndef assign(array, raw): array[...] = raw", NAMESPACE)


# ----- Recording ----------------------------------------------------------------------------------------------------


def record(op: Op, arguments: tuple[Any, ...], raw: Any, env: dict[str, Any] | None = None) -> Any:
    """Wrap a kernel's results into tensors and put the op into the graph if an input requires grad."""
    from ..tensor import wrap

    if env is None:
        env = dict(zip(op.parameters, arguments))
    arrays = [as_array(r) for r in raw] if op.outputs > 1 or op.kind == "multi" else [as_array(raw)]
    outs = [wrap(a) for a in arrays]
    edges = input_edges(op, env)
    if op.view:
        for o in outs:
            replay = op.function if op.view == "replay" else None
            views.link(o, env[op.inputs[0]], multi_output=op.kind == "multi", replay=replay)
    if modes.inference.get():
        for o in outs:
            mark_inference(o)
    if edges is not None:
        node = make_node(op, env, edges, outs)
        differentiable = [o for o in outs if o._array.dtype.kind in "fcV"]
        for nr, o in enumerate(differentiable):
            o._edge = (node, nr)
    elif op.view:
        for o in outs:
            o._edge = views.unrecorded_edge(o)
    return tuple(outs) if len(outs) > 1 or op.kind == "multi" else outs[0]


def mark_inference(tensor: Tensor) -> None:
    from ..tensor import meta_of

    meta_of(tensor).inference = True
    tensor._vc = saved.NoVersion()


def input_edges(op: Op, env: dict[str, Any]) -> list[Edge] | None:
    """The edges of the inputs that have rules, in order, or None if no input requires grad or nothing is recorded."""
    if not is_grad_enabled():
        return None
    edges: list[Edge] = []
    for i in op.rules:
        value = env[i]
        if op.kinds[i] == LIST:
            edges += [views.edge_of(t) for t in value]
        elif hasattr(value, "_array"):
            edges.append(views.edge_of(value))
        else:
            edges.append(NO_EDGE)
    return edges if any(e is not NO_EDGE for e in edges) else None


def make_node(
    op: Op, env: dict[str, Any], edges: Sequence[Edge], outs: list[Tensor], copies: Any = None, written: Any = None
) -> Node:
    """A node of this op's class that saves what its rules want.

    For the in-place form, `written` is the tensor that was just written to, and `copies` has the input's clone from before:
    it is saved in the input's stead. Another input in the same memory is saved as of before the write: using it raises.
    """
    node = new_node(op.Backward)
    node.next_functions = tuple(edges)
    requires = dict(zip(op.rules, (e is not NO_EDGE for e in edges)))
    if any(op.kinds[i] == LIST for i in op.rules):
        requires = dict.fromkeys(op.rules, True)
    if op.kind == "multi":
        node.outputs = len(outs)  # type: ignore[misc]
    elif op.outputs > 1:
        node.outputs = sum(o._array.dtype.kind in "fcV" for o in outs)  # type: ignore[misc]
    node._fit = fit_of(op, env, outs)
    for i, wants in op.wants.items():
        for want in wants:
            _save(op, node, want, env, outs, requires[i], copies)
    if written is not None:
        if written._view is not None:
            node.__dict__["_label"] = "AsStrided"  # what the written view's own grad_fn is from now on
        for want in op.inputs:
            value = getattr(node, "s_" + want, None)
            if value is not None and getattr(value, "_vc", None) is written._vc:
                setattr(node, "v_" + want, getattr(node, "v_" + want) - 1)
    announce(node)
    return node


def announce(node: Node) -> None:
    """Tell those who watch about a new node."""
    for watch in (*everywhere, *node_watchers.get()):
        watch(node)


def new_node(cls: Any) -> Any:
    node = cls.__new__(cls)
    node.seq = next(sequence)
    node._hooks = node._fit = None
    return node


def fit_of(op: Op, env: dict[str, Any], outs: list[Tensor]) -> Any:
    """What must be done to gradients after the rules: see `fit_gradient`. None if nothing."""
    if op.kind != "pointwise":
        return None
    result = outs[0]._array
    arrays = [getattr(env[i], "_array", None) for i in op.rules]
    fits = tuple(None if a is None else (a.shape, a.dtype) for a in arrays)
    if result.dtype.kind in "cV" or any(a is not None and a.dtype != result.dtype for a in arrays):
        return ComplexFit(fits)
    if any(a is not None and a.shape != result.shape for a in arrays):
        return tuple(None if f is None else f[0] for f in fits)
    return None


def _save(op: Op, node: Any, want: str, env: dict[str, Any], outs: list[Tensor], needed: bool, copies: Any) -> None:
    kind = slot_kind(op, want)
    if kind == "call":
        return
    if kind == "plain":
        setattr(node, "s_" + want, env[want])
    elif kind == "input":
        if needed and getattr(node, "s_" + want, None) is None:
            value = (copies or env).get(want, env[want])
            if pack_hooks.get() is not None and hasattr(value, "_array"):
                _pack(node, want, value, views.edge_of(value))
                return
            setattr(node, "v_" + want, saved.version_of(value) if hasattr(value, "_vc") else 0)
            setattr(node, "s_" + want, value)
        elif not hasattr(node, "s_" + want):
            setattr(node, "s_" + want, None)
    elif kind == "result" and not hasattr(node, "s_" + want):
        place = op.results.index(want)
        vc = saved.versions_of(outs[place])
        if pack_hooks.get() is not None:
            _pack(node, want, restore_result(node, outs[place]._array, vc, place), NO_EDGE)
            return
        setattr(node, "c_" + want, vc)
        setattr(node, "v_" + want, vc[0])
        setattr(node, "s_" + want, outs[place]._array)
    elif kind != "result":
        head = want.rpartition("_")[0]
        array = outs[op.results.index(head)]._array if head in op.results else getattr(env[head], "_array", None)
        setattr(node, "s_" + want, None if array is None else getattr(array, kind))


def _pack(node: Any, want: str, value: Tensor, edge: Edge) -> None:
    from ..autograd.packing import keep_packed

    keep_packed(node, want, pack_hooks.get().pack(value, edge))


# ----- Backward -----------------------------------------------------------------------------------------------------
#
# Note [Complex rules]
# Rules of pointwise ops are written as for real numbers, g * f'(x). PyTorch's complex gradient is g * conj(f'(x)), which
# is conj(rule(conj(g))) for every holomorphic op: the conjugations are done here, around the rule. Ops that are not
# holomorphic (abs, angle, ...) declare complex_rule=True: their rules are exact as written.


def fit_gradient(grad: Any, fit: Any, xp: Any) -> Any:
    """Bring a gradient to its input's shape and dtype: sum over broadcast dimensions, drop an imaginary part, cast."""
    shape, np_dtype = fit
    if np_dtype.kind != "c" and grad_kind(grad) == "c":
        grad = xp.real_part(grad)
    if tuple(grad.shape) != shape:
        grad = xp.sum_to(grad, shape)
    return xp.cast(grad, np_dtype)


def grad_kind(grad: Any) -> str:
    return (grad._array if hasattr(grad, "_array") else grad).dtype.kind


def dispatch_backward(node: Any, grads: Any, keep: bool) -> tuple[Any, ...]:
    """Run a node's rules on arrays in the readable way."""
    return _run_rules(node, grads, keep, unpack_raw, NAMESPACE["raw"])


def run_graph(node: Any, grads: Any, keep: bool) -> tuple[Any, ...]:
    """Run a node's rules on tensors: the same formulas over differentiable ops."""
    return _run_rules(node, grads, keep, unpack_graph, NAMESPACE["ops"])


def _run_rules(node: Any, grads: Any, keep: bool, unpack: Any, xp: Any) -> tuple[Any, ...]:
    op: Op = node.op
    if (op.outputs > 1 or op.kind == "multi") and type(grads) is not list:
        grads = [grads]
    given = {"grad": grads, "grads": grads, "xp": xp}
    given["needs"] = [e[0] is not None for e in node.next_functions]
    fit = node._fit.fit if type(node._fit) is PackedFit else node._fit
    conjugate = isinstance(fit, ComplexFit) and not op.complex_rule
    if conjugate and op.outputs == 1:
        given["grad"] = xp.conj(grads)
    results: list[Any] = []
    for place, (i, rule) in enumerate(op.rules.items()):
        if op.kinds[i] != LIST and node.next_functions[place][0] is None:
            results.append(None)
            continue
        for want in op.wants[i]:
            if want not in given:
                given[want] = unpack(op, node, want)  # once: with saved-tensor hooks this calls the user's function
        g = rule(*[given[want] for want in op.wants[i]])
        if op.kinds[i] == LIST:
            results += g
            continue
        if g is not None and fit is not None:
            if conjugate:
                g = xp.conj(g)
            if isinstance(fit, ComplexFit):
                g = fit_gradient(g, fit[place], xp)
            elif tuple(g.shape) != fit[place]:
                g = xp.sum_to(g, fit[place])
        results.append(g)
    if not keep:
        for slot in node.saved_slots:
            setattr(node, slot, FREED)
    return tuple(results)


def unpack_raw(op: Op, node: Any, want: str) -> Any:
    value = unpack_graph(op, node, want, edges=False)
    if op.kinds.get(want) == LIST and isinstance(value, tuple):
        return [t._array for t in value]
    return getattr(value, "_array", value)


def unpack_graph(op: Op, node: Any, want: str, edges: bool = True) -> Any:
    """A saved value as the graph world sees it: inputs as tensors, outputs as tensors with this node as their edge."""
    value = getattr(node, "s_" + want)
    kind = slot_kind(op, want)
    if isinstance(value, Freed):
        raise RuntimeError(USED_TWICE)
    if kind == "input" and hasattr(value, "_vc"):
        if value._vc is not None and value._vc[0] != getattr(node, "v_" + want):
            saved.input_modified(value, getattr(node, "v_" + want), node, want)
        return value.unpack() if hasattr(value, "unpack") else value
    if kind == "result":
        vc, version = getattr(node, "c_" + want), getattr(node, "v_" + want)
        place = op.results.index(want)
        array = value if isinstance(value, np.ndarray) else value._array
        if vc[0] != version:
            saved.result_modified(node, array, vc[0], version, place)
        return restore_result(node, array, vc, place) if edges else array
    return value


def restore_result(node: Node, array: Any, vc: Any, place: int) -> Tensor:
    """A saved output as a tensor again, at its place in the graph."""
    from ..tensor import wrap

    out = wrap(array)
    out._vc = vc
    if array.dtype.kind in "fcV":
        out._edge = (node, place)
    if modes.slow():
        from ..autograd.forward_ad import restore_tangent

        restore_tangent(node, place, out)
    return out


# ----- Recovery, in-place, out= ---------------------------------------------------------------------------------------


def recover(op: Op, arguments: tuple[Any, ...], error: AttributeError) -> Any:
    """A generated function met something without `_array` or `_edge`: settle or coerce it and run again, or explain."""
    if _settle(arguments):
        if is_grad_enabled():
            return op.function(*arguments)
    elif all(a is None or op.kinds[p] == PLAIN or hasattr(a, "_array") for a, p in zip(arguments, op.parameters)):
        raise error
    try:
        return op.function(*arguments) if _taken_over(op, arguments) else dispatch(op, arguments)
    except Exception as mistake:
        if mistake.__context__ is error:  # how it was found out is of no use to whoever made the mistake
            mistake.__suppress_context__ = True
        raise


def _taken_over(op: Op, arguments: tuple[Any, ...]) -> bool:
    """Whether a class with `__torch_function__` is among the operands. See Note [Functions taken over] in _takeover.py."""
    from .._takeover import foreign

    return foreign(a for a, p in zip(arguments, op.parameters) if op.kinds[p] != PLAIN)


def _settle(arguments: tuple[Any, ...]) -> bool:
    """Regenerate stale edges among the arguments. See Note [Stale edges] in autograd/views.py."""
    found = False
    for value in arguments:
        if hasattr(value, "_array") and not hasattr(value, "_edge"):
            if is_grad_enabled():
                views.settle(value)
            found = True
    return found


def recover_operator(op: Op, arguments: tuple[Any, ...], error: AttributeError) -> Any:
    """`recover` for an operator: ndarrays become tensors, foreign operands give NotImplemented."""
    other = arguments[1]
    if isinstance(other, np.ndarray):
        from ..tensor import wrap

        return dispatch(op, (arguments[0], wrap(other)))
    if not hasattr(other, "_array") and not isinstance(other, (bool, int, float, complex, np.generic)):
        return op.function(*arguments) if _taken_over(op, arguments) else NotImplemented
    return recover(op, arguments, error)


def dispatch_operator(op: Op, arguments: tuple[Any, ...]) -> Any:
    other = arguments[1]
    if not hasattr(other, "_array") and not isinstance(other, (bool, int, float, complex, np.generic)):
        return NotImplemented
    return dispatch(op, arguments)


def explain_value_error(op: Op, arguments: tuple[Any, ...], error: Exception) -> Exception:
    """NumPy's complaint about shapes or dtypes in PyTorch's words."""
    from ._args import broadcast_shape

    if op.check is not None:
        op.check(dict(zip(op.parameters, arguments)))
    _settle(arguments)  # PyTorch looks at the history before the shapes
    if op.kind == "pointwise":
        env = dict(zip(op.parameters, arguments))
        first = [*op.exempt, *(p for p in op.parameters if p not in op.exempt)]
        shapes = [env[p]._array.shape for p in first if hasattr(env[p], "_array")]
        try:
            broadcast_shape(*shapes)
        except RuntimeError as better:
            return better.with_traceback(None)
    return error


def precheck(tensor: Tensor, *others: Any) -> None:
    """What autograd has against a write to `tensor`, before its arguments are looked at any closer."""
    views.check_inplace(tensor, tensor.requires_grad or any(getattr(o, "requires_grad", False) for o in others))


def inplace(op: Op, arguments: tuple[Any, ...]) -> Any:
    """The in-place form: compute into the first argument, move its version, rewrite its history."""
    stack = interpreters.get()
    level = interpreter(stack, arguments) if stack else None
    if level is not None:
        return level.run_inplace(op, arguments)
    if op_watchers.get():
        return _watched(op, arguments, lambda: inplace(op, arguments), True)
    env = coerce(op, arguments)
    tensor: Tensor = env[op.inputs[0]]
    try:
        edges = input_edges(op, env)
    except RuntimeError:
        views.check_inplace(tensor, True)
        raise
    views.check_inplace(tensor, edges is not None)
    if tensor._meta is not None:
        refuse_inference(tensor)
    array = tensor._array
    check_overlap(op, env, array)
    for watch in write_watchers.get():
        watch(tensor)
    raws = raw_arguments(op, env)
    tracked = edges is not None and is_grad_enabled()
    copies = None
    if tracked and any(slot_kind(op, w) == "input" and w == op.inputs[0] for ws in op.wants.values() for w in ws):
        copies = {op.inputs[0]: tensor.detach().clone()}
        copies[op.inputs[0]]._edge = views.edge_of(tensor)
    try:
        raw = as_array(silently(op.kernel, raws))
    except ValueError as error:
        raise explain_value_error(op, arguments, error) from None
    store(array, raw)
    write_back(op, env, tensor, edges, tracked, copies)
    return tensor


def write_back(op: Op, env: dict[str, Any], tensor: Tensor, edges: Any, tracked: bool, copies: Any) -> None:
    """After the memory of `tensor` was written: version, then history."""
    views.bump(tensor)
    if tracked:
        views.rebase(tensor, make_node(op, env, edges, [tensor], copies, written=tensor))


def refuse_inference(tensor: Tensor) -> None:
    if not modes.inference.get() and tensor.is_inference():
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make a clone to get a normal "
            "tensor before doing inplace update.See https://github.com/pytorch/rfcs/pull/17 for more details."
        )


def check_overlap(op: Op, env: dict[str, Any], array: np.ndarray[Any, Any]) -> None:
    """Refuse a write to memory where elements of the tensor lie on top of each other, or on part of another operand."""
    if 0 in array.strides and array.size and any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape)):
        if op.name in ("_zero", "_fill", "_masked_fill", "_masked_fill_tensor", "_index_put"):
            return
        raise RuntimeError(OVERLAPS)
    if op.name == "_fill_tensor":
        return
    for i in op.inputs[1:]:
        other = getattr(env[i], "_array", None)
        if other is not None and i not in op.exempt and _partly_over(array, other):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
                "location. Please clone() the tensor before performing the operation."
            )


def _partly_over(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two dense arrays share some of their memory, but not as the same elements. PyTorch judges by their extent."""
    if a is b or (a.base is None and b.base is None) or not a.size or not b.size:
        return False
    if not np.may_share_memory(a, b):
        return False
    if not _dense(a) or not _dense(b):
        return False
    same_place = a.__array_interface__["data"][0] == b.__array_interface__["data"][0] and a.nbytes == b.nbytes
    return not (same_place and a.strides == b.strides)


def _dense(array: np.ndarray[Any, Any]) -> bool:
    """Whether the elements fill their extent of memory without gaps or overlaps."""
    span = sum((n - 1) * s for n, s in zip(array.shape, array.strides)) + array.itemsize
    return span == array.nbytes and not any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape))


def store(array: np.ndarray[Any, Any], raw: np.ndarray[Any, Any]) -> None:
    """Write an op's result into existing memory, if shape and category allow."""
    if raw.shape != array.shape:
        raise RuntimeError(f"output with shape {list(array.shape)} doesn't match the broadcast shape {list(raw.shape)}")
    if raw.dtype != array.dtype:
        source, target = dtypes.from_np(raw.dtype), dtypes.from_np(array.dtype)
        if not dtypes.can_cast(source, target):
            raise RuntimeError(
                f"result type {dtypes.LEGACY[source]} can't be cast to the desired output type {dtypes.LEGACY[target]}"
            )
    NAMESPACE["assign"](array, raw)


def write_out(op: Op, env: dict[str, Any], raw: Any, out: Any) -> Any:
    """`out=`: write the result into a given tensor, resizing it if it is empty; never in a graph."""
    from ..tensor import Tensor

    outs = out if isinstance(out, (tuple, list)) else (out,)
    raws = raw if op.outputs > 1 else (raw,)
    if not all(isinstance(o, Tensor) for o in outs):
        raise TypeError(f"{op.public}(): argument 'out' must be Tensor, not {type(out).__name__}")
    refuse_graph(op.public, [v for v in env.values() if isinstance(v, Tensor)], outs)
    for o, r in zip(outs, raws):
        fill_out(o, as_array(r))
    return out


def refuse_graph(name: str, inputs: Sequence[Any], outs: Sequence[Any]) -> None:
    """A result that is written into given memory can't be in a graph."""
    if is_grad_enabled() and any(t.requires_grad for t in (*inputs, *outs)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )


def fill_out(out: Tensor, array: np.ndarray[Any, Any]) -> None:
    """Write a result into `out`, which takes its shape."""
    from ..tensor import resize_to

    source, target = dtypes.from_np(array.dtype), out.dtype
    if not dtypes.can_cast(source, target):
        raise RuntimeError(
            f"result type {dtypes.LEGACY[source]} can't be cast to the desired output type {dtypes.LEGACY[target]}"
        )
    for watch in write_watchers.get():
        watch(out)
    if out.shape == array.shape and any(s == 0 and n > 1 for s, n in zip(out._array.strides, out.shape)):
        raise RuntimeError(OVERLAPS)
    if out.shape != array.shape:
        if out._array.size:
            import warnings

            warnings.warn(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not match the "
                f"required output shape {list(array.shape)}. This behavior is deprecated, and in a future PyTorch release outputs "
                "will not be resized unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, "
                "inplace, to zero elements with t.resize_(0).", stacklevel=5,
            )  # fmt: skip
        resize_to(out, array.shape)
    out._array[...] = array
    views.bump(out)


def given(name: str, result: Tensor, out: Tensor | None) -> Tensor:
    """What a function composed of ops returns: its result, or `out` with the result in it."""
    if out is None:
        return result
    refuse_graph(name, (result,), (out,))
    fill_out(out, result._array)
    return out
