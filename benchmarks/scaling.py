"""Predict the time of a training step with DistributedDataParallel on 2 to 1,024 ranks, from what two ranks measure.

python -m benchmarks.scaling                         measure two ranks here, and predict
python -m benchmarks.scaling --check                 measure four ranks, too, and compare
python -m benchmarks.scaling --latency 20 --bandwidth 1.2 --step 80 --gradients 500
                                                     another network (microseconds, GB/s), another model (ms, MB)

The model. A message of n bytes takes `latency + n / bandwidth`. A reduction over p ranks takes the fastest of

    doubling    log2(p) messages of n bytes
    halving     2 log2(p) messages of n/2, n/4, ... bytes; two more of n bytes if p is not a power of two
    ring        2 (p - 1) messages of n/p bytes

A step takes its computing, what DistributedDataParallel does itself, and the reductions of its buckets one after the
other: MPI moves little data while Python computes. Ranks that share a core wait for it at each message, some hundred times
as long as for the message itself, so they are another link with another step: two ranks on one core measure it.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from . import ranks
from .libraries import OWN

MB = 1 << 20
MODEL = 8 * (256 * 256 + 256) * 4  # bytes of gradients of the step that `benchmarks.ranks` measures


@dataclass
class Link:
    """How long messages between two ranks take: seconds, and bytes a second."""

    latency: float
    bandwidth: float

    def all_reduce(self, size: float, count: int) -> tuple[float, str]:
        """The seconds of a reduction of so many bytes over so many ranks, and the algorithm that is fastest."""
        if count == 1:
            return 0.0, "none"
        rounds, message = math.floor(math.log2(count)), self.latency + size / self.bandwidth
        odd = 0.0 if count == 1 << rounds else 2 * message
        moved = 2 * size / self.bandwidth
        ways = {
            "doubling": rounds * message + odd,
            "halving": 2 * rounds * self.latency + (1 - 0.5**rounds) * moved + odd,
            "ring": 2 * (count - 1) * self.latency + (1 - 1 / count) * moved,
        }
        name = min(ways, key=ways.__getitem__)
        return ways[name], name


def fitted(times: dict[int, float]) -> Link:
    """The link for which reductions over two ranks take about these times: seconds by bytes; relative errors count."""
    sizes, seconds = (np.array(list(values), float) for values in (times.keys(), times.values()))
    rows = np.stack([np.ones_like(sizes), sizes], 1) / seconds[:, None]
    (latency, inverse), *_ = np.linalg.lstsq(rows, np.ones_like(sizes))
    return Link(max(float(latency), 1e-9), 1 / max(float(inverse), 1e-15))


def buckets(size: float) -> list[float]:
    """The bytes of each bucket of gradients: a first one of 1 MB, then of 25."""
    found = [min(size, MB)]
    while (left := size - sum(found)) > 0:
        found.append(min(left, 25 * MB))
    return found


@dataclass
class Step:
    """A training step: seconds of computing, bytes of gradients, and seconds of DistributedDataParallel itself."""

    computing: float
    gradients: float
    overhead: float

    def seconds(self, link: Link, count: int) -> float:
        """How long it takes on so many ranks."""
        reductions = sum(link.all_reduce(size, count)[0] for size in buckets(self.gradients))
        return self.computing + (self.overhead + reductions if count > 1 else 0.0)


def profile(measured: dict[str, float]) -> tuple[Link, Step]:
    """The link and the step that `benchmarks.ranks` measured on two ranks, in microseconds."""
    link = fitted({4 * count: measured[f"all_reduce {label}"] / 1e6 for label, count in ranks.SIZES.items()})
    alone, parallel = measured["step alone"] / 1e6, measured["step of DistributedDataParallel"] / 1e6
    plain = Step(alone, MODEL, 0.0).seconds(link, 2)
    return link, Step(alone, MODEL, max(0.0, parallel - plain))


def check(link: Link, step: Step, measured: dict[str, float], count: int) -> list[tuple[str, float, float]]:
    """What was measured and what is predicted, both in microseconds."""
    rows = [
        (name, measured[name], link.all_reduce(4 * numbers, count)[0] * 1e6)
        for name, numbers in ((f"all_reduce {label}", numbers) for label, numbers in ranks.SIZES.items())
    ]
    name = "step of DistributedDataParallel"
    return [*rows, (name, measured[name], step.seconds(link, count) * 1e6)]


def best_of(count: int, rounds: int, cores: int | None = None) -> dict[str, float]:
    """The best of several measurements with so many ranks here."""
    found = [ranks.job(OWN, count, cores) for _ in range(rounds)]
    return {name: min(one[name] for one in found) for name in found[0]}


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, predict, and print tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scaling", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("--rounds", type=int, default=3, help="measurements, of which the best counts")
    parser.add_argument("--check", action="store_true", help="compare with two and four ranks here")
    parser.add_argument("--latency", type=float, help="of a network, in microseconds")
    parser.add_argument("--bandwidth", type=float, help="of a network, in GB/s")
    parser.add_argument("--step", type=float, help="computing of a step, in milliseconds")
    parser.add_argument("--gradients", type=float, help="gradients of a model, in MB")
    options = parser.parse_args(arguments)
    two = best_of(2, options.rounds)
    link, step = profile(two)
    print(f"two ranks here: latency {link.latency * 1e6:.0f} us, bandwidth {link.bandwidth / 1e9:.2f} GB/s, "
          f"step {step.computing * 1e3:.2f} ms, overhead {step.overhead * 1e3:.2f} ms")  # fmt: skip
    if options.check:
        crowded = cores() < 4
        four = profile(best_of(2, options.rounds, 1)) if crowded else (link, step)
        for count, known, measured in ((2, (link, step), two), (4, four, best_of(4, options.rounds))):
            print(f"\n{count} ranks{', two on a core,' if crowded and count > 2 else ','} microseconds")
            print(f"{'measured':>46}{'predicted':>12}")
            for name, seen, predicted in check(*known, measured, count):
                print(f"{name:34}{seen:12.0f}{predicted:12.0f}{predicted / seen:8.2f}")
    if options.latency is not None:
        link.latency = options.latency / 1e6
    if options.bandwidth is not None:
        link.bandwidth = options.bandwidth * 1e9
    if options.step is not None:
        step.computing = options.step / 1e3
    if options.gradients is not None:
        step.gradients = options.gradients * MB
    print(f"\n{'ranks':>5}{'step, ms':>12}{'speed-up':>12}{'efficiency':>12}   reduction")
    for count in (2**power for power in range(11)):
        seconds = step.seconds(link, count)
        name = link.all_reduce(buckets(step.gradients)[-1], count)[1]
        share = step.computing / seconds
        print(f"{count:5}{seconds * 1e3:12.2f}{count * share:12.1f}{share:12.0%}   {name}")


if __name__ == "__main__":
    main()
