"""What `autograd.backward` and `autograd.grad` do: check their arguments, run the engine, hand out the gradients."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._common.user_warnings import warn_once, warn_user
from ..creation import zeros_like
from ..kernels.lazy import lazy_import
from ..tensor import Tensor, wrap
from . import modes
from ._arguments import as_tuple, input_edges, is_edge, root_edges, root_grads, usual_grad
from .accumulate import writable
from .engine import Captures, execute

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
            tensor.retain_grad()  # how a non-leaf gets its `.grad`; a leaf's AccumulateGrad does that anyway
    execute(roots, found, keep, create_graph, Captures(input_edges(wanted), accumulate=True))


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any,
    retain_graph: bool | None,
    create_graph: bool,
    only_inputs: bool,
    allow_unused: bool | None,
    is_grads_batched: bool,
    materialize_grads: bool,
) -> tuple[Any, ...]:
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
    return _results(wanted, captures.grads, allow_unused, materialize_grads, found)


def _given(grads: Any, outputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The gradients that a pass was given, one for each output."""
    if grads is None:
        return (None,) * len(outputs)
    grads = as_tuple(grads)
    if len(grads) < len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(grads)} gradients")
    return tuple(grads)


def _results(
    wanted: Any, grads: Any, allow_unused: bool, materialize: bool, given: Sequence[Any] = ()
) -> tuple[Any, ...]:
    """The gradients as tensors. One that is an array that the pass was given, or found before, is that tensor, as in PyTorch; one
    that shares the memory of a given tensor shares its version."""
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
                grad = zeros_like(tensor)
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
    """One pass for the whole batch of gradients: vmap over the engine."""
    from ..func.level import BatchLevel

    count = next(g for g in grads if g is not None).shape[0]
    with BatchLevel(count) as level:
        captures = Captures(input_edges(wanted))
        execute(
            roots, [None if g is None else _mapping.enter(level, g, 0) for g in grads], keep, create_graph, captures
        )
        found = [None if g is None else _mapping.leave(level, g, 0, "grad") for g in captures.grads]
    return _results(wanted, found, allow_unused, materialize)
