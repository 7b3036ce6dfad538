"""`watch`: which line cut the graph, which line wrote to a tensor that backward needed, where the first NaN or infinity was made.

# Note [The log]
While `watch()` is open this thread has a log, and a slow mode makes every op ask for it (see autograd/modes.py). Ops, writes and cuts tell it
their tensors, and the engine its nodes; it keeps the user's line of each, and refers to tensors and nodes weakly, so that it keeps no memory alive. What happens at one
line again and again is one event with a count. The errors of autograd ask the log before they are raised, and carry its answer as a note;
`explain` asks the log that is open, or that was closed last.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from .._common.user_lines import Line, user_line
from ..autograd import engine, modes
from ..autograd.node import AccumulateGrad, Edge, Node, walk
from ..autograd.views import edge_of
from ..kernels.lazy import lazy_import
from ..tensor import Tensor

_collect = lazy_import(globals(), "_collect", ".collect")

_CHOICES = ("raise", "note", "ignore")
_last: Log | None = None


class Event:
    """Something that happened at a line of the program: `what` happened, at which `line`, and how often (`count`).

    >>> with torch.inspect.watch() as seen:
    ...     y = torch.ones(1, requires_grad=True).detach()
    >>> seen.cuts[0].what, seen.cuts[0].count
    ('detach()', 1)
    """

    __slots__ = ("__weakref__", "count", "leaves", "line", "what")

    def __init__(self, what: str, line: Line | None) -> None:
        self.what, self.line, self.count = what, line, 0
        self.leaves: weakref.WeakSet[Node] = weakref.WeakSet()  # of a cut: whose gradients can't come this way

    @property
    def where(self) -> str:
        """The line, as in a traceback."""
        return "" if self.line is None else str(self.line)

    def __str__(self) -> str:
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{self.what}{times}:\n{self.where}"

    def __repr__(self) -> str:
        return f"<{self.what}{'' if self.line is None else ' at ' + self.line.short}>"


class Log:
    """What `watch` has seen: `cuts` of the graph, `writes` to memory, `nans` and `infs` that were made from finite values.

    >>> with torch.inspect.watch(nan="note") as seen:
    ...     y = torch.zeros(1) / 0
    >>> seen
    <Log of 0 cuts, 0 writes, 1 NaN, 0 infinities>
    """

    def __init__(self, nan: str = "ignore", inf: str = "ignore") -> None:
        self._events: dict[tuple[str, str, Line | None], Event] = {}
        self._born = {"NaN": nan, "Inf": inf}
        self._origin: dict[int, tuple[Any, tuple[Event, ...]]] = {}  # of tensors without grad: what cut them off
        self._written: dict[
            int, tuple[Any, dict[Event, int]]
        ] = {}  # of memory: its writes, and the last version of each
        self._uses: weakref.WeakKeyDictionary[Node, Line] = weakref.WeakKeyDictionary()  # the first use of each leaf
        self._busy = False
        self.checks = nan != "ignore" or inf != "ignore"

    def _listed(self, kind: str) -> list[Event]:
        return [event for (each, _, _), event in self._events.items() if each == kind]

    @property
    def cuts(self) -> list[Event]:
        """Where results were cut off the graph."""
        return self._listed("cut")

    @property
    def writes(self) -> list[Event]:
        """Where tensors were written to."""
        return self._listed("write")

    @property
    def nans(self) -> list[Event]:
        """Where NaN was made from values without NaN."""
        return self._listed("NaN")

    @property
    def infs(self) -> list[Event]:
        """Where infinities were made from finite values."""
        return self._listed("Inf")

    def __repr__(self) -> str:
        return f"<Log of {len(self.cuts)} cuts, {len(self.writes)} writes, {len(self.nans)} NaN, {len(self.infs)} infinities>"

    def __str__(self) -> str:
        titles = (("cuts", "Cut off the graph"), ("writes", "Written to"), ("nans", "NaN"), ("infs", "Infinities"))
        found = [
            f"{title}:\n" + "".join(map(str, getattr(self, name))) for name, title in titles if getattr(self, name)
        ]
        return "".join(found) or "Nothing was seen."

    def _event(self, kind: str, what: str, line: Line | None) -> Event:
        """The event of something that happens here, perhaps not for the first time."""
        event = self._events.setdefault((kind, what, line), Event(what, line))
        event.count += 1
        return event

    # ----- What ops, writes and cuts tell -------------------------------------------------------------------------

    def on_op(self, op: Any, arguments: tuple[Any, ...], go: Any, inplace: bool) -> Any:
        if self._busy or engine.task.get() is not None:
            return go()
        inputs = list(tensors_in(arguments))
        before = _found(inputs[0]._array) if self.checks and inplace else set()
        self._busy = True  # what the op itself is made of is not told
        try:
            result = go()
        finally:
            self._busy = False
        for out in tensors_in(result):
            if self.checks and not op.view:
                for kind in _found(out._array) - before:
                    if not any(kind in _found(t._array) for t in inputs if t is not out):
                        self._on_born(kind, f"{op.public}()", "values", _operands(op, arguments))
            if (node := edge_of(out)[0]) is None:
                self._follow(op, inputs, out)
            else:
                self.on_new_node(node)
        for t in inputs:
            if type(node := edge_of(t)[0]) is AccumulateGrad and node not in self._uses and (line := user_line()):
                self._uses[node] = line
        return result

    def on_new_node(self, node: Node) -> None:
        """Note in a new node which line made it."""
        more = node.extra()
        if "line" not in more:
            more["line"] = user_line()

    def on_node(self, node: Node, grad: Any, run: Any) -> Any:
        """Run a node of the backward graph, and look at what it makes of finite gradients and finite saved values."""
        if not self.checks or getattr(getattr(node, "op", None), "view", False):
            return run(node, grad)
        saved = [(name, value) for name, value, _ in _collect.saved_by(node)]  # running the node frees them
        results = run(node, grad)
        for place, made in enumerate(results):
            for kind in _found(array) if (array := _array_of(made)) is not None else ():
                arrived = [("gradient", one) for one in (grad if isinstance(grad, list) else [grad])]
                known = [(name, array) for name, value in arrived + saved if (array := _array_of(value)) is not None]
                if not any(kind in _found(array) for _, array in known):
                    told = [f"  {name}: {_range(array)}\n" for name, array in known]
                    what = f"{node.name()} (the gradient of its input {place})"
                    self._on_born(kind, what, "a gradient and saved values", told, node.extra().get("line"))
        return results

    def _on_born(self, kind: str, who: str, source: str, operands: list[str], line: Line | None = None) -> None:
        line = line or user_line()
        event = self._event(kind, f"{who} made {kind} from {source} without {kind}", line)
        if self._born[kind] == "raise":
            raise FloatingPointError(f"{event.what}:\n{event.where}{''.join(operands)}".rstrip())

    def _follow(self, op: Any, inputs: list[Tensor], out: Tensor) -> None:
        """Note why a result does not require grad: it was cut off here, or its inputs were before."""
        sources = [t for t in inputs if t.requires_grad]
        if sources:
            why = "has no derivative" if modes.is_grad_enabled() else "ran under no_grad"
            if out._array.dtype.kind not in "fc" and modes.is_grad_enabled():
                why = "gives integers, which have no gradient" if op.public in _CASTS else why
            self.on_cut(sources, out, f"{op.public}() {why}")
            return
        before = [event for t in inputs for event in self.cuts_of(t)]
        if before:
            self._remember_origin(out, tuple(dict.fromkeys(before))[:4])

    def on_backward(self, roots: Sequence[Edge]) -> None:
        """A backward pass begins at these edges."""

    def on_cut(self, sources: Iterable[Tensor], out: Tensor | None, what: str) -> None:
        """`out`, or a Python number, was made from tensors that require grad, and does not."""
        event = self._event("cut", what, user_line())
        nodes = [
            node for t in sources for one in (t, t._base) if one is not None and (node := edge_of(one)[0]) is not None
        ]
        event.leaves.update(node for node in walk(nodes) if type(node) is AccumulateGrad)
        if out is not None:
            self._remember_origin(out, (event,))

    def _remember_origin(self, out: Tensor, events: tuple[Event, ...]) -> None:
        key, origin = id(out), self._origin
        origin[key] = (weakref.ref(out, lambda _: origin.pop(key, None)), events)

    def on_write(self, tensor: Tensor, version: int) -> None:
        event = self._event("write", f"a tensor of shape {list(tensor.shape)} was written to", user_line())
        memory, written = owner(tensor._array), self._written
        key = id(memory)
        if key not in written:
            written[key] = (weakref.ref(memory, lambda _: written.pop(key, None)), {})
        written[key][1][event] = version

    # ----- What errors and `explain` ask ----------------------------------------------------------------------------

    def cuts_of(self, tensor: Tensor) -> tuple[Event, ...]:
        """What cut a tensor, or what it was made from, off the graph."""
        known = self._origin.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else ()

    def cuts_below(self, leaf: Node) -> list[Event]:
        """Where results of a leaf were cut off the graph."""
        return [event for event in self.cuts if leaf in event.leaves]

    def first_use(self, leaf: Node) -> Line | None:
        """The first line that used a leaf."""
        return self._uses.get(leaf)

    def writes_to(self, array: np.ndarray[Any, Any], since: int = 0) -> list[Event]:
        """The lines that wrote to an array's memory after a version."""
        known = self._written.get(id(owner(array)))
        return [] if known is None else [event for event, version in known[1].items() if version > since]

    def why_no_grad(self, tensor: Tensor) -> str:
        """The note of the error that a tensor does not require grad."""
        events = self.cuts_of(tensor)
        if not events:
            return "Nothing that it was made from requires grad, as far as penlight.inspect.watch() has seen."
        return "It was cut off the graph here:\n" + "".join(map(str, events))

    def who_wrote(self, array: np.ndarray[Any, Any], since: int, node: Node | None) -> str:
        """The note of the error that a saved tensor was modified: the line that saved it, and those that wrote to it."""
        line = None if node is None else node.extra().get("line")
        saved = "" if line is None else f"It was saved here, for {node.name()}:\n{line}"  # type: ignore[union-attr]
        lines = [event.where for event in self.writes_to(array, since)]
        written = "It was written to here:\n" + "".join(dict.fromkeys(lines)) if lines else ""
        return saved + (written or "penlight.inspect.watch() has not seen who wrote to it.")


class watch:
    """Inside, errors of autograd say which line of the program is to blame, as a note below PyTorch's words.

    A tensor that does not require grad: the line that cut it off (`detach()`, `item()`, `no_grad`, an op without derivative). A saved tensor
    that was modified: the line that saved it, and the lines that wrote to it. Everything is slower meanwhile. The `Log` that it gives
    lists what was seen, and `inspect.explain` reads it.

    Args:
        nan: "raise" stops with a `FloatingPointError` at the op that makes the first NaN from values without NaN, in the forward pass or
            (then with the line of the forward pass that it belongs to) in the backward pass. "note" lists it in `nans`. "ignore" does not look.
        inf: the same for infinities.
        log: a log of one's own to tell, such as an `inspect.timeline()`.

    >>> x = torch.tensor([1.0, 0.0], requires_grad=True)
    >>> with torch.inspect.watch() as seen:
    ...     y = x.detach() * 2
    >>> print(seen.cuts[0].what)
    detach()
    >>> with torch.inspect.watch(nan="raise"):
    ...     x.log() * 0
    Traceback (most recent call last):
    FloatingPointError: mul() made NaN from values without NaN:
    ...
    """

    def __init__(self, nan: str = "note", inf: str = "ignore", log: Log | None = None) -> None:
        for name, given in (("nan", nan), ("inf", inf)):
            if given not in _CHOICES:
                raise ValueError(f'{name} must be "raise", "note" or "ignore", not {given!r}')
        self._nan, self._inf, self._log = nan, inf, log
        self._outer: list[Any] = []

    def __enter__(self) -> Log:
        global _last
        log = _last = Log(self._nan, self._inf) if self._log is None else self._log
        modes.open_slow_mode()
        self._outer.append(modes.log.set(log))
        return log

    def __exit__(self, *args: object) -> None:
        modes.log.reset(self._outer.pop())
        modes.close_slow_mode()


def current_log() -> Log | None:
    """The log of the `watch()` that is open in this thread, or that was opened last."""
    return modes.log.get() or _last


# ----- Values ---------------------------------------------------------------------------------------------------------

_CASTS = {"to", "type", "long", "int", "short", "char", "byte", "bool", "_to_copy"}


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in a value: itself, or in tuples, lists and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from tensors_in(item)


def _found(array: np.ndarray[Any, Any]) -> set[str]:
    """Whether there is NaN or infinity in an array: a subset of {"NaN", "Inf"}."""
    if array.dtype.kind not in "fcV":
        return set()
    with np.errstate(all="ignore"):
        # A sum is finite only if all that is added is; that of squares comes from BLAS, several times as fast.
        flat = array.reshape(-1) if array.flags.c_contiguous and array.dtype.char in "fd" else None
        if np.isfinite(np.add.reduce(array, axis=None) if flat is None else np.dot(flat, flat)):
            return set()
        kinds = (("NaN", np.isnan), ("Inf", np.isinf))
        return {kind for kind, test in kinds if bool(test(array).any())}


def _array_of(value: Any) -> np.ndarray[Any, Any] | None:
    array = getattr(value, "_array", value)
    return array if isinstance(array, np.ndarray) and array.dtype.kind in "fc" else None


def _operands(op: Any, arguments: tuple[Any, ...]) -> list[str]:
    """The operands of an op, one line each."""
    told = []
    for name, value in zip(op.parameters, arguments):
        if isinstance(value, (bool, int, float, complex)):
            told.append(f"  {name}: {value}\n")
        elif isinstance(value, Tensor):
            told.append(f"  {name}: {_range(value._array)}\n")
    return told


def _range(array: np.ndarray[Any, Any]) -> str:
    """What an array holds: its shape, its extremes, how many zeros, infinities and NaN."""
    text = _collect.size_of(array)
    if not array.size or array.dtype.kind not in "fiu":
        return text
    with np.errstate(all="ignore"):
        finite = array[np.isfinite(array)] if array.dtype.kind == "f" else array
    if finite.size:
        low, high = finite.min().item(), finite.max().item()
        text += f", {low:.4g}" if low == high else f", from {low:.4g} to {high:.4g}"
    counts = {"zero": (array == 0).sum(), "infinite": np.isinf(array).sum(), "NaN": np.isnan(array).sum()}
    return text + "".join(f", {count} {what}" for what, count in counts.items() if count)


def owner(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array that owns this array's memory."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
