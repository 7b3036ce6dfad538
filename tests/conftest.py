"""Tests run on the installed package; from a bare checkout, on the source tree."""

from __future__ import annotations

import ctypes
import importlib.util
import multiprocessing
import os
import signal
import sys
import threading
from pathlib import Path

if importlib.util.find_spec("penlight") is None:
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))


# Tests define their datasets where they use them, which only forked workers can have: from Python 3.14 on Linux's default is another.
# tests/utils/data/test_start_methods.py has the others.
if "fork" in multiprocessing.get_all_start_methods():
    multiprocessing.set_start_method("fork", force=True)

# A test that hangs ends its process (pyproject.toml). Its forked children hold the pipe to pytest-xdist, which would wait for them: they end too.
if sys.platform == "linux":
    _prctl, _forking = ctypes.CDLL(None).prctl, []
    os.register_at_fork(
        before=lambda: _forking.append(threading.current_thread() is threading.main_thread()),
        after_in_parent=_forking.clear,
        after_in_child=lambda: (
            _forking.pop() and _prctl(1, signal.SIGKILL)
        ),  # PR_SET_PDEATHSIG, as of the thread that forked
    )

import penlight

penlight.manual_seed(67280421310721)  # every run draws the same: a process that seeds nothing does not
