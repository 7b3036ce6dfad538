"""Every op beside PyTorch: each that the tests have a record of on its record's small arrays, and the common ones on arrays of middle size and on large arrays.

    python -m benchmarks.ops [--small] [--middle] [--large] [--elements N ...] [--seconds 0.02] [--worst 30] [--json FILE] [--markdown FILE] [part of a name ...]

Both libraries run in this process, in one thread, and take turns; the best time counts. A ratio is PyTorch's time over Penlight's:
above 1 means faster than PyTorch. Each op is timed without a graph (forward), and with its graph and its gradients (both ways).

`--elements 100 20000 1000000` times single functions on vectors of so many elements instead, forward. With PENLIGHT_NATIVE=0 this shows how NumPy alone does,
and which rows take more than five times PyTorch's time without being named in docs/performance.md. Each of those is timed once more, alone.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .report import in_words, markdown_table
from .work.elements import calls
from .work.large import CALLS, call, operands
from .worker import measure

Step = Callable[[], Any]
HEAD = [
    "",
    "ops",
    "geometric mean",
    "slower than PyTorch",
    "than half its speed",
    "than a quarter",
    "than a fifth",
    "slowest",
]
SIZES = ("small", "middle", "large")
ROOT = Path(__file__).resolve().parent.parent
NAMED = "| slower without machine code |"  # how the table in docs/performance.md begins
LEAST = 1 / 5  # the ratio below which a row must be named there


class Row(NamedTuple):
    """What was measured of an op; times in seconds."""

    name: str
    size: str  # one of SIZES, or how many elements
    way: str  # "forward" or "both ways"
    ours: float
    theirs: float

    @property
    def ratio(self) -> float:
        return self.theirs / self.ours


def steps(library: Any, call: Callable[[], Any], leaves: list[Any]) -> dict[str, Step]:
    """What is timed of a call: it alone, and it with the gradients of its leaves, if it has any."""

    def forward() -> Any:
        with library.no_grad():
            return call()

    found: dict[str, Step] = {"forward": forward}
    outputs = [o for o in tensors(library, call()) if o.requires_grad]
    if leaves and outputs:
        grads = [library.ones_like(o) for o in outputs]

        def both_ways() -> None:
            made = [o for o in tensors(library, call()) if o.requires_grad]
            library.autograd.grad(made, leaves, grads, allow_unused=True)

        found["both ways"] = both_ways
    return found


def tensors(library: Any, result: Any) -> list[Any]:
    if isinstance(result, (tuple, list)):
        return [t for part in result for t in tensors(library, part)]
    return [result] if library.is_tensor(result) else []


def small_steps(libraries: list[Any], names: list[str]) -> Iterator[tuple[str, list[dict[str, Step]]]]:
    """The ops of the tests' records, each with the first of its samples that both libraries take."""
    sys.path.insert(0, str(ROOT / "tests" / "ops"))
    from records import RECORDS
    from running import build, resolve

    for name, record in RECORDS.items():
        if names and not any(part in name for part in names):
            continue
        for sample in record.samples:
            try:
                made = []
                for library in libraries:
                    args, kwargs, leaves = build(library, sample, np.random.default_rng(0))
                    function = resolve(library, name)
                    made.append(steps(library, lambda f=function, a=args, k=kwargs: f(*a, **k), leaves))
            except Exception:  # some samples are there to be refused
                continue
            yield name, made
            break


def large_steps(size: str, libraries: list[Any], names: list[str]) -> Iterator[tuple[str, list[dict[str, Step]]]]:
    """The common ops, on arrays of a size."""
    given = [operands(library, size) for library in libraries]
    for name in CALLS:
        if not names or any(part in name for part in names):
            made = [call(library, name, of) for library, of in zip(libraries, given, strict=True)]
            yield name, [steps(library, *of) for library, of in zip(libraries, made, strict=True)]


def element_steps(count: int, libraries: list[Any], names: list[str]) -> Iterator[tuple[str, list[dict[str, Step]]]]:
    """Functions of vectors, on so many elements."""
    ours, theirs = (calls(library, count) for library in libraries)
    for name in ours:
        if not names or any(part in name for part in names):
            yield name, [{"forward": ours[name]}, {"forward": theirs[name]}]


def race(ours: Step, theirs: Step, seconds: float) -> tuple[float, float]:
    """The best times of both, in turns."""
    best = [math.inf, math.inf]
    for _ in range(3):
        for i, step in enumerate((ours, theirs)):
            best[i] = min(best[i], measure(step, seconds / 3))
    return best[0], best[1]


def timed(size: str, libraries: list[Any], names: list[str], seconds: float) -> Iterator[Row]:
    if size.isdigit():
        found = element_steps(int(size), libraries, names)
    elif size == "small":
        found = small_steps(libraries, names)
    else:
        found = large_steps(size, libraries, names)
    for name, made in found:
        for way in made[0]:
            if way in made[1]:
                try:
                    yield Row(name, size, way, *race(made[0][way], made[1][way], seconds))
                except Exception as error:  # a gradient that PyTorch has not
                    print(f"{name}, {way}: {type(error).__name__} {error}".splitlines()[0], file=sys.stderr)


def summary(rows: list[Row]) -> list[list[str]]:
    """For each size and way: how many ops, their geometric mean, and how many are how slow."""
    table = []
    for size in dict.fromkeys(row.size for row in rows):
        for way in ("forward", "both ways"):
            ratios = sorted((r.ratio, r.name) for r in rows if r.size == size and r.way == way)
            if ratios:
                mean = math.exp(sum(math.log(ratio) for ratio, _ in ratios) / len(ratios))
                counts = [str(sum(ratio < bound for ratio, _ in ratios)) for bound in (1, 1 / 2, 1 / 4, 1 / 5)]
                slowest = f"`{ratios[0][1]}` {ratios[0][0]:.2f}"
                table.append([f"{size}, {way}", str(len(ratios)), f"{mean:.2f}", *counts, slowest])
    return table


def named() -> dict[str, set[str]]:
    """The names in docs/performance.md of what is slow without machine code, by how many elements it has there."""
    page = (ROOT / "docs" / "performance.md").read_text()
    found: dict[str, set[str]] = {}
    for line in page[page.index(NAMED) :].split("\n\n")[0].splitlines()[2:]:
        what, elements = line.split("|")[1:3]
        for size in elements.replace(",", "").split():
            found.setdefault(size, set()).update(re.findall("`(.*?)`", what))
    return found


def covers(name: str, row: str) -> bool:
    """Whether a name on the page is that of a row, or of all rows that begin with it."""
    return row == name or row.startswith(name + " ")


def unnamed(rows: list[Row]) -> list[Row]:
    """The rows that are too slow and not named."""
    known = named()
    return [
        row for row in rows if row.ratio < LEAST and not any(covers(name, row.name) for name in known.get(row.size, ()))
    ]


def parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.ops", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="name", help="parts of names; all ops, if none is given")
    parser.add_argument("--small", action="store_true", help="small arrays only")
    parser.add_argument("--middle", action="store_true", help="arrays of 20,000 numbers only")
    parser.add_argument("--large", action="store_true", help="arrays of 400,000 numbers only")
    parser.add_argument(
        "--elements", nargs="+", type=int, metavar="N", help="functions of vectors of so many elements only"
    )
    parser.add_argument("--seconds", type=float, default=0.02, help="for each op, way and library")
    parser.add_argument("--worst", type=int, default=30, help="how many of the slowest to show")
    parser.add_argument("--json", metavar="FILE", help="keep what was measured")
    parser.add_argument("--markdown", metavar="FILE", help="write the table for a page")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> None:
    options = parse(arguments)
    try:
        import torch
    except ImportError:
        raise SystemExit("PyTorch is what the ops are timed beside: pip install torch==2.13.0") from None
    import penlight
    from penlight.kernels import executable

    warnings.simplefilter("ignore")
    for library in (penlight, torch):
        library.set_num_threads(1)
    sizes = [*map(str, options.elements or ()), *(s for s in SIZES if getattr(options, s))] or SIZES
    rows: list[Row] = []
    for size in sizes:
        rows += timed(size, [penlight, torch], options.names, options.seconds)
    for row in sorted(rows, key=lambda row: row.ratio)[: options.worst]:
        print(
            f"{row.ratio:6.2f}  {row.name}, {row.size}, {row.way}: {in_words(row.ours)}, PyTorch {in_words(row.theirs)}"
        )
    table = markdown_table(HEAD, summary(rows))
    print("\n" + table)
    if options.elements and not executable.compiles():
        again = {(row.name, row.size) for row in unnamed(rows)}
        slow = [
            row
            for name, size in sorted(again)
            for row in timed(size, [penlight, torch], [name], 1.0)
            if row.name == name
        ]
        for row in unnamed(slow):
            print(f"not named in docs/performance.md: {row.name}, {row.size}, {1 / row.ratio:.1f} times PyTorch's time")
    if options.markdown:
        Path(options.markdown).write_text(table + "\n")
    if options.json:
        Path(options.json).write_text(json.dumps([row._asdict() for row in rows]))


if __name__ == "__main__":
    main()
