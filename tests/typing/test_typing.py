"""Type checkers accept an ordinary program, and find its mistakes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import penlight

pytest.importorskip("mypy")
HERE = Path(__file__).resolve().parent
SOURCE = Path(penlight.__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


def mypy(path: Path, cache: Path) -> list[str]:
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--follow-imports=silent",
        f"--cache-dir={cache}",
    ]
    # An installed package is found as it is; sources beside the tests by MYPYPATH.
    environment = {**os.environ} if "site-packages" in SOURCE.parts else {**os.environ, "MYPYPATH": str(SOURCE)}
    done = subprocess.run([*command, str(path)], capture_output=True, text=True, env=environment, cwd=path.parent)
    return [line.partition(": ")[2] for line in (done.stdout + done.stderr).splitlines() if ": error: " in line]


def test_an_ordinary_program_is_accepted(cache: Path) -> None:
    assert mypy(HERE / "user_program.py", cache) == []


def test_mistakes_are_found(cache: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.py"
    wrong.write_text(
        "import penlight as torch\n"
        "from penlight import nn\n"
        "x = torch.ones(2)\n"
        "x.expp()\n"  # no such method
        "torch.exp()\n"  # an argument is missing
        "n: int = torch.sum(x)\n"  # a tensor, not an int
        "nn.Linear('three', 4)\n"  # not a number
        "x.shape[0] + 'a'\n"  # an int and a str
    )
    found = mypy(wrong, cache)
    assert [line.split("[")[-1].rstrip("]") for line in found] == [
        "attr-defined",
        "call-arg",
        "assignment",
        "arg-type",
        "operator",
    ]


def test_the_program_runs() -> None:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    done = subprocess.run(
        [sys.executable, str(HERE / "user_program.py")], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
