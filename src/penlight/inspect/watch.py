"""`watch`: which line cut the graph, which line wrote to a tensor that backward needed, where the first NaN was made.

# Note [The log]
While `watch()` is open all ops take the readable path (a slow mode, see autograd/modes.py) and this thread has a log. Ops tell it
their inputs and results, writes and cuts tell it their tensors; it keeps the user's line of each, by weak references, so that
it keeps no memory alive. The errors of autograd ask the log before they are raised, and carry its answer as a note.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..autograd import modes
from ..autograd.anomaly_mode import _remember, _stack
from ..ops.machinery.dispatch import node_watchers, op_watchers
from ..tensor import Tensor


class Event:
    """Something that happened at a line of the program: `what` happened, and `where` (the user's line, as in a traceback).

    >>> with torch.inspect.watch() as seen:
    ...     y = torch.ones(1, requires_grad=True).detach()
    >>> seen.cuts[0].what
    'detach()'
    """

    __slots__ = ("what", "where")

    def __init__(self, what: str, where: str) -> None:
        self.what, self.where = what, where

    def __str__(self) -> str:
        return f"{self.what}:\n{self.where}"

    __repr__ = __str__


class Log:
    """What `watch` has seen: `cuts` of the graph, `writes` to memory, `nans` that were made from numbers.

    >>> with torch.inspect.watch(nan="note") as seen:
    ...     y = torch.zeros(1) / 0
    >>> seen.nans[0].what
    'div() made NaN from inputs without NaN'
    """

    def __init__(self, nan: str) -> None:
        self.cuts: list[Event] = []
        self.writes: list[Event] = []
        self.nans: list[Event] = []
        self._nan = nan
        self._origin: dict[int, tuple[Any, tuple[Event, ...]]] = {}  # of tensors without grad: what cut them off
        self._written: dict[
            int, tuple[Any, list[tuple[int, Event]]]
        ] = {}  # of memory: the version and line of each write

    # ----- What ops, writes and cuts tell -------------------------------------------------------------------------

    def on_op(self, op: Any, arguments: tuple[Any, ...], go: Any, inplace: bool) -> Any:
        inputs = list(_tensors(arguments))
        dirty = inplace and self._nan != "ignore" and any(_has_nan(t) for t in inputs)
        result = go()
        for out in _tensors((result,)):
            if self._nan != "ignore" and not dirty and _has_nan(out):
                others = [t for t in inputs if t is not out]
                if not any(_has_nan(t) for t in others):
                    self._on_nan(op)
            if not out.requires_grad:
                self._follow(op, inputs, out)
        return result

    def _on_nan(self, op: Any) -> None:
        event = Event(f"{op.public}() made NaN from inputs without NaN", _line())
        self.nans.append(event)
        if self._nan == "raise":
            raise FloatingPointError(str(event))

    def _follow(self, op: Any, inputs: list[Tensor], out: Tensor) -> None:
        """Note why a result does not require grad: it was cut off here, or its inputs were before."""
        if any(t.requires_grad for t in inputs):
            why = "has no derivative" if modes.is_grad_enabled() else "ran under no_grad"
            self.on_cut(out, f"{op.public}() {why}", quiet=out._array.dtype.kind not in "fc")
            return
        before = [event for t in inputs for event in self._cuts_of(t)]
        if before:
            self._remember_origin(out, tuple(dict.fromkeys(before))[:4])

    def on_cut(self, out: Tensor, what: str, quiet: bool = False) -> None:
        """`out` was made from a tensor that requires grad, and does not. A `quiet` cut (a comparison) is only told when asked for."""
        event = Event(what, _line())
        if not quiet:
            self.cuts.append(event)
        self._remember_origin(out, (event,))

    def _remember_origin(self, out: Tensor, events: tuple[Event, ...]) -> None:
        key, origin = id(out), self._origin
        origin[key] = (weakref.ref(out, lambda _: origin.pop(key, None)), events)

    def _cuts_of(self, tensor: Tensor) -> tuple[Event, ...]:
        known = self._origin.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else ()

    def on_write(self, tensor: Tensor, version: int) -> None:
        event = Event(f"version {version} of {list(tensor.shape)} was written", _line())
        self.writes.append(event)
        memory, written = owner(tensor._array), self._written
        key = id(memory)
        if key not in written:
            written[key] = (weakref.ref(memory, lambda _: written.pop(key, None)), [])
        written[key][1].append((version, event))

    # ----- What errors ask ----------------------------------------------------------------------------------------

    def why_no_grad(self, tensor: Tensor) -> str:
        """The note of the error that a tensor does not require grad."""
        events = self._cuts_of(tensor)
        if not events:
            return "Nothing that it was made from requires grad, as far as penlight.inspect.watch() has seen."
        return "It was cut off the graph here:\n" + "".join(f"{e.what}:\n{e.where}" for e in events)

    def who_wrote(self, array: np.ndarray[Any, Any], since: int) -> str:
        """The note of the error that a saved tensor was modified."""
        known = self._written.get(id(owner(array)))
        lines = [e.where for version, e in known[1] if version > since] if known is not None else []
        if not lines:
            return "penlight.inspect.watch() has not seen who wrote to it."
        return "It was written to here:\n" + "".join(dict.fromkeys(lines))


class watch:
    """Inside, errors of autograd say which line of the program is to blame, as a note below PyTorch's words.

    A tensor that does not require grad: the line that cut it off (`detach()`, `no_grad`, an op without derivative). A saved tensor
    that was modified: the lines that wrote to it. `nan="raise"` raises `FloatingPointError` at the op that makes the first NaN, in the
    forward pass; `nan="note"` only lists it in `nans`; `nan="ignore"` does not look. Everything is slower meanwhile.

    >>> x = torch.tensor([1.0, 0.0], requires_grad=True)
    >>> with torch.inspect.watch() as seen:
    ...     y = x.detach() * 2
    >>> print(seen.cuts[0].what)
    detach()
    >>> with torch.inspect.watch(nan="raise"):
    ...     x.log() * 0
    Traceback (most recent call last):
    FloatingPointError: mul() made NaN from inputs without NaN:
    ...
    """

    def __init__(self, nan: str = "note") -> None:
        if nan not in ("raise", "note", "ignore"):
            raise ValueError(f'nan must be "raise", "note" or "ignore", not {nan!r}')
        self._nan = nan
        self._undo: list[Any] = []

    def __enter__(self) -> Log:
        log = Log(self._nan)
        modes.open_slow_mode()
        self._undo.append(
            (
                (modes.log, modes.log.set(log)),
                (op_watchers, op_watchers.set((*op_watchers.get(), log.on_op))),
                (node_watchers, node_watchers.set((*node_watchers.get(), _remember))),
            )
        )
        return log

    def __exit__(self, *args: object) -> None:
        for variable, token in reversed(self._undo.pop()):
            variable.reset(token)
        modes.close_slow_mode()


def _line() -> str:
    """The innermost line that is the user's own."""
    lines = _stack(all_frames=False)
    return lines[-1] if lines else ""


def _tensors(values: Any) -> Iterator[Tensor]:
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors(value)


def _has_nan(tensor: Tensor) -> bool:
    return tensor._array.dtype.kind in "fcV" and bool(np.isnan(tensor._array).any())


def owner(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array that owns this array's memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
