"""Records what each line of a program did to autograd: cut the graph, overwrote a tensor that backward needed, made the first NaN.

# Note [The log]
While `watch()` is open, this thread has a listener, and a slow mode makes every op look it up (see autograd/modes.py). Ops, writes and cuts
report their tensors to it, and the engine reports its nodes. A `Log` stores the user's line for each, and refers to tensors and nodes weakly,
so that it keeps no memory alive. Repeated events at one line become one event with a count. Autograd consults the log before it raises an
error, and attaches the answer to the error as a note; `explain` reads the open log, or the one opened last.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence, Set
from functools import partial
from typing import Any

from numpy import ndarray

from .._common.user_lines import Line, entered, user_line
from ..autograd import modes
from ..autograd.engine import task as running_pass
from ..autograd.node import NO_EDGE, AccumulateGrad, Edge, Node, walk
from ..ops.machinery.rules import PackedFit
from ..tensor import Tensor
from .values import (
    Array,
    array_of,
    contents,
    held_by,
    kinds_in,
    not_finite,
    owner,
    run_noting_unpacked,
    saved_by,
    tensors_in,
)

_WRITTEN = "It was written to here"
_CASTS = {"to", "type", "long", "int", "short", "char", "byte", "bool"}
_NOTHING: frozenset[str] = frozenset()
# Stands for the edge of a view whose base was written to: it is made when the program asks for it (Note [Stale edges] in autograd/views.py).
_UNKNOWN: Edge = (None, 0)


class Listener:
    """Receives the events of a program while `watch(log=...)` is open. This base class ignores them all."""

    sees_nodes = False  # whether the engine calls `on_node`, which makes the backward pass slower
    alone = False  # whether to silence the listeners that are already open

    @property
    def log(self) -> Log | None:
        """The log that error notes and `explain` read."""
        return None

    def on_op(self, op: Any, arguments: tuple[Any, ...], go: Any, inplace: bool) -> Any:
        """An op is called: `go()` runs it."""
        return go()

    def on_forward(self, function: Any, inputs: list[Tensor], go: Any) -> Any:
        """The forward of a custom function is called, and will be a node of the graph: `go()` runs it, outside of the graph."""
        return go()

    def on_node(self, node: Node, grad: Any, run: Any) -> Any:
        """A node of the backward graph is about to run: `run(node, grad)` runs it."""
        return run(node, grad)

    def on_new_node(self, node: Node) -> None:
        """A node was made."""

    def on_backward(self, roots: Sequence[Edge], leaves: Iterable[Node]) -> None:
        """A backward pass begins at these edges, and reaches these leaves."""

    def on_cut(self, sources: Iterable[Tensor], out: Tensor | None, what: str) -> None:
        """`out`, or a Python scalar (None), was computed from tensors that require grad, but does not require grad."""

    def on_write(self, tensors: Sequence[Tensor]) -> None:
        """Tensors were written to; their versions are already updated."""


class Listeners(Listener):
    """Forwards every event to several listeners."""

    def __init__(self, each: list[Listener]) -> None:
        self.each, self.sees_nodes = each, any(one.sees_nodes for one in each)

    @property
    def log(self) -> Log | None:
        return next((one.log for one in self.each if one.log is not None), None)

    def on_op(self, op: Any, arguments: tuple[Any, ...], go: Any, inplace: bool) -> Any:
        for one in self.each:
            go = partial(one.on_op, op, arguments, go, inplace)
        return go()

    def on_forward(self, function: Any, inputs: list[Tensor], go: Any) -> Any:
        for one in self.each:
            go = partial(one.on_forward, function, inputs, go)
        return go()

    def on_node(self, node: Node, grad: Any, run: Any) -> Any:
        for one in self.each:
            run = partial(_run_node, one, run)
        return run(node, grad)

    def on_new_node(self, node: Node) -> None:
        for one in self.each:
            one.on_new_node(node)

    def on_backward(self, roots: Sequence[Edge], leaves: Iterable[Node]) -> None:
        for one in self.each:
            one.on_backward(roots, leaves)

    def on_cut(self, sources: Iterable[Tensor], out: Tensor | None, what: str) -> None:
        for one in self.each:
            one.on_cut(sources, out, what)

    def on_write(self, tensors: Sequence[Tensor]) -> None:
        for one in self.each:
            one.on_write(tensors)


def _run_node(listener: Listener, run: Any, node: Node, grad: Any) -> Any:
    return listener.on_node(node, grad, run)


class _ByIdentity(dict[int, tuple[Any, Any]]):
    """Maps objects, by identity, to values. An entry disappears with its object."""

    def put(self, key: Any, value: Any) -> Any:
        number = id(key)
        self[number] = (weakref.ref(key, lambda _: self.pop(number, None)), value)
        return value

    def of(self, key: Any) -> Any:
        known = self.get(id(key))
        return known[1] if known is not None and known[0]() is key else None


class Event:
    """Something that happened at a line of the program: `what` happened, at which `line`, `by` which op (of a write), and how often (`count`).

    >>> with torch.inspect.watch() as seen:
    ...     y = torch.ones(1, requires_grad=True).detach()
    >>> seen.cuts[0].what, seen.cuts[0].count
    ('detach()', 1)
    """

    __slots__ = ("__weakref__", "by", "count", "leaves", "line", "used", "what", "written")

    def __init__(self, what: str, line: Line | None, by: str = "") -> None:
        self.what, self.line, self.count, self.by = what, line, 0, by
        self.written = self.used = False  # for a cut: whether its result was written to, and whether an op read it
        self.leaves: weakref.WeakSet[Node] = weakref.WeakSet()  # for a cut: leaves that it separates

    @property
    def where(self) -> str:
        """The line, as in a traceback."""
        return "" if self.line is None else str(self.line)

    @property
    def told(self) -> str:
        """What happened, and how often."""
        return f"{self.what} ({self.count} times)" if self.count > 1 else self.what

    def __str__(self) -> str:
        return f"{self.told}:\n{self.where}"

    def __repr__(self) -> str:
        return f"<{self.what}{'' if self.line is None else ' at ' + self.line.short}>"


class Log(Listener):
    """What `watch` has seen: `cuts` of the graph, `writes` to memory, `nans` and `infs` that ops made from finite values.

    >>> with torch.inspect.watch(nan="note") as seen:
    ...     y = torch.zeros(1) / 0
    >>> seen
    <Log of cuts: 0, writes: 0, NaN: 1, infinities: 0>
    """

    def __init__(self, nan: str = "ignore", inf: str = "ignore") -> None:
        self._events: dict[tuple[Any, ...], Event] = {}
        self._born = {"NaN": nan, "Inf": inf}
        self._made = _ByIdentity()  # results without grad: their line and their cuts
        self._underived: dict[tuple[Any, ...], tuple[Event, ...]] = {}  # results without derivative, by op and line
        self._written = _ByIdentity()  # memory: its writes, and the last version of each
        self._updated = _ByIdentity()  # parameters: the kinds that an optimiser made in them
        self._uses = _ByIdentity()  # leaves: the first line that used each
        self._reached = _ByIdentity()  # leaves: the line of the last backward pass
        self._running: tuple[Any, bool] | None = None  # the running op, and whether it is in-place
        self._newest = next(modes.sequence)  # the newest node it was told of: `extra()` of a newer one is empty
        self._forwards = 0  # how many forwards of custom functions are running
        self.sees_nodes = nan != "ignore" or inf != "ignore"

    @property
    def log(self) -> Log:
        return self

    def _listed(self, kind: str) -> list[Event]:
        return [event for (each, *_), event in self._events.items() if each == kind]

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
        return f"<Log of cuts: {len(self.cuts)}, writes: {len(self.writes)}, NaN: {len(self.nans)}, infinities: {len(self.infs)}>"

    def __str__(self) -> str:
        titles = (("cuts", "Cut off the graph"), ("writes", "Written to"), ("nans", "NaN"), ("infs", "Infinities"))
        found = [
            f"{title}:\n" + "".join(map(str, getattr(self, name))) for name, title in titles if getattr(self, name)
        ]
        return "".join(found) or "Nothing was seen."

    def _event(self, kind: str, what: str | tuple[int, ...], line: Line | None) -> Event:
        """Return the event for this line, with its count increased, or a new one. For a write, `what` is the shape."""
        op = self._running
        key = (kind, what, line, op)
        event = self._events.get(key)
        if event is None:
            words = what if isinstance(what, str) else f"a tensor of shape {[*what]} was written to"
            event = self._events[key] = Event(words, line, "" if op is None else _call_of(*op))
        event.count += 1
        return event

    # ----- What it is told --------------------------------------------------------------------------------------------

    def on_op(self, op: Any, arguments: tuple[Any, ...], go: Any, inplace: bool) -> Any:
        if self._running is not None or running_pass.get() is not None:
            return go()
        inputs = [arguments[0]] if op.view else tensors_in(arguments)
        looks = self.sees_nodes and "op" not in op.keeps_finite
        before = not_finite(inputs[0]._array) if looks and inplace and inputs else _NOTHING
        self._running = op, inplace
        try:
            result = go()
        finally:
            self._running = None
        line = user_line(3)  # called by `enter` or `rewrite`, which a generated function called
        # Extra results that only the derivative rules use may be infinite: CTC marks impossible paths by -inf.
        outs = (result,) if type(result) is Tensor else tensors_in(result)[: op.traits.returned or None]
        if looks:
            for out in outs:
                if kinds := not_finite(out._array):
                    self._on_made(kinds - before, op, arguments, inputs, out if inplace else None, line)
        uses, made = self._uses, self._made
        if inplace:
            for event in self.cuts_of(arguments[0]):
                event.written = True
        for t in inputs[1:] if inplace else inputs:
            leaf = getattr(t, "_edge", _UNKNOWN)[0]
            if leaf is None:
                if id(t) in made:
                    for event in self.cuts_of(t):
                        event.used = True
            elif type(leaf) is AccumulateGrad and id(leaf) not in uses:
                if modes.is_grad_enabled() or not op.view:  # views under no_grad initialise: `weight[0] = 0`
                    uses.put(leaf, line)
        cut = []
        for out in outs:
            edge = getattr(out, "_edge", _UNKNOWN)
            node = edge[0]
            if node is None:
                if edge is not _UNKNOWN:
                    cut.append(out)
            elif node.seq > self._newest and not inplace:
                self._newest, node._more = node.seq, {"line": line}
            else:
                node.extra().setdefault("line", line)
        if cut:
            self._on_cut_off(cut, op, inputs, outs, line)
        return result

    def on_forward(self, function: Any, inputs: list[Tensor], go: Any) -> Any:
        self._forwards += 1
        try:
            result = go()
        finally:
            self._forwards -= 1
        line = user_line()
        for index, out in enumerate(result if isinstance(result, tuple) else (result,)):
            if isinstance(out, Tensor) and out._edge is NO_EDGE:
                sources = [t for t in inputs if t.requires_grad]
                self._cut(sources, out, f"result {index} of {function.__name__} has no derivative", line)
        return result

    def _on_cut_off(
        self, cut: list[Tensor], op: Any, inputs: list[Tensor], outs: Sequence[Tensor], line: Line | None
    ) -> None:
        """Record that some or all results of an op are not in the graph."""
        for out in cut:
            if len(cut) == len(outs):
                self._follow(op, inputs, out, line)
            else:  # such as the indices of sort()
                index = next(i for i, one in enumerate(outs) if one is out)
                key = op, index, line
                if (cuts := self._underived.get(key)) is None:
                    cuts = self._underived[key] = (Event(f"result {index} of {op.public}() has no derivative", line),)
                self._made.put(out, (line, cuts))

    def _on_made(
        self, kinds: Set[str], op: Any, arguments: Any, inputs: list[Tensor], written: Any, line: Line | None
    ) -> None:
        """Record that an op made NaN or infinity, unless it only copied it from an input, such as the -inf of `masked_fill(mask, -inf)`."""
        given = [t for t in inputs if t is not written] + [v for v in arguments if isinstance(v, (float, complex))]
        for kind in kinds:
            if not any(kind in kinds_in(value) for value in given):
                name = _call_of(op, written is not None)
                self._on_born(kind, name, "values", _operands(op, arguments, written), line)

    def on_new_node(self, node: Node) -> None:
        line = user_line(3)  # called by `announce`, which a function of ours called
        self._newest = max(self._newest, node.seq)
        node.extra().setdefault("line", line)
        for leaf, _ in node.next_functions:
            if type(leaf) is AccumulateGrad and id(leaf) not in self._uses:
                self._uses.put(leaf, line)

    def on_node(self, node: Node, grad: Any, run: Any) -> Any:
        """Run a node, and record NaN or infinity that it makes from finite gradients and finite saved values."""
        op = getattr(node, "op", None)  # a custom function has none
        try:
            if not self.sees_nodes or (op is not None and "rules" in op.keeps_finite):
                return run(node, grad)
            held = held_by(node)  # running the node frees it
            if type(node._fit) is PackedFit:  # type: ignore[attr-defined]  # a slot
                results = run_noting_unpacked(run, node, grad, held)
            else:
                results = run(node, grad)
        except RuntimeError as error:  # a rule that refused an index does not know its node
            notes = getattr(error, "__notes__", None)
            if notes and notes[-1].startswith(_WRITTEN):
                notes[-1] = _saved_at(node) + notes[-1]
            raise
        for index, made in enumerate(results):
            if made is None or made is grad:
                continue
            array = made if type(made) is ndarray else array_of(made)
            if array is not None and (kinds := not_finite(array)):
                self._on_gradient(kinds, node, index, grad, held)
        return results

    def _on_gradient(self, kinds: Set[str], node: Node, index: int, grad: Any, held: dict[str, Any]) -> None:
        """Record that a node made NaN or infinity, unless it only copied it from its inputs."""
        arrived = [("gradient", one, False) for one in (grad if isinstance(grad, list) else [grad])]
        values = [*arrived, *saved_by(node, held)]
        known = [(name, array) for name, value, _ in values if (array := array_of(value)) is not None]
        for kind in kinds:
            if not any(kind in kinds_in(value) for _, value, _ in values):
                told = [f"  {name}: {contents(array)}\n" for name, array in known]
                what = f"{node.name()} (the gradient of its input {index})"
                self._on_born(kind, what, "a gradient and saved values", told, node.extra().get("line"))

    def _on_born(self, kind: str, who: str, source: str, operands: list[str], line: Line | None) -> None:
        if self._born[kind] == "ignore":
            return
        event = self._event(kind, f"{who} made {kind} from {source} without {kind}", line or user_line())
        if self._born[kind] == "raise":
            raise FloatingPointError(f"{event.what}:\n{event.where}{''.join(operands)}".rstrip())

    def _follow(self, op: Any, inputs: list[Tensor], out: Tensor, line: Line | None) -> None:
        """Record where a result without grad was made, and why: either this op cut it off, or its inputs were cut off before."""
        sources = [t for t in inputs if t.requires_grad]
        if sources:
            mode = "inference_mode" if modes.inference.get() else "no_grad"
            why = "has no derivative" if modes.is_grad_enabled() else f"ran under {mode}"
            self._cut(sources, out, f"{op.public}() {why}", line)
        else:
            cuts: tuple[Event, ...] = ()
            for t in inputs:
                if (known := self.cuts_of(t)) and known != cuts:
                    cuts = tuple(dict.fromkeys(cuts + known))[:4]
            self._made.put(out, (line, cuts))

    def on_backward(self, roots: Sequence[Edge], leaves: Iterable[Node]) -> None:
        line, reached = user_line(), self._reached
        for leaf in leaves:
            if reached.of(leaf) is not line:
                reached.put(leaf, line)

    def on_cut(self, sources: Iterable[Tensor], out: Tensor | None, what: str) -> None:
        if what in ("detach()", ".data") and (name := entered()) not in ("detach", "data"):
            if name not in _CASTS:
                return  # part of another call, which is reported separately
            what = f"{name}() gives integers, which have no gradient"
        self._cut(sources, out, what, user_line())

    def _cut(self, sources: Iterable[Tensor], out: Tensor | None, what: str, line: Line | None) -> None:
        if self._forwards:
            return  # the function stands in the graph for what its forward runs
        event = self._event("cut", what, line)
        nodes = [
            node
            for t in sources
            for one in (t, t._base)
            if one is not None and (node := getattr(one, "_edge", _UNKNOWN)[0]) is not None
        ]
        event.leaves.update(node for node in walk(nodes) if type(node) is AccumulateGrad)
        if out is not None:
            self._made.put(out, (event.line, (event,)))

    def on_write(self, tensors: Sequence[Tensor]) -> None:
        line, written = user_line(), self._written
        events: dict[tuple[int, ...], Event] = {}  # an optimiser writes to many tensors of a few shapes
        for tensor in tensors:
            array = tensor._array
            shape = array.shape
            if shape in events:
                event = events[shape]
                event.count += 1
            else:
                event = events[shape] = self._event("write", shape, line)
            memory = array if array.base is None else owner(array)
            known = written.get(id(memory))
            versions = written.put(memory, {}) if known is None else known[1]
            versions[event] = tensor._vc[0]  # type: ignore[index]  # of a tensor that has a version
        if self.sees_nodes and self._running is None:
            for tensor in tensors:
                if tensor.requires_grad and (kinds := not_finite(tensor._array)):
                    self._on_updated(tensor, kinds, line)

    def _on_updated(self, parameter: Tensor, kinds: Set[str], line: Line | None) -> None:
        """Record that an optimiser made NaN or infinity in a parameter, once, and unless its gradient has it."""
        known = self._updated.of(parameter) or self._updated.put(parameter, set())
        for kind in kinds - known - kinds_in(parameter.grad):
            known.add(kind)
            operands = [("gradient", parameter.grad), ("parameter after the step", parameter)]
            told = [f"  {name}: {contents(t._array)}\n" for name, t in operands if t is not None]
            self._on_born(kind, "step() of an optimiser", "gradients", told, line)

    # ----- What errors and `explain` ask ------------------------------------------------------------------------------

    def line_of(self, tensor: Tensor) -> Line | None:
        """The line that made a result without grad."""
        known = self._made.of(tensor)
        return None if known is None else known[0]

    def cuts_of(self, tensor: Tensor) -> tuple[Event, ...]:
        """The events that cut a tensor, or its inputs, off the graph."""
        known = self._made.of(tensor)
        return () if known is None else known[1]

    def cuts_below(self, leaf: Node) -> list[Event]:
        """Where results of a leaf were cut off the graph. A view that is only written to (`weight.data.normal_()`) does not count."""
        return [event for event in self.cuts if leaf in event.leaves and (event.used or not event.written)]

    def first_use(self, leaf: Node) -> Line | None:
        """The first line that used a leaf."""
        return self._uses.of(leaf)

    def last_pass(self, leaf: Node) -> Line | None:
        """The line of the last backward pass that reached a leaf."""
        return self._reached.of(leaf)

    def writes_to(self, array: Array, since: int = 0) -> list[Event]:
        """The lines that wrote to an array's memory after a version."""
        known = self._written.of(owner(array)) or {}
        return [event for event, version in known.items() if version > since]

    def why_no_grad(self, tensor: Tensor) -> str:
        """The note for the error "does not require grad"."""
        events = self.cuts_of(tensor)
        if not events:
            return "Nothing that it was made from requires grad, as far as penlight.inspect.watch() has seen."
        return "It was cut off the graph here:\n" + "".join(map(str, events)).rstrip()

    def who_wrote(self, array: Array, since: int, node: Node | None) -> str:
        """The note for the error that a saved tensor was modified: the line that saved it, and the lines that wrote to it."""
        saved = "" if node is None else _saved_at(node)
        lines = [
            f"{_WRITTEN}{', by ' * bool(event.by)}{event.by}:\n{event.where}" for event in self.writes_to(array, since)
        ]
        written = "".join(dict.fromkeys(lines))
        return (saved + (written or "penlight.inspect.watch() has not seen who wrote to it.")).rstrip()


def _saved_at(node: Node) -> str:
    line = node.extra().get("line")
    return "" if line is None else f"It was saved here, for {node.name()}:\n{line}"


def _call_of(op: Any, inplace: bool) -> str:
    """An op's name as a call: `add()` or `add_()`."""
    return f"{op.public}_()" if inplace else f"{op.public}()"


def _operands(op: Any, arguments: tuple[Any, ...], written: Any) -> list[str]:
    """The operands of an op, one line each."""
    told = []
    for name, value in zip(op.parameters, arguments):
        if isinstance(value, (bool, int, float, complex)):
            told.append(f"  {name}: {value}\n")
        elif isinstance(value, Tensor):
            when = " after the write" if value is written else ""
            told.append(f"  {name}{when}: {contents(value._array)}\n")
    return told
