"""Batching rules of normalisation, embeddings, attention and full recurrent layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..kernels.lazy import lazy_import
from ..ops import where
from ..ops.machinery.op import Op
from ..ops.nn import recurrent as _recurrent  # noqa: F401  it declares these ops
from ..tensor import wrap as plain_tensor
from .batched import physical
from .batching import RULES, insert_dims, rule, run, sample_by_sample, together
from .batching_windows import _joined

if TYPE_CHECKING:
    from .level import BatchLevel

_functional = lazy_import(globals(), "_functional", "..nn.functional")


# ----- Normalisation ------------------------------------------------------------------------------------------------


def _affine(level: BatchLevel, out: Any, weight: Any, bias: Any, shape: Any) -> Any:
    """Scale and shift by parameters of each sample, viewed in a shape."""
    if weight is not None:
        out = out * level.full(weight).reshape(shape)
    if bias is not None:
        out = out + level.full(bias).reshape(shape)
    return out


@rule("_native_layer_norm")
def layer_norm(level: BatchLevel, input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    if not level.has(weight) and not level.has(bias):
        return run("_native_layer_norm", input._value, normalized_shape, weight, bias, eps)
    out, mean, rstd = run("_native_layer_norm", level.full(input), normalized_shape, None, None, eps)
    shape = (level.size, *(1,) * (input.dim() - len(normalized_shape)), *normalized_shape)
    return _affine(level, out, weight, bias, shape), mean, rstd


@rule("_fused_rms_norm")
def rms_norm(level: BatchLevel, input: Any, normalized_shape: Any, weight: Any, eps: float) -> Any:
    if not level.has(weight):
        return run("_fused_rms_norm", input._value, normalized_shape, weight, eps)
    out, rstd = run("_fused_rms_norm", level.full(input), normalized_shape, None, eps)
    shape = (level.size, *(1,) * (input.dim() - len(normalized_shape)), *normalized_shape)
    return _affine(level, out, weight, None, shape), rstd


@rule("_native_group_norm")
def group_norm(level: BatchLevel, input: Any, weight: Any, bias: Any, group: int, eps: float) -> Any:
    own = level.has(weight) or level.has(bias)
    value = level.full(input)
    given = (None, None) if own else (weight, bias)
    found = run("_native_group_norm", _joined(value), *given, group, eps)
    out, mean, rstd = (r.reshape(level.size, input.shape[0], *r.shape[1:]) for r in found)
    if own:
        out = _affine(level, out, weight, bias, (level.size, 1, input.shape[1], *(1,) * (input.dim() - 2)))
    return out, mean, rstd


# ----- Embeddings ---------------------------------------------------------------------------------------------------


def _own_rows(level: BatchLevel, indices: Any, count: int) -> Any:
    """Indices into the concatenated tables of all samples."""
    value = level.full(indices)
    starts = np.arange(level.size).reshape(-1, *(1,) * indices.dim()) * count
    return value + plain_tensor(starts)


@rule("_embedding")
def embedding(
    level: BatchLevel, weight: Any, indices: Any, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> Any:
    if not level.has(weight) and not scale_grad_by_freq:
        return run("_embedding", weight, indices._value, padding_idx, scale_grad_by_freq, sparse)
    count = weight.shape[0]
    _check_rows(indices, count)
    value = level.full(weight)  # each sample counts its own frequencies
    if padding_idx >= 0:
        # The padding row gets no gradient: it is removed, and restored outside of the graph.
        kept = np.ones((count, 1), bool)
        kept[padding_idx] = False
        value = value.where(plain_tensor(kept), value.detach())
    table = value.reshape(level.size * count, *weight.shape[1:])
    return run("_embedding", table, _own_rows(level, indices, count), -1, scale_grad_by_freq, sparse)


def _check_rows(indices: Any, count: int) -> None:
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
    out = run("_embedding_backward", grad, rows, level.size * count, -1, scale_grad_by_freq)
    return out.reshape(level.size, count, *out.shape[1:])


@rule("_embedding_bag")
def embedding_bag(
    level: BatchLevel, weight: Any, per_sample_weights: Any, indices: Any, bags: Any, mode: int,
    scale_grad_by_freq: bool,
) -> Any:  # fmt: skip
    """The rows of all bags, padded to one length first."""
    used = bags.owners.size
    indices = indices[:used]
    rows = _functional.embedding(indices, weight, scale_grad_by_freq=scale_grad_by_freq)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:used].unsqueeze(-1)
    positions, present = _table_of_bags(bags)
    kept: Any = plain_tensor(present)
    if bags.padding >= 0:
        kept = kept & (indices != bags.padding)[plain_tensor(positions)]
    kept = kept.unsqueeze(-1)
    table = rows.index_select(0, plain_tensor(positions.reshape(-1))).reshape(*positions.shape, weight.shape[1])
    if mode == 2:
        found, best = where(kept, table, -np.inf).max(1)
        filled = kept.any(1)
        sources = indices[plain_tensor(positions)].gather(1, best)
        return tuple([level.full(t) for t in (where(filled, found, 0.0), where(filled, sources, -1))])
    total = where(kept, table, 0.0).sum(1)
    if mode == 1:
        total = total / kept.sum(1).clamp_min(1).to(total.dtype)
    return level.full(total), level.full(plain_tensor(np.zeros(0, np.int64)))


def _table_of_bags(bags: Any) -> tuple[Any, Any]:
    """The index at each position of each bag, padded to equal lengths with 0, and a mask of the real ones."""
    lengths = np.bincount(bags.owners.astype(np.intp, copy=False), minlength=bags.count)
    longest = np.arange(max(lengths.max(initial=0), 1))
    present = longest < lengths[:, None]
    return np.where(present, bags.starts[: bags.count, None] + longest, 0), present


# ----- Others -------------------------------------------------------------------------------------------------------


@rule("_attention")
def attention(
    level: BatchLevel, query: Any, key: Any, value: Any, attn_mask: Any, scale: float, is_causal: bool
) -> Any:
    """The batch is merged into the samples' own batch (N, heads, L, E)."""
    n = query.shape[0]
    mask = attn_mask
    if mask is not None:
        wide = level.full(mask)
        mask = _joined(wide.expand(level.size, n, *wide.shape[2:]))
    tensors = (_joined(level.full(t)) for t in (query, key, value))
    out, sums, kept = run("_attention", *tensors, mask, scale, is_causal)
    out, sums = (r.reshape(level.size, n, *r.shape[1:]) for r in (out, sums))
    if kept.dim() == 1:
        return out, sums, kept.expand(level.size, 0)
    return out, sums, kept.reshape(level.size, n, *kept.shape[1:])


@rule("_prelu_kernel")
def prelu(level: BatchLevel, input: Any, weight: Any) -> Any:
    """x, or x times the weight where it is not positive: the kernel accepts only per-channel weights."""
    ndim = max(input.dim(), weight.dim())
    x, w = (insert_dims(level, t, ndim) if level.has(t) else t for t in (input, weight))
    x = level.full(input) if not level.has(input) else x
    return where(x > 0, x, x * w)


RULES["_rrelu"] = RULES["_rrelu_written"] = together


# ----- Recurrent layers -----------------------------------------------------------------------------------------------

# Samples with separate weights do not get here: `ops.recurrent.fused` leaves them to the loop over time, which uses batched ops.

_SEQUENCES = ("input", "hx", "cx")  # (time, N, features), and states (N, features)


def _layer(level: BatchLevel, op: Op, arguments: tuple[Any, ...]) -> Any:
    env = dict(zip(op.parameters, arguments))
    if env["sizes"] is not None or any(level.has(v) for name, v in env.items() if name not in _SEQUENCES):
        return sample_by_sample(level, op, arguments)
    b, (t, n, _) = level.size, env["input"].shape
    env["input"] = level.full(env["input"]).transpose(0, 1).reshape(t, b * n, -1)
    for name in ("hx", "cx"):
        if name in env:
            env[name] = level.full(env[name]).reshape(b * n, -1)
    found = dict(zip(op.results, op.function(*env.values())))
    output = found["output"].reshape(t, b, n, -1).transpose(0, 1).contiguous()
    unread = output.new_empty((b, 0))  # the op's saved values for its backward pass
    return output, *(found[name].reshape(b, n, -1) if name in ("hy", "cy") else unread for name in op.results[1:])


for _name in (
    "_mkldnn_rnn_layer",
    *(
        kind + form
        for kind in ("_lstm_sequence", "_lstm_projected", "_gru_sequence", "_rnn_sequence")
        for form in ("", "_packed")
    ),
):
    RULES[_name] = _layer
