"""torch.cuda's memory: none is used, and none can be."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from penlight._common.user_warnings import warn_user
from penlight._refused import refused_function

__all__ = [
    "caching_allocator_enable",
    "empty_cache",
    "host_memory_stats",
    "list_gpu_processes",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
]

_WHY = "Torch not compiled with CUDA enabled. Penlight runs on the CPU: ask torch.cuda.is_available() first (it is False here)"


def empty_cache() -> None:
    """Nothing to give back."""


def caching_allocator_enable(value: bool = True) -> None:
    """Accepted and without effect."""


def memory_allocated(device: Any = None) -> int:
    """0 bytes."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """0 bytes."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """0 bytes."""
    return 0


def max_memory_reserved(device: Any = None) -> int:
    """0 bytes."""
    return 0


def memory_cached(device: Any = None) -> int:
    """The old name of `memory_reserved`."""
    warn_user(
        "`torch.cuda.memory_cached` has been renamed to `torch.cuda.memory_reserved`",
        FutureWarning,
    )
    return 0


def max_memory_cached(device: Any = None) -> int:
    """The old name of `max_memory_reserved`."""
    warn_user(
        "`torch.cuda.max_memory_cached` has been renamed to `torch.cuda.max_memory_reserved`",
        FutureWarning,
    )
    return 0


def memory_stats(device: Any = None) -> OrderedDict[str, Any]:
    """What the allocator of a GPU counts: nothing."""
    return OrderedDict()


def memory_stats_as_nested_dict(device: Any = None) -> dict[str, Any]:
    """What the allocator of a GPU counts: nothing."""
    return {}


def host_memory_stats() -> OrderedDict[str, Any]:
    """What the allocator of pinned memory counts: nothing."""
    return OrderedDict()


def list_gpu_processes(device: Any = None) -> str:
    """The processes that use a GPU, as text: there is none to ask."""
    return "pynvml module not found, please install nvidia-ml-py"


def _refused(name: str) -> Any:
    return refused_function(f"cuda.{name}", _WHY, AssertionError)


mem_get_info = _refused("mem_get_info")
memory_snapshot = _snapshot = _refused("memory_snapshot")
memory_summary = _refused("memory_summary")
reset_accumulated_memory_stats = _refused("reset_accumulated_memory_stats")
reset_max_memory_allocated = _refused("reset_max_memory_allocated")
reset_max_memory_cached = _refused("reset_max_memory_cached")
reset_peak_memory_stats = _refused("reset_peak_memory_stats")
set_per_process_memory_fraction = _refused("set_per_process_memory_fraction")
_record_memory_history = _refused("memory._record_memory_history")
_dump_snapshot = _refused("memory._dump_snapshot")
