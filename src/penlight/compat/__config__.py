"""torch.__config__: the build configuration."""

from __future__ import annotations

import platform

import numpy as np

from penlight.settings import get_num_interop_threads, get_num_threads

__all__ = ["parallel_info", "show"]


def show() -> str:
    """A text about the versions and libraries in use."""
    from penlight._cli.doctor import blas_of

    return (
        "PyTorch built with:\n"
        f"  - Python {platform.python_version()}\n"
        f"  - NumPy {np.__version__}\n"
        f"  - BLAS: {blas_of(np)}\n"
        "  - CPU only: no CUDA, no oneDNN, no OpenMP of its own (this is Penlight)\n"
    )


def parallel_info() -> str:
    """A text about the number of threads."""
    return (
        "Penlight/Parallel:\n"
        f"\tget_num_threads() : {get_num_threads()}\n"
        f"\tget_num_interop_threads() : {get_num_interop_threads()}\n"
    )


def _cxx_flags() -> str:
    return ""
