"""Defers Ctrl-C while a process starts or ends, because Python would print a traceback."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def allow_interrupts(allowed: bool) -> Any:
    """Allow Ctrl-C to interrupt this thread, or defer it. Returns the deferred signals; None if signals cannot be deferred, as on Windows."""
    if not hasattr(signal, "pthread_sigmask"):
        return None
    return signal.pthread_sigmask(signal.SIG_UNBLOCK if allowed else signal.SIG_BLOCK, {signal.SIGINT})


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """A context that defers Ctrl-C in this thread, and in a process started in it until that calls `allow_interrupts(True)`."""
    before = allow_interrupts(False)
    try:
        yield
    finally:
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
