"""What `inspect.watch(nan="raise", inf="raise")` costs a training step: with it and without it, in one process, taking turns.

    python -m benchmarks.watching [workload ...] [--turns 40]

Processor time of one thread. The median of the ratios of neighbouring turns is what a step costs; the ratio of the best turns says the same on a
quiet machine.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

from .libraries import load
from .report import in_words, markdown_table
from .work import ALL

STEPS = ("gpt", "lstm", "cnn", "mlp_large", "mlp_small", "mlp_tiny")


def compare(t: Any, step: Callable[[], Any], turns: int, seconds: float = 0.02) -> tuple[float, float, float]:
    """The time of a step, and what it is multiplied by while it is watched: the median of all turns, and best against best."""
    log = t.inspect.Log(nan="raise", inf="raise")  # one for all turns, as where `watch` stands around a whole program

    def watched(count: int) -> float:
        with t.inspect.watch(log=log):
            return _time(step, count)

    watched(3)
    _time(step, 3)
    count = max(1, round(seconds / _time(step, 1)))
    plain, other = [], []
    for _ in range(turns):
        plain.append(_time(step, count))
        other.append(watched(count))
    ratios = [b / a for a, b in zip(plain, other)]
    return min(plain), statistics.median(ratios), min(other) / min(plain)


def _time(step: Callable[[], Any], count: int) -> float:
    start = time.thread_time()
    for _ in range(count):
        step()
    return (time.thread_time() - start) / count


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.watching", description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", default=STEPS)
    parser.add_argument("--turns", type=int, default=40)
    options = parser.parse_args(arguments)
    t = load("penlight")
    t.set_num_threads(1)
    rows = []
    for name in options.workloads:
        best, median, least = compare(t, ALL[name].make(t), options.turns)
        rows.append([name, in_words(best), f"{median:.3f}", f"{least:.3f}", ALL[name].about])
    print(markdown_table(["step", "unwatched", "watched, median", "best", "work"], rows))


if __name__ == "__main__":
    main()
