"""Time Penlight beside PyTorch (and its peers) on the same work.

Each library runs in a process of its own, on two threads; they take turns, workload by workload, and the best of several rounds
counts (of more, while times still get better), so that a busy machine disturbs all alike. A ratio is PyTorch's time over a library's:
above 1 means faster than PyTorch. `!` marks what misses its target.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import sys
from pathlib import Path
from typing import Any

from . import cold, libraries, plot, report
from .libraries import OWN, REFERENCE, Worker, installed, run
from .work import ALL, MEMORY_OF
from .work.peers import PEERS

PARTS = ("time", "memory", "cold")


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workloads", nargs="*", metavar="workload", help="all, if none is named: " + ", ".join(ALL))
    parser.add_argument(
        "--rounds", type=int, default=5, help="how often the libraries take turns at each workload, at least"
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=2,
        help="threads of each library; with 1 processor time is measured, which a busy machine disturbs little",
    )
    parser.add_argument(
        "--quick", action="store_true", help="2 rounds of short slices: rough numbers in about a minute"
    )
    parser.add_argument("--parts", default="", help="which of time,memory,cold (all; for named workloads, time)")
    parser.add_argument("--peers", action="store_true", help="also " + ", ".join(PEERS) + ", where they are installed")
    parser.add_argument("--peer-python", default=sys.executable, help="the interpreter that has the peers")
    parser.add_argument("--json", metavar="FILE", help="keep what was measured")
    parser.add_argument(
        "--best-with", metavar="FILE", help="let the times that an earlier run of the same source kept compete"
    )
    parser.add_argument("--plot", metavar="FILE", help="draw the ratios as SVG")
    parser.add_argument("--markdown", metavar="FILE", help="write the tables for a page")
    parser.add_argument("--load", metavar="FILE", help="measure nothing: show what --json kept")
    options = parser.parse_args(arguments)
    for name in options.workloads:
        if name not in ALL:
            parser.error(f"no workload {name!r}; there are {', '.join(ALL)}")
    options.parts = (options.parts or ("time" if options.workloads else ",".join(PARTS))).split(",")
    if not set(options.parts) <= set(PARTS):
        parser.error(f"--parts takes {', '.join(PARTS)}")
    if options.quick:
        options.rounds = min(options.rounds, 2)
    return options


def machine() -> str:
    """The processor's name, and how many of them there are."""
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{os.cpu_count()} × {name}"


def about(rounds: int) -> dict[str, Any]:
    """Where and when this run takes place."""
    import numpy

    return {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "threads": libraries.THREADS,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "rounds": rounds,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan,
        "versions": {},
    }


def time_all(results: dict[str, Any], workers: list[Worker], names: list[str], rounds: int, seconds: float) -> None:
    """Time workload by workload, printing each row as it is known."""
    print(report.line(report.header(results)))
    for name in names:
        earlier = results["times"].get(name, {})
        row = time_one(results["errors"], workers, name, rounds, seconds)
        results["times"][name] = {
            key: min(row.get(key, math.inf), earlier.get(key, math.inf)) for key in {**earlier, **row}
        }
        print(report.line(report.cells(name, results)), flush=True)
    print(report.line(report.means(results)))


def time_one(errors: Any, workers: list[Worker], name: str, rounds: int, seconds: float) -> dict[str, float]:
    """The best times of a workload: of so many rounds, and of more while they still get better (a busy machine), up to four times as many."""
    row: dict[str, float] = {}
    able = [worker for worker in workers if name in worker.workloads]
    calm = 0
    for turn in range(4 * rounds):
        before = dict(row)
        for worker in able:
            answer = worker.time(name, seconds)
            if "time" in answer:
                row[worker.library] = min(answer["time"], row.get(worker.library, answer["time"]))
            else:
                errors.setdefault(name, {}).setdefault(worker.library, answer["error"])
        better = any(seconds < 0.97 * before.get(library, math.inf) for library, seconds in row.items())
        calm = 0 if better else calm + 1
        if turn + 1 >= rounds and calm >= 2:
            break
    return row


def peak_memory(results: dict[str, Any], both: list[str], names: list[str]) -> None:
    """Peak memory of the named workloads, each in a process of its own."""
    print("\npeak memory beyond the imports, MB")
    for name in names:
        answers = {library: run(sys.executable, "-m", "benchmarks.memory", library, name) for library in both}
        results["memory"][name] = {library: a["bytes"] for library, a in answers.items() if "bytes" in a}
        print(report.line(report.memory_rows(results)[-1]), flush=True)


def cold_start(results: dict[str, Any], both: list[str], rounds: int) -> None:
    """The time from nothing to a first gradient."""
    print("\ncold start")
    for program in cold.PROGRAMS:
        row: dict[str, float] = {}
        for turn in range(rounds + 1):
            for library in both:
                seconds = cold.start(sys.executable, library, program)
                if turn:  # the first only leaves its compiled files behind
                    row[library] = min(seconds, row.get(library, seconds))
        results["cold"][program] = row
        print(report.line(report.cold_rows(results)[-1]), flush=True)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    results: dict[str, Any] = {"about": about(options.rounds), "times": {}, "memory": {}, "cold": {}, "errors": {}}
    both = [*installed((REFERENCE,), sys.executable), OWN]
    if REFERENCE not in both:
        print("PyTorch is not installed here: there are times, but no ratios.")
    peers = installed(tuple(PEERS), options.peer_python) if options.peers else []
    workers = [Worker(library) for library in both]
    for peer in peers:
        try:
            workers.append(Worker(peer, options.peer_python))
        except SystemExit as error:  # installed, but it does not start here
            print(f"without {peer}: {error}", file=sys.stderr)
    results["about"]["versions"] = {worker.library: worker.version for worker in workers}
    if options.best_with:
        earlier = json.loads(Path(options.best_with).read_text())
        results["about"]["rounds"] += earlier["about"]["rounds"]
        results["about"]["versions"] = earlier["about"]["versions"] | results["about"]["versions"]
        results.update({part: earlier[part] for part in ("times", "memory", "cold")})
    if "time" in options.parts:
        names = options.workloads or list(ALL)
        time_all(results, workers, names, options.rounds, 0.03 if options.quick else 0.15)
    for worker in workers:
        worker.end()
    if "memory" in options.parts:
        peak_memory(results, both, options.workloads or list(MEMORY_OF))
    if "cold" in options.parts:
        cold_start(results, both, options.rounds)
    for name, errors in results["errors"].items():
        for library, error in errors.items():
            print(f"{name} did not run on {library}: {error}", file=sys.stderr)
    return results


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    libraries.THREADS = options.threads
    if options.load:
        results = json.loads(Path(options.load).read_text())
        print(report.markdown(results))
    else:
        results = measure(options)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    if options.plot:
        Path(options.plot).write_text(plot.svg(results))
    if options.markdown:
        Path(options.markdown).write_text(report.markdown(results))
    return 1 if any(OWN in errors for errors in results["errors"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
