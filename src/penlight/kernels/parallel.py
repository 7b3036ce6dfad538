"""Sharing one kernel's work between threads.

NumPy releases the GIL inside copies, ufuncs and matrix products, so plain Python threads run in parallel, each on its own range
of images, rows or elements. BLAS must not split the matrix products inside a second time, so it is set to one thread for the
duration. If BLAS has no such switch (anything but OpenBLAS), work that contains matrix products runs in the calling thread.

`set_num_threads` sets both the number of threads here and that of BLAS.

Note [Two kinds of threads]
The helpers here run Python: they do work that consists of calls to NumPy and BLAS, and run LLVM's machine code. Waking a helper
and giving it the GIL takes some 50 microseconds. Our own machine code needs no GIL, and many of its kernels take less time than
that altogether: its helpers (waiting_threads.py) wait inside machine code and start at once. They can run nothing else, since
they hold no GIL and never return to Python. So neither kind can do the other's work. Both obey `set_num_threads`, and they do not
work at the same time: inside `parallel_for`, `native_thread_count` is 1.

Note [Work in ranges]
There are about twice as many ranges as threads. Each thread, including the caller, takes the next range until none is left. If a
helper wakes up late on a busy machine, the caller has already done its share instead of waiting for it. The ranges do not depend
on which thread runs them, so neither do the results. If a caller has waited for a helper inside a range for longer than it worked
itself, it stops using helpers for a while: Note [Preempted helpers] in waiting_threads.py.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from math import ceil
from queue import SimpleQueue
from time import perf_counter
from typing import Any

import numpy as np

from .memory import keep as keep_memory

# More threads than this gain little: the Python part of each range still runs one at a time. Native kernels have no such part.
_MAX_THREADS = 8
MAX_NATIVE_THREADS = 16

BACKOFF = 16  # after waiting t for a preempted helper, share no work for 16 t: at most a 16th of the time is lost
_LATE = 2e-4  # seconds that a caller may wait, beyond half the time of its own share

_blas: tuple[Callable[[], int], Callable[[int], Any]] | bool | None = None
_limit: int | None = None  # from `set_threads`, or determined at the first use
_jobs: SimpleQueue[_Job] = SimpleQueue()
_helpers = 0
# Note [A lock that Ctrl-C cannot keep]
# From Python 3.14 on, Ctrl-C can arrive after a `with` statement has acquired a lock and before its block starts: then nothing
# releases the lock. This lock is re-entrant, so the interrupted thread is not locked out, and `_release_save` releases it however
# often it is held.
_lock: Any = threading.RLock()
_busy = threading.Lock()  # held while a `parallel_for` runs
_alone_until = 0.0  # when work may be shared again
_alone = 0  # active `blas_alone` contexts
_before = 1  # BLAS's number of threads before the first of them
_lowered = False  # whether BLAS is still set to one thread, possibly by a context that was interrupted


class _Job:
    """Work split into ranges that threads take one by one, and its outcome. See Note [Work in ranges]."""

    __slots__ = ("body", "done", "error", "left", "lock", "ranges")

    def __init__(self, body: Callable[[int, int], object], ranges: list[tuple[int, int]]) -> None:
        self.body, self.left = body, len(ranges)
        self.ranges = iter(ranges)
        self.error: BaseException | None = None
        self.lock, self.done = threading.Lock(), threading.Lock()
        self.done.acquire()

    def run(self) -> None:
        """Run ranges until none is left."""
        with np.errstate(all="ignore"):
            for low, high in self.ranges:
                try:
                    self.body(low, high)
                except BaseException as error:
                    self.error = self.error or error
                with self.lock:
                    self.left -= 1
                    if not self.left:
                        self.done.release()


def _helper(jobs: SimpleQueue[_Job]) -> None:
    while True:
        jobs.get().run()


def _forget_helpers() -> None:
    """A forked child has none of the parent's threads."""
    global _jobs, _helpers, _lock, _busy, _alone, _lowered
    _jobs, _helpers, _lock, _busy = SimpleQueue(), 0, threading.RLock(), threading.Lock()
    if _lowered and isinstance(_blas, tuple):
        _blas[1](_before)
    _alone, _lowered = 0, False


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_helpers)


def _start_helpers(count: int) -> int:
    """Start threads until there are `count`; return how many there are: fewer if the system refuses to start one."""
    global _helpers
    with _lock:
        while _helpers < count:
            if not start_thread(_helper, (_jobs,), "penlight-kernel"):
                break
            _helpers += 1
        return min(_helpers, count)


def start_thread(target: Callable[..., Any], args: tuple[Any, ...], name: str) -> bool:
    """Start a thread; return whether the system allowed it. At interpreter exit a thread would never run, and up to Python 3.12
    `start` would wait for it."""
    if sys.is_finalizing():
        return False
    try:
        threading.Thread(target=target, args=args, name=name, daemon=True).start()
    except RuntimeError:
        return False
    return True


def numpy_library() -> Any:
    """NumPy's shared library that gives access to its BLAS; None if there is none."""
    try:
        from numpy._core import _multiarray_umath

        return ctypes.CDLL(_multiarray_umath.__file__)
    except (ImportError, OSError, AttributeError):
        return None


def _find_blas() -> tuple[Callable[[], int], Callable[[int], Any]] | bool:
    """OpenBLAS's functions that read and set its number of threads; False if there are none."""
    library = numpy_library()
    if library is None:
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


def _switch() -> tuple[Callable[[], int], Callable[[int], Any]] | bool:
    """OpenBLAS's functions, looked up at the first large piece of work; freed memory is kept from then on, too."""
    global _blas
    if _blas is None:
        _blas = _find_blas()
        keep_memory()
    return _blas


def thread_limit() -> int:
    """How many threads may work on one op: the number set, or else one per core that this process may use, at most as many as BLAS has."""
    global _limit
    if _limit is None:
        blas = _switch()
        found = processors()
        if isinstance(blas, tuple):
            found = max(1, min(found, _before if _alone else blas[0]()))
        _limit = min(found, cpu_quota() or found)
    return _limit


def processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # macOS and Windows have no such function, and a sandbox may refuse it
        return os.cpu_count() or 1


def cpu_quota(root: str = "/") -> int | None:
    """How many processors this process's container may use at a time, from Linux's control groups; None if there is no limit."""
    limits = []
    for line in _text(root, "proc/self/cgroup").splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        names = ("cpu.cfs_quota_us", "cpu.cfs_period_us") if controllers else ("cpu.max",)
        folders = group.strip("/").split("/")
        for depth in range(len(folders) + 1):  # limits of parent groups apply, too
            folder = "/".join(["sys/fs/cgroup", controllers, *folders[:depth]])
            found = " ".join([_text(root, f"{folder}/{name}") for name in names]).split()
            if len(found) == 2 and found[0].isdecimal():  # "max" and -1 mean no limit
                limits.append(ceil(int(found[0]) / int(found[1])))
    return max(1, min(limits)) if limits else None


def _text(root: str, path: str) -> str:
    """A file's text; empty if there is no file, or at interpreter exit, when `open` is gone."""
    try:
        with open(os.path.join(root, path)) as file:
            return file.read()
    except (OSError, NameError):
        return ""


def set_threads(count: int) -> bool:
    """Set how many threads may work on one op, here and in BLAS; return whether BLAS could be set."""
    global _limit, _before
    _limit = count
    blas = _switch()
    if not isinstance(blas, tuple):
        return False
    with _lock:
        _before = count
        if not _alone:
            blas[1](count)
    return True


class blas_alone:
    """A context in which BLAS uses only the calling thread: small products finish before its other threads would wake up.

    Contexts of several threads may overlap: the first to begin saves BLAS's number of threads, and the last to end restores it.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        global _alone, _before, _lowered
        switch = _blas or _switch()
        if isinstance(switch, tuple):
            _lock.acquire()
            try:
                if not _alone:
                    if not _lowered:
                        _before = switch[0]()
                    _lowered = True
                    switch[1](1)
                _alone += 1
            finally:
                _lock._release_save()

    def __exit__(self, *_: object) -> None:
        global _alone, _lowered
        switch = _blas or _switch()
        if isinstance(switch, tuple):
            _lock.acquire()
            try:
                _alone -= 1
                if not _alone:
                    switch[1](_before)
                    _lowered = False
            finally:
                _lock._release_save()


def thread_count() -> int:
    """How many threads `parallel_for` may use now.

    One while another `parallel_for` runs, so that nested or concurrent calls do not multiply the threads.
    """
    return 1 if _busy.locked() else min(_limit or thread_limit(), _MAX_THREADS)


def native_thread_count() -> int:
    """How many threads native kernels may use now: see kernels/waiting_threads.py."""
    return 1 if _busy.locked() else min(_limit or thread_limit(), MAX_NATIVE_THREADS)


def _run(job: _Job, helpers: int) -> None:
    global _alone_until
    began = perf_counter()
    for _ in range(helpers):
        _jobs.put(job)
    job.run()
    waited = perf_counter()
    job.done.acquire()
    now = perf_counter()
    if now - waited > (waited - began) / 2 + _LATE:
        _alone_until = now + BACKOFF * (now - waited)
    del job.body  # a helper that wakes up later holds the job, but not the arrays


def parallel_for(body: Callable[[int, int], object], total: int, grain: int = 1, blas: bool = True) -> None:
    """Call ``body(low, high)`` on ranges that cover ``0 .. total``, each of at least `grain` items.

    The ranges run in several threads, with floating-point warnings off. The first error is raised after all of them have ended. A
    `parallel_for` inside `body` runs in that thread alone. `blas` says that `body` may call BLAS.
    """
    count = min(thread_count(), total // max(grain, 1)) if total > grain else 1
    if count < 2 or (blas and _switch() is False) or not _busy.acquire(blocking=False):
        with np.errstate(all="ignore"):
            body(0, total)
        return
    try:
        # A single thread uses the same ranges, so that sums over each of them have the same bits.
        helpers = 0 if perf_counter() < _alone_until else _start_helpers(count - 1)
        pieces = 2 * count if total >= 2 * count * grain else count
        job = _Job(body, [(total * i // pieces, total * (i + 1) // pieces) for i in range(pieces)])
        if blas:
            with blas_alone():
                _run(job, helpers)
        else:
            _run(job, helpers)
    finally:
        _busy.release()
    if job.error is not None:
        raise job.error
