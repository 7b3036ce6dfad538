"""The CTC loss (connectionist temporal classification)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...tensor import Tensor, wrap
from ..machinery.arguments import values_of
from ..machinery.declare import differentiable
from ..machinery.guards import lazy, no_derivative, not_implemented, refuse_tangents
from ..machinery.op import traits
from ..pointwise.elementary import where
from .loss_reduction import reduce_values, reduction_number

__all__ = ["ctc_loss"]

Ints = tuple[int, ...]


@differentiable(lazy("loss.ctc", "ctc_loss_backward"), node="CtcLossBackwardBackward0",
                upstream=no_derivative("_ctc_loss_backward"), log_probs=no_derivative("_ctc_loss_backward"))  # fmt: skip
def _ctc_backward(
    upstream: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: Ints, target_lengths: Ints, loss: Tensor,
    alpha: Tensor, blank: int, zero_infinity: bool,
) -> Tensor: ...  # fmt: skip


def _rule(grads: Any, log_probs: Any, targets: Any, input_lengths: Ints, target_lengths: Ints, result0: Any, result1: Any, blank: int,
          zero_infinity: bool, xp: Any) -> Any:  # fmt: skip
    return xp._ctc_backward(
        grads[0], log_probs, targets, input_lengths, target_lengths, result0, result1, blank, zero_infinity
    )


_kernel = lazy("loss.ctc", "ctc_loss")


@differentiable(lambda log_probs, targets, input_lengths, target_lengths, blank, zero_infinity:
                    _kernel(log_probs, targets, input_lengths, target_lengths, blank),
                node="CtcLossBackward0", results=("result0", "result1"), log_probs=_rule)  # fmt: skip
@traits(returned=1)
def _ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Ints, target_lengths: Ints, blank: int, zero_infinity: bool
) -> Any: ...


def _lengths(value: Any) -> Ints:
    array = value._array if isinstance(value, Tensor) else np.asarray(value)
    return tuple(int(n) for n in array.reshape(-1))


def _check(log_probs: Tensor, targets: Tensor, inputs: Ints, lengths: Ints, blank: int) -> None:
    frames, count, classes = log_probs.shape
    if not 1 <= targets.dim() <= 2:
        raise RuntimeError(
            f"Expected 1 to 2 dimensions, but got {targets.dim()}-dimensional tensor for argument #2 'targets' (while checking "
            "arguments for ctc_loss_allocate_outputs)"
        )
    if log_probs.dtype not in (dtypes.float32, dtypes.float64):
        raise not_implemented("ctc_loss_cpu", log_probs.dtype.np)
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, given in (("input_lengths", inputs), ("target_lengths", lengths)):
        if len(given) != count:
            raise RuntimeError(f"{name} must be of size batch_size")
    where_ = "(while checking arguments for ctc_loss_allocate_outputs)"
    if targets.dim() == 1:
        if sum(lengths) != targets.shape[0]:
            raise RuntimeError(
                f"Expected tensor to have size {sum(lengths)} at dimension 0, but got size {targets.shape[0]} for argument #2 "
                f"'targets' {where_}"
            )
    elif targets.shape[0] != count or targets.shape[1] < max(lengths, default=0):
        dim, least = (0, count) if targets.shape[0] != count else (1, max(lengths))
        atleast = "" if dim == 0 else "at least "
        raise RuntimeError(
            f"Expected tensor to have size {atleast}{least} at dimension {dim}, but got size {targets.shape[dim]} for argument #2 "
            f"'targets' {where_}"
        )
    for n in inputs:
        if n < 0:
            raise RuntimeError(f"Expected input_lengths to have non-negative value, but got value {n} {where_}")
        if n > frames:
            raise RuntimeError(f"Expected input_lengths to have value at most {frames}, but got value {n} {where_}")
    for n in lengths:
        if n < 0:
            raise RuntimeError(f"Expected target_lengths to have non-negative value, but got value {n} {where_}")
    labels = values_of(targets)
    if labels.size and targets.dim() == 1 and (labels.min() < 0 or labels.max() >= classes):
        raise RuntimeError(f"ctc_loss: targets must be between 0 and {classes - 1}, the last class")


def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: str = "mean",
             zero_infinity: bool = False) -> Tensor:  # fmt: skip
    """Minus the log-likelihood of label sequences under frames of log-probabilities (T, N, C), over all alignments.

    >>> frames = torch.full((2, 1, 2), 0.5).log()
    >>> torch.nn.functional.ctc_loss(frames, torch.tensor([[1]]), torch.tensor([2]), torch.tensor([1]))
    tensor(0.2877)
    """
    return ctc(log_probs, targets, input_lengths, target_lengths, blank, reduction_number(reduction), zero_infinity)


def ctc(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int, reduction: int, zero_infinity: bool,
) -> Tensor:  # fmt: skip
    """`ctc_loss` with its reduction given as a number."""
    refuse_tangents("_ctc_loss", log_probs)
    if any(isinstance(n, Tensor) and n._level is not None for n in (input_lengths, target_lengths)):
        lengths_of_samples = (input_lengths, target_lengths)
        return _with_own_lengths(log_probs, targets, lengths_of_samples, blank, reduction, zero_infinity)
    batched = log_probs.dim() == 3
    for name, given in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if isinstance(given, Tensor) and given.dtype.category != dtypes.INTEGRAL:
            raise RuntimeError(f"{name} must be integral")
    inputs, lengths = _lengths(input_lengths), _lengths(target_lengths)
    if not batched:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0) if targets.dim() == 1 else targets
    _check(log_probs, targets, inputs, lengths, blank)
    try:
        losses = _ctc_loss(log_probs, targets, inputs, lengths, blank, zero_infinity)[0]
    except IndexError:
        classes = log_probs.shape[2]
        raise RuntimeError(
            f"targets must be classes from 0 to {classes - 1}, the last dimension of log_probs"
        ) from None
    if zero_infinity:
        losses = where(losses == float("inf"), 0.0, losses)
    if reduction == 1:
        counts = wrap(np.maximum(np.asarray(lengths), 1).astype(losses._array.dtype))
        return (losses / counts).mean()
    return reduce_values(losses, reduction) if reduction == 2 else losses if batched else losses.squeeze(0)


def _with_own_lengths(
    log_probs: Tensor, targets: Tensor, lengths: Any, blank: int, reduction: int, zero_infinity: bool
) -> Tensor:
    """Inside vmap with lengths per sample: processes the sequences of all samples at once, without reduction."""
    from ...func.batched import expose, hide, levels_of

    if log_probs.dim() == 2:
        log_probs, targets = log_probs.unsqueeze(1), targets.unsqueeze(0) if targets.dim() == 1 else targets
    given = [n if isinstance(n, Tensor) else wrap(np.asarray(n)) for n in lengths]
    levels = sorted({o for t in (log_probs, targets, *given) for o in levels_of(t)}, key=lambda level: level.depth)
    frames, count, classes = log_probs.shape
    wide = expose(log_probs, levels).reshape(-1, frames, count, classes).transpose(0, 1)
    labels = expose(targets, levels)
    labels = labels.reshape(-1) if targets.dim() == 1 else labels.reshape(-1, targets.shape[1])
    sizes = [expose(n.reshape(-1), levels).reshape(-1) for n in given]
    losses = ctc(wide.reshape(frames, -1, classes), labels, *sizes, blank, 0, zero_infinity)
    losses = hide(losses.reshape(*(level.size for level in levels), count), levels)
    if reduction == 1:
        return (losses / given[1].clamp_min(1)).mean()
    return losses.sum() if reduction == 2 else losses
