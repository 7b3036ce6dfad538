"""torch.mps, Apple's GPU: not here.

>>> import penlight as torch
>>> torch.mps.is_available(), torch.mps.device_count()
(False, 0)
"""

from __future__ import annotations

from typing import Any

from penlight._refused import missing


def is_available() -> bool:
    """False: Penlight runs on the CPU."""
    return False


def device_count() -> int:
    """0: Penlight runs on the CPU."""
    return 0


def manual_seed(seed: int) -> None:
    """Accepted and without effect."""
    int(seed)


# What PyTorch says without the backend: each function names its inner one.
_INNER = {
    "compile_shader": "compileShader",
    "current_allocated_memory": "getCurrentAllocatedMemory",
    "driver_allocated_memory": "getDriverAllocatedMemory",
    "empty_cache": "emptyCache",
    "get_rng_state": "getDefaultGenerator",
    "load_metallib": "loadMetallib",
    "recommended_max_memory": "getRecommendedMaxMemory",
    "seed": "getDefaultGenerator",
    "set_per_process_memory_fraction": "setMemoryFraction",
    "set_rng_state": "getDefaultGenerator",
    "synchronize": "deviceSynchronize",
    "Event": "acquireEvent",
}


def __getattr__(name: str) -> Any:
    inner = _INNER.get(name)
    if inner is None:
        raise missing(__name__, name)

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"Cannot execute {inner}() without MPS backend. Penlight runs on the CPU: ask "
            "torch.backends.mps.is_available() first (it is False here)"
        )

    refuse.__name__ = refuse.__qualname__ = name
    return refuse
