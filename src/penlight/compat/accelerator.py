"""torch.accelerator on a machine without one.

>>> import penlight as torch
>>> torch.accelerator.is_available(), torch.accelerator.current_accelerator()
(False, None)
"""

from __future__ import annotations

from typing import Any

from penlight._common.arguments import explain as _explain
from penlight._common.user_warnings import warn_user
from penlight._refused import missing

_HINT = "Penlight runs on the CPU: check torch.accelerator.is_available() first (it is False here)"


def is_available() -> bool:
    """False: there is only the CPU.

    >>> torch.accelerator.is_available()
    False
    """
    return False


def device_count() -> int:
    """0: there is only the CPU.

    >>> torch.accelerator.device_count()
    0
    """
    return 0


def current_accelerator(check_available: bool = False) -> Any:
    """None: there is only the CPU. `torch.accelerator.current_accelerator() or torch.device("cpu")` is a device.

    Args:
        check_available: accepted and ignored

    Returns:
        None

    >>> torch.accelerator.current_accelerator() or torch.device("cpu")
    device(type='cpu')
    """
    return None


def _refuse(*args: Any, **kwargs: Any) -> Any:
    """Refused: there is only the CPU.

    >>> torch.accelerator.synchronize()
    Traceback (most recent call last):
        ...
    RuntimeError: Cannot access accelerator device when none is available...
    """
    raise RuntimeError(f"Cannot access accelerator device when none is available. {_HINT}")


current_device_index = current_stream = empty_cache = empty_host_cache = get_device_capability = get_memory_info = (
    _refuse
)
max_memory_allocated = max_memory_reserved = memory_allocated = memory_reserved = memory_stats = _refuse
reset_accumulated_memory_stats = reset_peak_memory_stats = set_device_index = set_stream = synchronize = _refuse


def current_device_idx() -> int:
    """Deprecated: `current_device_index`.

    >>> torch.accelerator.current_device_idx()
    Traceback (most recent call last):
        ...
    RuntimeError: Cannot access accelerator device when none is available...
    """
    warn_user("Use `current_device_index` instead.", FutureWarning)
    return _refuse()


def set_device_idx(device: Any, /) -> None:
    """Deprecated: `set_device_index`.

    >>> torch.accelerator.set_device_idx(0)
    Traceback (most recent call last):
        ...
    RuntimeError: Cannot access accelerator device when none is available...
    """
    warn_user("Use `set_device_index` instead.", FutureWarning)
    _refuse()


class device_index:
    """A context that selects an accelerator; only None, which changes nothing, can be entered.

    >>> with torch.accelerator.device_index(None): pass
    """

    def __init__(self, device: int | None, /) -> None:
        self.idx = device

    def __enter__(self) -> None:
        if self.idx is not None:
            _refuse()

    def __exit__(self, *exc: object) -> None:
        pass


class Graph:
    """Recorded work of an accelerator; constructing one raises.

    >>> torch.accelerator.Graph()
    Traceback (most recent call last):
        ...
    RuntimeError: Cannot access accelerator device when none is available...
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        _refuse()


def __getattr__(name: str) -> Any:
    raise missing(__name__, name)


_explain(globals())
