"""Counts the Python calls of one training step, and the files they are in: the path that a reader of the source has to follow.

    python tools/walk.py            # calls and files of each part
    python tools/walk.py backward   # and each call of one part, in order

The step is `loss = cross_entropy(model(x), y); loss.backward(); optimizer.step()` of two linear layers with a relu between them and Adam, warm: after five
steps. Functions of C do not count. Generated functions have files of their own, in angle brackets.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import penlight as torch

ROOT = f"{Path(torch.__file__).parent}/"
SIZES = {"small": (32, 64, 32, 10), "large": (128, 784, 512, 10)}  # batch, inputs, hidden units, classes
Call = tuple[str, str, int]  # file, function, line


def walk(function: Callable[[], Any]) -> tuple[list[Call], Any]:
    """The Python calls that a function makes, and what it returns."""
    calls: list[Call] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            code = frame.f_code
            calls.append((code.co_filename.removeprefix(ROOT), code.co_name, code.co_firstlineno))

    sys.setprofile(note)
    try:
        result = function()
    finally:
        sys.setprofile(None)
    return calls[1:], result


def training_step(batch: int, inputs: int, hidden: int, classes: int) -> dict[str, list[Call]]:
    """The calls of each part of a step."""
    model = torch.nn.Sequential(torch.nn.Linear(inputs, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, classes))
    optimizer = torch.optim.Adam(model.parameters())
    x, y = torch.randn(batch, inputs), torch.randint(0, classes, (batch,))
    for _ in range(5):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
    optimizer.zero_grad()
    forward, out = walk(lambda: model(x))
    loss, value = walk(lambda: torch.nn.functional.cross_entropy(out, y))
    backward, _ = walk(lambda: value.backward())
    step, _ = walk(lambda: optimizer.step())
    return {"forward": forward, "loss": loss, "backward": backward, "step": step}


def main() -> None:
    for size, sizes in SIZES.items():
        print(f"{size}: {' x '.join(map(str, sizes))}")
        for part, calls in training_step(*sizes).items():
            print(f"  {part:9}{len(calls):4} calls in {len({file for file, _, _ in calls}):2} files")
            if part in sys.argv[1:]:
                for file, function, line in calls:
                    print(f"      {file}:{line} {function}")


if __name__ == "__main__":
    main()
