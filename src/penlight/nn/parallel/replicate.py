"""Copies of a module on several devices, which are not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["replicate"]


def replicate(network: Any, devices: Sequence[Any], detach: bool = False) -> list[Any]:
    """Raises, as PyTorch does where there are no GPUs; no devices are no copies."""
    if not devices:
        return []
    raise AssertionError(
        "Broadcast function not implemented for CPU tensors. There is no GPU here: use copy.deepcopy(module)."
    )
