"""jacrev, jacfwd, hessian: full Jacobians, computed in one pass over a batch of unit vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..ops import cat
from ..tensor import Tensor, wrap as plain_tensor
from ..utils._pytree import TreeSpec, tree_flatten, tree_unflatten
from .level import BatchLevel
from .mapping import _like, run
from .transforms import Argnums, jvp_of, picked, vjp_of


def _units(tensors: list[Tensor], start: int, count: int) -> list[Tensor]:
    """`count` unit vectors of the joint space of these tensors, from index `start` on, with a tensor for each part."""
    parts, before = [], 0
    for t in tensors:
        n = t.numel()
        part = np.zeros((count, n), t.dtype.np)
        low, high = max(start, before), min(start + count, before + n)
        rows = np.arange(low, max(low, high))
        part[rows - start, rows - before] = 1
        parts.append(plain_tensor(part.reshape(count, *t.shape)))
        before += n
    return parts


def _refuse_complex(name: str, what: str, tensors: list[Any]) -> None:
    for index, t in enumerate(tensors):
        if isinstance(t, Tensor) and t.dtype.is_complex:
            raise RuntimeError(
                f"{name}: Expected all {what}s to be real but received complex tensor at flattened input idx: {index}"
            )


# ----- By reverse mode ----------------------------------------------------------------------------------------------


def jacrev(
    func: Callable[..., Any], argnums: Argnums = 0, *, has_aux: bool = False, chunk_size: int | None = None,
    _preallocate_and_copy: bool = False,
) -> Callable[..., Any]:  # fmt: skip
    """A function that returns the Jacobian of `func`, by reverse mode: one batched backward pass for all outputs.

    >>> torch.func.jacrev(lambda x: x**2)(torch.tensor([1.0, 3.0]))
    tensor([[2., 0.],
            [0., 6.]])
    """
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError("jacrev: `chunk_size` should be greater than 0.")

    def wrapper(*args: Any) -> Any:
        _refuse_complex("jacrev", "input", tree_flatten(picked(args, argnums))[0])
        output, pull, *aux = vjp_of(func, args, argnums, has_aux)
        outputs, out_spec = tree_flatten(output)
        _refuse_complex("jacrev", "output", outputs)
        inputs, in_spec = tree_flatten(picked(args, argnums))
        columns = _pulled(pull, outputs, out_spec, chunk_size, len(inputs))
        rows = _split_rows(columns, outputs, inputs)
        result = tree_unflatten([tree_unflatten(row, in_spec) for row in rows], out_spec)
        return (result, aux[0]) if has_aux else result

    return _like(wrapper, func)


def _pulled(pull: Any, outputs: list[Tensor], spec: Any, chunk_size: int | None, count: int) -> list[Any]:
    """For each input: its gradients for all unit cotangents, stacked."""
    total = sum(t.numel() for t in outputs)
    step = total if chunk_size is None else chunk_size
    parts: list[list[Any]] = []
    for start in range(0, max(total, 1), max(step, 1)):
        size = min(step, total - start)
        units = _units(outputs, start, size)
        if size == 1:
            one = pull(tree_unflatten([u[0] for u in units], spec))
            parts.append([g.unsqueeze(0) for g in tree_flatten(one)[0]])
            continue
        found = run(pull, BatchLevel(size), [0] * len(units), units, _tuple_of(spec), 0, {})
        parts.append(tree_flatten(found)[0])
    if len(parts) == 1:
        return parts[0]
    return [cat(column) for column in zip(*parts)]


def _tuple_of(spec: Any) -> Any:
    """The structure of a call with one argument."""
    return TreeSpec(tuple, None, [spec])


def _split_rows(columns: list[Any], outputs: list[Tensor], inputs: list[Tensor]) -> list[list[Any]]:
    """Stacked gradients as one block for each pair of output and input."""
    sizes = [t.numel() for t in outputs]
    parted = [column.split(sizes) for column in columns]
    return [
        [parts[o].reshape(*out.shape, *given.shape) for parts, given in zip(parted, inputs)]
        for o, out in enumerate(outputs)
    ]


# ----- By forward mode ----------------------------------------------------------------------------------------------


def jacfwd(
    func: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[..., Any]:
    """A function that returns the Jacobian of `func`, by forward mode: one batched pass for all inputs.

    >>> torch.func.jacfwd(lambda x: x**2)(torch.tensor([1.0, 3.0]))
    tensor([[2., 0.],
            [0., 6.]])
    """

    def wrapper(*args: Any) -> Any:
        inputs, in_spec = tree_flatten(picked(args, argnums))
        _refuse_complex("jacfwd", "input", inputs)
        total = sum(t.numel() for t in inputs)
        units = _units(inputs, 0, total)
        kept: list[Any] = []

        def push(tangents: Any) -> Any:
            value, moved, *aux = jvp_of(func, args, tangents, argnums, has_aux=has_aux)
            kept[:] = [value, *aux]
            return moved

        # Only tangents are batched here, unless random ops draw samples for each: see Note [Reverse mode inside vmap].
        level = BatchLevel(total, randomness, tangents_only=randomness != "different")
        moved = run(push, level, [0] * len(units), units, _tuple_of(in_spec), 0, {})
        outputs, out_spec = tree_flatten(moved)
        _refuse_complex("jacfwd", "output", outputs)
        rows = [_split_columns(out, inputs) for out in outputs]
        result = tree_unflatten([tree_unflatten(row, in_spec) for row in rows], out_spec)
        return (result, _unbatched(kept[1], level)) if has_aux else result

    return _like(wrapper, func)


def _split_columns(moved: Any, inputs: list[Tensor]) -> list[Any]:
    """The stacked tangents of one output for all unit tangents, as one block for each input."""
    shape = moved.shape[1:]
    parts = moved.movedim(0, -1).split([t.numel() for t in inputs], -1)
    return [part.reshape(*shape, *given.shape) for part, given in zip(parts, inputs)]


def _unbatched(aux: Any, level: BatchLevel) -> Any:
    """`aux` of one of the calls, since it does not depend on the tangents."""
    flat, spec = tree_flatten(aux)
    return tree_unflatten([level.value(t)[0] if isinstance(t, Tensor) and level.has(t) else t for t in flat], spec)


def hessian(func: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """A function that returns the Hessian of `func`: forward mode over reverse mode.

    >>> torch.func.hessian(lambda x: (x**3).sum())(torch.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)
