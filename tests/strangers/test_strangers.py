"""Programs in the manner of tutorials, examples and libraries that others wrote: they print what they print with PyTorch.

`scripts/` has the programs, `outputs/` what PyTorch 2.13.0 printed. `python tests/strangers/test_strangers.py name...` runs
scripts with PyTorch and writes their outputs anew. The parity test sees that the outputs are PyTorch's still.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SCRIPTS = sorted(path.stem for path in (HERE / "scripts").glob("*.py"))

NUMBER = re.compile(r"[-+]?(?:\d+\.\d*|\.\d+|\d+)(?:[eE][-+]?\d+)?")


def environment():
    source = str(HERE.parent.parent / "src")
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [source, os.environ.get("PYTHONPATH")]))}


def run(names, penlight):
    """What scripts print, by name, run in one process."""
    target = Path(os.environ.get("TMPDIR", "/tmp")) / f"strangers-{os.getpid()}-{penlight}.json"
    command = [sys.executable, *(["-m", "penlight"] if penlight else []), str(HERE / "running.py"), str(target)]
    paths = [str(HERE / "scripts" / f"{name}.py") for name in names]
    done = subprocess.run([*command, *paths], capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    found = json.loads(target.read_text())
    target.unlink()
    return found


def run_alone(name, penlight):
    """What a script prints that makes the library's functions look at the types of their arguments, which stays so."""
    command = [sys.executable, *(["-m", "penlight"] if penlight else []), str(HERE / "scripts" / f"{name}.py")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert done.returncode == 0, done.stderr
    return done.stdout  # without warnings


def looks_at_types(name):
    text = (HERE / "scripts" / f"{name}.py").read_text()
    return "__torch_function__" in text or "sparse=True" in text or "sparse_coo_tensor" in text


@cache
def outputs(penlight):
    return run([name for name in SCRIPTS if not looks_at_types(name)], penlight)


def output(name, penlight):
    return run_alone(name, penlight) if looks_at_types(name) else outputs(penlight)[name]


PAIRS = re.compile(r"OrderedDict\(\[(.*)\]\)")


def as_from_3_12(line):
    """`OrderedDict([(1, 2)])` as Pythons from 3.12 on write it: `OrderedDict({1: 2})`. The outputs are those of 3.11."""
    return PAIRS.sub(
        lambda found: "OrderedDict({" + re.sub(r"\(([^(),]+), ([^()]*)\)", r"\1: \2", found[1]) + "})", line
    )


def lines(text):
    text = as_from_3_12(text)
    text = re.sub(r"(during string formatting) \(required \d+, got \d+\)", r"\1", text)  # Python 3.15 counts them
    text = re.sub(r"0x[0-9a-f]+", "0x", re.sub(r" *\(Triggered internally[^)]*\)", "", text))
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def same_number(ours, theirs):
    """Whether two printed numbers agree as far as float32 and the digits shown allow."""
    a, b = float(ours), float(theirs)
    shown = len(theirs.partition(".")[2].lower().partition("e")[0])
    exponent = int(theirs.lower().partition("e")[2] or 0)
    return abs(a - b) <= 1e-3 * abs(b) + 1.5 * 10.0 ** (exponent - shown) if "." in theirs else a == b


def check(ours, theirs):
    """Compare two outputs: words exactly, numbers closely."""
    for place, (mine, wanted) in enumerate(zip(lines(ours), lines(theirs))):
        words = (NUMBER.sub("#", line).replace(" ", "") for line in (mine, wanted))
        alike = next(words) == next(words)
        numbers = zip(NUMBER.findall(mine), NUMBER.findall(wanted))
        if not alike or not all(same_number(a, b) for a, b in numbers):
            raise AssertionError(f"line {place + 1}:\n  ours:    {mine}\n  PyTorch: {wanted}")
    assert len(lines(ours)) == len(lines(theirs)), (lines(ours)[-3:], lines(theirs)[-3:])


@pytest.mark.parametrize("name", SCRIPTS)
def test_prints_what_it_prints_with_pytorch(name):
    ours = output(name, True)
    check(ours, (HERE / "outputs" / f"{name}.txt").read_text())


@pytest.mark.parity
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_outputs_are_pytorchs(name):
    pytest.importorskip("torch")
    check(output(name, False), (HERE / "outputs" / f"{name}.txt").read_text())


if __name__ == "__main__":
    chosen = sys.argv[1:] or SCRIPTS
    together = run([name for name in chosen if not looks_at_types(name)], False)
    for name in chosen:
        text = together[name] if name in together else run_alone(name, False)
        (HERE / "outputs" / f"{name}.txt").write_text(text)
