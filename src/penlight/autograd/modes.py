"""State that every op checks: the grad mode, and one flag for all slow modes.

# Note [One flag for everything slow]
Forward mode, batching, saved-tensor hooks, anomaly mode, inference mode and the profiler would each cost a check in every op.
They share one: `NAMESPACE["SLOW"]`, the number of slow modes that are open anywhere in the process. The generated
functions of the ops have NAMESPACE as their globals, so the check is one cached load. If it is not zero, an op checks the modes of its own
thread (`enter` in `ops/machinery/dispatch.py`). If one of them must see the op, it takes the readable path; if none or only inference mode,
a copy of the generated function without the check runs it. The same happens under `watch`, whose log gets a report afterwards: if
`NAMESPACE["LOGS"]`, the number of open logs, equals `SLOW`, no other slow mode is open.

# Note [Silent arithmetic]
PyTorch never warns about a division by zero or an overflow. NumPy does, through `warnings`, and suppressing that by `np.errstate` costs
more than a small op. CPython drops a warning if the calling frame has no module name, so the namespace of the generated code has `__name__
= None`. Kernels in Python use `np.errstate`, the engine
`hush` and `unhush` (kernels/numpy_warnings.py).

# Note [Ctrl-C and modes]
Python may raise KeyboardInterrupt after any call, even one that has just set a mode, and at the first instruction of any Python function,
even `__exit__`. So on the path of a training step the package uses neither `with no_grad():` nor `token = grad_mode.set(...)` before a
`try`. It reads the mode, sets it inside the `try`, and restores it in `finally`.

# Note [Garbage collection in ContextVar.set]
CPython 3.11 may collect garbage at any allocation, even in the middle of `ContextVar.set` and `reset`, which use a table without holding a
reference to it. A finaliser that sets a ContextVar at that moment (the end of a suspended generator under `no_grad`, an op in a `__del__`)
frees that table. So each collection first copies the context, which keeps the table alive, and the last copies are kept. All of this is in C,
because Python drops exceptions of a Python function during a collection, including a KeyboardInterrupt that arrives there. Modes are restored
by `set`, not by `reset`: if there was no value before, `reset` leaves the value that a finaliser read meanwhile in the variable's cache.
Newer Pythons collect between instructions.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections import deque
from contextvars import Context, ContextVar, copy_context
from functools import partial
from itertools import count
from typing import Any

NAMESPACE: dict[str, Any] = {"__name__": None, "SLOW": 0, "LOGS": 0, "PARTIAL": 0}

casting = False  # whether autocast is enabled in some thread: see Note [Intercepted functions] in amp/_casting.py

_lock: Any = threading.RLock()  # see Note [A lock that Ctrl-C cannot keep] in kernels/parallel.py


def _add(count: str, change: int) -> None:
    _lock.acquire()
    try:
        NAMESPACE[count] += change
    finally:
        _lock._release_save()


def open_slow_mode() -> None:
    """Send all ops through the readable path until `close_slow_mode`. See Note [One flag for everything slow]."""
    _add("SLOW", 1)


def close_slow_mode() -> None:
    _add("SLOW", -1)


def count_logs(change: int) -> None:
    """Count one more, or one less, slow mode that is only a log, which sees ops but does not change how they run."""
    _add("LOGS", change)


def count_partial_passes(change: int) -> None:
    """Count one more, or one less, engine pass that needs only some gradients. See Note [Only what was asked for]."""
    _add("PARTIAL", change)


def slow() -> bool:
    return bool(NAMESPACE["SLOW"])


if sys.version_info < (3, 12):

    class _KeptContexts(map):  # type: ignore[type-arg]  # map[None] does not exist when the program runs
        """Keeps a copy of the context each time its attribute `start` is read."""

        start = property(next)

    _contexts: deque[Context] = deque(maxlen=16)
    # Each collection calls getattr(contexts, "start", {...}). See Note [Garbage collection in ContextVar.set].
    gc.callbacks.append(partial(getattr, _KeptContexts(_contexts.append, iter(copy_context, None))))

# A ContextVar suits threads (each starts with the default) and asyncio (each task has its own).
grad_mode: ContextVar[bool] = ContextVar("penlight_grad_mode", default=True)
inference: ContextVar[bool] = ContextVar("penlight_inference_mode", default=False)
is_grad_enabled = grad_mode.get

# Anomaly mode, for all threads at once as in PyTorch. See autograd/anomaly_mode.py.
ANOMALY = {"enabled": False, "check_nan": True}

# The log of this thread's `penlight.inspect.watch()`, or None. See Note [The log] in inspect/log.py.
log: ContextVar[Any] = ContextVar("penlight_log", default=None)


def report_cut(sources: list[Any], out: Any, what: str) -> None:
    """Report to an open log that `out` (a tensor, or None for a Python value) was computed from tensors without being recorded."""
    if (seen := log.get()) is not None and (sources := [t for t in sources if t.requires_grad]):
        seen.on_cut(sources, out, what)


def report_writes(tensors: Any) -> None:
    """Report to an open log that tensors were written to, after their versions were bumped."""
    if (seen := log.get()) is not None:
        seen.on_write([t for t in tensors if type(t._vc) is list])  # inference tensors have no versions


# Creation numbers of the nodes. A node is created after its inputs, so youngest first is a topological order.
sequence = count()

# The number of torch.func transforms running here: inside them backward() and similar functions are refused.
transforms: ContextVar[int] = ContextVar("penlight_transforms", default=0)


def show_within(tensor: Any) -> str | None:
    """The representation of a tensor inside transforms, if it is special. func/batched.py replaces this function."""
    return None


IN_A_TRANSFORM = (
    "You are attempting to call Tensor.{} inside of a function being transformed by a functorch transform. This is unsupported, "
    "please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call {}() outside of a function "
    "being transformed instead."
)
