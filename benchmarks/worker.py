"""One library's process: reads `workload seconds` from its input, answers with the best time of a step as JSON.

python -m benchmarks.worker penlight
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

from .libraries import THREADS, load, makers

SLICE = 0.004

# What one thread takes of a processor does not depend on how busy the machine is, but for its caches.
clock = time.process_time if THREADS == 1 else time.perf_counter


def measure(step: Callable[[], Any], seconds: float) -> float:
    """The best of slices of a few milliseconds (a step at least), taken for so many seconds.

    Slices are short because on a busy machine an undisturbed moment is short too; there are at least two.
    """
    step()
    begin = clock()
    step()
    best = clock() - begin
    count = max(1, int(SLICE / max(best, 1e-6)))
    end = time.perf_counter() + seconds
    for _ in range(2):
        best = min(best, slice_of(step, count))
    while time.perf_counter() < end:
        best = min(best, slice_of(step, count))
    return best


def slice_of(step: Callable[[], Any], count: int) -> float:
    """The time of a step, from so many of them in a row."""
    begin = clock()
    for _ in range(count):
        step()
    return (clock() - begin) / count


def version(name: str, library: Any) -> str:
    """What a library calls itself, or what it was installed as."""
    try:
        return getattr(library, "__version__", "") or importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "?"


def main() -> None:
    name = sys.argv[1]
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a library prints by itself does not get between the answers
    library = load(name)
    known = makers(name, library)
    say = lambda answer: print(json.dumps(answer), file=answers, flush=True)
    say({"version": version(name, library), "workloads": list(known)})
    current, step = "", None
    for line in sys.stdin:
        workload, seconds = line.split()
        try:
            if workload != current:
                current, step = workload, None  # the last one's memory is free before the next is prepared
                step = known[workload](library)
            if step is not None:
                say({"time": measure(step, float(seconds))})
            else:
                say({"error": "failed before"})
        except Exception as error:
            step = None
            say({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
