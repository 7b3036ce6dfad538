"""A thread pool for native kernels, whose threads wait for work in machine code.

Note [Waiting in machine code]
Note [Two kinds of threads] in parallel.py says why there are Python threads, too. The helpers here never return from their one
call into machine code: they poll a word in memory, `left`, until there are ranges to run. After a while without work
(`_PATIENCE` in assembly/thread_pool.py) they sleep on that word (a futex), so an idle program uses no processor time.

A caller stores the kernel and its arguments, then `left`. It and the helpers take ranges by decrementing `left` atomically, and
increment `done`. The caller starts at the first range, helpers at the last: so the next kernel finds in a core's cache what this
one wrote there (softmax of 1024 x 512, forward and backward: 0.25 instead of 0.46 ms). A thread reads the arguments only after it
has taken a range. They stay unchanged until the caller has seen that all ranges are done, and late helpers find nothing `left`
and touch nothing. While one call uses the helpers (`busy`), calls from other Python threads run alone. The ranges do not depend
on which thread runs them, so neither do the results.

Note [Preempted helpers]
On a busy machine the system may preempt a helper inside a range for milliseconds, and the caller can only wait. So a caller that
has waited much longer than its own share took uses no helpers for `BACKOFF` times as long: calls run all their ranges themselves
until then. In total that costs at most a sixteenth more time than one thread needs, however busy the machine is, and a helper
that was late once is soon used again.
"""

from __future__ import annotations

import ctypes
import os
import threading
from typing import Any

import numpy as np

from . import call, executable
from .addresses import aligned
from .assembly import thread_pool
from .parallel import native_thread_count, parallel_for, start_thread

_PYTHON_GRAIN = 4  # a Python thread needs this many times as much work
_RANGES = 4  # per thread, if there is enough work: late threads take fewer


class _Pool:
    """The helpers, and the memory that they share with callers."""

    def __init__(self) -> None:
        self._memory = aligned(thread_pool.SIZE // 8, np.int64)
        self._memory[:] = 0
        executable.keep(self._memory)
        self.address = call.data_address(self._memory)
        self.take: int = executable.load(thread_pool.take(helper=False), []).address
        take = executable.load(thread_pool.take(helper=True), []).address
        self._help = executable.load(thread_pool.helper(take), [ctypes.c_void_p, ctypes.c_void_p])
        self._helpers = 0
        self._lock = threading.Lock()

    def start(self, helpers: int) -> bool:
        """Let exactly so many helpers work, starting missing ones; return whether there are any.

        If the system refuses a thread (limits, interpreter exit), the existing threads take all ranges.
        """
        with self._lock:
            while self._helpers < helpers:
                if not start_thread(self._help, (self.address, self._helpers), "penlight-native"):
                    break
                self._helpers += 1
            self._memory[thread_pool.LIMIT // 8] = helpers
            return self._helpers > 0

    def forget(self) -> None:
        """A forked child has none of the parent's threads."""
        self._memory[:] = 0
        self._helpers, self._lock = 0, threading.Lock()


_pool: _Pool | None = None
_working = 0  # the last number of helpers in use


def _forget() -> None:
    global _working
    _working = 0
    if _pool is not None:
        _pool.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)


def _the_pool() -> _Pool:
    global _pool
    if _pool is None:
        _pool = _Pool()
    return _pool


def start(helpers: int) -> bool:
    """Let so many helpers work; return whether there are any."""
    global _working
    if _working != helpers:
        if not _the_pool().start(helpers):
            return False
        _working = helpers
    return True


def _shared(function: Any) -> Any:
    """The multithreaded version of a function of call.py: it takes a step and a total instead of `low` and `high`."""
    if not executable.available():
        return call.checked(_in_python_threads(function.run), function.signature)
    arguments = function.signature.arguments
    numbers = sum(argument.type == "float" for argument in arguments)
    pool = _the_pool()
    code = thread_pool.shared(pool.address, pool.take, function.address, len(arguments) - numbers, numbers)
    return call.load(code, function.signature)


def _in_python_threads(run: Any) -> Any:
    """Like `_shared`, for LLVM's machine code: Python threads call it, since these helpers cannot."""

    def share(step: int, total: int, *arguments: Any) -> None:
        def part(low: int, high: int) -> None:
            run(step * low, min(step * high, total), *arguments)

        parallel_for(part, -(-total // step), blas=False)

    return share


def shared(function: Any) -> Any:
    """The result of `_shared`, made once for each function."""
    if function.shared is None:
        function.shared = _shared(function)
    return function.shared


def over(function: Any, total: int, grain: int, *arguments: Any, multiple: int = 1) -> Any:
    """Call a function of call.py, whose first arguments are a range, on 0 .. `total`; return its result.

    From twice `grain` on, threads share the work, in steps that are a multiple of `multiple`.
    """
    if total >= 2 * grain:
        return in_steps(function, total, -(-step(total, grain) // multiple) * multiple, *arguments)
    return function(0, total, *arguments)


def in_steps(function: Any, total: int, each: int, *arguments: Any) -> Any:
    """Like `over`, in ranges of `each` if that is less than `total`: kernels with scratch memory per range need to know its size."""
    if each < total:
        return (function.shared or shared(function))(each, total, *arguments)
    return function(0, total, *arguments)


def step(total: int, grain: int) -> int:
    """The number of rows or elements per range, at least `grain`, if a kernel over `total` is shared; otherwise `total`."""
    have_helpers = executable.available()
    if not have_helpers:
        grain *= _PYTHON_GRAIN
    count = native_thread_count() if total >= 2 * grain else 1
    if count < 2 or (have_helpers and _working != count - 1 and not start(count - 1)):
        return total
    return max(grain, -(-total // (_RANGES * count)))
