"""torch.cuda.amp.common: whether mixed precision on a GPU can work."""

from __future__ import annotations

__all__ = ["amp_definitely_not_available"]


def amp_definitely_not_available() -> bool:
    """True: there is no GPU."""
    return True
