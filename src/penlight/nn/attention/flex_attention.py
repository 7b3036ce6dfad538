"""Flexible attention, which is refused: it is a compiler's feature. The names exist so that programs can import them."""

from __future__ import annotations

from typing import Any

from penlight._refused import refused_class, refused_function

__all__ = ["BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask", "or_masks"]

_DEFAULT_SPARSE_BLOCK_SIZE = 128
_WHY = (
    "it is a compiler's feature. Use torch.nn.functional.scaled_dot_product_attention with an attn_mask: a boolean one "
    "for a mask_mod, a float one for a score_mod that adds a bias."
)


def _refused(make: Any, *names: str) -> Any:
    return (make(f"nn.attention.flex_attention.{name}", _WHY) for name in names)


AuxRequest, BlockMask = _refused(refused_class, "AuxRequest", "BlockMask")
flex_attention, create_block_mask, create_mask = _refused(
    refused_function, "flex_attention", "create_block_mask", "create_mask"
)
and_masks, or_masks, noop_mask = _refused(refused_function, "and_masks", "or_masks", "noop_mask")
