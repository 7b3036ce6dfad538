"""Tests run on the installed package; from a bare checkout, on the source tree."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

if importlib.util.find_spec("penlight") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
