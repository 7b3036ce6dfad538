"""Implements `autograd.backward` and `autograd.grad`: checks their arguments, runs the engine, returns the gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from .._common.user_warnings import warn_once, warn_user
from ..creation import zeros_like
from ..kernels.lazy import lazy_import
from ..size import Size
from ..tensor import Tensor, wrap
from . import modes
from .accumulate import writable
from .engine import Captures, execute
from .modes import log
from .node import NO_EDGE, AccumulateGrad, Edge
from .views import edge_of

_batched = lazy_import(globals(), "_batched", "..func.batched")
_mapping = lazy_import(globals(), "_mapping", "..func.mapping")


_CYCLE = (
    "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient which can cause a "
    "memory leak. We recommend using autograd.grad when creating the graph to avoid this. If you have to use this function, make sure "
    "to reset the .grad fields of your parameters to None after use to break the cycle and avoid the leak."
)


def backward(
    tensors: Any, grad_tensors: Any, retain_graph: bool | None, create_graph: bool, grad_variables: Any, inputs: Any
) -> None:
    """`torch.autograd.backward`."""
    if modes.transforms.get():
        raise RuntimeError(_batched.BACKWARD)
    keep = create_graph if retain_graph is None else retain_graph
    if create_graph:
        warn_once(_CYCLE)
    if inputs is None and grad_variables is None and isinstance(tensors, Tensor):
        start = usual_grad(tensors, grad_tensors)
        if start is not None:
            execute(root_edges((tensors,)), (start,), keep, create_graph, None)
            return
    if grad_variables is not None:
        warn_user("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. Please only use "
                "`grad_tensors`."
            )
        grad_tensors = grad_variables
    wanted = () if inputs is None else as_tuple(inputs)
    if inputs is not None and not wanted:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    outputs = as_tuple(tensors)
    grads = _given(grad_tensors, outputs)
    found = root_grads(outputs, grads)
    roots = root_edges(outputs)
    if inputs is None:
        execute(roots, found, keep, create_graph, None)
        return
    for tensor in wanted:
        if not is_edge(tensor):
            tensor.retain_grad()  # gives a non-leaf its `.grad`; a leaf's AccumulateGrad does that anyway
    execute(roots, found, keep, create_graph, Captures(input_edges(wanted), accumulate=True))


def grad(
    outputs: Any, inputs: Any, grad_outputs: Any, retain_graph: bool | None, create_graph: bool, only_inputs: bool,
    allow_unused: bool | None, is_grads_batched: bool, materialize_grads: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """`torch.autograd.grad`."""
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if not only_inputs:
        warn_user(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for other parts of "
            "the graph, please use torch.autograd.backward.",
            FutureWarning,
        )
    allow_unused = bool(materialize_grads if allow_unused is None else allow_unused)
    sources, wanted = as_tuple(outputs), as_tuple(inputs)
    if not wanted:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    found = root_grads(sources, _given(grad_outputs, sources), is_grads_batched)
    keep = create_graph if retain_graph is None else retain_graph
    roots = root_edges(sources)
    captures = Captures(input_edges(wanted))
    if is_grads_batched:
        return _batched_grad(roots, found, keep, create_graph, wanted, allow_unused, materialize_grads)  # type: ignore[no-any-return]
    execute(roots, found, keep, create_graph, captures)
    return _results(wanted, captures.grads, allow_unused, materialize_grads, create_graph, found)


def _given(grads: Any, outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The gradients passed to a backward pass, one for each output."""
    if grads is None:
        return (None,) * len(outputs)
    grads = as_tuple(grads)
    if len(grads) < len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    return tuple(grads)


def _results(
    wanted: Any, grads: Any, allow_unused: bool, materialize: bool, create_graph: bool, given: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """The gradients as tensors. If a gradient is an array that the caller passed, or one seen before, the result is that same tensor, as
    in PyTorch; if it shares the memory of a passed tensor, it shares its version counter."""
    results: list[Any] = []
    tensors: dict[int, Tensor] = {id(t._array): t for t in given if t is not None}
    for index, (tensor, grad) in enumerate(zip(wanted, grads)):
        if grad is None:
            if not allow_unused:
                raise RuntimeError(
                    f"The differentiated Tensor at index {index} appears to not have been used in the graph. Set "
                    "allow_unused=True if this is the desired behavior."
                )
            if materialize:
                if is_edge(tensor):
                    raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
                grad = zeros_like(tensor, requires_grad=create_graph)
        elif not isinstance(grad, Tensor):
            array = getattr(tensor, "_array", None)
            if (
                array is not None
                and grad.dtype is not array.dtype
                and array.dtype.kind == "V"
                and grad.dtype.kind == "f"
            ):
                grad = grad.astype(array.dtype)  # see Note [Numbers beside bfloat16] in ops/machinery/dispatch.py
            array, grad = grad, tensors.get(id(grad))
            if grad is None:
                grad = tensors[id(array)] = wrap(writable(array))
                if array.base is not None:
                    _share_version(grad, given)
        results.append(grad)
    return tuple(results)


def _share_version(grad: Tensor, given: Sequence[Any]) -> None:
    for tensor in given:
        if tensor is not None and np.may_share_memory(grad._array, tensor._array):
            if tensor._vc is None:
                tensor._vc = [0, None]
            grad._vc = tensor._vc
            return


def _batched_grad(
    roots: Any, grads: Any, keep: bool, create_graph: bool, wanted: Any, allow_unused: bool, materialize: bool
) -> Any:
    """One pass for the full batch of gradients: vmap over the engine."""
    from ..func.level import BatchLevel

    count = next(g for g in grads if g is not None).shape[0]
    with BatchLevel(count) as level:
        captures = Captures(input_edges(wanted))
        execute(
            roots, [None if g is None else _mapping.enter(level, g, 0) for g in grads], keep, create_graph, captures
        )
        found = [None if g is None else _mapping.leave(level, g, 0, "grad") for g in captures.grads]
    return _results(wanted, found, allow_unused, materialize, create_graph)


# ----- What `backward` and `grad` are called with ---------------------------------------------------------------------

_creation = lazy_import(globals(), "_creation", "..creation")

_BATCHED = (
    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The sizes of the "
    "remaining dimensions are expected to match the shape of corresponding output, but a mismatch was detected: "
)


def is_edge(value: Any) -> bool:
    """Whether this is a GradientEdge. (Avoids importing its class from graph.py.)"""
    return isinstance(value, tuple) and hasattr(value, "ownership_token")


def as_tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Tensor):
        return (value,)
    return (value,) if is_edge(value) else tuple(value)


def as_edge(value: Any) -> Edge:
    """The edge in the graph of a tensor or GradientEdge."""
    return (value.node, value.output_nr) if is_edge(value) else edge_of(value)


def _described(value: Any) -> tuple[Any, Any, bool]:
    """Shape, dtype and requires_grad of a tensor or of the tensor that a GradientEdge represents; None for unknown."""
    if isinstance(value, Tensor):
        return value.shape, value.dtype, value.requires_grad
    if not is_edge(value):
        raise AssertionError("Expected output to be a torch.Tensor")
    found = value._metadata
    if found is None and isinstance(value.node, AccumulateGrad):
        return _described(value.node.variable)
    if found is None and hasattr(value.node, "_output_metadata"):
        shape, np_dtype = value.node._output_metadata[value.output_nr]
        found = shape, dtypes.from_np(np_dtype)
    return (None, None, True) if found is None else (Size(found[0]), found[1], True)


def root_grads(outputs: Sequence[Any], grads: Sequence[Any], batched: bool = False) -> list[Any]:
    """The gradients that a pass starts with: passed ones are checked, a missing one is 1 for a scalar."""
    found: list[Any] = []
    for index, (out, grad) in enumerate(zip(outputs, grads)):
        if isinstance(out, Tensor) and not batched:
            usual = usual_grad(out, grad)
            if usual is not None:
                found.append(usual)
                continue
        shape, dtype, requires = _described(out)
        if grad is None:
            one = _implicit(shape, dtype) if requires else None
            level = out._level if one is not None and isinstance(out, Tensor) else None
            found.append(one if level is None or level.batching else _creation.ones_like(out))
            continue
        if not isinstance(grad, Tensor):
            raise TypeError(f"gradients can be either Tensors or None, but got {type(grad).__name__}")
        if shape is None:
            found.append(grad)
            continue
        if (grad.shape[1:] if batched else grad.shape) != shape:
            hint = " If you only want some tensors in `grad_output` to be considered batched, consider using vmap."
            raise RuntimeError(
                f"{_BATCHED if batched else 'Mismatch in shape: '}grad_output[{index}] has a shape of {grad.shape[1:] if batched else grad.shape} and "
                f"output[{index}] has a shape of {shape}.{hint if batched else ''}"
            )
        if (dtype.category == dtypes.COMPLEX) != (grad.dtype.category == dtypes.COMPLEX):
            raise RuntimeError(
                "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
                f"grad_output[{index}] has a dtype of {grad.dtype} and output[{index}] has a dtype of {dtype}."
            )
        found.append(grad if grad.dtype is dtype else grad.to(dtype))
    return found


# The gradient of a 0-d tensor with respect to itself, to be copied.
_ONE = {d.np: np.ones((), d.np) for d in (dtypes.float32, dtypes.float64)}


def usual_grad(out: Tensor, grad: Any) -> Tensor | None:
    """The starting gradient in the two most frequent cases; None otherwise."""
    array = out._array
    if grad is None:
        if array.ndim or out._level is not None or getattr(out, "_edge", NO_EDGE) is NO_EDGE:
            return None
        one = _ONE.get(array.dtype)
        return None if one is None else wrap(one.copy())
    if isinstance(grad, Tensor) and grad._array.dtype is array.dtype and grad._array.shape == array.shape:
        return grad
    return None


def _implicit(shape: Any, dtype: Any) -> Tensor:
    """The gradient of a scalar with respect to itself."""
    if shape is None or shape.numel() != 1:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    if not dtype.is_floating_point:
        raise RuntimeError(f"grad can be implicitly created only for real scalar outputs but got {dtype}")
    return wrap(np.ones(shape, dtype.np))


def root_edges(outputs: Sequence[Any]) -> list[Edge]:
    """The edges from which a pass starts."""
    edges = []
    for index, out in enumerate(outputs):
        edge = edge_of(out) if isinstance(out, Tensor) else as_edge(out)
        if edge[0] is None:
            error = RuntimeError(f"element {index} of tensors does not require grad and does not have a grad_fn")
            seen = log.get()
            error.add_note(
                seen.log.why_no_grad(out)
                if seen is not None and seen.log is not None
                else "`with penlight.inspect.watch():` or `penlight run --watch` tells which line cut it off."
            )
            raise error
        edges.append(edge)
    return edges


def input_edges(inputs: Sequence[Any]) -> list[Edge]:
    """The edges at which the requested gradients arrive."""
    edges = []
    for value in inputs:
        if not isinstance(value, Tensor) and not is_edge(value):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(value).__name__}")
        edge = as_edge(value)
        if edge is NO_EDGE:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        edges.append(edge)
    return edges
