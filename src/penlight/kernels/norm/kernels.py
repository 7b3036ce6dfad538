"""Norms as compiled loops, see Note [Compiled loops] in compiler/loops.py. The NumPy version is in_numpy.py.

Functions return None if there is no machine code or no work. Machine code refuses arrays of other dtypes, and non-contiguous
parameters. Sums over rows that threads share are taken for blocks of rows, and then added up: their order depends only on sizes.
"""

from __future__ import annotations

import math
from math import prod
from typing import Any

import numpy as np

from ..compiler.loops import Floats, compile_loops, reassociated
from ..copies import contiguous
from ..waiting_threads import over

_GRAIN = 1 << 15  # elements per thread, at least
_ROWS = 64  # per partial sum: each is summed by one thread, and partial sums limit the rounding error
_BLOCK = 4096  # elements of a row per partial sum, for the same reason
_ALL = (True, True, True)
Three = tuple[Any, Any, Any]


def _sum(x: Floats, start: int, count: int) -> float:
    """A first estimate: `_deviations` finds how far it is off."""
    total = 0.0
    for i in reassociated(range(count)):
        total += x[start + i]
    return total


def _deviations(x: Floats, start: int, count: int, middle: float) -> tuple[float, float]:
    """The sums of distances from the middle, and of their squares."""
    total, squares = 0.0, 0.0
    for low in range(0, count, _BLOCK):
        part, square = 0.0, 0.0
        for i in reassociated(range(low, min(count, low + _BLOCK))):
            distance = x[start + i] - middle
            part += distance
            square += distance * distance
        total += part
        squares += square
    return total, squares


def _products(grad: Floats, x: Floats, start: int, count: int, middle: float) -> tuple[float, float]:
    """The sums of gradients, and of gradients times distances from the middle."""
    total, moment = 0.0, 0.0
    for low in range(0, count, _BLOCK):
        part, product = 0.0, 0.0
        for i in reassociated(range(low, min(count, low + _BLOCK))):
            part += grad[start + i]
            product += grad[start + i] * (x[start + i] - middle)
        total += part
        moment += product
    return total, moment


def _affine(x: Floats, out: Floats, start: int, count: int, middle: float, scale: float, shift: float) -> None:
    for i in range(count):
        out[start + i] = (x[start + i] - middle) * scale + shift


def _affine_pair(
    grad: Floats,
    x: Floats,
    out: Floats,
    start: int,
    count: int,
    middle: float,
    scale: float,
    slope: float,
    shift: float,
) -> None:
    for i in range(count):
        out[start + i] = grad[start + i] * scale - (x[start + i] - middle) * slope - shift


def _mean_and_variance(x: Floats, start: int, count: int) -> tuple[float, float]:
    """The mean and the variance; the mean distance from the mean, which is its rounding error, corrects both."""
    middle = _sum(x, start, count) / count
    off, squares = _deviations(x, start, count, middle)
    off /= count
    return middle + off, max(squares / count - off * off, 0.0)


# ----- Rows -----------------------------------------------------------------------------------------------------------


def _moments(begin: int, end: int, x: Floats, mean: Floats, variance: Floats, columns: int) -> None:
    for row in range(begin, end):
        mean[row], variance[row] = _mean_and_variance(x, row * columns, columns)


def _layer(
    begin: int, end: int, x: Floats, out: Floats, mean: Floats, rstd: Floats, weight: Floats, bias: Floats, columns: int, eps: float,
    *, centred: bool, scaled: bool, shifted: bool,
) -> None:  # fmt: skip
    for row in range(begin, end):
        start = row * columns
        middle, square = 0.0, 0.0
        if centred:
            middle, square = _mean_and_variance(x, start, columns)
            mean[row] = middle
        else:
            square = _deviations(x, start, columns, 0.0)[1] / columns
        scale = 1.0 / math.sqrt(square + eps)
        rstd[row] = scale
        for i in range(columns):
            value = (x[start + i] - middle) * scale
            if scaled:
                value *= weight[i]
            if shifted:
                value += bias[i]
            out[start + i] = value


def _layer_back(
    begin: int, end: int, grad: Floats, x: Floats, mean: Floats, rstd: Floats, weight: Floats, dx: Floats, dweight: Floats, dbias: Floats,
    rows: int, columns: int, *, centred: bool, scaled: bool, of_x: bool, of_weight: bool, of_bias: bool,
) -> None:  # fmt: skip
    """The range is over blocks of rows, each of which has its own sums for the weight and the bias."""
    for block in range(begin, end):
        for i in range(columns):
            if of_weight:
                dweight[block * columns + i] = 0.0
            if of_bias:
                dbias[block * columns + i] = 0.0
        for row in range(block * _ROWS, min(rows, block * _ROWS + _ROWS)):
            start = row * columns
            middle, scale = mean[row] if centred else 0.0, rstd[row]
            along, total = 0.0, 0.0
            for i in reassociated(range(columns)):
                g = grad[start + i]
                if of_bias:
                    dbias[block * columns + i] += g
                if of_x or of_weight:
                    product = g * ((x[start + i] - middle) * scale)
                    if of_weight:
                        dweight[block * columns + i] += product
                    if of_x:
                        along += product * weight[i] if scaled else product
                        total += g * weight[i] if scaled else g
            if of_x:
                slope = along / columns * scale
                shift = total / columns if centred else 0.0
                for i in range(columns):
                    g = grad[start + i] * weight[i] if scaled else grad[start + i]
                    dx[start + i] = (g - shift - (x[start + i] - middle) * slope) * scale


# ----- Groups of channels ---------------------------------------------------------------------------------------------


def _group(
    begin: int, end: int, x: Floats, out: Floats, mean: Floats, rstd: Floats, weight: Floats, bias: Floats, groups: int, each: int,
    size: int, eps: float, *, scaled: bool, shifted: bool,
) -> None:  # fmt: skip
    for row in range(begin, end):
        start = row * each * size
        middle, square = _mean_and_variance(x, start, each * size)
        scale = 1.0 / math.sqrt(square + eps)
        mean[row] = middle
        rstd[row] = scale
        channel = row % groups * each
        for c in range(each):
            factor = scale * weight[channel + c] if scaled else scale
            _affine(x, out, start + c * size, size, middle, factor, bias[channel + c] if shifted else 0.0)


def _group_back(
    begin: int, end: int, grad: Floats, x: Floats, mean: Floats, rstd: Floats, weight: Floats, dx: Floats, dweight: Floats, dbias: Floats,
    groups: int, each: int, size: int, *, scaled: bool,
) -> None:  # fmt: skip
    """The gradients of weight and bias are those of each sample."""
    for row in range(begin, end):
        middle, scale = mean[row], rstd[row]
        channel = row % groups * each
        along, total = 0.0, 0.0
        for c in range(each):
            plain, moment = _products(grad, x, (row * each + c) * size, size, middle)
            dweight[row * each + c] = moment * scale
            dbias[row * each + c] = plain
            along += moment * weight[channel + c] if scaled else moment
            total += plain * weight[channel + c] if scaled else plain
        slope = along * scale / (each * size) * scale * scale
        shift = total / (each * size) * scale
        for c in range(each):
            factor = scale * weight[channel + c] if scaled else scale
            _affine_pair(grad, x, dx, (row * each + c) * size, size, middle, factor, slope, shift)


# ----- Batches --------------------------------------------------------------------------------------------------------


def _batch(
    begin: int, end: int, x: Floats, out: Floats, mean: Floats, rstd: Floats, var: Floats, weight: Floats, bias: Floats, count: int,
    channels: int, size: int, eps: float, *, scaled: bool, shifted: bool,
) -> None:  # fmt: skip
    """The range is over channels."""
    for c in range(begin, end):
        total, off, squares = 0.0, 0.0, 0.0
        for block in range(-(-count // _ROWS)):
            part = 0.0
            for n in range(block * _ROWS, min(count, block * _ROWS + _ROWS)):
                part += _sum(x, (n * channels + c) * size, size)
            total += part
        middle = total / (count * size)
        for block in range(-(-count // _ROWS)):
            part, square = 0.0, 0.0
            for n in range(block * _ROWS, min(count, block * _ROWS + _ROWS)):
                distances, more = _deviations(x, (n * channels + c) * size, size, middle)
                part += distances
                square += more
            off += part
            squares += square
        off /= count * size
        middle += off
        square = max(squares / (count * size) - off * off, 0.0)
        scale = 1.0 / math.sqrt(square + eps)
        mean[c] = middle
        rstd[c] = scale
        var[c] = square
        factor = scale * weight[c] if scaled else scale
        for n in range(count):
            _affine(x, out, (n * channels + c) * size, size, middle, factor, bias[c] if shifted else 0.0)


def _batch_eval(
    begin: int, end: int, x: Floats, out: Floats, mean: Floats, var: Floats, weight: Floats, bias: Floats, channels: int, size: int,
    eps: float, *, scaled: bool, shifted: bool,
) -> None:  # fmt: skip
    """The range is over samples."""
    for n in range(begin, end):
        for c in range(channels):
            scale = 1.0 / math.sqrt(var[c] + eps)
            factor = scale * weight[c] if scaled else scale
            _affine(x, out, (n * channels + c) * size, size, mean[c], factor, bias[c] if shifted else 0.0)


def _batch_back(
    begin: int, end: int, grad: Floats, x: Floats, mean: Floats, rstd: Floats, weight: Floats, dx: Floats, dweight: Floats, dbias: Floats,
    count: int, channels: int, size: int, *, scaled: bool, training: bool,
) -> None:  # fmt: skip
    for c in range(begin, end):
        middle, scale = mean[c], rstd[c]
        moment, total = 0.0, 0.0
        for block in range(-(-count // _ROWS)):
            part, share = 0.0, 0.0
            for n in range(block * _ROWS, min(count, block * _ROWS + _ROWS)):
                plain, more = _products(grad, x, (n * channels + c) * size, size, middle)
                part += plain
                share += more
            total += part
            moment += share
        dweight[c] = moment * scale
        dbias[c] = total
        factor = scale * weight[c] if scaled else scale
        slope = moment * scale / (count * size) * scale * factor if training else 0.0
        shift = total / (count * size) * factor if training else 0.0
        for n in range(count):
            _affine_pair(grad, x, dx, (n * channels + c) * size, size, middle, factor, slope, shift)


# With one value per channel in each sample, (N, C), those of a sample are contiguous: all channels are summed together.


def _features(
    begin: int, end: int, x: Floats, out: Floats, mean: Floats, rstd: Floats, var: Floats, weight: Floats, bias: Floats, offs: Floats,
    count: int, channels: int, eps: float, *, scaled: bool, shifted: bool,
) -> None:  # fmt: skip
    """`rstd` and the first row of `out` hold the sums of a block of rows until they get their values."""
    for c in range(begin, end):
        mean[c], var[c], offs[c] = 0.0, 0.0, 0.0
    for block in range(-(-count // _ROWS)):
        for c in range(begin, end):
            rstd[c] = 0.0
        for n in range(block * _ROWS, min(count, block * _ROWS + _ROWS)):
            for c in range(begin, end):
                rstd[c] += x[n * channels + c]
        for c in range(begin, end):
            mean[c] += rstd[c]
    for c in range(begin, end):
        mean[c] /= count
    for block in range(-(-count // _ROWS)):
        for c in range(begin, end):
            rstd[c], out[c] = 0.0, 0.0
        for n in range(block * _ROWS, min(count, block * _ROWS + _ROWS)):
            for c in range(begin, end):
                distance = x[n * channels + c] - mean[c]
                rstd[c] += distance
                out[c] += distance * distance
        for c in range(begin, end):
            offs[c] += rstd[c]
            var[c] += out[c]
    for c in range(begin, end):
        off = offs[c] / count
        mean[c] += off
        var[c] = max(var[c] / count - off * off, 0.0)
        rstd[c] = 1.0 / math.sqrt(var[c] + eps)
    for n in range(count):
        for c in range(begin, end):
            value = (x[n * channels + c] - mean[c]) * rstd[c]
            if scaled:
                value *= weight[c]
            if shifted:
                value += bias[c]
            out[n * channels + c] = value


def _features_back(
    begin: int, end: int, grad: Floats, x: Floats, mean: Floats, rstd: Floats, weight: Floats, dx: Floats, dweight: Floats, dbias: Floats,
    sums: Floats, count: int, channels: int, *, scaled: bool, training: bool,
) -> None:  # fmt: skip
    """`sums` and the first row of `dx` hold the sums of a block of rows until `dx` gets its values."""
    for c in range(begin, end):
        dweight[c], dbias[c] = 0.0, 0.0
    for block in range(-(-count // _ROWS)):
        for c in range(begin, end):
            sums[c], dx[c] = 0.0, 0.0
        for n in range(block * _ROWS, min(count, block * _ROWS + _ROWS)):
            for c in range(begin, end):
                g = grad[n * channels + c]
                dx[c] += g
                sums[c] += g * ((x[n * channels + c] - mean[c]) * rstd[c])
        for c in range(begin, end):
            dbias[c] += dx[c]
            dweight[c] += sums[c]
    for n in range(count):
        for c in range(begin, end):
            value = grad[n * channels + c]
            if training:
                value -= (dbias[c] + (x[n * channels + c] - mean[c]) * rstd[c] * dweight[c]) / count
            dx[n * channels + c] = value * rstd[c] * weight[c] if scaled else value * rstd[c]


# ----- Their calls ----------------------------------------------------------------------------------------------------


def row_moments(x: np.ndarray, rows: int, columns: int) -> Any:
    """The mean and the variance of each of `rows` rows of a float array; None if there is no machine code for it."""
    run = compile_loops(_moments, x.dtype) if type(x) is np.ndarray and x.dtype.kind == "f" else None
    if run is None or x.size != rows * columns or not x.size or not x.flags.c_contiguous:
        return None
    return over(run, rows, -(-_GRAIN // columns), x, (rows,), (rows,), columns)


def layer_norm(
    x: np.ndarray, dims: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float, centred: bool = True
) -> Three | None:
    """(out, mean, rstd) of normalising over the last `dims` dimensions; without `centred` the mean is None."""
    run = compile_loops(_layer, x.dtype, centred=centred, scaled=weight is not None, shifted=bias is not None)
    if run is None or not x.size or type(eps) is not float:
        return None
    stats = (*x.shape[: x.ndim - dims], *(1,) * dims)
    rows = prod(stats)
    columns = x.size // rows
    arrays = contiguous(x), x.shape, stats if centred else None, stats, weight, bias
    return over(run, rows, -(-_GRAIN // columns), *arrays, columns, eps)


def layer_norm_backward(
    grad: np.ndarray, x: np.ndarray, dims: int, mean: np.ndarray | None, rstd: np.ndarray, weight: np.ndarray | None, needs: Any = _ALL
) -> Three | None:  # fmt: skip
    """Gradients (dx, dweight, dbias)."""
    of_x, of_weight, of_bias = needs
    known = {"centred": mean is not None, "scaled": weight is not None and of_x}
    run = compile_loops(_layer_back, x.dtype, **known, of_x=of_x, of_weight=of_weight, of_bias=of_bias)
    if run is None or not x.size:
        return None
    rows, shape = rstd.size, x.shape[x.ndim - dims :]
    columns, blocks = x.size // rows, -(-rows // _ROWS)
    sums = shape if blocks == 1 else (blocks, *shape)
    shapes = x.shape if of_x else None, sums if of_weight else None, sums if of_bias else None
    arrays = contiguous(grad), contiguous(x), mean, rstd, weight, *shapes
    dx, dweight, dbias = over(run, blocks, -(-_GRAIN // (_ROWS * columns)), *arrays, rows, columns)
    if blocks > 1:
        dweight, dbias = (None if part is None else np.add.reduce(part, 0) for part in (dweight, dbias))
    return dx, dweight, dbias


def group_norm(
    x: np.ndarray, groups: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> Three | None:
    """(out, mean, rstd) of normalising each group of channels of each sample; statistics are (N, groups)."""
    run = compile_loops(_group, x.dtype, scaled=weight is not None, shifted=bias is not None)
    if run is None or not x.size or type(eps) is not float:
        return None
    n, channels = x.shape[:2]
    arrays = contiguous(x), x.shape, (n, groups), (n, groups), weight, bias
    sizes = groups, channels // groups, prod(x.shape[2:])
    return over(run, n * groups, -(-_GRAIN * n * groups // x.size), *arrays, *sizes, eps)


def group_norm_backward(
    grad: np.ndarray, x: np.ndarray, groups: int, mean: np.ndarray, rstd: np.ndarray, weight: np.ndarray | None, needs: Any = _ALL
) -> Three | None:  # fmt: skip
    """Gradients (dx, dweight, dbias)."""
    run = compile_loops(_group_back, x.dtype, scaled=weight is not None)
    if run is None or not x.size:
        return None
    n, channels = x.shape[:2]
    arrays = contiguous(grad), contiguous(x), mean, rstd, weight, x.shape, (n, channels), (n, channels)
    sizes = groups, channels // groups, prod(x.shape[2:])
    dx, dweight, dbias = over(run, n * groups, -(-_GRAIN * n * groups // x.size), *arrays, *sizes)
    return (
        dx if needs[0] else None,
        np.add.reduce(dweight, 0) if needs[1] else None,
        np.add.reduce(dbias, 0) if needs[2] else None,
    )


def batch_norm(
    x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[Any, Any, Any, Any] | None:
    """(out, mean, rstd, biased variance) of a batch."""
    flat = prod(x.shape[2:]) == 1
    run = compile_loops(_features if flat else _batch, x.dtype, scaled=weight is not None, shifted=bias is not None)
    if run is None or not x.size or type(eps) is not float or x.ndim < 2:
        return None
    count, channels = x.shape[:2]
    each, grain = (channels,), -(-_GRAIN * channels // x.size)
    arrays = contiguous(x), x.shape, each, each, each, weight, bias
    if flat:
        return over(run, channels, grain, *arrays, each, count, channels, eps)[:4]
    return over(run, channels, grain, *arrays, count, channels, prod(x.shape[2:]), eps)


def batch_norm_eval(
    x: np.ndarray, mean: np.ndarray, var: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> Any:
    """The batch normalised by given statistics."""
    run = compile_loops(_batch_eval, x.dtype, scaled=weight is not None, shifted=bias is not None)
    if run is None or not x.size or type(eps) is not float or x.ndim < 2:
        return None
    arrays = contiguous(x), x.shape, mean, var, weight, bias
    return over(run, len(x), -(-_GRAIN * len(x) // x.size), *arrays, x.shape[1], prod(x.shape[2:]), eps)


def batch_norm_backward(
    grad: np.ndarray, x: np.ndarray, mean: np.ndarray, rstd: np.ndarray, weight: np.ndarray | None, training: bool = True,
    needs: Any = _ALL,
) -> Three | None:  # fmt: skip
    """Gradients (dx, dweight, dbias); with `training` the statistics depend on x."""
    size = prod(x.shape[2:])
    loops = _features_back if size == 1 else _batch_back
    run = compile_loops(loops, x.dtype, scaled=weight is not None, training=training)
    if run is None or not x.size or x.ndim < 2:
        return None
    count, channels = x.shape[:2]
    arrays = contiguous(grad), contiguous(x), mean, rstd, weight, x.shape, (channels,), (channels,)
    more = ((channels,), count, channels) if size == 1 else (count, channels, size)
    dx, dweight, dbias, *_ = over(run, channels, -(-_GRAIN * channels // x.size), *arrays, *more)
    return dx if needs[0] else None, dweight if needs[1] else None, dbias if needs[2] else None
