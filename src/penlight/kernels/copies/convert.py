"""Conversions of floats. Those from and to 16-bit floats, and to int32, have machine code for large arrays: NumPy's take up to 6 ns an element.

See Note [Narrow arrays].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lazy import lazy_import
from ..numpy_warnings import hush, unhush
from . import LEAST_CONVERTED
from .order import astype, in_memory_order, order_of

_FLOAT, _DOUBLE, _INT = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32)
_HALF = np.dtype(np.float16)
halves = lazy_import(globals(), "halves", ".halves")
elementwise = lazy_import(globals(), "elementwise", "..elementwise")
machine = lazy_import(globals(), "machine", "..native")


def is_half(dtype: np.dtype[Any]) -> bool:
    """Whether `dtype` is float16 or bfloat16, which are computed in float32."""
    return dtype.itemsize == 2 and dtype.kind not in "iu"


def plain_mask(mask: np.ndarray) -> np.ndarray:
    """A mask whose bytes are 0 and 1: those of one that was read from a file, or is a view of other numbers, may be anything, and what is not 0 holds."""
    return mask.view(np.uint8) != 0


def cast(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """x.astype(dtype), rounded to the nearest; what is too large becomes infinite.

    What has no 16 bits becomes float32 on its way to a 16-bit float, as in PyTorch: a float64 is rounded twice.
    """
    if is_half(dtype):
        kind = x.dtype.kind  # the bytes of a bool may be others than 0 and 1, which only NumPy's own conversions know
        if x.dtype == _DOUBLE or kind == "b" or (x.size >= LEAST_CONVERTED and kind in "iu"):
            x = _cast(x, _FLOAT)
        if x.dtype != _FLOAT:
            return _cast(x, dtype)
    elif dtype != _FLOAT or not is_half(x.dtype):
        return _cast(x, dtype)
    copied = _copied(x, dtype) if x.size >= LEAST_CONVERTED else None
    return _cast(x, dtype) if copied is None else copied


def _copied(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray | None:
    """The array in another dtype, by machine code or halves.py; None if there is neither."""
    if not x.flags.c_contiguous:
        if not machine.available() or order_of(x) is None:
            return None
        return in_memory_order(_copied, x, dtype)  # type: ignore[no-any-return]
    copied = elementwise.attempt(elementwise.as_kernel(_copy, 1), (x,), np.empty(x.shape, dtype)) if x.ndim else None
    if copied is not None or dtype == _INT:
        return copied  # type: ignore[no-any-return]
    return halves.to_half(x) if dtype == _HALF else halves.to_single(x) if x.dtype == _HALF else None  # type: ignore[no-any-return]


def cast_operand(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """x.astype(dtype), to be read only: what is repeated in `x` is converted once. NumPy's own copy would lie in memory in an order of its own."""
    if 0 not in x.strides or not x.size:
        return cast(x, dtype)
    return np.broadcast_to(cast(once(x), dtype), x.shape)


def once(x: np.ndarray) -> np.ndarray:
    """x without repetitions: with one element along dimensions that it is repeated along."""
    return x[tuple([slice(None) if stride else slice(1) for stride in x.strides])]


def _cast(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    token = hush()
    try:
        return astype(x, dtype)
    finally:
        unhush(token)


def truncate(x: np.ndarray) -> np.ndarray | None:
    """x.astype(int32) of floats, which rounds towards 0, by machine code; what has no int32 becomes the least one. None if there is none."""
    if x.size < LEAST_CONVERTED:
        return None
    if is_half(x.dtype):
        x = cast(x, _FLOAT)
    return _copied(x, _INT) if x.dtype == _FLOAT else None


def _copy(x: np.ndarray, out: np.ndarray) -> None:
    out[...] = x
