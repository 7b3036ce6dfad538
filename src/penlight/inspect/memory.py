"""`saved_memory`: what the backward graph keeps alive, node by node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..autograd.node import AccumulateGrad, Node
from ..autograd.views import edge_of
from ..tensor import Tensor
from .collect import line_of, saved_by, size_of
from .modules import record
from .watch import owner


class Saving(NamedTuple):
    """One node's savings: its name, what it saved, the bytes that no node before it in the list holds too, its line, and its sequence number.

    >>> torch.inspect.saved_memory(torch.ones(2, requires_grad=True).exp()).rows[0].node
    'ExpBackward0'
    """

    node: str
    saved: list[str]
    bytes: int
    line: str
    number: int


class SavedMemory:
    """The report of `saved_memory`: `rows`, greatest first, and their `total` in bytes. Printing it gives a table.

    >>> torch.inspect.saved_memory(torch.ones(2, requires_grad=True).exp()).total
    8
    """

    def __init__(self, rows: list[Saving], parameters: int) -> None:
        self.rows, self.parameters = sorted(rows, key=lambda row: -row.bytes), parameters
        self.total = sum(row.bytes for row in rows)

    def by_line(self) -> dict[str, int]:
        """The bytes that each line of the program made the graph keep, greatest first. Lines are known of what ran inside `watch()`."""
        return self._grouped({row.number: row.line or "(line not known)" for row in self.rows})

    def by_module(self, calls: record) -> dict[str, int]:
        """The bytes that each call of a module made the graph keep, greatest first, as `inspect.record(model)` has seen them.

        >>> model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Sigmoid())
        >>> with torch.inspect.record(model) as calls:
        ...     result = model(torch.ones(1, 2))
        >>> torch.inspect.saved_memory(result).by_module(calls)
        {'1': 12, '0': 0}
        """
        owners, _ = calls.owners(row.number for row in self.rows)
        return self._grouped({row.number: owners.get(row.number) or "(no module)" for row in self.rows})

    def _grouped(self, groups: dict[int, str]) -> dict[str, int]:
        sums: dict[str, int] = {}
        for row in self.rows:
            sums[groups[row.number]] = sums.get(groups[row.number], 0) + row.bytes
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def __str__(self) -> str:
        lines = [f"{'bytes':>12}  {'node':<28} saved"]
        for row in self.rows:
            lines.append(
                f"{row.bytes:>12,}  {row.node:<28} {', '.join(row.saved)}{'  ' + row.line if row.line else ''}"
            )
        lines.append(f"{self.total:>12,}  in all, beside {self.parameters:,} of leaves that are saved")
        return "\n".join(lines)

    __repr__ = __str__


def saved_memory(*roots: Tensor) -> SavedMemory:
    """How much memory the graph behind these tensors keeps until backward, and which node holds it.

    Memory that several nodes saved counts once, leaves (parameters, inputs) apart. Under `inspect.watch()` or anomaly mode
    each row also says which line made the node; `by_line()` and `by_module(calls)` add the rows up.

    >>> x = torch.ones(1000, requires_grad=True)
    >>> torch.inspect.saved_memory(x.exp().sin().sum())
           bytes  node                         saved
           4,000  SinBackward0                 self (1000,) float32
               0  ExpBackward0                 result (1000,) float32
           4,000  in all, beside 0 of leaves that are saved
    """
    for root in roots:
        if not isinstance(root, Tensor):
            raise TypeError(f"saved_memory() takes tensors, not {type(root).__name__}")
    rows, leaves = [], 0
    for row, of_leaves in _savings(roots):
        rows.append(row)
        leaves += of_leaves
    return SavedMemory(rows, leaves)


def savings(roots: Sequence[Tensor]) -> Iterator[Saving]:
    """What each node behind these tensors keeps, leaves apart, youngest first."""
    return (row for row, _ in _savings(roots))


def _savings(roots: Sequence[Tensor]) -> Iterator[tuple[Saving, int]]:
    """The same, and the bytes of leaves that no node before has saved too."""
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
            yield Saving(node.name(), names, size, line_of(node), node.seq), of_leaves


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
