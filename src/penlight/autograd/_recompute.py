"""Non-reentrant checkpoint: saved tensors are recomputed when backward first needs one of them.

# Note [Frames and holders]
During the forward pass, a pack hook replaces each tensor that a node saves by an empty holder. The frame of the call keeps weak references
to them. When backward unpacks the first holder, the frame runs the function again under another pack
hook, which fills the holders in the same order, and stops as soon as the last is full (early stop). The values belong to that pass: a
second backward over a retained graph recomputes them. Holders whose node is gone, because part of the graph was freed, stay empty. Nested
checkpoints work because an inner frame's inputs are themselves
saved through the outer frame's hook.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Any

from penlight._common.docstrings import example

from ..kernels.lazy import lazy_import
from ..ops.machinery.dispatch import op_watchers, pack_hooks
from ..random import get_rng_state, set_rng_state
from ..tensor import Tensor
from . import modes
from .engine import task
from .grad_mode import enable_grad
from .graph import saved_tensors_hooks
from .node import Node
from .packing import Kept

_state = lazy_import(globals(), "_state", "..amp._state")


# The settings of `set_checkpoint_early_stop` and `set_checkpoint_debug_enabled`; None defers to the arguments of `checkpoint`.
settings: dict[str, bool | None] = {"early_stop": None, "debug": None}

_TIP = """
Tip: To see a more detailed error message, either pass `debug=True` to
`torch.utils.checkpoint.checkpoint(...)` or wrap the code block
with `with torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to
enable checkpoint-debug mode globally.
"""

_group: ContextVar[Any] = ContextVar("penlight_graph_exec_group", default=None)


def debug_enabled() -> bool | None:
    return settings["debug"]


@example("issubclass(torch.utils.checkpoint.CheckpointError, RuntimeError)", "True")
class CheckpointError(RuntimeError):
    """Recomputing a checkpoint gave a different result than the forward pass."""


class _Stop(Exception):
    """Raised to stop a recomputation once backward has everything it needs."""


class _Pass:
    """Represents a backward pass when a saved tensor is read outside of any pass."""


class GraphExecGroup:
    """Backward passes inside share their recomputed values; they must not need the same saved tensor.

    >>> from penlight.utils.checkpoint import GraphExecGroup
    >>> with GraphExecGroup():
    ...     pass
    """

    def __enter__(self) -> GraphExecGroup:
        if _group.get() is not None:
            raise RuntimeError(f"GraphExecGroup contexts cannot be nested. Already inside group {_group.get()}")
        _group.set(self)
        return self

    def __exit__(self, *args: object) -> None:
        _group.set(None)

    @classmethod
    def _get_current_group(cls) -> GraphExecGroup | None:
        return _group.get()  # type: ignore[no-any-return]


GraphExecGroup.__module__ = "penlight.utils.checkpoint"


class Surroundings:
    """The random-number and autocast state at one point, restored for a `with` block."""

    def __init__(self, preserve_rng_state: bool) -> None:
        self.preserve = preserve_rng_state
        self.then: Any = get_rng_state() if preserve_rng_state else None
        self.cast = _autocast_settings()
        self.now: list[Any] = []

    def __enter__(self) -> None:
        amp = sys.modules.get(_AMP)
        casting: Any = nullcontext() if amp is None else amp.autocast("cpu", **self.cast)
        casting.__enter__()
        self.now.append((get_rng_state() if self.preserve else None, casting))
        if self.preserve:
            set_rng_state(self.then)

    def __exit__(self, *args: Any) -> None:
        state, casting = self.now.pop()
        if self.preserve:
            set_rng_state(state)
        casting.__exit__(*args)


_AMP = __name__.partition(".")[0] + ".amp"


def _autocast_settings() -> dict[str, Any]:
    """The autocast settings; off if its module was never imported."""
    if _AMP not in sys.modules:
        return {"enabled": False}
    return {
        "enabled": _state.is_autocast_enabled("cpu"),
        "dtype": _state.get_autocast_dtype("cpu"),
        "cache_enabled": _state.is_autocast_cache_enabled(),
    }


class Watching:
    """A context in which this object observes each op."""

    def __enter__(self) -> Any:
        modes.open_slow_mode()
        op_watchers.set((*op_watchers.get(), self.watch))
        return self

    def __exit__(self, *args: object) -> None:
        op_watchers.set(op_watchers.get()[:-1])
        modes.close_slow_mode()

    def watch(self, op: Any, arguments: Any, go: Any, inplace: bool) -> Any:
        """Called instead of an op: `go()` runs it."""
        raise NotImplementedError


class Holder:
    """Replaces a saved tensor: holds the recomputed value for each backward pass."""

    __slots__ = ("__weakref__", "values")

    def __init__(self) -> None:
        self.values: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


_TAKEN = object()


def _describe(tensor: Tensor) -> dict[str, Any]:
    return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}


_CHECKS: dict[str, Callable[[Tensor], Any]] = {"default": _describe, "none": lambda tensor: None}


class Frame:
    """One call of `checkpoint`. See Note [Frames and holders]."""

    def __init__(
        self, again: Callable[..., None], args: tuple[Any, ...], describe: Callable[[Tensor], Any], early_stop: bool
    ) -> None:
        self.again, self.describe, self.early_stop = again, describe, early_stop
        nobody, pair = Node(), pack_hooks.get()
        self.args = [Kept(a, nobody, pair) if isinstance(a, Tensor) else a for a in args]
        self.holders: list[weakref.ref[Holder]] = []
        self.descriptions: list[Any] = []
        self.recomputed: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()  # pass: tensors saved
        self.complete = False  # whether the forward pass is finished
        self.lenient = False  # a backward inside the function may legitimately change the counts
        self.explain: Callable[[CheckpointError], Any] | None = None

    def pack(self, tensor: Tensor) -> Holder:
        holder = Holder()
        self.holders.append(weakref.ref(holder))
        self.descriptions.append(self.describe(tensor))
        return holder

    def unpack(self, holder: Holder) -> Tensor:
        current = _group.get() or task.get() or _Pass()
        try:
            if current not in self.recomputed:
                self.recompute(current)
            return _take(holder, current)
        except CheckpointError as error:
            if self.explain is None:
                raise
            raise self.explain(error) from error

    def recompute(self, current: Any) -> None:
        args = [a.unpack() if isinstance(a, Kept) else a for a in self.args]
        filling = _Filling(self, current)
        try:
            with saved_tensors_hooks(filling.pack, lambda tensor: tensor), enable_grad():
                self.again(*args)
        except _Stop:
            pass
        self.recomputed[current] = filling.count
        if not self.lenient:
            self.compare(filling.count, current)

    def compare(self, count: int, current: Any) -> None:
        """Refuse a recomputation that saved a different number of tensors, or different ones."""
        if count != len(self.holders):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                f"recomputation.\nNumber of tensors saved during forward: {len(self.holders)}\nNumber of tensors saved during "
                f"recomputation: {count}.\n{_TIP}"
            )
        different = ""
        for index, (ref, before) in enumerate(zip(self.holders, self.descriptions)):
            holder = ref()
            if holder is None:
                continue
            now = self.describe(holder.values[current])
            if now != before:
                different += f"tensor at position {index}:\nsaved metadata: {before}\nrecomputed metadata: {now}\n"
        if different:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than during the "
                f"forward pass.\n{different}.\n{_TIP}"
            )


class _Filling:
    """The pack hook of a recomputation: fills the holders of a frame in order."""

    def __init__(self, frame: Frame, current: Any) -> None:
        self.frame, self.current, self.count = frame, current, 0

    def pack(self, tensor: Tensor) -> Tensor:
        frame = self.frame
        tensor = tensor.detach() if tensor.requires_grad else tensor
        index, self.count = self.count, self.count + 1
        if index >= len(frame.holders):
            if not frame.complete:
                frame.lenient = True
                return tensor
            raise CheckpointError(
                "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original forward "
                f"pass.\n{_TIP}"
            )
        holder = frame.holders[index]()
        if holder is not None:
            holder.values[self.current] = tensor
        if frame.early_stop and self.count == len(frame.holders):
            raise _Stop
        return tensor


def _take(holder: Holder, current: Any) -> Tensor:
    value = holder.values[current]
    if value is _TAKEN:
        extra = ""
        if _group.get() is not None:
            extra = (
                "Performing two backward calls that overlap (i.e. require the same saved activation in order to compute "
                "gradients) is not allowed while under the torch.utils.checkpoint.GraphExecGroup context. "
            )
        raise CheckpointError(
            "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. "
            f"{extra}If you are calling ctx.saved_tensors in backward, make sure to do so only once. Otherwise please open an "
            "issue with details on your use case."
        )
    holder.values[current] = _TAKEN
    return value  # type: ignore[no-any-return]


def run(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], preserve_rng_state: bool,
        context_fn: Callable[[], Any], determinism_check: str, early_stop: bool, recorder: Any) -> Any:  # fmt: skip
    """Call a function so that backward recomputes the tensors that its nodes would have saved."""
    if determinism_check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {determinism_check}")
    forward_context, recompute_context = context_fn()
    surroundings = Surroundings(preserve_rng_state)

    def again(*given: Any) -> None:
        with surroundings, recompute_context:
            function(*given, **kwargs)

    if not modes.is_grad_enabled():
        return function(*args, **kwargs)
    stop = settings["early_stop"]
    frame = Frame(again, args, _CHECKS[determinism_check], early_stop if stop is None else stop)
    frame.explain = None if recorder is None else recorder.explain
    with saved_tensors_hooks(frame.pack, frame.unpack), forward_context:
        result = function(*args, **kwargs)
        frame.complete = True
    if not frame.complete:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an exception raised during the "
            "checkpointed forward. This is not supported because checkpoint cannot return a value for a failed forward."
        )
    return result
