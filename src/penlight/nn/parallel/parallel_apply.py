"""Applying modules on several devices, which are not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["parallel_apply"]


def parallel_apply(modules: Sequence[Any], inputs: Sequence[Any], kwargs_tup: Sequence[dict[str, Any]] | None = None,
                   devices: Sequence[Any] | None = None) -> list[Any]:  # fmt: skip
    """Raises, as PyTorch does where there are no GPUs."""
    for name, given in (("inputs", inputs), ("kwargs_tup", kwargs_tup), ("devices", devices)):
        if given is not None and len(modules) != len(given):
            raise AssertionError(
                f"The number of modules {len(modules)} is not equal to the number of {name} {len(given)}"
            )
    raise RuntimeError(
        "Cannot access accelerator device when none is available. There is no GPU here: call each module itself."
    )
