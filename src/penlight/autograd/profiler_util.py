"""Profiler events: their times, averages by name, the table, and Chrome's trace format."""

from __future__ import annotations

import json
import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Any, NamedTuple

from .._common.arguments import explain as _explain
from .._common.docstrings import example
from ..tensor import Tensor

MEMORY_EVENT_NAME = "[memory]"
OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"

__all__ = [
    "EventList",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "MemRecordsAcc",
]


@example("torch.profiler.DeviceType.CPU", "<DeviceType.CPU: 0>")
class DeviceType(Enum):
    """Where an event happened."""

    CPU = 0
    CUDA = 1

    def __repr__(self) -> str:
        return f"<DeviceType.{self.name}: {self.value}>"


@example("torch.profiler.ProfilerActivity.CPU", "<ProfilerActivity.CPU: 0>")
class ProfilerActivity(Enum):
    """What a profile records: always the CPU here."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5

    def __repr__(self) -> str:
        return f"<ProfilerActivity.{self.name}: {self.value}>"


@example("torch.autograd.profiler.ProfilerState.CPU.value", "1")
class ProfilerState(Enum):
    """How a profile runs."""

    Disabled = 0
    CPU = 1
    CUDA = 2
    NVTX = 3
    ITT = 4


class Interval:
    """From `start` to `end`, in microseconds since the profile began.

    >>> torch.autograd.profiler_util.Interval(1.0, 3.0).elapsed_us()
    2.0
    """

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """The length in microseconds."""
        return self.end - self.start


class Kernel(NamedTuple):
    """A kernel on a device; the CPU has none.

    `duration` is in microseconds.

    >>> torch.autograd.profiler_util.Kernel("copy", device=0, duration=3).duration
    3
    """

    name: str
    device: int
    duration: int


@example("list(torch.autograd.profiler.MemRecordsAcc([]).in_interval(0, 1))", "[]")
class MemRecordsAcc:
    """Memory records by time.

    Args:
        mem_records: the records, each a tuple that begins with an event.
    """

    def __init__(self, mem_records: list[Any]) -> None:
        self._mem_records = mem_records
        self._order = sorted(range(len(mem_records)), key=lambda i: mem_records[i][0].start_ns())
        self._starts = [mem_records[i][0].start_ns() for i in self._order]

    def in_interval(self, start_us: float, end_us: float) -> Iterator[Any]:
        """The records that started in this interval."""
        first, last = bisect_left(self._starts, start_us * 1000), bisect_right(self._starts, end_us * 1000)
        for i in range(first, last):
            yield self._mem_records[self._order[i]]


def format_time(microseconds: float, unit: str | None = None) -> str:
    """`83.766ms`, in the unit that fits or in a given one."""
    if unit == "s" or (unit is None and microseconds >= 1e6):
        return f"{microseconds / 1e6:.3f}s"
    if unit == "ms" or (unit is None and microseconds >= 1e3):
        return f"{microseconds / 1e3:.3f}ms"
    return f"{microseconds:.3f}us"


def format_memory(nbytes: int) -> str:
    """`3.14 KB`."""
    for size, name in ((1 << 30, "GB"), (1 << 20, "MB"), (1 << 10, "KB")):
        if abs(nbytes) >= size:
            return f"{nbytes / size:.2f} {name}"
    return f"{nbytes} B"


class FormattedTimesMixin:
    """Shared by single events and averages: times as floats and as text. The CPU is the only device.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     _ = torch.ones(2) + 1
    >>> isinstance(prof.function_events[0], torch.autograd.profiler_util.FormattedTimesMixin)
    True
    """

    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    device_time_total = self_device_time_total = cuda_time_total = self_cuda_time_total = 0.0
    device_memory_usage = self_device_memory_usage = cuda_memory_usage = self_cuda_memory_usage = 0
    device_time = cuda_time = 0.0
    use_device: str | None = None
    device_type = DeviceType.CPU
    is_async = is_remote = is_legacy = False
    overload_name = ""
    node_id = -1

    @property
    def cpu_time(self) -> float:
        """The mean time of an event, in microseconds."""
        return 0.0 if self.count == 0 else self.cpu_time_total / self.count

    @property
    def cpu_time_str(self) -> str:
        """The mean time of an event, with its unit."""
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """The time of all, with its unit."""
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """The time of all without what they called, with its unit."""
        return format_time(self.self_cpu_time_total)

    @property
    def device_time_str(self) -> str:
        return format_time(0.0)

    device_time_total_str = self_device_time_total_str = device_time_str


class FunctionEvent(FormattedTimesMixin):
    """One call: of an op, of a node in backward, or of a `record_function` block.

    Args:
        id: its number.
        name: what was called.
        thread: the number of the thread.
        start_us: the start in microseconds.
        scope: what kind of call it is.
        is_user_annotation: whether it is a `record_function` block.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     y = torch.ones(2) + 1
    >>> event = prof.function_events[-1]
    >>> type(event).__name__, event.name
    ('FunctionEvent', 'aten::add')
    """

    def __init__(
        self, id: int, name: str, thread: int, start_us: float, *, scope: int = 0, is_user_annotation: bool = False
    ) -> None:
        self.id, self.name, self.trace_name, self.thread = id, name, name, thread
        self.time_range = Interval(start_us, start_us)
        self.scope, self.is_user_annotation = scope, is_user_annotation
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.input_shapes: Any = []
        self.stack: list[str] = []
        self.sequence_nr = -1
        self.self_cpu_memory_usage = 0
        self.flops = 0
        self.kernels: list[Any] = []

    @property
    def key(self) -> str:
        """The name."""
        return self.name

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """The time from start to end, in microseconds."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """The time without what it called, in microseconds."""
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def cpu_memory_usage(self) -> int:
        """The bytes that were allocated, less those that were freed."""
        return self.self_cpu_memory_usage + sum(child.cpu_memory_usage for child in self.cpu_children)

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name= device_type={self.device_type} node_id={self.node_id} "
            f"cpu_time={self.cpu_time_str} start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} None_time={self.device_time_str} name={self.name} "
            f"thread={self.thread} input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"None_memory_usage=0 is_async=False is_remote=False seq_nr={self.sequence_nr} is_legacy=False>"
        )


class FunctionEventAvg(FormattedTimesMixin):
    """The sum of all events of one name.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     _ = torch.ones(2) + 1 + 1
    >>> [(event.key, event.count) for event in prof.key_averages() if event.key == "aten::add"]
    [('aten::add', 2)]
    """

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.input_shapes: Any = None
        self.stack: list[str] = []
        self.scope: int | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] | None = None
        self.is_user_annotation = False
        self.flops = 0

    def add(self, other: Any) -> FunctionEventAvg:
        """Add an event, or an average of events."""
        if self.key is None:
            self.key, self.input_shapes, self.stack = other.key, other.input_shapes, other.stack
            self.scope, self.cpu_parent, self.cpu_children = other.scope, other.cpu_parent, other.cpu_children
            self.is_user_annotation = other.is_user_annotation
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        self.count += other.count
        self.flops += other.flops
        return self

    __iadd__ = add

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} cpu_time={self.cpu_time_str}  "
            f"self_cuda_time={self.device_time_str} cuda_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} cuda_memory_usage=0>"
        )


class EventList(list[Any]):
    """The events of a profile, or averages of them.

    Args:
        events: the events.
        profile_memory, with_flops: what the table shows.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     y = torch.ones(2) + 1
    >>> [event.key for event in prof.function_events.key_averages()][-1]
    'aten::add'
    """

    def __init__(self, events: Iterable[Any] = (), *, profile_memory: bool = False, with_flops: bool = False) -> None:
        super().__init__(events)
        self._profile_memory, self._with_flops = profile_memory, with_flops

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """The time of all events without what they called, in microseconds."""
        return sum(event.self_cpu_time_total for event in self)  # type: ignore[no-any-return]

    def key_averages(
        self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events summed by name and, if requested, by input shapes and by the innermost lines of their stacks."""
        groups: dict[Any, FunctionEventAvg] = {}
        for event in self:
            key = [event.key, event.is_user_annotation]
            if group_by_input_shapes:
                key.append(str(event.input_shapes))
            key += event.stack[:group_by_stack_n]
            groups.setdefault(tuple(key), FunctionEventAvg()).add(event)
        averages = EventList(groups.values(), profile_memory=self._profile_memory, with_flops=self._with_flops)
        for average in averages:
            average.stack = average.stack[:group_by_stack_n]
            if not group_by_input_shapes:
                average.input_shapes = ""
        return averages

    def total_average(self) -> FunctionEventAvg:
        """The sum of all events."""
        total = FunctionEventAvg()
        for event in self:
            total.add(event)
        total.key = "Total"
        return total

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
        max_name_column_width: int = 55, max_shapes_column_width: int = 80, header: str | None = None,
        top_level_events_only: bool = False, time_unit: str | None = None,
    ) -> str:  # fmt: skip
        """The events as text, one per row."""
        events = list(self)
        if sort_by is not None:
            attribute = sort_by.replace("cuda", "device").replace("xpu", "device").replace("privateuse1", "device")
            events.sort(key=lambda event: getattr(event, attribute), reverse=True)
        widths = (max_name_column_width, max_shapes_column_width, max_src_column_width)
        table = Table(events, self._profile_memory, self._with_flops, widths, time_unit)
        return table.text(header, row_limit, top_level_events_only)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events to a file for chrome://tracing and Perfetto."""
        process = os.getpid()
        rows = []
        for event in self:
            if event.trace_name is not None:
                category = "user_annotation" if event.is_user_annotation else "cpu_op"
                row = {"ph": "X", "cat": category, "name": event.trace_name, "pid": process, "tid": event.thread}
                row |= {"ts": event.time_range.start, "dur": event.time_range.elapsed_us()}
                args: dict[str, Any] = {"External id": event.id}
                if event.sequence_nr >= 0:
                    args["Sequence number"] = event.sequence_nr
                if event.input_shapes:
                    args["Input Dims"] = event.input_shapes
                if event.stack:
                    args["Call stack"] = ";".join(event.stack)
                rows.append(row | {"args": args})
        with open(path, "w") as file:
            json.dump({"schemaVersion": 1, "displayTimeUnit": "ms", "traceEvents": rows}, file)

    def supported_export_stacks_metrics(self) -> list[str]:
        """What `export_stacks` can count."""
        return ["self_cpu_time_total", "self_cuda_time_total", "self_xpu_time_total", "self_privateuse1_time_total"]

    def export_stacks(self, path: str, metric: str) -> None:
        """Write each stack with its time, in the format of flame graph tools."""
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError("metric should be one of: " + str(self.supported_export_stacks_metrics()))
        plain = str.maketrans(" ;\t\n", "____")
        with open(path, "w") as file:
            for event in self:
                value = int(event.self_cpu_time_total) if metric == "self_cpu_time_total" else 0
                if event.stack and value > 0:
                    file.write(";".join(entry.translate(plain) for entry in reversed(event.stack)) + f" {value}\n")


# ----- The profiler's table -------------------------------------------------------------------------------------------

_WIDTH = 12


class Table:
    """The columns of the table: always times; memory, shapes, sources and FLOPs if they were recorded."""

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
        """An event's row, and a row for each further line of its stack."""
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
    """The scale factor for FLOPs, and its unit."""
    units = ["FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs"]
    index = min((len(str(flops)) - 1) // 3, len(units) - 1)
    return 10.0 ** (-3 * index), units[index]


# ----- How many floating-point operations an op takes -----------------------------------------------------------------


def count(name: str, arguments: Any, result: Tensor) -> int:
    """Multiplications and additions of one call; 0 for ops that are not counted."""
    name = name.removeprefix("aten::").rstrip("_")
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    if name in ("mm", "bmm") and len(tensors) == 2:
        return 2 * result.numel() * tensors[0].shape[-1]
    if name in ("addmm", "baddbmm") and len(tensors) == 3:
        return 2 * result.numel() * tensors[1].shape[-1]
    if name in ("mul", "add") and tensors:
        return result.numel()
    if name == "convolution" and len(tensors) >= 2:
        weight = tensors[1]
        return 2 * result.numel() * (weight.numel() // max(weight.shape[0], 1))
    return 0


_explain(globals())
