"""torch.backends.openmp: OpenMP is not used here."""

from __future__ import annotations


def is_available() -> bool:
    """False: NumPy has threads of its own."""
    return False
