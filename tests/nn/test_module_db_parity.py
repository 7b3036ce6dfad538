"""PyTorch's own samples of every module in both libraries: results, nodes and gradients (`compare_module_db.py` says what may differ)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import penlight

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.parity


def test_samples_of_pytorchs_modules():
    """In a process of its own, as with the samples of ops (tests/ops/test_op_db_parity.py)."""
    here = Path(__file__).resolve().parent
    paths = os.pathsep.join([str(Path(penlight.__file__).resolve().parent.parent), str(here.parent / "ops")])
    settings = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", str(here / "compare_module_db.py")],
        env=settings, capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-2000:]
    modules, samples = map(int, run.stdout.split()[-2:])
    assert modules > 110 and samples > 2000
