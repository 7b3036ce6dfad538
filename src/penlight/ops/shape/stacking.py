"""Stacking and splitting by direction: rows, columns, planes, blocks on a diagonal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ...tensor import Tensor, wrap
from ..machinery.declare import linear, method
from ..machinery.guards import unrecorded
from .joining import _alike, _cat_arrays, _check_list, _common, _joinable, cat

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "column_stack", "diagflat", "dsplit", "dstack", "hsplit",
    "hstack", "row_stack", "vsplit", "vstack"
]  # fmt: skip

# ----- More dimensions, and stacking --------------------------------------------------------------------------------


def _each(function: Any, tensors: tuple[Any, ...]) -> Any:
    """Applies a function to one tensor, to several, or to a sequence of them."""
    if len(tensors) == 1:
        if isinstance(tensors[0], Tensor):
            return function(tensors[0])
        tensors = tuple(tensors[0])
    return tuple(function(t) for t in tensors)


def atleast_1d(*tensors: Any) -> Any:
    """The tensor with at least one dimension.

    >>> torch.atleast_1d(torch.tensor(1))
    tensor([1])
    """
    return _each(lambda t: t.reshape(1) if t.dim() == 0 else t, tensors)


def _as_rows(t: Tensor) -> Tensor:
    return t.reshape(1, 1) if t.dim() == 0 else t.unsqueeze(0) if t.dim() == 1 else t


def atleast_2d(*tensors: Any) -> Any:
    """The tensor with at least two dimensions; a vector becomes a row.

    >>> torch.atleast_2d(torch.tensor([1, 2]))
    tensor([[1, 2]])
    """
    return _each(_as_rows, tensors)


def _as_planes(t: Tensor) -> Tensor:
    if t.dim() == 0:
        return t.reshape(1, 1, 1)
    return t.unsqueeze(0).unsqueeze(-1) if t.dim() == 1 else t.unsqueeze(-1) if t.dim() == 2 else t


def atleast_3d(*tensors: Any) -> Any:
    """The tensor with at least three dimensions.

    >>> torch.atleast_3d(torch.tensor([1, 2])).shape
    torch.Size([1, 2, 1])
    """
    return _each(_as_planes, tensors)


def _stacked(name: str, tensors: Any, prepare: Any, shaped: Any, dim: int, out: Any) -> Tensor:
    """Tensors concatenated after preparing each: if nothing is recorded, only its array is reshaped."""
    if out is None and _alike(tensors) is not None and unrecorded(tensors):
        arrays = [shaped(t._array) for t in tensors]
        if arrays[0].ndim > dim and _joinable([a.shape for a in arrays], dim):
            return wrap(_cat_arrays(arrays, dim))
    found = _check_list(tensors, name)
    if not found:
        raise RuntimeError(f"{name} expects a non-empty TensorList")
    return cat([prepare(t) for t in found], dim, out=out)


def hstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors concatenated horizontally: along the second dimension, vectors along their only one.

    >>> torch.hstack((torch.tensor([1, 2]), torch.tensor([3])))
    tensor([1, 2, 3])
    """
    if type(tensors) in (list, tuple) and tensors and all([type(t) is Tensor and t._array.ndim for t in tensors]):
        return cat(tensors, 0 if tensors[0]._array.ndim == 1 else 1, out=out)
    found = _check_list(tensors, "hstack")
    flat = bool(found) and atleast_1d(found[0]).dim() == 1
    return _stacked("hstack", found, atleast_1d, np.atleast_1d, 0 if flat else 1, out)


def vstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors concatenated vertically; vectors become rows.

    >>> torch.vstack((torch.tensor([1, 2]), torch.tensor([3, 4])))
    tensor([[1, 2],
            [3, 4]])
    """
    return _stacked("vstack", tensors, _as_rows, lambda a: a if a.ndim > 1 else a.reshape(1, a.size), 0, out)


def dstack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors concatenated along the third dimension.

    >>> torch.dstack((torch.tensor([1, 2]), torch.tensor([3, 4]))).shape
    torch.Size([1, 2, 2])
    """
    return _stacked("dstack", tensors, _as_planes, _planes, 2, out)


def _planes(array: Any) -> Any:
    shape = array.shape
    return array if len(shape) > 2 else array.reshape((*shape, 1) if len(shape) == 2 else (1, array.size, 1))


def _as_column(t: Tensor) -> Tensor:
    return t.reshape(t.numel(), 1) if t.dim() <= 1 else t


def column_stack(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """Tensors concatenated horizontally; vectors become columns.

    >>> torch.column_stack((torch.tensor([1, 2]), torch.tensor([3, 4])))
    tensor([[1, 3],
            [2, 4]])
    """
    return _stacked("column_stack", tensors, _as_column, lambda a: a if a.ndim > 1 else a.reshape(a.size, 1), 1, out)


row_stack = vstack


def _block_rule(grad: Any, tensors_shapes: Any, tensors_dtypes: Any, xp: Any) -> list[Any]:
    gradients, row, column = [], 0, 0
    for shape, np_dtype in zip(tensors_shapes, tensors_dtypes):
        height, width = _block(shape)
        part = xp._slice(xp._slice(grad, 0, row, row + height, 1), 1, column, column + width, 1)
        part = xp.reshape(part, shape)
        gradients.append(xp.cast(part, np_dtype))
        row, column = row + height, column + width
    return gradients


def _block(shape: tuple[int, ...]) -> tuple[int, int]:
    return (shape[0], shape[1]) if len(shape) == 2 else (1, shape[0] if shape else 1)


def _block_array(tensors: Sequence[Any], tensors_shapes: Any, tensors_dtypes: Any) -> Any:
    arrays = _common(tensors)
    sizes = [_block(a.shape) for a in arrays]
    out = np.zeros((sum(h for h, _ in sizes), sum(w for _, w in sizes)), arrays[0].dtype)
    row = column = 0
    for array, (height, width) in zip(arrays, sizes):
        out[row : row + height, column : column + width] = array
        row, column = row + height, column + width
    return out


@linear(_block_array, node="BlockDiagBackward0", method=False, tensors=_block_rule)
def _block_diag(tensors: Sequence[Tensor], tensors_shapes: Any, tensors_dtypes: Any) -> Tensor: ...


def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices (or rows, or scalars) along its diagonal and zeros elsewhere.

    >>> torch.block_diag(torch.ones(1, 2), torch.tensor(3.0))
    tensor([[1., 1., 0.],
            [0., 0., 3.]])
    """
    for position, t in enumerate(tensors):
        if t.dim() > 2:
            raise RuntimeError(
                f"torch.block_diag: Input tensors must have 2 or fewer dimensions. Input {position} has {t.dim()} dimensions"
            )
    if not tensors:
        return wrap(np.zeros((1, 0), dtypes.get_default_dtype().np))
    return _block_diag(tuple(tensors), tuple(tuple(t.shape) for t in tensors), tuple(t.dtype.np for t in tensors))


@method
def diagflat(input: Tensor, offset: int = 0) -> Tensor:
    """A matrix with all elements of the input on a diagonal.

    >>> torch.diagflat(torch.tensor([1, 2]))
    tensor([[1, 0],
            [0, 2]])
    """
    if type(offset) is int and unrecorded((input,)):
        flat = input._array.reshape(-1)
        n = flat.size + abs(offset)
        out = np.zeros((n, n), flat.dtype)
        out.reshape(-1)[max(offset, -offset * n) :: n + 1][: flat.size] = flat
        return wrap(out)
    return input.contiguous().view(-1).diag_embed(offset)


# ----- Splitting by direction ---------------------------------------------------------------------------------------


def _split_along(
    name: str, input: Tensor, indices_or_sections: Any, more: dict[str, Any], dim: int, least: int
) -> tuple[Tensor, ...]:
    at = next((more[key] for key in ("sections", "indices", "split_size") if key in more), indices_or_sections)
    if input.dim() < least:
        raise RuntimeError(
            f"torch.{name} requires a tensor with at least {least} dimension, but got a tensor with {input.dim()} dimensions!"
        )
    if isinstance(at, int):
        n = input.shape[dim]
        if at <= 0 or n % at:
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension {n} is not divisible by "
                f"the split_size {at}!"
            )
    return input.tensor_split(at, dim)


@method
def hsplit(input: Tensor, indices_or_sections: Any = None, **more: Any) -> tuple[Tensor, ...]:
    """Split by columns (a vector by elements): into equal parts, or before the given indices.

    >>> torch.hsplit(torch.tensor([1, 2, 3, 4]), 2)
    (tensor([1, 2]), tensor([3, 4]))
    """
    return _split_along("hsplit", input, indices_or_sections, more, 0 if input.dim() == 1 else 1, 1)


@method
def vsplit(input: Tensor, indices_or_sections: Any = None, **more: Any) -> tuple[Tensor, ...]:
    """Split by rows.

    >>> torch.vsplit(torch.tensor([[1, 2], [3, 4]]), 2)
    (tensor([[1, 2]]), tensor([[3, 4]]))
    """
    return _split_along("vsplit", input, indices_or_sections, more, 0, 2)


@method
def dsplit(input: Tensor, indices_or_sections: Any = None, **more: Any) -> tuple[Tensor, ...]:
    """Split along the third dimension.

    >>> [t.shape for t in torch.dsplit(torch.zeros(1, 1, 4), 2)]
    [torch.Size([1, 1, 2]), torch.Size([1, 1, 2])]
    """
    return _split_along("dsplit", input, indices_or_sections, more, 2, 3)
