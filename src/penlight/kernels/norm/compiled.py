"""Norms as compiled loops, see Note [Compiled loops] in compiler/loops.py. The same in NumPy: layer.py, channels.py.

float32 is computed with as float64. Functions give None where there is no machine code or nothing to do. Machine code refuses arrays of
other dtypes, and parameters that are not contiguous.
"""

from __future__ import annotations

import math
from math import prod
from typing import Any

import numpy as np

from ..compiler.loops import Floats, compile_loops, reassociated
from ..waiting_threads import over
from .features import features, features_back

_GRAIN = 1 << 15  # elements that are worth sharing
Three = tuple[Any, Any, Any]


def _sum(x: Floats, start: int, count: int) -> float:
    total = 0.0
    for i in reassociated(range(count)):
        total += x[start + i]
    return total


def _squares(x: Floats, start: int, count: int, middle: float) -> float:
    """The sum of squared distances from the middle."""
    total = 0.0
    for i in reassociated(range(count)):
        distance = x[start + i] - middle
        total += distance * distance
    return total


def _moment(grad: Floats, x: Floats, start: int, count: int, middle: float) -> float:
    """The sum of gradients times distances from the middle."""
    total = 0.0
    for i in reassociated(range(count)):
        total += grad[start + i] * (x[start + i] - middle)
    return total


# ----- Rows -----------------------------------------------------------------------------------------------------------


def _layer(
    begin: int, end: int, x: Floats, out: Floats, mean: Floats, rstd: Floats, weight: Floats, bias: Floats, columns: int, eps: float,
    *, centred: bool, scaled: bool, shifted: bool,
) -> None:  # fmt: skip
    for row in range(begin, end):
        start = row * columns
        middle = 0.0
        if centred:
            middle = _sum(x, start, columns) / columns
            mean[row] = middle
        spread = 1.0 / math.sqrt(_squares(x, start, columns, middle) / columns + eps)
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
        middle = _sum(x, start, columns) / columns
        spread = 1.0 / math.sqrt(_squares(x, start, columns, middle) / columns + eps)
        mean[row] = middle
        rstd[row] = spread
        channel = row % groups * each
        for c in range(each):
            scale, shift = spread, 0.0
            if scaled:
                scale *= weight[channel + c]
            if shifted:
                shift = bias[channel + c]
            at = start + c * size
            for i in range(size):
                out[at + i] = (x[at + i] - middle) * scale + shift


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
        for c in range(each):
            at = start + c * size
            moment = _moment(grad, x, at, size, middle) * spread
            plain = _sum(grad, at, size)
            dweight[channel + c] += moment
            dbias[channel + c] += plain
            if scaled:
                along += moment * weight[channel + c]
                total += plain * weight[channel + c]
            else:
                along += moment
                total += plain
        slope = along / count * spread
        total /= count
        for c in range(each):
            at = start + c * size
            scale = 1.0
            if scaled:
                scale = weight[channel + c]
            for i in range(size):
                dx[at + i] = (grad[at + i] * scale - total - (x[at + i] - middle) * slope) * spread


# ----- Batches --------------------------------------------------------------------------------------------------------


def _batch(
    begin: int, end: int, x: Floats, out: Floats, mean: Floats, rstd: Floats, var: Floats, weight: Floats, bias: Floats, count: int,
    channels: int, size: int, eps: float, *, scaled: bool, shifted: bool,
) -> None:  # fmt: skip
    """Over channels."""
    for c in range(begin, end):
        middle, square = 0.0, 0.0
        for n in range(count):
            middle += _sum(x, (n * channels + c) * size, size)
        middle /= count * size
        for n in range(count):
            square += _squares(x, (n * channels + c) * size, size, middle)
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
        for n in range(count):
            at = (n * channels + c) * size
            for i in range(size):
                out[at + i] = (x[at + i] - middle) * scale + shift


def _batch_eval(
    begin: int, end: int, x: Floats, out: Floats, mean: Floats, var: Floats, weight: Floats, bias: Floats, channels: int, size: int,
    eps: float, *, scaled: bool, shifted: bool,
) -> None:  # fmt: skip
    for row in range(begin, end):
        for c in range(channels):
            scale = 1.0 / math.sqrt(var[c] + eps)
            if scaled:
                scale *= weight[c]
            middle, shift = mean[c], 0.0
            if shifted:
                shift = bias[c]
            at = (row * channels + c) * size
            for i in range(size):
                out[at + i] = (x[at + i] - middle) * scale + shift


def _batch_back(
    begin: int, end: int, grad: Floats, x: Floats, mean: Floats, rstd: Floats, weight: Floats, dx: Floats, dweight: Floats, dbias: Floats,
    count: int, channels: int, size: int, *, scaled: bool, training: bool,
) -> None:  # fmt: skip
    for c in range(begin, end):
        middle, spread = mean[c], rstd[c]
        moment, total = 0.0, 0.0
        for n in range(count):
            at = (n * channels + c) * size
            moment += _moment(grad, x, at, size, middle)
            total += _sum(grad, at, size)
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
        for n in range(count):
            at = (n * channels + c) * size
            for i in range(size):
                dx[at + i] = (grad[at + i] - total - (x[at + i] - middle) * slope) * scale


# ----- Their calls ----------------------------------------------------------------------------------------------------


def _contiguous(array: np.ndarray) -> np.ndarray:
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def layer_norm(
    x: np.ndarray, dims: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float, centred: bool
) -> Three | None:
    """(out, mean, rstd) of normalising over the last `dims` dimensions; without `centred` the mean is None."""
    key = {"centred": centred, "scaled": weight is not None, "shifted": bias is not None}
    run = compile_loops(_layer, x.dtype, True, **key)
    if run is None or not x.size or type(eps) is not float:
        return None
    x = _contiguous(x)
    stats = (*x.shape[: x.ndim - dims], *(1,) * dims)
    rows = prod(stats)
    columns = x.size // rows
    arrays = x, x.shape, stats if centred else None, stats, weight, bias
    made: Three = over(run, rows, -(-_GRAIN // columns), *arrays, columns, eps)
    return made


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
    run = compile_loops(_layer_back, x.dtype, True, **key)
    if run is None or not x.size:
        return None
    x, grad = _contiguous(x), _contiguous(grad)
    rows = rstd.size
    columns = x.size // rows
    shape = x.shape[x.ndim - dims :]
    shapes = x.shape if of_x else None, shape if of_weight else None, shape if of_bias else None
    made: Three = run(0, rows, grad, x, mean, rstd, weight, *shapes, columns)
    return made


def group_norm(
    x: np.ndarray, groups: int, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> Three | None:
    """(out, mean, rstd) of normalising each group of channels of each sample; statistics are (N, groups)."""
    run = compile_loops(_group, x.dtype, True, scaled=weight is not None, shifted=bias is not None)
    if run is None or not x.size or type(eps) is not float:
        return None
    x = _contiguous(x)
    n, channels = x.shape[:2]
    arrays = x, x.shape, (n, groups), (n, groups), weight, bias
    made: Three = over(
        run, n * groups, -(-_GRAIN * n * groups // x.size), *arrays, groups, channels // groups, prod(x.shape[2:]), eps
    )
    return made


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
    run = compile_loops(_group_back, x.dtype, True, scaled=weight is not None)
    if run is None or not x.size:
        return None
    x, grad = _contiguous(x), _contiguous(grad)
    n, channels = x.shape[:2]
    arrays = grad, x, mean, rstd, weight, x.shape, (channels,), (channels,)
    dx, dweight, dbias = run(0, n * groups, *arrays, groups, channels // groups, prod(x.shape[2:]))
    return dx if needs[0] else None, dweight if needs[1] else None, dbias if needs[2] else None


def batch_norm(
    x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> tuple[Any, Any, Any, Any] | None:
    """(out, mean, rstd, biased variance) of a batch."""
    flat = prod(x.shape[2:]) == 1
    run = compile_loops(
        features if flat else _batch, x.dtype, True, scaled=weight is not None, shifted=bias is not None
    )
    if run is None or not x.size or type(eps) is not float or x.ndim < 2:
        return None
    x = _contiguous(x)
    count, channels = x.shape[:2]
    each, grain = (channels,), -(-_GRAIN * channels // x.size)
    arrays = x, x.shape, each, each, each, weight, bias
    if flat:
        return over(run, channels, grain, *arrays, each, each, count, channels, eps)[:4]  # type: ignore[no-any-return]
    return over(run, channels, grain, *arrays, count, channels, prod(x.shape[2:]), eps)  # type: ignore[no-any-return]


def batch_norm_eval(
    x: np.ndarray, mean: np.ndarray, var: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, eps: float
) -> np.ndarray | None:
    """The batch normalised by given statistics."""
    run = compile_loops(_batch_eval, x.dtype, True, scaled=weight is not None, shifted=bias is not None)
    if run is None or not x.size or type(eps) is not float or x.ndim < 2:
        return None
    arrays = _contiguous(x), x.shape, mean, var, weight, bias
    grain = -(-_GRAIN * len(x) // x.size)
    return over(run, len(x), grain, *arrays, x.shape[1], prod(x.shape[2:]), eps)  # type: ignore[no-any-return]


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
    run = compile_loops(
        features_back if flat else _batch_back, x.dtype, True, scaled=weight is not None, training=training
    )
    if run is None or not x.size or x.ndim < 2:
        return None
    x, grad = _contiguous(x), _contiguous(grad)
    count, channels = x.shape[:2]
    each, grain = (channels,), -(-_GRAIN * channels // x.size)
    arrays = grad, x, mean, rstd, weight, x.shape, each, each
    if flat:
        dx, dweight, dbias, *_ = over(run, channels, grain, *arrays, each, each, count, channels)
    else:
        dx, dweight, dbias = over(run, channels, grain, *arrays, count, channels, prod(x.shape[2:]))
    return dx if needs[0] else None, dweight if needs[1] else None, dbias if needs[2] else None
