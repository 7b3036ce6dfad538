"""Freed memory is kept for the next step, unless the user decided otherwise."""

import ctypes
import subprocess
import sys

import pytest

from penlight.kernels import memory


def test_asks_glibc(monkeypatch):
    for name in ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES", "PENLIGHT_KEEP_MEMORY"):
        monkeypatch.delenv(name, raising=False)
    glibc = sys.platform == "linux" and hasattr(ctypes.CDLL(None), "gnu_get_libc_version")
    assert memory.keep() is glibc


@pytest.mark.parametrize("name", ["MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES"])
def test_leaves_the_switches_of_the_c_library_alone(monkeypatch, name):
    monkeypatch.setenv(name, "1000000")
    assert memory.keep() is False


def test_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("PENLIGHT_KEEP_MEMORY", "0")
    assert memory.keep() is False


def test_another_c_library_is_left_alone(monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert memory.keep() is False


def test_the_import_changes_nothing_and_large_work_asks():
    program = """
import penlight as torch
from penlight.kernels import memory, parallel
asked = []
parallel.keep_memory = lambda: asked.append(True)
torch.ones(10).add(1)
assert not asked
torch.ones(1 << 20).exp()
assert asked == [True]
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
