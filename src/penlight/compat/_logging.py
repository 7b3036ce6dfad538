"""torch._logging: which parts of PyTorch's compiler report. Accepted; there is nothing to report."""

from __future__ import annotations

from typing import Any


def set_logs(**options: Any) -> None:
    """Without effect."""
