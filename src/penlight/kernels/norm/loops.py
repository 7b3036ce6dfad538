"""Norms of small arrays as loops in machine code, see Note [Compiled loops] in native/loops.py. The same in NumPy: norm.py, kernels/norm/channels.py.

float32 is computed with as float64, and sums go in four parts, of which none waits for the others. Functions give None where there is no machine code, or arrays
are not simple: of one dtype, the parameters contiguous, not empty. Larger arrays are NumPy's, or kernels/norm/kernels.py's, whose loops are over vectors.
"""

from __future__ import annotations

import math
from math import prod
from typing import Any

import numpy as np

from ..native.loops import Floats, run_of
from .features import features, features_back

_MOST = 1 << 15  # elements; for more of float32 there are loops over vectors
Three = tuple[Any, Any, Any]


def _sum(x: Floats, start: int, stop: int) -> float:
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    i = start
    while i + 3 < stop:
        a += x[i]
        b += x[i + 1]
        c += x[i + 2]
        d += x[i + 3]
        i += 4
    while i < stop:
        a += x[i]
        i += 1
    return (a + b) + (c + d)


def _squares(x: Floats, start: int, stop: int, middle: float) -> float:
    """The sum of squared distances from the middle."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    i = start
    while i + 3 < stop:
        p, q, r, s = x[i] - middle, x[i + 1] - middle, x[i + 2] - middle, x[i + 3] - middle
        a += p * p
        b += q * q
        c += r * r
        d += s * s
        i += 4
    while i < stop:
        p = x[i] - middle
        a += p * p
        i += 1
    return (a + b) + (c + d)


def _moment(grad: Floats, x: Floats, start: int, stop: int, middle: float) -> float:
    """The sum of gradients times distances from the middle."""
    a, b = 0.0, 0.0
    i = start
    while i + 1 < stop:
        a += grad[i] * (x[i] - middle)
        b += grad[i + 1] * (x[i + 1] - middle)
        i += 2
    while i < stop:
        a += grad[i] * (x[i] - middle)
        i += 1
    return a + b


# ----- Rows -----------------------------------------------------------------------------------------------------------


def _layer(
    begin: int, end: int, x: Floats, out: Floats, mean: Floats, rstd: Floats, weight: Floats, bias: Floats, columns: int, eps: float,
    *, centred: bool, scaled: bool, shifted: bool,
) -> None:  # fmt: skip
    for row in range(begin, end):
        start = row * columns
        middle = 0.0
        if centred:
            middle = _sum(x, start, start + columns) / columns
            mean[row] = middle
        spread = 1.0 / math.sqrt(_squares(x, start, start + columns, middle) / columns + eps)
        rstd[row] = spread
        for i in range(columns):
            value = (x[start + i] - middle) * spread
            if scaled:
                value *= weight[i]
            if shifted:
                value += bias[i]
            out[start + i] = value


def _layer_back(
    begin: int, end: int, grad: Floats, x: Floats, mean: Floats, rstd: Floats, weight: Floats, dx: Floats, dweight: Floats, dbias: Floats,
    columns: int, *, centred: bool, scaled: bool, of_x: bool, of_weight: bool, of_bias: bool,
) -> None:  # fmt: skip
    for i in range(columns):
        if of_weight:
            dweight[i] = 0.0
        if of_bias:
            dbias[i] = 0.0
    for row in range(begin, end):
        start = row * columns
        middle = 0.0
        if centred:
            middle = mean[row]
        spread = rstd[row]
        along, total = 0.0, 0.0
        for i in range(columns):
            g = grad[start + i]
            if of_bias:
                dbias[i] += g
            if of_x or of_weight:
                product = g * ((x[start + i] - middle) * spread)
                if of_weight:
                    dweight[i] += product
                if of_x:
                    if scaled:
                        along += product * weight[i]
                        total += g * weight[i]
                    else:
                        along += product
                        total += g
        if of_x:
            along /= columns
            total /= columns
            if not centred:
                total = 0.0
            for i in range(columns):
                g = grad[start + i]
                if scaled:
                    g *= weight[i]
                dx[start + i] = (g - total - (x[start + i] - middle) * spread * along) * spread


# ----- Groups of channels ---------------------------------------------------------------------------------------------


def _group(
    begin: int, end: int, x: Floats, out: Floats, mean: Floats, rstd: Floats, weight: Floats, bias: Floats, groups: int, each: int,
    size: int, eps: float, *, scaled: bool, shifted: bool,
) -> None:  # fmt: skip
    columns = each * size
    for row in range(begin, end):
        start = row * columns
        middle = _sum(x, start, start + columns) / columns
        spread = 1.0 / math.sqrt(_squares(x, start, start + columns, middle) / columns + eps)
        mean[row] = middle
        rstd[row] = spread
        channel = row % groups * each
        for c in range(channel, channel + each):
            scale, shift = spread, 0.0
            if scaled:
                scale *= weight[c]
            if shifted:
                shift = bias[c]
            for i in range(start, start + size):
                out[i] = (x[i] - middle) * scale + shift
            start += size


def _group_back(
    begin: int, end: int, grad: Floats, x: Floats, mean: Floats, rstd: Floats, weight: Floats, dx: Floats, dweight: Floats, dbias: Floats,
    groups: int, each: int, size: int, *, scaled: bool,
) -> None:  # fmt: skip
    for c in range(groups * each):
        dweight[c] = 0.0
        dbias[c] = 0.0
    count = float(each * size)
    for row in range(begin, end):
        middle, spread = mean[row], rstd[row]
        channel = row % groups * each
        start = row * each * size
        along, total = 0.0, 0.0
        at = start
        for c in range(channel, channel + each):
            moment = _moment(grad, x, at, at + size, middle) * spread
            plain = _sum(grad, at, at + size)
            dweight[c] += moment
            dbias[c] += plain
            if scaled:
                along += moment * weight[c]
                total += plain * weight[c]
            else:
                along += moment
                total += plain
            at += size
        slope = along / count * spread
        total /= count
        at = start
        for c in range(channel, channel + each):
            scale = 1.0
            if scaled:
                scale = weight[c]
            for i in range(at, at + size):
                dx[i] = (grad[i] * scale - total - (x[i] - middle) * slope) * spread
            at += size


# ----- Batches --------------------------------------------------------------------------------------------------------


def _batch(
    begin: int, end: int, x: Floats, out: Floats, mean: Floats, rstd: Floats, var: Floats, weight: Floats, bias: Floats, count: int,
    channels: int, size: int, eps: float, *, scaled: bool, shifted: bool,
) -> None:  # fmt: skip
    """Over channels."""
    step = channels * size
    for c in range(begin, end):
        stop = count * step + c * size
        middle, square = 0.0, 0.0
        for at in range(c * size, stop, step):
            middle += _sum(x, at, at + size)
        middle /= count * size
        for at in range(c * size, stop, step):
            square += _squares(x, at, at + size, middle)
        square /= count * size
        scale = 1.0 / math.sqrt(square + eps)
        mean[c] = middle
        rstd[c] = scale
        var[c] = square
        shift = 0.0
        if scaled:
            scale *= weight[c]
        if shifted:
            shift = bias[c]
        for at in range(c * size, stop, step):
            for i in range(at, at + size):
                out[i] = (x[i] - middle) * scale + shift


def _batch_back(
    begin: int, end: int, grad: Floats, x: Floats, mean: Floats, rstd: Floats, weight: Floats, dx: Floats, dweight: Floats, dbias: Floats,
    count: int, channels: int, size: int, *, scaled: bool, training: bool,
) -> None:  # fmt: skip
    step = channels * size
    for c in range(begin, end):
        stop = count * step + c * size
        middle, spread = mean[c], rstd[c]
        moment, total = 0.0, 0.0
        for at in range(c * size, stop, step):
            moment += _moment(grad, x, at, at + size, middle)
            total += _sum(grad, at, at + size)
        moment *= spread
        dweight[c] = moment
        dbias[c] = total
        scale = spread
        if scaled:
            scale *= weight[c]
        slope = 0.0
        if training:
            slope = moment / (count * size) * spread
            total /= count * size
        else:
            total = 0.0
        for at in range(c * size, stop, step):
            for i in range(at, at + size):
                dx[i] = (grad[i] - total - (x[i] - middle) * slope) * scale


# ----- Their calls ----------------------------------------------------------------------------------------------------


def _suited(x: np.ndarray, *others: np.ndarray | None) -> bool:
    dtype = x.dtype
    if not 0 < x.size <= _MOST or type(x) is not np.ndarray:
        return False
    for other in others:
        if other is not None and (
            other.dtype != dtype or not other.flags.c_contiguous or type(other) is not np.ndarray
        ):
            return False
    return True


def _plain(array: np.ndarray) -> np.ndarray:
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def layer_norm(
    x: np.ndarray, dims: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float, centred: bool = True
) -> Three | None:
    """(out, mean, rstd) of normalising over the last `dims` dimensions; without `centred` the mean is None."""
    key = {"centred": centred, "scaled": weight is not None, "shifted": bias is not None}
    run = run_of(_layer, x.dtype, True, **key)
    if run is None or type(eps) is not float or not _suited(x, weight, bias):
        return None
    x = _plain(x)
    stats = (*x.shape[: x.ndim - dims], *(1,) * dims)
    out, rstd = np.empty(x.shape, x.dtype), np.empty(stats, x.dtype)
    mean = np.empty(stats, x.dtype) if centred else None
    rows = rstd.size
    run(0, rows, x, out, mean, rstd, weight, bias, x.size // rows, eps)
    return out, mean, rstd


def layer_norm_backward(
    grad: np.ndarray,
    x: np.ndarray,
    dims: int,
    mean: np.ndarray | None,
    rstd: np.ndarray,
    weight: np.ndarray | None,
    needs: Any,
) -> Three | None:
    """Gradients (dx, dweight, dbias)."""
    of_x, of_weight, of_bias = needs
    key = {
        "centred": mean is not None,
        "scaled": weight is not None,
        "of_x": of_x,
        "of_weight": of_weight,
        "of_bias": of_bias,
    }
    run = run_of(_layer_back, x.dtype, True, **key)
    if run is None or grad.dtype != x.dtype or type(grad) is not np.ndarray or not _suited(x, mean, rstd, weight):
        return None
    x, grad = _plain(x), _plain(grad)
    rows = rstd.size
    columns = x.size // rows
    shape = x.shape[x.ndim - dims :]
    dx = np.empty(x.shape, x.dtype) if of_x else None
    dweight = np.empty(shape, x.dtype) if of_weight else None
    dbias = np.empty(shape, x.dtype) if of_bias else None
    run(0, rows, grad, x, mean, rstd, weight, dx, dweight, dbias, columns)
    return dx, dweight, dbias


def group_norm(
    x: np.ndarray, groups: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> Three | None:
    """(out, mean, rstd) of normalising each group of channels of each sample; statistics are (N, groups)."""
    run = run_of(_group, x.dtype, True, scaled=weight is not None, shifted=bias is not None)
    if run is None or type(eps) is not float or not _suited(x, weight, bias):
        return None
    x = _plain(x)
    n, channels = x.shape[:2]
    out, mean, rstd = np.empty(x.shape, x.dtype), np.empty((n, groups), x.dtype), np.empty((n, groups), x.dtype)
    size = prod(x.shape[2:])
    arrays = x, out, mean, rstd, weight, bias
    run(0, n * groups, *arrays, groups, channels // groups, size, eps)
    return out, mean, rstd


def group_norm_backward(
    grad: np.ndarray,
    x: np.ndarray,
    groups: int,
    mean: np.ndarray,
    rstd: np.ndarray,
    weight: np.ndarray | None,
    needs: Any,
) -> Three | None:
    """Gradients (dx, dweight, dbias)."""
    run = run_of(_group_back, x.dtype, True, scaled=weight is not None)
    if run is None or grad.dtype != x.dtype or type(grad) is not np.ndarray or not _suited(x, mean, rstd, weight):
        return None
    x, grad = _plain(x), _plain(grad)
    n, channels = x.shape[:2]
    dx, dweight, dbias = np.empty(x.shape, x.dtype), np.empty(channels, x.dtype), np.empty(channels, x.dtype)
    arrays = grad, x, mean, rstd, weight, dx, dweight, dbias
    run(0, n * groups, *arrays, groups, channels // groups, prod(x.shape[2:]))
    return dx if needs[0] else None, dweight if needs[1] else None, dbias if needs[2] else None


def batch_norm(
    x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[Any, Any, Any, Any] | None:
    """(out, mean, rstd, biased variance) of a batch."""
    flat = prod(x.shape[2:]) == 1
    run = run_of(features if flat else _batch, x.dtype, True, scaled=weight is not None, shifted=bias is not None)
    if run is None or x.ndim < 2 or type(eps) is not float or not _suited(x, weight, bias):
        return None
    x = _plain(x)
    count, channels = x.shape[:2]
    out = np.empty(x.shape, x.dtype)
    mean, rstd, var = np.empty(channels, x.dtype), np.empty(channels, x.dtype), np.empty(channels, x.dtype)
    arrays = x, out, mean, rstd, var, weight, bias
    if flat:
        middles, scales = np.empty(channels), np.empty(channels)
        run(0, channels, *arrays, middles, scales, count, channels, eps)
    else:
        run(0, channels, *arrays, count, channels, prod(x.shape[2:]), eps)
    return out, mean, rstd, var


def batch_norm_backward(
    grad: np.ndarray,
    x: np.ndarray,
    mean: np.ndarray,
    rstd: np.ndarray,
    weight: np.ndarray | None,
    training: bool,
    needs: Any,
) -> Three | None:
    """Gradients (dx, dweight, dbias); with `training` the statistics depend on x."""
    flat = prod(x.shape[2:]) == 1
    run = run_of(features_back if flat else _batch_back, x.dtype, True, scaled=weight is not None, training=training)
    if run is None or grad.dtype != x.dtype or type(grad) is not np.ndarray or not _suited(x, mean, rstd, weight):
        return None
    x, grad = _plain(x), _plain(grad)
    count, channels = x.shape[:2]
    dx, dweight, dbias = np.empty(x.shape, x.dtype), np.empty(channels, x.dtype), np.empty(channels, x.dtype)
    arrays = grad, x, mean, rstd, weight, dx, dweight, dbias
    if flat:
        moments, totals = np.empty(channels), np.empty(channels)
        run(0, channels, *arrays, moments, totals, count, channels)
    else:
        run(0, channels, *arrays, count, channels, prod(x.shape[2:]))
    return dx if needs[0] else None, dweight if needs[1] else None, dbias if needs[2] else None
