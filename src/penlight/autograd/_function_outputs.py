"""Custom functions: attach forward's results to the graph, and check the gradients that backward returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from .._common.user_warnings import warn_user
from ..ops.machinery.array_namespace import graph
from ..ops.machinery.dispatch import pack_hooks
from ..tensor import Tensor, wrap
from . import views
from .node import NO_EDGE, AccumulateGrad, Node
from .packing import Kept

if TYPE_CHECKING:
    from .function import BackwardCFunction

# ----- After forward -------------------------------------------------------------------------------------------------


def tie_outputs(
    ctx: BackwardCFunction, inputs: list[Tensor], output: Any, recorded: bool, separate: bool
) -> tuple[Any, ...]:
    """Make forward's results outputs of the node `ctx` (if `recorded`), then save the tensors passed to `save_for_backward`.

    `separate`: the function has its own `setup_context`.
    """
    outputs = list(output) if isinstance(output, tuple) else [output]
    ctx.outputs = len(outputs)
    ctx._input_metadata = tuple(
        [_sparse_metadata(t) if t.is_sparse else (t._array.shape, t._array.dtype) for t in inputs]
    )
    given = {id(t) for t in inputs}
    dirty = _marked(ctx.dirty_tensors, "mark_dirty can only accept variables, but argument {} is of type {}")
    silent = _marked(ctx.non_differentiable, "mark_non_differentiable only accepts variable arguments, but got {1}")
    differentiable, returned = [], set()
    for nr, out in enumerate(outputs):
        if not isinstance(out, Tensor):
            continue
        is_input, modified = id(out) in given, id(out) in dirty
        if is_input and not modified and separate and any(out is t for t in ctx.to_save or ()):
            raise RuntimeError(
                "An input that has been returned as-is as output is being saved for backward. This is not supported if you "
                "override setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or "
                "setup ctx inside the forward function itself."
            )
        if modified:
            if id(out) not in returned:
                _check_modified(out, is_input, len(outputs), inputs)
                views.bump(out)
            returned.add(id(out))
        if recorded and id(out) not in silent and out._array.dtype.kind in "fcV":
            outputs[nr] = out = _attach(ctx, nr, out, is_input, modified)
            differentiable.append(out)
        else:
            outputs[nr] = out = _keep_out(out, is_input, modified)
        if out._view is not None and not (is_input and modified):
            out._view.creation = views.IN_CUSTOM_FUNCTION
    if not dirty.keys() <= returned:
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
            "inplace must all be outputs of the Function."
        )
    if len(differentiable) > 1:
        for out in differentiable:
            if out._view is not None:
                out._view.creation = views.MULTI_OUTPUT
    _save(ctx, recorded)
    ctx._output_metadata = tuple([_metadata(o, recorded) for o in outputs])
    ctx._shape = [() if meta is None else meta[0] for meta in ctx._output_metadata]
    return tuple(outputs)


def _metadata(out: Any, recorded: bool) -> Any:
    return (out._array.shape, out._array.dtype) if recorded and hasattr(out, "_array") else None


def _sparse_metadata(tensor: Tensor) -> tuple[Any, Any]:
    if tensor.requires_grad:
        raise NotImplementedError(
            "A custom Function was given a sparse tensor that requires grad. Give it the values, tensor.coalesce().values()"
        )
    return tensor.shape, tensor.dtype.np


def _marked(tensors: Sequence[Any] | None, message: str) -> dict[int, Tensor]:
    """The tensors that forward marked, by id."""
    for index, tensor in enumerate(tensors or ()):
        if not hasattr(tensor, "_array"):
            raise RuntimeError(message.format(index, type(tensor).__name__))
    return {id(t): t for t in tensors or ()}


def _check_modified(out: Tensor, is_input: bool, count: int, inputs: list[Tensor]) -> None:
    """Refuse an in-place change that autograd cannot track."""
    if out.requires_grad and isinstance(views.edge_of(out)[0], AccumulateGrad):
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    if not is_input:
        message = (
            "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be passed "
            "to ctx.mark_dirty()."
        )
        if out._view is not None:
            raise RuntimeError(message)
        warn_user(message)
    elif out._view is not None:
        views.refuse_leaf(out, out._view)
        if count > 1:
            raise RuntimeError(
                "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more "
                "than one Tensor. This is not supported by the current autograd engine. You should either make sure the input "
                "is not a view (using .clone() for example) or make your Function only return one Tensor (potentially "
                "splitting it into two Functions: one doing the inplace that returns a single Tensor and a second one that "
                "does the other operations). You can ask on the forum https://discuss.pytorch.org/ if you need help to do "
                "this change."
            )
        if out is not inputs[0]:
            raise RuntimeError(
                "If your Function modifies inplace an input that is a view of another Tensor, that input must be the first "
                "tensor among the arguments of forward. Make it the first one, or pass a clone."
            )


def _attach(ctx: BackwardCFunction, nr: int, out: Tensor, is_input: bool, modified: bool) -> Tensor:
    """Make `out` output `nr` of the node."""
    if modified and is_input:
        out._grad = None
        if out._view is not None:
            views.refuse_rewrite(out, out._view, "is being")
            views.rebase(out, ctx)
        else:
            views.move_retain(out, ctx)
            out._edge = (ctx, nr)
        return out
    if is_input:
        out = _same(out)
    out._edge = (ctx, nr)
    return out


def _same(tensor: Tensor) -> Tensor:
    """A view of a full tensor, returned in place of an input that forward returned unchanged."""
    view = wrap(tensor._array)
    views.link(view, tensor)
    return view


def _keep_out(out: Tensor, is_input: bool, modified: bool) -> Tensor:
    """An output that gets no gradient from this node."""
    if not out.requires_grad:
        return _same(out) if is_input and not modified else out
    if is_input:
        return out.detach()
    if out._view is None:
        out._edge = NO_EDGE
    return out


def _save(ctx: BackwardCFunction, recorded: bool) -> None:
    """Save the tensors passed to `save_for_backward`. See Note [Saved inputs and saved outputs] in autograd/saved.py."""
    tensors, ctx.to_save = ctx.to_save, None
    if not tensors:
        return
    for index, tensor in enumerate(tensors):
        if tensor is not None and not hasattr(tensor, "_vc"):
            raise TypeError(
                f"save_for_backward can only save variables, but argument {index} is of type {type(tensor).__name__}"
            )
    if recorded:
        pair = pack_hooks.get()
        ctx._kept = tuple([None if t is None else Kept(t, ctx, pair) for t in tensors])


# ----- After backward ------------------------------------------------------------------------------------------------


def zeros_for(ctx: BackwardCFunction, nr: int) -> Tensor | None:
    """Zeros for an output that received no gradient."""
    found = ctx._output_metadata[nr]
    return None if found is None else wrap(np.zeros(found[0], found[1]))


def check_gradients(ctx: BackwardCFunction, returned: Any) -> tuple[Any, ...]:
    """Backward's return value as one gradient for each edge of the node: counted, checked, reduced to shape, cast."""
    grads = returned if isinstance(returned, tuple) else (returned,)
    expected = len(ctx._are_tensors)
    if len(grads) > expected and all(g is None for g in grads[expected:]):
        grads = grads[:expected]
    if len(grads) != expected:
        raise RuntimeError(
            f"function {ctx.name()} returned an incorrect number of gradients (expected {expected}, got {len(grads)})"
        )
    found: list[Any] = []
    for index, (grad, is_tensor) in enumerate(zip(grads, ctx._are_tensors)):
        if not is_tensor:
            if grad is not None:
                raise RuntimeError(
                    f"function {ctx.name()} returned a gradient different than None at position {index + 1}, but the "
                    "corresponding forward input was not a Variable"
                )
            continue
        if grad is not None and not hasattr(grad, "_array"):
            raise RuntimeError(f"expected Variable or None (got {type(grad).__name__})")
        found.append(grad)
    return tuple(
        [
            None if grad is None or edge[0] is None else fit(ctx, index, grad, *meta)
            for index, (grad, edge, meta) in enumerate(zip(found, ctx.next_functions, ctx._input_metadata))
        ]
    )


def fit(node: Node, index: int, grad: Tensor, shape: tuple[int, ...], np_dtype: Any) -> Tensor:
    """A gradient in the shape and dtype of its tensor; raises if it cannot be converted."""
    array = grad._array
    if array.shape != shape:
        if not _expandable(shape, array.shape):
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient at index {index} - got {list(array.shape)} but expected "
                f"shape compatible with {list(shape)}"
            )
        grad = graph.sum_to(grad, shape)
    if array.dtype != np_dtype:
        if array.dtype.kind == "c" and np_dtype.kind != "c":
            raise RuntimeError(
                f"Function {node.name()} returned an invalid gradient at index {index} - got a complex gradient of dtype "
                f"{grad.dtype} for a real input of dtype {dtypes.from_np(np_dtype)}. Return its real part."
            )
        grad = grad.to(dtypes.from_np(np_dtype))
    return grad


def _expandable(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    """Whether `shape` broadcasts to `target`."""
    extra = len(target) - len(shape)
    return extra >= 0 and all(n in (1, t) for n, t in zip(shape, target[extra:]))
