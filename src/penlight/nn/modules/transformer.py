"""The Transformer: encoder, decoder, and the two together."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import penlight
from penlight import Tensor
from penlight._common.module_table import names_of
from penlight._common.user_warnings import warn_user
from penlight.nn import functional as F, init

from .activation import GELU, Dropout, MultiheadAttention, ReLU
from .container import ModuleList
from .linear import Linear
from .module import Module
from .multihead_attention import (
    canonical_mask,
    detect_is_causal_mask as _detect_is_causal_mask,
    square_subsequent_mask as _generate_square_subsequent_mask,
)
from .normalization import LayerNorm

__all__ = names_of(__name__)

Activation = str | Callable[[Tensor], Tensor]


def _get_clones(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


def _get_seq_len(src: Tensor, batch_first: bool) -> int:
    return src.size(1) if batch_first and src.dim() == 3 else src.size(0)


class _Layer(Module):
    """The common base of both layers: attention blocks and a feed-forward block.

    Each block has a dropout and a norm, numbered from 1.
    """

    def _build(self, attentions: tuple[str, ...], settings: dict[str, Any]) -> None:
        super().__init__()
        size, width, rate = settings["d_model"], settings["dim_feedforward"], settings["dropout"]
        factory = {name: settings[name] for name in ("bias", "device", "dtype")}
        heads = {"dropout": rate, "batch_first": settings["batch_first"], **factory}
        for name in attentions:
            setattr(self, name, MultiheadAttention(size, settings["nhead"], **heads))
        self.linear1 = Linear(size, width, **factory)
        self.dropout = Dropout(rate)
        self.linear2 = Linear(width, size, **factory)
        self.norm_first = settings["norm_first"]
        blocks = range(1, len(attentions) + 2)
        for i in blocks:
            setattr(self, f"norm{i}", LayerNorm(size, eps=settings["layer_norm_eps"], **factory))
        for i in blocks:
            setattr(self, f"dropout{i}", Dropout(rate))
        activation = settings["activation"]
        self.activation: Any = _get_activation_fn(activation) if isinstance(activation, str) else activation

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if not hasattr(self, "activation"):
            self.activation = F.relu

    def _run_blocks(self, x: Tensor, *blocks: Callable[[Tensor], Tensor]) -> Tensor:
        """The input after each block and its residual connection, normalised before the block or after the sum."""
        for block, norm in zip(blocks, (self.norm1, self.norm2, getattr(self, "norm3", None)), strict=False):
            x = x + block(norm(x)) if self.norm_first else norm(x + block(x))
        return x

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        masks: dict[str, Any] = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask}
        return self.dropout1(self.self_attn(x, x, x, need_weights=False, is_causal=is_causal, **masks)[0])

    def _feed_forward(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each with dropout, a residual connection and a layer norm.

    `norm_first` normalises before the two blocks instead of after the sums.

    >>> layer = torch.nn.TransformerEncoderLayer(d_model=16, nhead=4, dim_feedforward=32, batch_first=True)
    >>> layer(torch.rand(2, 5, 16)).shape
    torch.Size([2, 5, 16])
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: Activation = F.relu, layer_norm_eps: float = 1e-05, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        self._build(("self_attn",), locals())
        # 1 and 2 mark the activations for which the encoder may skip padding in evaluation mode.
        fn = self.activation
        is_relu, is_gelu = fn is F.relu or isinstance(fn, ReLU), fn is F.gelu or isinstance(fn, GELU)
        self.activation_relu_or_gelu = 1 if is_relu else 2 if is_gelu else 0

    def forward(self, src: Tensor, src_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool = False) -> Tensor:  # fmt: skip
        """The input after both blocks."""
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype, src_mask, "src_mask")
        mask = canonical_mask(src_mask, "src_mask", src.dtype, None, "")
        return self._run_blocks(src, lambda x: self._sa_block(x, mask, padding, is_causal=is_causal), self._ff_block)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self._feed_forward(x))


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer, with an optional final norm.

    In evaluation mode without gradients, with `batch_first` layers and a padding mask of left-aligned sequences, padded positions of the
    output are zero (before the final norm), as in PyTorch, which skips them.

    >>> layer = torch.nn.TransformerEncoderLayer(d_model=16, nhead=4, dim_feedforward=32, batch_first=True)
    >>> torch.nn.TransformerEncoder(layer, num_layers=2)(torch.rand(2, 5, 16)).shape
    torch.Size([2, 5, 16])
    """

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None,
                 enable_nested_tensor: bool = True, mask_check: bool = True) -> None:  # fmt: skip
        super().__init__()
        self.layers, self.num_layers, self.norm = _get_clones(encoder_layer, num_layers), num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check
        obstacle = _why_padding_stays(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and obstacle is None
        if enable_nested_tensor and obstacle is not None:
            warn_user(f"enable_nested_tensor is True, but self.use_nested_tensor is False because {obstacle}")

    def forward(self, src: Tensor, mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                is_causal: bool | None = None) -> Tensor:  # fmt: skip
        """The input after all layers; `is_causal=None` detects whether the mask is causal."""
        padding = canonical_mask(src_key_padding_mask, "src_key_padding_mask", src.dtype, mask, "mask")
        mask = canonical_mask(mask, "mask", src.dtype, None, "")
        first = self.layers[0]
        causal = _detect_is_causal_mask(mask, is_causal, _get_seq_len(src, first.self_attn.batch_first))
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        if padding is not None and mask is None and self._drops_padding(src, padding):
            output = output.masked_fill((padding != 0).unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _drops_padding(self, src: Tensor, padding: Tensor) -> bool:
        """Whether PyTorch would take the path that skips padded positions."""
        first = self.layers[0]
        if not getattr(self, "use_nested_tensor", False) or first.training or src.dim() != 3:
            return False
        if penlight.is_grad_enabled() and (src.requires_grad or any(p.requires_grad for p in first.parameters())):
            return False
        padded = padding != 0
        return not self.mask_check or not bool((padded[:, :-1] & ~padded[:, 1:]).any())


def _why_padding_stays(layer: Any) -> str | None:
    """The reason, in PyTorch's words, why an encoder layer keeps it from skipping padded positions."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    conditions = (
        (layer.norm_first, "norm_first was True"),
        (
            not attention.batch_first,
            "self_attn.batch_first was not True(use batch_first for better inference performance)",
        ),
        (not attention._qkv_same_embed_dim, "self_attn._qkv_same_embed_dim was not True"),
        (attention.in_proj_bias is None, "self_attn was passed bias=False"),
        (not layer.activation_relu_or_gelu, "activation_relu_or_gelu was not True"),
        (layer.norm1.eps != layer.norm2.eps, "norm1.eps was not equal to encoder_layer.norm2.eps"),
        (attention.num_heads % 2 == 1, "self_attn.num_heads is odd"),
    )
    return next((f"encoder_layer.{what}" for holds, what in conditions if holds), None)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, and a feed-forward network.

    >>> layer = torch.nn.TransformerDecoderLayer(d_model=16, nhead=4, dim_feedforward=32, batch_first=True)
    >>> layer(torch.rand(2, 3, 16), torch.rand(2, 5, 16)).shape
    torch.Size([2, 3, 16])
    """

    def __init__(self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1,
                 activation: Activation = F.relu, layer_norm_eps: float = 1e-05, batch_first: bool = False,
                 norm_first: bool = False, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        self._build(("self_attn", "multihead_attn"), locals())

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool = False, memory_is_causal: bool = False) -> Tensor:  # fmt: skip
        """The target after all three blocks; `memory` is the encoder's output."""
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        attend = (lambda x: self._sa_block(x, *own), lambda x: self._mha_block(x, *other))
        return self._run_blocks(tgt, *attend, self._ff_block)

    def _mha_block(self, x: Tensor, mem: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None,
                   is_causal: bool = False) -> Tensor:  # fmt: skip
        masks: dict[str, Any] = {"attn_mask": attn_mask, "key_padding_mask": key_padding_mask}
        return self.dropout2(self.multihead_attn(x, mem, mem, need_weights=False, is_causal=is_causal, **masks)[0])

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self._feed_forward(x))


class TransformerDecoder(Module):
    """A stack of copies of a decoder layer, with an optional final norm.

    >>> layer = torch.nn.TransformerDecoderLayer(d_model=16, nhead=4, dim_feedforward=32)
    >>> torch.nn.TransformerDecoder(layer, num_layers=2)(torch.rand(3, 2, 16), torch.rand(5, 2, 16)).shape
    torch.Size([3, 2, 16])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers, self.num_layers, self.norm = _get_clones(decoder_layer, num_layers), num_layers, norm

    def forward(self, tgt: Tensor, memory: Tensor, tgt_mask: Tensor | None = None, memory_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                tgt_is_causal: bool | None = None, memory_is_causal: bool = False) -> Tensor:  # fmt: skip
        """The target after all layers; `tgt_is_causal=None` detects whether its mask is causal."""
        length = _get_seq_len(tgt, self.layers[0].self_attn.batch_first)
        causal = _detect_is_causal_mask(tgt_mask, tgt_is_causal, length)
        masks = {
            "tgt_mask": tgt_mask,
            "memory_mask": memory_mask,
            "tgt_key_padding_mask": tgt_key_padding_mask,
            "memory_key_padding_mask": memory_key_padding_mask,
        }
        output = tgt
        for layer in self.layers:
            output = layer(output, memory, tgt_is_causal=causal, memory_is_causal=memory_is_causal, **masks)
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """The Transformer of "Attention Is All You Need": an encoder and a decoder, without embeddings.

    >>> model = torch.nn.Transformer(16, 4, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=32)
    >>> model(torch.rand(10, 2, 16), torch.rand(7, 2, 16)).shape
    torch.Size([7, 2, 16])
    """

    def __init__(self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
                 dim_feedforward: int = 2048, dropout: float = 0.1, activation: Activation = F.relu,
                 custom_encoder: Any = None, custom_decoder: Any = None, layer_norm_eps: float = 1e-05,
                 batch_first: bool = False, norm_first: bool = False, bias: bool = True, device: Any = None,
                 dtype: Any = None) -> None:  # fmt: skip
        super().__init__()
        factory: dict[str, Any] = {"device": device, "dtype": dtype}
        settings = (dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        for name, given, layer_kind, stack_kind, num_layers in (
            ("encoder", custom_encoder, TransformerEncoderLayer, TransformerEncoder, num_encoder_layers),
            ("decoder", custom_decoder, TransformerDecoderLayer, TransformerDecoder, num_decoder_layers),
        ):
            if given is None:
                layer: Any = layer_kind(d_model, nhead, *settings, **factory)
                norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **factory)
                given = stack_kind(layer, num_layers, norm)
            setattr(self, name, given)
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None,
                memory_mask: Tensor | None = None, src_key_padding_mask: Tensor | None = None,
                tgt_key_padding_mask: Tensor | None = None, memory_key_padding_mask: Tensor | None = None,
                src_is_causal: bool | None = None, tgt_is_causal: bool | None = None,
                memory_is_causal: bool = False) -> Tensor:  # fmt: skip
        """The decoder's output for the target, given the source."""
        batch_dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch_dim) != tgt.size(batch_dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        masks = {
            "tgt_mask": tgt_mask,
            "memory_mask": memory_mask,
            "tgt_key_padding_mask": tgt_key_padding_mask,
            "memory_key_padding_mask": memory_key_padding_mask,
        }
        return self.decoder(tgt, memory, tgt_is_causal=tgt_is_causal, memory_is_causal=memory_is_causal, **masks)

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """The causal mask: -inf above the diagonal, 0 elsewhere.

        >>> torch.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _generate_square_subsequent_mask(sz, device=device, dtype=dtype)

    def _reset_parameters(self) -> None:
        for param in self.parameters():
            if param.dim() > 1:
                init.xavier_uniform_(param)
