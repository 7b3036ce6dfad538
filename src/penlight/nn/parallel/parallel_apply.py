"""Applying modules on several devices."""

from .data_parallel import parallel_apply

__all__ = ["parallel_apply"]
