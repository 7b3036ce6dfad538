"""Cutting batches up for several devices and joining the results."""

from .data_parallel import gather, scatter, scatter_kwargs

__all__ = ["gather", "scatter", "scatter_kwargs"]
