"""torch.xpu, Intel's GPU: not here.

>>> import penlight as torch
>>> torch.xpu.is_available(), torch.xpu.device_count()
(False, 0)
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from penlight._refused import missing

default_generators: tuple[Any, ...] = ()


def is_available() -> bool:
    """False: Penlight runs on the CPU."""
    return False


def is_initialized() -> bool:
    """False: there is nothing to initialise."""
    return False


def device_count() -> int:
    """0: Penlight runs on the CPU."""
    return 0


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no such device."""
    return False


def manual_seed(seed: int) -> None:
    """Accepted and without effect."""
    int(seed)


def manual_seed_all(seed: int) -> None:
    """Accepted and without effect."""
    int(seed)


def seed() -> None:
    """Accepted and without effect."""


def seed_all() -> None:
    """Accepted and without effect."""


def empty_cache() -> None:
    """Nothing to give back."""


def get_rng_state_all() -> list[Any]:
    """The states of all devices' generators: none."""
    return []


def set_rng_state_all(new_states: Any) -> None:
    """Accepted and without effect."""


def memory_allocated(device: Any = None) -> int:
    """0 bytes."""
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """What the allocator counts: nothing."""
    return OrderedDict()


_REFUSED = [
    "current_device",
    "current_stream",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "init",
    "initial_seed",
    "mem_get_info",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device",
    "set_rng_state",
    "set_stream",
    "stream",
    "synchronize",
    "Event",
    "Stream",
    "device",
    "device_of",
]


def __getattr__(name: str) -> Any:
    if name not in _REFUSED:
        raise missing(__name__, name)

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(
            "Torch not compiled with XPU enabled. Penlight runs on the CPU: ask torch.xpu.is_available() first (it is False here)"
        )

    refuse.__name__ = refuse.__qualname__ = name
    return refuse
