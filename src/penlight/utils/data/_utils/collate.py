"""Merging samples into a batch."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from itertools import repeat
from operator import attrgetter, is_
from typing import Any

import numpy as np

import penlight
from penlight._common.docstrings import example
from penlight._serialization.tensors import tensor_from_array
from penlight.autograd.node import NO_EDGE
from penlight.utils.data._utils.blocks import empty

__all__ = ["collate", "default_collate", "default_collate_fn_map", "default_convert"]

_CollateMap = dict["type | tuple[type, ...]", Callable[..., Any]]

default_collate_err_msg_format = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


np_str_obj_array_pattern = re.compile(r"[SaUO]")  # in the names of dtypes of text and objects


def _holds_text_or_objects(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "SUO"


def default_convert(data: Any) -> Any:
    """NumPy arrays and scalars in `data` converted to tensors; everything else unchanged.

    `DataLoader` applies this to each sample if it does not make batches.

    >>> import numpy as np
    >>> from penlight.utils.data import default_convert
    >>> default_convert({"x": np.array([1, 2]), "name": "a"})
    {'x': tensor([1, 2]), 'name': 'a'}
    """
    kind = type(data)
    if isinstance(data, penlight.Tensor):
        return data
    if kind.__module__ == "numpy" and kind.__name__ not in ("str_", "string_"):
        if isinstance(data, np.ndarray) and _holds_text_or_objects(data.dtype):
            return data
        return penlight.as_tensor(data)
    if isinstance(data, Mapping):
        return mapping_like(data, lambda key: default_convert(data[key]))
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return kind(*(default_convert(item) for item in data))
    if isinstance(data, tuple):
        return [default_convert(item) for item in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return sequence_like(data, len(data), lambda i: default_convert(data[i]))
    return data


def collate(batch: Any, *, collate_fn_map: _CollateMap | None = None) -> Any:
    """Merge a list of samples into one, by the functions in `collate_fn_map` for their types.

    Collections are merged member by member. An exact type in the map takes precedence over a base class, and among base classes the first one.

    >>> from penlight.utils.data._utils.collate import collate
    >>> collate([(1, "a"), (2, "b")], collate_fn_map={int: lambda batch, *, collate_fn_map: sum(batch),
    ...                                               str: lambda batch, *, collate_fn_map: "".join(batch)})
    [3, 'ab']
    """
    sample = batch[0]
    kind = type(sample)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for known, function in collate_fn_map.items():
            if isinstance(sample, known):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(sample, Mapping):
        return mapping_like(sample, lambda key: collate([s[key] for s in batch], collate_fn_map=collate_fn_map))
    if isinstance(sample, tuple) and hasattr(sample, "_fields"):
        return kind(*(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch, strict=False)))
    if isinstance(sample, Sequence):
        if len(set(map(len, batch))) > 1:
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = list(zip(*batch, strict=True))
        if isinstance(sample, tuple):
            return [collate(column, collate_fn_map=collate_fn_map) for column in columns]
        return sequence_like(sample, len(columns), lambda i: collate(columns[i], collate_fn_map=collate_fn_map))
    raise TypeError(default_collate_err_msg_format.format(kind))


_array_of, _edge_of, _requires_grad = map(attrgetter, ("_array", "_edge", "requires_grad"))


def _outside_of_graphs(batch: Any) -> bool:
    try:
        return all(map(is_, map(_edge_of, batch), repeat(NO_EDGE)))
    except AttributeError:  # a stale edge
        return not any(map(_requires_grad, batch))


def collate_tensor_fn(batch: Any, *, collate_fn_map: _CollateMap | None = None) -> Any:
    """Tensors of one shape, stacked."""
    layout = batch[0].layout
    if layout is not penlight.strided:
        raise RuntimeError(
            "Batches of sparse tensors are not currently supported by the default collate_fn; "
            "please provide a custom collate_fn to handle them appropriately."
        )
    if set(map(type, batch)) == {penlight.Tensor} and _outside_of_graphs(batch):
        stacked = _stacked(list(map(_array_of, batch)), batch[0].dtype.np)
        if stacked is not None:
            return tensor_from_array(stacked)
    return penlight.stack(tuple(batch), 0)


def _stacked(arrays: list[Any], dtype: np.dtype[Any]) -> np.ndarray | None:
    """Arrays of one shape and this dtype stacked along a new first dimension, by one copy; None in unusual cases."""
    shape = arrays[0].shape
    if not shape or set(map(type, arrays)) != {np.ndarray}:
        return None
    result = empty((len(arrays), *shape), dtype)
    try:
        if len(set(map(len, arrays))) > 1:
            return None
        np.concatenate(arrays, out=result.reshape(len(arrays) * shape[0], *shape[1:]), casting="no")
    except (TypeError, ValueError):
        return None  # different dtypes, or shapes that differ after the first dimension
    return result


def collate_numpy_array_fn(batch: Any, *, collate_fn_map: _CollateMap | None = None) -> Any:
    """Arrays of one shape, stacked into a tensor."""
    first = batch[0]
    if _holds_text_or_objects(first.dtype):
        raise TypeError(default_collate_err_msg_format.format(first.dtype))
    # One copy instead of a tensor for each array. Unusual cases take the general path, with its errors.
    if first.dtype.isnative and first.dtype.kind in "biufc":
        stacked = _stacked(batch, np.dtype(first.dtype.str))
        if stacked is not None and min(min(array.strides) for array in batch) >= 0:
            return penlight.from_numpy(stacked)
    return collate([penlight.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Any, *, collate_fn_map: _CollateMap | None = None) -> Any:
    """NumPy scalars as a tensor of their type."""
    return penlight.as_tensor(batch)


def collate_float_fn(batch: Any, *, collate_fn_map: _CollateMap | None = None) -> Any:
    """Python floats as a float64 tensor."""
    return penlight.tensor(batch, dtype=penlight.float64)


def collate_int_fn(batch: Any, *, collate_fn_map: _CollateMap | None = None) -> Any:
    """Python ints as an int64 tensor, bools as a bool tensor."""
    return penlight.tensor(batch)


def collate_str_fn(batch: Any, *, collate_fn_map: _CollateMap | None = None) -> Any:
    """A list of strings, unchanged."""
    return batch


default_collate_fn_map: _CollateMap = {
    penlight.Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Any) -> Any:
    """Merge samples into a batch: tensors and arrays are stacked, scalars become tensors, strings stay a list.

    >>> from penlight.utils.data import default_collate
    >>> default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
    {'x': tensor([1, 2]), 'name': ['a', 'b']}
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


# ----- Rebuilding a collection with other contents, keeping its type where that is possible --------------------------


def mapping_like(template: Mapping[Any, Any], make: Callable[[Any], Any]) -> Any:
    """A mapping like `template` with `make(key)` for each of its keys.

    A mutable one is copied and updated, which keeps its other attributes; a type that supports neither copying nor construction from a dict
    becomes a dict.
    """
    try:
        if isinstance(template, MutableMapping):
            clone = copy.copy(template)
            clone.update({key: make(key) for key in template})
            return clone
        return type(template)({key: make(key) for key in template})  # type: ignore[call-arg]
    except TypeError:
        return {key: make(key) for key in template}


def sequence_like(template: Any, count: int, make: Callable[[int], Any]) -> Any:
    """A sequence like `template` with `make(0) ... make(count - 1)`; a list if its type cannot be constructed."""
    try:
        if isinstance(template, MutableSequence):
            clone = copy.copy(template)
            for position in range(count):
                clone[position] = make(position)
            return clone
        return type(template)([make(position) for position in range(count)])
    except TypeError:
        return [make(position) for position in range(count)]


# ----- Moving a batch to pinned memory, which only matters where there is an accelerator -----------------------------


@example('torch.utils.data._utils.pin_memory.pin_memory({"name": "a", "n": [1, 2]})', "{'name': 'a', 'n': [1, 2]}")
def pin_memory(data: Any, device: Any = None) -> Any:
    """`data` with `pin_memory()` called on every tensor, and on every object that has such a method."""
    if isinstance(data, penlight.Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return mapping_like(data, lambda key: pin_memory(data[key], device))
    if isinstance(data, tuple):
        pinned = [pin_memory(item, device) for item in data]
        return type(data)(*pinned) if hasattr(data, "_fields") else type(data)(pinned)
    if isinstance(data, Sequence):
        return sequence_like(data, len(data), lambda i: pin_memory(data[i], device))
    return data
