"""torch.cuda.nvtx: marks for NVIDIA's profilers, which PyTorch refuses without CUDA."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(
        "NVTX functions not installed. Are you sure you have a CUDA build? "
        "Use torch.profiler.record_function to name a part of the program"
    )


range_push = range_pop = range_start = range_end = mark = _refuse


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Refused when it is entered."""
    _refuse()
    yield
