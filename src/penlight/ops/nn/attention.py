"""Attention: scaled dot products, and multiple heads."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.dims import wrap_existing_dim
from ..._common.user_warnings import warn_user
from ...kernels import attention as kernels
from ...kernels.lazy import lazy_import
from ...kernels.softmax import softmax as _softmax_kernel
from ...tensor import Tensor, wrap
from ..linalg.addmm import baddbmm, linear
from ..linalg.matmul import bmm
from ..machinery.arguments import mismatch
from ..machinery.array_namespace import raw
from ..machinery.declare import differentiable
from ..machinery.guards import c_name, not_implemented, unrecorded
from ..machinery.op import traits
from ..machinery.rules import joint_rules
from ..pointwise.elementary import where
from ..shape.joining import cat
from .activation import softmax
from .normalization import wide

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]

_dropouts = lazy_import(globals(), "_dropouts", ".dropout")
_padding = lazy_import(globals(), "_padding", ".padding")


# ----- The ops ------------------------------------------------------------------------------------------------------


def _safe_softmax_array(input: Any, dim: int) -> Any:
    """Softmax, but 0 for rows that are entirely -inf."""
    found = _softmax_kernel(input, dim)
    if not input.size:
        return found
    hidden = np.isneginf(input.max(dim, keepdims=True))
    return np.where(hidden, found.dtype.type(0), found) if hidden.any() else found


@differentiable(_safe_softmax_array, node="SafeSoftmaxBackward0",
                input=lambda grad, result, dim, xp: xp._softmax_backward(grad, result, dim))  # fmt: skip
@traits(refuses={"c": "softmax_kernel_impl"}, aten="_safe_softmax")
def _safe_softmax(input: Tensor, dim: int) -> Tensor: ...


def _attention_gradients(
    grads: Any, query: Any, key: Any, value: Any, attn_mask: Any, output: Any, logsumexp: Any, probabilities: Any, scale: float,
    is_causal: bool, needs: Any, xp: Any,
) -> Any:  # fmt: skip
    """The gradients of query, key and value. On tensors the probabilities are recomputed, so that they can be differentiated."""
    grad = grads[0]
    if xp is raw:
        saved = (query, key, value, attn_mask, output, logsumexp, probabilities, scale, is_causal)
        return kernels.attention_backward(grad, *saved, needs)
    q, k, v, mask, grad = wide(query, key, value, attn_mask, grad)
    scores = (q * scale) @ k.transpose(-2, -1)
    if is_causal:
        scores = scores + _above(q, k)
    p = _safe_softmax(scores if mask is None else scores + mask, 3)
    slopes = grad @ v.transpose(-2, -1)
    slopes = p * (slopes - (slopes * p).sum(-1, True)) * scale
    found = (slopes @ k, slopes.transpose(-2, -1) @ q, p.transpose(-2, -1) @ grad)
    return [g.to(query.dtype) for g in found]


@differentiable(lambda query, key, value, attn_mask, scale, is_causal:
                    kernels.attention(query, key, value, attn_mask, scale, is_causal),
                node="ScaledDotProductFlashAttentionForCpuBackward0", results=("output", "logsumexp", "probabilities"),
                **joint_rules(_attention_gradients, "query", "key", "value"))  # fmt: skip
@traits(returned=1)
def _attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, scale: float, is_causal: bool
) -> Any: ...


# ----- Scaled dot products ------------------------------------------------------------------------------------------


def _above(query: Tensor, key: Tensor) -> Tensor:
    """The causal mask, which hides later positions."""
    shape = (query.shape[-2], key.shape[-2])
    return wrap(np.triu(np.full(shape, -np.inf, query._array.dtype), 1))


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    if not query.dtype is key.dtype is value.dtype:
        kinds = [c_name(t.dtype) for t in (query, key, value)]
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {kinds[0]} key.dtype: {kinds[1]} and "
            f"value.dtype: {kinds[2]} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{query.dim()} key.dim: {key.dim()} and value.dim: {value.dim()} instead."
        )
    if query.dtype.category != dtypes.FLOATING:
        if query.is_complex():
            raise not_implemented("softmax_lastdim_kernel_impl", query._array.dtype)
        raise RuntimeError(f"expected scalar type Float but found {dtypes.LEGACY[query.dtype]}")
    if key.shape[-2] != value.shape[-2]:
        raise RuntimeError(
            f"Expected key and value to have the same sequence length, but got {key.shape[-2]} and {value.shape[-2]}"
        )
    if mask is not None and mask.dim() < 2 and query.dim() == 4:
        wrap_existing_dim(-2, mask.dim())
    if mask is not None and mask.dtype not in (dtypes.bool_, query.dtype, dtypes.float32):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{c_name(mask.dtype)} and  query.dtype: {c_name(query.dtype)} instead."
        )


def _added(mask: Tensor, query: Tensor) -> Tensor:
    """A mask to add: -inf where a boolean mask is False."""
    if mask.dtype is dtypes.bool_ and mask._level is not None:
        return where(mask, 0.0, -math.inf).to(query.dtype)
    if mask.dtype is dtypes.bool_:
        return wrap(np.where(mask._array, query._array.dtype.type(0), query._array.dtype.type(-np.inf)))
    return mask if mask.dtype is query.dtype else mask.to(query.dtype)


def _fusable(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> bool:
    """Whether the fused op applies: four dims, equal numbers of heads, and a mask that needs no derivative."""
    q, k, v = query._array.shape, key._array.shape, value._array.shape
    if not len(q) == len(k) == len(v) == 4 or not q[:2] == k[:2] == v[:2] or not q[3] == k[3] == v[3]:
        return False
    if mask is None:
        return True
    moves = mask._rare_state is not None and bool(mask._rare_state.tangents)
    return mask.dim() in (2, 4) and not mask.requires_grad and not moves


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0, is_causal: bool = False,
    scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """softmax(query @ key.T * scale + mask) @ value. A boolean mask is True for positions that take part.

    >>> x = torch.ones(1, 1, 2, 4)
    >>> torch.nn.functional.scaled_dot_product_attention(x, x, x).shape
    torch.Size([1, 1, 2, 4])
    """
    _check(query, key, value, attn_mask)
    if enable_gqa:
        key, value = _repeated(query, key, value)
    if scale is None:
        scale = 1.0 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    mask = None if attn_mask is None else _added(attn_mask, query)
    if not dropout_p and _fusable(query, key, value, mask):
        if mask is not None:
            wanted = (*query.shape[:3], key.shape[2])
            mask = mask.reshape((1,) * (4 - mask.dim()) + tuple(mask.shape))
            _check_mask(mask, wanted)
        return _attention(query, key, value, mask, scale, is_causal)[0]
    if query.dtype.itemsize > 2:
        return _composed(query, key, value, mask, dropout_p, is_causal, scale)
    wide = _composed(query.float(), key.float(), value.float(), None if mask is None else mask.float(), dropout_p, is_causal, scale)  # fmt: skip
    return wide.to(query.dtype)


def _composed(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool, scale: float
) -> Tensor:
    """Attention composed of ops, if the fused op does not apply."""
    root = math.sqrt(scale) if scale >= 0 else math.nan
    scores = (query * root) @ (key.transpose(-2, -1) * root) if scale >= 0 else (query * scale) @ key.transpose(-2, -1)
    if is_causal:
        scores = scores + _above(query, key)
    probabilities = _safe_softmax(scores if mask is None else scores + mask, scores.dim() - 1)
    if dropout_p > 0.0:
        if dropout_p > 1:
            raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p:g}")
        probabilities = _dropouts.drop(probabilities, dropout_p, True, False)
    return probabilities @ value


def _check_mask(mask: Tensor, wanted: tuple[int, ...]) -> None:
    if any(m not in (1, n) for m, n in zip(mask.shape, wanted)):
        raise mismatch(wanted, tuple(mask.shape))


def _repeated(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Keys and values repeated for each group of query heads that shares them."""
    heads = query.shape[-3]
    for tensor in (key, value):
        if tensor.shape[-3] == 0 or heads % tensor.shape[-3]:
            raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    found = [
        t if t.shape[-3] == heads else t.repeat_interleave(heads // t.shape[-3], t.dim() - 3) for t in (key, value)
    ]
    return found[0], found[1]


# ----- Many heads ---------------------------------------------------------------------------------------------------


def _expect(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _mha_shape_check(query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None,
                     num_heads: int) -> bool:  # fmt: skip
    """Check the shapes; returns whether there is a batch dimension."""
    dims = query.dim()
    _expect(dims in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {dims}-D query tensor")
    kind = "batched (3-D)" if dims == 3 else "unbatched (2-D)"
    _expect(
        key.dim() == value.dim() == dims,
        f"For {kind} `query`, expected `key` and `value` to be {dims}-D but found {key.dim()}-D and {value.dim()}-D tensors "
        "respectively",
    )
    if key_padding_mask is not None:
        _expect(
            key_padding_mask.dim() == dims - 1,
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {dims - 1}-D but found {key_padding_mask.dim()}-D "
            "tensor instead",
        )
    if attn_mask is not None:
        _expect(
            attn_mask.dim() in (2, 3),
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead",
        )
        if dims == 2 and attn_mask.dim() == 3:
            shape = (num_heads, query.shape[0], key.shape[0])
            _expect(
                tuple(attn_mask.shape) == shape, f"Expected `attn_mask` shape to be {shape} but got {attn_mask.shape}"
            )
    return dims == 3


def _none_or_dtype(input: Any) -> Any:
    """A tensor's dtype, and None for None."""
    if input is None or isinstance(input, Tensor):
        return None if input is None else input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _canonical_mask(mask: Tensor | None, mask_name: str, other_type: Any, other_name: str, target_type: Any,
                    check_other: bool = True) -> Tensor | None:  # fmt: skip
    """A boolean mask (True: do not attend) as one to add; a float mask unchanged."""
    if mask is None:
        return None
    floating = mask.dtype.category == dtypes.FLOATING
    _expect(floating or mask.dtype is dtypes.bool_, f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warn_user(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.")
    if floating:
        return mask
    return wrap(np.where(mask._array, target_type.np.type(-np.inf), target_type.np.type(0)))


def _unpacked(projected: Tensor, count: int, width: int) -> Tensor:
    """The results of a projection by packed weights, stored one after the other in memory."""
    return projected.unflatten(-1, (count, width)).unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()


def _in_projection_packed(
    q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Query, key and value projected by weights in one tensor; identical inputs are projected together."""
    width = q.shape[-1]
    if k is v and q is k:
        three = _unpacked(linear(q, w, b), 3, width)
        return three[0], three[1], three[2]
    if k is v:
        w_q, w_kv = w.split([width, width * 2])
        b_q, b_kv = (None, None) if b is None else b.split([width, width * 2])
        projected = linear(q, w_q, b_q)
        two = _unpacked(linear(k, w_kv, b_kv), 2, width)
        return projected, two[0], two[1]
    biases = (None, None, None) if b is None else b.chunk(3)
    q, k, v = (linear(x, weight, bias) for x, weight, bias in zip((q, k, v), w.chunk(3), biases))
    return q, k, v


def _in_projection(q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, b_q: Tensor | None = None,
                   b_k: Tensor | None = None, b_v: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Query, key and value projected by separate weights."""
    width = q.shape[-1]
    for name, x, weight in (("query", q, w_q), ("key", k, w_k), ("value", v, w_v)):
        shape = (width, x.shape[-1])
        _expect(tuple(weight.shape) == shape, f"expecting {name} weights shape of {shape}, but got {weight.shape}")
    for name, bias in (("query", b_q), ("key", b_k), ("value", b_v)):
        fits = bias is None or tuple(bias.shape) == (width,)
        _expect(fits, f"expecting {name} bias shape of {(width,)}, but got {None if bias is None else bias.shape}")
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _shape_mask(mask: Tensor, rows: int, columns: int, count: int) -> Tensor:
    """An attention mask with three dimensions."""
    if mask.dim() not in (2, 3):
        raise RuntimeError(f"attn_mask's dimension {mask.dim()} is not supported")
    wanted = (rows, columns) if mask.dim() == 2 else (count, rows, columns)
    if tuple(mask.shape) != wanted:
        raise RuntimeError(f"The shape of the {mask.dim()}D attn_mask is {mask.shape}, but should be {wanted}.")
    return mask.unsqueeze(0) if mask.dim() == 2 else mask


def _longer(attn_mask: Tensor | None, key_padding_mask: Tensor | None) -> tuple[Tensor | None, Tensor | None]:
    """Masks extended by one visible column."""
    longer = [None if m is None else _padding.pad(m, (0, 1)) for m in (attn_mask, key_padding_mask)]
    return longer[0], longer[1]


def _static(given: Tensor | None, projected: Tensor, name: str, count: int, width: int) -> Tensor:
    """Keys or values split into heads: projected, unless given in that form."""
    if given is None:
        return projected.view(projected.shape[0], count, width).transpose(0, 1)
    _expect(given.shape[0] == count, f"expecting static_{name}.size(0) of {count}, but got {given.shape[0]}")
    _expect(given.shape[2] == width, f"expecting static_{name}.size(2) of {width}, but got {given.shape[2]}")
    return given


def _check_key_padding_mask(key_padding_mask: Tensor, src_len: int, bsz: int) -> None:
    for d, wanted in ((0, bsz), (1, src_len)):
        given = key_padding_mask.shape[d]
        _expect(given == wanted, f"Expected key_padded_mask.shape[{d}] to be {wanted}, but got {given}")


def multi_head_attention_forward(
    query: Tensor, key: Tensor, value: Tensor, embed_dim_to_check: int, num_heads: int, in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None, bias_k: Tensor | None, bias_v: Tensor | None, add_zero_attn: bool, dropout_p: float,
    out_proj_weight: Tensor, out_proj_bias: Tensor | None, training: bool = True, key_padding_mask: Tensor | None = None,
    need_weights: bool = True, attn_mask: Tensor | None = None, use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None, k_proj_weight: Tensor | None = None, v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None, static_v: Tensor | None = None, average_attn_weights: bool = True, is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Attention by several heads, each on its part of the projected queries, keys and values (L, N, E), as in
    `torch.nn.MultiheadAttention`.

    >>> x, w, b = torch.ones(2, 1, 2), torch.eye(2).repeat(3, 1), torch.zeros(6)
    >>> args = (x, x, x, 2, 1, w, b, None, None, False, 0.0, torch.eye(2), torch.zeros(2))
    >>> torch.nn.functional.multi_head_attention_forward(*args)[1]
    tensor([[[0.5000, 0.5000],
             [0.5000, 0.5000]]])
    """
    batched = _mha_shape_check(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        same = query is key is value, key is value
        query = query.unsqueeze(1)
        key = query if same[0] else key.unsqueeze(1)
        value = key if same[1] else value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    rows, batch, embed_dim = query.shape
    attn_mask, key_padding_mask, is_causal = _masks(attn_mask, key_padding_mask, is_causal, need_weights, query.dtype)
    _expect(
        embed_dim == embed_dim_to_check,
        f"was expecting embedding dimension of {embed_dim_to_check}, but got {embed_dim}",
    )
    width = embed_dim // num_heads
    _expect(width * num_heads == embed_dim, f"embed_dim {embed_dim} not divisible by num_heads {num_heads}")
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    beside = bias_k, bias_v, static_k, static_v, separate, key_padding_mask
    if query is key is value and not need_weights and not add_zero_attn and all([other is None for other in beside]):
        given = [t for t in (in_proj_weight, in_proj_bias, out_proj_weight, out_proj_bias) if t is not None]
        if in_proj_weight is not None and unrecorded((query, *given)):
            mask = None if attn_mask is None else _shape_mask(attn_mask, rows, rows, batch * num_heads)
            fused = lambda q, k, v: _fused(q, k, v, mask, dropout_p if training else 0.0, is_causal)
            output = _unrecorded_self_attention(query, in_proj_weight, in_proj_bias, num_heads, fused)
            output = wrap(linear(output, out_proj_weight, out_proj_bias)._array.reshape(rows, batch, embed_dim))
            return output if batched else output.squeeze(1), None
    q, k, v = _project(query, key, value, in_proj_weight, in_proj_bias, separate)
    if attn_mask is not None:
        attn_mask = _shape_mask(attn_mask, rows, key.shape[0], batch * num_heads)
    if bias_k is not None and bias_v is not None:
        _expect(static_k is None, "bias cannot be added to static key.")
        _expect(static_v is None, "bias cannot be added to static value.")
        k, v = cat([k, bias_k.repeat(1, batch, 1)]), cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask, key_padding_mask = _longer(attn_mask, key_padding_mask)
    else:
        _expect(bias_k is None, "bias_k is set but bias_v is None")
        _expect(bias_v is None, "bias_v is set but bias_k is None")
    count = batch * num_heads
    q = q.view(rows, count, width).transpose(0, 1)
    k, v = _static(static_k, k, "k", count, width), _static(static_v, v, "v", count, width)
    if add_zero_attn:
        nothing = wrap(np.zeros((count, 1, width), k._array.dtype))
        k, v = cat([k, nothing], 1), cat([v, nothing], 1)
        attn_mask, key_padding_mask = _longer(attn_mask, key_padding_mask)
    if key_padding_mask is not None:
        hidden = _hidden(key_padding_mask, k.shape[1], batch, num_heads)
        attn_mask = hidden if attn_mask is None else attn_mask + hidden
    if not training:
        dropout_p = 0.0
    attend = _attend_with_weights if need_weights else _attend
    output, weights = attend(q, k, v, attn_mask, dropout_p, batch, num_heads, is_causal)
    output = linear(output, out_proj_weight, out_proj_bias)
    output = output.view(rows, batch, output.shape[1])
    if weights is not None and average_attn_weights:
        weights = weights.mean(1)
    if not batched:
        output, weights = output.squeeze(1), None if weights is None else weights.squeeze(0)
    return output, weights


def _masks(
    attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool, need_weights: bool, dtype: Any
) -> tuple[Tensor | None, Tensor | None, bool]:
    """Both masks in additive form, and whether `is_causal` still replaces the first."""
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", _none_or_dtype(attn_mask), "attn_mask", dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        attn_mask = None
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", dtype, check_other=False)
        is_causal = is_causal and key_padding_mask is None
    return attn_mask, key_padding_mask, is_causal


def _hidden(key_padding_mask: Tensor, columns: int, batch: int, heads: int) -> Tensor:
    """The padding mask of each sample, repeated for all heads."""
    _check_key_padding_mask(key_padding_mask, columns, batch)
    mask = key_padding_mask.view(batch, 1, 1, columns).expand(-1, heads, -1, -1)
    return mask.reshape(batch * heads, 1, columns)


def _project(
    query: Tensor, key: Tensor, value: Tensor, packed: Tensor | None, bias: Tensor | None, separate: Any
) -> Any:
    if separate is None:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        if packed is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        return _in_projection_packed(query, key, value, packed, bias)
    _expect(
        key.shape[:2] == value.shape[:2],
        f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
    )
    for name, weight in zip("qkv", separate):
        _expect(weight is not None, f"use_separate_proj_weight is True but {name}_proj_weight is None")
    biases = (None, None, None) if bias is None else bias.chunk(3)
    return _in_projection(query, key, value, *separate, *biases)


def _attend_with_weights(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float, batch: int, heads: int,
                         is_causal: bool) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Attention by plain matrix products, which also returns the probabilities."""
    _expect(not (is_causal and mask is None), "FIXME: is_causal not implemented for need_weights")
    _, rows, width = q.shape
    scaled = q * math.sqrt(1.0 / width)
    scores = bmm(scaled, k.transpose(-2, -1)) if mask is None else baddbmm(mask, scaled, k.transpose(-2, -1))
    weights = softmax(scores, -1)
    if dropout_p > 0.0:
        weights = _dropouts.dropout(weights, dropout_p)
    output = bmm(weights, v).transpose(0, 1).reshape(rows * batch, heads * width)
    return output, weights.view(batch, heads, rows, k.shape[1])


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float, batch: int, heads: int,
            is_causal: bool) -> tuple[Tensor, Tensor | None]:  # fmt: skip
    """Attention by the fused op."""
    rows, columns, width = q.shape[1], k.shape[1], q.shape[2]
    q = q.view(batch, heads, rows, width)
    k, v = k.view(batch, heads, columns, width), v.view(batch, heads, columns, width)
    output = _fused(q, k, v, mask, dropout_p, is_causal)
    return output.permute(2, 0, 1, 3).reshape(batch * rows, heads * width), None


def _fused(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout_p: float, is_causal: bool) -> Tensor:
    """`scaled_dot_product_attention` with a 3-d mask, for all heads or for each."""
    if mask is not None:
        batch, heads, columns = q.shape[0], q.shape[1], k.shape[2]
        mask = mask.unsqueeze(0) if mask.shape[0] == 1 and mask.dim() == 3 else mask.view(batch, heads, -1, columns)
    return scaled_dot_product_attention(q, k, v, mask, dropout_p, is_causal)


def _unrecorded_self_attention(x: Tensor, weight: Tensor, bias: Tensor | None, heads: int, attend: Any) -> Tensor:
    """Unrecorded self-attention in the usual case, (L, N, E) as (L * N, E): heads are views of arrays, without intermediate tensors."""
    rows, batch, embed_dim = x._array.shape
    packed = linear(x, weight, bias)._array.reshape(rows, batch, 3, heads, embed_dim // heads)
    output = attend(*map(wrap, packed.transpose(2, 1, 3, 0, 4)))
    return wrap(output._array.transpose(2, 0, 1, 3).reshape(rows * batch, embed_dim))
