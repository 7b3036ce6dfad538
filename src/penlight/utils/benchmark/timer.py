"""Timing a statement."""

from __future__ import annotations

import textwrap
import timeit
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from time import perf_counter
from typing import Any

from penlight.settings import get_num_threads, set_num_threads

from .measurement import Measurement, TaskSpec


class Language(Enum):
    """What a statement is written in; only Python can be timed here."""

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
        """How many runs make the clock's own time negligible; trying them out is also the warm-up."""
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
        """Blocks of runs until they took `min_run_time` seconds together."""
        with _threads(self._task_spec.num_threads):
            number = self._block_size(min_run_time)
            times = self._measure(number, lambda found: sum(found) >= min_run_time, callback)
        return Measurement(number, times, self._task_spec)

    def adaptive_autorange(self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0,
                           callback: Callable[[int, float], Any] | None = None) -> Measurement:  # fmt: skip
        """Blocks of runs until their times agree up to `threshold`, or `max_run_time` is over."""
        with _threads(self._task_spec.num_threads):
            number = self._block_size(0.05)

            def enough(found: list[float]) -> bool:
                steady = len(found) > 3 and Measurement(number, found, self._task_spec).meets_confidence(threshold)
                return sum(found) > max_run_time or (steady and sum(found) >= min_run_time)

            times = self._measure(number, enough, callback)
        return Measurement(number, times, self._task_spec)

    def collect_callgrind(self, *args: Any, **kwargs: Any) -> Any:
        """Refused: instructions are not counted here."""
        raise NotImplementedError(
            "Timer.collect_callgrind is not available: Penlight does not count instructions. Use blocked_autorange()"
        )
