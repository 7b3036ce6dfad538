"""torch._guards: questions that libraries ask while PyTorch compiles. Penlight does not, and has no fake tensors."""

from __future__ import annotations

from typing import Any


def active_fake_mode() -> None:
    """None: no fake tensors are in use."""


def detect_fake_mode(inputs: Any = None) -> None:
    """None: no fake tensors are in use."""
