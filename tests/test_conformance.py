"""docs/conformance.md says what the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.parity


def test_the_page_is_fresh():
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, root / "tools" / "conformance.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
