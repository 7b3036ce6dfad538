"""vmap: turns a function of one sample into a function of a batch.

>>> import penlight as torch
>>> x, y = torch.arange(6.0).view(3, 2), torch.ones(3, 2)
>>> torch.vmap(torch.dot)(x, y)
tensor([1., 5., 9.])

# Note [Steps that others replace]
This module is also `torch._functorch.vmap`. Libraries with containers of tensors (tensordict) replace `_process_batched_inputs`,
`_create_batched_inputs` and `_unwrap_batched` by their own functions, which `vmap` must then call. So these have PyTorch's names and
arguments, and a level is identified by its number, as in PyTorch.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..ops import cat
from ..ops.machinery.dispatch import interpreters
from ..random import get_rng_state, set_rng_state
from ..tensor import Tensor
from ..utils._pytree import TreeSpec, _broadcast_to_and_flatten, tree_flatten, tree_leaves, tree_unflatten
from .batched import broadcast, wrap
from .level import BatchLevel


def vmap(
    func: Callable[..., Any], in_dims: int | tuple[Any, ...] = 0, out_dims: Any = 0, randomness: str = "error", *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """A function that applies `func` to each sample of a batch, by ops on the full batch.

    `in_dims` is the batch dimension of each input (None: all samples share the input), `out_dims` that of each output. `randomness`:
    whether random ops in `func` are refused ("error"), draw for each sample
    ("different") or once for all ("same"). `chunk_size`: at most that many samples at a time.

    >>> torch.vmap(lambda x, w: (x * w).sum(), in_dims=(0, None))(torch.ones(3, 2), torch.tensor([1.0, 10.0]))
    tensor([11., 11., 11.])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        _check_out_dims(func, out_dims)
        size, dims, flat, spec = _process_batched_inputs(in_dims, args, func)
        if chunk_size is not None:
            return _in_chunks(func, size, dims, flat, spec, out_dims, randomness, chunk_size, kwargs)
        return run(func, BatchLevel(size, randomness), dims, flat, spec, out_dims, kwargs)

    return _like(wrapped, func)


def _like(wrapped: Callable[..., Any], func: Any) -> Callable[..., Any]:
    """A transformed function with the name and docstring of the original."""
    return functools.update_wrapper(wrapped, func, updated=())


def _get_name(func: Any) -> str:
    inner = func.func if isinstance(func, functools.partial) else None
    unnamed = repr(func) if inner is None else f"functools.partial({_get_name(inner)}, ...)"
    return getattr(func, "__name__", unnamed)


# ----- Inputs -------------------------------------------------------------------------------------------------------


def _process_batched_inputs(
    in_dims: Any, args: tuple[Any, ...], func: Any
) -> tuple[int, list[int | None], list[Any], TreeSpec]:
    """The size of the batch, and the inputs as a flat list, each with its batch dimension."""
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"vmap({_get_name(func)}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) "
            f"tuple matching the structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_get_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a "
            "function with no inputs. The latter is unsupported."
        )
    flat, spec = tree_flatten(args)
    dims = _broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({_get_name(func)}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure of `inputs`. "
            f"in_dims has structure {tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    dims = [_in_dim(func, in_dims, d, arg) for d, arg in zip(dims, flat)]
    return _batch_size(dims, flat), dims, flat, spec


def _in_dim(func: Any, in_dims: Any, dim: Any, arg: Any) -> int | None:
    if dim is None:
        return None
    head = f"vmap({_get_name(func)}, in_dims={in_dims}, ...)(<inputs>): Got in_dim={dim} for "
    if not isinstance(dim, int):
        raise ValueError(head + "an input but in_dim must be either an integer dimension or None.")
    if not isinstance(arg, Tensor):
        raise ValueError(
            f"{head}an input but the input is of type {type(arg)}. We cannot vmap over non-Tensor arguments, please use None as "
            "the respective in_dim"
        )
    n = arg.dim()
    if not -n <= dim < n:
        raise ValueError(
            f"{head}some input, but that input is a Tensor of dimensionality {n} so expected in_dim to satisfy -{n} <= in_dim "
            f"< {n}."
        )
    return dim % n


def _batch_size(dims: list[int | None], flat: list[Any]) -> int:
    sizes = [arg.size(d) for d, arg in zip(dims, flat) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(n != sizes[0] for n in sizes):
        raise ValueError(
            f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension"
        )
    return sizes[0]


def enter(level: BatchLevel, tensor: Tensor, dim: int) -> Any:
    """A tensor, batched along one of its dimensions, as one sample."""
    return wrap(level, tensor.movedim(dim, 0) if dim else tensor)


def _open_level(number: int) -> BatchLevel:
    """The open vmap with this number. See Note [Steps that others replace]."""
    for level in interpreters.get():
        if level.batching and level.number == number:
            return level
    raise RuntimeError(f"vmap: there is no open level {number}")


def _add_batch_dim(tensor: Tensor, dim: int, level: int) -> Any:
    """A tensor, batched along one of its dimensions at the vmap with this number, as one sample."""
    return enter(_open_level(level), tensor, dim)


def _remove_batch_dim(tensor: Tensor, level: int, batch_size: int, out_dim: int) -> Any:
    """A tensor in which the batch of the vmap with this number is a dimension again."""
    return leave(_open_level(level), tensor, out_dim, "")


def _create_batched_inputs(dims: list[int | None], flat: list[Any], level: int, spec: TreeSpec) -> Any:
    """The inputs of the function, each as one sample."""
    return tree_unflatten([arg if d is None else _add_batch_dim(arg, d, level) for d, arg in zip(dims, flat)], spec)


# ----- Running ------------------------------------------------------------------------------------------------------


def run(
    func: Any, level: BatchLevel, dims: list[int | None], flat: list[Any], spec: TreeSpec, out_dims: Any,
    kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    """Call a function with a level open: batch its inputs, and unbatch its outputs."""
    with level:
        inputs = _create_batched_inputs(dims, flat, level.number, spec)
        return _unwrap_batched(func(*inputs, **kwargs), out_dims, level.number, level.size, func)


def _unwrap_batched(outputs: Any, out_dims: Any, level: int, batch_size: int, func: Any) -> Any:
    """The outputs of the function, each with the batch as a dimension."""
    flat, spec = tree_flatten(outputs)
    if isinstance(outputs, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        dims: Any = list(out_dims)
    elif isinstance(outputs, Tensor) and not isinstance(out_dims, int) and out_dims is not None:
        dims = None
    else:
        dims = _broadcast_to_and_flatten(out_dims, spec)
    if dims is None:
        raise ValueError(
            f"vmap({_get_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of "
            f"`outputs`. out_dims has structure {tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    name = _get_name(func)
    return tree_unflatten(
        [_maybe_remove_batch_dim(name, out, level, batch_size, d) for out, d in zip(flat, dims)], spec
    )


def _maybe_remove_batch_dim(name: str, output: Any, level: int, batch_size: int, out_dim: int | None) -> Any:
    """One output of the function `name` with the batch as a dimension; unchanged if `out_dim` is None."""
    return leave(_open_level(level), output, out_dim, name)


def leave(level: BatchLevel, out: Any, dim: int | None, name: str) -> Any:
    """An output with the level's batch as one of its dimensions."""
    if dim is None:
        if isinstance(out, Tensor) and level.has(out):
            raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
        return out
    if not isinstance(out, Tensor):
        raise ValueError(
            f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(out)}. Did you mean to set out_dims= to None "
            "for output?"
        )
    value = broadcast(level, out)._value
    return value.movedim(0, dim) if dim else value


def _check_out_dims(func: Any, out_dims: Any) -> None:
    for d in tree_leaves(out_dims):
        if d is not None and not isinstance(d, int):
            raise ValueError(
                f"vmap({_get_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints "
                "representing where in the outputs the vmapped dimension should appear."
            )


# ----- Chunks -------------------------------------------------------------------------------------------------------


def _in_chunks(
    func: Any, size: int, dims: list[int | None], flat: list[Any], spec: TreeSpec, out_dims: Any, randomness: str,
    chunk_size: int, kwargs: dict[str, Any],
) -> Any:  # fmt: skip
    """Process the batch in chunks, and join the outputs."""
    state = get_rng_state() if randomness == "same" else None
    parts = []
    for start in range(0, size, chunk_size):
        length = min(chunk_size, size - start)
        if state is not None:
            set_rng_state(state)
        part = [arg if d is None else arg.narrow(d, start, length) for d, arg in zip(dims, flat)]
        parts.append(run(func, BatchLevel(length, randomness), dims, part, spec, out_dims, kwargs))
    if not parts:
        return run(func, BatchLevel(0, randomness), dims, flat, spec, out_dims, kwargs)
    columns = list(zip(*(tree_flatten(p)[0] for p in parts)))
    out_spec = tree_flatten(parts[0])[1]
    joined_at: Any = _broadcast_to_and_flatten(out_dims, out_spec) or out_dims
    return tree_unflatten([cat(column, d) for column, d in zip(columns, joined_at)], out_spec)
