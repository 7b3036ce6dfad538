"""The profiler's table, in PyTorch's layout."""

from __future__ import annotations

from typing import Any

from .profiler_util import format_memory, format_time

_WIDTH = 12


class Table:
    """Columns for what the events have: times always; memory, shapes, sources and FLOPs if they were recorded."""

    def __init__(
        self, events: list[Any], memory: bool, flops: bool, widths: tuple[int | None, ...], unit: str | None
    ) -> None:
        self.events, self.memory, self.unit = events, memory, unit
        self.name_limit, shapes_limit, source_limit = widths
        self.shapes = any(event.input_shapes for event in events)
        self.stacks = any(event.stack for event in events)
        counted = [event.flops for event in events if event.flops > 0]
        self.flops = flops and bool(counted)
        self.scale, flops_title = _scaled(min(counted)) if self.flops else (1.0, "")
        self.total = sum(event.self_cpu_time_total for event in events)
        self.columns = [("Name", _limited((len(e.key) for e in events), self.name_limit), ">")]
        times = ["Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
        plain = [*times, *(["CPU Mem", "Self CPU Mem"] if memory else []), "# of Calls"]
        self.columns += [(title, _WIDTH, ">") for title in plain]
        if self.shapes:
            self.columns.append(
                ("Input Shapes", _limited((len(str(e.input_shapes)) for e in events), shapes_limit), ">")
            )
        if self.flops:
            self.columns.append((f"Total {flops_title}", _WIDTH, ">"))
        if self.stacks:
            longest = (len(entry) for e in events for entry in e.stack)
            self.columns.append(("Source Location", _limited(longest, source_limit), "<"))

    def text(self, header: str | None, row_limit: int, top_level_only: bool) -> str:
        if not self.events:
            return ""
        line = "".join("-" * width + "  " for _, width, _ in self.columns)
        lines = []
        for above in (header, "This report only display top-level ops statistics" if top_level_only else None):
            if above is not None:
                lines += ["=" * (len(line) - 2), above]
        lines += [line, self.row([title for title, _, _ in self.columns]), line]
        shown = [e for e in self.events if not top_level_only or e.cpu_parent is None]
        for event in shown if row_limit < 0 else shown[:row_limit]:
            lines += self.rows(event)
        lines += [line, f"Self CPU time total: {format_time(self.total, self.unit)}"]
        return "\n".join(lines) + "\n"

    def row(self, values: list[Any]) -> str:
        return "".join(f"{value!s:{side}{width}}  " for value, (_, width, side) in zip(values, self.columns))

    def rows(self, event: Any) -> list[str]:
        """An event's row, and one more for each further line of its stack."""
        name = event.key
        if self.name_limit is not None and len(name) >= self.name_limit - 3:
            name = name[: self.name_limit - 3] + "..."
        event.self_cpu_percent = self.share(event.self_cpu_time_total)
        event.total_cpu_percent = self.share(event.cpu_time_total)
        values = [name, event.self_cpu_percent, format_time(event.self_cpu_time_total, self.unit)]
        values += [event.total_cpu_percent, format_time(event.cpu_time_total, self.unit)]
        values.append(format_time(event.cpu_time, self.unit))
        if self.memory:
            values += [format_memory(event.cpu_memory_usage), format_memory(event.self_cpu_memory_usage)]
        values.append(event.count)
        if self.shapes:
            width = next(width for title, width, _ in self.columns if title == "Input Shapes")
            values.append(str(event.input_shapes)[:width])
        if self.flops:
            values.append("--" if event.flops <= 0 else f"{event.flops * self.scale:8.3f}")
        if not self.stacks:
            return [self.row(values)]
        blank = [""] * len(values)
        width = self.columns[-1][1]
        sources = [_tail(entry, width) for entry in event.stack] or [""]
        rows = [self.row([*values, sources[0]]), *(self.row([*blank, source]) for source in sources[1:])]
        return [*rows, self.row([*blank, ""])]

    def share(self, time: float) -> str:
        return "NaN" if self.total == 0 else f"{time * 100.0 / self.total:.2f}%"


def _limited(lengths: Any, limit: int | None) -> int:
    width = max(lengths, default=0) + 4
    return width if limit is None else min(width, limit)


def _tail(path: str, width: int) -> str:
    return path if len(path) <= width else "..." + path[len(path) - width + 3 :]


def _scaled(flops: int) -> tuple[float, str]:
    """What to multiply FLOPs with, and the unit that makes."""
    units = ["FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs"]
    index = min((len(str(flops)) - 1) // 3, len(units) - 1)
    return 10.0 ** (-3 * index), units[index]
