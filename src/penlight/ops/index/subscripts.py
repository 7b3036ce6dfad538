"""x[...] and x[...] = v: an index is decomposed into view ops, followed by advanced indexing for tensors in it.

As in PyTorch, ints, slices, None and Ellipsis become `select`, `slice`, `unsqueeze`; tensors, lists and masks that remain go to
`index` together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ..._common.user_warnings import warn_user
from ...autograd import modes, views
from ...autograd.node import NO_EDGE, AccumulateGrad
from ...kernels.index.gather_scatter import fill_masked, nonzero, put_masked
from ...kernels.lazy import lazy_import
from ...tensor import Tensor, wrap
from ..machinery import dispatch
from ..machinery.declare import OPS
from ..machinery.guards import unrecorded_view
from ..shape.slicing import _select as select_op, _slice as slice_op
from ..shape.views import _alias, _unsqueeze as unsqueeze_op
from .advanced import index as select_index, refuse_byte_masks, warn_of_bytes

_batching_index = lazy_import(globals(), "_batching_index", "...func.batching_index")
_creation = lazy_import(globals(), "_creation", "...creation")


_NAMESPACE = modes.NAMESPACE
COPY, PUT = OPS["_copy"], OPS["_index_put"]
_index_put_ = Tensor.index_put_
_INT64, _BOOL = dtypes.int64.np, dtypes.bool_.np

_WRONG = "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices (got {})"


def getitem(self: Tensor, index: Any) -> Tensor:
    """`x[index]`."""
    slow = _NAMESPACE["SLOW"]
    if type(index) is int and (not slow or dispatch.unwatched()):
        array = self._array
        if not array.ndim:
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
                "0-dim tensor to a number"
            )
        n = len(array)
        if not -n <= index < n:
            raise IndexError(f"index {index} is out of bounds for dimension 0 with size {n}")
        if self._view is None and self._edge is NO_EDGE and not slow:
            return unrecorded_view(self, array[index, ...])
        return select_op(self, 0, index + n if index < 0 else index)
    if type(index) is slice and self.dim():
        return _slice(self, 0, index, always=True)
    if not slow:
        found = _quickly(self, index)
        if found is not None:
            return found
    viewed, picks = _take_apart(self, index)
    if any(p is not None for p in picks):
        return select_index(viewed, picks)
    if viewed is self:
        return _alias(self)
    return viewed


def _quickly(tensor: Tensor, index: Any) -> Tensor | None:
    """`tensor[index]` for the most frequent indices, without full analysis; None for others."""
    kind = type(index)
    if index is None:
        return unsqueeze_op(tensor, 0)
    if kind is Tensor:
        picks = _picks((index,), tensor._array.shape)
        return None if picks is None else select_index(tensor, picks)
    if kind is list:
        made = _listed(index)
        return None if made is None else _quickly(tensor, made[0])
    if kind is not tuple:
        return None
    used = selecting = 0
    for item in index:
        kind = type(item)
        if kind is int or kind is slice:
            used += 1
        elif kind is Tensor:
            selecting += 1
        elif kind is list:
            made = _listed(item)
            return (
                None
                if made is None
                else _quickly(tensor, tuple([made[0] if other is item else other for other in index]))
            )
        elif item is not None and item is not Ellipsis:
            return None
    if selecting:
        picks = _picks(index, tensor._array.shape)
        return None if picks is None else select_index(tensor, picks)
    return _window(tensor, index, used) if used <= tensor._array.ndim else None


def _listed(item: list[Any]) -> tuple[Tensor] | None:
    """The tensor that a list of ints represents; None for any other list."""
    if not item or not all([type(i) is int and -_FAR < i < _FAR for i in item]):
        return None
    return (wrap(np.array(item, np.int64)),)


_FAR = 2**62


def _picks(index: tuple[Any, ...], shape: tuple[int, ...]) -> tuple[Tensor | None, ...] | None:
    """The index tensor of each dimension, if the index consists of int64 tensors and full slices, or is one mask."""
    if len(index) > len(shape):
        return None
    found: list[Tensor | None] = []
    for item in index:
        if type(item) is Tensor:
            array = item._array
            if array.dtype is _BOOL and len(index) == 1 and array.ndim > 0 and array.shape == shape[: array.ndim]:
                return tuple([wrap(found) for found in nonzero(array)])
            if array.dtype is not _INT64 or not array.ndim:
                return None
            found.append(item)
        elif type(item) is slice and item.start is None and item.stop is None and item.step is None:
            found.append(None)
        else:
            return None
    return tuple(found)


def _window(tensor: Tensor, index: tuple[Any, ...], used: int) -> Tensor | None:
    """`tensor[index]` for an index of ints, slices, None and at most one Ellipsis; `used` of them consume a dimension."""
    viewed, dim, original, rest = tensor, 0, 0, tensor._array.ndim - used
    for item in index:
        if type(item) is slice:
            viewed = _slice(viewed, dim, item)
            dim, original = dim + 1, original + 1
        elif item is None:
            viewed = unsqueeze_op(viewed, dim)
            dim += 1
        elif item is Ellipsis:
            if rest < 0:
                return None
            dim, original, rest = dim + rest, original + rest, -1
        else:
            viewed = _select(viewed, dim, item, original)
            original += 1
    return _alias(tensor) if viewed is tensor else viewed


def _as_tuple(index: Any) -> tuple[Any, ...]:
    if isinstance(index, tuple):
        return index
    if isinstance(index, (list, range)) and len(index) < 32 and any([_is_index_of_its_own(item) for item in index]):
        warn_user(
            "Using a non-tuple sequence for multidimensional indexing is deprecated and will be changed in pytorch 2.9; use "
            "x[tuple(seq)] instead of x[seq]. In pytorch 2.9 this will be interpreted as tensor index, x[torch.tensor(seq)], which "
            "will result either in an error or a different result"
        )
        return tuple(index)
    return (index,)


def _is_index_of_its_own(item: Any) -> bool:
    """Whether a list element makes PyTorch treat the list as a tuple of indices, as NumPy once did."""
    return item is None or item is Ellipsis or isinstance(item, (Tensor, list, tuple, range, slice, str, np.ndarray))


def _take_apart(tensor: Tensor, index: Any) -> tuple[Tensor, list[Tensor | None]]:
    """The view made by the simple parts of an index, and the index tensor for each of its dimensions."""
    items = [_normal(i) for i in _as_tuple(index)]
    consumed = sum(_dims_used(i) for i in items)
    ndim = tensor.dim()
    if ndim == 0 and len(items) == 1 and consumed:
        if isinstance(items[0], slice):
            raise IndexError("slice() cannot be applied to a 0-dim tensor.")
        if isinstance(items[0], int) and not isinstance(index, Tensor):
            raise IndexError(
                "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a "
                "0-dim tensor to a number"
            )
    if consumed > ndim:
        raise IndexError(f"too many indices for tensor of dimension {ndim}")
    picks: list[Tensor | None] = []
    dim = 0
    original = 0  # the user's dimension number, for error messages
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
            covered = item.dim() if item.dtype in (dtypes.bool_, dtypes.uint8) else 1
            dim, original = dim + covered, original + covered
    return tensor, picks


def _normal(item: Any) -> Any:
    """One part of an index: an int, a bool, a slice, None, Ellipsis, or a tensor of integers or bools."""
    if item is None or item is Ellipsis or isinstance(item, (bool, int, slice)):
        return item
    if isinstance(item, Tensor):
        kind = item.dtype
        if kind.category >= dtypes.FLOATING or (kind in (dtypes.int8, dtypes.int16) and item.dim()):
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
        made = _creation.tensor(list(item)) if len(item) else wrap(np.zeros(0, np.int64))
        return _normal(made.long() if made.dtype.category == dtypes.FLOATING else made)
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
    """A range of a dimension; the tensor itself for the full range, unless a new view is needed."""
    if part.step is not None and part.step.__index__() <= 0:
        raise ValueError("step must be greater than zero" if part.step.__index__() else "slice step cannot be zero")
    n = tensor._array.shape[dim]
    start, stop, step = part.indices(n)
    if not part.start and stop == n and step == 1 and not always:
        return tensor
    return slice_op(tensor, dim, start, stop if stop > start else start, step)


def _select(tensor: Tensor, dim: int, position: int, original: int) -> Tensor:
    n = tensor._array.shape[dim]
    if not -n <= position < n:
        raise IndexError(f"index {position} is out of bounds for dimension {original} with size {n}")
    return select_op(tensor, dim, position % n)


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
    warn_of_bytes(item)
    if dispatch.dispatches(tensor):
        return [item]  # the class is given what was written
    return [wrap(found) for found in nonzero(item._array)]


def refuse_batched_mask(mask: Tensor) -> None:
    """Refuse a mask inside vmap: it selects a different number of elements in each sample."""
    if mask._level is not None:
        raise RuntimeError(_batching_index.MASK)


def setitem(self: Tensor, index: Any, value: Any) -> None:
    """`x[index] = value`."""
    if index is Ellipsis and value is self:
        self.copy_(self)
        return
    if not modes.slow() and _write_quickly(self, index, value):
        return
    if not isinstance(value, Tensor):
        value = _value(value, self.dtype)
    if value.numel() == 1:
        refuse_byte_masks(index if isinstance(index, tuple) else (index,))
    viewed, picks = _take_apart(self, index)
    if any(p is not None for p in picks):
        _index_put_(viewed, picks, _drop_leading(value) if value.dim() else value)
        return
    if value.shape == viewed.shape:
        viewed.copy_(value)
    elif value.dim() == 0:
        viewed.fill_(value)
    else:
        value = _drop_leading(value)
        viewed.copy_(value if value.shape == viewed.shape else value.expand(viewed.shape))


def _write_quickly(tensor: Tensor, index: Any, value: Any) -> bool:
    """`tensor[index] = value` if nothing is recorded and the index is simple; returns whether it was done."""
    array, versions = tensor._array, tensor._vc
    if tensor._rare_state is not None or (versions is not None and type(versions) is not list) or 0 in array.strides:
        return False
    tracked = modes.is_grad_enabled()
    recorded = tracked and getattr(tensor, "_edge", None) is not NO_EDGE
    source = value
    if isinstance(value, Tensor):
        source = value._array
        if source.dtype is not array.dtype or source is array or (source.ndim and source.shape[0] == 1):
            return False
        if not dispatch.may_write(tensor, source):
            return False
        recorded = recorded or (tracked and getattr(value, "_edge", None) is not NO_EDGE)
    elif not _is_plain_number(value, array.dtype):
        return False
    if (
        not recorded
        and type(index) is Tensor
        and index._array.dtype is _BOOL
        and _write_where(array, index._array, source)
    ):
        views.bump(tensor)
        return True
    key = _plain_key(index, array.shape)
    if key is NO_KEY:
        return False
    if recorded:
        return type(key) is tuple and _write_recorded(tensor, key, value, source)
    try:
        array[key] = source
    except (IndexError, ValueError, TypeError):
        return False  # explained elsewhere
    views.bump(tensor)
    return True


def _write_where(array: np.ndarray, mask: np.ndarray, source: Any) -> bool:
    """`array[mask] = source` for a mask of the array's shape and one value, or as many as the mask selects; returns whether it was done."""
    if mask.shape != array.shape or not array.ndim or not array.flags.writeable:
        return False
    if type(source) is np.ndarray and source.ndim:
        return source.ndim == 1 and put_masked(array, mask, source)
    fill_masked(array, mask, source)
    return True


def _write_recorded(tensor: Tensor, key: tuple[Any, ...], value: Any, source: Any) -> bool:
    """`_write_quickly` while a graph is recorded, for a non-view tensor whose history can be rewritten: does what `index_put_` does, or
    `copy_` into the view, without making the view. See Note [In-place on a view] in autograd/views.py."""
    if tensor._view is not None:
        return False
    selecting = bool(key) and type(key[0]) is np.ndarray
    try:
        own = tensor._edge
        theirs = value._edge if isinstance(value, Tensor) else NO_EDGE
        if own is not NO_EDGE and (own[0] is None or isinstance(own[0], AccumulateGrad)):
            return False
        if selecting:
            tensor._array[key] = source
        else:
            if Ellipsis not in key:
                key = (*key, ...)
            elif not any([type(item) is int for item in key]):
                return False  # perhaps the full tensor, which is not a view
            part = tensor._array[key]
            if np.shape(source) not in ((), part.shape) or part.shape == tensor._array.shape:
                return False  # expanding is a graph node; or it is the tensor itself
            part[...] = source
    except (AttributeError, IndexError, ValueError, TypeError):
        return False
    views.bump(tensor)
    if selecting:
        node = dispatch.new_node(PUT.Backward)
        node.next_functions = (own, theirs)
        node._shape = tensor._array.shape
        node.s_indices, node.s_accumulate, node.s_values_shape = (
            tuple([wrap(p.copy()) for p in key]),  # the caller may write to the indices later
            False,
            np.shape(source),
        )
        views.rebase(tensor, node)
        return True
    node = dispatch.new_node(COPY.Backward)
    node.next_functions = (own, theirs)
    node.s_src_shape, node.s_src_dtype = np.shape(source), tensor._array.dtype
    views.rewrite_part(tensor, part, node)
    return True


def _is_plain_number(value: Any, np_dtype: Any) -> bool:
    """Whether an array of this dtype accepts a scalar as PyTorch does."""
    kind = type(value)
    if np_dtype.kind == "f" and np_dtype.itemsize >= 4:
        return (kind is float or kind is int) and (
            -65504 <= value <= 65504 or value in (np.inf, -np.inf) or value != value
        )
    if np_dtype is _INT64:
        return kind is int and -(2**62) < value < 2**62
    return np_dtype is _BOOL and kind is bool


NO_KEY: Any = object()


def _plain_key(index: Any, shape: tuple[int, ...]) -> Any:
    """An index in NumPy's form, if NumPy treats it as PyTorch does: ints, slices, None and Ellipsis, or only tensors."""
    items = index if type(index) is tuple else (index,)
    simple = 0
    for item in items:
        kind = type(item)
        if kind is int or item is None or item is Ellipsis:
            simple += 1
        elif kind is slice:
            if item.step is not None and (type(item.step) is not int or item.step <= 0):
                return NO_KEY
            simple += 1
        elif kind is not Tensor:
            return NO_KEY
    if simple == len(items):
        return items if items.count(Ellipsis) < 2 else NO_KEY
    if simple:
        return NO_KEY
    picks = _picks(items, shape)
    return NO_KEY if picks is None else tuple([pick._array for pick in picks])  # type: ignore[union-attr]


def _value(value: Any, dtype: dtypes.dtype) -> Tensor:
    if isinstance(value, (bool, int, float, complex)):
        return wrap(np.asarray(dtypes.number_for(value, dtype, True), dtype.np))
    if isinstance(value, (np.ndarray, np.generic)):
        return wrap(np.asarray(value))
    raise TypeError(f"can't assign a {type(value).__name__} to a torch.{dtypes.LEGACY[dtype]}Tensor")


def _drop_leading(value: Tensor) -> Tensor:
    """The value without leading dimensions of size one: PyTorch allows it more dimensions than its destination has."""
    shape = tuple(value.shape)
    first = next((d for d, n in enumerate(shape) if n != 1), len(shape))
    return value.view(shape[first:])


setattr(Tensor, "__getitem__", getitem)
setattr(Tensor, "__setitem__", setitem)
