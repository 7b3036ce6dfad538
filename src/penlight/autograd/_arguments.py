"""What `backward` and `grad` are called with: tensors or gradient edges, and the gradients to start from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import dtypes
from ..kernels.lazy import lazy_import
from ..size import Size
from ..tensor import Tensor, wrap
from .modes import log
from .node import NO_EDGE, AccumulateGrad, Edge
from .views import edge_of

_creation = lazy_import(globals(), "_creation", "..creation")

_BATCHED = (
    "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as the batch dimension. The sizes of the "
    "remaining dimensions are expected to match the shape of corresponding output, but a mismatch was detected: "
)


def is_edge(value: Any) -> bool:
    """Whether this is a GradientEdge. (The class is in graph.py, which need not be imported for that.)"""
    return isinstance(value, tuple) and hasattr(value, "ownership_token")


def as_tuple(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Tensor):
        return (value,)
    return (value,) if is_edge(value) else tuple(value)


def place_of(value: Any) -> Edge:
    """The edge in the graph of a tensor or GradientEdge."""
    return (value.node, value.output_nr) if is_edge(value) else edge_of(value)


def _described(value: Any) -> tuple[Any, Any, bool]:
    """Shape, dtype and requires_grad of a tensor or of the tensor that a GradientEdge stands for; None for unknown."""
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
    """The gradients that a pass starts with: given ones checked, missing ones 1 for a scalar."""
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
    """The gradient to start from in the two cases that are nearly all there are; None if it is neither."""
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
    """Where a pass starts."""
    edges = []
    for index, out in enumerate(outputs):
        edge = edge_of(out) if isinstance(out, Tensor) else place_of(out)
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
    """Where the gradients that were asked for arrive."""
    edges = []
    for value in inputs:
        if not isinstance(value, Tensor) and not is_edge(value):
            raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(value).__name__}")
        edge = place_of(value)
        if edge is NO_EDGE:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
        edges.append(edge)
    return edges
