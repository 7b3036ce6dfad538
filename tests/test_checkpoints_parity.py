"""Checkpoints cross over: written by PyTorch and taken up by Penlight, and the other way round; training goes on as if uninterrupted.

Model, averaged model, optimiser, schedule and random state, for every optimiser, in both file formats.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import penlight

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity

PROGRAM = Path(__file__).with_name("_checkpoint_program.py")
SOURCE = str(Path(penlight.__file__).parent.parent)


def losses(library: str, action: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, "-P", *(["-m", "penlight"] if library == "penlight" else []), str(PROGRAM)]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [SOURCE, os.environ.get("PYTHONPATH", "")]))}
    done = subprocess.run([*command, action, str(folder)], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return {place: float(loss) for place, loss in (line.rsplit(" ", 1) for line in done.stdout.splitlines())}


@pytest.mark.parametrize(("writer", "reader"), [("torch", "penlight"), ("penlight", "torch")])
def test_training_goes_on_in_the_other_library(writer, reader, tmp_path):
    whole = losses(writer, "save", tmp_path)
    assert len(whole) == 120
    assert losses(reader, "resume", tmp_path) == pytest.approx(whole, rel=1e-9)
