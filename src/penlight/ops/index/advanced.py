"""Advanced indexing: reading and writing with index tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from itertools import zip_longest
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.user_warnings import warn_user
from ...autograd.modes import is_grad_enabled
from ...autograd.node import FREED
from ...autograd.saved import input_modified, version_of
from ...kernels.copies.order import in_index_layout
from ...kernels.index import LEAST_MOVED
from ...kernels.index.gather_scatter import all_inside, nonzero, put_along, take_along, take_slices
from ...kernels.lazy import lazy_import
from ...kernels.numpy_calls import broadcast_shapes
from ...tensor import Tensor, wrap
from ..machinery import dispatch
from ..machinery.array_namespace import both
from ..machinery.declare import OPS, OpCall, linear, op_forms
from ..machinery.guards import lazy
from ..machinery.op import traits

__all__ = ["index_put"]

_indexing = lazy_import(globals(), "_indexing", ".subscripts")


_index_put_add = lazy("index.scatter", "index_put_add")
_INT64 = dtypes.int64.np


def extremes(index: Any) -> tuple[int, int]:
    """The smallest and largest index. For small arrays, `argmin` and `item` are NumPy's fastest way."""
    return index.item(index.argmin()), index.item(index.argmax())


def within(index: Any, n: int) -> bool:
    """Whether 0 <= index < n holds for all indices."""
    if index.size >= LEAST_MOVED:
        return all_inside(index, n)
    if index.dtype is _INT64 and index.size:
        bits = index.view(np.uint64)  # negative indices become huge
        return bits.item(bits.argmax()) < n
    low, high = extremes(index)
    return low >= 0 and high < n


_ALL = slice(None)


def _np_index(indices: Sequence[Any]) -> tuple[Any, ...]:
    """The indices of each dimension in NumPy's form: None, a tensor or an array."""
    return tuple([_ALL if i is None else i._array if type(i) is Tensor else getattr(i, "_array", i) for i in indices])


def _index_array(input: Any, indices: Any) -> Any:
    if len(indices) == 1 and type(indices[0]) is Tensor and input.flags.c_contiguous:
        only = indices[0]._array
        if only.dtype.kind == "i" and only.flags.c_contiguous:
            return input.take(only, 0)
    index = _np_index(indices)
    if not input.flags.c_contiguous or not all([type(i) is slice or i.flags.c_contiguous for i in index]):
        return in_index_layout(input[index], input, index)
    if type(index[0]) is not slice:
        many = _many_elements(input, index)
        return input[index] if many is None else many
    # NumPy puts the indexed dimensions first and returns a transposed view; PyTorch's result is contiguous.
    arrays = [d for d, entry in enumerate(index) if type(entry) is not slice]
    if len(arrays) == 1 and index[arrays[0]].dtype.kind in "iu":
        return take_slices(input, index[arrays[0]], arrays[0])
    return np.ascontiguousarray(input[index])


def _many_elements(input: Any, index: tuple[Any, ...]) -> Any:
    """Many elements of a contiguous array, given an index for each dimension, fetched by their flat offsets; or None."""
    position = _positions(input, index)
    if position is None:
        return None
    found = take_along(input.reshape(-1), position.reshape(-1), 0)
    return None if found is None else found.reshape(position.shape)


def _positions(array: Any, index: tuple[Any, ...]) -> Any:
    """The flat offsets of many elements of a contiguous array, given an index for each dimension; or None."""
    first = index[0]
    if len(index) != array.ndim or array.ndim < 2 or not array.flags.c_contiguous or type(first) is slice:
        return None
    if first.size < LEAST_MOVED:
        return None
    position: Any = None
    for n, entry in zip(array.shape, index):
        if type(entry) is slice or entry.shape != first.shape or entry.dtype is not _INT64 or not within(entry, n):
            return None
        position = entry if position is None else position * n + entry
    return position


def _add_at(input: Any, shape: tuple[int, ...], indices: Any) -> Any:
    """Zeros of this shape, with values added at the indices."""
    return _index_put_add(tuple(shape), _np_index(indices), input)


@linear(_index_array, node="IndexBackward0",
        input=lambda grad, input_shape, indices, xp: xp._index_backward(grad, input_shape, unchanged(indices)))  # fmt: skip
@traits(frees=("indices",))
def _index(input: Tensor, indices: Any) -> Tensor: ...


@linear(_add_at, node="IndexPutBackward0", input=lambda grad, indices, xp: xp._index(grad, unchanged(indices)))
@traits(frees=("indices",))
def _index_backward(input: Tensor, shape: tuple[int, ...], indices: Any) -> Tensor: ...


class Indices(tuple[Any, ...]):
    """Index tensors with the versions they had when used: the gradient needs the same values."""

    versions: list[int]


def _noted(indices: list[Any]) -> tuple[Any, ...]:
    """The indices for an op, with their versions if it may be recorded."""
    if not is_grad_enabled():
        return tuple(indices)
    made = Indices(indices)
    made.versions = [0 if i is None else version_of(i) for i in indices]
    return made


def unchanged(indices: Any) -> Any:
    """The same indices; raises PyTorch's error for saved tensors if one was written to since."""
    if type(indices) is Indices:
        for item, version in zip(indices, indices.versions):
            if item is not None and version_of(item) != version:
                input_modified(item, version)
    elif indices is FREED:
        raise AttributeError  # which `explain` in autograd/saved.py explains
    return indices


def warn_of_bytes(mask: Tensor) -> None:
    """Warn about a uint8 mask; PyTorch treats a 0-d one as a scalar."""
    if mask.dtype is dtypes.uint8 and mask.dim():
        warn_user("indexing with dtype torch.uint8 is now deprecated, please use a dtype torch.bool instead.")


def refuse_byte_masks(indices: Sequence[Any]) -> None:
    """Refuse a uint8 mask when it is the only index and a single value is assigned: PyTorch calls masked_fill_ then."""
    given = [i for i in indices if isinstance(i, Tensor)]
    if len(given) == 1 and given[0].dtype is dtypes.uint8 and given[0].dim():
        raise RuntimeError("masked_fill_ only supports boolean masks, but got mask with dtype unsigned char")


def _selects_nothing(input: Tensor, indices: Sequence[Any]) -> bool:
    """Whether the result has no elements, whatever the indices are."""
    given = [i for i in indices if i is not None]
    if any(i.dtype in (dtypes.bool_, dtypes.uint8) for i in given):
        return False
    unindexed = [n for n, i in zip_longest(input.shape, indices) if i is None]
    return 0 in unindexed or any(not i.numel() for i in given)


def _checked(input: Tensor, indices: Sequence[Any]) -> tuple[list[Any], bool]:
    """Index tensors checked against each other, with PyTorch's errors; and whether all indices are in range."""
    found: list[Any] = []
    inside, nothing, dim = True, False, 0
    for item in indices:
        if item is None:
            found.append(None)
            dim += 1
            continue
        array = item._array
        if array.dtype.kind in "bu" and array.dtype.itemsize == 1:
            if array.shape != tuple(input.shape)[dim : dim + array.ndim]:
                raise IndexError(
                    f"The shape of the mask {list(array.shape)} at index 0 does not match the shape of the indexed tensor "
                    f"{list(input.shape)} at index {dim}"
                )
            if item._level is not None:
                _indexing.refuse_batched_mask(item)
            warn_of_bytes(item)
            if array.ndim == 0 or dispatch.dispatches(input):
                found.append(item)  # a 0-d mask: a new dimension of size one or zero; or for a class, as it is given
            else:
                found += [wrap(i) for i in nonzero(array)]
            dim += array.ndim
            continue
        if array.dtype.kind != "i" or array.dtype.itemsize < 4:
            raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
        if array.size and item._level is None:
            n = input._array.shape[dim]
            low, high = (0, 0) if within(array, n) else extremes(array)
            if low < -n or high >= n:
                if n and _selects_nothing(input, indices):
                    item = wrap(np.zeros_like(array))  # PyTorch does not check indices then
                else:
                    inside, nothing = False, nothing or not n
        found.append(item)
        dim += 1
    shapes = [i._array.shape for i in found if i is not None]
    if len(shapes) > 1:
        try:
            common = shapes[0]
            for shape in shapes[1:]:
                common = broadcast_shapes(common, shape)
        except ValueError:
            listed = ", ".join(str(list(s)) for s in shapes)
            raise IndexError(
                f"shape mismatch: indexing tensors could not be broadcast together with shapes {listed}"
            ) from None
    if nothing:
        raise IndexError("index is out of bounds for dimension with size 0")
    return found, inside


def _outside(input: Tensor, found: list[Any]) -> IndexError:
    """The error for out-of-range indices. PyTorch names the first in memory order: element by element, and within each by dimension."""
    dims = [d for d, i in enumerate(found) if i is not None and i._array.dtype.kind != "b"]
    sizes = [input._array.shape[d] for d in dims]
    broadcast = np.broadcast_arrays(*[found[d]._array for d in dims])
    strides = [a.strides for a in broadcast]
    order = lambda d, e: next((s[e] - s[d] for s in strides if s[d] and s[e] and s[d] != s[e]), 0)
    in_memory = sorted(range(broadcast[0].ndim), key=cmp_to_key(order))
    arrays = [a.transpose(in_memory) for a in broadcast]
    wrong = np.stack([(a < -n) | (a >= n) for a, n in zip(arrays, sizes)], -1)
    element, among = divmod(int(wrong.argmax()), len(dims))
    return IndexError(
        f"index {arrays[among].flat[element]} is out of bounds for dimension {among} with size {sizes[among]}"
    )


def index(input: Tensor, indices: Sequence[Any]) -> Tensor:
    """The elements selected by index tensors, one tensor (or None) for each dimension."""
    found, inside = _checked(input, indices)
    if not inside:
        raise _outside(input, found)
    return _index(input, _noted(found))


def _put_array(input: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    index = _np_index(indices)
    if accumulate:
        return _index_put_add(input, index, values.astype(input.dtype, copy=False))
    out = input.copy()
    _put_at(out, index, values)
    return out


def _put_at(out: Any, index: tuple[Any, ...], values: Any) -> None:
    position = _positions(out, index)
    if position is None:
        out[index] = values
    elif (
        type(values) is not np.ndarray
        or values.shape != position.shape
        or not put_along(out.reshape(-1), position, values, 0)
    ):
        out.reshape(-1)[position] = values


def _clear_at(grad: Any, indices: Any) -> Any:
    out = np.array(grad)
    _put_at(out, _np_index(indices), 0)
    return out


def _clear_at_tensor(grad: Any, indices: Any) -> Any:
    return _index_put(grad, indices, grad.new_zeros(()), False)


both("_clear_at", _clear_at, _clear_at_tensor)


def _put_values_rule(grad: Any, indices: Any, values_shape: Any, xp: Any) -> Any:
    return xp.sum_to(xp._index(grad, unchanged(indices)), values_shape)


@linear(_put_array, node="IndexPutBackward0", inplace=True,
        input=lambda grad, indices, accumulate, xp: grad if accumulate else xp._clear_at(grad, unchanged(indices)),
        values=_put_values_rule)  # fmt: skip
@traits(frees=("indices",), expanded="tensor[indices] = tensor")
def _index_put(input: Tensor, indices: Any, values: Tensor, accumulate: bool) -> Tensor: ...


def _indexed_shape(input: Tensor, indices: Sequence[Any]) -> tuple[int, ...]:
    """The shape of an indexing result: the indices' shape replaces the first indexed dimension, or comes first if those dimensions are
    not adjacent."""
    if indices[0] is not None:
        shape = indices[0]._array.shape
        for item in indices:
            if item is None or item._array.shape != shape or item._array.dtype.kind == "b":
                break
        else:
            return shape + input._array.shape[len(indices) :]
    given = [d for d, i in enumerate(indices) if i is not None]
    if not given or any(indices[d].dtype is dtypes.bool_ for d in given):
        return input._array[_np_index(indices)].shape
    rest = [n for d, n in enumerate(input._array.shape) if d >= len(indices) or indices[d] is None]
    at = given[0] if given[-1] - given[0] + 1 == len(given) else 0
    common: tuple[int, ...] = ()
    for d in given:
        common = broadcast_shapes(common, indices[d]._array.shape)
    return (*rest[:at], *common, *rest[at:])


@op_forms(out=False)
def index_put(in_place: bool, input: Tensor, indices: Any, values: Tensor, accumulate: bool = False) -> OpCall:
    """A copy with values written (or added) at the indices.

    >>> torch.zeros(3).index_put((torch.tensor([0, 2]),), torch.tensor([1.0, 2.0]))
    tensor([1., 0., 2.])
    """
    if in_place:
        dispatch.precheck(input, values)
    if values.numel() == 1 and not accumulate:
        refuse_byte_masks(indices)
    found, inside = _checked(input, indices)
    if values.dtype is not input.dtype:
        if values.dim() or not dtypes.can_cast(values.dtype, input.dtype):
            kinds = dtypes.LEGACY[input.dtype], dtypes.LEGACY[values.dtype]
            raise RuntimeError(
                f"Index put requires the source and destination dtypes match, got {kinds[0]} for the destination and "
                f"{kinds[1]} for the source."
            )
        values = values.to(input.dtype)
    target = _indexed_shape(input, found)
    try:
        fits = broadcast_shapes(target, values._array.shape) == target
    except ValueError:
        fits = False
    if not fits:
        raise RuntimeError(
            f"shape mismatch: value tensor of shape {list(values.shape)} cannot be broadcast to indexing result of shape "
            f"{list(target)}"
        )
    if not inside:
        raise _outside(input, found)
    return OPS["_index_put"], (input, _noted(found), values, accumulate)
