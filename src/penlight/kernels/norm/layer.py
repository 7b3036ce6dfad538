"""Layer and RMS normalisation in NumPy: forward with its statistics, and backward. Batch and group norm: channels.py.

Every variance is the biased one. Backward kernels take `needs = (dx, dweight, dbias)` and give None for what is not
needed. Statistics are float32 for 16-bit inputs. Blocks: see Note [Row blocks] in kernels/rows.py.

Note [Centred or not]
Sums of centred values, of (x - mean)**2 or g * (x - mean), can be had from sums of plain ones, x**2, g * x and g, without
the pass that subtracts the mean. That loses as many digits as the mean is larger than the deviation. So it is done where the
mean is at most OFF_CENTRE deviations away from zero, which costs less than a digit (a look at the statistics tells); elsewhere
values are centred first, so that a large mean costs no accuracy.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ..parallel import blas_alone
from ..rows import LONG_ROW, column_sum, each_block, narrow, quiet, row_sum, widen

Needs = tuple[bool, bool, bool]
Grads = tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]

OFF_CENTRE = 2.0
_BLOCK = 1 << 17  # elements of a block: passes with a number for each row wait for the cache less than others


def _vector(weight: np.ndarray | None, dtype: np.dtype) -> np.ndarray | None:
    """A weight or bias as a flat array of the dtype that is computed in."""
    return None if weight is None else np.ascontiguousarray(weight, dtype).reshape(-1)


def reciprocal_root(mean_square: np.ndarray, eps: float) -> np.ndarray:
    """1 / sqrt(mean_square + eps), in place."""
    mean_square += eps
    np.sqrt(mean_square, mean_square)
    return np.reciprocal(mean_square, mean_square)


def _as_rows(x: np.ndarray, dims: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """x as (rows, elements of the last `dims` dimensions), and the shape of its statistics."""
    lead = x.shape[: x.ndim - dims]
    rows = np.ascontiguousarray(x).reshape(prod(lead), prod(x.shape[x.ndim - dims :]))
    return rows, lead + (1,) * dims


@quiet
def layer_norm(
    x: np.ndarray, dims: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float, centred: bool
) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """(out, mean, rstd) of normalising over the last `dims` dimensions; without `centred`, of RMS normalisation, and the mean is None."""
    rows, stats_shape = _as_rows(widen(x), dims)
    weight, bias = _vector(weight, rows.dtype), _vector(bias, rows.dtype)
    count, columns = rows.shape
    result = np.empty(x.shape, rows.dtype)
    out, mean, rstd = result.reshape(rows.shape), np.zeros(count, rows.dtype), np.full(count, np.nan, rows.dtype)
    ones = np.ones(columns, rows.dtype)

    def normalise(part: slice) -> None:
        block = values = out[part]
        if centred:
            total = rows[part] @ ones if columns <= LONG_ROW else row_sum(rows[part])
            np.divide(total, columns, mean[part])
            np.subtract(rows[part], mean[part, None], block)
        else:
            values = rows[part]
        np.divide(np.vecdot(values, values), columns, rstd[part])
        np.multiply(values, reciprocal_root(rstd[part], eps)[:, None], block)
        if weight is not None:
            np.multiply(block, weight, block)
        if bias is not None:
            np.add(block, bias, block)

    with blas_alone():
        each_block(normalise, count, columns, block=_BLOCK)
    return narrow(result, x.dtype), mean.reshape(stats_shape) if centred else None, rstd.reshape(stats_shape)


@quiet
def layer_norm_backward(
    grad: np.ndarray,
    x: np.ndarray,
    dims: int,
    mean: np.ndarray | None,
    rstd: np.ndarray,
    weight: np.ndarray | None,
    needs: Needs,
) -> Grads:
    """Gradients (dx, dweight, dbias) of `layer_norm`."""
    rows, _ = _as_rows(widen(x), dims)
    grads = np.ascontiguousarray(widen(grad)).reshape(rows.shape)
    scale = _vector(weight, rows.dtype)
    dx = np.empty(rows.shape, rows.dtype) if needs[0] else None
    dweight, dbias = _backward_in_blocks(grads, rows, mean, rstd.reshape(-1), scale, dx, needs)
    shape = x.shape[x.ndim - dims :]
    return (
        None if dx is None else narrow(dx.reshape(x.shape), x.dtype),
        None if dweight is None else narrow(dweight.reshape(shape), x.dtype if weight is None else weight.dtype),
        None if dbias is None else narrow(dbias.reshape(shape), x.dtype if weight is None else weight.dtype),
    )


def _backward_in_blocks(
    grads: np.ndarray,
    rows: np.ndarray,
    mean: np.ndarray | None,
    rstd: np.ndarray,
    scale: np.ndarray | None,
    dx: np.ndarray | None,
    needs: Needs,
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Write the gradient of x to `dx`, and return those of weight and bias."""
    columns = rows.shape[1]
    offset = None if mean is None else mean.reshape(-1) * rstd
    weight_parts: dict[int, np.ndarray] = {}
    bias_parts: dict[int, np.ndarray] = {}
    plain = offset is None or not offset.size or float(np.maximum.reduce(np.abs(offset))) <= OFF_CENTRE
    differentiate = _plain_backward if plain else _centred_backward
    ones = np.ones(len(rows) if needs[2] else 0, rows.dtype)

    def run(part: slice) -> None:
        g = grads[part]
        if needs[2]:
            bias_parts[part.start] = ones[: len(g)] @ g
        if needs[0] or needs[1]:
            off = None if offset is None else offset[part]
            out = None if dx is None else dx[part]
            dweight = differentiate(g, rows[part], off, rstd[part], scale, out, needs[1])
            if dweight is not None:
                weight_parts[part.start] = dweight

    with blas_alone():
        each_block(run, len(rows), columns, block=_BLOCK)
    dweight = sum_parts(weight_parts, columns, rows.dtype) if needs[1] else None
    dbias = sum_parts(bias_parts, columns, rows.dtype) if needs[2] else None
    return dweight, dbias


def _plain_backward(
    g: np.ndarray,
    x: np.ndarray,
    offset: np.ndarray | None,
    rstd: np.ndarray,
    scale: np.ndarray | None,
    out: np.ndarray | None,
    weighs: bool,
) -> np.ndarray | None:
    """Write the gradient of x to `out`, and return that of the weight, without centring. See Note [Centred or not].

    With gw = g * scale, xhat = x * rstd - offset and n columns, the gradient of x is
    rstd * (gw - mean(gw) - xhat * mean(gw * xhat)) = rstd * (gw + slope * x - shift) for two numbers in each row.
    """
    products = np.multiply(g, x)
    dweight = None
    if weighs:
        dweight = rstd @ products
        if offset is not None:
            dweight -= offset @ g
    if out is None:
        return dweight
    along = row_sum(products) if scale is None else products @ scale  # sum of gw * x
    along *= rstd
    if offset is not None:
        total = row_sum(g) if scale is None else g @ scale  # sum of gw
        along -= total * offset
    along /= -x.shape[1]  # now minus the mean of gw * xhat
    np.multiply(x, (along * rstd)[:, None], out)
    if scale is None:
        np.add(out, g, out)
    else:
        np.multiply(g, scale, products)
        np.add(out, products, out)
    if offset is not None:
        total /= x.shape[1]
        along *= offset
        along += total
        np.subtract(out, along[:, None], out)
    np.multiply(out, rstd[:, None], out)
    return dweight


def _centred_backward(
    g: np.ndarray,
    x: np.ndarray,
    offset: np.ndarray | None,
    rstd: np.ndarray,
    scale: np.ndarray | None,
    out: np.ndarray | None,
    weighs: bool,
) -> np.ndarray | None:
    """The same as `_plain_backward`, from centred values."""
    assert offset is not None
    across = rstd[:, None]
    xhat = np.subtract(x, (offset / rstd)[:, None])
    np.multiply(xhat, across, xhat)
    dweight = column_sum(g, xhat) if weighs else None
    if out is None:
        return dweight
    columns = x.shape[1]
    if scale is not None:
        g = np.multiply(g, scale, out)
    projection = np.vecdot(g, xhat)
    projection /= columns
    np.multiply(xhat, projection[:, None], xhat)
    np.subtract(g, (row_sum(g) / columns)[:, None], out)
    np.subtract(out, xhat, out)
    np.multiply(out, across, out)
    return dweight


def sum_parts(parts: dict[int, np.ndarray], columns: int, dtype: np.dtype) -> np.ndarray:
    """The sum of what the blocks gave, in the order of the blocks whatever thread was first."""
    total = np.zeros(columns, dtype)
    for start in sorted(parts):
        total += parts[start]
    return total
