"""Flexible attention, which is refused: it is a compiler's feature. The names exist so that programs can import them."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ["BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention", "noop_mask", "or_masks"]


_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest:
    """Not available; see `flex_attention`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("AuxRequest")


def _refuse(name: str) -> NoReturn:
    raise NotImplementedError(
        f"torch.nn.attention.flex_attention.{name} is not part of Penlight. "
        "Use torch.nn.functional.scaled_dot_product_attention with an attn_mask: a boolean one for a mask_mod, "
        "a float one for a score_mod that adds a bias."
    )


class BlockMask:
    """Not available; see `flex_attention`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("BlockMask")


def flex_attention(*args: Any, **kwargs: Any) -> Any:
    """Not available: `scaled_dot_product_attention` with an `attn_mask` does what can be said as a mask."""
    _refuse("flex_attention")


def create_block_mask(*args: Any, **kwargs: Any) -> Any:
    """Not available; see `flex_attention`."""
    _refuse("create_block_mask")


def create_mask(*args: Any, **kwargs: Any) -> Any:
    """Not available; see `flex_attention`."""
    _refuse("create_mask")


def and_masks(*args: Any) -> Any:
    """Not available; see `flex_attention`."""
    _refuse("and_masks")


def or_masks(*args: Any) -> Any:
    """Not available; see `flex_attention`."""
    _refuse("or_masks")


def noop_mask(*args: Any) -> Any:
    """Not available; see `flex_attention`."""
    _refuse("noop_mask")
