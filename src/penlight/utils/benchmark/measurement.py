"""The times of a statement, and what they say."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penlight._common.docstrings import example

_UNITS = (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0))
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}

# From which spread, relative to the median, a measurement is called noisy, and very noisy.
_NOISY, _VERY_NOISY = 0.1, 0.25
_MOST_FIGURES = 4
_FINEST = 25e-9  # seconds: what a clock can tell at best


@example("select_unit(0.002)", "('ms', 0.001)")
def select_unit(t: float) -> tuple[str, float]:
    """The unit for a time in seconds that makes its number neither tiny nor huge, and how many seconds it is."""
    place = 0 if t <= 0 else math.floor(math.log10(t) / 3)
    return _UNITS[min(max(place + 3, 0), 3)]


def unit_to_english(u: str) -> str:
    """The unit's name."""
    return _ENGLISH[u]


@example("trim_sigfig(1234.5, 2)", "1200.0")
def trim_sigfig(x: float, n: int) -> float:
    """A number rounded to `n` significant figures."""
    if n != int(n):
        raise AssertionError(f"Number of significant figures must be an integer, got {n}")
    magnitude = math.ceil(math.log10(abs(x))) if x else 0
    scale = 10.0 ** (magnitude - n)
    return float(round(x / scale) * scale)


def _quantile(values: list[float], q: float) -> float:
    """A quantile of sorted values, interpolated between neighbours."""
    place = q * (len(values) - 1)
    low = math.floor(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


@dataclass(frozen=True)
class TaskSpec:
    """What was timed: enough to tell measurements apart and to name them."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label and sub-label, or else the statement."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        if "\n" not in self.stmt:
            return self.stmt + (f": {self.sub_label}" if self.sub_label else "")
        heading = f"stmt:{f' ({self.sub_label})' if self.sub_label else ''}"
        return heading + "\n" + "\n".join("  " + line for line in self.stmt.splitlines())

    def setup_str(self) -> str:
        """The setup as it is shown."""
        if self.setup in ("", "pass"):
            return ""
        if "\n" in self.setup:
            return "setup:\n" + "\n".join("  " + line for line in self.setup.splitlines())
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup, as they head a measurement."""
        parts = [part for part in (self.title, self.description or "", self.setup_str()) if part]
        return "\n".join(part + "\n" if "\n" in part else part for part in parts)


@dataclass(repr=False)
class Measurement:
    """One or more times of a statement; `times` are for one run of it, in seconds."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    def __getattr__(self, name: str) -> Any:
        if name in TaskSpec.__dataclass_fields__:
            return getattr(self.task_spec, name)
        raise AttributeError(f"'Measurement' object has no attribute '{name}'")

    @property
    def times(self) -> list[float]:
        """The times of one run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The middle of the times."""
        return _quantile(sorted(self.times), 0.5)

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return math.fsum(self.times) / len(self.times)

    @property
    def iqr(self) -> float:
        """How far apart the quarters of the times are: from the 25th to the 75th percentile."""
        ordered = sorted(self.times)
        return _quantile(ordered, 0.75) - _quantile(ordered, 0.25)

    @property
    def significant_figures(self) -> int:
        """How many figures of the median can be trusted, roughly: by the spread of the middle half."""
        ordered = sorted(self.times)
        middle = ordered[len(ordered) // 4 : math.ceil(3 * len(ordered) / 4)]
        mean = math.fsum(middle) / len(middle)
        spread = math.sqrt(math.fsum((t - mean) ** 2 for t in middle) / len(middle))
        interval = max(1.645 * spread / math.sqrt(len(middle)), _FINEST)
        return min(max(math.floor(math.log10(self.median / interval)), 1), _MOST_FIGURES)

    def meets_confidence(self, threshold: float = _NOISY) -> bool:
        """Whether the spread is less than a share of the median."""
        return self.iqr / self.median < threshold

    def _warning(self) -> str:
        if self.meets_confidence():
            return ""
        very = not self.meets_confidence(_VERY_NOISY)
        why = (
            "This suggests significant environmental influence." if very else "This could indicate system fluctuation."
        )
        share = self.iqr / self.median * 100
        return f"  WARNING: Interquartile range is {share:.1f}% of the median measurement.\n           {why}"

    @property
    def has_warnings(self) -> bool:
        """Whether the times differ much."""
        return bool(self._warning())

    @property
    def title(self) -> str:
        """What was timed."""
        return self.task_spec.title

    @property
    def as_row_name(self) -> str:
        """The name of its row in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    def __repr__(self) -> str:
        count = len(self.raw_times)
        unit, scale = select_unit(self.median)
        ordered = [t / scale for t in sorted(self.times)]
        lines = [
            f"<torch.utils.benchmark.utils.common.Measurement object at {hex(id(self))}>",
            self.task_spec.summarize(),
        ]
        lines.append(f"  {'Median: ' if count > 1 else ''}{self.median / scale:.2f} {unit}")
        if count >= 4:
            low, high = _quantile(ordered, 0.25), _quantile(ordered, 0.75)
            lines.append(f"  IQR:    {high - low:.2f} {unit} ({low:.2f} to {high:.2f})")
        threads = self.task_spec.num_threads
        lines.append(
            f"  {count} measurement{'s' if count > 1 else ''}, {self.number_per_run} runs "
            f"{'per measurement,' if count > 1 else ','} {threads} thread{'s' if threads > 1 else ''}"
        )
        return "\n".join([*lines, *filter(None, [self._warning()])])

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """Measurements of the same task as one, whose times are those of single runs."""
        times: dict[TaskSpec, list[float]] = {}
        for each in measurements:
            times.setdefault(each.task_spec, []).extend(each.times)
        return [Measurement(1, found, task) for task, found in times.items()]
