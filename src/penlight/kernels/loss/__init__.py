"""Losses and their gradients, where one kernel beats composing ops. Inputs and targets already have the same shape.

Composed elsewhere: l1 (|d|; sign d), and the margin, embedding and negative-likelihood losses made of pointwise ops.
The cross entropy of logits and class indices is `softmax.nll_from_logits`.

`reduction` is "none", "mean" or "sum". A backward kernel takes the gradient of the reduced loss, () or elementwise, and returns
that of the input. Blocks are summed in the input's precision, and their sums are added in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..copies.order import in_layout, laid_out_like
from ..elementwise import as_kernel, blocks
from ..elementwise.activation import log1p_exp, write_sigmoid
from ..numpy_calls import expand_dims, positions
from ..rows import narrow, quiet, split_shape, widen
from ..softmax import SavedCrossEntropy, check_target, nll_from_logits
from ..strategy import Strategy, by_table
from . import compiled

_LOWEST_LOG = -100.0  # PyTorch's limit for the logarithms in binary cross entropy
_SMALLEST_VARIANCE = 1e-12  # and for p (1 - p) in its gradient


_REDUCTIONS = ("none", "mean", "sum")
_MOST_CROSS_ENTROPY = 1 << 11  # logits: for more, vectorised exponentials are faster


def _general_cross_entropy(
    x: np.ndarray, target: np.ndarray, ignore_index: int, reduction: int, keep: bool
) -> tuple[np.ndarray, SavedCrossEntropy | None]:
    """The loss of logits (N, C) at class indices (N,), and the saved values for its gradients: None without `keep`, or more than needed.

    `reduction` is 0 for none, 1 for the mean, 2 for the sum.
    """
    return nll_from_logits(x, target, None, ignore_index, _REDUCTIONS[reduction], 0.0, keep)


# fmt: off
CROSS_ENTROPY = (
    Strategy(lambda x, *_: x.size <= _MOST_CROSS_ENTROPY, compiled.cross_entropy, "3 times the next for 80 logits, as fast for 2,000"),
    Strategy(None, _general_cross_entropy, "row kernels and NumPy: every size, dtype and machine"),
)
# fmt: on


cross_entropy = by_table(CROSS_ENTROPY)


@quiet
def _reduce(
    body: Callable[..., None], reduction: str, *arrays: np.ndarray, layout_of: np.ndarray | None = None
) -> np.ndarray:
    """The elementwise loss that `body(*blocks, out)` writes, reduced. Unreduced it has the layout of one array, or of all."""
    kernel = as_kernel(body, len(arrays))
    if reduction == "none":
        return in_layout(kernel, *arrays) if layout_of is None else laid_out_like(kernel(*arrays), layout_of)
    total = blocks.total(kernel, *arrays)
    if reduction == "mean":
        count = arrays[0].size
        total = total / count if count else np.nan
    return np.asarray(total).astype(arrays[0].dtype)


@quiet
def _backward(body: Callable[..., None], grad: np.ndarray, reduction: str, *arrays: np.ndarray) -> np.ndarray:
    """The derivative that `body(*blocks, out)` writes, times the gradient of the reduced loss."""
    if reduction == "none":

        def scaled(*blocks: np.ndarray) -> None:
            *inputs, g, out = blocks
            body(*inputs, out)
            out *= g

        return as_kernel(scaled, len(arrays) + 1)(*arrays, grad)
    factor = float(grad) / (arrays[0].size or 1) if reduction == "mean" else float(grad)

    def uniform(*given: Any) -> None:
        *blocks, factor = given
        body(*blocks)
        out = blocks[-1]
        out *= factor

    return as_kernel(uniform, len(arrays))(*arrays, factor)


def _like(x: np.ndarray, other: np.ndarray | None) -> tuple[np.ndarray, ...]:
    """A tuple of `other` expanded to the shape of x; empty if it is None."""
    return () if other is None else (np.broadcast_to(other, x.shape),)


def mse_loss(x: np.ndarray, target: np.ndarray, reduction: str = "mean") -> np.ndarray:
    """(x - target)^2."""

    def body(x: np.ndarray, target: np.ndarray, out: np.ndarray) -> None:
        np.subtract(x, target, out)
        np.multiply(out, out, out)

    return _reduce(body, reduction, x, target)


# Note [Huber without branches]
# With z = |x - target| and m = min(z, delta), the Huber loss is m (z - m / 2), on both sides of the kink.


def _huber(delta: float) -> Callable[..., None]:
    def body(x: np.ndarray, target: np.ndarray, out: np.ndarray) -> None:
        np.subtract(x, target, out)
        np.abs(out, out)
        near = out.clip(0, delta)
        out -= 0.5 * near
        out *= near

    return body


def huber_loss(x: np.ndarray, target: np.ndarray, reduction: str = "mean", delta: float = 1.0) -> np.ndarray:
    """(x - target)^2 / 2 within delta, delta (|x - target| - delta / 2) beyond. Note [Huber without branches]."""
    return _reduce(_huber(delta), reduction, x, target, layout_of=x)


def huber_loss_backward(
    grad: np.ndarray, x: np.ndarray, target: np.ndarray, reduction: str = "mean", delta: float = 1.0
) -> np.ndarray:
    """x - target, clamped to +-delta, times grad."""

    def body(x: np.ndarray, target: np.ndarray, out: np.ndarray) -> None:
        np.subtract(x, target, out)
        out.clip(-delta, delta, out=out)

    return _backward(body, grad, reduction, x, target)


def smooth_l1_loss(x: np.ndarray, target: np.ndarray, reduction: str = "mean", beta: float = 1.0) -> np.ndarray:
    """The Huber loss divided by beta; |x - target| for beta 0."""
    huber = _huber(beta)

    def body(x: np.ndarray, target: np.ndarray, out: np.ndarray) -> None:
        if beta == 0.0:
            np.subtract(x, target, out)
            np.abs(out, out)
        else:
            huber(x, target, out)
            if beta != 1.0:
                out /= beta

    return _reduce(body, reduction, x, target)


def smooth_l1_loss_backward(
    grad: np.ndarray, x: np.ndarray, target: np.ndarray, reduction: str = "mean", beta: float = 1.0
) -> np.ndarray:
    """(x - target) / beta, clamped to +-1, times grad; the sign for beta 0."""

    def body(x: np.ndarray, target: np.ndarray, out: np.ndarray) -> None:
        np.subtract(x, target, out)
        if beta == 0.0:
            np.sign(out, out)
        else:
            out /= beta
            out.clip(-1, 1, out=out)

    return _backward(body, grad, reduction, x, target)


def bce_with_logits(
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    pos_weight: np.ndarray | None = None,
    reduction: str = "mean",
) -> np.ndarray:
    """Binary cross entropy of sigmoid(x): (1 - target) x - (1 + (pos_weight - 1) target) logsigmoid(x), times weight."""

    more_for_positive = pos_weight is not None

    def body(x: np.ndarray, target: np.ndarray, *rest: np.ndarray) -> None:
        *factors, out = rest
        np.abs(x, out)
        np.negative(out, out)
        log1p_exp(out)
        out -= x.clip(-np.inf, 0)  # now -logsigmoid(x)
        if more_for_positive:
            share = factors.pop() - 1.0
            share *= target
            share += 1.0
            out *= share
        linear = 1.0 - target
        linear *= x
        out += linear
        if factors:
            out *= factors[0]

    return _reduce(body, reduction, x, target, *_like(x, weight), *_like(x, pos_weight), layout_of=target)


def bce_with_logits_backward(
    grad: np.ndarray,
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    pos_weight: np.ndarray | None = None,
    reduction: str = "mean",
) -> np.ndarray:
    """(sigmoid(x) (1 + (pos_weight - 1) target) - pos_weight target) weight grad."""

    more_for_positive = pos_weight is not None

    def body(x: np.ndarray, target: np.ndarray, *rest: np.ndarray) -> None:
        *factors, out = rest
        write_sigmoid(x, out)
        if not more_for_positive:
            out -= target
        else:
            positive = factors.pop() * target
            share = positive - target
            share += 1.0
            out *= share
            out -= positive
        if factors:
            out *= factors[0]

    return _backward(body, grad, reduction, x, target, *_like(x, weight), *_like(x, pos_weight))


def bce(p: np.ndarray, target: np.ndarray, weight: np.ndarray | None = None, reduction: str = "mean") -> np.ndarray:
    """-(target log p + (1 - target) log(1 - p)) weight, with logarithms clamped at -100."""
    for name, values in (("input", p), ("target", target)):
        if values.size and not (values.min() >= 0 and values.max() <= 1):
            raise RuntimeError(f"all elements of {name} should be between 0 and 1")

    def body(p: np.ndarray, target: np.ndarray, *rest: np.ndarray) -> None:
        *factors, out = rest
        np.subtract(1.0, p, out)
        np.log(out, out)
        out.clip(_LOWEST_LOG, 0, out=out)
        log_p = np.log(p)
        log_p.clip(_LOWEST_LOG, 0, out=log_p)
        log_p -= out
        log_p *= target
        out += log_p
        np.negative(out, out)
        if factors:
            out *= factors[0]

    return _reduce(body, reduction, p, target, *_like(p, weight), layout_of=p)


def bce_backward(
    grad: np.ndarray, p: np.ndarray, target: np.ndarray, weight: np.ndarray | None = None, reduction: str = "mean"
) -> np.ndarray:
    """(p - target) / max(p (1 - p), 1e-12) weight grad."""

    def body(p: np.ndarray, target: np.ndarray, *rest: np.ndarray) -> None:
        *factors, out = rest
        below = 1.0 - p
        below *= p
        below.clip(_SMALLEST_VARIANCE, np.inf, out=below)
        np.subtract(p, target, out)
        out /= below
        if factors:
            out *= factors[0]

    return _backward(body, grad, reduction, p, target, *_like(p, weight))


def _nll_layout(x: np.ndarray, target: np.ndarray, ignore_index: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Flat positions in x (N, C, ...) of the targets (N, ...), and the mask of ignored ones, None if there are none."""
    target, ignored = check_target(target, x.shape[1], ignore_index)
    flat = positions(x.shape, expand_dims(target, 1), 1)
    return flat.reshape(len(x), -1 if x.size else 0), ignored


def _nll_factors(
    picked: np.ndarray, ignored: np.ndarray | None, x: np.ndarray, weight: np.ndarray | None
) -> np.ndarray | None:
    """The weight of each target, 0 where ignored; None for all ones."""
    factors = None
    if weight is not None:
        _, classes, inner = split_shape(x.shape, 1)
        factors = widen(weight).take(picked // inner % classes)
    if ignored is not None:
        kept = ~ignored.reshape(picked.shape)
        factors = kept.astype(widen(x[:0]).dtype) if factors is None else factors * kept
    return factors


@quiet
def nll_loss(
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> tuple[np.ndarray, np.ndarray]:
    """(loss, total weight) of log-probabilities x (N, C, ...) at class indices (N, ...)."""
    picked, ignored = _nll_layout(x, target, ignore_index)
    factors = _nll_factors(picked, ignored, x, weight)
    loss = np.negative(widen(x.take(picked)))
    if factors is not None:
        loss *= factors
    if ignored is not None:
        loss[ignored.reshape(picked.shape)] = 0.0
    total = np.float64(picked.size if factors is None else factors.sum(dtype=np.float64))
    if reduction == "none":
        return narrow(loss.reshape(target.shape), x.dtype), np.asarray(total, x.dtype)
    result = np.add.reduce(loss, None, dtype=np.float64)
    return np.asarray(result / total if reduction == "mean" else result, x.dtype), np.asarray(total, x.dtype)


@quiet
def nll_loss_backward(
    grad: np.ndarray,
    x: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> np.ndarray:
    """Gradient of `nll_loss` for x: -weight grad at the targets, 0 elsewhere."""
    picked, ignored = _nll_layout(x, target, ignore_index)
    factors = _nll_factors(picked, ignored, x, weight)
    out = np.zeros(x.shape, x.dtype)
    unit = np.negative(widen(grad))
    if reduction == "none":
        unit = unit.reshape(picked.shape)
    if reduction == "mean":
        unit = np.divide(unit, float(picked.size if factors is None else factors.sum(dtype=np.float64)))
    values = unit if factors is None else factors * unit
    if ignored is not None:
        values[ignored.reshape(picked.shape)] = 0.0
    out.reshape(-1)[picked] = narrow(np.asarray(values), x.dtype)
    return out
