"""torch.autograd.profiler: measures how long each op takes, forward and backward.

While a profile is open, ops and nodes report their start and end. Composite functions appear as the ops they call.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from time import perf_counter_ns
from typing import Any, TypeVar

from .._common.arguments import explain as _explain
from .._common.docstrings import example
from .._common.user_warnings import is_ours
from ..ops.machinery.aten import aten_name
from ..ops.machinery.dispatch import op_watchers
from . import modes
from .engine import watchers
from .node import Node
from .profiler_util import (
    MEMORY_EVENT_NAME,
    OUT_OF_MEMORY_EVENT_NAME,
    DeviceType,
    EventList,
    FunctionEvent,
    FunctionEventAvg,
    MemRecordsAcc,
    ProfilerActivity,
    ProfilerState,
    count,
)

__all__ = [
    "MEMORY_EVENT_NAME", "OUT_OF_MEMORY_EVENT_NAME", "DeviceType", "EnforceUnique", "EventList", "FunctionEvent",
    "KinetoStepTracker", "MemRecordsAcc", "ProfilerActivity", "ProfilerState", "emit_itt", "emit_nvtx",
    "kineto_available", "load_nvprof", "parse_nvprof_trace", "profile", "record_function",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])

_current: ContextVar[Collector | None] = ContextVar("penlight_profiler", default=None)


class Collector:
    """Collects events while a profile is open. Events nest as their calls do."""

    def __init__(self, shapes: bool, flops: bool, memory: bool, stacks: bool) -> None:
        self.shapes, self.flops, self.memory, self.stacks = shapes, flops, memory, stacks
        self.origin = perf_counter_ns()
        self.events: list[FunctionEvent] = []
        self.open: list[FunctionEvent] = []

    def now(self) -> float:
        return (perf_counter_ns() - self.origin) / 1000

    def start(self, name: str, **kind: Any) -> FunctionEvent:
        event = FunctionEvent(len(self.events) + 1, name, threading.get_native_id(), self.now(), **kind)
        if self.open:
            event.cpu_parent = self.open[-1]
            self.open[-1].cpu_children.append(event)
        if self.stacks:
            event.stack = _stack()
        self.events.append(event)
        self.open.append(event)
        return event

    def end(self, event: FunctionEvent) -> None:
        event.time_range.end = self.now()
        while self.open and self.open.pop() is not event:
            pass

    def on_op(self, op: Any, arguments: Any, go: Any, inplace: bool) -> Any:
        event = self.start(f"aten::{aten_name(op)}" + ("_" if inplace else ""))
        try:
            result = go()
        finally:
            self.end(event)
        if self.shapes:
            event.input_shapes = [list(getattr(a, "shape", ())) for a in arguments]
        if self.flops:
            event.flops = count(event.name, arguments, result)
        if self.memory and not inplace and not op.view:
            tensors = result if isinstance(result, tuple) else (result,)
            event.self_cpu_memory_usage = sum(t._array.nbytes for t in tensors if hasattr(t, "_array"))
        return result

    def on_node(self, node: Node, go: Callable[[], Any]) -> Any:
        outer = self.start(f"autograd::engine::evaluate_function: {node.name()}")
        inner = self.start(node.name(), scope=1)
        inner.sequence_nr = node.seq
        try:
            return go()
        finally:
            self.end(inner)
            self.end(outer)


def _stack() -> list[str]:
    """The user's running lines, innermost first: `train.py(12): step`."""
    lines = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not is_ours(code.co_filename):
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return lines


class profile:
    """Inside this context, every op is timed.

    Args:
        enabled: whether to record at all.
        record_shapes: whether to record the shapes of the inputs.
        with_flops: whether to count the floating point operations of products, convolutions, `mul` and `add`.
        profile_memory: whether to record the memory of the results.
        with_stack: whether to record the lines of the program.
        use_cuda, use_device, use_kineto, use_cpu, with_modules, experimental_config, acc_events,
            custom_trace_id_callback, post_processing_timeout_s, activity_filters: accepted and ignored: only the CPU is
            there.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.profiler.profile() as prof:
    ...     x.exp().sum().backward()
    >>> [event.key for event in prof.key_averages()][:2]
    ['aten::exp', 'aten::sum']
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
        custom_trace_id_callback: Any = None,
        post_processing_timeout_s: float | None = None,
        activity_filters: Any = None,
    ) -> None:
        self.enabled, self.entered = enabled, False
        self.use_device, self.use_cuda, self.use_kineto, self.use_cpu = None, False, use_kineto, use_cpu
        self.record_shapes, self.with_flops = record_shapes or with_flops, with_flops
        self.profile_memory, self.with_stack, self.with_modules = profile_memory, with_stack, with_modules
        self._shapes_wanted = record_shapes
        self._collector: Collector | None = None
        self._before: Any = None
        self._events = self._list(())
        self._finished = False

    def _list(self, events: Any) -> EventList:
        return EventList(events, profile_memory=self.profile_memory, with_flops=self.with_flops)

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self._collector = Collector(self._shapes_wanted, self.with_flops, self.profile_memory, self.with_stack)
        self._before = (op_watchers.get(), watchers.get(), _current.get())
        op_watchers.set((*op_watchers.get(), self._collector.on_op))
        watchers.set((*watchers.get(), self._collector.on_node))
        _current.set(self._collector)
        modes.open_slow_mode()
        return self

    def __exit__(self, *exc: object) -> None:
        if self.enabled and self._collector is not None:
            modes.close_slow_mode()
            variables: tuple[Any, ...] = (op_watchers, watchers, _current)
            for variable, value in zip(variables, self._before):
                variable.set(value)
            for event in self._collector.open[::-1]:
                event.time_range.end = self._collector.now()
            self._events = self._list(self._collector.events)
            self._finished = True

    @property
    def function_events(self) -> EventList:
        """The events in the order in which they started."""
        return self._events

    def __repr__(self) -> str:
        return repr(self._events) if self._finished else "<unfinished torch.autograd.profile>"

    def __str__(self) -> str:
        return str(self._events) if self._finished else "<unfinished torch.autograd.profile>"

    def table(self, sort_by: str | None = None, row_limit: int = 100, **more: Any) -> str:
        """The events as a table."""
        return self._events.table(sort_by=sort_by, row_limit=row_limit, **more)

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> EventList:
        """The events summed by name."""
        return self._events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def total_average(self) -> FunctionEventAvg:
        """The sum of all events."""
        return self._events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The total time of all ops, in microseconds."""
        return self._events.self_cpu_time_total

    def export_chrome_trace(self, path: str) -> None:
        """Write the events to a file for chrome://tracing and Perfetto."""
        self._events.export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the stacks with their times. They are recorded with `with_stack=True`."""
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        self._events.export_stacks(path, metric)


class record_function:
    """A block (or, as a decorator, each call of a function) that appears under this name in a profile.

    Args:
        name: the name.
        args: accepted and ignored.

    >>> with torch.autograd.profiler.profile() as prof, torch.autograd.profiler.record_function("my block"):
    ...     y = torch.ones(2) * 3
    >>> [event.key for event in prof.key_averages()]
    ['my block', 'aten::mul']
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._open: list[tuple[Collector, FunctionEvent] | None] = []

    def __enter__(self) -> record_function:
        collector = _current.get()
        event = None if collector is None else collector.start(self.name, is_user_annotation=True)
        self._open.append(None if collector is None or event is None else (collector, event))
        return self

    def __exit__(self, *exc: object) -> None:
        opened = self._open.pop()
        if opened is not None:
            opened[0].end(opened[1])

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name, self.args):
                return function(*args, **kwargs)

        return wrapper  # type: ignore[return-value]


# ----- What other tools would show ----------------------------------------------------------------------------------------------------


class emit_itt:
    """Reports each op to Intel's VTune; without VTune it does nothing.

    Args:
        enabled: whether to do anything.
        record_shapes: accepted and ignored.

    >>> with torch.autograd.profiler.emit_itt():
    ...     y = torch.ones(2) + 1
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes, self.entered = enabled, record_shapes, False

    def __enter__(self) -> emit_itt | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("ITT annotation context manager is not reentrant")
        self.entered = True
        return self

    def __exit__(self, *exc: object) -> None:
        pass


class emit_nvtx:
    """Reports each op to NVIDIA's profilers; there is no CUDA here, so entering it raises.

    Args:
        enabled: whether to do anything.
        record_shapes: accepted and ignored.

    >>> with torch.autograd.profiler.emit_nvtx(enabled=False):
    ...     y = torch.ones(2) + 1
    """

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled, self.record_shapes = enabled, record_shapes

    def __enter__(self) -> emit_nvtx | None:
        if not self.enabled:
            return None
        raise AssertionError("Torch not compiled with CUDA enabled")

    def __exit__(self, *exc: object) -> None:
        pass


def load_nvprof(path: str) -> EventList:
    """Events from an nvprof file: not supported, because nothing here writes such files.

    Args:
        path: the file.

    Returns:
        nothing: it raises.

    >>> torch.autograd.profiler.load_nvprof("trace")
    Traceback (most recent call last):
    NotImplementedError: nvprof traces come from CUDA, which there is none of here; use export_chrome_trace instead
    """
    return EventList(parse_nvprof_trace(path))


def parse_nvprof_trace(path: str) -> list[FunctionEvent]:
    """Events from an nvprof file: not supported, because nothing here writes such files.

    Args:
        path: the file.

    Returns:
        nothing: it raises.

    >>> torch.autograd.profiler.parse_nvprof_trace("trace")
    Traceback (most recent call last):
    NotImplementedError: nvprof traces come from CUDA, which there is none of here; use export_chrome_trace instead
    """
    raise NotImplementedError(
        "nvprof traces come from CUDA, which there is none of here; use export_chrome_trace instead"
    )


@example("torch.profiler.kineto_available()", "False")
def kineto_available() -> bool:
    """Whether PyTorch's tracing library is available.

    Returns:
        False
    """
    return False


class EnforceUnique:
    """Raises if a key is seen more than once.

    >>> seen = torch.autograd.profiler.EnforceUnique()
    >>> seen.see("a", 1)
    >>> seen.see("a", 1)
    Traceback (most recent call last):
    RuntimeError: duplicate key: ('a', 1)
    """

    def __init__(self) -> None:
        self.seen: set[Any] = set()

    def see(self, *key: Any) -> None:
        """Note a name; one that was seen before is refused."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """Counts steps that several parts of a program report; the current step is the highest count.

    >>> steps = torch.autograd.profiler.KinetoStepTracker
    >>> before = steps.current_step()
    >>> steps.init_step_count("my optimizer")
    >>> steps.increment_step("my optimizer") - before, steps.erase_step_count("my optimizer")
    (1, True)
    """

    _current_step = 0
    _step_dict: dict[str, int] = {}

    @classmethod
    def init_step_count(cls, requester: str) -> None:
        """Begin a counter."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester: str) -> bool:
        """Forget a counter."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester: str) -> int:
        """Count a step."""
        cls._step_dict[requester] = cls._step_dict.get(requester, cls._current_step) + 1
        cls._current_step = max(cls._current_step, *cls._step_dict.values())
        return cls._current_step

    @classmethod
    def current_step(cls) -> int:
        """The number of the step."""
        return cls._current_step


_explain(globals())
