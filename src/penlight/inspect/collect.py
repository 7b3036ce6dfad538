"""Walks the backward graph and turns it into boxes and arrows.

# Note [Drawing only reads]
Some public attributes have side effects: `AccumulateGrad.variable` recreates a leaf that was freed, a custom function's
`saved_tensors` may be readable only once, and a packed tensor runs the user's unpack hook. So the collector reads the slots
behind these attributes and unpacks nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..autograd.node import AccumulateGrad, Freed, Node
from ..autograd.packing import Packed
from ..autograd.views import edge_of
from ..ops.machinery.declare import _torch_name
from ..tensor import Tensor
from .draw import Box, Link
from .modules import assign, record
from .values import grad_of, line_of, norm_of, result_shapes, saved_by, size_of, value_of

_MOST_RESULTS = 3  # a node's box shows the shapes of this many results


def title_of(name: str) -> str:
    """The title of a saved tensor that has no name of its own."""
    return name if name.startswith("saved") else "saved " + name


class Collector:
    """Creates one box for each tensor and each node, however often they occur."""

    def __init__(self, names: list[tuple[str, Tensor]], saved: bool | None, calls: record | None = None) -> None:
        self.boxes: list[Box] = []
        self.links: list[Link] = []
        self.saved, self.calls = saved, calls
        self.numbers: dict[int, int] = {}  # sequence numbers of the boxes of nodes
        self.names: dict[int, str] = {}
        for name, tensor in names:
            key = id(tensor)
            self.names[key] = f"{self.names[key]} = {name}" if key in self.names else name
        self.named = {id(tensor): tensor for _, tensor in names}
        self.found: dict[Any, int] = {}  # the box index of a node or tensor
        self.outputs: list[tuple[int, Node, int]] = []  # boxes of intermediates, with the node and output index of each
        self.nodes: list[Node] = []
        self.interrupted: set[str] = set()  # modules that are not folded
        self.alive: list[Any] = []  # keeps objects alive, so that no id is reused
        self.met: set[int] = set()  # the tensors that got a box

    def collect(self, roots: list[Tensor], nodes: Sequence[Node] = ()) -> None:
        stack: list[Node] = []
        for node in nodes:
            self.node(node, stack)
        for index, root in enumerate(roots):
            title = "result" if len(roots) == 1 else f"result {index}"
            self.tensor(root, title)
            first = edge_of(root)[0]
            if first is not None and not isinstance(first, AccumulateGrad):
                self.node(first, stack)
        while stack:
            self.expand(stack.pop(), stack)
        self.finish()

    def unreached(self) -> list[str]:
        """Names of the tensors that require grad but are not in the graph."""
        return [self.names[key] for key, t in self.named.items() if key not in self.met and t.requires_grad]

    def add(self, key: Any, box: Box) -> int:
        self.found[key] = len(self.boxes)
        self.boxes.append(box)
        return self.found[key]

    # ----- Nodes ------------------------------------------------------------------------------------------------------

    def node(self, node: Node, stack: list[Node]) -> int:
        if id(node) in self.found:
            return self.found[id(node)]
        self.nodes.append(node)
        stack.append(node)
        name = node.name().removeprefix("torch::autograd::")
        index = self.add(id(node), Box("node", name, [], {"node": node.name(), "sequence number": str(node.seq)}))
        self.numbers[index] = node.seq
        return index

    def expand(self, node: Node, stack: list[Node]) -> None:
        """Draw the arrows that leave a node."""
        index = self.found[id(node)]
        box = self.boxes[index]
        if isinstance(node, AccumulateGrad):
            self.links.append(Link(index, self.leaf(node), "variable"))
            return
        entries = []
        pending: list[Node] = []
        for port, (child, nr) in enumerate(node.next_functions):
            box.ports.append("None" if child is None else str(nr))
            entries.append(
                "(None, 0)" if child is None else f"({child.name().removeprefix('torch::autograd::')}, {nr})"
            )
            if child is not None:
                self.links.append(Link(index, self.node(child, pending), "next", str(nr), port))
        box.exits = len(box.ports)
        stack.extend(reversed(pending))  # the first input is drawn first
        box.details["next_functions"] = ", ".join(entries) or "none"
        self.describe_hooks(node, box)
        self.describe_arguments(node, box)
        self.describe_saved(node, box)
        self.describe_origin(node, box)
        if self.saved is not False:
            self.expand_saved(node, index)

    def describe_hooks(self, node: Node, box: Box) -> None:
        hooks = node._hooks
        if hooks is None:
            return
        count = len(hooks.pre) + len(hooks.post) + sum(len(h) for h in hooks.tensor.values())
        if count:
            box.details["hooks"] = str(count)
        for nr, ref in hooks.retain.items():
            tensor = ref()
            if tensor is not None:
                self.intermediate(tensor, "tensor", node, nr)

    def describe_arguments(self, node: Any, box: Box) -> None:
        """The plain values that an op saved, such as `dim`."""
        op: Any = getattr(node, "op", None)
        for slot in type(node).__dict__.get("__slots__", ()) if op is not None else ():
            name = _torch_name(op, slot[2:])
            value = getattr(node, slot, None)
            if (
                slot.startswith("s_")
                and slot not in node.saved_slots
                and name
                and isinstance(value, (bool, int, float, str, tuple))
            ):
                text = repr(value)
                box.details["saved " + name] = text if len(text) <= 60 else text[:57] + "..."

    def describe_saved(self, node: Node, box: Box) -> None:
        for name, value, stale in saved_by(node):
            if isinstance(value, Freed):
                box.details.setdefault("saved tensors", "freed by a backward")
            elif isinstance(value, (Tensor, np.ndarray)):
                box.details[title_of(name)] = size_of(value) + ", modified in place since" * stale

    def describe_origin(self, node: Node, box: Box) -> None:
        """The line of the user's program that made a node, if `watch()` or anomaly mode was on."""
        if line := line_of(node):
            box.details["made at"] = line

    def expand_saved(self, node: Node, index: int) -> None:
        box = self.boxes[index]
        freed = False  # one box reports it for all: a freed slot looks like one that never held a tensor
        for name, value, stale in saved_by(node):
            target = -1
            if isinstance(value, Freed):
                if freed or not self.saved:
                    continue
                freed = True
                target = self.add(
                    (id(node), "freed"),
                    Box("gone", "saved tensors", ["freed by a backward"], {"saved by": node.name()}),
                )
            elif isinstance(value, Packed):
                target = self.add(
                    (id(node), name), Box("gone", title_of(name), ["packed by a hook"], {"saved by": node.name()})
                )
            elif isinstance(value, np.ndarray):
                target = self.add((id(node), name), self.array_box(node, name, value, stale))
            elif isinstance(value, Tensor):
                target = self.saved_tensor(node, name, value, stale)
            if target >= 0:
                self.links.append(Link(index, target, "saved", name, box.exits))
                box.exits += 1

    def saved_tensor(self, node: Node, name: str, value: Tensor, stale: bool) -> int:
        """The box of a saved input. An input modified after it was saved gets a separate box."""
        if stale or edge_of(value)[0] is node:
            return self.add((id(node), name), self.array_box(node, name, value, stale))
        return self.tensor(value, title_of(name))

    def array_box(self, node: Node, name: str, value: Any, stale: bool) -> Box:
        number = value_of(value)
        lines = [size_of(value)] + ([] if number is None else [f"value {number}"]) + ["modified in place since"] * stale
        return Box(
            "tensor",
            title_of(name),
            lines,
            {"saved by": node.name(), "size": lines[0], "modified in place since": str(stale)},
        )

    # ----- Tensors ----------------------------------------------------------------------------------------------------

    def tensor(self, tensor: Tensor, title: str) -> int:
        """The box of a tensor, found by its edge in the graph."""
        node, nr = edge_of(tensor)
        if isinstance(node, AccumulateGrad):
            return self.leaf(node)
        if node is not None:
            return self.intermediate(tensor, title, node, nr)
        self.met.add(id(tensor))
        if id(tensor) in self.found:
            return self.found[id(tensor)]
        self.alive.append(tensor)
        return self.add(id(tensor), self.tensor_box("constant", tensor, title))

    def intermediate(self, tensor: Tensor, title: str, node: Node, nr: int) -> int:
        """The box of output `nr` of a node. Its arrow to the node is drawn at the end, if the node is in the picture."""
        key = ("tensor", id(node), nr)
        self.met.add(id(tensor))
        if key in self.found:
            return self.found[key]
        self.alive += (tensor, node)
        index = self.add(key, self.tensor_box("tensor", tensor, title))
        self.outputs.append((index, node, nr))
        return index

    def leaf(self, node: AccumulateGrad) -> int:
        """The box of the leaf behind an AccumulateGrad. See Note [Drawing only reads]."""
        key = ("leaf", id(node))
        leaf = node._ref()
        if leaf is not None:
            self.met.add(id(leaf))
        if key not in self.found:
            self.alive.append(node)
            if leaf is None:
                return self.add(key, Box("leaf", "leaf", [size_of(node._array)], {"size": size_of(node._array)}))
            self.add(key, self.tensor_box("leaf", leaf, "leaf"))
        return self.found[key]

    def tensor_box(self, kind: str, tensor: Tensor, title: str) -> Box:
        details = {"name": self.names[id(tensor)]} if id(tensor) in self.names else {}
        title = details.get("name", title)
        details |= {"size": size_of(tensor), "elements": str(tensor.numel())}
        value = value_of(tensor)
        lines = [size_of(tensor)] if value is None else [size_of(tensor), f"value {value}"]
        details["requires_grad"] = str(tensor.requires_grad)
        details["is_leaf"] = str(kind != "tensor")
        details["version"] = str(0 if tensor._vc is None else next(iter(tensor._vc), 0))
        if tensor.requires_grad:
            grad = tensor._grad
            details["grad"] = "None" if grad is None else f"{size_of(grad)}, norm {norm_of(grad)}"
            if grad is not None:
                lines.append(grad_of(grad))
        return Box(kind, title, lines, details)

    def finish(self) -> None:
        """Draw the named intermediates, and the arrows from tensors to their nodes."""
        for tensor in self.named.values():
            node, nr = edge_of(tensor)
            if node is not None and not isinstance(node, AccumulateGrad) and id(node) in self.found:
                self.intermediate(tensor, "tensor", node, nr)
        for index, node, nr in self.outputs:
            if id(node) in self.found:
                label = str(nr) if node.outputs > 1 else ""
                self.links.append(Link(index, self.found[id(node)], "grad_fn", label))
        self.describe_results()
        self.interrupted = assign(self.boxes, self.links, self.numbers, self.calls)

    def describe_results(self) -> None:
        """Add the shapes of the results to the boxes of their nodes."""
        shapes: dict[int, list[tuple[int, ...]]] = {}
        for node in sorted(self.nodes, key=lambda node: node.seq):  # inputs before their results
            shapes[id(node)] = result_shapes(node, shapes)
            if not isinstance(node, AccumulateGrad):
                self.boxes[self.found[id(node)]].lines = [str(shape) for shape in shapes[id(node)][:_MOST_RESULTS]]
