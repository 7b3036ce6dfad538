"""The autocast settings of a thread, and the functions at the top of torch that read and set them."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

from penlight import dtypes
from penlight._common.user_warnings import warn_user
from penlight.device import device as Device

from ..kernels.lazy import lazy_import

_casting = lazy_import(globals(), "_casting", "._casting")


# The default autocast dtypes by device type; float16 for others.
_DEFAULT = {"cpu": dtypes.bfloat16, "xla": dtypes.bfloat16, "hpu": dtypes.bfloat16, "mtia": dtypes.bfloat16}

# (enabled, dtype) by device type, for those that were set; whether casts of weights are cached; the number of open regions.
_NONE: dict[str, tuple[bool, Any]] = {}
settings: ContextVar[dict[str, tuple[bool, Any]]] = ContextVar("penlight_autocast", default=_NONE)
keeping: ContextVar[bool] = ContextVar("penlight_autocast_cache", default=True)
depth: ContextVar[int] = ContextVar("penlight_autocast_depth", default=0)

# Set while an intercepted function runs: functions that it calls do not cast again.
inside: ContextVar[bool] = ContextVar("penlight_autocast_inside", default=False)


def _kind(device_type: str) -> str:
    if not isinstance(device_type, str):
        raise TypeError(f"argument 'device_type' (position 1) must be str, not {type(device_type).__name__}")
    return Device(device_type).type


def _of(device_type: str) -> tuple[bool, Any]:
    kind = _kind(device_type)
    return settings.get().get(kind, (False, _DEFAULT.get(kind, dtypes.float16)))


def _change(device_type: str, enabled: bool, dtype: Any) -> None:
    kind = _kind(device_type)
    switched = kind == "cpu" and enabled != _of(device_type)[0]
    if switched and enabled:
        _casting.open_mode()
    settings.set({**settings.get(), kind: (enabled, dtype)})
    if switched and not enabled:
        _casting.close_mode()


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether ops on a device are cast to a shorter dtype in this thread.

    >>> torch.is_autocast_enabled("cpu")
    False
    """
    return _of(device_type)[0]


def set_autocast_enabled(*args: Any) -> None:
    """`set_autocast_enabled(device_type, enabled)`; without the device type, for a GPU.

    >>> torch.set_autocast_enabled("cpu", True); torch.is_autocast_enabled("cpu")
    True
    >>> torch.set_autocast_enabled("cpu", False)
    """
    device_type, enabled = ("cuda", *args) if len(args) == 1 else args
    if not isinstance(enabled, bool):
        raise TypeError(f"enabled must be a bool (got {type(enabled).__name__})")
    _change(device_type, enabled, _of(device_type)[1])


def get_autocast_dtype(device_type: str) -> Any:
    """The dtype that ops on a device are cast to under autocast.

    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return _of(device_type)[1]


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set the dtype that ops on a device are cast to under autocast.

    >>> torch.set_autocast_dtype("cpu", torch.float16); torch.get_autocast_dtype("cpu")
    torch.float16
    >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(f"dtype must be a torch.dtype (got {type(dtype).__name__})")
    _change(device_type, _of(device_type)[0], dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether autocast caches the casts of weights until its outermost region ends.

    >>> torch.is_autocast_cache_enabled()
    True
    """
    return keeping.get()


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether autocast caches the casts of weights until its outermost region ends.

    >>> torch.set_autocast_cache_enabled(False); torch.is_autocast_cache_enabled()
    False
    >>> torch.set_autocast_cache_enabled(True)
    """
    keeping.set(enabled)


def clear_autocast_cache() -> None:
    """Discard the cached casts of weights.

    >>> torch.clear_autocast_cache()
    """
    _casting.cached.clear()


def autocast_increment_nesting() -> int:
    """Count one more open autocast region, and return the number of open regions.

    >>> torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()
    (1, 0)
    """
    depth.set(depth.get() + 1)
    return depth.get()


def autocast_decrement_nesting() -> int:
    """Count one open autocast region less, and return the number of open regions.

    >>> torch.autocast_increment_nesting(), torch.autocast_decrement_nesting()
    (1, 0)
    """
    depth.set(depth.get() - 1)
    return depth.get()


def _deprecated(old: str, new: str) -> None:
    warn_user(f"torch.{old} is deprecated. Please use torch.{new} instead.", DeprecationWarning)


def is_autocast_cpu_enabled() -> bool:
    """Deprecated: `is_autocast_enabled("cpu")`.

    >>> torch.is_autocast_cpu_enabled()
    False
    """
    _deprecated("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Deprecated: `set_autocast_enabled("cpu", enabled)`.

    >>> torch.set_autocast_cpu_enabled(False)
    """
    _deprecated("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype() -> Any:
    """Deprecated: `get_autocast_dtype("cpu")`.

    >>> torch.get_autocast_cpu_dtype()
    torch.bfloat16
    """
    _deprecated("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype: Any) -> None:
    """Deprecated: `set_autocast_dtype("cpu", dtype)`.

    >>> torch.set_autocast_cpu_dtype(torch.bfloat16)
    """
    _deprecated("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype() -> Any:
    """Deprecated: `get_autocast_dtype("cuda")`.

    >>> torch.get_autocast_gpu_dtype()
    torch.float16
    """
    _deprecated("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def set_autocast_gpu_dtype(dtype: Any) -> None:
    """Deprecated: `set_autocast_dtype("cuda", dtype)`.

    >>> torch.set_autocast_gpu_dtype(torch.float16)
    """
    _deprecated("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)
