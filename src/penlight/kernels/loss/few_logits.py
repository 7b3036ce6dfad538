"""Cross entropy of few logits, where what counts is the number of NumPy calls.

The same as `nll_from_logits` and its backward in softmax.py, for the plain case: float32 or float64 logits (N, C), class indices,
no weights, nothing ignored. `argmax` followed by `item` is NumPy's quickest way to an extreme value of a small array.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ..numpy_warnings import hush, unhush
from ..softmax import SavedCrossEntropy

Array = np.ndarray[Any, Any]

FEW = 4096  # logits
_SAFE = 30.0  # logits between -30 and 30 need no shift: e^30 / e^-30 is far from overflow, also summed up


@lru_cache(64)
def _ones(count: int, dtype: Any) -> Array:
    return np.ones(count, dtype)


@lru_cache(64)
def _starts(rows: int, columns: int) -> Array:
    return np.arange(0, rows * columns, columns)


@lru_cache(256)
def _number(value: float, dtype: Any) -> Array:
    return np.asarray(value, dtype)


def nll_of_few(
    logits: Array, target: Array, ignore_index: int, mean: bool, reduce: bool
) -> tuple[Any, SavedCrossEntropy] | None:
    """The loss and what `nll_of_few_backward` needs; None if this is not the plain case."""
    rows, classes = logits.shape
    picked = _picked(logits, target, ignore_index)
    if picked is None:
        return None
    dtype = logits.dtype
    if logits.item(logits.argmax()) < _SAFE and logits.item(logits.argmin()) > -_SAFE:  # a NaN makes neither true
        exps = np.exp(logits)
        totals = exps.dot(_ones(classes, dtype))
        losses = np.divide(totals, exps.take(picked))
        np.log(losses, losses)
    else:
        token = hush()
        shifted = logits - logits.max(1, keepdims=True)
        exps = np.exp(shifted)
        totals = exps.dot(_ones(classes, dtype))
        losses = np.subtract(np.log(totals), shifted.take(picked))
        unhush(token)
    denominator = float(rows) if mean else 1.0
    if reduce:
        losses = np.asarray(losses.dot(_ones(rows, dtype)).item() / denominator, dtype)
    return losses, SavedCrossEntropy(exps, totals, picked, None, None, None, None, denominator, dtype)


def _picked(rows: Array, target: Array, ignore_index: int) -> Array | None:
    """Where each row's target lies in memory; None if this is not the plain case."""
    count, classes = rows.shape
    if not rows.size or not rows.flags.c_contiguous:
        return None
    if target.item(target.argmin()) < 0 or target.item(target.argmax()) >= classes:
        return None
    if 0 <= ignore_index < classes and (target == ignore_index).any():
        return None
    return target + _starts(count, classes)


def _weighed(rows: Array, target: Array, weight: Array | None, ignore_index: int) -> tuple[Array, Array, Array] | None:
    """Where each row's target lies in memory, what it weighs (0 if it is ignored), and which are ignored; None for what is not simple."""
    count, classes = rows.shape
    if not rows.size or not rows.flags.c_contiguous or (weight is not None and weight.dtype != rows.dtype):
        return None
    ignored = target == ignore_index
    place = np.where(ignored, 0, target)
    if place.item(place.argmin()) < 0 or place.item(place.argmax()) >= classes:
        return None
    factors = (~ignored).astype(rows.dtype)
    if weight is not None:
        factors *= weight.take(place)
    return place + _starts(count, classes), factors, ignored


def few_losses(logs: Array, target: Array, weight: Array | None, ignore_index: int, reduction: int) -> Array | None:
    """Minus the log-probabilities (N, C) at the targets (N,): each, their mean (1) or their sum (2); None if this is not simple."""
    unusual = weight is not None or 0 <= ignore_index < logs.shape[1]
    if unusual and reduction:
        listed = _few_listed(logs, target, weight, ignore_index, reduction == 1)
        if listed is not None:
            return listed
    picked = _picked(logs, target, ignore_index) if weight is None else None
    if picked is None:
        return _few_weighed(logs, target, weight, ignore_index, reduction)
    found = logs.take(picked)
    if not reduction:
        return np.negative(found, found)
    total = found.dot(_ones(len(found), found.dtype)).item()
    return np.asarray(-total / len(found) if reduction == 1 else -total, found.dtype)


_LISTED = 64  # rows, for which Python's lists are quicker than NumPy's calls


def _listed(
    target: Array, shape: tuple[int, ...], weight: Array | None, ignore_index: int, dtype: Any
) -> tuple[list[int], Array | None] | None:
    """Where the targets that count lie in rows of classes, and what they weigh (None: 1 each); None for what is not simple."""
    count, classes = shape
    if count > _LISTED or not count or (weight is not None and weight.dtype != dtype):
        return None
    targets = target.tolist()
    kept = [i * classes + t for i, t in enumerate(targets) if t != ignore_index]
    counted = [t for t in targets if t != ignore_index]
    if not counted or min(counted) < 0 or max(counted) >= classes:
        return None
    return kept, None if weight is None else weight.take(counted)


def _few_listed(logs: Array, target: Array, weight: Array | None, ignore_index: int, mean: bool) -> Array | None:
    """The sum or the mean over rows, see `few_losses`."""
    made = _listed(target, logs.shape, weight, ignore_index, logs.dtype) if logs.flags.c_contiguous else None
    if made is None:
        return None
    kept, factors = made
    found = logs.take(kept)
    ones = _ones(len(kept), logs.dtype)
    total = found.dot(ones if factors is None else factors).item()
    if mean:
        of_all = len(kept) if factors is None else factors.dot(ones).item()
        total = total / of_all if of_all else math.nan
    return np.asarray(-total, logs.dtype)


def _few_weighed(logs: Array, target: Array, weight: Array | None, ignore_index: int, reduction: int) -> Array | None:
    made = _weighed(logs, target, weight, ignore_index)
    if made is None:
        return None
    picked, factors, ignored = made
    token = hush()
    try:
        found = logs.take(picked)
        found *= factors
        np.negative(found, found)
        found[ignored] = 0.0
        if not reduction:
            return found
        ones = _ones(len(found), found.dtype)
        total = found.dot(ones)
        return np.asarray(total / factors.dot(ones) if reduction == 1 else total, found.dtype)
    finally:
        unhush(token)


def few_losses_backward(
    grad: Array, target: Array, shape: tuple[int, int], weight: Array | None, ignore_index: int, reduction: int
) -> Array | None:
    """The gradient of `few_losses` by the log-probabilities."""
    out = np.zeros(shape, grad.dtype)
    picked = _picked(out, target, ignore_index) if weight is None else None
    if picked is None and reduction:
        listed = _listed(target, shape, weight, ignore_index, grad.dtype)
        if listed is not None:
            return _place_listed(out, grad, *listed, reduction == 1)
    if picked is None:
        made = _weighed(out, target, weight, ignore_index)
        if made is None:
            return None
        picked, factors, ignored = made
        token = hush()
        try:
            values = factors * np.negative(grad)
            if reduction == 1:
                values /= factors.dot(_ones(len(factors), factors.dtype))
            values[ignored] = 0.0
        finally:
            unhush(token)
        out.reshape(-1)[picked] = values
        return out
    out.reshape(-1)[picked] = np.divide(grad, _number(-float(len(picked)) if reduction == 1 else -1.0, grad.dtype))
    return out


def _place_listed(out: Array, grad: Array, kept: list[int], factors: Array | None, mean: bool) -> Array | None:
    """The gradient of `_few_listed`, at its places in `out`."""
    unit = -grad.item()
    if mean:
        of_all = len(kept) if factors is None else factors.dot(_ones(len(kept), out.dtype)).item()
        if not of_all:
            return None
        unit = unit / of_all
    out.reshape(-1)[kept] = unit if factors is None else factors * out.dtype.type(unit)
    return out


@lru_cache(64)
def _plane_starts(images: int, classes: int, places: int) -> Array:
    return np.arange(0, images * classes * places, classes * places)[:, None] + np.arange(places)


def few_planes(logs: Array, target: Array, ignore_index: int, reduction: int) -> Array | None:
    """`few_losses` of images (N, C, ...) without weights: the mean (1) or the sum (2); None if this is not simple."""
    images, classes = logs.shape[:2]
    if not logs.size or not logs.flags.c_contiguous:
        return None
    if target.item(target.argmin()) < 0 or target.item(target.argmax()) >= classes:
        return None
    if 0 <= ignore_index < classes and (target == ignore_index).any():
        return None
    places = target.size // images
    picked = target.reshape(images, places) * places
    picked += _plane_starts(images, classes, places)
    total = logs.take(picked.reshape(-1)).dot(_ones(target.size, logs.dtype)).item()
    return np.asarray(-total / target.size if reduction == 1 else -total, logs.dtype)


def few_targets(grad: Any, saved: SavedCrossEntropy) -> tuple[Array, Any]:
    """The gradient with respect to the log-probabilities, and its value at the targets; `grad` is () or, without reduction, (N,)."""
    values = np.divide(grad, _number(-saved.denominator, saved.dtype))
    dense = np.zeros(saved.exps.shape, saved.dtype)
    dense.reshape(-1)[saved.picked] = values
    return dense, values


def few_logits_backward(dense: Array, values: Any, saved: SavedCrossEntropy) -> Array:
    """The gradient with respect to the logits, from what `few_targets` gave."""
    out = np.multiply(saved.exps, np.divide(values, saved.totals)[:, None])
    return np.subtract(dense, out, out)
