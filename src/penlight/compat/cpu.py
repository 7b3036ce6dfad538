"""torch.cpu: the CPU with the interface of the other devices' modules.

>>> import penlight as torch
>>> torch.cpu.is_available(), torch.cpu.device_count()
(True, 1)
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from penlight._common.arguments import explain as _explain
from penlight._common.docstrings import example
from penlight._refused import missing

__path__: list[str] = []  # `cpu.amp` is a row of the table


@example("torch.cpu.is_available()", "True")
def is_available() -> bool:
    """True."""
    return True


@example("torch.cpu.is_initialized()", "True")
def is_initialized() -> bool:
    """True."""
    return True


@example("torch.cpu.device_count()", "1")
def device_count() -> int:
    """1."""
    return 1


@example("torch.cpu.current_device()", "'cpu'")
def current_device() -> str:
    """The CPU.

    Returns:
        its name.
    """
    return "cpu"


@example('torch.cpu.set_device("cpu")')
def set_device(device: Any) -> None:
    """Without effect.

    Args:
        device: accepted and ignored.
    """


@example("torch.cpu.synchronize()")
def synchronize(device: Any = None) -> None:
    """Without effect: an operation is done when its function returns.

    Args:
        device: accepted and ignored.
    """


class Stream:
    """A stream without effect: operations run immediately. `priority` is accepted.

    >>> torch.Stream().wait_stream(torch.Stream())
    """

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        """Without effect."""

    def record_event(self) -> None:
        """Without effect."""

    def wait_event(self, event: Any) -> None:
        """Without effect."""


class Event:
    """An event, which is always complete.

    >>> torch.Event().query()
    True
    """

    def query(self) -> bool:
        """True."""
        return True

    def record(self, stream: Any = None) -> None:
        """Without effect."""

    def synchronize(self) -> None:
        """Without effect."""

    def wait(self, stream: Any = None) -> None:
        """Without effect."""


_stream = Stream()


@example("torch.cpu.current_stream() is torch.cpu.current_stream()", "True")
def current_stream(device: Any = None) -> Stream:
    """The one stream.

    Args:
        device: accepted and ignored.

    Returns:
        the `Stream`.
    """
    return _stream


@example("isinstance(torch.cpu.stream(torch.cpu.Stream()), torch.cpu.StreamContext)", "True")
class StreamContext:
    """`with torch.cpu.stream(stream)`: without effect."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        return None


@example("torch.cpu.stream(torch.cpu.Stream()).__enter__()")
def stream(stream: Any) -> StreamContext:
    """A context without effect: operations run immediately.

    Args:
        stream: a `Stream`.

    Returns:
        the context manager.
    """
    return StreamContext(stream)


_explain(globals())


def __getattr__(name: str) -> Any:
    if name == "amp":
        return import_module(f"{__name__}.amp")
    raise missing(__name__, name)
