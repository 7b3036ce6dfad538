"""x[...] and x[...] = v: an index is taken apart into view ops, and an advanced index for what tensors select.

As in PyTorch, ints, slices, None and Ellipsis become `select`, `slice`, `unsqueeze`; tensors, lists and masks that remain go to
`index` together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes
from .autograd import modes
from .ops.indices import index as select_index
from .ops.indices import index_put_
from .ops.parts import _select as select_op
from .ops.parts import _slice as slice_op
from .ops.shape import alias
from .tensor import Tensor, wrap

_INT64 = dtypes.int64.np

_WRONG = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})"


def getitem(self: Tensor, index: Any) -> Tensor:
    """`x[index]`."""
    if type(index) is int and not modes.slow():
        shape = self._array.shape
        if not shape:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
                "0-dim tensor to a number"
            )
        n = shape[0]
        if -n <= index < n:
            return select_op(self, 0, index + n if index < 0 else index)
        raise IndexError(f"index {index} is out of bounds for dimension 0 with size {n}")
    if type(index) is slice and self.dim():
        return _slice(self, 0, index, always=True)
    if not modes.slow():
        if type(index) is tuple and len(index) <= self._array.ndim:
            for item in index:
                if type(item) is not int and type(item) is not slice:
                    break
            else:
                return _window(self, index)
        elif type(index) is Tensor and index._array.dtype is _INT64 and index._array.ndim > 0 and self._array.ndim:
            return select_index(self, (index,))
    viewed, picks = _take_apart(self, index)
    if any(p is not None for p in picks):
        return select_index(viewed, picks)
    if viewed is self:
        return alias(self)
    return viewed


def _window(tensor: Tensor, index: tuple[Any, ...]) -> Tensor:
    """`tensor[index]` for an index of ints and slices, which is the most usual."""
    viewed, dim = tensor, 0
    for original, item in enumerate(index):
        if type(item) is slice:
            viewed = _slice(viewed, dim, item)
            dim += 1
        else:
            viewed = _select(viewed, dim, item, original)
    return alias(tensor) if viewed is tensor else viewed


def _as_tuple(index: Any) -> tuple[Any, ...]:
    if isinstance(index, tuple):
        return index
    return (index,)


def _take_apart(tensor: Tensor, index: Any) -> tuple[Tensor, list[Tensor | None]]:
    """The view that the simple parts of an index make, and for each of its dimensions the tensor that selects in it."""
    items = [_normal(i) for i in _as_tuple(index)]
    consumed = sum(_dims_used(i) for i in items)
    ndim = tensor.dim()
    if ndim == 0 and len(items) == 1 and consumed:
        if isinstance(items[0], slice):
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        if isinstance(items[0], int):
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
                "0-dim tensor to a number"
            )
    if consumed > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    picks: list[Tensor | None] = []
    dim = 0
    original = 0  # the dimension of the tensor as the user sees it, for error messages
    for item in items:
        if item is Ellipsis:
            skip = ndim - consumed
            dim, original = dim + skip, original + skip
            picks += [None] * skip
        elif item is None:
            tensor = tensor.unsqueeze(dim)
            picks.append(None)
            dim += 1
        elif isinstance(item, bool):
            tensor = tensor.unsqueeze(dim)
            picks.append(wrap(np.zeros(1 if item else 0, np.int64)))
            dim += 1
        elif isinstance(item, Tensor) and item.dim() == 0 and item.dtype in (dtypes.bool_, dtypes.uint8):
            refuse_batched_mask(item)
            tensor = tensor.unsqueeze(dim)
            picks.append(wrap(np.zeros(int(bool(item._array)), np.int64)))
            dim += 1
        elif isinstance(item, slice):
            tensor = _slice(tensor, dim, item)
            picks.append(None)
            dim, original = dim + 1, original + 1
        elif isinstance(item, int):
            tensor = _select(tensor, dim, item, original)
            original += 1
        else:
            picked = _expand_mask(item, tensor, dim)
            picks += picked
            dim, original = dim + len(picked), original + len(picked)
    return tensor, picks


def _normal(item: Any) -> Any:
    """One part of an index: an int, a bool, a slice, None, Ellipsis, or a tensor of integers or bools."""
    if item is None or item is Ellipsis or isinstance(item, (bool, int, slice)):
        return item
    if isinstance(item, Tensor):
        kind = item.dtype
        if kind.category >= dtypes.FLOATING or kind in (dtypes.int8, dtypes.int16):
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if item.dim() == 0 and kind.category == dtypes.INTEGRAL and kind is not dtypes.uint8 and item._level is None:
            return int(item._array)
        return item
    if isinstance(item, np.ndarray):
        return _normal(wrap(item if item.dtype.kind in "bu" else item.astype(np.int64)))
    if isinstance(item, np.generic) and item.dtype.kind in "iu":
        return int(item)
    if isinstance(item, np.bool_):
        return bool(item)
    if isinstance(item, (list, tuple, range)):
        from .creation import tensor

        made = tensor(list(item)) if len(item) else wrap(np.zeros(0, np.int64))
        return _normal(made)
    if hasattr(item, "__index__"):
        return item.__index__()
    raise IndexError(_WRONG.format(type(item).__name__))


def _dims_used(item: Any) -> int:
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, Tensor) and item.dtype in (dtypes.bool_, dtypes.uint8):
        return item.dim()
    return 1


def _slice(tensor: Tensor, dim: int, part: slice, always: bool = False) -> Tensor:
    """A range of a dimension; the tensor itself if that is all of it, unless a new view is wanted."""
    if part.step is not None and part.step.__index__() <= 0:
        raise ValueError("step must be greater than zero")
    n = tensor._array.shape[dim]
    start, stop, step = part.indices(n)
    if start == 0 and stop == n and step == 1 and not always:
        return tensor
    return slice_op(tensor, dim, start, stop if stop > start else start, step)


def _select(tensor: Tensor, dim: int, place: int, original: int) -> Tensor:
    n = tensor._array.shape[dim]
    if not -n <= place < n:
        raise IndexError(f"index {place} is out of bounds for dimension {original} with size {n}")
    return select_op(tensor, dim, place % n)


def _expand_mask(item: Tensor, tensor: Tensor, dim: int) -> list[Tensor | None]:
    """A mask becomes one tensor of indices for each of its dimensions."""
    if item.dtype not in (dtypes.bool_, dtypes.uint8):
        return [item]
    for d, n in enumerate(item.shape):
        if n != tensor.shape[dim + d]:
            raise IndexError(
                f"The shape of the mask {list(item.shape)} at index {d} does not match the shape of the indexed tensor "
                f"{list(tensor.shape)} at index {dim + d}"
            )
    refuse_batched_mask(item)
    return [wrap(i) for i in np.nonzero(item._array)]


def refuse_batched_mask(mask: Tensor) -> None:
    """Inside vmap a mask selects another number of elements in each sample."""
    if mask._level is not None:
        from .func.batching_index import MASK

        raise RuntimeError(MASK)


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`."""
    if index is Ellipsis and value is self:
        self.copy_(self)
        return
    viewed, picks = _take_apart(self, index)
    if not isinstance(value, Tensor):
        value = _value(value, self.dtype)
    if any(p is not None for p in picks):
        index_put_(viewed, picks, value)
        return
    if value.shape == viewed.shape:
        viewed.copy_(value)
    elif value.dim() == 0:
        viewed.fill_(value)
    else:
        value = _drop_leading(value)
        viewed.copy_(value if value.shape == viewed.shape else value.expand(viewed.shape))


def _value(value: Any, dtype: dtypes.dtype) -> Tensor:
    if isinstance(value, (bool, int, float, complex)):
        return wrap(np.asarray(dtypes.number_for(value, dtype, True), dtype.np))
    if isinstance(value, (np.ndarray, np.generic)):
        return wrap(np.asarray(value))
    raise TypeError(f"can't assign a {type(value).__name__} to a torch.{dtypes.LEGACY[dtype]}Tensor")


def _drop_leading(value: Tensor) -> Tensor:
    """The value without leading dimensions of size one: PyTorch lets it have more dimensions than the place it goes to."""
    shape = tuple(value.shape)
    first = next((d for d, n in enumerate(shape) if n != 1), len(shape))
    return value.view(shape[first:])


setattr(Tensor, "__getitem__", getitem)
setattr(Tensor, "__setitem__", setitem)
