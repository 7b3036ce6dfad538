"""torch.profiler: `torch.autograd.profiler` with a schedule of the steps to record.

>>> import penlight as torch
>>> x = torch.ones(2)
>>> with torch.profiler.profile() as prof:
...     total = x.sum()
>>> [event.key for event in prof.key_averages()]
['aten::sum']
"""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
import time
from collections.abc import Callable
from enum import Enum
from types import ModuleType
from typing import Any

from penlight._common.arguments import explain as _explain
from penlight._common.docstrings import example
from penlight._common.user_warnings import warn_user
from penlight._refused import missing

from ._refused import refused_class
from .autograd import profiler as _prof
from .autograd.profiler import (
    DeviceType as DeviceType,
    ProfilerActivity as ProfilerActivity,
    kineto_available as kineto_available,
    record_function as record_function,
)

__all__ = [
    "DeviceType", "ProfilerAction", "ProfilerActivity", "kineto_available", "profile", "record_function", "schedule",
    "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip


@example("torch.profiler.ProfilerAction.RECORD.value", "2")
class ProfilerAction(Enum):
    """The action of a profiler during a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3
    DEVICE_STOPPED = 4


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


@example("torch.profiler.supported_activities()", "{<ProfilerActivity.CPU: 0>}")
def supported_activities() -> set[Any]:
    """The activities that can be recorded: those of the CPU.

    Returns:
        a set of `ProfilerActivity`.
    """
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A schedule for `profile`: in each cycle wait, warm up, then record; `repeat` cycles, or without end.

    Args:
        wait: how many steps to wait in each cycle.
        warmup: how many steps to warm up after that.
        active: how many steps to record after that.
        repeat: how many cycles there are; 0 means without end.
        skip_first: how many steps to skip before the first cycle.
        skip_first_wait: whether the first cycle has no waiting.

    Returns:
        a function from the number of a step to a `ProfilerAction`.

    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(4)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError(
            f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} (need >= 0), "
            f"active={active} (need > 0), repeat={repeat} (need >= 0), skip_first={skip_first} (need >= 0)."
        )
    if warmup == 0:
        warn_user("Profiler won't be using warmup, this can skew profiler results")
    cycle = wait + warmup + active

    def plan(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step += (wait if skip_first_wait else 0) - skip_first
        position = step % cycle
        if (repeat > 0 and step / cycle >= repeat) or position < wait:
            return ProfilerAction.NONE
        if position < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if position < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return plan


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False, use_python_export: bool = False
) -> Callable[[Any], None]:
    """An `on_trace_ready` that writes traces into a directory, one file for each cycle.

    Args:
        dir_name: the directory; it is created if missing.
        worker_name: the beginning of the file names; the host name and the process id, if it is not given.
        use_gzip: whether to compress the files.
        use_python_export: accepted and ignored.

    Returns:
        a function of the profile.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     handler = torch.profiler.tensorboard_trace_handler(folder, worker_name="a")
    ...     with torch.profiler.profile(on_trace_ready=handler):
    ...         y = torch.ones(2) + 1
    ...     files = os.listdir(folder)
    >>> len(files), files[0].startswith("a."), files[0].endswith(".pt.trace.json")
    (1, True, True)
    """
    import socket

    def write(prof: Any) -> None:
        try:
            os.makedirs(dir_name, exist_ok=True)
        except OSError as error:
            raise RuntimeError("Can't create directory: " + dir_name) from error
        name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        ending = ".gz" if use_gzip else ""
        prof.export_chrome_trace(os.path.join(dir_name, f"{name}.{time.time_ns()}.pt.trace.json{ending}"))

    return write


def _default_schedule_fn(_: int) -> ProfilerAction:
    """Always record."""
    return ProfilerAction.RECORD


class profile:
    """Records what ops run and how long they take, in the steps that a schedule chooses.

    Args:
        activities: accepted; only the CPU is recorded.
        schedule: a function from the number of a step to an action, as `schedule` makes it; without it everything is recorded.
        on_trace_ready: a function that is called with the profile at the end of each cycle.
        record_shapes: whether to record the shapes of the inputs.
        profile_memory: whether to record the memory of the results.
        with_stack: whether to record the lines of the program.
        with_flops: whether to count the floating point operations of products, convolutions, `mul` and `add`.
        with_modules, experimental_config, execution_trace_observer, acc_events, custom_trace_id_callback: accepted and
            ignored.
        use_cuda: deprecated, and ignored.

    >>> with torch.profiler.profile(record_shapes=True) as prof:
    ...     y = torch.ones(2, 2) @ torch.ones(2, 2)
    >>> "aten::mm" in prof.key_averages().table()
    True
    """

    def __init__(
        self,
        *,
        activities: Any = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        execution_trace_observer: Any = None,
        acc_events: bool = False,
        use_cuda: bool | None = None,
        custom_trace_id_callback: Any = None,
        **more: Any,
    ) -> None:
        if use_cuda is not None:
            warn_user("`use_cuda` is deprecated, use `activities` argument instead", FutureWarning)
        self.activities = set(activities) if activities else supported_activities()
        self.schedule = schedule or _default_schedule_fn
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: _prof.profile | None = None
        self._options: dict[str, Any] = {
            "record_shapes": record_shapes, "profile_memory": profile_memory, "with_stack": with_stack,
            "with_flops": with_flops, "with_modules": with_modules,
        }  # fmt: skip
        self._step_mark: Any = None
        self._metadata: dict[str, str] = {}

    # ----- Steps ------------------------------------------------------------------------------------------------------

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin, with step 0."""
        self._change(ProfilerAction.NONE, self.current_action)
        self._open_step()

    def stop(self) -> None:
        """Stop, and pass the profile to `on_trace_ready`."""
        self._close_step()
        self._change(self.current_action, None)

    def step(self) -> None:
        """Begin the next step."""
        self._close_step()
        before = self.current_action
        action = self.schedule(self.step_num + 1)
        if action is ProfilerAction.DEVICE_STOPPED:
            raise ValueError(
                "ProfilerAction.DEVICE_STOPPED is set internally by the profiler and must not be returned by a user-provided "
                "schedule"
            )
        self.step_num += 1
        self.current_action = action
        self._change(before, action)
        self._open_step()

    def _open_step(self) -> None:
        if self.record_steps:
            self._step_mark = record_function(f"ProfilerStep#{self.step_num}")
            self._step_mark.__enter__()

    def _close_step(self) -> None:
        if self._step_mark is not None:
            self._step_mark.__exit__(None, None, None)
            self._step_mark = None

    def _change(self, before: ProfilerAction, after: ProfilerAction | None) -> None:
        """Stop recording at the end of a cycle or of the profile, and start it as scheduled."""
        ends = before is ProfilerAction.RECORD_AND_SAVE or (before is ProfilerAction.RECORD and after not in _RECORDING)
        if ends:
            if after is not None and before is ProfilerAction.RECORD:
                warn_user("Incorrect schedule: RECORD followed by NONE")
            assert self.profiler is not None
            self.profiler.__exit__(None, None, None)
            if self.on_trace_ready is not None:
                self.on_trace_ready(self)
        if after in _RECORDING and (ends or before not in _RECORDING):
            self.profiler = _prof.profile(**self._options)
            self.profiler.__enter__()

    # ----- Results ----------------------------------------------------------------------------------------------------

    def _recorded(self) -> _prof.profile:
        if self.profiler is None:
            raise AssertionError("Profiler must be initialized")
        return self.profiler

    def events(self) -> Any:
        """The events of the last cycle, in the order in which they started."""
        return self._recorded().function_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, group_by_overload_name: bool = False
    ) -> Any:
        """The events of the last cycle added up by name."""
        return self._recorded().key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: str, use_python_export: bool = False) -> None:
        """Write the events of the last cycle to a file for chrome://tracing or Perfetto, compressed if its name ends in `.gz`."""
        profiler = self._recorded()
        if not str(path).endswith(".gz"):
            profiler.export_chrome_trace(path)
            return
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "trace.json")
            profiler.export_chrome_trace(plain)
            with open(plain, "rb") as source, gzip.open(path, "wb") as target:
                target.writelines(source)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the stacks of the last cycle with their times."""
        self._recorded().export_stacks(path, metric)

    def export_memory_timeline(self, path: str, device: str | None = None) -> None:
        """Refused: use `profile_memory=True` and `key_averages()`."""
        raise NotImplementedError(
            "export_memory_timeline is not available: use profile_memory=True and key_averages().table()"
        )

    def add_metadata(self, key: str, value: str) -> None:
        """Attach a text to the profile."""
        self._metadata[key] = value

    add_metadata_json = preset_metadata_json = add_metadata


_KinetoProfile = profile


def __getattr__(name: str) -> Any:
    if name == "ExecutionTraceObserver":
        return refused_class(
            "profiler.ExecutionTraceObserver", "Penlight records no execution traces. Use export_chrome_trace."
        )
    raise missing(__name__, name)


# PyTorch has these names in `torch.profiler.profiler` too, and programs import them from there.
profiler = sys.modules[f"{__name__}.profiler"] = ModuleType(f"{__name__}.profiler", __doc__)
profiler.__dict__.update(
    {name: value for name, value in globals().items() if not name.startswith("__") and name != "profiler"}
)


_explain(globals())
