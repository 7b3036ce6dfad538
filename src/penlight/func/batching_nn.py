"""Batching rules of normalisation, losses, embeddings and attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..ops import OPS
from ..ops._op import Op
from ..tensor import Tensor
from ..tensor import wrap as plain_tensor
from .batching import RULES, insert_dims, loop, rule
from .batching_windows import _joined

if TYPE_CHECKING:
    from .level import BatchLevel


def _run(name: str, *args: Any) -> Any:
    return OPS[name].function(*args)


# ----- Normalisation ------------------------------------------------------------------------------------------------


def _affine(level: BatchLevel, out: Any, weight: Any, bias: Any, shape: Any) -> Any:
    """Scaled and shifted by parameters of each sample, seen in a shape."""
    if weight is not None:
        out = out * level.full(weight).reshape(shape)
    if bias is not None:
        out = out + level.full(bias).reshape(shape)
    return out


@rule("_native_layer_norm")
def layer_norm(level: BatchLevel, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    if not level.has(weight) and not level.has(bias):
        return _run("_native_layer_norm", input._value, normalized_shape, weight, bias, eps)
    out, mean, rstd = _run("_native_layer_norm", level.full(input), normalized_shape, None, None, eps)
    shape = (level.size, *(1,) * (input.dim() - len(normalized_shape)), *normalized_shape)
    return _affine(level, out, weight, bias, shape), mean, rstd


@rule("_fused_rms_norm")
def rms_norm(level: BatchLevel, input: Any, normalized_shape: Any, weight: Any, eps: float) -> Any:
    if not level.has(weight):
        return _run("_fused_rms_norm", input._value, normalized_shape, weight, eps)
    out, rstd = _run("_fused_rms_norm", level.full(input), normalized_shape, None, eps)
    shape = (level.size, *(1,) * (input.dim() - len(normalized_shape)), *normalized_shape)
    return _affine(level, out, weight, None, shape), rstd


@rule("_native_group_norm")
def group_norm(level: BatchLevel, input: Any, weight: Any, bias: Any, group: int, eps: float) -> Any:
    own = level.has(weight) or level.has(bias)
    value = level.full(input)
    given = (None, None) if own else (weight, bias)
    found = _run("_native_group_norm", _joined(value), *given, group, eps)
    out, mean, rstd = (r.reshape(level.size, input.shape[0], *r.shape[1:]) for r in found)
    if own:
        out = _affine(level, out, weight, bias, (level.size, 1, input.shape[1], *(1,) * (input.dim() - 2)))
    return out, mean, rstd


# ----- Losses element by element --------------------------------------------------------------------------------------


def _reduced(losses: Any, reduction: int) -> Any:
    """Losses over all but the batch: none, mean or sum."""
    if reduction == 0:
        return losses
    if losses.dim() == 1:
        return losses
    dims = tuple(range(1, losses.dim()))
    return losses.mean(dims) if reduction == 1 else losses.sum(dims)


def _elementwise_loss(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    """Without reduction on the aligned batch, then reduced sample by sample."""
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    ndim = max(t.dim() for t in tensors)
    place = op.parameters.index("reduction")
    values = [insert_dims(level, a, ndim) if level.has(a) else a for a in arguments]
    values[:2] = [level.full(a) for a in arguments[:2]]
    reduction, values[place] = values[place], 0
    return _reduced(op.function(*values), reduction)


for _name in ("_mse_loss", "_smooth_l1_loss", "_huber_loss", "_bce", "_bce_with_logits", "_soft_margin_loss"):
    RULES[_name] = _elementwise_loss

# ----- Losses of classes ----------------------------------------------------------------------------------------------


def _class_weights(target: Any, weight: Any, ignore_index: int, like: Any) -> Any:
    """What each target counts (B, ...): its class's weight, 0 if it is ignored."""
    kept = (target != ignore_index).to(like.dtype)
    if weight is None:
        return kept
    return kept * weight.index_select(0, target.masked_fill(target == ignore_index, 0).reshape(-1)).reshape(
        target.shape
    )


def _nll(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    input, target, weight, ignore_index, reduction = arguments
    if weight is not None and level.has(weight):
        return loop(level, op, arguments)
    single = input.dim() == 1
    x, t = level.full(input), level.full(target)
    if single:
        t = t.reshape(level.size)
    else:
        x, t = _joined(x), _joined(t)
    losses = op.function(x, t, weight, ignore_index, 0)
    losses = losses.reshape(level.size, *(target.shape if not single else ()))
    if reduction == 0:
        return losses
    if single:
        total = losses
        counts = _class_weights(t, weight, ignore_index, losses)
    else:
        dims = tuple(range(1, losses.dim()))
        total = losses.sum(dims)
        counts = _class_weights(t, weight, ignore_index, losses).reshape(losses.shape).sum(dims)
    return total / counts if reduction == 1 else total


RULES["_nll_loss"] = RULES["_nll_loss2d"] = _nll


@rule("_nll_backward")
def nll_backward(
    level: BatchLevel, input: Any, target: Any, weight: Any, ignore_index: int, reduction: int, shape: Any
) -> Any:
    """The gradient of the log-probabilities: each loss's own, placed by the op without reduction."""
    if weight is not None and level.has(weight):
        return loop(level, OPS["_nll_backward"], (input, target, weight, ignore_index, reduction, shape))
    single = len(shape) == 1
    t = level.full(target).reshape(level.size) if single else level.full(target)
    grad = level.full(input)
    if reduction == 1:
        counts = _class_weights(t, weight, ignore_index, grad)
        grad = grad / (counts if single else counts.sum(tuple(range(1, counts.dim()))))
    if reduction and not single:
        grad = grad.reshape(level.size, *(1,) * (t.dim() - 1)).expand(t.shape)
    if single:
        return _run("_nll_backward", grad.reshape(level.size), t, weight, ignore_index, 0, (level.size, *shape))
    out = _run("_nll_backward", _joined(grad), _joined(t), weight, ignore_index, 0, (level.size * shape[0], *shape[1:]))
    return out.reshape(level.size, *shape)


# ----- Embeddings ---------------------------------------------------------------------------------------------------


def _own_rows(level: BatchLevel, indices: Any, count: int) -> Any:
    """Indices into the tables of all samples, one after the other."""
    value = level.full(indices)
    starts = np.arange(level.size).reshape(-1, *(1,) * indices.dim()) * count
    return value + plain_tensor(starts)


@rule("_embedding")
def embedding(
    level: BatchLevel, weight: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Any:
    if not level.has(weight):
        if not scale_grad_by_freq:
            return _run("_embedding", weight, indices._value, padding_idx, scale_grad_by_freq, sparse)
        return loop(level, OPS["_embedding"], (weight, indices, padding_idx, scale_grad_by_freq, sparse))
    count = weight.shape[0]
    _check_rows(indices, count)
    value = weight._value
    if padding_idx >= 0:
        # The padding row gets no gradient: it is left out, and put back without a graph.
        kept = np.ones((count, 1), bool)
        kept[padding_idx] = False
        value = value.where(plain_tensor(kept), value.detach())
    table = value.reshape(level.size * count, *weight.shape[1:])
    return _run("_embedding", table, _own_rows(level, indices, count), -1, scale_grad_by_freq, sparse)


def _check_rows(indices: Any, count: int) -> None:
    from .batched import physical

    array = physical(indices)._array
    if array.size and (array.min() < 0 or array.max() >= count):
        raise IndexError("index out of range in self")


@rule("_embedding_backward")
def embedding_backward(
    level: BatchLevel, input: Any, indices: Any, count: int, padding_idx: int, scale_grad_by_freq: bool
) -> Any:
    grad = level.full(input)
    if padding_idx >= 0:
        grad = grad * (level.full(indices) != padding_idx).to(grad.dtype).unsqueeze(-1)
    rows = _own_rows(level, indices, count)
    out = _run("_embedding_backward", grad, rows, level.size * count, -1, scale_grad_by_freq)
    return out.reshape(level.size, count, *out.shape[1:])


# ----- Others -------------------------------------------------------------------------------------------------------


@rule("_attention")
def attention(
    level: BatchLevel, query: Any, key: Any, value: Any, attn_mask: Any, scale: float, is_causal: bool
) -> Any:
    """The batch joins the samples' own (N, heads, L, E)."""
    n = query.shape[0]
    mask = attn_mask
    if mask is not None:
        wide = level.full(mask)
        mask = _joined(wide.expand(level.size, n, *wide.shape[2:]))
    tensors = (_joined(level.full(t)) for t in (query, key, value))
    out, sums, kept = _run("_attention", *tensors, mask, scale, is_causal)
    out, sums = (r.reshape(level.size, n, *r.shape[1:]) for r in (out, sums))
    if kept.dim() == 1:
        return out, sums, kept.expand(level.size, 0)
    return out, sums, kept.reshape(level.size, n, *kept.shape[1:])


@rule("_prelu_kernel")
def prelu(level: BatchLevel, input: Any, weight: Any) -> Any:
    """x, or its product with the weight where it is not positive: the kernel takes weights of channels only."""
    from ..ops import where

    ndim = max(input.dim(), weight.dim())
    x, w = (insert_dims(level, t, ndim) if level.has(t) else t for t in (input, weight))
    x = level.full(input) if not level.has(input) else x
    return where(x > 0, x, x * w)


def _noisy(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    """`rrelu`: input and slopes of the same shape."""
    input, noise, *rest = arguments
    return op.function(level.full(input), None if noise is None else level.full(noise), *rest)


RULES["_rrelu"] = RULES["_rrelu_written"] = _noisy
