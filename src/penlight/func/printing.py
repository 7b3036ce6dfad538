"""Prints tensors inside transforms: the value, wrapped in the levels it belongs to.

# Note [Levels in print]
PyTorch wraps a tensor once for each transform it belongs to, and numbers the open transforms from 1. Here a `Batched` is such a wrapper,
but reverse mode is represented by the graph (Note [Entries]), and forward mode by the tangents of the physical tensor. So the levels are
collected from all three, and shown in the order in which the transforms were opened.
"""

from __future__ import annotations

from typing import Any

from ..autograd.node import AccumulateGrad, Node
from ..autograd.views import edge_of
from ..tensor import wrap
from ..tensor.printing import tensor_repr
from .batched import Batched
from .reverse import Entry

_TRACKED = "GradTrackingTensor(lvl={}, value="
_BATCHED = "BatchedTensor(lvl={}, bdim=0, value="


def shown(tensor: Any) -> str | None:
    """The text of a tensor that belongs to some level; None if it belongs to none. See Note [Levels in print]."""
    levels: dict[int, str] = {}
    while isinstance(tensor, Batched):
        levels[tensor._level.number] = _BATCHED
        tensor = tensor._value
    if tensor._rare_state is not None and tensor._rare_state.tangents:
        levels.update({level.number: _TRACKED for level in tensor._rare_state.tangents if level.number})
    entered, outside = _ways(edge_of(tensor)[0])
    levels.update({number: _TRACKED for number in entered})
    if not levels:
        return None
    text = tensor_repr(tensor if outside else wrap(tensor._array))
    for number in sorted(levels):
        inner = text.replace("\n", "\n    ")
        text = f"{levels[number].format(number)}\n    {inner}\n)"
    return text


def _ways(node: Node | None) -> tuple[set[int], bool]:
    """The levels of running transforms that a graph leads to, and whether it leads to a leaf outside of them."""
    entered: set[int] = set()
    outside = False
    stack, seen = [node], set()
    while stack:
        node = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if type(node) is Entry and node.live:
            entered.add(node.number)
        elif type(node) is AccumulateGrad:
            outside = True
        stack += [child for child, _ in node.next_functions]
    return entered, outside
