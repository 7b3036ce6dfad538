"""Functions of sparse COO tensors that change coordinates, not values: views, selection, joining, sizes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

import penlight

from .. import dtypes
from .._common.dims import wrap_dim, wrap_existing_dim
from ..size import Size
from ..tensor import Tensor, wrap
from .coo import TABLE, SparseTensor, function, refuse, sparse_coo_tensor, write


def _sizes(given: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else given


# ----- Dimensions -------------------------------------------------------------------------------------------------------


@function("permute")
def permute(s: SparseTensor, *dims: Any) -> Any:
    """Permute the dimensions: the sparse ones among themselves, and the dense ones."""
    order, ndim, sparse = _sizes(dims), len(s._size), s._coordinates.shape[0]
    if len(order) != ndim:
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired ordering of "
            f"dimensions i.e. input.dim() = {ndim} is not equal to len(dims) = {len(order)}"
        )
    order = tuple(wrap_existing_dim(d, ndim) for d in order)
    if len(set(order)) < ndim:
        raise RuntimeError("permute(): duplicate dims are not allowed.")
    if order == tuple(range(ndim)):
        return s
    if any(d >= sparse for d in order[:sparse]):
        raise NotImplementedError("permute that exchanges sparse and dense dimensions: use Tensor.to_dense() first")
    values = s._inner.permute(0, *(d - sparse + 1 for d in order[sparse:]))
    return SparseTensor(s._coordinates[list(order[:sparse])], values, [s._size[d] for d in order])


@function("transpose", "swapaxes", "swapdims")
def transpose(s: SparseTensor, dim0: int, dim1: int) -> Any:
    ndim, sparse = len(s._size), s._coordinates.shape[0]
    dim0, dim1 = wrap_existing_dim(dim0, ndim), wrap_existing_dim(dim1, ndim)
    if max(dim0, dim1) >= sparse:
        raise RuntimeError(
            f"sparse transpose: transposed dimensions must be sparse Got sparse_dim: {sparse}, d0: {dim0}, d1: {dim1}"
        )
    order = list(range(ndim))
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return permute(s, order)


@function("t")
def t(s: SparseTensor) -> Any:
    sparse, dense = s._coordinates.shape[0], s._inner.dim() - 1
    if sparse > 2 or dense:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got {sparse} sparse and {dense} dense dimensions"
        )
    return transpose(s, 0, 1) if sparse == 2 else s


@function("movedim", "moveaxis")
def movedim(s: SparseTensor, source: Any, destination: Any) -> Any:
    pairs = [
        [wrap_existing_dim(d, len(s._size)) for d in ((dims,) if isinstance(dims, int) else dims)]
        for dims in (source, destination)
    ]
    order = [d for d in range(len(s._size)) if d not in pairs[0]]
    for to, moved in sorted(zip(pairs[1], pairs[0])):
        order.insert(to, moved)
    return permute(s, order)


@function("unsqueeze")
def unsqueeze(s: SparseTensor, dim: int) -> Any:
    dim, sparse = wrap_dim(dim, len(s._size) + 1), s._coordinates.shape[0]
    size = [*s._size[:dim], 1, *s._size[dim:]]
    if dim > sparse:
        return SparseTensor(s._coordinates, s._inner.unsqueeze(dim - sparse + 1), size)
    return SparseTensor(wrap(np.insert(s._coordinates._array, dim, 0, axis=0)), s._inner, size)


# ----- Selection --------------------------------------------------------------------------------------------------------


def _subset(s: SparseTensor, where: np.ndarray[Any, Any], coordinates: np.ndarray[Any, Any], size: Any) -> Any:
    """Some of the elements, at other coordinates."""
    return SparseTensor(wrap(coordinates), s._inner[wrap(where)], size, s._coalesced)


@function("select")
def select(s: SparseTensor, dim: int, index: int) -> Any:
    dim, sparse = wrap_existing_dim(dim, len(s._size)), s._coordinates.shape[0]
    if not -s._size[dim] <= index < s._size[dim]:
        raise IndexError(f"select(): index {index} out of range for tensor of size {list(s._size)} at dimension {dim}")
    size = [*s._size[:dim], *s._size[dim + 1 :]]
    if dim >= sparse:
        return SparseTensor(s._coordinates, s._inner.select(dim - sparse + 1, index), size, s._coalesced)
    coordinates = s._coordinates._array
    (where,) = np.nonzero(coordinates[dim] == index % s._size[dim])
    if sparse == 1:
        return s._inner[wrap(where)].sum(0)
    return _subset(s, where, np.delete(coordinates[:, where], dim, axis=0), size)


@function("__getitem__")
def pick(s: SparseTensor, index: Any) -> Any:
    """`s[i]`, `s[:, i]`, `s[None]`: integers, full slices, None and Ellipsis."""
    dim, picked = 0, cast(Any, s)
    given = index if isinstance(index, tuple) else (index,)
    if given == (Ellipsis,):
        refuse("index")
    for at, part in enumerate(given):
        if isinstance(part, (int, np.integer)) and not isinstance(part, bool):
            if not -picked.shape[dim] <= part < picked.shape[dim]:
                raise IndexError(f"index {part} is out of bounds for dimension {dim} with size {picked.shape[dim]}")
            picked = picked.select(dim, int(part))
        elif part is None:
            picked, dim = picked.unsqueeze(dim), dim + 1
        elif part is Ellipsis:
            dim = picked.dim() - sum(p is not None for p in given[at + 1 :])
        elif part == slice(None):
            dim += 1
        else:
            refuse("index")
    return picked


@function("unbind")
def unbind(s: SparseTensor, dim: int = 0) -> Any:
    return tuple(select(s, dim, i) for i in range(s._size[dim]))


@function("narrow_copy")
def narrow_copy(s: SparseTensor, dim: int, start: int, length: int) -> Any:
    dim, sparse = wrap_existing_dim(dim, len(s._size)), s._coordinates.shape[0]
    start = start + s._size[dim] if start < 0 else start
    if not 0 <= start <= start + length <= s._size[dim]:
        raise RuntimeError(
            f"Invalid range to narrow. range(start, start+length) must be a subset of range(0, {s._size[dim]})."
        )
    size = [*s._size[:dim], length, *s._size[dim + 1 :]]
    if dim >= sparse:
        return SparseTensor(s._coordinates, s._inner.narrow(dim - sparse + 1, start, length), size, s._coalesced)
    coordinates = s._coordinates._array
    (where,) = np.nonzero((coordinates[dim] >= start) & (coordinates[dim] < start + length))
    moved = coordinates[:, where]
    moved[dim] -= start
    return _subset(s, where, moved, size)


@function("index_select")
def index_select(s: SparseTensor, dim: int, index: Tensor) -> Any:
    dim, sparse = wrap_existing_dim(dim, len(s._size)), s._coordinates.shape[0]
    wanted = index.reshape(-1)
    outside = (wanted < -s._size[dim]) | (wanted >= s._size[dim])
    if outside.any():
        raise IndexError(
            f"index_select(): index contains {wanted[outside][0].item()} that is out of range for tensor of size {list(s._size)} at dimension {dim}"
        )
    size = [*s._size[:dim], len(wanted), *s._size[dim + 1 :]]
    if dim >= sparse:
        return SparseTensor(s._coordinates, s._inner.index_select(dim - sparse + 1, wanted % s._size[dim]), size)
    coordinates, lines = s._coordinates._array, wanted._array % max(s._size[dim], 1)
    order = np.argsort(coordinates[dim], kind="stable")
    first, last = (np.searchsorted(coordinates[dim][order], lines, side) for side in ("left", "right"))
    counts = last - first
    positions = np.repeat(np.arange(len(lines)), counts)
    where = order[np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts)]
    moved = coordinates[:, where]
    moved[dim] = positions
    return SparseTensor(wrap(moved), s._inner[wrap(where)], size)


# ----- Joining ----------------------------------------------------------------------------------------------------------


@function("cat", "concat", "concatenate")
def cat(tensors: Any, dim: int = 0, **_: Any) -> Any:
    first = tensors[0]
    for position, s in enumerate(tensors):
        if not isinstance(s, SparseTensor):
            raise RuntimeError(f"Concatenating sparse tensors, but a dense tensor was found at position {position}.")
    ndim, sparse = len(first._size), first._coordinates.shape[0]
    dim = wrap_existing_dim(dim, ndim)
    others = [d for d in range(ndim) if d != dim]
    for position, s in enumerate(tensors):
        if len(s._size) != ndim or any(s._size[d] != first._size[d] for d in others):
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first._size)} (except in the concatenating dimension), but found shape: "
                f"{list(s._size)} at position {position}."
            )
    size = list(first._size)
    size[dim] = total = sum(s._size[dim] for s in tensors)
    coordinates, values, start = [], [], 0
    for s in tensors:
        if dim < sparse:
            shift = np.zeros((sparse, 1), np.int64)
            shift[dim] = start
            coordinates.append(s._coordinates + wrap(shift))
            values.append(s._inner)
        else:
            coordinates.append(s._coordinates)
            padding = [0, 0] * (ndim - 1 - dim) + [start, total - start - s._size[dim]]
            values.append(penlight.nn.functional.pad(s._inner, padding))
        start += s._size[dim]
    return SparseTensor(penlight.cat(coordinates, 1), penlight.cat(values), size)


TABLE["stack"] = lambda tensors, dim=0, **_: cat([s.unsqueeze(dim) for s in tensors], dim)
TABLE["vstack"] = TABLE["row_stack"] = lambda tensors, **_: cat([s if s.dim() > 1 else s.unsqueeze(0) for s in tensors])
TABLE["hstack"] = lambda tensors, **_: cat(tensors, 0 if tensors[0].dim() == 1 else 1)


# ----- Sizes ------------------------------------------------------------------------------------------------------------


def _empty(s: SparseTensor, *size: Any, dtype: Any = None, **_: Any) -> Any:
    return sparse_coo_tensor(size=_sizes(size), dtype=dtype or s.dtype)


def _empty_like(s: SparseTensor, dtype: Any = None, **_: Any) -> Any:
    """A tensor of the same size and dense dimensions, without elements."""
    none = s._inner.detach()[:0].to(dtype or s.dtype)
    return SparseTensor(s._coordinates[:, :0], none, s._size, True)


TABLE |= {
    "new_zeros": _empty,
    "new_empty": _empty,
    "zeros_like": _empty_like,
    "empty_like": _empty_like,
    "new_tensor": lambda s, data, **options: penlight.tensor(data, **{"dtype": s.dtype, **options}),
    "stride": lambda s, dim=None: (0,) * len(s._size) if dim is None else 0,
    "storage_offset": lambda s: 0,
    "is_pinned": lambda s, *_: False,
    "is_same_size": lambda s, other: tuple(s.shape) == tuple(other.shape),
}


@function("sparse_resize_")
def resize(s: SparseTensor, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Enlarge the tensor, in place."""
    sparse, dense = s._coordinates.shape[0], s._inner.dim() - 1
    if not len(s._inner):
        return resize_and_clear(s, size, sparse_dim, dense_dim)
    if (sparse, dense) != (sparse_dim, dense_dim):
        kind, old, new = ("sparse", sparse, sparse_dim) if sparse != sparse_dim else ("dense", dense, dense_dim)
        raise RuntimeError(
            f"changing the number of {kind} dimensions (from {old} to {new}) on a non-empty sparse tensor is not supported.\n{_INSTEAD}"
        )
    for kind, part in (("sparse", slice(None, sparse)), ("dense", slice(sparse, None))):
        if any(n < old for n, old in zip(size[part], s._size[part])):
            raise RuntimeError(
                f"shrinking the size of {kind} dimensions (from {list(s._size[part])} to {list(size[part])}) on a non-empty sparse "
                f"tensor is not supported.\n{_INSTEAD}"
            )
    grown: list[int] = []
    for n, old in zip(reversed(size[sparse:]), reversed(s._size[sparse:])):
        grown += [0, n - old]
    values = penlight.nn.functional.pad(s._inner, grown) if any(grown) else s._inner
    return write(s, SparseTensor(s._coordinates, values, size, s._coalesced))


TABLE["resize_as_"] = lambda s, other, **_: resize(s, other.shape, other.sparse_dim(), other.dense_dim())
_INSTEAD = "Make a tensor of that size by torch.sparse_coo_tensor, or use sparse_resize_and_clear_(), which removes the elements."


@function("sparse_resize_and_clear_")
def resize_and_clear(s: SparseTensor, size: Any, sparse_dim: int, dense_dim: int) -> Any:
    """Remove all elements and set the size."""
    coordinates = penlight.empty(sparse_dim, 0, dtype=dtypes.int64)
    values = penlight.empty(0, *size[sparse_dim:], dtype=s.dtype)
    return write(s, SparseTensor(coordinates, values, Size(size), True))


def _in_place(moved: Callable[..., Any]) -> Callable[..., Any]:
    return lambda s, *args: write(s, moved(s, *args))


for _name, _moved in (("t_", t), ("transpose_", transpose), ("swapaxes_", transpose)):
    TABLE[_name] = _in_place(_moved)
