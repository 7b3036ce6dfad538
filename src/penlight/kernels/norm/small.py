"""Layer and batch normalisation of small arrays, in as few calls of NumPy as there can be.

Note [Small norms]
Up to SMALL elements a call of NumPy costs more than what it computes. So there are no blocks, threads or buffers here, only the
formulas, with sums as products with ones, which are BLAS's quickest way (in one thread at these sizes) and keep their
dimension. Each function returns None where its arrays are not simple (contiguous, of one dtype of float32 or float64, not
empty), or larger, unless a native kernel does all of it: then this is the shortest way for any size. `kernels/norm/` has
everything. NumPy's warnings are the caller's: ops and engine run this where they go nowhere, which is why the arithmetic
stands in the functions themselves. See Note [Silent arithmetic] in autograd/modes.py.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import native
from ..rows import ones_column, quiet
from . import native_backward, native_norm

SMALL = 8192
NATIVE_FROM = 64  # elements; see Note [Native kernels]
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
Three = tuple[Any, Any, Any]


@lru_cache(256)
def _ones(count: int, dtype: np.dtype) -> np.ndarray:
    return np.ones(count, dtype)


def _simple(x: np.ndarray, *others: np.ndarray | None) -> bool:
    dtype = x.dtype
    if not x.size or dtype not in _FLOATS or not x.flags.c_contiguous:
        return False
    return all(o is None or (o.dtype == dtype and o.flags.c_contiguous) for o in others)


def layer_norm(x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, eps: float) -> Three | None:
    """(out, mean, rstd) of normalising over the last dimension."""
    if not _simple(x, weight, bias):
        return None
    columns = x.shape[-1]
    if x.size >= NATIVE_FROM and native.suits(x):
        stats = (*x.shape[:-1], 1)
        out, mean, rstd = np.empty(x.shape, x.dtype), np.empty(stats, x.dtype), np.empty(stats, x.dtype)
        native_norm((mean.size, columns), x, out, rstd, mean, weight, bias, eps)
        return out, mean, rstd
    if x.size > SMALL:
        return None
    ones = ones_column(columns, x.dtype)
    rows = x if x.ndim == 2 else x.reshape(-1, columns)
    mean = rows @ ones
    mean /= columns
    out = rows - mean
    rstd = (out * out) @ ones
    rstd /= columns
    rstd += eps
    np.sqrt(rstd, rstd)
    np.reciprocal(rstd, rstd)
    out *= rstd
    if weight is not None:
        out *= weight
    if bias is not None:
        out += bias
    if x.ndim == 2:
        return out, mean, rstd
    stats = (*x.shape[:-1], 1)
    return out.reshape(x.shape), mean.reshape(stats), rstd.reshape(stats)


def layer_norm_backward(
    grad: np.ndarray, x: np.ndarray, mean: np.ndarray, rstd: np.ndarray, weight: np.ndarray | None, needs: Any
) -> Three | None:
    """Gradients (dx, dweight, dbias) of `layer_norm`."""
    if not _simple(x, grad, weight, mean, rstd):
        return None
    columns = x.shape[-1]
    if x.size >= NATIVE_FROM and native.suits(x):
        dx = np.empty(x.shape, x.dtype) if needs[0] else None
        return dx, *native_backward((mean.size, columns), grad, x, mean, rstd, weight, dx, needs)
    if x.size > SMALL:
        return None
    if x.ndim == 2:
        rows, g = x, grad
    else:
        rows, g = x.reshape(-1, columns), grad.reshape(-1, columns)
        mean, rstd = mean.reshape(-1, 1), rstd.reshape(-1, 1)
    down = _ones(len(rows), x.dtype)
    dbias = down @ g if needs[2] else None
    if not (needs[0] or needs[1]):
        return None, None, dbias
    xhat = rows - mean
    xhat *= rstd
    product = g * xhat
    dweight = down @ product if needs[1] else None
    if not needs[0]:
        return None, dweight, dbias
    if weight is None:
        along, gw = ones_column(columns, x.dtype), g
    else:
        along, gw = weight.reshape(columns, 1), g * weight
    projection, offset = product @ along, g @ along
    projection /= columns
    offset /= columns
    xhat *= projection
    xhat += offset
    dx = np.subtract(gw, xhat, xhat)
    dx *= rstd
    return dx.reshape(x.shape), dweight, dbias


@quiet
def group_norm(
    x: np.ndarray, groups: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> Three | None:
    """(out, mean, rstd) of normalising each group of channels of each sample; statistics are (N, groups)."""
    if x.size > SMALL or not _simple(x, weight, bias):
        return None
    n, channels = x.shape[:2]
    made = layer_norm(x.reshape(n * groups, -1), None, None, eps)
    if made is None:
        return None
    out, mean, rstd = made
    if weight is not None or bias is not None:
        out = out.reshape(n, channels, -1)
        if weight is not None:
            out *= weight.reshape(channels, 1)
        if bias is not None:
            out += bias.reshape(channels, 1)
    return out.reshape(x.shape), mean.reshape(n, groups), rstd.reshape(n, groups)


def batch_norm_eval(
    x: np.ndarray, mean: np.ndarray, var: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> np.ndarray | None:
    """The batch normalised by given statistics of its channels."""
    if x.size > SMALL or x.ndim < 2 or not _simple(x, mean, var, weight, bias):
        return None
    scale = var + x.dtype.type(eps)
    np.sqrt(scale, scale)
    np.reciprocal(scale, scale)
    if weight is not None:
        scale *= weight
    shift = mean * scale
    np.subtract(0.0 if bias is None else bias, shift, shift)
    if x.ndim == 2:
        out = x * scale
        out += shift
        return out
    channels = x.shape[1]
    out = x.reshape(len(x), channels, -1) * scale.reshape(channels, 1)
    out += shift.reshape(channels, 1)
    return out.reshape(x.shape)


# A batch is (N, C), or (N, C, S) with everything behind the channels as one dimension.


def _flat(x: np.ndarray) -> np.ndarray:
    return x if x.ndim < 4 else x.reshape(*x.shape[:2], -1)


def batch_norm(
    x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[Any, Any, Any, Any] | None:
    """(out, mean, rstd, biased variance) of a batch."""
    if x.size > SMALL or not _simple(x, weight, bias):
        return None
    batch = _flat(x)
    count = x.size // x.shape[1]
    wide = batch.ndim == 3
    down = _ones(len(x), x.dtype)
    mean = np.add.reduce(batch, (0, 2)) if wide else down @ batch
    mean /= count
    out = batch - (mean[:, None] if wide else mean)
    square = out * out
    var = np.add.reduce(square, (0, 2)) if wide else down @ square
    var /= count
    rstd = var + eps
    np.sqrt(rstd, rstd)
    np.reciprocal(rstd, rstd)
    scale = rstd if weight is None else rstd * weight
    out *= scale[:, None] if wide else scale
    if bias is not None:
        out += bias[:, None] if wide else bias
    return out.reshape(x.shape), mean, rstd, var


def batch_norm_backward(
    grad: np.ndarray, x: np.ndarray, mean: np.ndarray, rstd: np.ndarray, weight: np.ndarray | None, needs: Any
) -> Three | None:
    """Gradients (dx, dweight, dbias) of `batch_norm`."""
    if x.size > SMALL or not _simple(x, grad, weight, mean, rstd):
        return None
    batch, g = _flat(x), _flat(grad)
    count = x.size // x.shape[1]
    wide = batch.ndim == 3
    xhat = batch - (mean[:, None] if wide else mean)
    xhat *= rstd[:, None] if wide else rstd
    product = g * xhat
    if wide:
        dbias, dweight = np.add.reduce(g, (0, 2)), np.add.reduce(product, (0, 2))
    else:
        down = _ones(len(x), x.dtype)
        dbias, dweight = down @ g, down @ product
    dx = None
    if needs[0]:
        slope, offset = dweight / count, dbias / count
        scale = rstd if weight is None else rstd * weight
        if wide:
            slope, offset, scale = slope[:, None], offset[:, None], scale[:, None]
        xhat *= slope
        xhat += offset
        dx = np.subtract(g, xhat, xhat)
        dx *= scale
        dx = dx.reshape(x.shape)
    return dx, dweight if needs[1] else None, dbias if needs[2] else None
