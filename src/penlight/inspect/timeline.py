"""`timeline` records memory use over time, and the lines that hold the memory at the peak."""

from __future__ import annotations

import weakref
from collections import Counter
from itertools import accumulate
from time import perf_counter
from typing import Any

import numpy as np

from .._common.user_lines import Line, user_line
from ..autograd.views import edge_of
from .chart import Charted, chart
from .log import Listener
from .values import owner, tensors_in
from .watch import watch

_SHOWN = 9  # lines of code that get an area of their own
_POINTS = 300  # points of the chart
_UNITS = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "bytes"))


class timeline(Listener, Charted):
    """A context manager that records the memory that ops and the backward pass allocate, when it is freed, and which line allocated it.

    It prints the lines that hold the most memory at the peak. In a notebook it shows as a chart; `save` writes the chart as `.svg`
    or, with the table below it, as `.html`. Earlier tensors and the temporary memory of kernels are not counted.

    >>> with torch.inspect.timeline() as memory:
    ...     x = torch.ones(1000, requires_grad=True)
    ...     y = x.exp().sum()
    >>> memory.peak
    4004
    """

    sees_nodes, title = True, "Memory"

    def __init__(self) -> None:
        self.events: list[tuple[float, int, str]] = []  # time, change in bytes, and line
        self._alive: dict[int, Any] = {}
        self._running = ""  # the node of the backward pass that is running
        self._watching = watch(log=self)

    def __enter__(self) -> timeline:
        self._watching.__enter__()
        return self

    def __exit__(self, *exception: Any) -> None:
        self._watching.__exit__(*exception)

    def on_op(self, op: Any, arguments: tuple[Any, ...], go: Any, inplace: bool) -> Any:
        result = go()
        if not op.view:
            for out in tensors_in(result):
                self._note(out._array, self._running or user_line())
                if (node := edge_of(out)[0]) is not None:
                    node.extra().setdefault("line", user_line())
        return result

    def on_node(self, node: Any, grad: Any, run: Any) -> Any:
        line = node.extra().get("line")
        self._running = node.name() if line is None else f"{node.name()} of {line.short}  {line.text}"
        try:
            results = run(node, grad)
            for made in results:
                array = getattr(made, "_array", made)
                if isinstance(array, np.ndarray):
                    self._note(array, self._running)
        finally:
            self._running = ""
        return results

    def _note(self, array: np.ndarray[Any, Any], line: Line | str | None) -> None:
        memory, events, alive = owner(array), self.events, self._alive
        key, size = id(memory), memory.nbytes
        if key in alive or not size:
            return
        where = f"{line.short}  {line.text}" if isinstance(line, Line) else str(line or "")

        def freed(_: Any) -> None:
            alive.pop(key, None)
            events.append((perf_counter(), -size, where))

        alive[key] = weakref.ref(memory, freed)
        events.append((perf_counter(), size, where))

    # ----- What was seen ------------------------------------------------------------------------------------------------

    def _sums(self) -> list[int]:
        """The bytes held after each event."""
        return list(accumulate(size for _, size, _ in self.events))

    def _held(self, moments: list[int]) -> list[dict[str, int]]:
        """The bytes that each line holds after the events at these ascending indices."""
        held: Counter[str] = Counter()
        found, done = [], 0
        for moment in moments:
            for _, size, where in self.events[done : moment + 1]:
                held[where] += size
            found.append(dict(held))
            done = moment + 1
        return found

    @property
    def peak(self) -> int:
        """The largest number of bytes held at one time."""
        return max(self._sums(), default=0)

    def at_peak(self) -> dict[str, int]:
        """The bytes that each line held at the peak, largest first."""
        sums = self._sums()
        held = self._held([sums.index(max(sums))])[0] if sums else {}
        return dict(sorted([(where, size) for where, size in held.items() if size], key=lambda item: -item[1]))

    def __str__(self) -> str:
        lines = [f"{size:>12,}  {where}" for where, size in self.at_peak().items()]
        return "\n".join([f"{self.peak:>12,}  bytes at the peak, made at", *lines])

    def svg(self) -> str:
        """The bytes held over time, by the lines that hold the most at the peak."""
        sums, shown = self._sums(), list(self.at_peak())[:_SHOWN]
        picked = sorted({round(k * (len(sums) - 1) / _POINTS) for k in range(_POINTS + 1)}) if sums else []
        each = self._held(picked)
        size, unit = next((pair for pair in _UNITS if self.peak >= pair[0]), _UNITS[-1])
        series = {where or "(line not known)": [held.get(where, 0) / size for held in each] for where in shown}
        rest = [sums[k] / size - sum(values[i] for values in series.values()) for i, k in enumerate(picked)]
        if any(value > 1e-9 for value in rest):
            series["others"] = [max(value, 0.0) for value in rest]
        return chart(f"Memory over a program: {self.peak:,} bytes at the peak", series, unit, stacked=True)
