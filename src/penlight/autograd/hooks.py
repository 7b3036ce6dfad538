"""Calls hooks during a backward pass, in PyTorch's order: tensor hooks, retain_grad, pre-hooks, the node, post-hooks.

Hooks receive tensors. In the array namespace gradients are wrapped before the call and unwrapped after it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..kernels.lazy import lazy_import
from .accumulate import writable
from .node import AccumulateGrad, Node

if TYPE_CHECKING:
    from ..tensor import Tensor

_tensor = lazy_import(globals(), "_tensor", "..tensor")


def before(node: Node, grad: Any, graph: bool, run_pre: bool = True) -> Any:
    """Run the hooks that precede a node; they may replace the gradients of its outputs."""
    registered = node._hooks
    assert registered is not None
    single = node.outputs == 1
    grads = [grad] if single else list(grad)
    if not (registered.tensor or registered.retain or registered.pre):
        return grad
    tensors = [_as_tensor(g) for g in grads]
    for nr, functions in list(registered.tensor.items()):
        for function in list(functions.values()):
            tensors[nr] = _replaced(function(tensors[nr]), tensors[nr], function)
    for nr, ref in list(registered.retain.items()):
        owner, arrived = ref(), tensors[nr]
        if owner is not None and arrived is not None:
            _retain(owner, arrived, graph)
    if run_pre:
        for function in list(registered.pre.values()):
            tensors = list(_all_replaced(function(tuple(tensors)), tuple(tensors), function))
    if graph:
        grads = tensors
    else:
        grads = [None if t is None else t._array for t in tensors]
    return grads[0] if single else grads


def around(node: Node, grad: Any, keep: bool) -> Any:
    """Run a node on arrays between its hooks."""
    grad = before(node, grad, False)
    results: Any = (None,) * len(node.next_functions)
    if grad is not None or node.runs_on_none:
        results = node.run_raw(grad, keep)
    return after(node, results, grad, False) if node._hooks.post else results  # type: ignore[union-attr]


def after(node: Node, results: Any, grad: Any, graph: bool) -> Any:
    """Run the post-hooks of a node; they may replace the gradients of its inputs."""
    registered = node._hooks
    assert registered is not None
    inputs = tuple(_as_tensor(g) for g in results)
    outputs = tuple(_as_tensor(g) for g in (grad if type(grad) is list else [grad]))
    for function in list(registered.post.values()):
        inputs = _all_replaced(function(inputs, outputs), inputs, function)
    return inputs if graph else tuple(None if t is None else t._array for t in inputs)


def after_leaf(leaf: AccumulateGrad, grad: Any, graph: bool) -> None:
    """Called once a leaf's `.grad` is up to date: post-hooks of its node, then post-accumulate-grad hooks on the tensor."""
    registered = leaf._hooks
    assert registered is not None
    for function in list(registered.post_accumulate.values()):
        result = function(leaf.variable)
        if result is not None and _checked(result, leaf.variable, function) is not leaf.variable:
            raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    if registered.post:
        after(leaf, (), grad, graph)


def _as_tensor(grad: Any) -> Tensor | None:
    if grad is None or hasattr(grad, "_array"):
        return grad  # type: ignore[no-any-return]
    return _tensor.wrap(writable(grad))  # type: ignore[no-any-return]


def _retain(owner: Tensor, grad: Tensor, graph: bool) -> None:
    """Put a gradient into the `.grad` of a tensor that called retain_grad()."""
    owner._grad = grad.clone() if owner._grad is None else owner._grad + grad


def _replaced(result: Any, grad: Tensor | None, function: Any) -> Tensor | None:
    """The return value of a tensor hook, if it is a valid gradient; else the gradient itself."""
    return grad if result is None else _checked(result, grad, function)


def _all_replaced(result: Any, grads: tuple[Any, ...], function: Any) -> tuple[Any, ...]:
    """The gradients that a hook on a node returned, if they are valid; else the old ones."""
    if result is None:
        return grads
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != len(grads):
        raise RuntimeError(
            f"hook '{_name(function)}' has returned an incorrect number of values (got {len(result)}, but expected {len(grads)})"
        )
    return tuple(None if r is None else _checked(r, g, function) for r, g in zip(result, grads))


def _checked(result: Any, grad: Tensor | None, function: Any) -> Tensor:
    from ..tensor import Tensor

    if not isinstance(result, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    if grad is None:
        return result
    if result.dtype is not grad.dtype:
        raise RuntimeError(
            f"hook '{_name(function)}' has changed the type of value (was {grad.type()} got {result.type()})"
        )
    if result.shape != grad.shape:
        raise RuntimeError(f"hook '{_name(function)}' has changed the size of value")
    return result


def _name(function: Any) -> str:
    return getattr(function, "__name__", None) or type(function).__name__
