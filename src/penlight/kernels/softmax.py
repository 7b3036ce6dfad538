"""Softmax, log-softmax, logsumexp and the fused cross entropy of class indices.

Note [When the shift can be skipped]
Softmax subtracts each row's maximum so that `exp` cannot overflow. Where every element of a block lies in +-60 nothing can
overflow or underflow in float32 (e^60 = 1e26), so the shift, a third of the work that is not `exp`, is skipped: finding
the smallest and largest element of a contiguous block is nearly free. The quotient e^x / sum(e^x) has the same relative
error either way. For logarithms the shift matters (x - log sum is as inexact as x is large), so `log_softmax` skips
it only within +-2. Cross entropy takes log(sum / e^x_target) instead, which is exact enough at any size and
never negative.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

import numpy as np

from ._rowtools import BLOCK_ELEMENTS, block_rows, narrow, row_blocks, row_max, row_sum, split_shape, widen

# Below this many elements the two extra reductions cost more than the shift they may save.
_SMALL = 4096


def _shift_exp(x: np.ndarray, out: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
    """Write e^(x - shift) to `out` for a contiguous 2-d block; return the shift (rows, 1) or None, and the row sums."""
    if x.size >= _SMALL and x.min() > -60.0 and x.max() < 60.0:
        np.exp(x, out)
        return None, row_sum(out)
    shift = row_max(x)
    with np.errstate(invalid="ignore"):  # inf - inf is the NaN that PyTorch gives
        np.subtract(x, shift, out)
        np.exp(out, out)
        return shift, row_sum(out)


def _columns_blocks(outer: int, n: int, inner: int) -> list[tuple[slice, slice]]:
    """Blocks of an (outer, n, inner) array that keep the middle axis whole and fit the cache."""
    if outer * n * inner <= 2 * BLOCK_ELEMENTS:
        return [(slice(None), slice(None))]
    if n * inner <= BLOCK_ELEMENTS:
        return [(rows, slice(None)) for rows in row_blocks(outer, n * inner)]
    columns = list(row_blocks(inner, n))
    return [(slice(i, i + 1), column) for i in range(outer) for column in columns]


def softmax(x: np.ndarray, dim: int) -> np.ndarray:
    """e^x / sum(e^x) along `dim`."""
    dtype, x = x.dtype, widen(x)
    out = np.empty(x.shape, x.dtype)
    outer, n, inner = split_shape(x.shape, dim)
    if x.size == 0:
        return narrow(out, dtype)
    if inner == 1:
        x2, out2 = np.ascontiguousarray(x).reshape(outer, n), out.reshape(outer, n)
        for rows in row_blocks(outer, n):
            block = out2[rows]
            _, total = _shift_exp(x2[rows], block)
            np.divide(block, total[:, None], block)
    else:
        x3, out3 = x.reshape(outer, n, inner), out.reshape(outer, n, inner)
        with np.errstate(invalid="ignore"):
            for rows, columns in _columns_blocks(outer, n, inner):
                source, block = x3[rows, :, columns], out3[rows, :, columns]
                np.subtract(source, np.maximum.reduce(source, 1, keepdims=True), block)
                np.exp(block, block)
                np.divide(block, np.add.reduce(block, 1, keepdims=True), block)
    return narrow(out, dtype)


def log_softmax(x: np.ndarray, dim: int) -> np.ndarray:
    """x - log(sum(e^x)) along `dim`."""
    dtype, x = x.dtype, widen(x)
    out = np.empty(x.shape, x.dtype)
    outer, n, inner = split_shape(x.shape, dim)
    if x.size == 0:
        return narrow(out, dtype)
    with np.errstate(invalid="ignore"):
        if inner == 1:
            x2, out2 = np.ascontiguousarray(x).reshape(outer, n), out.reshape(outer, n)
            scratch = np.empty_like(out2[: block_rows(outer, n)])
            for rows in row_blocks(outer, n):
                _log_softmax_rows(x2[rows], out2[rows], scratch)
        else:
            x3, out3 = x.reshape(outer, n, inner), out.reshape(outer, n, inner)
            for rows, columns in _columns_blocks(outer, n, inner):
                source, block = x3[rows, :, columns], out3[rows, :, columns]
                np.subtract(source, np.maximum.reduce(source, 1, keepdims=True), block)
                total = np.add.reduce(np.exp(block), 1, keepdims=True)
                np.subtract(block, np.log(total, total), block)
    return narrow(out, dtype)


def _log_softmax_rows(x: np.ndarray, out: np.ndarray, scratch: np.ndarray) -> None:
    scratch = scratch[: len(x)]
    if x.size >= _SMALL and x.min() > -2.0 and x.max() < 2.0:
        np.exp(x, scratch)
    else:
        x = np.subtract(x, row_max(x), out)
        np.exp(x, scratch)
    total = row_sum(scratch)
    np.subtract(x, np.log(total, total)[:, None], out)


def softmax_backward(grad: np.ndarray, y: np.ndarray, dim: int) -> np.ndarray:
    """Gradient of softmax given its result `y`: y * (grad - sum(grad * y))."""
    dtype, grad, y = y.dtype, widen(grad), widen(y)
    outer, n, inner = split_shape(y.shape, dim)
    if inner == 1:
        grad2, y2 = np.ascontiguousarray(grad).reshape(outer, n), np.ascontiguousarray(y).reshape(outer, n)
        out = np.empty((outer, n), y.dtype)
        for rows in row_blocks(outer, n):
            block = out[rows]
            np.subtract(grad2[rows], np.vecdot(grad2[rows], y2[rows])[:, None], block)
            np.multiply(block, y2[rows], block)
    else:
        grad3, y3 = grad.reshape(outer, n, inner), y.reshape(outer, n, inner)
        out = np.empty((outer, n, inner), y.dtype)
        for rows, columns in _columns_blocks(outer, n, inner) if y.size else ():
            block = out[rows, :, columns]
            np.multiply(grad3[rows, :, columns], y3[rows, :, columns], block)
            np.subtract(grad3[rows, :, columns], np.add.reduce(block, 1, keepdims=True), block)
            np.multiply(block, y3[rows, :, columns], block)
    out.shape = y.shape
    return narrow(out, dtype)


def log_softmax_backward(grad: np.ndarray, y: np.ndarray, dim: int) -> np.ndarray:
    """Gradient of log_softmax given its result `y`: grad - e^y * sum(grad)."""
    dtype, grad, y = y.dtype, widen(grad), widen(y)
    outer, n, inner = split_shape(y.shape, dim)
    if inner == 1:
        grad2, y2 = np.ascontiguousarray(grad).reshape(outer, n), np.ascontiguousarray(y).reshape(outer, n)
        out = np.empty((outer, n), y.dtype)
        for rows in row_blocks(outer, n) if y.size else ():
            block = out[rows]
            np.exp(y2[rows], block)
            np.multiply(block, row_sum(grad2[rows])[:, None], block)
            np.subtract(grad2[rows], block, block)
    else:
        grad3, y3 = grad.reshape(outer, n, inner), y.reshape(outer, n, inner)
        out = np.empty((outer, n, inner), y.dtype)
        for rows, columns in _columns_blocks(outer, n, inner) if y.size else ():
            block, source = out[rows, :, columns], grad3[rows, :, columns]
            np.exp(y3[rows, :, columns], block)
            np.multiply(block, np.add.reduce(source, 1, keepdims=True), block)
            np.subtract(source, block, block)
    out.shape = y.shape
    return narrow(out, dtype)


def logsumexp(x: np.ndarray, dims: tuple[int, ...], keepdim: bool) -> np.ndarray:
    """log(sum(e^x)) over `dims`, without overflow; over nothing it is -inf, and an infinite maximum is the answer."""
    dtype, shape, x = x.dtype, x.shape, widen(x)
    axes = dims if shape else ()
    kept = tuple(1 if i in axes else size for i, size in enumerate(shape))
    trailing = tuple(range(x.ndim - len(axes), x.ndim)) == tuple(sorted(axes))
    with np.errstate(invalid="ignore", divide="ignore"):
        if x.size == 0:
            result = np.full(kept, -np.inf, x.dtype)
        elif trailing and x.dtype.kind == "f":
            result = _logsumexp_rows(np.ascontiguousarray(x).reshape(prod(kept), -1))
        else:
            real = x.real if x.dtype.kind == "c" else x
            shift = _finite(np.maximum.reduce(real, axes, keepdims=True))
            shifted = np.subtract(x, shift)
            result = np.log(np.add.reduce(np.exp(shifted, shifted), axes, keepdims=True))
            result += shift
    result = result.reshape(kept if keepdim else tuple(s for i, s in enumerate(shape) if i not in axes))
    return narrow(result, dtype)


def _finite(shift: np.ndarray) -> np.ndarray:
    """The shift with 0 for +-inf, so that subtracting it from itself is not NaN."""
    shift[np.isinf(shift)] = 0.0
    return shift


def _logsumexp_rows(x: np.ndarray) -> np.ndarray:
    out = np.empty(len(x), x.dtype)
    for rows in row_blocks(*x.shape):
        shift = _finite(row_max(x[rows]))
        shifted = np.subtract(x[rows], shift)
        np.log(row_sum(np.exp(shifted, shifted)), out[rows])
        out[rows] += shift[:, 0]
    return out


class SavedCrossEntropy(NamedTuple):
    """What the backward of `nll_from_logits` needs."""

    exps: np.ndarray  # (N, C), e^(logits - shift)
    totals: np.ndarray  # (N,), the row sums of exps
    picked: np.ndarray  # (N,), flat position of each row's target (of class 0 where ignored)
    pull: np.ndarray | None  # (N,), weight of the target's class in the loss; 0 where ignored, None for all ones
    spread: np.ndarray | None  # (N,), weight of every class by label smoothing; None without
    weight: np.ndarray | None  # (C,), the class weights; only kept with label smoothing
    ignored: np.ndarray | None  # (N,) bool; None if no row is
    denominator: float  # what the sum of the losses was divided by
    dtype: np.dtype  # of the logits


def _check_target(target: np.ndarray, classes: int, ignore_index: int) -> tuple[np.ndarray, np.ndarray | None]:
    """The target with ignored entries as class 0, and the mask of the ignored ones (None if there are none)."""
    ignored: np.ndarray | None = target == ignore_index
    if ignored.any():
        target = target * ~ignored
    else:
        ignored = None
    if target.size and (target.min() < 0 or target.max() >= classes):
        bad = target[(target < 0) | (target >= classes)][0]
        raise IndexError(f"Target {bad} is out of bounds.")
    return target, ignored


def _row_losses(
    logits: np.ndarray, picked: np.ndarray, weight: np.ndarray | None, smoothing: bool, keep_exps: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """(exps, totals, loss at the target, loss summed over all classes) of each row; the last only with smoothing."""
    rows, classes = logits.shape
    exps = np.empty((rows if keep_exps else block_rows(rows, classes), classes), logits.dtype)
    totals, loss = np.empty(rows, logits.dtype), np.empty(rows, logits.dtype)
    everywhere = np.empty(rows, logits.dtype) if smoothing else None
    for part in row_blocks(rows, classes) if logits.size else ():
        x, block = logits[part], exps[part] if keep_exps else exps[: part.stop - part.start]
        at_target = x.take(picked[part] - part.start * classes)
        if everywhere is None:
            shift, total = _shift_exp(x, block)
            if shift is None:
                log_total = np.log(np.divide(total, np.exp(at_target, at_target)))
                at_target = 0.0
            else:
                log_total = np.log(total)
                at_target -= shift[:, 0]
        else:
            shift = row_max(x)
            np.subtract(x, shift, block)
            at_target -= shift[:, 0]
            weights = np.ones(classes, x.dtype) if weight is None else weight
            weighted = block @ weights
            total = row_sum(np.exp(block, block))
            log_total = np.log(total)
            np.subtract(log_total * weights.sum(), weighted, everywhere[part])
        np.subtract(log_total, at_target, loss[part])
        totals[part] = total
    return exps, totals, loss, everywhere


def nll_from_logits(
    logits: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    need_backward: bool = True,
) -> tuple[np.ndarray, SavedCrossEntropy | None]:
    """Cross entropy of logits (N, C) and class indices (N,): the loss, and what `nll_from_logits_backward` needs.

    The loss is () for "mean" and "sum", (N,) for "none".
    """
    dtype, logits = logits.dtype, np.ascontiguousarray(widen(logits))
    rows, classes = logits.shape
    target, ignored = _check_target(target, classes, ignore_index)
    weight = None if weight is None else np.ascontiguousarray(weight, logits.dtype)
    picked = target + np.arange(0, rows * classes, classes) if rows else target.astype(np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        exps, totals, loss, everywhere = _row_losses(logits, picked, weight, label_smoothing > 0, need_backward)
        pull = None if weight is None else weight.take(target)
        if ignored is not None:
            pull = (~ignored).astype(logits.dtype) if pull is None else pull * ~ignored
        denominator = 1.0
        if reduction == "mean":
            denominator = float(rows if pull is None else pull.sum(dtype=np.float64))
        spread = None
        if everywhere is not None:
            pull = (
                np.full(rows, 1.0 - label_smoothing, logits.dtype) if pull is None else pull * (1.0 - label_smoothing)
            )
            spread = np.full(rows, label_smoothing / classes, logits.dtype)
            if ignored is not None:
                spread *= ~ignored
            loss = loss * pull + everywhere * spread
        elif pull is not None:
            loss *= pull
        loss = _quiet(loss, ignored)
        if reduction != "none":
            loss = np.divide(loss.sum(dtype=np.float64), denominator)
        result = np.asarray(loss, dtype)
    if not need_backward:
        return result, None
    smooth_weight = weight if spread is not None else None
    return result, SavedCrossEntropy(exps, totals, picked, pull, spread, smooth_weight, ignored, denominator, dtype)


def nll_from_logits_backward(grad: np.ndarray, saved: SavedCrossEntropy) -> np.ndarray:
    """Gradient of `nll_from_logits` with respect to the logits; `grad` is () or, for reduction "none", (N,)."""
    exps, totals, picked, pull, spread, weight, ignored, denominator, dtype = saved
    out = np.empty_like(exps)
    if out.size == 0:
        return narrow(out, dtype)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = np.divide(widen(grad), denominator, dtype=exps.dtype)
        due = unit if pull is None else _quiet(pull * unit, ignored)
        scale = due
        if spread is not None:
            spread = _quiet(spread * unit, ignored)
            scale = due + spread * (exps.shape[1] if weight is None else weight.sum())
        scale = np.divide(scale, totals)
        for rows in row_blocks(*exps.shape):
            np.multiply(exps[rows], scale[rows, None], out[rows])
            if spread is not None:
                out[rows] -= spread[rows, None] * (np.ones(1, out.dtype) if weight is None else weight)
        out.reshape(-1)[picked] -= due
    return narrow(out, dtype)


def _quiet(coefficients: np.ndarray, ignored: np.ndarray | None) -> np.ndarray:
    """The coefficients with 0 for ignored rows, which get no gradient even where the mean over nothing is NaN."""
    if ignored is not None:
        coefficients[ignored] = 0.0
    return coefficients
