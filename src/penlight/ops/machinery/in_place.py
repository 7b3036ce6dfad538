"""Ops that write into existing memory: the in-place forms, and `out=`."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.docstrings import documented
from ..._common.user_warnings import warn_user
from ...autograd import modes, views
from ...autograd.modes import NAMESPACE, is_grad_enabled
from ...autograd.node import NO_EDGE
from ...autograd.saved import NoVersion
from ...kernels.addresses import address
from ...tensor import Tensor, wrap
from ...tensor.conjugates import Marked, write_through
from ...tensor.memory import torch_strides
from .arguments import with_pytorch_names
from .dispatch import (
    _watched,
    coerce,
    explain_value_error,
    input_edges,
    interpreter,
    make_node,
    op_watchers,
    raw_arguments,
    silently,
    write_watchers,
)
from .generate import in_place_function, unchecked_in_place
from .guards import cannot_cast, has_tangent, refuse_tangents
from .op import Op, as_array, slot_kind
from .out import check_out, refusing

OVERLAPS = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
    "Please clone() the tensor before performing the operation."
)


def precheck(tensor: Tensor, *others: Any) -> None:
    """Autograd's checks for a write to `tensor`, made before the arguments are examined further."""
    views.check_inplace(tensor, tensor.requires_grad or any(getattr(o, "requires_grad", False) for o in others))


def run_in_place(op: Op, arguments: tuple[Any, ...]) -> Any:
    """The in-place form of an op on these arguments, by its generated function."""
    return (op.in_place or in_place_function(op))(*arguments)


def may_write(tensor: Any, *others: np.ndarray[Any, Any]) -> bool:
    """Whether a tensor can be written to directly although its memory, or that of one of the other arrays, belongs to another array: it
    has a version counter and shares no memory with the others."""
    versions = tensor._vc
    if versions is not None and type(versions) is not list:
        return False
    if not others:
        return True
    owner = _owner(tensor._array)
    for other in others:
        theirs = _owner(other)
        if theirs is owner or theirs is None or owner is None:
            return other is tensor._array
    return True


def _owner(array: Any) -> Any:
    """The array that owns an array's memory; None if no array does."""
    while array.base is not None:
        array = array.base
        if not isinstance(array, np.ndarray):
            return None
    return array


def rewrite(op: Op, arguments: tuple[Any, ...]) -> Any:
    """The in-place form: compute into the first argument, bump its version, rebase its history."""
    if 0 < NAMESPACE["SLOW"] == NAMESPACE["LOGS"]:
        run, seen = op.unchecked_in_place or unchecked_in_place(op), modes.log.get()
        return run(*arguments) if seen is None else seen.on_op(op, arguments, lambda: run(*arguments), True)
    level = interpreter(arguments)
    if level is not None:
        return level.run_inplace(op, arguments)
    if op_watchers.get():
        return _watched(op, arguments, lambda: rewrite(op, arguments), True)
    if (seen := modes.log.get()) is not None:
        return seen.on_op(op, arguments, lambda: readable_rewrite(op, arguments), True)
    return readable_rewrite(op, arguments)


def readable_rewrite(op: Op, arguments: tuple[Any, ...]) -> Any:
    env = coerce(op, arguments)
    tensor: Tensor = env[op.inputs[0]]
    try:
        edges = input_edges(op, env)
    except RuntimeError:
        views.check_inplace(tensor, True)
        raise
    views.check_inplace(tensor, edges is not None)
    if type(tensor._vc) is NoVersion:
        refuse_inference(tensor)
    array = tensor._array
    if op.name == "abs" and array.dtype.kind == "c":
        raise RuntimeError("In-place abs is not supported for complex tensors.")
    tracked = edges is not None and is_grad_enabled()
    if type(tensor) is Marked:
        # Saved values must be copied before their memory is overwritten.
        result = op.function(tensor.clone() if tracked else tensor, *arguments[1:])
        if op.name != "_copy":
            _check_stored(array, result._array)
        write_through(tensor, result)
        return tensor
    check_overlap(op, env, array)
    for watch in write_watchers.get():
        watch(tensor)
    raws = raw_arguments(op, env)
    copies = None
    if tracked and saves_first(op):
        copies = {op.inputs[0]: tensor.detach().clone()}
        copies[op.inputs[0]]._edge = views.edge_of(tensor)
    try:
        raw = as_array(silently(op.kernel, raws))
    except ValueError as error:
        raise explain_value_error(op, arguments, error) from None
    if op.traits.expanded and _stacked(array):
        np.copyto(array, raw, where=raw != array)  # write only changed elements: another element may share the memory
    else:
        store(array, raw)
    write_back(op, env, tensor, edges, tracked, copies)
    return tensor


def rewrite_recorded(op: Op, arguments: tuple[Any, ...]) -> Any:
    """The in-place form in a graph, in the usual case: the generated function runs out of place, and its node then becomes the history of
    the tensor that receives the result. The node's saved copy of that tensor is corrected. Returns None in unusual cases."""
    tensor: Any = arguments[0]
    array, versions = tensor._array, tensor._vc
    if versions is not None and type(versions) is not list:
        return None
    for name, value in zip(op.parameters, arguments):
        other = getattr(value, "_array", None)
        if other is None:
            if value is not None and name in op.inputs and type(value) is not float and type(value) is not int:
                return None
        elif (array.base is not None or other.base is not None) and not may_write(tensor, other):
            return None
    views.check_inplace(tensor, True)
    made = op.function(*arguments)
    result, node = made._array, made._edge[0]
    if type(node) is not op.Backward or result.shape != array.shape or result.dtype is not array.dtype:
        return None
    kept: Any = getattr(node, "s_" + op.inputs[0], None)
    if kept is tensor:
        before = tensor.detach().clone()
        before._edge = tensor._edge
        setattr(node, "s_" + op.inputs[0], before)
        setattr(node, "v_" + op.inputs[0], 0)
    array[...] = result
    views.bump(tensor)
    for name in op.results:
        if getattr(node, "s_" + name, None) is result:
            setattr(node, "s_" + name, array)
            setattr(node, "c_" + name, tensor._vc)
            setattr(node, "v_" + name, tensor._vc[0])
    if tensor._view is not None:
        node.extra()["label"] = "AsStrided"
    views.rebase(tensor, node)
    return tensor


@functools.cache
def saves_first(op: Op) -> bool:
    """Whether a rule needs the first input, which the in-place form overwrites."""
    return any(slot_kind(op, w) == "input" and w == op.inputs[0] for ws in op.wants.values() for w in ws)


def write_back(op: Op, env: dict[str, Any], tensor: Tensor, edges: Any, tracked: bool, copies: Any) -> None:
    """Update the version and then the history of `tensor` after its memory was written."""
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
    """Refuse a write to a tensor whose elements overlap each other, or partly overlap another operand."""
    if array.size and _stacked(array):
        if op.name in ("_zero", "_fill") or (op.name == "_copy" and _same_elements(array, env["src"]._array)):
            return
        if not op.traits.expanded:
            raise RuntimeError(OVERLAPS)
        warn_user(
            f"Use of {op.public}_ on expanded tensors is deprecated. Please clone() the tensor before performing this operation. "
            f"This also applies to advanced indexing e.g. {op.traits.expanded}"
        )
        return
    if op.name == "_fill_tensor":
        return
    for i in op.inputs[1:]:
        other = getattr(env[i], "_array", None)
        if other is not None and i not in op.exempt and partly_over(array, other):
            raise RuntimeError(_PARTLY_OVER)


_PARTLY_OVER = (
    "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
    "location. Please clone() the tensor before performing the operation."
)


def _same_elements(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two arrays have the same elements in memory: equal address, shape and strides."""
    same_form = a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype
    return same_form and a.__array_interface__["data"] == b.__array_interface__["data"]


def partly_over(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two dense arrays share memory without being the same elements. PyTorch compares their extents."""
    if a is b or (a.base is None and b.base is None) or not a.size or not b.size:
        return False
    if not np.may_share_memory(a, b):
        return False
    if not _dense(a) or not _dense(b):
        return False
    same_place = address(a) == address(b) and a.nbytes == b.nbytes
    return not (same_place and torch_strides(a) == torch_strides(b))


def _dense(array: np.ndarray[Any, Any]) -> bool:
    """Whether the elements fill their extent of memory without gaps or overlaps."""
    span = sum((n - 1) * s for n, s in zip(array.shape, array.strides)) + array.itemsize
    return span == array.nbytes and not any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape))


def store(array: np.ndarray[Any, Any], raw: np.ndarray[Any, Any]) -> None:
    """Write an op's result into existing memory, if its shape and dtype category fit."""
    if raw.shape != array.shape or raw.dtype != array.dtype:
        _check_stored(array, raw)
    NAMESPACE["assign"](array, raw)


def _check_stored(array: np.ndarray[Any, Any], raw: np.ndarray[Any, Any]) -> None:
    if raw.shape != array.shape:
        raise RuntimeError(f"output with shape {list(array.shape)} doesn't match the broadcast shape {list(raw.shape)}")
    if raw.dtype != array.dtype:
        source, target = dtypes.from_np(raw.dtype), dtypes.from_np(array.dtype)
        if not dtypes.can_cast(source, target):
            raise cannot_cast(source, target)


def write_out(op: Op, env: dict[str, Any], raw: Any, out: Any) -> Any:
    """`out=`: write the result into a given tensor, resizing it if it is empty; never recorded in a graph."""
    several = op.outputs > 1 or op.kind == "multi"
    outs = outs_of(op.public, out, len(raw) if several else None)
    raws = raw if several else (raw,)
    inputs = [t for v in env.values() for t in (v if isinstance(v, tuple) else (v,)) if isinstance(t, Tensor)]
    refuse_graph(op.public, inputs, outs)
    if any(partly_over(o._array, t._array) for o in outs for t in inputs):
        raise RuntimeError(_PARTLY_OVER)
    fill_outs(op.name.lstrip("_"), outs, [as_array(r) for r in raws])
    return out


def stored(out: Tensor, result: Tensor) -> bool:
    """Store a result in `out` and return True, unless `out` must be resized, cast, recorded or refused."""
    raw, memory = result._array, out._array
    if result._edge is not NO_EDGE or raw.shape != memory.shape or raw.dtype is not memory.dtype:
        return False
    if type(out) is not Tensor or not memory.flags.c_contiguous or not views.writes_alone(out):
        return False
    NAMESPACE["assign"](memory, raw)
    views.bump(out)
    return True


def outs_of(name: str, out: Any, count: int | None) -> Sequence[Any]:
    """The tensors passed as `out`: a tuple or list with this many of them, or a single one if the count is None."""
    several = isinstance(out, (tuple, list))
    if several != (count is not None) or not all(isinstance(o, Tensor) for o in (out if several else (out,))):
        wanted = "Tensor" if count is None else "tuple of Tensors"
        raise TypeError(f"{name}(): argument 'out' must be {wanted}, not {type(out).__name__}")
    if several and len(out) != count:
        raise TypeError(f"expected tuple of {count} elements but got {len(out)}")
    return out if several else (out,)


def refuse_graph(name: str, inputs: Sequence[Any], outs: Sequence[Any]) -> None:
    """Refuse `out=` with tensors that require grad or have tangents."""
    tensors = (*inputs, *outs)
    if any(has_tangent(t) for t in tensors) or (is_grad_enabled() and any(t.requires_grad for t in tensors)):
        name = refusing(name, any(t.is_complex() for t in inputs))
        refuse_tangents(f"{name}_out", *tensors, because="it is an out= function")
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )


def fill_outs(name: str, outs: Sequence[Tensor], arrays: Sequence[np.ndarray[Any, Any]]) -> None:
    """Write the results of the function `name` into `outs`, resized to fit: all of them, or none if one is refused."""
    for place, (out, array) in enumerate(zip(outs, arrays)):
        if type(out._vc) is NoVersion:
            refuse_inference(out)
        if out._array.dtype is not array.dtype:
            check_out(name, dtypes.from_np(array.dtype), out.dtype, place)
        if out._array.size and out.shape == array.shape and _stacked(out._array):
            raise RuntimeError(OVERLAPS)
    for out, array in zip(outs, arrays):
        _fill_out(out, array)


def _stacked(array: np.ndarray[Any, Any]) -> bool:
    """Whether some elements overlap in memory."""
    return 0 in array.strides and any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape))


def _fill_out(out: Tensor, array: np.ndarray[Any, Any]) -> None:
    for watch in write_watchers.get():
        watch(out)
    if out.shape != array.shape:
        if out._array.size:
            warn_user(
                f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not match the "
                f"required output shape {list(array.shape)}. This behavior is deprecated, and in a future PyTorch release outputs "
                "will not be resized unless they have zero elements. You can explicitly reuse an out tensor t by resizing it, "
                "inplace, to zero elements with t.resize_(0)."
            )  # fmt: skip
        out._array = np.empty_like(array, out._array.dtype)
    if type(out) is Marked:
        write_through(out, wrap(array))
        return
    NAMESPACE["assign"](out._array, array)
    views.bump(out)


def given(name: str, result: Tensor, out: Tensor | None) -> Tensor:
    """The return value of a function composed of ops: its result, or `out` filled with the result."""
    if out is None:
        return result
    if type(out) is Tensor and stored(out, result):
        return out
    outs_of(name, out, None)
    refuse_graph(name, (result,), (out,))
    fill_outs(name, (out,), (result._array,))
    return out


# ----- In-place forms of views ----------------------------------------------------------------------------------------
# `squeeze_`, `transpose_` and similar methods.


def in_place_view(function: Any, node_names: dict[str, str]) -> Any:
    """`unsqueeze_` and similar methods: the tensor itself becomes the view. If it was a view, its base keeps its history."""
    name = function.__name__

    def apply(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        views.check_inplace(input, input.requires_grad)
        refuse_inference(input)
        if name == "t" and input.dim() > 2:
            raise RuntimeError(f"t_() expects a tensor with <= 2 dimensions, but self is {input.dim()}D")
        changed = function(input, *args, **with_pytorch_names(kwargs))
        edge, array = changed._edge, changed._array
        tangents = None if changed._rare_state is None else changed._rare_state.tangents
        node = edge[0]
        del changed
        if node is not None and is_grad_enabled():
            views.move_retain(input, node)
        input._array = array
        views.bump(input)
        if node is not None and is_grad_enabled():
            node.__class__ = in_place_class(node, node_names[type(node).__name__])
            input._edge = edge
        for level, tangent in (tangents or {}).items():
            level.attach(input, tangent)
        return input

    apply.__name__ = apply.__qualname__ = name + "_"
    given, sizes = {
        "squeeze": ("", "[2]"), "unsqueeze": ("0", "[1, 1, 2]"), "t": ("", "[2, 1]"),
    }.get(name, ("0, 1", "[2, 1]"))  # fmt: skip
    apply.__doc__ = documented(
        f"In-place version of `{name}`: this tensor itself takes the new shape.",
        f">>> torch.zeros(1, 2).{name}_({given}).shape", f"torch.Size({sizes})",
    )  # fmt: skip
    return apply


_in_place_classes: dict[str, Any] = {}


def in_place_class(node: Any, name: str) -> Any:
    """The node's class, renamed to PyTorch's name for the in-place form."""
    if name not in _in_place_classes:
        _in_place_classes[name] = type(name, (type(node),), {"__slots__": (), "__module__": "torch.autograd.graph"})
    return _in_place_classes[name]
