"""Tests run on the installed package; from a bare checkout, on the source tree."""

from __future__ import annotations

import importlib.util
import multiprocessing
import sys
from pathlib import Path

if importlib.util.find_spec("penlight") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))


# Tests define their datasets where they use them, which only forked workers can have: from Python 3.14 on Linux's default is another.
# tests/utils/data/test_start_methods.py has the others.
if "fork" in multiprocessing.get_all_start_methods():
    multiprocessing.set_start_method("fork", force=True)

import penlight

penlight.manual_seed(67280421310721)  # every run draws the same: a process that seeds nothing does not
