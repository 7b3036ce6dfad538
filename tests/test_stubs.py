"""The stub of Tensor's methods says what the methods are."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_stub_is_fresh() -> None:
    done = subprocess.run([sys.executable, "tools/stubs.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
