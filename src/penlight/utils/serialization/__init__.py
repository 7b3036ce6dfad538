"""Settings of saving and loading."""

from __future__ import annotations

from penlight.utils.serialization import config

__all__ = ["config"]
