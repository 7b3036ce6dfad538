"""Sharing one kernel's work between threads.

NumPy releases the GIL inside copies, ufuncs and matrix products, so plain Python threads do run at the same time, each
on its own range of images. The products inside must then not be spread over the cores a second time by BLAS, which
is told to use one thread for as long as the work lasts. Where BLAS offers no such switch (anything but OpenBLAS), or
is already limited to one thread, everything runs in the calling thread.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

import numpy as np

# More threads than this gain little: the Python part of each range still runs one at a time.
_MAX_THREADS = 8

_blas: tuple[Callable[[], int], Callable[[int], Any]] | bool | None = None
_tasks: SimpleQueue[_Task] = SimpleQueue()
_helpers = 0
_lock = threading.Lock()


class _Task:
    """One range of the work, and how it ended."""

    __slots__ = ("body", "done", "error", "high", "low")

    def __init__(self, body: Callable[[int, int], None], low: int, high: int) -> None:
        self.body, self.low, self.high = body, low, high
        self.error: BaseException | None = None
        self.done = threading.Lock()
        self.done.acquire()

    def run(self) -> None:
        try:
            with np.errstate(all="ignore"):
                self.body(self.low, self.high)
        except BaseException as error:
            self.error = error
        finally:
            self.done.release()


def _helper(tasks: SimpleQueue[_Task]) -> None:
    while True:
        tasks.get().run()


def _forget_helpers() -> None:
    """A forked child has none of the parent's threads."""
    global _tasks, _helpers, _lock
    _tasks, _helpers, _lock = SimpleQueue(), 0, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_helpers)


def _start_helpers(count: int) -> None:
    global _helpers
    with _lock:
        while _helpers < count:
            threading.Thread(target=_helper, args=(_tasks,), name="penlight-kernel", daemon=True).start()
            _helpers += 1


def _find_blas() -> tuple[Callable[[], int], Callable[[int], Any]] | bool:
    """OpenBLAS's functions that read and set its number of threads, False where there are none."""
    import ctypes

    try:
        from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

        library = ctypes.CDLL(_multiarray_umath.__file__)
    except (ImportError, OSError, AttributeError):
        return False
    for prefix in ("scipy_", ""):
        for suffix in ("64_", "_64", "64", ""):
            try:
                get = getattr(library, f"{prefix}openblas_get_num_threads{suffix}")
                put = getattr(library, f"{prefix}openblas_set_num_threads{suffix}")
            except AttributeError:
                continue
            return get, put
    return False


def thread_count() -> int:
    """How many threads `parallel_for` may use now: as many as BLAS would.

    One while another `parallel_for` runs, so that nested or concurrent calls do not multiply the threads.
    """
    global _blas
    if _blas is None:
        _blas = _find_blas()
    return min(_blas[0](), _MAX_THREADS) if isinstance(_blas, tuple) else 1


def parallel_for(body: Callable[[int, int], None], total: int, grain: int = 1) -> None:
    """Call ``body(low, high)`` on ranges that together cover ``0 .. total``, each of at least `grain` items.

    The ranges run at the same time in several threads, with floating-point warnings off. The first error is raised
    after all of them have ended. `body` must not call `parallel_for` itself.
    """
    count = min(thread_count(), total // max(grain, 1)) if total > grain else 1
    if count < 2:
        with np.errstate(all="ignore"):
            body(0, total)
        return
    _start_helpers(count - 1)
    assert isinstance(_blas, tuple)
    get, put = _blas
    before = get()
    tasks = [_Task(body, total * i // count, total * (i + 1) // count) for i in range(count)]
    put(1)
    try:
        for task in tasks[1:]:
            _tasks.put(task)
        tasks[0].run()
        for task in tasks:
            task.done.acquire()
    finally:
        put(before)
    for task in tasks:
        if task.error is not None:
            raise task.error
