"""What every op looks at: the grad mode, and one flag for everything slow.

# Note [One flag for everything slow]
Forward mode, batching, saved-tensor hooks, anomaly mode, inference mode and the profiler would each cost a check in every op.
They share one: `NAMESPACE["SLOW"]`, the number of slow modes that are open anywhere in the process. The generated
functions of the ops have NAMESPACE as their globals, so the check is one cached load. When it is not zero an op asks the
modes of its own thread (`enter` in `ops/machinery/dispatch.py`). If one of them must see the op, it takes the readable path; if not, or
if inference mode is all, a copy of the generated function without the check runs it.

# Note [Silent arithmetic]
PyTorch never warns about a division by zero or an overflow; NumPy does, through `warnings`, and turning that off by
`np.errstate` costs more than a small op. CPython drops a warning whose calling frame has no module name, so the
namespace of the generated code says `__name__ = None`. Kernels in Python use `np.errstate`, the engine
`hush` and `unhush` (kernels/numpy_warnings.py).

# Note [Ctrl-C and modes]
Python raises KeyboardInterrupt after any call, also after one that has just set a mode, and at the first instruction of a Python
function, also of `__exit__`. So the package does not use `with no_grad():` where a training step passes, nor
`token = grad_mode.set(...)` before a `try`. It reads the mode, sets it inside the `try`, and sets it back in `finally`.

# Note [Garbage collection in ContextVar.set]
CPython 3.11 collects garbage whenever it allocates, also in the middle of `ContextVar.set` and `reset`, which work on a table that they do
not hold. A finaliser that sets a ContextVar there (the end of a suspended generator under `no_grad`, an op in a `__del__`) frees
that table. So each collection first takes a copy of the context, which holds it, and the last copies are kept; all of it in C, since Python
drops what a Python function raises in a collection, also a KeyboardInterrupt that happens to meet it there. And modes are set back by
`set`, not by `reset`: where there was no value, a `reset` leaves what a finaliser has read in the meantime in the variable's cache.
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

NAMESPACE: dict[str, Any] = {"__name__": None, "SLOW": 0, "PICKY": 0}

casting = False  # whether autocast is on in some thread: see Note [Borrowed functions] in amp/_casting.py

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


def count_picky(change: int) -> None:
    """One more, or one less, pass of the engine that needs only some gradients. See Note [Only what was asked for]."""
    _add("PICKY", change)


def slow() -> bool:
    return bool(NAMESPACE["SLOW"])


if sys.version_info < (3, 12):

    class _KeptContexts(map):  # type: ignore[type-arg]  # map[None] does not exist when the program runs
        """Keeps a copy of the context each time that its attribute `start` is read."""

        start = property(next)

    _contexts: deque[Context] = deque(maxlen=16)
    # Each collection calls getattr(contexts, "start", {...}). See Note [Garbage collection in ContextVar.set].
    gc.callbacks.append(partial(getattr, _KeptContexts(_contexts.append, iter(copy_context, None))))

# A ContextVar is right for threads (each starts with the default) and for asyncio (each task has its own).
grad_mode: ContextVar[bool] = ContextVar("penlight_grad_mode", default=True)
inference: ContextVar[bool] = ContextVar("penlight_inference_mode", default=False)
is_grad_enabled = grad_mode.get

# Anomaly mode, for all threads at once as in PyTorch. See autograd/anomaly_mode.py.
ANOMALY = {"enabled": False, "check_nan": True}

# What this thread's `penlight.inspect.watch()` has seen, or None. See Note [The log] in inspect/log.py.
log: ContextVar[Any] = ContextVar("penlight_log", default=None)


def tell_cut(sources: list[Any], out: Any, what: str) -> None:
    """Tell an open log that `out`, a tensor or None for a Python value, was made from tensors without recording it."""
    if (seen := log.get()) is not None and (sources := [t for t in sources if t.requires_grad]):
        seen.on_cut(sources, out, what)


def tell_writes(tensors: Any) -> None:
    """Tell an open log that tensors were written to, after their versions have moved on."""
    if (seen := log.get()) is not None:
        seen.on_write([t for t in tensors if type(t._vc) is list])  # inference tensors have no versions


# Creation numbers of the nodes: a node's inputs exist before it, so youngest first is a topological order.
sequence = count()

# How many of torch.func's transforms are running here: inside them backward() and the like are refused.
transforms: ContextVar[int] = ContextVar("penlight_transforms", default=0)


def show_within(tensor: Any) -> str | None:
    """How a tensor prints inside transforms, if not as usual. func/batched.py puts its own in place of this."""
    return None


IN_A_TRANSFORM = (
    "You are attempting to call Tensor.{} inside of a function being transformed by a functorch transform. This is unsupported, "
    "please attempt to use the functorch transforms (e.g. grad, vjp, jacrev, jacfwd, hessian) or call {}() outside of a function "
    "being transformed instead."
)
