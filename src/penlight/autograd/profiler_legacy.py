"""torch.autograd.profiler_legacy: the profiler's module of old; the class is the one of today."""

from __future__ import annotations

from .profiler import profile

__all__ = ["profile"]
