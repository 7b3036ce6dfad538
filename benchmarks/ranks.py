"""Time `torch.distributed` of Penlight (MPI) beside PyTorch's (gloo): reductions of several sizes, a training step with
DistributedDataParallel, and the same step without.

python -m benchmarks.ranks --ranks 2 --rounds 5

The libraries take turns, round by round; the best of the rounds counts. Each rank has one thread.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from .libraries import OWN, REFERENCE, environment, installed

SIZES = {"4 B": 1, "4 KB": 1 << 10, "64 KB": 1 << 14, "1 MB": 1 << 18, "4 MB": 1 << 20, "32 MB": 1 << 23}


STEPS = 50


def best(function: Callable[[], Any], dist: Any, times: int) -> float:
    """The shortest time of so many calls, in microseconds; ranks begin each together."""
    shortest = float("inf")
    for _ in range(times):
        dist.barrier()
        start = time.perf_counter()
        function()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest * 1e6


def measure(name: str) -> dict[str, float]:
    """What this rank measures with a library."""
    torch: Any = importlib.import_module(name)
    dist: Any = importlib.import_module(f"{name}.distributed")
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    times = {}
    for label, count in SIZES.items():
        tensor = torch.ones(count)
        times[f"all_reduce {label}"] = best(
            lambda tensor=tensor: dist.all_reduce(tensor), dist, max(5, min(200, (1 << 24) // count))
        )
    torch.manual_seed(0)
    model = torch.nn.Sequential(*[layer for _ in range(8) for layer in (torch.nn.Linear(256, 256), torch.nn.ReLU())])
    parallel = torch.nn.parallel.DistributedDataParallel(model)
    x = torch.randn(32, 256)

    def step(of: Any) -> None:
        model.zero_grad()
        of(x).square().mean().backward()

    added = 0.0
    for name, of, sign in (("step alone", model, -1), ("step of DistributedDataParallel", parallel, 1)):
        start = time.process_time()
        times[name] = best(lambda of=of: step(of), dist, STEPS)
        added += sign * (time.process_time() - start) * 1e6 / STEPS
    times["processor time that it adds"] = added
    dist.barrier()
    return times


def job(name: str, ranks: int, cores: int | None = None) -> dict[str, float]:
    """What rank 0 measures in a job of its own, which is kept to so many of the cores."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port = found.getsockname()[1]
    env = {**environment(), "WORLD_SIZE": str(ranks), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    env.update({f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")})
    command = [sys.executable, "-m", "benchmarks.ranks", "--measure", name]
    if cores is not None:
        command += ["--cores", str(cores)]
    started = [
        subprocess.Popen(command, env={**env, "RANK": str(rank)}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        for rank in range(ranks)
    ]
    printed = [process.communicate()[0] for process in started]
    if any(process.returncode for process in started):
        raise RuntimeError(f"a rank of {name} failed")
    return json.loads(printed[0].splitlines()[-1])


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.ranks", description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    parser.add_argument("--cores", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.measure:
        if options.cores is not None:
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.cores])
        print(json.dumps(measure(options.measure)), flush=True)
        return
    libraries = installed((OWN, REFERENCE), sys.executable)
    shortest: dict[str, dict[str, float]] = {name: {} for name in libraries}
    for _ in range(options.rounds):
        for name in libraries:
            for label, value in job(name, options.ranks).items():
                shortest[name][label] = min(value, shortest[name].get(label, float("inf")))
    print(f"{options.ranks} ranks on {os.cpu_count()} cores, microseconds, best of {options.rounds} rounds")
    for label in shortest[libraries[0]]:
        row = [shortest[name][label] for name in libraries]
        ratio = f"{row[-1] / row[0]:8.2f}" if len(row) > 1 else ""
        print(f"{label:34}" + "".join(f"{name:>10} {value:12.1f}" for name, value in zip(libraries, row)) + ratio)


if __name__ == "__main__":
    main()
