"""Conversion between tensors and their parts in files: memory, offset, sizes, strides, dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from penlight import dtypes
from penlight.storage import TypedStorage, bytes_of
from penlight.tensor import wrap
from penlight.tensor.memory import root_of


def array_of(tensor: Any) -> np.ndarray:
    """The array of a tensor, of its bytes for 8-bit floats."""
    return tensor._inner._array if tensor.dtype in dtypes.FLOAT8 else tensor._array


def tensor_from_array(array: np.ndarray, requires_grad: bool = False) -> Any:
    """A tensor that uses this array, not a copy."""
    tensor = wrap(array)
    return tensor._require_grad_() if requires_grad else tensor


def memory_of(array: np.ndarray) -> tuple[np.ndarray, np.ndarray, int] | None:
    """The array that owns an array's memory, that memory as bytes, and the array's offset in elements.

    None if the array cannot be described by an offset and non-negative strides in elements: it must be copied first.
    """
    owner = root_of(array)
    memory = bytes_of(owner)
    if memory is None:
        return None
    if array.size == 0:
        return owner, memory, 0
    start = array.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
    if start % array.itemsize or any(stride < 0 or stride % array.itemsize for stride in array.strides):
        return None
    return owner, memory, start // array.itemsize


def view_of_storage(
    storage: TypedStorage, dtype: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...]
) -> np.ndarray:
    """A view of a storage with these sizes and strides (in elements); raises PyTorch's error if it exceeds the storage."""
    memory = storage._untyped_storage._bytes
    np_dtype = dtype.np
    width = np_dtype.itemsize
    if not _are_counts((offset, *size, *stride)) or len(size) != len(stride):
        raise RuntimeError(f"invalid tensor geometry: sizes {size}, strides {stride}, storage offset {offset}")
    if 0 not in size:
        needed = (offset + 1 + sum((n - 1) * step for n, step in zip(size, stride, strict=True))) * width
        if needed > memory.size:
            raise RuntimeError(
                f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset {offset}, and itemsize {width} "
                f"requiring a storage size of {needed} are out of bounds for storage of size {memory.size}"
            )
    elif offset * width > memory.size:
        offset = 0
    strides = tuple(step * width for step in stride)
    try:
        return np.ndarray(size, np_dtype, memory, offset * width, None if 0 in size else strides)
    except (ValueError, OverflowError) as error:  # too many or too large dimensions for NumPy
        raise RuntimeError(f"invalid tensor geometry: sizes {size}, strides {stride} ({error})") from None


def _are_counts(numbers: tuple[Any, ...]) -> bool:
    return all(type(number) is int and number >= 0 for number in numbers)
