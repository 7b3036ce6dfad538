"""`python -m benchmarks [workload ...] [--rounds N] [--json FILE]`: ratios of PyTorch's time over Penlight's.

Each library runs in a process of its own; they take turns, workload by workload, and the best of several rounds counts, so that
a busy machine disturbs both alike. A ratio above 1 means that Penlight is faster.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from typing import Any

from .workloads import ALL


def ask(worker: Any, name: str) -> float:
    worker.stdin.write(name + "\n")
    worker.stdin.flush()
    answer = worker.stdout.readline().strip()
    if not answer:
        raise SystemExit(f"the worker ended in {name}")
    return float(answer)


def start(library: str) -> Any:
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.worker", library], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("workloads", nargs="*", default=list(ALL))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json")
    arguments = parser.parse_args()
    libraries = ("torch", "penlight")
    workers = {library: start(library) for library in libraries}
    results: dict[str, dict[str, float]] = {}
    print(f"{'workload':<16}{'torch ms':>12}{'penlight ms':>14}{'ratio':>9}")
    for name in arguments.workloads:
        best = dict.fromkeys(libraries, math.inf)
        for _ in range(arguments.rounds):
            for library, worker in workers.items():
                best[library] = min(best[library], ask(worker, name))
        if math.isnan(best["penlight"]) or math.isinf(best["penlight"]):
            print(f"{name:<16}{best['torch'] * 1e3:>12.3f}{'does not run':>14}")
            continue
        results[name] = {**best, "ratio": best["torch"] / best["penlight"]}
        print(
            f"{name:<16}{best['torch'] * 1e3:>12.3f}{best['penlight'] * 1e3:>14.3f}{results[name]['ratio']:>9.2f}",
            flush=True,
        )
    for worker in workers.values():
        worker.stdin.close()
    if results:
        mean = math.exp(sum(math.log(r["ratio"]) for r in results.values()) / len(results))
        print(f"{'geometric mean':<42}{mean:>9.2f}")
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
