"""torch.backends.mps, Apple's GPU: not here."""

from __future__ import annotations


def is_available() -> bool:
    """False: Penlight runs on the CPU."""
    return False


def is_built() -> bool:
    """False: Penlight runs on the CPU."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Refused, as PyTorch does without the backend."""
    raise RuntimeError("Cannot execute isOnMacOSorNewer() without MPS backend.")


def is_macos13_or_newer(minor: int = 0) -> bool:
    """Refused, as PyTorch does without the backend."""
    return is_macos_or_newer(13, minor)
