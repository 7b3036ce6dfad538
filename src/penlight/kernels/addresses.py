"""The address of an array's data, offsets within it, and aligned arrays."""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np

_Word = ctypes.c_size_t
_BEHIND = object.__basicsize__  # the pointer to an ndarray's data follows its reference count and type


def _read(array: np.ndarray[Any, Any]) -> int:
    return _Word.from_address(id(array) + _BEHIND).value


def _asked(array: np.ndarray[Any, Any]) -> int:
    return array.__array_interface__["data"][0]


def _readable() -> bool:
    probe = np.empty(1)
    return sys.implementation.name == "cpython" and _read(probe) == _asked(probe)


# The address of an array's first element. NumPy's own attributes for it take ten times as long.
address = _read if _readable() else _asked


def offset(part: np.ndarray[Any, Any], whole: np.ndarray[Any, Any]) -> int:
    """The offset of a view's first element in its array, in bytes.

    >>> x = np.arange(5)
    >>> offset(x[2:], x) == 2 * x.itemsize
    True
    """
    return address(part) - address(whole)


def aligned(size: int, dtype: Any) -> np.ndarray[Any, Any]:
    """An uninitialised array that starts a cache line.

    >>> aligned(3, float).ctypes.data % 64
    0
    """
    item = np.dtype(dtype).itemsize
    memory = np.empty(size + 64 // item, dtype)
    start = -address(memory) % 64 // item
    return memory[start : start + size]
