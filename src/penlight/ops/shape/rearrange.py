"""Rearranging: rotating and flipping, repeating elements, grids and combinations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, combinations as choices, combinations_with_replacement
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.user_warnings import warn_user
from ...autograd import modes, views
from ...autograd.node import NO_EDGE
from ...creation import _accept
from ...device import require_cpu
from ...kernels.copies import fresh
from ...kernels.index.gather_scatter import nonzero
from ...kernels.index_width import native_counts
from ...kernels.lazy import lazy_import
from ...kernels.numpy_calls import lower
from ...layout import contiguous_format
from ...size import Size
from ...tensor import Tensor, wrap
from ..machinery.arguments import as_int, broadcast_shape, wrap_dim
from ..machinery.declare import linear, method
from ..machinery.guards import need_countable, not_implemented, unrecorded, unrecorded_view
from ..machinery.op import traits
from .joining import _check_list, flipped, stack
from .views import _expand, _view

__all__ = [
    "broadcast_shapes", "broadcast_tensors", "cartesian_prod", "combinations", "fliplr", "flipud", "meshgrid",
    "repeat_interleave", "rot90", "tril_indices", "triu_indices", "unravel_index"
]  # fmt: skip

_batched = lazy_import(globals(), "_batched", "...func.batched")
_batching = lazy_import(globals(), "_batching", "...func.batching")


# ----- Rotating and flipping ----------------------------------------------------------------------------------------


def _rotated(input: Any, k: int, dims: tuple[int, int]) -> Any:
    """A flipped copy, transposed for an odd number of rotations: PyTorch's layout of the result."""
    flips = {0: (), 1: (dims[1],), 2: dims, 3: (dims[0],)}[k % 4]
    out = flipped(input, flips) if flips else fresh(input)
    return np.swapaxes(out, *dims) if k % 2 else out


@linear(_rotated, node="Rot90Backward0",
        input=lambda grad, k, dims, xp: xp._rot90(grad, -k, dims))  # fmt: skip
@traits(any_layout=True)
def _rot90(input: Tensor, k: int, dims: tuple[int, ...]) -> Tensor: ...


@method
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """The tensor rotated by 90 degrees, k times, in the plane of two dimensions.

    >>> torch.rot90(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    dims = tuple(dims)
    if len(dims) != 2:
        raise RuntimeError(f"expected total rotation dims == 2, but got dims = {len(dims)}")
    if input.dim() < 2:
        raise RuntimeError(f"expected total dims >= 2, but got total dims = {input.dim()}")
    first, second = wrap_dim(dims[0], input.dim()), wrap_dim(dims[1], input.dim())
    if first == second:
        raise RuntimeError(f"expected rotation dims to be different, but got dim0 = {dims[0]} and dim1 = {dims[1]}")
    return _rot90(input, as_int(k), (first, second))


@method
def fliplr(input: Tensor) -> Tensor:
    """The columns in reverse order.

    >>> torch.fliplr(torch.tensor([[1, 2], [3, 4]]))
    tensor([[2, 1],
            [4, 3]])
    """
    if input.dim() < 2:
        raise RuntimeError("Input must be >= 2-d.")
    return input.flip(1)


@method
def flipud(input: Tensor) -> Tensor:
    """The rows in reverse order.

    >>> torch.flipud(torch.tensor([[1, 2], [3, 4]]))
    tensor([[3, 4],
            [1, 2]])
    """
    if input.dim() < 1:
        raise RuntimeError("Input must be >= 1-d.")
    return input.flip(0)


# ----- Repeating elements -------------------------------------------------------------------------------------------


def _repeated_positions(repeats: Tensor, n: int | None, dim: int) -> np.ndarray[Any, Any]:
    """Each index repeated as often as `repeats` says."""
    counts = repeats._array
    if counts.dtype.kind not in "iu" or counts.dtype.itemsize < 4:
        raise not_implemented("repeat_interleave_cpu", counts.dtype)
    if counts.ndim > 1:
        raise RuntimeError("repeat_interleave only accept 1D vector as repeat")
    if counts.size and counts.min() < 0:
        raise RuntimeError("repeats can not be negative")
    if n is not None and counts.size == 1:
        counts = np.broadcast_to(counts.reshape(1), (n,))
    if n is not None and len(counts) != n:
        raise RuntimeError(
            f"repeats must have the same size as input along dim, but got repeats.size(0) = {len(counts)} and "
            f"input.size({dim}) = {n}"
        )
    return np.repeat(np.arange(len(counts), dtype=np.int64), native_counts(counts))


@method
def repeat_interleave(
    input: Tensor, repeats: Any = None, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element (or slice along `dim`) repeated, all equally often or each its own number of times.

    >>> torch.repeat_interleave(torch.tensor([1, 2]), 2)
    tensor([1, 1, 2, 2])
    >>> torch.repeat_interleave(torch.tensor([1, 2]), torch.tensor([1, 3]))
    tensor([1, 2, 2, 2])
    """
    if repeats is None:
        return wrap(_repeated_positions(input, None, 0).astype(input.dtype.np, copy=False))
    if dim is None:
        input, dim = input.flatten(), 0
    axis = wrap_dim(dim, input.dim())
    if not isinstance(repeats, Tensor):
        if as_int(repeats) < 0:
            raise RuntimeError("Repeats must be non-negative")
        return _repeat_each(input.unsqueeze(0) if input.dim() == 0 else input, int(repeats), axis)
    count = input.shape[axis] if input.dim() else 1
    if repeats._level is not None:
        return input.index_select(axis, _batched_positions(repeats, count, output_size))
    positions = _repeated_positions(repeats, count, axis)
    if output_size is not None and output_size != len(positions):
        raise RuntimeError("allocated size does not match required size")
    return input.index_select(axis, wrap(positions))


def _batched_positions(repeats: Tensor, n: int, output_size: int | None) -> Tensor:
    """`_repeated_positions` for each sample of a vmap; all samples must have the same length."""
    repeats = repeats if repeats.dim() else repeats.unsqueeze(0)
    counts = np.broadcast_to(_batched.physical(repeats)._array, (*_batched.physical(repeats).shape[:-1], n))
    totals = counts.sum(-1)
    if totals.size and (counts.min() < 0 or totals.min() != totals.max()):
        raise RuntimeError(
            "repeats can not be negative" if counts.min() < 0 else _batching.DYNAMIC.format("repeat_interleave")
        )
    if output_size is not None and totals.size and output_size != totals.flat[0]:
        raise RuntimeError("allocated size does not match required size")
    each = np.broadcast_to(np.arange(n, dtype=np.int64), counts.shape).reshape(-1)
    positions = np.repeat(each, native_counts(counts).reshape(-1))
    return _batched.wrap_all(_batched.levels_of(repeats), wrap(positions.reshape(*totals.shape, -1)))


def _repeat_each(input: Tensor, repeats: int, dim: int) -> Tensor:
    if not modes.slow() and (not modes.is_grad_enabled() or getattr(input, "_edge", None) is NO_EDGE):
        return wrap(input._array.repeat(repeats, dim))
    shape = tuple(input.shape)
    wide = input.unsqueeze(dim + 1).expand(*shape[: dim + 1], repeats, *shape[dim + 1 :])
    return wide.clone(memory_format=contiguous_format).flatten(dim, dim + 1)


# ----- Grids and combinations ---------------------------------------------------------------------------------------


def meshgrid(*tensors: Any, indexing: str | None = None) -> tuple[Tensor, ...]:
    """The coordinates of a grid, one tensor for each axis; `indexing` is "ij" or "xy" (first two axes swapped).

    >>> torch.meshgrid(torch.tensor([1, 2]), torch.tensor([3, 4]), indexing="ij")[0]
    tensor([[1, 1],
            [2, 2]])
    """
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tuple(tensors[0])
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing is None:
        warn_user("torch.meshgrid: in an upcoming release, it will be required to pass the indexing argument.")
        indexing = "ij"
    return _grid(tensors, indexing)


def _grid(tensors: Sequence[Tensor], indexing: str) -> tuple[Tensor, ...]:
    for t in tensors:
        if t._array.ndim > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {t!r}")
        if t._array.dtype is not tensors[0]._array.dtype and t.dtype is not tensors[0].dtype:
            raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if indexing not in ("ij", "xy"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    swap = indexing == "xy" and len(tensors) >= 2
    ordered = [tensors[1], tensors[0], *tensors[2:]] if swap else tensors
    shape = tuple([t._array.size for t in ordered])
    rank = len(shape)
    if unrecorded(tensors):
        grids = [_window(t, position, shape) for position, t in enumerate(ordered)]
    else:
        sizes = [(1,) * position + (n,) + (1,) * (rank - position - 1) for position, n in enumerate(shape)]
        grids = [_expand(_view(t, size), shape) for t, size in zip(ordered, sizes)]
    return tuple([grids[1], grids[0], *grids[2:]] if swap else grids)


def _window(vector: Tensor, position: int, shape: tuple[int, ...]) -> Tensor:
    """A vector expanded along one dimension of a grid, constant along the others: a view outside of any graph."""
    array = vector._array
    step = array.strides[0] if array.ndim else array.itemsize
    strides = [0 if n != 1 else array.size * step if d < position else step for d, n in enumerate(shape)]
    strides[position] = step
    return unrecorded_view(vector, views.strided_window(array, shape, tuple(strides), 0))


def cartesian_prod(*tensors: Tensor) -> Tensor:
    """All combinations of one element from each vector, one per row.

    >>> torch.cartesian_prod(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[1, 3],
            [1, 4],
            [2, 3],
            [2, 4]])
    """
    for t in tensors:
        if t.dim() != 1:
            raise RuntimeError(f"Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    if not tensors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if unrecorded(tensors) and len({t._array.dtype for t in tensors}) == 1:
        sizes = [t._array.size for t in tensors]
        rank = len(sizes)
        out = np.empty((*sizes, rank), tensors[0]._array.dtype)
        for position, t in enumerate(tensors):
            out[..., position] = t._array.reshape(-1, *[1] * (rank - position - 1))
        return wrap(out.reshape(-1, rank))
    return stack([g.flatten() for g in _grid(tensors, "ij")], 1)


def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All combinations of r elements of a vector, in order, one per row.

    >>> torch.combinations(torch.tensor([1, 2, 3]))
    tensor([[1, 2],
            [1, 3],
            [2, 3]])
    """
    if input.dim() != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    positions = _combined(input.numel(), r, with_replacement)
    return stack([input.index_select(0, wrap(positions[:, k].copy())) for k in range(r)], 1)


def _combined(n: int, r: int, with_replacement: bool) -> np.ndarray[Any, Any]:
    """The indices of all combinations, in lexicographic order."""
    rows = (combinations_with_replacement if with_replacement else choices)(range(n), r)
    count = math.comb(n + r - 1 if with_replacement else n, r)
    need_countable((count, r), 8)
    return np.fromiter(chain.from_iterable(rows), np.int64, count * r).reshape(-1, r)


def tril_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, **more: Any) -> Tensor:
    """The row and column indices of the lower triangle of a matrix.

    >>> torch.tril_indices(2, 2)
    tensor([[0, 1, 1],
            [0, 0, 1]])
    """
    return _triangle(False, row, col, offset, dtype, device, more)


def triu_indices(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, **more: Any) -> Tensor:
    """The row and column indices of the upper triangle of a matrix.

    >>> torch.triu_indices(2, 2)
    tensor([[0, 0, 1],
            [0, 1, 1]])
    """
    return _triangle(True, row, col, offset, dtype, device, more)


def _triangle(upper: bool, row: int, col: int, offset: int, dtype: Any, device: Any, more: dict[str, Any]) -> Tensor:
    more.pop("requires_grad", None)
    _accept("triu_indices" if upper else "tril_indices", more)
    dtype = dtypes.given(dtype)
    require_cpu(device)
    for name, n in (("row", row), ("col", col)):
        if n < 0:
            raise RuntimeError(f"{name} must be non-negative, got{n}")
    found = dtype or dtypes.int64
    inside = ~lower(row, col, offset - 1) if upper else lower(row, col, offset)
    return wrap(nonzero(inside).astype(found.np, copy=False))


def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]:
    """Indices into a flattened tensor as coordinates in a shape.

    >>> torch.unravel_index(torch.tensor([1, 5]), (2, 3))
    (tensor([0, 1]), tensor([1, 2]))
    """
    if indices.dtype.category != dtypes.INTEGRAL:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if isinstance(shape, (int, np.integer)):
        shape = (int(shape),)
    elif not isinstance(shape, (tuple, list)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    if any(n < 0 for n in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {tuple(shape)}")
    indices = indices.to(dtypes.int64)
    steps = wrap(np.array([math.prod(shape[d + 1 :]) for d in range(len(shape))], np.int64).astype(indices.dtype.np))
    sizes = wrap(np.array(shape, np.int64).astype(indices.dtype.np))
    return (indices.unsqueeze(-1).div(steps, rounding_mode="floor") % sizes).unbind(-1)


# ----- Broadcasting -------------------------------------------------------------------------------------------------


def broadcast_tensors(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Tensors expanded to their common shape.

    >>> torch.broadcast_tensors(torch.tensor([1, 2]), torch.tensor([[3], [4]]))[0]
    tensor([[1, 2],
            [1, 2]])
    """
    found = _check_list(tensors, "broadcast_tensors")
    shape = broadcast_shape(*[t._array.shape for t in found]) if found else ()
    return tuple([t if t._array.shape == shape else _expand(t, shape) for t in found])


def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that shapes broadcast to.

    >>> torch.broadcast_shapes((2, 1), (3,))
    torch.Size([2, 3])
    """
    result: list[int] = []
    for position, shape in enumerate(shapes):
        if not isinstance(shape, (int, tuple, list)):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {shape}")
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        result = [1] * (len(shape) - len(result)) + result
        for d in range(-1, -len(shape) - 1, -1):
            if shape[d] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if shape[d] in (1, result[d]):
                continue
            if result[d] != 1:
                raise RuntimeError(
                    f"Attempting to broadcast a dimension of length {shape[d]} at {d}! Mismatching argument at index {position} had "
                    f"{shape}; but expected shape should be broadcastable to {result}"
                )
            result[d] = shape[d]
    return Size(result)
