"""Runs the programs of `tests/programs`, under Penlight or PyTorch, several in one process, and reads their losses.

`python -m tests._programs` (with PyTorch installed) shows how far the two are apart; with `--record` it writes what PyTorch gives to
`tests/programs/losses.json`, which the tests without PyTorch hold Penlight to.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "programs"
RECORDED = FOLDER / "losses.json"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))
GROUPS = [PROGRAMS[start::6] for start in range(6)]

# How far losses may be apart, relative to their size: rounding differs (sums in another order), and training amplifies it.
TOLERANCE = {"float32": 1e-4, "float64": 1e-8}

# Programs whose training amplifies rounding so much that float32 says little after some steps: held to float64 in the tests without
# PyTorch, and to these tolerances in float32. That rounding is the cause is shown by their float64 runs.
CHAOTIC = {
    "autoencoder": 1e-2,
    "batch_norms": 1e-2,
    "custom_optimizers": 3e-2,  # Lion steps by signs
    "distillation": 1e-2,
    "hessian_free": 3e-2,  # a step is kept or taken back
    "lbfgs": 3e-2,
    "mixed_precision": 0.1,  # bfloat16 inside
    "reinforce": 1e-2,
}

# PyTorch differentiates samples of gamma and beta distributions by approximations with errors up to 1e-3; Penlight's are exact.
APPROXIMATE = {"random_variables": 1e-5}


class Run:
    """What a program did: its losses, the rest of what it printed, its error if it failed, and its seconds."""

    def __init__(self, code: int, out: str, error: str, seconds: float) -> None:
        self.losses, self.seconds = losses(out), seconds
        self.text = [line for line in out.splitlines() if not losses(line)]
        self.error = error if code else ""


def run(programs: list[str], library: str = "penlight", precision: str = "float32") -> dict[str, Run]:
    """Run programs one after the other in one process."""
    import penlight

    source = str(Path(penlight.__file__).parent.parent)
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
    paths = [str(FOLDER / f"{name}.py") for name in programs]
    done = subprocess.run(
        [sys.executable, "-P", str(HERE / "_programs_driver.py"), library, precision, *paths],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    return {name: Run(*results[path]) for name, path in zip(programs, paths)}


def losses(text: str) -> list[float]:
    """The losses that a program printed: `step 3 loss 0.25` each."""
    lines = [line.split() for line in text.splitlines()]
    return [float(words[3]) for words in lines if len(words) >= 4 and words[0] == "step" and words[2] == "loss"]


def distance(ours: list[float], theirs: list[float]) -> float:
    """The greatest difference of two courses of losses, each relative to the size of the losses up to there."""
    if len(ours) != len(theirs) or not theirs:
        return math.inf
    greatest = scale = 0.0
    for a, b in zip(ours, theirs):
        scale = max(abs(b), scale * 0.9)
        if a != b:
            greatest = max(greatest, abs(a - b) / scale if scale and math.isfinite(a) else math.inf)
    return greatest


def allowed(name: str, precision: str) -> float:
    """How far the losses of a program may be from PyTorch's."""
    special = CHAOTIC if precision == "float32" else APPROXIMATE
    return special.get(name, TOLERANCE[precision])


def check(programs: list[str], precision: str, expected: dict[str, list[float]]) -> list[str]:
    """What is wrong with the losses of programs under Penlight, one line for each program that is off."""
    wrong = []
    for name, ours in run(programs, "penlight", precision).items() if programs else ():
        off = distance(ours.losses, expected[name])
        if ours.error or not off <= allowed(name, precision):
            wrong.append(f"{name} ({precision}): {ours.error or f'losses differ by {off:.2g}'}")
    return wrong


_NUMBER = re.compile(r"[-+]?\d+\.\d*(?:e[-+]?\d+)?")


def different_text(ours: list[str], theirs: list[str]) -> str:
    """The first line that two programs printed differently; numbers with a point need only be close."""
    for a, b in zip_longest(ours, theirs, fillvalue=""):
        near = all(
            math.isclose(float(x), float(y), rel_tol=1e-3, abs_tol=1e-3)
            for x, y in zip(_NUMBER.findall(a), _NUMBER.findall(b))
        )
        if not near or _NUMBER.sub("#", a) != _NUMBER.sub("#", b):
            return f"{a!r} instead of {b!r}"
    return ""


def main(arguments: list[str]) -> None:
    """Compare, or record."""
    names = [name for name in arguments if not name.startswith("-")] or PROGRAMS
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    for precision in TOLERANCE:
        theirs = run(names, "torch", precision)
        ours = run(names, "penlight", precision)
        for name in names:
            a, b = ours[name], theirs[name]
            first, last = (b.losses[0], b.losses[-1]) if b.losses else (math.nan, math.nan)
            print(
                f"{name:24} {precision} {distance(a.losses, b.losses):9.2g}   {first:10.6g} -> {last:10.6g}   "
                f"{a.seconds:5.2f} s, torch {b.seconds:5.2f} s   {different_text(a.text, b.text)}"
            )
            for who, words in (("penlight", a.error), ("torch", b.error)):
                if words:
                    print(f"  {who}: {words[-1500:]}")
            recorded.setdefault(precision, {})[name] = b.losses
    if "--record" in arguments:
        kept = {p: {n: recorded[p][n] for n in PROGRAMS} for p in TOLERANCE}
        RECORDED.write_text(json.dumps(kept).replace("], ", "],\n") + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
