"""Classification losses as compiled loops, see Note [Compiled loops] in compiler/loops.py. Functions return None if NumPy has to do the work."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiler.loops import Bytes, Doubles, Floats, Ints, checked, compile_loops

# ----- Negative log-likelihood ----------------------------------------------------------------------------------------


def _nll(
    begin: int, end: int, x: Floats, target: Ints, weight: Floats, losses: Floats, sums: Doubles, classes: int, inner: int, ignored: int,
    *, weighted: bool, each: bool,
) -> None:  # fmt: skip
    """Losses of (N, C, inner), or their sum; the sum of the weights; and whether a target is not a class."""
    total, weights, wrong = 0.0, 0.0, 0.0
    for n in range(begin, end):
        base = n * classes * inner
        for i in range(inner):
            at = n * inner + i
            which = target[at]
            loss = 0.0
            if which != ignored:
                c = checked(which, classes)
                if c != which:
                    wrong = 1.0
                else:
                    loss = -x[base + c * inner + i]
                    if weighted:
                        loss *= weight[c]
                        weights += weight[c]
                    else:
                        weights += 1.0
            if each:
                losses[at] = loss
            else:
                total += loss
    sums[0] = total
    sums[1] = weights
    sums[2] = wrong


def _nll_back(
    begin: int, end: int, grad: Floats, target: Ints, weight: Floats, out: Floats, sums: Doubles, classes: int, inner: int, ignored: int,
    *, weighted: bool, reduction: int,
) -> None:  # fmt: skip
    """Write the gradient at each target, into zeros. The weights are summed first, and `sums` tells whether a target is not a class."""
    total = 0.0
    wrong = 0.0
    for i in range(begin * inner, end * inner):
        which = target[i]
        if which != ignored:
            c = checked(which, classes)
            if c != which:
                wrong = 1.0
            elif weighted:
                total += weight[c]
            else:
                total += 1.0
    sums[0] = wrong
    if wrong == 0.0:
        unit = -grad[0]
        if reduction == 1:
            unit /= total
        for n in range(begin, end):
            base = n * classes * inner
            for i in range(inner):
                which = target[n * inner + i]
                if which != ignored:
                    c = checked(which, classes)
                    if reduction == 0:
                        unit = -grad[n * inner + i]
                    if weighted:
                        out[base + c * inner + i] = unit * weight[c]
                    else:
                        out[base + c * inner + i] = unit


def _suited(x: np.ndarray, target: np.ndarray, weight: np.ndarray | None, classes: int) -> bool:
    return (
        target.dtype == np.int64
        and target.size > 0
        and classes > 0
        and (weight is None or (weight.dtype == x.dtype and weight.flags.c_contiguous))
        and type(x) is np.ndarray
    )


def nll_loss(x: np.ndarray, target: np.ndarray, weight: np.ndarray | None, ignore_index: int, reduction: int) -> Any:
    """The loss of log-probabilities (N, C, ...) at class indices (N, ...)."""
    run = compile_loops(_nll, x.dtype, True, weighted=weight is not None, each=reduction == 0)
    if run is None or not _suited(x, target, weight, x.shape[1]):
        return None
    x, target = np.ascontiguousarray(x), np.ascontiguousarray(target)
    inner = target.size // len(x)
    shape = target.shape if reduction == 0 else None
    losses, sums = run(0, len(x), x, target, weight, shape, (3,), x.shape[1], inner, ignore_index)
    total, weights, wrong = sums.tolist()
    if wrong:
        return None
    if reduction == 0:
        return losses
    if reduction == 1:
        total = total / weights if weights else np.nan if not total else total * np.inf
    return x.dtype.type(total)


def nll_loss_backward(
    grad: np.ndarray,
    target: np.ndarray,
    shape: tuple[int, ...],
    weight: np.ndarray | None,
    ignore_index: int,
    reduction: int,
) -> np.ndarray | None:
    """The gradient of `nll_loss` for an input of a shape."""
    run = compile_loops(_nll_back, grad.dtype, True, weighted=weight is not None, reduction=reduction)
    if run is None or not _suited(grad, target, weight, shape[1]):
        return None
    grad, target = np.ascontiguousarray(grad), np.ascontiguousarray(target)
    out = np.zeros(shape, grad.dtype)
    inner = target.size // shape[0]
    _, sums = run(0, shape[0], grad, target, weight, out, (1,), shape[1], inner, ignore_index)
    return None if sums.item() else out


# ----- Cross entropy --------------------------------------------------------------------------------------------------


def _cross_entropy(
    begin: int, end: int, x: Floats, target: Ints, losses: Floats, exps: Floats, totals: Floats, sums: Doubles, classes: int,
    ignored: int, *, each: bool,
) -> None:  # fmt: skip
    """Losses of logits (N, C), or their sum; the number of rows that are not ignored; whether a target is not a class; and the
    exponentials with their sums."""
    sum_of_losses, count, wrong = 0.0, 0.0, 0.0
    for n in range(begin, end):
        start = n * classes
        top = -math.inf
        for i in range(classes):
            value = x[start + i]
            top = value if value != value else max(top, value)
        total = 0.0
        for i in range(classes):
            value = math.exp(x[start + i] - top)
            exps[start + i] = value
            total += value
        totals[n] = total
        which = target[n]
        loss = 0.0
        if which != ignored:
            c = checked(which, classes)
            if c != which:
                wrong = 1.0
            loss = math.log(total) - (x[start + c] - top)
            count += 1.0
        if each:
            losses[n] = loss
        sum_of_losses += loss
    sums[0] = sum_of_losses
    sums[1] = count
    sums[2] = wrong


def _cross_entropy_back(
    begin: int, end: int, grad: Floats, exps: Floats, totals: Floats, target: Ints, out: Floats, classes: int, ignored: int,
    count: float, *, each: bool,
) -> None:  # fmt: skip
    unit = grad[0] / count
    for n in range(begin, end):
        start = n * classes
        which = target[n]
        if each:
            unit = grad[n]
        due = 0.0
        if which != ignored:
            due = unit
        scale = due / totals[n]
        for i in range(classes):
            out[start + i] = exps[start + i] * scale
        if which != ignored:
            out[start + checked(which, classes)] -= unit


class SavedCompiledCrossEntropy(NamedTuple):
    """The saved values for the gradients of `cross_entropy`; the methods are those of `SavedCrossEntropy` in kernels/softmax/."""

    exps: np.ndarray
    totals: np.ndarray
    target: np.ndarray
    ignore_index: int
    reduction: int
    divisor: float
    dtype: np.dtype

    def at_targets(self, grad: Any) -> np.ndarray | None:
        """The gradient with respect to the log-probabilities."""
        return nll_loss_backward(
            np.asarray(grad), self.target, self.exps.shape, None, self.ignore_index, self.reduction
        )

    def backward(self, grad: Any) -> np.ndarray:
        """The gradient with respect to the logits."""
        run = compile_loops(_cross_entropy_back, self.dtype, each=self.reduction == 0)
        arrays = np.ascontiguousarray(grad), self.exps, self.totals, self.target, self.exps.shape
        out: np.ndarray = run(0, len(self.totals), *arrays, self.exps.shape[1], self.ignore_index, self.divisor)
        return out


def cross_entropy(
    x: np.ndarray, target: np.ndarray, ignore_index: int, reduction: int, keep: bool
) -> tuple[Any, SavedCompiledCrossEntropy] | None:
    """The loss of logits (N, C) at class indices (N,), and the saved values for its gradients."""
    run = compile_loops(_cross_entropy, x.dtype, each=reduction == 0)
    if run is None or not x.size:
        return None
    x, target = np.ascontiguousarray(x), np.ascontiguousarray(target)
    rows, classes = x.shape
    each = (rows,) if reduction == 0 else None
    losses, exps, totals, sums = run(0, rows, x, target, each, x.shape, (rows,), (3,), classes, ignore_index)
    total, count, wrong = sums.tolist()
    if wrong:
        return None
    if reduction:
        if reduction == 2:
            count = 1.0
        losses = x.dtype.type(total / count if count else math.nan)
    return losses, SavedCompiledCrossEntropy(exps, totals, target, ignore_index, reduction, count, x.dtype)


# ----- Margins --------------------------------------------------------------------------------------------------------


def _multilabel(
    begin: int, end: int, x: Floats, target: Ints, losses: Floats, slopes: Floats, named: Bytes, classes: int, *, back: bool
) -> None:  # fmt: skip
    """By how much the score of each non-target class comes within 1 of each target's; or the slopes of that."""
    for n in range(begin, end):
        base = n * classes
        for i in range(classes):
            named[base + i] = 0
            if back:
                slopes[base + i] = 0.0
        count = 0
        for k in range(classes):
            if target[base + k] < 0:
                break
            named[base + checked(target[base + k], classes)] = 1
            count += 1
        total = 0.0
        for k in range(min(classes, count)):
            label = base + checked(target[base + k], classes)
            least = 1.0 - x[label]
            for i in range(classes):
                short = least + x[base + i]
                if short > 0.0 and named[base + i] == 0:
                    if back:
                        slopes[base + i] += 1.0
                        slopes[label] -= 1.0
                    else:
                        total += short
        if not back:
            losses[n] = total / classes


def multilabel_margin(x: np.ndarray, target: np.ndarray, back: bool = False) -> np.ndarray | None:
    """The loss of each row of scores (N, C), whose targets are the classes up to the first -1; or its gradient, times the number of
    classes."""
    run = compile_loops(_multilabel, x.dtype, back=back)
    if run is None or not _suited(x, target, None, x.shape[1]):
        return None
    x, target = np.ascontiguousarray(x), np.ascontiguousarray(target)
    shapes = (None, x.shape) if back else ((len(x),), None)
    losses, slopes, _ = run(0, len(x), x, target, *shapes, (x.size,), x.shape[1])
    return slopes if back else losses
