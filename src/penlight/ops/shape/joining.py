"""Joining, repeating and reordering: results with their own memory."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat as repeat_object
from operator import is_
from typing import Any

import numpy as np

from ... import dtypes
from ...autograd.modes import NAMESPACE
from ...autograd.views import history_first
from ...kernels.copies import contiguous as rows_of, fresh
from ...kernels.copies.order import astype, empty_like
from ...kernels.numpy_calls import flip as flip_array, roll as roll_array, tile as tile_array
from ...tensor import Tensor
from ..machinery.arguments import as_int, sizes, wrap_dim, wrap_dims
from ..machinery.array_namespace import both
from ..machinery.channels_last import channels_last
from ..machinery.declare import linear, method
from ..machinery.guards import need_countable
from ..machinery.op import traits

__all__ = ["cat", "clone", "concat", "concatenate", "flip", "roll", "stack", "tile"]

# ----- Copies -------------------------------------------------------------------------------------------------------


def _clone_array(input: Any, contiguous: bool | int) -> Any:
    """A copy; unless it must be contiguous, it keeps a dense layout. 4 and 5 select channels last."""
    if not contiguous:
        return astype(input, input.dtype)
    if contiguous is True:
        return fresh(input)
    channels = input.ndim + 1 - contiguous
    return np.moveaxis(fresh(np.moveaxis(input, channels, -1)), -1, channels)


@linear(_clone_array, node="CloneBackward0", input=lambda grad: grad)
@traits(any_layout=True, keeps_finite=("op", "rules"))
def _clone(input: Tensor, contiguous: bool | int) -> Tensor: ...


def in_format(input: Tensor, memory_format: Any) -> bool | int:
    """The memory format argument of `_clone`: False keeps the layout, True is contiguous, 4 and 5 are channels last."""
    name = repr(memory_format)
    if name in ("torch.channels_last", "torch.channels_last_3d"):
        rank = 4 if name == "torch.channels_last" else 5
        if input.dim() != rank:
            raise RuntimeError(f"required rank {rank} tensor to use {name[6:]} format")
        return rank
    return name == "torch.contiguous_format"


@method
def clone(input: Tensor, *, memory_format: Any = None) -> Tensor:
    """A copy with its own memory, recorded in the graph.

    >>> torch.ones(2).clone()
    tensor([1., 1.])
    """
    return _clone(input, in_format(input, memory_format))


@method
def contiguous(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor itself if it is contiguous, else a contiguous copy.

    >>> torch.ones(2, 3).t().contiguous().stride()
    (2, 1)
    """
    if memory_format is None:
        return input if input.is_contiguous() else _clone(input, True)
    wanted = in_format(input, memory_format)
    if not wanted and not input.is_contiguous():
        raise RuntimeError("preserve memory format is unsupported by the contiguous operator")
    return input if not wanted or input.is_contiguous(memory_format=memory_format) else _clone(input, wanted)


# ----- Joining ------------------------------------------------------------------------------------------------------


def _cat_arrays(arrays: Sequence[Any], dim: int) -> Any:
    """np.concatenate with PyTorch's layout: row-major (NumPy follows the arrays), or channels last if all arrays are."""
    joined = np.concatenate(arrays, dim)
    if joined.flags.c_contiguous or (joined.ndim in (4, 5) and all(map(channels_last, arrays))):
        return joined
    return rows_of(joined)


def _slices(grad: Any, shapes: Any, dim: int) -> list[Any]:
    """Views of an array, cut along a dimension into these shapes."""
    before, start, gradients = (slice(None),) * dim, 0, []
    for shape in shapes:
        end = start + shape[dim]
        gradients.append(grad[(*before, slice(start, end))])
        start = end
    return gradients


def _cat_rule(grad: Any, tensors_shapes: Any, dim: int, tensors_dtypes: Any, xp: Any) -> list[Any]:
    if type(grad) is np.ndarray and all(map(is_, tensors_dtypes, repeat_object(grad.dtype))):
        return _slices(grad, tensors_shapes, dim)
    gradients: list[Any] = []
    start = 0
    for shape, np_dtype in zip(tensors_shapes, tensors_dtypes):
        part = xp._slice(grad, dim, start, start + shape[dim], 1)
        gradients.append(xp.cast(part, np_dtype))
        start += shape[dim]
    return gradients


def _common(arrays: Sequence[Any]) -> list[Any]:
    """Arrays in their common dtype."""
    dtype = arrays[0].dtype
    if all([a.dtype is dtype for a in arrays]):
        return arrays  # type: ignore[return-value]
    if len({a.dtype for a in arrays}) == 1:
        return list(arrays)
    common = dtypes.result_dtype(arrays).np
    return [a if a.dtype == common else astype(a, common) for a in arrays]


def _stack_arrays(arrays: list[Any], dim: int) -> Any:
    """np.stack; for a new first dimension, with half of its calls."""
    first = arrays[0]
    if first.ndim in (4, 5) and dim < first.ndim and not first.flags.c_contiguous and all(map(channels_last, arrays)):
        return _cat_arrays(arrays, dim).reshape(*first.shape[:dim], len(arrays), *first.shape[dim:])
    if dim:
        return rows_of(np.stack(arrays, dim))
    if not first.ndim:
        return np.array(arrays, first.dtype)
    out = np.empty((len(arrays), *first.shape), first.dtype)
    np.concatenate(arrays, 0, out=out.reshape(len(arrays) * first.shape[0], *first.shape[1:]))
    return out


def _alike(tensors: Any) -> tuple[Any, Any] | None:
    """The shapes and dtypes of a list of plain tensors of one dtype; None for anything else."""
    if type(tensors) not in (list, tuple) or not tensors or NAMESPACE["SLOW"]:
        return None
    for t in tensors:
        if type(t) is not Tensor and not isinstance(t, Tensor):
            return None
    arrays = [t._array for t in tensors]
    dtype = arrays[0].dtype
    kinds = tuple([a.dtype for a in arrays])
    for kind in kinds:
        if kind is not dtype:
            return None
    return tuple([a.shape for a in arrays]), kinds


@linear(lambda tensors, dim, tensors_shapes, tensors_dtypes: _cat_arrays(_common(tensors), dim), node="CatBackward0", method=False,
        tensors=_cat_rule)  # fmt: skip
def _cat_list(tensors: Sequence[Tensor], dim: int, tensors_shapes: Any, tensors_dtypes: Any) -> Tensor: ...


def _check_list(tensors: Any, name: str) -> list[Tensor]:
    if isinstance(tensors, Tensor):
        raise TypeError(f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
    tensors = list(tensors)
    for position, t in enumerate(tensors):
        if not isinstance(t, Tensor):
            raise TypeError(f"expected Tensor as element {position} in argument 0, but got {type(t).__name__}")
    return tensors


def _joinable(shapes: Any, dim: int) -> bool:
    """Whether arrays of these shapes can be joined along a dimension."""
    first = shapes[0]
    for shape in shapes:
        if shape != first and (
            len(shape) != len(first) or (*shape[:dim], *shape[dim + 1 :]) != (*first[:dim], *first[dim + 1 :])
        ):
            return False
    return True


def cat(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors concatenated along a dimension.

    >>> torch.cat([torch.tensor([1, 2]), torch.tensor([3])])
    tensor([1, 2, 3])
    """
    alike = _alike(tensors)
    if alike is not None and out is None and type(dim) is int:
        shapes, kinds = alike
        rank = len(shapes[0])
        axis = dim + rank if dim < 0 else dim
        if 0 <= axis < rank and shapes[0] != (0,) and _joinable(shapes, axis):
            return _cat_list(tuple(tensors), axis, shapes, kinds)
    tensors = _check_list(tensors, "cat")
    if not tensors:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for position, t in enumerate(tensors):
        if t.dim() == 0:
            history_first(*tensors)
            raise RuntimeError(f"zero-dimensional tensor (at position {position}) cannot be concatenated")
    # A 1-d empty tensor is compatible with any shape, a legacy of PyTorch.
    shaped = [t for t in tensors if tuple(t.shape) != (0,)] or tensors[:1]
    dim = wrap_dim(dim, shaped[0].dim())
    first = shaped[0].shape
    for position, t in enumerate(shaped):
        if t.dim() != len(first):
            history_first(*tensors)
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(first)} and {t.dim()}")
        for d, (n, m) in enumerate(zip(first, t.shape)):
            if n != m and d != dim:
                history_first(*tensors)
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {dim}. Expected size {n} but got size {m} for tensor "
                    f"number {position} in the list."
                )
    empty = tuple([0 if d == dim else n for d, n in enumerate(first)])
    kept = tuple([t if t.dim() == len(first) else t.reshape(empty) for t in tensors])
    shapes = tuple(tuple(t.shape) for t in kept)
    return _cat_list(kept, dim, shapes, tuple(t.dtype.np for t in kept), out=out)


def _stack_rule(grad: Any, dim: int, tensors_dtypes: Any, xp: Any) -> list[Any]:
    if type(grad) is np.ndarray and all(map(is_, tensors_dtypes, repeat_object(grad.dtype))):
        return list(grad if dim == 0 else np.moveaxis(grad, dim, 0))
    return [xp.cast(xp._select(grad, dim, i), d) for i, d in enumerate(tensors_dtypes)]


@linear(
    lambda tensors, dim, tensors_dtypes: _stack_arrays(_common(tensors), dim),
    node="StackBackward0",
    method=False,
    tensors=_stack_rule,
)
def _stack_list(tensors: Sequence[Tensor], dim: int, tensors_dtypes: Any) -> Tensor: ...


def stack(tensors: Sequence[Tensor], dim: int = 0, *, out: Tensor | None = None) -> Tensor:
    """Tensors of one shape along a new dimension.

    >>> torch.stack([torch.tensor([1, 2]), torch.tensor([3, 4])])
    tensor([[1, 2],
            [3, 4]])
    """
    alike = _alike(tensors)
    if alike is not None and out is None and type(dim) is int:
        shapes, kinds = alike
        rank = len(shapes[0]) + 1
        if -rank <= dim < rank and shapes.count(shapes[0]) == len(shapes):
            return _stack_list(tuple(tensors), dim + rank if dim < 0 else dim, kinds)
    tensors = _check_list(tensors, "stack")
    if not tensors:
        raise RuntimeError("stack expects a non-empty TensorList")
    for position, t in enumerate(tensors):
        if t.shape != tensors[0].shape:
            history_first(*tensors)
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(tensors[0].shape)} at entry 0 and "
                f"{list(t.shape)} at entry {position}"
            )
    dim = wrap_dim(dim, tensors[0].dim() + 1)
    return _stack_list(tuple(tensors), dim, tuple(t.dtype.np for t in tensors), out=out)


# For the rules of `split` and `unbind`: join parts, in either namespace.
both("_cat", np.concatenate, cat)
both("_stack", np.stack, stack)
both("zeros_for", lambda known, shape: np.zeros(shape, known.dtype), lambda known, shape: known.new_zeros(shape))

# ----- Repeating and reordering -------------------------------------------------------------------------------------


def _repeat_rule(grad: Any, input_shape: tuple[int, ...], repeats: tuple[int, ...], xp: Any) -> Any:
    """The sum of the copies: each dimension is viewed as (repeats, size), and the repeats are summed over."""
    extra = len(repeats) - len(input_shape)
    padded = (1,) * extra + tuple(input_shape)
    if 0 in repeats:
        return xp.zeros_for(grad, input_shape)
    shape = [n for r, m in zip(repeats, padded) for n in (r, m)]
    folded = xp.reshape(grad, tuple(shape))
    return xp.reshape(xp._sum_dims(folded, tuple(range(0, len(shape), 2)), False), tuple(input_shape))


@linear(tile_array, node="RepeatBackward0", input=_repeat_rule)
def _repeat(input: Tensor, repeats: tuple[int, ...]) -> Tensor: ...


@method
def repeat(input: Tensor, *args: Any, repeats: Any = None) -> Tensor:
    """The tensor repeated this many times along each dimension.

    >>> torch.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    times = sizes(args if repeats is None else (repeats,), "repeat")
    if len(times) < input.dim():
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if times and min(times) < 0:
        shape = (1,) * (len(times) - input.dim()) + tuple(input.shape)
        found = [n * k for n, k in zip(shape, times)]
        if min(found) < 0:
            bad = next(n for n in found if n < 0)
            raise RuntimeError(f"Trying to create tensor with negative dimension {bad}: {found}")
        times = tuple(max(k, 0) for k in times)
    try:
        return _repeat(input, times)
    except ValueError:
        shape = (1,) * (len(times) - input.dim()) + tuple(input.shape)
        need_countable([n * k for n, k in zip(shape, times)], input.element_size())
        raise


@method
def tile(input: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """Like `repeat`, with missing dimensions counted as one.

    >>> torch.tensor([1, 2]).tile(2)
    tensor([1, 2, 1, 2])
    """
    times = sizes(args if dims is None else (dims,), "tile")
    return repeat(input, (1,) * (input.dim() - len(times)) + times)


def flipped(input: Any, dims: tuple[int, ...]) -> Any:
    """A copy reversed along some dimensions, in the layout of the array."""
    out = empty_like(input)
    out[...] = flip_array(input, dims)
    return out


@linear(flipped, node="FlipBackward0", input=lambda grad, dims, xp: xp._flip(grad, dims))
@traits(any_layout=True)
def _flip(input: Tensor, dims: tuple[int, ...]) -> Tensor: ...


@method
def flip(input: Tensor, *args: Any, dims: Any = None) -> Tensor:
    """A copy with the elements reversed along some dimensions.

    >>> torch.tensor([1, 2, 3]).flip(0)
    tensor([3, 2, 1])
    """
    if dims is None:
        dims = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args or None
    dims = tuple(dims)
    return _flip(input, wrap_dims(dims, input.dim()) if dims else ())


def _roll_array(input: Any, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Any:
    if not dims:
        return roll_array(input.reshape(-1), shifts[0], 0).reshape(input.shape)
    follows = input.ndim in (4, 5) and channels_last(input)
    if follows:
        dims = tuple([input.ndim - 1 if d == 1 else d - (d > 1) for d in dims])
        input = np.moveaxis(input, 1, -1)
    for shift, dim in zip(shifts, dims):
        input = roll_array(input, shift, dim)
    return np.moveaxis(input, -1, 1) if follows else input


@linear(_roll_array, node="RollBackward0",
        input=lambda grad, shifts, dims, xp: xp._roll(grad, tuple(-s for s in shifts), dims))  # fmt: skip
@traits(any_layout=True)
def _roll(input: Tensor, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Tensor: ...


@method
def roll(input: Tensor, shifts: Any, dims: Any = ()) -> Tensor:
    """Elements shifted cyclically along dimensions.

    >>> torch.tensor([1, 2, 3]).roll(1)
    tensor([3, 1, 2])
    """
    moves = tuple(shifts) if isinstance(shifts, (tuple, list)) else (as_int(shifts),)
    along = tuple(dims) if isinstance(dims, (tuple, list)) else () if dims is None else (dims,)
    if not moves:
        raise RuntimeError("`shifts` required")
    if (along and len(along) != len(moves)) or (not along and len(moves) > 1):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(moves)}, dims:{len(along)}")
    if along and not input.dim():
        raise IndexError(f"Dimension specified as {along[0]} but tensor has no dimensions")
    if not input.numel():
        along = ()  # the dimensions do not matter then, even if they do not exist
    return _roll(input, moves[:1] if not along else moves, tuple(wrap_dim(d, input.dim()) for d in along))


concat, concatenate = cat, cat
