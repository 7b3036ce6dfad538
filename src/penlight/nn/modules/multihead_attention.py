"""Multi-head attention, and its masks."""

from __future__ import annotations

from typing import Any

import penlight
from penlight import Tensor
from penlight.nn import functional as F, init

from .lazy import make_parameters
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention of queries to keys and values, in `num_heads` subspaces of `embed_dim` at once.

    Inputs are (L, N, E), or (N, L, E) with `batch_first`, or unbatched (L, E). Keys and values may have the sizes `kdim` and `vdim`.
    `add_bias_kv` appends a learned key and value, `add_zero_attn` a key and value of zeros.

    >>> attention = torch.nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = torch.randn(1, 5, 8)
    >>> output, weights = attention(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([1, 5, 8]), torch.Size([1, 5, 5]))
    """

    __module__ = "penlight.nn.modules.activation"  # its module in PyTorch, which pickles name

    # Each of these is a tensor or None.
    bias_k: Any
    bias_v: Any
    in_proj_weight: Any
    in_proj_bias: Any

    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0, bias: bool = True,
                 add_bias_kv: bool = False, add_zero_attn: bool = False, kdim: int | None = None,
                 vdim: int | None = None, batch_first: bool = False, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} "
                f"and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim, self.vdim = (embed_dim if size is None else size for size in (kdim, vdim))
        self.head_dim, rest = divmod(embed_dim, num_heads)
        if rest:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        together: dict[str, Any] = {"in_proj_weight": (3 * embed_dim, embed_dim)}
        apart: dict[str, Any] = {
            "q_proj_weight": (embed_dim, embed_dim),
            "k_proj_weight": (embed_dim, self.kdim),
            "v_proj_weight": (embed_dim, self.vdim),
        }
        used, absent = (together, apart) if self._qkv_same_embed_dim else (apart, together)
        make_parameters(self, device, dtype, **used, **dict.fromkeys(absent))
        make_parameters(self, device, dtype, in_proj_bias=3 * embed_dim if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        extra: dict[str, Any] = {"bias_k": (1, 1, embed_dim), "bias_v": (1, 1, embed_dim)}
        if add_bias_kv:
            make_parameters(self, device, dtype, **extra)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            for bias in (self.in_proj_bias, self.out_proj.bias):
                init.constant_(bias, 0.0)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({"_qkv_same_embed_dim": True, **state})

    def forward(self, query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None = None,
                need_weights: bool = True, attn_mask: Tensor | None = None, average_attn_weights: bool = True,
                is_causal: bool = False) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """The attention output and, if `need_weights`, the weights: averaged over the heads or one for each.

        `key_padding_mask` (N, S) excludes keys, `attn_mask` (L, S) or (N heads, L, S) pairs of query and key: a boolean mask excludes where
        it is True, a float mask is added. `is_causal` is a hint that `attn_mask` is causal.
        """
        key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", query.dtype, attn_mask, "attn_mask")
        attn_mask = canonical_mask(attn_mask, "attn_mask", query.dtype, None, "")
        transposed = self.batch_first and query.dim() == 3
        if transposed:
            query, key, value = _swap_first_two(query, key, value)
        options: dict[str, Any] = {
            "training": self.training,
            "key_padding_mask": key_padding_mask,
            "need_weights": need_weights,
            "attn_mask": attn_mask,
            "average_attn_weights": average_attn_weights,
            "is_causal": is_causal,
        }
        if not self._qkv_same_embed_dim:
            options["use_separate_proj_weight"] = True
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                options[name] = getattr(self, name)
        into, out = (self.in_proj_weight, self.in_proj_bias), (self.out_proj.weight, self.out_proj.bias)
        extra = (self.bias_k, self.bias_v, self.add_zero_attn)
        given: list[Any] = [query, key, value, self.embed_dim, self.num_heads, *into, *extra, self.dropout, *out]
        output, weights = F.multi_head_attention_forward(*given, **options)
        return (output.transpose(1, 0) if transposed else output), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Both masks combined to (N, heads, L, L), with type 2; a padding mask alone is returned unchanged, with type 1."""
        if attn_mask is None:
            return (None, None) if key_padding_mask is None else (key_padding_mask, 1)
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, 2


def _swap_first_two(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(N, L, E) to (L, N, E); tensors that are the same object remain so, which the projection exploits."""
    new_query = query.transpose(1, 0)
    new_key = new_query if key is query else key.transpose(1, 0)
    if value is key:
        return new_query, new_key, new_key
    return new_query, new_key, value.transpose(1, 0)


# ----- Masks -----------------------------------------------------------------------------------------------------------


def canonical_mask(mask: Tensor | None, name: str, target_type: Any, other: Tensor | None, other_name: str) -> Any:
    """A boolean mask (True: do not attend) as an additive one, -inf where it was True; a float mask unchanged.

    `other` is the mask that will be used together with this one; two different types are deprecated.
    """
    return F._canonical_mask(mask, name, F._none_or_dtype(other), other_name, target_type)


def square_subsequent_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    """The causal mask: -inf above the diagonal, 0 elsewhere."""
    return penlight.triu(penlight.full((size, size), float("-inf"), dtype=dtype, device=device), diagonal=1)


def detect_is_causal_mask(mask: Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:
    """The value of `is_causal` or, if that is None, whether the mask is the causal one of this size."""
    if is_causal is not None or mask is None:
        return is_causal is True
    causal = square_subsequent_mask(mask.size(-2) if size is None else size, mask.device, mask.dtype)
    return mask.size() == causal.size() and bool((mask == causal).all())
