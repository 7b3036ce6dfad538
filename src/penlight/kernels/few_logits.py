"""Cross entropy of few logits, where what counts is the number of NumPy calls.

The same as `nll_from_logits` and its backward in softmax.py, for the plain case: float32 or float64 logits (N, C), class indices,
no weights, nothing ignored. `argmax` followed by `item` is NumPy's quickest way to an extreme value of a small array.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .silence import hush, unhush
from .softmax import SavedCrossEntropy

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
    if not logits.size or 0 <= ignore_index < classes or not logits.flags.c_contiguous:
        return None
    if target.item(target.argmin()) < 0 or target.item(target.argmax()) >= classes:
        return None
    dtype = logits.dtype
    picked = target + _starts(rows, classes)
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
