"""What a program did, line by line: which cut the graph, which wrote to a tensor that backward needed, which made the first NaN.

# Note [The log]
While `watch()` is open this thread has a listener, and a slow mode makes every op ask for it (see autograd/modes.py). Ops, writes and cuts tell
it their tensors, and the engine its nodes. A `Log` keeps the user's line of each, and refers to tensors and nodes weakly, so that it
keeps no memory alive. What happens at one line again and again is one event with a count. The errors of autograd ask the log before they are
raised, and carry its answer as a note; `explain` asks the log that is open, or that was opened last.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence, Set
from typing import Any

from .._common.user_lines import Line, entered, user_line
from ..autograd import engine, modes
from ..autograd.node import AccumulateGrad, Edge, Node, walk
from ..autograd.views import edge_of
from ..tensor import Tensor
from .values import Array, array_of, contents, held_by, not_finite, owner, saved_by, tensors_in

_CASTS = {"to", "type", "long", "int", "short", "char", "byte", "bool"}
_NOTHING: frozenset[str] = frozenset()


class Listener:
    """What is told of a program while `watch(log=...)` is open. This one does nothing with it."""

    sees_nodes = False  # whether the engine calls `on_node`: such a pass is slower

    @property
    def log(self) -> Log | None:
        """Who answers the questions of errors and of `explain`."""
        return None

    def on_op(self, op: Any, arguments: tuple[Any, ...], go: Any, inplace: bool) -> Any:
        """An op is called: `go()` runs it."""
        return go()

    def on_node(self, node: Node, grad: Any, run: Any) -> Any:
        """A node of the backward graph is to run: `run(node, grad)` does that."""
        return run(node, grad)

    def on_new_node(self, node: Node) -> None:
        """A node was made."""

    def on_backward(self, roots: Sequence[Edge]) -> None:
        """A backward pass begins at these edges."""

    def on_cut(self, sources: Iterable[Tensor], out: Tensor | None, what: str) -> None:
        """`out`, or a Python number, was made from tensors that require grad, and does not."""

    def on_write(self, tensor: Tensor, version: int) -> None:
        """A tensor was written to, and is at this version now."""


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


class Log(Listener):
    """What `watch` has seen: `cuts` of the graph, `writes` to memory, `nans` and `infs` that were made from finite values.

    >>> with torch.inspect.watch(nan="note") as seen:
    ...     y = torch.zeros(1) / 0
    >>> seen
    <Log of 0 cuts, 0 writes, 1 NaN, 0 infinities>
    """

    def __init__(self, nan: str = "ignore", inf: str = "ignore") -> None:
        self._events: dict[tuple[str, str | tuple[int, ...], Line | None], Event] = {}
        self._born = {"NaN": nan, "Inf": inf}
        self._made: dict[
            int, tuple[Any, Line | None, tuple[Event, ...]]
        ] = {}  # of results without grad: where, and their cuts
        self._written: dict[
            int, tuple[Any, dict[Event, int]]
        ] = {}  # of memory: its writes, and the last version of each
        self._uses: weakref.WeakKeyDictionary[Node, Line | None] = weakref.WeakKeyDictionary()  # the first use of each
        self._reached: weakref.WeakKeyDictionary[Node, Line | None] = (
            weakref.WeakKeyDictionary()
        )  # its last backward pass
        self._busy = False
        self.sees_nodes = nan != "ignore" or inf != "ignore"

    @property
    def log(self) -> Log:
        return self

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

    def _event(self, kind: str, what: str | tuple[int, ...], line: Line | None) -> Event:
        """The event of something that happens here, perhaps not for the first time. Of a write `what` is the shape."""
        key = (kind, what, line)
        event = self._events.get(key)
        if event is None:
            words = what if isinstance(what, str) else f"a tensor of shape {[*what]} was written to"
            event = self._events[key] = Event(words, line)
        event.count += 1
        return event

    # ----- What it is told --------------------------------------------------------------------------------------------

    def on_op(self, op: Any, arguments: tuple[Any, ...], go: Any, inplace: bool) -> Any:
        if self._busy or engine.task.get() is not None:
            return go()
        inputs = tensors_in(arguments)
        before = not_finite(inputs[0]._array) if self.sees_nodes and inplace else _NOTHING
        self._busy = True  # what the op itself is made of is not told
        try:
            result = go()
        finally:
            self._busy = False
        outs, line = tensors_in(result), user_line()
        if self.sees_nodes and not _keeps_finite(op):
            # The later results of a private op are what its derivative needs: CTC's has -inf for what can't be.
            for out in outs[:1] if op.name.startswith("_") else outs:
                if kinds := not_finite(out._array):
                    self._on_made(kinds - before, op, arguments, [t for t in inputs if t is not out], line)
        cut = []
        for index, out in enumerate(outs):
            node = edge_of(out)[0]
            if node is None:
                cut.append((index, out))
            else:
                node.extra().setdefault("line", line)
        for index, out in cut:
            if len(cut) == len(outs):
                self._follow(op, inputs, out, line)
            else:  # such as the indices that sort() gives
                self._note_made(out, line, (Event(f"result {index} of {op.public}() has no derivative", line),))
        for t in inputs:
            if type(leaf := edge_of(t)[0]) is AccumulateGrad and leaf not in self._uses:
                self._uses[leaf] = line
        return result

    def _on_made(self, kinds: Set[str], op: Any, arguments: Any, inputs: list[Tensor], line: Line | None) -> None:
        """An op has made what is not finite: tell of it, unless it only hands that on."""
        for kind in kinds:
            if not any(kind in not_finite(t._array) for t in inputs):
                self._on_born(kind, f"{op.public}()", "values", _operands(op, arguments), line)

    def on_new_node(self, node: Node) -> None:
        node.extra().setdefault("line", user_line())

    def on_node(self, node: Node, grad: Any, run: Any) -> Any:
        """Look at what a node makes of finite gradients and finite saved values."""
        if not self.sees_nodes or _keeps_finite(getattr(node, "op", None)):
            return run(node, grad)
        held = held_by(node)  # running the node frees it
        results = run(node, grad)
        for index, made in enumerate(results):
            if made is not None and made is not grad and (array := array_of(made)) is not None:
                if kinds := not_finite(array):
                    self._on_gradient(kinds, node, index, grad, held)
        return results

    def _on_gradient(self, kinds: Set[str], node: Node, index: int, grad: Any, held: dict[str, Any]) -> None:
        """A node has made what is not finite: tell of it, unless it only hands that on."""
        arrived = [("gradient", one, False) for one in (grad if isinstance(grad, list) else [grad])]
        values = [*arrived, *saved_by(node, held)]
        known = [(name, array) for name, value, _ in values if (array := array_of(value)) is not None]
        for kind in kinds:
            if not any(kind in not_finite(array) for _, array in known):
                told = [f"  {name}: {contents(array)}\n" for name, array in known]
                what = f"{node.name()} (the gradient of its input {index})"
                self._on_born(kind, what, "a gradient and saved values", told, node.extra().get("line"))

    def _on_born(self, kind: str, who: str, source: str, operands: list[str], line: Line | None) -> None:
        event = self._event(kind, f"{who} made {kind} from {source} without {kind}", line or user_line())
        if self._born[kind] == "raise":
            raise FloatingPointError(f"{event.what}:\n{event.where}{''.join(operands)}".rstrip())

    def _follow(self, op: Any, inputs: list[Tensor], out: Tensor, line: Line | None) -> None:
        """Note where a result without grad was made, and why it has none: it was cut off here, or its inputs were before."""
        sources = [t for t in inputs if t.requires_grad]
        if sources:
            why = "has no derivative" if modes.is_grad_enabled() else "ran under no_grad"
            self._cut(sources, out, f"{op.public}() {why}", line)
        else:
            cuts = dict.fromkeys(event for t in inputs for event in self.cuts_of(t))
            self._note_made(out, line, tuple(cuts)[:4])

    def _note_made(self, out: Tensor, line: Line | None, cuts: tuple[Event, ...]) -> None:
        key, made = id(out), self._made
        made[key] = (weakref.ref(out, lambda _: made.pop(key, None)), line, cuts)

    def on_backward(self, roots: Sequence[Edge]) -> None:
        line = user_line()
        for node in walk([root for root, _ in roots if root is not None]):
            if type(node) is AccumulateGrad:
                self._reached[node] = line

    def on_cut(self, sources: Iterable[Tensor], out: Tensor | None, what: str) -> None:
        if what in ("detach()", ".data") and (name := entered()) not in ("detach", "data"):
            if name not in _CASTS:
                return  # a part of something else, which is told by itself
            what = f"{name}() gives integers, which have no gradient"
        self._cut(sources, out, what, user_line())

    def _cut(self, sources: Iterable[Tensor], out: Tensor | None, what: str, line: Line | None) -> None:
        event = self._event("cut", what, line)
        nodes = [
            node for t in sources for one in (t, t._base) if one is not None and (node := edge_of(one)[0]) is not None
        ]
        event.leaves.update(node for node in walk(nodes) if type(node) is AccumulateGrad)
        if out is not None:
            self._note_made(out, event.line, (event,))

    def on_write(self, tensor: Tensor, version: int) -> None:
        event = self._event("write", tensor._array.shape, user_line())
        memory, written = owner(tensor._array), self._written
        key = id(memory)
        if key not in written:
            written[key] = (weakref.ref(memory, lambda _: written.pop(key, None)), {})
        written[key][1][event] = version

    # ----- What errors and `explain` ask ------------------------------------------------------------------------------

    def line_of(self, tensor: Tensor) -> Line | None:
        """Where a result without grad was made."""
        known = self._made.get(id(tensor))
        return known[1] if known is not None and known[0]() is tensor else None

    def cuts_of(self, tensor: Tensor) -> tuple[Event, ...]:
        """What cut a tensor, or what it was made from, off the graph."""
        known = self._made.get(id(tensor))
        return known[2] if known is not None and known[0]() is tensor else ()

    def cuts_below(self, leaf: Node) -> list[Event]:
        """Where results of a leaf were cut off the graph."""
        return [event for event in self.cuts if leaf in event.leaves]

    def first_use(self, leaf: Node) -> Line | None:
        """The first line that used a leaf."""
        return self._uses.get(leaf)

    def last_pass(self, leaf: Node) -> Line | None:
        """The line of the last backward pass that reached a leaf."""
        return self._reached.get(leaf)

    def writes_to(self, array: Array, since: int = 0) -> list[Event]:
        """The lines that wrote to an array's memory after a version."""
        known = self._written.get(id(owner(array)))
        return [] if known is None else [event for event, version in known[1].items() if version > since]

    def why_no_grad(self, tensor: Tensor) -> str:
        """The note of the error that a tensor does not require grad."""
        events = self.cuts_of(tensor)
        if not events:
            return "Nothing that it was made from requires grad, as far as penlight.inspect.watch() has seen."
        return "It was cut off the graph here:\n" + "".join(map(str, events)).rstrip()

    def who_wrote(self, array: Array, since: int, node: Node | None) -> str:
        """The note of the error that a saved tensor was modified: the line that saved it, and those that wrote to it."""
        line = None if node is None else node.extra().get("line")
        saved = "" if line is None else f"It was saved here, for {node.name()}:\n{line}"  # type: ignore[union-attr]
        lines = [event.where for event in self.writes_to(array, since)]
        written = "It was written to here:\n" + "".join(dict.fromkeys(lines)) if lines else ""
        return (saved + (written or "penlight.inspect.watch() has not seen who wrote to it.")).rstrip()


def _keeps_finite(op: Any) -> bool:
    """Whether an op and its rules make nothing of finite values that is not: views only move them. A custom function has no op."""
    return op is not None and bool(op.view or op.traits.keeps_finite)


def _operands(op: Any, arguments: tuple[Any, ...]) -> list[str]:
    """The operands of an op, one line each."""
    told = []
    for name, value in zip(op.parameters, arguments):
        if isinstance(value, (bool, int, float, complex)):
            told.append(f"  {name}: {value}\n")
        elif isinstance(value, Tensor):
            told.append(f"  {name}: {contents(value._array)}\n")
    return told
