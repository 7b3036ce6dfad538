"""Masks for attention: one form for all, and the test for the causal one."""

from __future__ import annotations

from typing import Any

import penlight
from penlight import Tensor
from penlight.nn import functional as F


def canonical_mask(mask: Tensor | None, name: str, target_type: Any, other: Tensor | None, other_name: str) -> Any:
    """A boolean mask (True: do not attend) as one to be added, -inf where it was True; a float mask as it is.

    `other` is the mask that will be used together with this one; two different types are deprecated.
    """
    return F._canonical_mask(mask, name, F._none_or_dtype(other), other_name, target_type)


def square_subsequent_mask(size: int, device: Any = None, dtype: Any = None) -> Tensor:
    """The causal mask: -inf above the diagonal, 0 elsewhere."""
    return penlight.triu(penlight.full((size, size), float("-inf"), dtype=dtype, device=device), diagonal=1)


def detect_is_causal_mask(mask: Tensor | None, is_causal: bool | None = None, size: int | None = None) -> bool:
    """What `is_causal` says or, when it is None, whether the mask is the causal one of this size."""
    if is_causal is not None or mask is None:
        return is_causal is True
    causal = square_subsequent_mask(mask.size(-2) if size is None else size, mask.device, mask.dtype)
    return mask.size() == causal.size() and bool((mask == causal).all())
