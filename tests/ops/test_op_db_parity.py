"""PyTorch's own samples of every op in both libraries: results, strides, nodes and gradients (`compare_op_db.py` says what may differ)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import penlight

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


def test_samples_of_pytorch():
    """In a process of its own: PyTorch's table of ops takes long to import, and its test machinery changes global settings."""
    here = Path(__file__).resolve().parent
    paths = os.pathsep.join([str(Path(penlight.__file__).resolve().parent.parent), str(here)])
    settings = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, str(here / "compare_op_db.py")], env=settings, capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-2000:]
    ops, calls = map(int, run.stdout.split()[-2:])
    assert ops > 600 and calls > 1500
