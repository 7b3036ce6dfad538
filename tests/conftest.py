"""Tests run on the installed package; from a bare checkout, on the source tree.

The fixture `same` compares Penlight with PyTorch, live or as recorded. `RECORD=1 pytest tests/autograd` makes its recorded.json anew; that
needs PyTorch.
"""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import json
import multiprocessing
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

if importlib.util.find_spec("penlight") is None:
    _source = str(Path(__file__).resolve().parent.parent / "src")
    sys.path.insert(0, _source)
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [_source, *filter(None, [os.environ.get("PYTHONPATH")])]
    )  # of what tests start


# Some virtual machines say that they have AMX, and refuse it: PyTorch dies of an illegal instruction there, unless it is told to do without.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

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
from tests.sameness import transcript

# What is compiled is kept, whatever the environment says: pytest would rewrite all tests and some hundred processes that tests start would
# compile Penlight at each run.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

penlight.manual_seed(67280421310721)  # every run draws the same: a process that seeds nothing does not


@functools.cache
def recordings(file):
    return json.loads(file.read_text()) if file.exists() else {}


@pytest.fixture(params=["recorded", pytest.param("live", marks=pytest.mark.parity)])
def same(request):
    """Checks that a program `program(torch, say)` says the same with Penlight as with PyTorch."""
    name = f"{request.node.module.__name__.rpartition('.')[2]} {request.node.name}"
    name = name.replace("[recorded]", "").replace("recorded-", "")
    file = request.path.with_name("recorded.json")
    record = os.environ.get("RECORD")

    def check(program):
        if request.param == "live" or record:
            expected = transcript(program, pytest.importorskip("torch"))
        else:
            expected = recordings(file)[name]
        if record:
            recordings(file)[name] = expected
            file.write_text(json.dumps(dict(sorted(recordings(file).items())), indent=1) + "\n")
        assert transcript(program, penlight) == expected

    return check
