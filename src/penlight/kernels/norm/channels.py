"""Batch and group normalisation in NumPy: forward with its statistics, and backward. Layer norm, and what both use: layer.py.

Note [Channels of a batch]
A batch (N, C, S) is handled in one of two ways. Long channels (S >= LONG_CHANNEL) are N * C rows, each with its scalars.
Short ones (also plain (N, C) features) are N rows of C * S, with the channel's scalars repeated S times: otherwise
the inner loops would be as short as S.
"""

from __future__ import annotations

from math import prod

import numpy as np

from ..rows import column_sum, each_block, narrow, quiet, row_sum, widen
from .layer import OFF_CENTRE, Grads, Needs, reciprocal_root, sum_parts
from .strategies import LONG_CHANNEL


def _channel_rows(x: np.ndarray) -> tuple[np.ndarray, tuple[int, int, int]]:
    """x as described in Note [Channels of a batch], and (N, C, S)."""
    n, channels, size = x.shape[0], x.shape[1] if x.ndim > 1 else 1, prod(x.shape[2:])
    x = np.ascontiguousarray(x)
    return x.reshape((n * channels, size) if size >= LONG_CHANNEL else (n, channels * size)), (n, channels, size)


def _per_row(values: np.ndarray, sizes: tuple[int, int, int]) -> np.ndarray:
    """A value for each channel, in a form that broadcasts against `_channel_rows`."""
    n, _, size = sizes
    if size == 1:
        return values[None, :]
    return np.tile(values, n)[:, None] if size >= LONG_CHANNEL else np.repeat(values, size)[None, :]


def _part(values: np.ndarray, rows: slice) -> np.ndarray:
    return values[rows] if values.shape[1] == 1 and values.shape[0] != 1 else values


def _channel_sums(
    rows: np.ndarray, others: np.ndarray, sizes: tuple[int, int, int], center: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """For each channel the sums, in float64, of rows and of rows * (others - center); if `others` is the same array, of
    rows - center and its square. Without a center that is 0."""
    n, channels, size = sizes
    sums, products = np.empty((2, n * channels), rows.dtype)
    total_parts: dict[int, np.ndarray] = {}
    product_parts: dict[int, np.ndarray] = {}

    def add_up(part: slice) -> None:
        block, partner = rows[part], others[part]
        if center is not None:
            partner = np.subtract(partner, _part(center, part))
            block = partner if others is rows else block
        if size >= LONG_CHANNEL:
            sums[part] = row_sum(block)
            np.vecdot(block, partner, products[part])
        else:
            total_parts[part.start], product_parts[part.start] = column_sum(block), column_sum(block, partner)

    each_block(add_up, *rows.shape)
    if size >= LONG_CHANNEL:
        return _of_channels(sums, sizes), _of_channels(products, sizes)
    wide = np.dtype(np.float64)
    sums, products = (sum_parts(parts, channels * size, wide) for parts in (total_parts, product_parts))
    return _of_channels(sums, sizes), _of_channels(products, sizes)


def _of_channels(sums: np.ndarray, sizes: tuple[int, int, int]) -> np.ndarray:
    """The sum for each channel, in float64, from sums over the rows of `_channel_rows` or over their columns."""
    n, channels, size = sizes
    if size >= LONG_CHANNEL:
        return np.add.reduce(sums.reshape(n, channels), 0, np.float64)
    columns = np.add.reduce(sums.reshape(-1, channels * size), 0, np.float64)
    return columns if size == 1 else np.add.reduce(columns.reshape(channels, size), 1)


def _affine(rows: np.ndarray, scale: np.ndarray, shift: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """rows * scale + shift, block by block, as an array of `shape`."""
    result = np.empty(shape, rows.dtype)
    out = result.reshape(rows.shape)

    def apply(part: slice) -> None:
        block = out[part]
        np.multiply(rows[part], _part(scale, part), block)
        np.add(block, _part(shift, part), block)

    each_block(apply, *rows.shape)
    return result


@quiet
def batch_norm_stats(x: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(mean, rstd, biased variance) for each channel (dim 1) of x."""
    rows, sizes = _channel_rows(widen(x))
    count = sizes[0] * sizes[2]
    total, squares = _channel_sums(rows, rows, sizes)
    mean = total / count
    var = squares / count
    near = var <= (1.0 + OFF_CENTRE**2) * (var - mean * mean)  # see Note [Centred or not]
    var -= mean * mean
    if not near.all():
        rounded = mean.astype(rows.dtype)
        off, squares = _channel_sums(rows, rows, sizes, _per_row(rounded, sizes))
        off /= count
        mean, var = rounded + off, squares / count - off * off
    rstd = reciprocal_root(var.copy(), eps)
    return mean.astype(rows.dtype), rstd.astype(rows.dtype), var.astype(rows.dtype)


@quiet
def batch_norm_apply(
    x: np.ndarray, mean: np.ndarray, rstd: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None
) -> np.ndarray:
    """(x - mean) * rstd * weight + bias, for each channel (dim 1)."""
    rows, sizes = _channel_rows(widen(x))
    scale = rstd.astype(rows.dtype, copy=False)
    if weight is not None:
        scale = scale * weight.astype(rows.dtype, copy=False)
    shift = -mean.astype(rows.dtype, copy=False) * scale
    if bias is not None:
        shift += bias.astype(rows.dtype, copy=False)
    return narrow(_affine(rows, _per_row(scale, sizes), _per_row(shift, sizes), x.shape), x.dtype)


def batch_norm(
    x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(out, mean, rstd, biased variance) of a batch, as in training; the running statistics are the caller's."""
    mean, rstd, var = batch_norm_stats(x, eps)
    return batch_norm_apply(x, mean, rstd, weight, bias), mean, rstd, var


@quiet
def batch_norm_eval(
    x: np.ndarray,
    running_mean: np.ndarray,
    running_var: np.ndarray,
    weight: np.ndarray | None,
    bias: np.ndarray | None,
    eps: float,
) -> np.ndarray:
    """The batch normalised by given statistics."""
    rstd = reciprocal_root(widen(running_var).copy(), eps)
    return batch_norm_apply(x, widen(running_mean), rstd, weight, bias)


@quiet
def batch_norm_backward(
    grad: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    rstd: np.ndarray,
    weight: np.ndarray | None,
    training: bool = True,
    needs: Needs = (True, True, True),
) -> Grads:
    """Gradients (dx, dweight, dbias). With `training` the statistics are those of x and depend on it."""
    rows, sizes = _channel_rows(widen(x))
    grads = np.ascontiguousarray(widen(grad)).reshape(rows.shape)
    mean, rstd = mean.astype(rows.dtype, copy=False), rstd.astype(rows.dtype, copy=False)
    scale = rstd if weight is None else rstd * weight.astype(rows.dtype, copy=False)
    coupled = needs[0] and training
    dweight = dbias = None
    if needs[1] or needs[2] or coupled:
        dweight, dbias = _channel_gradients(grads, rows, sizes, mean, rstd)
    dx = None
    if coupled:
        count = sizes[0] * sizes[2]
        slope = scale * rstd * dweight / count
        dx = _affine_pair(
            grads,
            _per_row(scale, sizes),
            rows,
            _per_row(slope, sizes),
            _per_row(slope * mean - scale * dbias / count, sizes),
            x.shape,
        )
    elif needs[0]:
        dx = _affine(grads, _per_row(scale, sizes), _per_row(np.zeros_like(scale), sizes), x.shape)
    dtype = x.dtype if weight is None else weight.dtype
    return (
        None if dx is None else narrow(dx, x.dtype),
        narrow(dweight, dtype) if dweight is not None and needs[1] else None,
        narrow(dbias, dtype) if dbias is not None and needs[2] else None,
    )


def _channel_gradients(
    grads: np.ndarray, rows: np.ndarray, sizes: tuple[int, int, int], mean: np.ndarray, rstd: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """For each channel the sums of grads * (rows - mean) * rstd and of grads. See Note [Centred or not]."""
    near = float(np.maximum.reduce(np.abs(mean * rstd))) <= OFF_CENTRE
    total, moment = _channel_sums(grads, rows, sizes, None if near else _per_row(mean, sizes))
    if near:
        moment -= mean * total
    moment *= rstd
    return moment.astype(rows.dtype), total.astype(rows.dtype)


def _affine_pair(
    grads: np.ndarray,
    scale: np.ndarray,
    rows: np.ndarray,
    slope: np.ndarray,
    shift: np.ndarray,
    shape: tuple[int, ...],
) -> np.ndarray:
    """grads * scale - rows * slope + shift, block by block, as an array of `shape`."""
    result = np.empty(shape, rows.dtype)
    out = result.reshape(rows.shape)

    def apply(part: slice) -> None:
        block, other = out[part], np.multiply(rows[part], _part(slope, part))
        np.subtract(other, _part(shift, part), other)
        np.multiply(grads[part], _part(scale, part), block)
        np.subtract(block, other, block)

    each_block(apply, *rows.shape)
    return result


@quiet
def group_norm(
    x: np.ndarray, groups: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(out, mean, rstd) of normalising each group of channels (dim 1) of each sample; statistics are (N, groups)."""
    n, channels = x.shape[:2]
    wide = np.ascontiguousarray(widen(x)).reshape(n * groups, -1) if x.size else widen(x).reshape(n * groups, 0)
    mean, rstd = _group_statistics(wide, eps)
    scale, shift = _group_affine(mean.reshape(n, groups, 1), rstd.reshape(n, groups, 1), channels, weight, bias)
    rows = wide.reshape(n * channels, prod(x.shape[2:]))
    out = _affine(rows, scale.reshape(-1, 1), shift.reshape(-1, 1), x.shape)
    return narrow(out, x.dtype), mean.reshape(n, groups), rstd.reshape(n, groups)


def _group_statistics(rows: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """The mean and 1 / sqrt(variance + eps) of each row."""
    count, columns = rows.shape
    mean, rstd = np.zeros(count, rows.dtype), np.full(count, np.nan, rows.dtype)

    def measure(part: slice) -> None:
        np.divide(row_sum(rows[part]), columns, mean[part])
        centred = np.subtract(rows[part], mean[part, None])
        np.divide(np.vecdot(centred, centred), columns, rstd[part])
        reciprocal_root(rstd[part], eps)

    each_block(measure, *rows.shape)
    return mean, rstd


def _group_affine(
    mean: np.ndarray, rstd: np.ndarray, channels: int, weight: np.ndarray | None, bias: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Scale and shift (N, groups, channels / groups) that normalise and apply weight and bias."""
    groups = mean.shape[1]
    if weight is None:
        scale = rstd.repeat(channels // groups, 2)
    else:
        scale = rstd * weight.astype(rstd.dtype, copy=False).reshape(groups, -1)
    shift = mean * scale
    if bias is None:
        np.negative(shift, shift)
    else:
        np.subtract(bias.astype(rstd.dtype, copy=False).reshape(groups, -1), shift, shift)
    return scale, shift


@quiet
def group_norm_backward(
    grad: np.ndarray,
    x: np.ndarray,
    groups: int,
    mean: np.ndarray,
    rstd: np.ndarray,
    weight: np.ndarray | None,
    needs: Needs = (True, True, True),
) -> Grads:
    """Gradients (dx, dweight, dbias) of `group_norm`."""
    n, channels = x.shape[:2]
    size, each = prod(x.shape[2:]), channels // groups
    rows = np.ascontiguousarray(widen(x)).reshape(n * channels, size)
    grads = np.ascontiguousarray(widen(grad)).reshape(rows.shape)
    mean, rstd = mean.reshape(n, groups, 1), rstd.reshape(n, groups, 1)
    total, moment = _group_sums(grads, rows, mean.reshape(-1, 1).repeat(each, 0))
    moment, total = moment.reshape(n, groups, each), total.reshape(n, groups, each)
    dtype = x.dtype if weight is None else weight.dtype
    dweight = narrow(np.add.reduce(moment * rstd, 0).reshape(-1), dtype) if needs[1] else None
    dbias = narrow(np.add.reduce(total, 0).reshape(-1), dtype) if needs[2] else None
    if not needs[0]:
        return None, dweight, dbias
    if rows.size == 0:
        return np.zeros_like(x), dweight, dbias
    scale, _ = _group_affine(mean, rstd, channels, weight, None)
    count = each * size
    slope = np.vecdot(moment, scale)[..., None] * rstd * rstd / count
    shift = slope * mean - np.vecdot(total, scale)[..., None] / count
    slope, shift = (v.reshape(-1, 1).repeat(each, 0) for v in (slope, shift))
    dx = _affine_pair(grads, scale.reshape(-1, 1), rows, slope, shift, x.shape)
    return narrow(dx, x.dtype), dweight, dbias


def _group_sums(grads: np.ndarray, rows: np.ndarray, center: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sums over each row of grads and of grads * (rows - center)."""
    total, moment = np.zeros(len(rows), rows.dtype), np.zeros(len(rows), rows.dtype)

    def add_up(part: slice) -> None:
        total[part] = row_sum(grads[part])
        moment[part] = np.vecdot(rows[part] - center[part], grads[part])

    each_block(add_up, *rows.shape)
    return total, moment
