"""One library's process: reads names of workloads, answers with the best time of a step in seconds (inf if it can't run)."""

from __future__ import annotations

import importlib
import sys
import time
import traceback
from typing import Any

from .workloads import ALL


def measure(step: Any) -> float:
    """The best of a few slices of about 50 ms each."""
    step()
    begin = time.perf_counter()
    step()
    once = time.perf_counter() - begin
    count = max(1, int(0.05 / max(once, 1e-6)))
    best = once
    for _ in range(3):
        begin = time.perf_counter()
        for _ in range(count):
            step()
        best = min(best, (time.perf_counter() - begin) / count)
    return best


def main() -> None:
    library: Any = importlib.import_module(sys.argv[1])
    if hasattr(library, "set_num_threads"):
        library.set_num_threads(2)
    steps: dict[str, Any] = {}
    for line in sys.stdin:
        name = line.strip()
        try:
            if name not in steps:
                steps[name] = ALL[name](library)
            print(measure(steps[name]), flush=True)
        except Exception:
            traceback.print_exc()
            steps[name] = None
            print("inf", flush=True)


if __name__ == "__main__":
    main()
