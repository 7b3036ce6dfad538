"""Conversions of floats. Those from and to 16-bit floats, and to int32, have machine code for large arrays: NumPy's take up to 6 ns an element.

See Note [Narrow arrays].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .silence import hush, unhush

_FROM = 1 << 11  # elements; below, looking for a kernel takes longer than it saves
_FLOAT = np.dtype(np.float32)


def is_half(dtype: np.dtype[Any]) -> bool:
    """Whether `dtype` is float16 or bfloat16, which are computed in float32."""
    return dtype.itemsize == 2 and dtype.kind not in "iu"


def cast(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """x.astype(dtype) of floats, which rounds to the nearest; what is too large becomes infinite."""
    if x.size < _FROM or not (is_half(dtype) if x.dtype == _FLOAT else dtype == _FLOAT and is_half(x.dtype)):
        return _cast(x, dtype)
    from .native import available, traced

    if not available() or not x.flags.c_contiguous:
        return _cast(x, dtype)
    out = np.empty(x.shape, dtype)
    return out if traced.run(_copy, x, out) else _cast(x, dtype)


def _cast(x: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    token = hush()
    try:
        return x.astype(dtype)
    finally:
        unhush(token)


def truncate(x: np.ndarray) -> np.ndarray | None:
    """x.astype(int32) of floats, which rounds towards 0, by machine code; what has no int32 becomes the least one. None if there is none."""
    if x.dtype == _FLOAT and x.size >= _FROM and x.flags.c_contiguous:
        from .native import available, traced

        kernel = traced.kernel_of(traced.define_flat, _copy, ("float32", "int32"), 0) if available() else None
        if kernel is not None:
            out = np.empty(x.shape, np.int32)
            traced.run_kernel(kernel, (x, out), (), ())
            return out
    return None


def _copy(x: np.ndarray, out: np.ndarray) -> None:
    out[...] = x
