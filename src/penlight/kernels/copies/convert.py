"""Conversions of floats. Those from and to 16-bit floats, and to int32, have machine code for large arrays: NumPy's take up to 6 ns an element.

See Note [Narrow arrays].
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..lazy import lazy_import
from ..numpy_warnings import hush, unhush
from . import LEAST_CONVERTED
from .order import astype, in_memory_order, order_of

_ALONE = 1 << 16  # elements; from here on, threads share the work
_FLOAT, _DOUBLE, _INT = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int32)
_HALF = np.dtype(np.float16)
halves = lazy_import(globals(), "halves", ".halves")
machine = lazy_import(globals(), "machine", "..native")
trace = lazy_import(globals(), "trace", "..compiler.trace")
traced = lazy_import(globals(), "traced", "..native.traced")


def is_half(dtype: np.dtype[Any]) -> bool:
    """Whether `dtype` is float16 or bfloat16, which are computed in float32."""
    return dtype.itemsize == 2 and dtype.kind not in "iu"


def cast(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """x.astype(dtype), rounded to the nearest; what is too large becomes infinite.

    What has no 16 bits becomes float32 on its way to a 16-bit float, as in PyTorch: a float64 is rounded twice.
    """
    if is_half(dtype):
        if x.dtype == _DOUBLE or (x.size >= LEAST_CONVERTED and x.dtype.kind in "iub"):
            x = _cast(x, _FLOAT)
        if x.dtype != _FLOAT:
            return _cast(x, dtype)
    elif dtype != _FLOAT or not is_half(x.dtype):
        return _cast(x, dtype)
    copied = _copied(x, dtype) if x.size >= LEAST_CONVERTED else None
    return _cast(x, dtype) if copied is None else copied


def _copied(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray | None:
    """The array in another dtype, by machine code or halves.py; None if there is neither."""
    kernel = _kernel(x.dtype, dtype)
    if kernel is None:
        if not x.flags.c_contiguous or dtype == _INT:
            return None
        return halves.to_half(x) if dtype == _HALF else halves.to_single(x) if x.dtype == _HALF else None
    if not x.flags.c_contiguous:
        return None if order_of(x) is None else in_memory_order(_copied, x, dtype)
    out, size = np.empty(x.shape, dtype), x.size
    if size < _ALONE and not size % 8:
        kernel.run(0, size, x, out)
    else:
        traced.run_kernel(kernel, (x, out), (), ())
    return out


@lru_cache(None)
def _kernel(given: np.dtype[Any], wanted: np.dtype[Any]) -> Any:
    kinds = traced.kind_of(given), "int32" if wanted == np.int32 else traced.kind_of(wanted)
    if None in kinds or not machine.available():
        return None
    return traced.kernel_of(trace.define_flat, _copy, kinds, 0)


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
