"""torch.utils._triton: whether there is a compiler for GPU kernels. There is none."""

from __future__ import annotations


def has_triton() -> bool:
    """False."""
    return False


def has_triton_package() -> bool:
    """False."""
    return False
