"""torch.backends.nnpack: not used here."""

from __future__ import annotations

from typing import Any

from ._switches import changed

enabled = False


def is_available() -> bool:
    """False: NumPy computes."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Accepted; returns what it was."""
    global enabled
    before, enabled = enabled, _enabled
    return (before,)


def flags(enabled: bool = False) -> Any:
    """A region in which the switch has another value."""
    return changed(globals(), enabled=enabled)
