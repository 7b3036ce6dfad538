"""torch.backends.kleidiai: KleidiAI is not used here."""

from __future__ import annotations


def is_available() -> bool:
    """False: NumPy computes."""
    return False
