"""Assigns boxes to modules, so that a large picture can be folded by module.

# Note [Whose node is it]
A node does not know which module created it. With `record`, it belongs to the innermost module call during which it was created; the second
call of a module is a separate box, `path:2`, and so are the calls inside it. Without `record`, parameters decide: a node that uses a module's
parameters belongs to that module, and a node created between two such nodes belongs to the common prefix of their
paths: the softmax between `blocks.0.attn.qkv` and `blocks.0.attn.proj` belongs to `blocks.0.attn`. A second call is then detected
only if another module ran in between; consecutive calls become one box.

A module whose nodes were created in several runs, with others in between, is not folded, because its box would be part of a cycle: in
`for layer in layers: x = relu(layer(x))` each `layers.0` is a box, and `layers` is none.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Any

from ..autograd.modes import sequence
from .draw import Box, Drawing, Link


class record:
    """A context manager that records which nodes each module of a model creates, for `draw(..., calls=...)`.

    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU())
    >>> with torch.inspect.record(model) as calls:
    ...     result = model(torch.ones(1, 2))
    >>> drawing = torch.inspect.draw(result.sum(), params=model, calls=calls)
    >>> {box.title: box.module for box in drawing.boxes if box.kind == "node"}["ReluBackward0"]
    '1'
    """

    def __init__(self, model: Any) -> None:
        if not hasattr(model, "named_modules"):
            raise TypeError(f"record() takes a module, not {type(model).__name__}")
        self.model = model
        self.spans: list[_Call] = []
        self._open: list[_Call] = []
        self._handles: list[Any] = []

    def __enter__(self) -> record:
        for path, module in self.model.named_modules():
            self._handles.append(module.register_forward_pre_hook(self._enter(path)))
            self._handles.append(module.register_forward_hook(self._leave, always_call=True))
        return self

    def __exit__(self, *exception: object) -> None:
        while self._handles:
            self._handles.pop().remove()

    def _enter(self, path: str) -> Any:
        def hook(module: Any, arguments: Any) -> None:
            self._open.append(_Call(path, self._open[-1] if self._open else None))
            self.spans.append(self._open[-1])

        return hook

    def _leave(self, module: Any, arguments: Any, result: Any) -> None:
        self._open.pop().last = next(sequence)

    def owners(self, numbers: Iterable[int]) -> dict[int, str]:
        """The name of the innermost call that created each node, by the node's sequence number."""
        inner = {}
        for number in numbers:
            inside = [call for call in self.spans if call.first <= number < call.last]
            if inside:
                inner[number] = max(inside, key=lambda call: call.first)
        met = {call for each in inner.values() for call in each.and_outer()}
        names = dict(zip(calls := sorted(met, key=lambda call: call.first), _names(calls)))
        return {number: names[call] for number, call in inner.items()}

    def names(self) -> list[str]:
        """The names of all calls, in the order in which they began."""
        return _names(self.spans)


def _names(calls: list[_Call]) -> list[str]:
    """The names of calls: module paths, numbered from the second call on, nested in the names of the enclosing calls."""
    names: dict[_Call | None, str] = {None: ""}
    count: dict[str, int] = {}
    for call in calls:
        name = call.named(names[call.outer])
        count[name] = count.get(name, 0) + 1
        names[call] = f"{name}:{count[name]}" if name and count[name] > 1 else name
    return [names[call] for call in calls]


class _Call:
    """One call of a module: the sequence numbers of the nodes created during it, its path, and the enclosing call."""

    __slots__ = ("first", "last", "outer", "path")

    def __init__(self, path: str, outer: _Call | None) -> None:
        self.path, self.outer = path, outer
        self.first = self.last = next(sequence)

    def and_outer(self) -> Iterator[_Call]:
        """This call and its enclosing calls."""
        call: _Call | None = self
        while call is not None:
            yield call
            call = call.outer

    def named(self, outer: str) -> str:
        """Its path, with the enclosing call's path replaced by that call's name."""
        prefix = "" if self.outer is None else self.outer.path
        return outer + self.path[len(prefix) :] if prefix and self.path.startswith(prefix + ".") else self.path


def _guessed_calls(paths: list[str]) -> list[str]:
    """Guess the calls from the order in which modules' parameters were used. A new call of a module begins where a submodule that has already
    run runs again after something outside the module."""
    names: list[str] = []
    count: dict[str, int] = {}
    ran: dict[str, set[str]] = {}
    before: list[str] = []
    for path in paths:
        words, name, inside = path.split("."), "", True
        for depth, word in enumerate(words):
            inside = inside and before[depth : depth + 1] == [word]
            plain, part = f"{name}.{word}" if name else word, ".".join(words[depth + 1 :])
            name = f"{plain}:{count[plain]}" if plain in count else plain
            if path and not inside and part in ran.get(name, ()):
                count[plain] = count.get(plain, 1) + 1
                name = f"{plain}:{count[plain]}"
            ran.setdefault(name, set()).add(part)
        names.append(name)
        before = words
    return names


def common(paths: Iterable[str]) -> str:
    """The innermost module that contains or is all of these."""
    parts: list[str] | None = None
    for path in paths:
        words = path.split(".") if path else []
        if parts is None:
            parts = words
            continue
        same = 0
        while same < min(len(parts), len(words)) and parts[same] == words[same]:
            same += 1
        parts = parts[:same]
    return ".".join(parts or [])


def assign(boxes: list[Box], links: list[Link], numbers: dict[int, int], calls: record | None) -> set[str]:
    """Set `module` of each box. See Note [Whose node is it]. `numbers` are the nodes' sequence numbers by box.

    Return the modules that cannot be folded."""
    told = {} if calls is None else calls.owners(numbers.values())
    below: list[list[int]] = [[] for _ in boxes]
    for link in links:
        if link.kind in ("next", "variable"):
            below[link.source].append(link.target)
    pure: dict[int, str] = {}  # boxes that depend on parameters only, and the module of those parameters
    for index, box in enumerate(boxes):
        if box.kind == "leaf" and box.details.get("name"):
            pure[index] = box.details["name"].split(" = ")[0].rpartition(".")[0]
    anchors: list[tuple[int, str]] = []
    order = sorted(numbers, key=numbers.__getitem__)
    # AccumulateGrads first: they are created on first use, and may be newer than the nodes that use them.
    for index in sorted(order, key=lambda p: boxes[p].title != "AccumulateGrad"):
        owners = [pure[p] for p in below[index] if p in pure]
        if owners and len(owners) == len(below[index]) and boxes[index].ports.count("None") == 0:
            pure[index] = common(owners)
        elif owners:
            anchors.append((numbers[index], common(owners)))
    anchors.sort()
    made, paths = [number for number, _ in anchors], [path for _, path in anchors]
    anchors = list(zip(made, _guessed_calls(paths)))
    for index in order:
        boxes[index].module = pure.get(index, "")
        if boxes[index].title == "AccumulateGrad":
            continue
        at = bisect_left(made, numbers[index])
        if calls is not None:
            boxes[index].module = told.get(numbers[index], "")
        elif index in pure:
            if paths[at : at + 1] == [pure[index]]:  # a weight's transpose, say: part of the next call
                boxes[index].module = anchors[at][1]
        else:
            exact = at < len(made) and made[at] == numbers[index]
            around = anchors[at : at + 1] if exact else anchors[max(at - 1, 0) : at + 1]
            boxes[index].module = common(path for _, path in around) if exact or 0 < at < len(made) else ""
    _assign_tensors(boxes, links, pure)
    return _interrupted(boxes[p].module for p in order if p not in pure and boxes[p].title != "AccumulateGrad")


def _interrupted(modules: Iterable[str]) -> set[str]:
    """The modules that occur in several runs. `modules` are those of the nodes, in the order of creation."""
    ended: set[str] = set()
    twice: set[str] = set()
    before: set[str] = set()
    for path in modules:
        now = set(outwards(path))
        twice |= now & ended
        ended |= before - now
        before = now
    return twice


def _assign_tensors(boxes: list[Box], links: list[Link], pure: dict[int, str]) -> None:
    users: dict[int, list[str]] = {}
    for link in links:
        if link.kind == "saved":
            users.setdefault(link.target, []).append(boxes[link.source].module)
    for index, box in enumerate(boxes):
        if box.kind == "leaf":
            box.module = pure.get(index, "")
        elif box.kind != "node":
            box.module = common(users.get(index, ()))


def outwards(path: str) -> list[str]:
    """A module's path and those of the modules around it, outermost first."""
    words = path.split(".") if path else []
    return [".".join(words[: i + 1]) for i in range(len(words))]


def paths_of(boxes: list[Box], interrupted: set[str]) -> list[str]:
    """All modules of a picture that can be folded, including those that only contain others, outermost first."""
    found = {each for path in {box.module for box in boxes} for each in outwards(path)} - interrupted
    return sorted(found, key=lambda path: (path.count("."), path))


def holders(drawing: Drawing, depth: int) -> dict[str, str]:
    """Map the modules of a picture to the modules around them at this depth. A shallower module without submodules maps to itself."""
    chains = {
        path: [each for each in outwards(path) if each not in drawing.interrupted]
        for path in {box.module for box in drawing.boxes}
    }
    outer = {each for chain in chains.values() for each in chain[:-1]}
    return {
        path: chain[min(depth, len(chain)) - 1]
        for path, chain in chains.items()
        if len(chain) >= depth or (chain and chain[-1] not in outer)
    }


def fold(drawing: Drawing, depth: int) -> Drawing:
    """Return a Drawing in which each module at this depth of the tree is one box."""
    holder = holders(drawing, depth)
    boxes: list[Box] = []
    inside: dict[str, list[Box]] = {}
    index: dict[str, int] = {}
    moved: list[int] = []
    for box in drawing.boxes:
        path = holder.get(box.module)
        if path is None:
            moved.append(len(boxes))
            boxes.append(box.copy())
            continue
        if path not in index:
            index[path] = len(boxes)
            boxes.append(Box("module", path, []))
        inside.setdefault(path, []).append(box)
        moved.append(index[path])
    sizes = results_of(drawing)
    for path, members in inside.items():
        boxes[index[path]] = module_box(path, members, drawing.types, sizes.get(path, []))
    links: dict[tuple[int, int, str], Link] = {}
    for link in drawing.links:
        source, target = moved[link.source], moved[link.target]
        if source != target:
            whole = boxes[source].kind == "module" or boxes[target].kind == "module"
            kind = "next" if whole and link.kind != "saved" else link.kind
            port = -1 if boxes[source].kind == "module" else link.port
            key = (source, target, kind) if whole else (source, target, f"{kind}{link.port}")
            links.setdefault(key, Link(source, target, kind, "" if whole else link.label, port))
    return Drawing(boxes, list(links.values()), drawing.unreached, drawing.types, drawing.interrupted)


def results_of(drawing: Drawing) -> dict[str, list[str]]:
    """The known sizes of the results that each module passes to nodes outside it."""
    sizes: dict[str, dict[str, None]] = {}
    for link in drawing.links:
        source, target = drawing.boxes[link.source], drawing.boxes[link.target]
        if link.kind in ("next", "grad_fn") and target.lines and target.title != "AccumulateGrad":
            for path in outwards(target.module):
                if not f"{source.module}.".startswith(f"{path}."):
                    sizes.setdefault(path, {})[target.lines[0]] = None
    return {path: list(found)[:3] for path, found in sizes.items()}


def module_box(path: str, members: list[Box], types: dict[str, str], sizes: list[str]) -> Box:
    """The box of a folded module: its class, the sizes of its results, and its numbers of nodes and parameters."""
    nodes = sum(box.kind == "node" for box in members)
    leaves = [box for box in members if box.kind == "leaf"]
    count = sum(int(box.details.get("elements", "0")) for box in leaves)
    lines = [types[path], *sizes] if path in types else list(sizes)
    lines.append(f"{nodes} node{'s' * (nodes != 1)}" + (f", {count:,} parameters" if count else ""))
    box = Box("module", path, lines, {"module": path, "nodes": str(nodes), "parameters": f"{count:,}"})
    if path in types:
        box.details["type"] = types[path]
    box.module = path
    return box
