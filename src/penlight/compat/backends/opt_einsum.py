"""torch.backends.opt_einsum: the order of products in `einsum` is found without that package."""

from __future__ import annotations

from typing import Any

from ._switches import changed

enabled = False
strategy: str | None = None


def is_available() -> bool:
    """False: the package is not used."""
    return False


def get_opt_einsum() -> None:
    """None: the package is not used."""
    return None


def flags(enabled: bool | None = None, strategy: str | None = None) -> Any:
    """A region in which the switches have other values."""
    return changed(globals(), enabled=enabled, strategy=strategy)
