"""torch.cuda's streams and events, which need a GPU."""

from __future__ import annotations

from typing import Any

_HINT = (
    "Penlight runs on the CPU, one operation after the other: ask torch.cuda.is_available() first (it is False here)"
)


class Stream:
    """A queue of work on a GPU; making one is refused."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(f"torch.cuda.{cls.__name__} requires CUDA support. {_HINT}")


class ExternalStream(Stream):
    """A queue of work that another library made; refused."""


class Event:
    """A mark in a stream; making one is refused. `time.perf_counter()` measures time here."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            f"Tried to instantiate dummy base class Event. {_HINT}, and measure time with time.perf_counter()"
        )


class StreamContext:
    """`with torch.cuda.stream(None)`: without effect."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, type: Any, value: Any, traceback: Any) -> None:
        return None


def stream(stream: Any) -> StreamContext:
    """Without effect: there is no stream to select."""
    return StreamContext(stream)
