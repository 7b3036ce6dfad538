"""Causal masks for queries and keys of different lengths."""

from __future__ import annotations

from enum import IntEnum, auto
from typing import Any
from warnings import warn

import penlight
from penlight import Tensor
from penlight.tensor import DISABLED

__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]


class CausalVariant(IntEnum):
    """How the diagonal of a non-square causal mask is aligned.

    >>> torch.nn.attention.bias.CausalVariant.LOWER_RIGHT.value
    2
    """

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """A boolean mask, True where a query may attend, for `scaled_dot_product_attention`.

    Args:
        variant: how the diagonal is aligned, a `CausalVariant`.
        seq_len_q: the number of queries.
        seq_len_kv: the number of keys.

    >>> from penlight.nn.attention.bias import CausalBias, CausalVariant
    >>> CausalBias(CausalVariant.LOWER_RIGHT, 1, 2)
    tensor([[True, True]])
    """

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    __torch_function__ = staticmethod(DISABLED)

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> Any:
        if not isinstance(variant, CausalVariant):
            raise AssertionError(f"variant must be a CausalVariant, got {type(variant).__name__}")
        if seq_len_q > seq_len_kv and variant == CausalVariant.LOWER_RIGHT:
            warn("Lower right causal bias will produce NaNs in the output when seq_len_q > seq_len_kv!", stacklevel=2)
        offset = seq_len_kv - seq_len_q if variant == CausalVariant.LOWER_RIGHT else 0
        mask = penlight.ones(seq_len_q, seq_len_kv, dtype=penlight.bool).tril(diagonal=offset)
        bias = Tensor._make_subclass(cls, mask)
        bias.variant = variant
        bias.seq_len_q = seq_len_q
        bias.seq_len_kv = seq_len_kv
        return bias

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        pass

    def __repr__(self, **kwargs: Any) -> str:  # type: ignore[override]
        return repr(self.as_subclass(Tensor))


def causal_upper_left(*size: int) -> CausalBias:
    """The causal mask whose diagonal starts at the upper left corner.

    Args:
        size: the numbers of queries and of keys.

    Returns:
        a `CausalBias`.

    >>> from penlight.nn.attention.bias import causal_upper_left
    >>> causal_upper_left(2, 3)
    tensor([[ True, False, False],
            [ True,  True, False]])
    """
    if len(size) != 2:
        raise AssertionError("causal_upper_left only supports 2D tensors")
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size: int) -> CausalBias:
    """The causal mask whose diagonal ends at the lower right corner.

    Args:
        size: the numbers of queries and of keys.

    Returns:
        a `CausalBias`.

    >>> from penlight.nn.attention.bias import causal_lower_right
    >>> causal_lower_right(2, 3)
    tensor([[ True,  True, False],
            [ True,  True,  True]])
    """
    if len(size) != 2:
        raise AssertionError("causal_lower_right only supports 2D tensors")
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)
