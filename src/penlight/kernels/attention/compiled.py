"""Attention with few scores, in as few calls as possible, by the native kernels of rows.py.

Functions return None if `kernels/attention/` has to do the work.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import native
from ..numpy_warnings import silent
from .rows import attend, attend_backward


@lru_cache(None)
def _run_of(define: Any, dtype: np.dtype[Any], **options: bool) -> Any:
    return native.kernel(define, double=dtype == native.FLOATS[1], **options).run


@lru_cache(maxsize=16)
def causal_limits(rows: int, columns: int, heads: int, dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The indices of all columns, and the last visible column of each row of several heads."""
    return np.arange(columns, dtype=dtype), np.tile(np.arange(rows, dtype=dtype), heads)


def attention(
    query: np.ndarray, key: np.ndarray, value: np.ndarray, mask: np.ndarray | None, scale: float, causal: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """(result, log of the sums of exponentials, probabilities)."""
    batch, heads, rows, width = query.shape
    columns, count = key.shape[2], batch * heads * rows
    dtype = query.dtype
    if not count * columns or dtype not in native.FLOATS:
        return None
    if query.strides[3] != dtype.itemsize or query.strides[2] < width * dtype.itemsize:  # rows that BLAS would copy
        return None
    if not native.available() or key.dtype != dtype or value.dtype != dtype or not value.size:
        return None
    out = np.empty_like(query, shape=(batch, heads, rows, value.shape[3]))  # in the query's order of dimensions
    with silent():
        if mask is not None:  # the mask is added after scaling
            query, scale = query * dtype.type(scale), 1.0
        scores = np.matmul(query, key.swapaxes(2, 3), np.empty((batch, heads, rows, columns), dtype))
        if mask is not None:
            scores += mask
        logs = np.empty((batch, heads, rows), dtype)
        limits = causal_limits(rows, columns, batch * heads, dtype) if causal else ()
        _run_of(attend, dtype, causal=causal)(0, count, columns, scores, logs, *limits, scale)
        return np.matmul(scores, value, out), logs, scores


def attention_backward(
    grad: np.ndarray,
    query: np.ndarray,
    key: np.ndarray,
    value: np.ndarray,
    mask: np.ndarray | None,
    out: np.ndarray,
    sums: np.ndarray,
    kept: np.ndarray,
    scale: float,
    causal: bool,
    needs: tuple[bool, bool, bool] = (True, True, True),
) -> tuple[Any, Any, Any] | None:
    """Gradients of query, key and value from the probabilities."""
    if not native.available() or not kept.flags.c_contiguous:
        return None
    dtype = kept.dtype
    if (
        not dtype == grad.dtype == query.dtype == key.dtype == value.dtype
        or dtype not in native.FLOATS
        or not grad.size
    ):
        return None
    dq, dk, dv = (_side_by_side(x) if need else None for x, need in zip((query, key, value), needs))
    with silent():
        if dv is not None:
            np.matmul(kept.swapaxes(2, 3), grad, dv)
        if dq is not None or dk is not None:
            slopes = np.matmul(grad, value.swapaxes(2, 3), np.empty(kept.shape, dtype))
            columns = kept.shape[3]
            _run_of(attend_backward, dtype)(0, kept.size // columns, columns, slopes, kept, scale)
            if dq is not None:
                np.matmul(slopes, key, dq)
            if dk is not None:
                np.matmul(slopes.swapaxes(2, 3), query, dk)
    return dq, dk, dv


def _side_by_side(x: np.ndarray) -> np.ndarray:
    """Memory for a gradient in which the heads of one position are contiguous, as in PyTorch."""
    n, heads, rows, width = x.shape
    return np.empty((n, rows, heads, width), x.dtype).swapaxes(1, 2)
