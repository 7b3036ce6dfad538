"""Batching rules of losses: computed without reduction for all samples at once, then reduced per sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..ops.machinery.op import Op
from ..tensor import Tensor
from .batching import RULES, insert_dims, rule, run
from .batching_windows import _joined

if TYPE_CHECKING:
    from .level import BatchLevel


# ----- Losses element by element --------------------------------------------------------------------------------------


def _reduced(losses: Any, reduction: int) -> Any:
    """Losses reduced over all dimensions but the batch: none, mean or sum."""
    if reduction == 0:
        return losses
    if losses.dim() == 1:
        return losses
    dims = tuple(range(1, losses.dim()))
    return losses.mean(dims) if reduction == 1 else losses.sum(dims)


def _elementwise_loss(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    """The loss without reduction on the aligned batch, then reduced per sample."""
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    ndim = max(t.dim() for t in tensors)
    index = op.parameters.index("reduction")
    values = [insert_dims(level, a, ndim) if level.has(a) else a for a in arguments]
    values[:2] = [level.full(a) for a in arguments[:2]]
    reduction, values[index] = values[index], 0
    return _reduced(op.function(*values), reduction)


for _name in ("_mse_loss", "_smooth_l1_loss", "_huber_loss", "_bce", "_bce_with_logits", "_soft_margin_loss"):
    RULES[_name] = _elementwise_loss


@rule("_mse_backward")
def _mse_backward(level: BatchLevel, upstream: Any, input: Any, target: Any, reduction: int) -> Any:
    grad, x, y = level.full(upstream), level.full(input), level.full(target)
    if reduction:
        grad = grad.reshape(level.size, *(1,) * (x.dim() - 1))
    if reduction == 1:
        grad = grad / max(x[0].numel(), 1)
    return run("_mse_backward", grad.expand_as(x), x, y, 0)


# ----- Losses of classes ----------------------------------------------------------------------------------------------


def _class_weights(level: BatchLevel, target: Any, weight: Any, ignore_index: int, like: Any) -> Any:
    """The weight of each target (B, ...): that of its class, 0 if it is ignored."""
    kept = (target != ignore_index).to(like.dtype)
    if weight is None:
        return kept
    indices = target.masked_fill(target == ignore_index, 0).reshape(level.size, -1)
    return kept * level.full(weight).gather(1, indices).reshape(target.shape)


def _nll(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    input, target, weight, ignore_index, reduction, *_ = arguments
    own = weight is not None and level.has(weight)
    single = input.dim() == 1
    x, t = level.full(input), level.full(target)
    if single:
        t = t.reshape(level.size)
    found = (x, t) if single else (_joined(x), _joined(t))
    losses = run(op.name.removesuffix("_shared"), *found, None if own else weight, ignore_index, 0)
    losses = losses.reshape(t.shape)
    counts = _class_weights(level, t, weight, ignore_index, losses) if own or reduction == 1 else None
    if own:
        losses = losses * counts
    if reduction == 0:
        return losses
    if not single:
        dims = tuple(range(1, losses.dim()))
        losses = losses.sum(dims)
        counts = None if counts is None else counts.sum(dims)
    return losses / counts if reduction == 1 else losses


RULES["_nll_loss"] = RULES["_nll_loss2d"] = RULES["_nll_loss_shared"] = _nll


@rule("_nll_backward")
def nll_backward(
    level: BatchLevel, input: Any, target: Any, weight: Any, ignore_index: int, reduction: int, shape: Any
) -> Any:
    """The gradient of the log-probabilities: each loss's gradient, scattered by the op without reduction."""
    single = len(shape) == 1
    t = level.full(target).reshape(level.size) if single else level.full(target)
    grad = level.full(input)
    own = weight is not None and level.has(weight)
    counts: Any = _class_weights(level, t, weight, ignore_index, grad) if own or reduction == 1 else None
    if reduction == 1:
        grad = grad / (counts if single else counts.sum(tuple(range(1, counts.dim()))))
    if reduction and not single:
        grad = grad.reshape(level.size, *(1,) * (t.dim() - 1)).expand(t.shape)
    if own:
        grad, weight = grad * counts, None
    if single:
        return run("_nll_backward", grad.reshape(level.size), t, weight, ignore_index, 0, (level.size, *shape))
    out = run("_nll_backward", _joined(grad), _joined(t), weight, ignore_index, 0, (level.size * shape[0], *shape[1:]))
    return out.reshape(level.size, *shape)


# ----- Margins ------------------------------------------------------------------------------------------------------


def _rows(level: BatchLevel, tensor: Any) -> Any:
    """The rows of all samples (each a matrix, a row or a scalar) as one matrix."""
    return level.full(tensor).reshape(-1, tensor.shape[-1] if tensor.dim() else 1)


@rule("_multi_margin_loss")
def multi_margin_loss(
    level: BatchLevel, input: Any, target: Any, p: int, margin: float, weight: Any, reduction: int
) -> Any:
    t = level.full(target)
    own = weight is not None and level.has(weight)
    losses = run(
        "_multi_margin_loss", _rows(level, input), t.reshape(-1), p, margin, None if own else weight, 0
    ).reshape(t.shape)
    if own:
        losses = losses * weight._value.gather(1, t.reshape(level.size, -1)).reshape(t.shape)
    return _reduced(losses, reduction)


@rule("_multilabel_margin_loss")
def multilabel_margin_loss(level: BatchLevel, input: Any, target: Any, reduction: int) -> Any:
    losses = run("_multilabel_margin_loss", _rows(level, input), _rows(level, target), 0)
    return _reduced(losses.reshape(level.size, *target.shape[:-1]), reduction)


# ----- Alignments ---------------------------------------------------------------------------------------------------


def _frames(level: BatchLevel, tensor: Any) -> Any:
    """(T, N, C) of each sample as (T, B * N, C)."""
    b, t, n, c = (value := level.full(tensor)).shape
    return value.transpose(0, 1).reshape(t, b * n, c)


@rule("_ctc_loss")
def ctc_loss(
    level: BatchLevel, log_probs: Any, targets: Any, inputs: Any, lengths: Any, blank: int, zero_infinity: bool
) -> Any:
    b, n = level.size, log_probs.shape[1]
    losses, alpha = run(
        "_ctc_loss",
        _frames(level, log_probs),
        _joined(level.full(targets)),
        inputs * b,
        lengths * b,
        blank,
        zero_infinity,
    )
    return losses.reshape(b, n), alpha.reshape(b, n, *alpha.shape[1:])


@rule("_ctc_backward")
def ctc_backward(
    level: BatchLevel, upstream: Any, log_probs: Any, targets: Any, inputs: Any, lengths: Any, loss: Any, alpha: Any,
    blank: int, zero_infinity: bool,
) -> Any:  # fmt: skip
    b, (t, n, c) = level.size, log_probs.shape
    grads, losses, alphas = (_joined(level.full(x)) for x in (upstream, loss, alpha))
    frames, labels = _frames(level, log_probs), _joined(level.full(targets))
    rest = (inputs * b, lengths * b, losses, alphas, blank, zero_infinity)
    found = run("_ctc_backward", grads, frames, labels, *rest)
    return found.reshape(t, b, n, c).transpose(0, 1).contiguous()
