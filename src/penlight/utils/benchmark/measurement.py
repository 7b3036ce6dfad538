"""Timing of statements, statistics of the times, and tables."""

from __future__ import annotations

import math
import textwrap
import timeit
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from time import perf_counter
from typing import Any

from penlight._common.docstrings import example
from penlight.settings import get_num_threads, set_num_threads

_UNITS = (("ns", 1e-9), ("us", 1e-6), ("ms", 1e-3), ("s", 1.0))
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}

# The spread, relative to the median, from which a measurement is called noisy, and very noisy.
_NOISY, _VERY_NOISY = 0.1, 0.25
_MOST_FIGURES = 4
_FINEST = 25e-9  # seconds: the best resolution of a clock


@example("select_unit(0.002)", "('ms', 0.001)")
def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time in seconds has a readable value, and the unit's length in seconds."""
    position = 0 if t <= 0 else math.floor(math.log10(t) / 3)
    return _UNITS[min(max(position + 3, 0), 3)]


def unit_to_english(u: str) -> str:
    """The unit's name."""
    return _ENGLISH[u]


@example("trim_sigfig(1234.5, 2)", "1200.0")
def trim_sigfig(x: float, n: int) -> float:
    """A value rounded to `n` significant figures."""
    if n != int(n):
        raise AssertionError(f"Number of significant figures must be an integer, got {n}")
    magnitude = math.ceil(math.log10(abs(x))) if x else 0
    scale = 10.0 ** (magnitude - n)
    return float(round(x / scale) * scale)


def _quantile(values: list[float], q: float) -> float:
    """A quantile of sorted values, interpolated between neighbours."""
    position = q * (len(values) - 1)
    low = math.floor(position)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (position - low)


@dataclass(frozen=True)
class TaskSpec:
    """What was timed: enough to distinguish measurements and to name them."""

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
        """The setup as displayed."""
        if self.setup in ("", "pass"):
            return ""
        if "\n" in self.setup:
            return "setup:\n" + "\n".join("  " + line for line in self.setup.splitlines())
        return f"setup: {self.setup}"

    def summarize(self) -> str:
        """Title, description and setup: the header of a measurement."""
        parts = [part for part in (self.title, self.description or "", self.setup_str()) if part]
        return "\n".join(part + "\n" if "\n" in part else part for part in parts)


@dataclass(repr=False)
class Measurement:
    """One or more times of a statement; `times` are per run, in seconds."""

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
        """The times per run."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The median of the times."""
        return _quantile(sorted(self.times), 0.5)

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return math.fsum(self.times) / len(self.times)

    @property
    def iqr(self) -> float:
        """The interquartile range of the times: from the 25th to the 75th percentile."""
        ordered = sorted(self.times)
        return _quantile(ordered, 0.75) - _quantile(ordered, 0.25)

    @property
    def significant_figures(self) -> int:
        """Roughly how many figures of the median are reliable, judged by the spread of the middle half."""
        ordered = sorted(self.times)
        middle = ordered[len(ordered) // 4 : math.ceil(3 * len(ordered) / 4)]
        mean = math.fsum(middle) / len(middle)
        spread = math.sqrt(math.fsum((t - mean) ** 2 for t in middle) / len(middle))
        interval = max(1.645 * spread / math.sqrt(len(middle)), _FINEST)
        return min(max(math.floor(math.log10(self.median / interval)), 1), _MOST_FIGURES)

    def meets_confidence(self, threshold: float = _NOISY) -> bool:
        """Whether the spread is below a fraction of the median."""
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
        """Measurements of the same task combined, with times per run."""
        times: dict[TaskSpec, list[float]] = {}
        for each in measurements:
            times.setdefault(each.task_spec, []).extend(each.times)
        return [Measurement(1, found, task) for task, found in times.items()]


# ----- Timing a statement --------------------------------------------------------------------------------------------


class Language(Enum):
    """The language of a statement; only Python can be timed here."""

    PYTHON = 0
    CPP = 1


def timer() -> float:
    """The clock: seconds."""
    return perf_counter()


@contextmanager
def _threads(n: int) -> Iterator[None]:
    before = get_num_threads()
    try:
        if n != before:
            set_num_threads(n)
        yield
    finally:
        if n != before:
            set_num_threads(before)


class Timer:
    """Times a statement, with a warm-up, on a given number of threads.

    >>> t = torch.utils.benchmark.Timer("x.sum()", setup="x = torch.ones(10)", globals={"torch": torch})
    >>> t.timeit(5).median > 0
    True
    """

    def __init__(self, stmt: str = "pass", setup: str = "pass", global_setup: str = "",
                 timer: Callable[[], float] = timer, globals: dict[str, Any] | None = None, label: str | None = None,
                 sub_label: str | None = None, description: str | None = None, env: str | None = None,
                 num_threads: int = 1, language: Language | str = Language.PYTHON) -> None:  # fmt: skip
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if language in (Language.CPP, "cpp", "c++"):
            raise NotImplementedError(
                "Timer(language='c++') is not available: Penlight is pure Python and compiles no C++"
            )
        if language not in (Language.PYTHON, "py", "python"):
            raise ValueError(f"Invalid language `{language}`.")
        if global_setup:
            raise ValueError(
                f"global_setup is C++ only, got `{global_setup}`. Most likely this code can simply be moved to `setup`."
            )
        stmt, setup = textwrap.dedent(stmt).strip(), textwrap.dedent(setup).strip() or "pass"
        self._globals = dict(globals or {})
        if "torch" not in self._globals:
            import penlight

            self._globals["torch"] = penlight
        self._timer = timeit.Timer(stmt, setup, timer, self._globals)
        self._task_spec = TaskSpec(stmt, setup, "", label, sub_label, description, env, num_threads)

    def _timeit(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def timeit(self, number: int = 1000000) -> Measurement:
        """The time of `number` runs in a row."""
        with _threads(self._task_spec.num_threads):
            self._timeit(max(number // 100, 2))
            return Measurement(number, [self._timeit(number)], self._task_spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Not available: use `blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Any = None) -> None:
        """Not available: use `blocked_autorange`."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _block_size(self, min_run_time: float) -> int:
        """The number of runs per block that makes the clock's overhead negligible; finding it is also the warm-up."""
        overhead = sorted(self._timeit(0) for _ in range(5))[2]
        number = 1
        while number < 10**9:
            taken = self._timeit(number)
            if taken > min_run_time or (overhead / taken <= 1e-4 and taken >= min_run_time / 1000):
                break
            number *= 10
        return number

    def _measure(self, number: int, enough: Any, callback: Any) -> list[float]:
        times: list[float] = []
        while not times or not enough(times):
            times.append(self._timeit(number))
            if callback:
                callback(number, times[-1])
        return times

    def blocked_autorange(
        self, callback: Callable[[int, float], Any] | None = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Runs blocks until they took `min_run_time` seconds in total."""
        with _threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times = self._measure(number, lambda found: sum(found) >= min_run_time, callback)
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
                           callback: Callable[[int, float], Any] | None = None) -> Measurement:  # fmt: skip
        """Runs blocks until their times agree up to `threshold`, or `max_run_time` has passed."""
        with _threads(self._task_spec.num_threads):
            number = self._block_size(0.05)

            def enough(found: list[float]) -> bool:
                steady = len(found) > 3 and Measurement(number, found, self._task_spec).meets_confidence(threshold)
                return sum(found) > max_run_time or (steady and sum(found) >= min_run_time)

            times = self._measure(number, enough, callback)
        return Measurement(number, times, self._task_spec)

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> Any:
        """Not supported: instructions are not counted here."""
        raise NotImplementedError(
            "Timer.collect_callgrind is not available: Penlight does not count instructions. Use blocked_autorange()"
        )


# ----- A table: a row for each task and number of threads, a column for each description -----------------------------


BEST, GOOD, BAD, VERY_BAD, BOLD, END = "\033[92m", "\033[34m", "\033[2m\033[91m", "\033[31m", "\033[1m", "\033[0m"


class Colorize(Enum):
    """The group of times in which the best is highlighted."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Compare:
    """Shows measurements side by side; those of the same task are combined.

    >>> from penlight.utils.benchmark import Compare, Measurement, TaskSpec
    >>> task = TaskSpec("x + 1", "", label="add", sub_label="small", description="penlight")
    >>> print(str(Compare([Measurement(1, [2e-6], task)])).splitlines()[0])
    [-------- add ---------]
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._trim = self._highlight = False
        self._colorize = Colorize.NONE
        self.extend_results(results)

    def extend_results(self, results: Iterable[Measurement]) -> None:
        """Add more measurements."""
        results = list(results)
        for each in results:
            if not isinstance(each, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(each)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Show only reliable figures."""
        self._trim = True

    def colorize(self, rowwise: bool = False) -> None:
        """Show in colour which times are good, per column or per row."""
        self._colorize = Colorize.ROWWISE if rowwise else Colorize.COLUMNWISE

    def highlight_warnings(self) -> None:
        """Show the spread of noisy times."""
        self._highlight = True

    def print(self) -> None:
        """Print the table."""
        print(str(self))

    def __str__(self) -> str:
        groups: dict[str | None, list[Measurement]] = {}
        for each in Measurement.merge(self._results):
            groups.setdefault(each.task_spec.label, []).append(each)
        return "\n".join(
            _Table(group, self._trim, self._highlight, self._colorize).render() for group in groups.values()
        )


class _Table:
    """The table of one label."""

    def __init__(self, results: list[Measurement], trim: bool, highlight: bool, colorize: Colorize) -> None:
        self.label = results[0].task_spec.label or ""
        self.trim, self.highlight, self.colors = trim, highlight, colorize
        self.unit, self.scale = select_unit(min(r.median for r in results))
        self.noisy = highlight and any(r.has_warnings for r in results)
        self.envs = {r.task_spec.env for r in results}
        columns = list(dict.fromkeys(r.task_spec.description for r in results))
        keys = sorted(dict.fromkeys(map(_row_key, results)), key=lambda key: (key[0], key[1] or ""))
        found = {(_row_key(r), r.task_spec.description): r for r in results}
        self.columns = columns
        self.rows = [(key, [found.get((key, column)) for column in columns]) for key in keys]

    def render(self) -> str:
        formats = [self._format([cells[i] for _, cells in self.rows]) for i in range(len(self.columns))]
        texts = [["", *(column or "" for column in self.columns)]]
        for key, cells in self.rows:
            texts.append([self._row_name(key), *(formats[i](cell) for i, cell in enumerate(cells))])
        widths = [max(map(len, column)) for column in zip(*texts)]
        head = "  |  ".join(text.center(width) for text, width in zip(texts[0], widths))
        lines = [f"[{f' {self.label} '.center(len(head) - 2, '-')}]", head]
        threads = None
        for (key, cells), row in zip(self.rows, texts[1:]):
            if key[0] != threads:
                threads = key[0]
                lines.append(f"{threads} threads: ".ljust(len(head), "-"))
            body = [
                self._color(text.center(w), i, cells, threads) for i, (text, w) in enumerate(zip(row[1:], widths[1:]))
            ]
            lines.append("  |  ".join([row[0].ljust(widths[0]), *body]))
        lines += ["", f"Times are in {unit_to_english(self.unit)}s ({self.unit}).", ""]
        if self.noisy:
            lines.insert(-1, "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.")
        return "\n".join(lines)

    def _row_name(self, key: tuple[int, str | None, str]) -> str:
        env = ""
        if len(self.envs) > 1:
            env = f"({key[1]})".ljust(max(len(str(e)) for e in self.envs))
        return "  " + env + "    " + key[2]

    def _format(self, cells: list[Measurement | None]) -> Any:
        """Formats the cells of a column with one width."""
        there = [cell for cell in cells if cell is not None]
        digits = [math.ceil(math.log10(cell.median / self.scale)) for cell in there]
        decimals = 1
        if self.trim:
            decimals = min(max(cell.significant_figures - d, 0) for cell, d in zip(there, digits))
        width = max(digits) + decimals + (1 if decimals else 0)
        noisy = self.highlight and any(cell.has_warnings for cell in there)

        def text(cell: Measurement | None) -> str:
            if cell is None:
                return " " * len(f"{1:>{width}.{decimals}f}" + " " * (7 if noisy else 0))
            value = cell.median / self.scale
            if self.trim:
                value = trim_sigfig(value, cell.significant_figures)
            mark = f" (! {cell.iqr / cell.median * 100:.0f}%)" if noisy and cell.has_warnings else ""
            return f"{value:>{width}.{decimals}f}{mark:>{7 if noisy else 0}}"

        return text

    def _color(self, text: str, column: int, cells: list[Measurement | None], threads: int) -> str:
        own = cells[column]
        if own is None or self.colors is Colorize.NONE:
            return text
        others = cells
        if self.colors is Colorize.COLUMNWISE:
            others = [row[column] for key, row in self.rows if key[0] == threads]
        best = min(other.median for other in others if other is not None)
        value = own.median
        if value <= best * 1.01 or value <= best + 100e-9:
            return BEST + BOLD + text + END * 2
        if value <= best * 1.1:
            return GOOD + BOLD + text + END * 2
        if value >= best * 5:
            return VERY_BAD + BOLD + text + END * 2
        return BAD + text + END * 2 if value >= best * 2 else text


def _row_key(result: Measurement) -> tuple[int, str | None, str]:
    return result.task_spec.num_threads, result.task_spec.env, result.as_row_name
