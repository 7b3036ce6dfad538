"""Forward mode: what the core asks it. The dual levels themselves are in the making."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..tensor import Tensor


def detach(tensor: Tensor) -> Tensor:
    """`Tensor.detach` while a slow mode is open."""
    from ..tensor import views_of, wrap

    out = wrap(tensor._array)
    out._vc = views_of(tensor)
    if tensor.is_inference():
        out.__dict__["_inference"] = True
    return out


def forbid_item(tensor: Tensor) -> None:
    """Refuse to turn a batched tensor into one number."""
