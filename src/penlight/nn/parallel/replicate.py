"""Copies of a module on several devices."""

from .data_parallel import replicate

__all__ = ["replicate"]
