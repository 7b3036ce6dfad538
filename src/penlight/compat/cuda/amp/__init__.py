"""torch.cuda.amp: the old names of `torch.amp` for a GPU. They warn, and do nothing where there is none."""

from __future__ import annotations

from typing import Any

from penlight._refused import missing

from .autocast_mode import autocast as autocast, custom_bwd as custom_bwd, custom_fwd as custom_fwd
from .grad_scaler import GradScaler as GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def __getattr__(name: str) -> Any:
    raise missing(__name__, name)
