"""Holding back Ctrl-C while a process starts or ends: Python would print a traceback of that."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def let_interrupts(come: bool) -> Any:
    """Let Ctrl-C interrupt this thread, or hold it back. Gives the signals that were held back; None where none can be, as on Windows."""
    if not hasattr(signal, "pthread_sigmask"):
        return None
    return signal.pthread_sigmask(signal.SIG_UNBLOCK if come else signal.SIG_BLOCK, {signal.SIGINT})


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Ctrl-C is held back in this thread, and in a process that is started here until it calls `let_interrupts(True)`."""
    before = let_interrupts(False)
    try:
        yield
    finally:
        if before is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
