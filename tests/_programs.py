"""Runs the programs of `tests/programs`, under Penlight or PyTorch, several in one process, and reads their losses.

`python -m tests._programs` (with PyTorch installed) shows how far the two are apart; with `--record` it writes what PyTorch gives to
`tests/programs/losses.json`, which the tests without PyTorch hold Penlight to.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FOLDER = HERE / "programs"
RECORDED = FOLDER / "losses.json"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))
GROUPS = [PROGRAMS[start::6] for start in range(6)]

# How far losses may be apart, relative to the greatest so far: rounding differs (sums in another order), and training amplifies it.
TOLERANCE = {"float32": 1e-4, "float64": 1e-8}

# Programs whose training amplifies rounding so much that float32 says little after some steps: held to float64 in the tests without
# PyTorch, and to these tolerances in float32. That rounding is the cause is shown by their float64 runs.
CHAOTIC: dict[str, float] = {}

DRIVER = """
import contextlib, io, json, runpy, sys, tempfile, os, time, traceback, warnings
library, precision, *paths = sys.argv[1:]
if library == "penlight":
    from penlight.__main__ import main
else:
    def main(arguments):
        sys.argv[:] = arguments[1:]
        try:
            runpy.run_path(arguments[1], run_name="__main__")
        except Exception:
            traceback.print_exc()
            return 1
        return 0
results, own = {}, sys.modules["__main__"]
import gc
for path in paths:
    out, err, begin = io.StringIO(), io.StringIO(), time.perf_counter()
    arguments = ["run", path] + (["--double"] if precision == "float64" else [])
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        os.chdir(folder)
        code = main(arguments)
        os.chdir("/")
    sys.modules["__main__"] = own
    sys.modules["torch"].set_default_dtype(sys.modules["torch"].float32)
    results[path] = [code, out.getvalue(), err.getvalue(), time.perf_counter() - begin]
print(json.dumps(results))
"""


def run(programs: list[str], library: str = "penlight", precision: str = "float32") -> dict[str, tuple]:
    """Run programs one after the other in one process: the losses, the errors and the seconds of each."""
    import penlight

    source = str(Path(penlight.__file__).parent.parent)
    path = os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH", "")]))
    paths = [str(FOLDER / f"{name}.py") for name in programs]
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, library, precision, *paths],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    results = json.loads(done.stdout.splitlines()[-1])
    return {
        name: (losses(results[path][1]), results[path][2] if results[path][0] else "", results[path][3])
        for name, path in zip(programs, paths)
    }


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
            greatest = max(greatest, abs(a - b) / scale if scale else math.inf)
    return greatest


def check(programs: list[str], precision: str, expected: dict[str, list[float]]) -> list[str]:
    """What is wrong with the losses of programs under Penlight, one line for each program that is off."""
    wrong = []
    for name, (ours, error, _) in run(programs, "penlight", precision).items():
        allowed = CHAOTIC.get(name, TOLERANCE["float32"]) if precision == "float32" else TOLERANCE["float64"]
        off = distance(ours, expected[name])
        if error or not off <= allowed:
            wrong.append(f"{name} ({precision}): {error or f'losses differ by {off:.2g}, allowed {allowed:.2g}'}")
    return wrong


def main(arguments: list[str]) -> None:
    """Compare, or record."""
    names = [name for name in arguments if not name.startswith("-")] or PROGRAMS
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    for precision in TOLERANCE:
        theirs = run(names, "torch", precision)
        ours = run(names, "penlight", precision)
        for name in names:
            (a, error, seconds), (b, their_error, their_seconds) = ours[name], theirs[name]
            print(
                f"{name:24} {precision} {distance(a, b):9.2g}   {b[0] if b else 0:10.6g} -> {b[-1] if b else 0:10.6g}"
                f"   {seconds:5.2f} s, torch {their_seconds:5.2f} s   {len(b)} steps"
            )
            for who, words in (("penlight", error), ("torch", their_error)):
                if words:
                    print(f"  {who}: {words[-1500:]}")
            recorded.setdefault(precision, {})[name] = b
    if "--record" in arguments:
        text = json.dumps({p: {n: recorded[p][n] for n in PROGRAMS} for p in TOLERANCE}).replace('"], "', '],\n"')
        RECORDED.write_text(text.replace("], ", "],\n") + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
