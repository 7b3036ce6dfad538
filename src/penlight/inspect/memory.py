"""`memory` reports the memory that the backward graph keeps alive, node by node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..autograd.node import AccumulateGrad, Node
from ..autograd.views import edge_of
from ..tensor import Tensor
from .modules import record
from .values import line_of, owner, saved_by, size_of

_SHOWN = 4  # nodes listed in a row of the table


class Saving(NamedTuple):
    """The tensors that one node saved: its name, their names, their bytes (without memory that an earlier node in the list holds too), its line
    and the module call that created it, if known, and its sequence number.

    >>> torch.inspect.memory(torch.ones(2, requires_grad=True).exp()).rows[0].node
    'ExpBackward0'
    """

    node: str
    saved: list[str]
    bytes: int
    line: str
    module: str
    number: int


class Memory:
    """The report of `memory`: `rows`, largest first, and their `total` in bytes. It prints as a table of modules and lines.

    >>> torch.inspect.memory(torch.ones(2, requires_grad=True).exp()).total
    8
    """

    def __init__(self, rows: list[Saving], parameters: int) -> None:
        self.rows, self.parameters = sorted(rows, key=lambda row: -row.bytes), parameters
        self.total = sum(row.bytes for row in rows)

    def by_line(self) -> dict[str, int]:
        """The bytes that the graph keeps for each line of the program, largest first. Lines are known for code that ran inside `watch()`."""
        return _summed((row.line or "(line not known)", row.bytes) for row in self.rows)

    def by_module(self) -> dict[str, int]:
        """The bytes that the graph keeps for each module call that `inspect.record(model)` recorded, largest first.

        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sigmoid())
        >>> with torch.inspect.record(model) as calls:
        ...     result = model(torch.ones(1, 2))
        >>> torch.inspect.memory(result, calls=calls).by_module()
        {'1': 12, '0': 0}
        """
        return _summed((row.module or "(no module)", row.bytes) for row in self.rows)

    def __str__(self) -> str:
        groups: dict[tuple[str, str], list[Saving]] = {}
        for row in self.rows:
            groups.setdefault((row.module, row.line) if row.module or row.line else ("", str(row.number)), []).append(
                row
            )
        sizes = {key: sum(row.bytes for row in rows) for key, rows in groups.items()}
        lines = [f"{'bytes':>12}  saved"]
        for key, rows in sorted(groups.items(), key=lambda item: -sizes[item[0]]):
            module, line = rows[0].module, rows[0].line
            told = [f"{row.node} {', '.join(row.saved)}" for row in rows[:_SHOWN]]
            if len(rows) > _SHOWN:
                told.append(f"and {len(rows) - _SHOWN} more nodes")
            lines.append(f"{sizes[key]:>12,}  {module + ': ' if module else ''}{'; '.join(told)}")
            if line:
                lines.append(f"{'':>14}{line}")
        lines.append(f"{self.total:>12,}  in all, beside {self.parameters:,} of leaves that are saved")
        return "\n".join(lines)

    __repr__ = __str__


def _summed(sizes: Iterable[tuple[str, int]]) -> dict[str, int]:
    """The sum of the sizes for each name, largest first."""
    sums: dict[str, int] = {}
    for name, size in sizes:
        sums[name] = sums.get(name, 0) + size
    return dict(sorted(sums.items(), key=lambda item: -item[1]))


def memory(*roots: Tensor, calls: record | None = None) -> Memory:
    """Report how much memory the graph of these tensors keeps until backward, by module and by line.

    Memory that several nodes saved counts once. Leaves (parameters, inputs) are counted separately.

    Args:
        roots: tensors, such as the loss.
        calls: from `inspect.record(model)`, which says which module call created each node.

    Returns:
        a `Memory`, which prints as a table, largest first. Lines are known for code that ran inside `inspect.watch()` or in anomaly
        mode. A node whose module and line are both unknown has a row of its own.

    >>> x = torch.ones(1000, requires_grad=True)
    >>> torch.inspect.memory(x.exp().sin().sum())
           bytes  saved
           4,000  SinBackward0 self (1000,) float32
               0  ExpBackward0 result (1000,) float32
           4,000  in all, beside 0 of leaves that are saved
    """
    for root in roots:
        if not isinstance(root, Tensor):
            raise TypeError(f"memory() takes tensors, not {type(root).__name__}")
    found = list(_savings(roots))
    owners = {} if calls is None else calls.owners(row.number for row, _ in found)
    rows = [row._replace(module=owners.get(row.number, "")) for row, _ in found]
    return Memory(rows, sum(leaves for _, leaves in found))


def savings(roots: Sequence[Tensor]) -> Iterator[Saving]:
    """The memory that each node of the graph keeps, without leaves, from the newest node to the oldest."""
    return (row for row, _ in _savings(roots))


def _savings(roots: Sequence[Tensor]) -> Iterator[tuple[Saving, int]]:
    """As `savings`, with the bytes of leaves that no earlier node has saved."""
    nodes = sorted(_reached(roots), key=lambda node: -node.seq)
    leaves = {id(owner(node._array)) for node in nodes if isinstance(node, AccumulateGrad)}
    seen: dict[int, Any] = {}
    for node in nodes:
        names, size, of_leaves = [], 0, 0
        for name, value, _ in saved_by(node) if not isinstance(node, AccumulateGrad) else ():
            array = getattr(value, "_array", value)
            if not isinstance(array, np.ndarray):
                continue
            names.append(f"{name} {size_of(array)}")
            memory = owner(array)
            if id(memory) in seen:
                continue
            seen[id(memory)] = memory
            if id(memory) in leaves or _is_leaf(value):
                of_leaves += memory.nbytes
            else:
                size += memory.nbytes
        if names:
            yield Saving(node.name(), names, size, line_of(node), "", node.seq), of_leaves


def _reached(roots: Sequence[Tensor]) -> Iterator[Node]:
    found: set[int] = set()
    stack = [edge_of(root)[0] for root in roots]
    while stack:
        node = stack.pop()
        if node is None or id(node) in found:
            continue
        found.add(id(node))
        yield node
        stack.extend(child for child, _ in node.next_functions)


def _is_leaf(value: Any) -> bool:
    return isinstance(value, Tensor) and value.is_leaf
