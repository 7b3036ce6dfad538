"""Defers Ctrl-C while a process starts or ends, because Python would print a traceback."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def let_interrupts(come: bool) -> Any:
    """Allow Ctrl-C to interrupt this thread, or defer it. Returns the deferred signals; None if signals cannot be deferred, as on Windows."""
    if not hasattr(signal, "pthread_sigmask"):
        return None
    return signal.pthread_sigmask(signal.SIG_UNBLOCK if come else signal.SIG_BLOCK, {signal.SIGINT})


@contextmanager
def interrupts_held() -> Iterator[None]:
    """A context that defers Ctrl-C in this thread, and in a process started here until that calls `let_interrupts(True)`."""
    before = let_interrupts(False)
    try:
        yield
    finally:
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
