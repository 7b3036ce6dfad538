"""torch.backends.cusparselt: cuSPARSELt is not used here."""

from __future__ import annotations


def is_available() -> bool:
    """False: it needs a GPU."""
    return False
