"""An epoch of a DataLoader beside PyTorch: small items and small pictures, loaded here and by two worker processes.

    python -m benchmarks.loading [case ...]      # a table: times of both libraries and PyTorch's over ours
    python -m benchmarks.loading --of penlight   # one library's process: reads a case a line, answers with its best time

The libraries take turns, each in a process of its own, and the best epoch of several rounds counts. Workers stay from epoch to epoch,
except where their start is what is measured.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .libraries import OWN, REFERENCE, ROOT, environment, load
from .report import in_words, markdown_table

BATCH = 64
SHAPES = {"10 floats": ((10,), 12_800), "3x32x32": ((3, 32, 32), 3_200)}
EPOCHS = 3


def item_dataset(t: Any, shape: tuple[int, ...], count: int) -> Any:
    """Items that a dataset gives one by one: a tensor and a number."""
    rows = t.from_numpy(np.random.default_rng(0).random((count, *shape), dtype=np.float32))

    class Items(t.utils.data.Dataset):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return count

        def __getitem__(self, index: int) -> Any:
            return rows[index], index % 10

    return Items()


def array_dataset(t: Any, shape: tuple[int, ...], count: int) -> Any:
    """Items as NumPy arrays."""
    rows = np.random.default_rng(0).random((count, *shape), dtype=np.float32)

    class Arrays(t.utils.data.Dataset):  # type: ignore[misc, name-defined]
        def __len__(self) -> int:
            return count

        def __getitem__(self, index: int) -> Any:
            return rows[index], index % 10

    return Arrays()


def row_dataset(t: Any, shape: tuple[int, ...], count: int) -> Any:
    """Rows of a TensorDataset."""
    rows = t.from_numpy(np.random.default_rng(0).random((count, *shape), dtype=np.float32))
    return t.utils.data.TensorDataset(rows, t.arange(count) % 10)


DATASETS = {"tensors": item_dataset, "arrays": array_dataset, "TensorDataset": row_dataset}


def epochs(t: Any, dataset: Any, **options: Any) -> Callable[[], int]:
    """A function that loads all batches once."""
    loader = t.utils.data.DataLoader(dataset, batch_size=BATCH, **options)
    return lambda: sum(len(batch[0]) for batch in loader)


def cases() -> dict[str, Callable[[Any], Callable[[], int]]]:
    """What is measured, by name."""
    table: dict[str, Callable[[Any], Callable[[], int]]] = {}
    for size, (shape, count) in SHAPES.items():
        for kind, make in DATASETS.items():
            for workers in (0, 2):
                options = {"num_workers": workers, "persistent_workers": workers > 0}
                table[f"{kind} of {size}, {workers} workers"] = lambda t, m=make, s=shape, c=count, o=options: epochs(
                    t, m(t, s, c), **o
                )
    table["shuffled tensors of 10 floats, 0 workers"] = lambda t: epochs(
        t, item_dataset(t, (10,), 12_800), shuffle=True
    )
    table["start of 2 workers, 4 batches"] = lambda t: epochs(t, item_dataset(t, (10,), 4 * BATCH), num_workers=2)
    table["tensors of 3x256x256, 2 workers"] = lambda t: epochs(
        t, item_dataset(t, (3, 256, 256), 128), num_workers=2, persistent_workers=True
    )
    return table


def serve(name: str) -> None:
    """One library's process."""
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    library, known = load(name), cases()
    step, current = None, ""
    for line in sys.stdin:
        if line.strip() != current:
            current, step = line.strip(), None
            step = known[current](library)
            step()
        assert step is not None
        best = math.inf
        for _ in range(EPOCHS):
            begin = time.perf_counter()
            step()
            best = min(best, time.perf_counter() - begin)
        print(json.dumps(best), file=answers, flush=True)


class Process:
    """A library that answers with times."""

    def __init__(self, library: str) -> None:
        command = [sys.executable, "-m", "benchmarks.loading", "--of", library]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(), cwd=ROOT
        )

    def time(self, case: str) -> float:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(case + "\n")
        self._process.stdin.flush()
        return float(json.loads(self._process.stdout.readline()))

    def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def main(names: list[str], rounds: int = 4) -> None:
    ours, theirs = Process(OWN), Process(REFERENCE)
    rows, ratios = [], []
    for case in names or cases():
        best = [math.inf, math.inf]
        for _ in range(rounds):
            for number, process in enumerate((ours, theirs)):
                best[number] = min(best[number], process.time(case))
        ratios.append(best[1] / best[0])
        rows.append([case, in_words(best[0]), in_words(best[1]), f"{ratios[-1]:.2f}"])
        print(*rows[-1], sep="  ", file=sys.stderr, flush=True)
    ours.end()
    theirs.end()
    print(markdown_table(["an epoch of", OWN, REFERENCE, "ratio"], rows))
    print(f"\ngeometric mean {math.exp(sum(map(math.log, ratios)) / len(ratios)):.2f}")


if __name__ == "__main__":
    serve(sys.argv[2]) if sys.argv[1:2] == ["--of"] else main(sys.argv[1:])
