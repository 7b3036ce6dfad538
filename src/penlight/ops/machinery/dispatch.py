"""The readable path of an op: it does what the generated functions do, step by step and for every case.

An op takes this path when a slow mode is open, and for mixed dtypes, scalars of another category, complex numbers, lists of tensors,
`out=`, several results, and for its in-place form.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from ... import dtypes
from ...autograd import modes, saved, views
from ...autograd.modes import NAMESPACE, is_grad_enabled, sequence
from ...autograd.node import NO_EDGE, Edge, Node
from ...kernels.copies import contiguous
from ...kernels.copies.convert import cast, cast_operand, is_half, plain_mask
from ...kernels.copies.order import in_layout
from ...kernels.elementwise import apply as apply_elementwise
from ...kernels.elementwise.strategies import HALVES, least_size
from ...kernels.lazy import lazy_import
from ...kernels.numpy_warnings import hush, unhush
from ...tensor import Tensor, wrap
from ...tensor.outline import Outline
from .arguments import broadcast_shape
from .generate import lays_out, reduces, unchecked
from .guards import number_of, refuse, wrong_type
from .op import LIST, NUMBER, OPTIONAL, PLAIN, Op, as_array, slot_kind
from .rules import CastFit, PackedFit, restore_result

_arithmetic = lazy_import(globals(), "_arithmetic", "..pointwise.arithmetic")
_packing = lazy_import(globals(), "_packing", "...autograd.packing")
_subclasses = lazy_import(globals(), "_subclasses", ".subclasses")


# This thread's open dual levels and batching levels, outermost first. Each has `run(op, arguments, out)`.
interpreters: ContextVar[tuple[Any, ...]] = ContextVar("penlight_interpreters", default=())

# The level of classes with `__torch_dispatch__`, shared by all threads; set once an instance exists. See Note [Subclasses that dispatch].
subclass_levels: list[Any] = []


def dispatches(*tensors: Any) -> bool:
    """Whether one of these is of a class that runs ops itself: what they hold and mean is for the class to say."""
    return bool(subclass_levels) and any(t._level is subclass_levels[0] for t in tensors)


# Called with each new node while a slow mode is open (anomaly mode, node creation hooks, ...).
node_watchers: ContextVar[tuple[Any, ...]] = ContextVar("penlight_node_watchers", default=())

# The same for all threads: anomaly mode.
watchers_of_all_threads: list[Any] = []

# Called around each op while a slow mode is open: `watcher(op, arguments, go, inplace)`. `go()` runs the op; out of place, `go(raw)`
# records `raw` as the kernel's result.
op_watchers: ContextVar[tuple[Any, ...]] = ContextVar("penlight_op_watchers", default=())

# Called with each tensor about to be written to while a slow mode is open.
write_watchers: ContextVar[tuple[Any, ...]] = ContextVar("penlight_write_watchers", default=())

# Whether ops compute tangents. Inference mode turns this off as well.
forward_mode: ContextVar[bool] = ContextVar("penlight_forward_mode", default=True)

# The innermost pair of saved-tensor hooks of this thread.
pack_hooks: ContextVar[Any] = ContextVar("penlight_pack_hooks", default=None)


NO_TENSOR: Any = object()


def unwatched() -> bool:
    """Whether the open slow modes, of whichever thread, do not affect ops in this thread. Inference mode does not affect them."""
    if NAMESPACE["SLOW"] == NAMESPACE["LOGS"]:
        return True
    # The conditions of `unseen` are repeated here, because every op runs this check while another thread has a slow mode open.
    if interpreters.get() or subclass_levels or op_watchers.get() or node_watchers.get() or watchers_of_all_threads:
        return False
    return pack_hooks.get() is None


def unseen() -> bool:
    """Whether nothing but vmap and forward mode observes this thread's ops, their nodes or saved tensors."""
    return pack_hooks.get() is None and _only_packing()


def _only_packing() -> bool:
    """Whether at most saved-tensor hooks are open."""
    return not (op_watchers.get() or node_watchers.get() or watchers_of_all_threads)


def enter(op: Op, arguments: tuple[Any, ...], out: Any = None) -> Any:
    """Entry when a slow mode is open in any thread, or `out` is given. Reports the op to the log: see Note [The log] in inspect/log.py."""
    if not NAMESPACE["SLOW"] and type(out) is Tensor and op.outputs == 1 and op.kind != "multi":
        return _write_result(op, arguments, out)
    seen = modes.log.get()
    if out is None and (NAMESPACE["SLOW"] == NAMESPACE["LOGS"] or (not modes.inference.get() and unwatched())):
        run = op.unchecked or unchecked(op)
        return run(*arguments) if seen is None else seen.on_op(op, arguments, lambda: run(*arguments), False)
    if seen is None:
        return _enter(op, arguments, out)
    if interpreters.get() and (level := interpreter(arguments, out)) is not None:
        return level.run(op, arguments, out)  # which reports the ops on physical tensors and on tangents
    return seen.on_op(op, arguments, lambda: _enter(op, arguments, out), False)


def _enter(op: Op, arguments: tuple[Any, ...], out: Any) -> Any:
    """Run an op that a slow mode affects: on the readable path, or by the generated function if its result need only be marked or packed."""
    level = interpreter(arguments, out)
    if level is not None:
        return level.run(op, arguments, out)
    if out is not None or not unseen():
        if out is not None or not _only_packing() or modes.inference.get():
            return execute(op, arguments, out)
        return _pack_saved(op, unchecked(op)(*arguments))
    if not modes.inference.get():
        return unchecked(op)(*arguments)
    if is_grad_enabled():
        return execute(op, arguments)
    result = unchecked(op)(*arguments)
    _mark_new(op, arguments[0], result if isinstance(result, (tuple, list)) else (result,))
    return result


def _write_result(op: Op, arguments: tuple[Any, ...], out: Tensor) -> Any:
    """`out=` without a slow mode: the generated function computes, and its result is copied unless something needs the readable path."""
    result, memory, recording = (op.unchecked or unchecked(op))(*arguments), out._array, is_grad_enabled()
    for value in arguments:
        if isinstance(value, Tensor):
            if (recording and getattr(value, "_edge", None) is not NO_EDGE) or partly_over(memory, value._array):
                break
        elif isinstance(value, (tuple, list)) and value and isinstance(value[0], Tensor):
            break
    else:
        if stored(out, result):
            return out
    return execute(op, arguments, out, result._array)


def dispatch(op: Op, arguments: tuple[Any, ...], out: Any = None) -> Any:
    """Run an op on these arguments (in the order of its signature)."""
    if op.traits.with_tensor and hasattr(arguments[1], "_array"):
        return NAMESPACE[op.traits.with_tensor](*arguments)  # differentiable in both operands
    if op.kind == "pointwise" and out is None and not NAMESPACE["SLOW"]:
        return (op.mixed or _mixed(op))(*arguments)
    level = interpreter(arguments, out)
    return execute(op, arguments, out) if level is None else level.run(op, arguments, out)


def _mixed(op: Op) -> Any:
    from .mixed_dtypes import mixed

    op.mixed = mixed(op)
    return op.mixed


def interpreter(arguments: tuple[Any, ...], out: Any = None) -> Any:
    """The open level that handles an op on these arguments: the innermost vmap at which one of them is batched, else the innermost
    forward-mode level at which one has a tangent, else the level of dispatching subclasses, else None. See Note [Levels] in
    func/level.py."""
    stack = interpreters.get()
    if not stack and not subclass_levels:
        return None
    found = tangents = None
    for value in arguments if out is None else (*arguments, out):
        for v in value if isinstance(value, (tuple, list)) else (value,):
            level = getattr(v, "_level", NO_TENSOR)
            if level is NO_TENSOR:
                continue
            if level is None or not level.batching:
                meta = v._rare_state
                if meta is not None and meta.tangents:
                    tangents = meta.tangents if tangents is None else {**tangents, **meta.tangents}
            if level is not None and (found is None or level.depth > found.depth):
                found = level
    if found is not None and found.batching:
        return found.checked(stack)
    if tangents is None or modes.inference.get() or not forward_mode.get():
        return found
    return next((level for level in reversed(stack) if level in tangents), found)


def apply(op: Op, arguments: tuple[Any, ...]) -> Any:
    """Run an op by its generated function; for callers that choose between `apply` and `run_in_place`."""
    return op.function(*arguments)


def execute(op: Op, arguments: tuple[Any, ...], out: Any = None, raw: Any = None) -> Any:
    """Compute and record, without the interpreters. `raw` is the kernel's result if it is already known."""
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


def _computed(op: Op, raws: Sequence[Any]) -> Any:
    """The result of an op's kernel.

    # Note [Numbers beside bfloat16]
    A Python scalar does not widen NumPy's float32 or float16, but it does widen bfloat16, which is not a NumPy dtype. So a result
    wider than its bfloat16 operands is narrowed here, and a gradient is narrowed where it leaves a pointwise op.
    """
    if lays_out(op) and any(type(r) is np.ndarray and not r.flags.c_contiguous for r in raws):
        raw = (
            contiguous(_run(op, raws)) if op.traits.contiguous else in_layout(lambda *ordered: _run(op, ordered), *raws)
        )
    else:
        raw = _run(op, raws)
    if reduces(op):
        raw = (
            tuple([np.array(r, order="C", copy=None) for r in raw])
            if op.outputs > 1
            else np.array(raw, order="C", copy=None)
        )
    if op.kind in ("linear", "multi", "plain"):
        return raw
    if op.traits.full_scalars and is_half(raws[0].dtype):
        return narrow(as_array(raw), raws[0].dtype)
    if dtypes.bfloat16._np is None:
        return raw
    kinds = {getattr(r, "dtype", None) for r in raws}
    if dtypes.bfloat16._np not in kinds or np.dtype(np.float32) in kinds or np.dtype(np.float64) in kinds:
        return raw
    if op.outputs > 1:
        return tuple(narrow(as_array(r), dtypes.bfloat16.np) for r in raw)
    return narrow(as_array(raw), dtypes.bfloat16.np)


def arranged(op: Op, *raws: Any) -> Any:
    """The result of an elementwise kernel on arrays that are not all contiguous. See Note [Layouts] in kernels/copies/order.py."""
    kernel, first = op.kernel, raws[0]
    if type(kernel) is not np.ufunc or type(first) is not np.ndarray or first.itemsize == 2 or first.size >= HALVES:
        return _computed(op, raws)
    shape, strides = first.shape, first.strides
    alike = len({0, *strides}) > len(strides) and 1 not in shape
    for r in raws[1:]:
        if type(r) is np.ndarray and r.ndim and (r.strides != strides or r.shape != shape):
            alike = False
    if alike:
        return NAMESPACE["call"](kernel, raws).view()  # NumPy chooses the same layout; `view()` gives the array a base
    return in_layout(NAMESPACE["quietly"](kernel), *raws)


def _run(op: Op, raws: Sequence[Any]) -> Any:
    if op.kind == "pointwise":
        elementwise = type(op.kernel) is np.ufunc or getattr(op.kernel, "one_pass", False)
        if elementwise and _is_large(op.kernel, raws[0]):
            return apply_elementwise(op.kernel, *raws)
    return silently(op.kernel, raws)


def _is_large(ufunc: Any, first: Any) -> bool:
    """Whether a ufunc on this operand should go to Note [Elementwise work]: NumPy is slow on 16-bit floats."""
    size = getattr(first, "size", 0)
    return size >= least_size(ufunc) or (size >= HALVES and first.dtype.itemsize == 2 and first.dtype.kind not in "iu")


def narrow(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Floats cast to 16 bits; bools unchanged."""
    return cast(array, dtype) if array.dtype.kind == "f" and array.dtype != dtype else array


def _watched(op: Op, arguments: tuple[Any, ...], go: Any, inplace: bool) -> Any:
    """Let the innermost watcher run an op; ops that the watcher runs itself are seen only by the outer watchers."""
    watching = op_watchers.get()
    op_watchers.set(watching[:-1])
    try:
        return watching[-1](op, arguments, go, inplace)
    finally:
        op_watchers.set(watching)


def coerce(op: Op, arguments: tuple[Any, ...]) -> dict[str, Any]:
    """Arguments by name, with NumPy scalars as Python scalars; refuses a non-tensor where a tensor is required."""
    env = dict(zip(op.parameters, arguments))
    for index, i in enumerate(op.inputs):
        value, kind = env[i], op.kinds[i]
        if isinstance(value, Tensor) or (kind == OPTIONAL and value is None):
            continue
        if kind == LIST and isinstance(value, (list, tuple)) and all(isinstance(t, Tensor) for t in value):
            env[i] = tuple(value)
        elif kind == NUMBER and isinstance(value, (bool, int, float, complex)):
            continue
        elif kind == NUMBER and isinstance(value, np.generic) and value.dtype.kind in "biufc":
            env[i] = number_of(value)
        elif (
            index == 0
            and op.traits.scalar_first
            and isinstance(value, (bool, int, float, complex, np.generic))
            and (not op.name.startswith("bitwise") or isinstance(arguments[1], Tensor))
        ):
            env[i] = _arithmetic.scalar_like(number_of(value) if isinstance(value, np.generic) else value)
        else:
            raise _wrong_type(op, arguments, i, "tuple of Tensors" if kind == LIST else "Tensor")
    if op.check is not None:
        op.check(env)
    return env


def _wrong_type(op: Op, arguments: tuple[Any, ...], parameter: str, wanted: str) -> TypeError:
    given = list(arguments)
    while len(given) > 1 and op.defaults.get(op.parameters[len(given) - 1], given) is given[-1]:
        given.pop()  # at its default, so probably not passed
    form = ", ".join(f"{'Tensor' if op.kinds[p] != PLAIN else ''} {p}".strip() for p in op.parameters)
    return wrong_type(op.public, given, op.parameters.index(parameter), parameter, wanted, f" * ({form})")


def raw_arguments(op: Op, env: dict[str, Any]) -> list[Any]:
    """The arrays and plain arguments for the kernel; operands of a pointwise op are promoted to their common dtype."""
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
    """Cast the operands of a pointwise op to their common dtype, in place. See Note [Dimension categories]."""
    names = op.operands
    arrays = [raws[i] for i in names if isinstance(raws[i], np.ndarray)]
    numbers = [raws[i] for i in names if not isinstance(raws[i], np.ndarray)]
    common = dtypes.result_dtype(arrays, numbers)
    if op.floating and common.category < dtypes.FLOATING:
        common = dtypes.get_default_dtype()
    if op.traits.refuses:
        refuse(op, common.np)
    last = names[-1] if op.traits.full_scalars and is_half(common.np) else None
    for i in names:
        value = raws[i]
        if i == last and stays_full(value):
            raws[i] = np.asarray(value, np.float32)
        elif isinstance(value, np.ndarray):
            raws[i] = value if value.dtype == common.np else cast_operand(value, common.np)
            if op.traits.compares_bytes and common is dtypes.bool_:
                raws[i] = plain_mask(value)
        elif len(names) > 1:
            raws[i] = cast_number(value, common)


def stays_full(value: Any) -> bool:
    """Whether this last operand keeps its precision instead of being rounded to 16 bits. See Note [Numbers beside 16-bit floats] in scalars.py."""
    return value.ndim == 0 and value.dtype.kind in "fiu" if isinstance(value, np.ndarray) else True


def cast_number(value: Any, to: dtypes.dtype) -> np.ndarray[Any, Any]:
    """A Python scalar as a 0-d array; integers wrap around as in C."""
    if to.category == dtypes.INTEGRAL and isinstance(value, int):
        return np.asarray(value & (2 ** (8 * to.itemsize) - 1), np.uint64).astype(to.np)
    return cast(np.asarray(value), to.np) if is_half(to.np) else np.asarray(value).astype(to.np)


def silently(kernel: Any, raws: Any) -> Any:
    """Run a kernel without NumPy's warnings. See Note [Silent arithmetic] in autograd/modes.py."""
    if type(kernel) is np.ufunc:
        return NAMESPACE["call"](kernel, raws)
    token = hush()
    try:
        return kernel(*raws)
    finally:
        unhush(token)


exec("def call(kernel, raws): return kernel(*raws)\ndef assign(array, raw): array[...] = raw", NAMESPACE)
exec("def quietly(kernel): return lambda *raws: kernel(*raws)", NAMESPACE)


def explain_value_error(op: Op, arguments: tuple[Any, ...], error: Exception) -> Exception:
    """Translates NumPy's error about shapes or dtypes into PyTorch's."""
    if op.check is not None:
        op.check(dict(zip(op.parameters, arguments)))
    settle_all(arguments)  # PyTorch checks the history before the shapes
    if op.kind == "pointwise":
        env = dict(zip(op.parameters, arguments))
        first = [*op.exempt, *(p for p in op.parameters if p not in op.exempt)]
        shapes = [env[p]._array.shape for p in first if hasattr(env[p], "_array")]
        try:
            broadcast_shape(*shapes)
        except RuntimeError as better:
            return better.with_traceback(None)
    return error


def settle_all(arguments: tuple[Any, ...]) -> bool:
    """Regenerate stale edges among the arguments. See Note [Stale edges] in autograd/views.py."""
    found = False
    for value in arguments:
        if hasattr(value, "_array") and not hasattr(value, "_edge"):
            if is_grad_enabled():
                views.settle(value)
            found = True
    return found


# ----- Recording ----------------------------------------------------------------------------------------------------


def record(op: Op, arguments: tuple[Any, ...], raw: Any, env: dict[str, Any] | None = None) -> Any:
    """Wrap a kernel's results into tensors and put the op into the graph if an input requires grad."""
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
        _mark_new(op, env[op.inputs[0]] if op.view else None, outs)
    if edges is not None:
        node = make_node(op, env, edges, outs)
        differentiable = [o for o in outs if o._array.dtype.kind in "fcV"]
        for nr, o in enumerate(differentiable):
            o._edge = (node, nr)
    elif op.view:
        for o in outs:
            o._edge = NO_EDGE if o._view is None else views.unrecorded_edge(o)
    return tuple(outs) if len(outs) > 1 or op.kind == "multi" else outs[0]


def _mark_new(op: Op, source: Any, outs: Sequence[Tensor]) -> None:
    """Mark tensors made in inference mode. A view of a normal tensor is not marked: writes to it count."""
    if op.view and not source.is_inference():
        return
    for out in outs:
        mark_inference(out)


def mark_inference(tensor: Tensor) -> None:
    meta_of = NAMESPACE["meta_of"]  # importing would cost more than the rest
    meta_of(tensor).inference = True
    tensor._vc, tensor._view = saved.NoVersion(), None


def input_edges(op: Op, env: dict[str, Any]) -> list[Edge] | None:
    """The edges of the inputs that have rules, in order; None if no input requires grad or recording is off."""
    if not is_grad_enabled() or modes.inference.get():
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
    """A node of this op's class with the values that its rules need.

    For the in-place form, `written` is the tensor just written to, and `copies` holds a clone of the input from before the write, which
    is saved instead of the input. Another input that shares the memory is saved with its version from before the write: using it raises.
    """
    node = new_node(op.Backward)
    node.next_functions = tuple(edges)
    requires = dict(zip(op.rules, (e is not NO_EDGE for e in edges)))
    if any(op.kinds[i] == LIST for i in op.rules):
        requires = dict.fromkeys(op.rules, True)
    if op.kind == "multi":
        node.outputs = len(outs)
    elif op.outputs > 1:
        node.outputs = sum(o._array.dtype.kind in "fcV" for o in outs)
    node._fit = fit_of(op, env, outs)
    node._shape = [o._array.shape for o in outs if o._array.dtype.kind in "fcV"]
    for i, wants in op.wants.items():
        for want in wants:
            _save(op, node, want, env, outs, requires[i], copies)
    if written is not None:
        if written._view is not None:
            node.extra()["label"] = "AsStrided"  # the written view's own grad_fn from now on
        for want in op.inputs:
            value = getattr(node, "s_" + want, None)
            if value is not None and getattr(value, "_vc", None) is written._vc:
                setattr(node, "v_" + want, getattr(node, "v_" + want) - 1)
    announce(node)
    return node  # type: ignore[no-any-return]


def announce(node: Node) -> None:
    """Report a new node to the observers."""
    if (seen := modes.log.get()) is not None:
        seen.on_new_node(node)
    for watch in (*watchers_of_all_threads, *node_watchers.get()):
        watch(node)


def new_node(cls: Any) -> Any:
    node = cls.__new__(cls)
    node.seq = next(sequence)
    node._hooks = node._fit = None
    return node


def fit_of(op: Op, env: dict[str, Any], outs: list[Tensor]) -> Any:
    """How the gradients must be adjusted after the rules (see `fit_gradient`); None if not at all."""
    if op.kind != "pointwise":
        return None
    return fit_of_arrays(outs[0]._array, [getattr(env[i], "_array", None) for i in op.rules])


def fit_of_arrays(result: Any, arrays: Any) -> Any:
    """`fit_of`, computed from the result and the inputs that have rules; inputs that are not arrays are scalars."""
    arrays = [a if isinstance(a, (np.ndarray, Outline)) else None for a in arrays]
    fits = tuple([None if a is None else (a.shape, a.dtype) for a in arrays])
    if (
        result.dtype.kind in "cV"
        or is_half(result.dtype)
        or any(a is not None and a.dtype != result.dtype for a in arrays)
    ):
        return CastFit(fits)
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
            setattr(node, "v_" + want, saved.version_of(value) if hasattr(value, "_vc") else None)
            setattr(node, "s_" + want, value)
        elif not hasattr(node, "s_" + want):
            setattr(node, "s_" + want, None)
    elif kind == "result" and not hasattr(node, "s_" + want):
        output_nr = op.results.index(want)
        if outs[output_nr]._level is not None:  # see Note [Subclasses that dispatch]
            setattr(node, "c_" + want, [0, None])
            setattr(node, "v_" + want, 0)
            setattr(node, "s_" + want, _subclasses.twin(outs[output_nr]))
            return
        vc = saved.versions_of(outs[output_nr])
        if pack_hooks.get() is not None:
            _pack(node, want, restore_result(node, outs[output_nr]._array, vc, output_nr), NO_EDGE)
            return
        setattr(node, "c_" + want, vc)
        setattr(node, "v_" + want, vc[0])
        setattr(node, "s_" + want, outs[output_nr]._array)
    elif kind != "result":
        head = want.rpartition("_")[0]
        array = outs[op.results.index(head)]._array if head in op.results else getattr(env[head], "_array", None)
        setattr(node, "s_" + want, None if array is None else getattr(array, kind))


def _pack_saved(op: Op, result: Any) -> Any:
    """Apply saved-tensor hooks to what a node of a generated function has saved."""
    outs = result if isinstance(result, (tuple, list)) else (result,)
    node: Any = next((o._edge[0] for o in outs if hasattr(o, "_edge") and o._edge is not NO_EDGE), None)
    if node is None or type(node) is not op.Backward or type(node._fit) is PackedFit:
        return result  # nothing was recorded, or the readable path has packed already
    for want, output_nr in _packable(op):
        value = getattr(node, "s_" + want)
        if output_nr is not None:
            saved_result = restore_result(node, value, getattr(node, "c_" + want), output_nr)
            _pack(node, want, saved_result, NO_EDGE)
        elif hasattr(value, "_array"):
            _pack(node, want, value, views.edge_of(value))
    return result


@functools.cache
def _packable(op: Op) -> list[tuple[str, int | None]]:
    """The names under which an op's nodes save tensors, in order; for an output, also its index."""
    wants = dict.fromkeys(want for wants in op.wants.values() for want in wants)
    kinds = {want: slot_kind(op, want) for want in wants}
    return [
        (want, op.results.index(want) if kind == "result" else None)
        for want, kind in kinds.items()
        if kind in ("input", "result")
    ]


def _pack(node: Any, want: str, value: Tensor, edge: Edge) -> None:
    _packing.keep_packed(node, want, pack_hooks.get().pack(value, edge))


# The in-place forms and `out=`, which use the functions above.
from .in_place import (  # noqa: E402
    check_overlap as check_overlap,
    given as given,
    may_write as may_write,
    partly_over,
    precheck as precheck,
    readable_rewrite as readable_rewrite,
    rewrite as rewrite,
    rewrite_recorded as rewrite_recorded,
    run_in_place as run_in_place,
    saves_first as saves_first,
    store as store,
    stored,
    write_back as write_back,
    write_out as write_out,
)
