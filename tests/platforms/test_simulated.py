"""Systems that are not here, by what they lack: each test takes away a function, or puts in what the other system has instead."""

from __future__ import annotations

import ctypes
import mmap
import os
import pickle
import subprocess
import sys
import threading
import warnings
from multiprocessing import reduction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import penlight as torch
from penlight import _meta, _torch_function
from penlight.kernels import executable, parallel
from penlight.kernels.compiler import x86
from penlight.multiprocessing import _shared

from . import integers

WINDOWS = SimpleNamespace(platform="win32", maxsize=sys.maxsize)


@pytest.fixture(autouse=True)
def _asleep():
    """Leave other tests the functions as they are without tensors on the meta device."""
    yield
    _torch_function.deactivate()


# ----- The meta device without memory to promise ----------------------------------------------------------------------


@pytest.mark.skipif(sys.platform == "win32" or sys.maxsize < 2**32, reason="files with holes, 64 bit")
@pytest.mark.parametrize("system", ["refuses", "windows", "macos"])
def test_meta_tensors_take_no_memory(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = []

    def mapped(descriptor: int, size: int, **options: Any) -> Any:
        flags.append(options.get("flags"))
        if descriptor == -1 and system == "refuses":
            raise OSError(12, "Cannot allocate memory")
        if descriptor == -1 and system == "macos":
            options["flags"] |= _meta._NORESERVE  # macOS needs no flag for it
        return mmap.mmap(descriptor, size, **options)

    monkeypatch.setattr(_meta, "mmap", SimpleNamespace(**{**vars(mmap), "mmap": mapped}))
    if system == "windows":
        monkeypatch.setattr(_meta, "sys", WINDOWS)
        monkeypatch.setattr(_meta, "_allow_holes", lambda descriptor: os.ftruncate(descriptor, 40_000_000_000))
    elif system == "macos":
        monkeypatch.setattr(_meta, "sys", SimpleNamespace(platform="darwin", maxsize=sys.maxsize))
    x = torch.empty(100_000, 100_000, device="meta")
    assert x.stride() == (100_000, 1) and x.t()[5:].stride() == (1, 100_000) and x[0, :2].shape == (2,)
    assert repr(x) == "tensor(..., device='meta', size=(100000, 100000))"
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    assert flags == {"refuses": [private | _meta._NORESERVE, None], "windows": [None], "macos": [private]}[system]


def test_meta_tensors_beyond_the_address_space(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_meta, "sys", SimpleNamespace(platform="emscripten", maxsize=2**31 - 1))
    with pytest.raises(
        MemoryError, match="40000000000 bytes is larger than the address space of this emscripten process"
    ):
        torch.empty(100_000, 100_000, device="meta")


# ----- Shared tensors on Windows --------------------------------------------------------------------------------------


class DupHandle:
    """`multiprocessing.reduction.DupHandle`, with a file descriptor as the handle."""

    def __init__(self, handle: int, access: int) -> None:
        assert access == 0xC0000000
        self.handle = os.dup(handle)

    def detach(self) -> int:
        return self.handle


@pytest.mark.skipif(sys.platform == "win32", reason="there it is no simulation")
def test_shared_tensors_by_handles(monkeypatch: pytest.MonkeyPatch) -> None:
    def lengthening(descriptor: int, size: int) -> Any:
        os.ftruncate(descriptor, size)  # as mmap of Windows does
        made = _shared.SharedMap(descriptor, size)
        made.descriptor = descriptor
        return made

    windows = SimpleNamespace(get_osfhandle=lambda descriptor: descriptor, open_osfhandle=lambda handle, flags: handle)
    monkeypatch.setattr(_shared, "msvcrt", windows, raising=False)
    monkeypatch.setattr(reduction, "DupHandle", DupHandle, raising=False)
    monkeypatch.delattr(reduction, "DupFd")
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.setattr(_shared, "sys", WINDOWS)
    monkeypatch.setattr(_shared, "_map", lengthening)
    _shared.init_reductions()
    tensor = torch.arange(6.0).share_memory_()
    received = pickle.loads(reduction.ForkingPickler.dumps(tensor.view(2, 3)[1]))
    received += 10
    assert tensor.tolist() == [0, 1, 2, 13, 14, 15]


# ----- No threads, another C library, another interpreter -------------------------------------------------------------


def test_no_threads_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in Pyodide: `set_num_threads(2)` is accepted, and everything is computed in the one thread that there is."""

    def refuse(self: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(parallel, "_helpers", 0)
    monkeypatch.setattr(parallel, "_blas", False)
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        assert torch.get_num_threads() == 2
        x = torch.rand(300, 400)
        assert torch.allclose(x.softmax(-1).sum(-1), torch.ones(300))
        assert torch.allclose((x @ x.T).diagonal(), (x * x).sum(-1))
    finally:
        torch.set_num_threads(before)


@pytest.mark.skipif(sys.platform == "win32", reason="a C library that every process has")
def test_mathematical_functions_of_musl(monkeypatch: pytest.MonkeyPatch) -> None:
    """musl has no file of the name that glibc's mathematical functions are in."""
    load, asked = ctypes.CDLL, []

    def without(name: str | None, *args: Any, **options: Any) -> Any:
        asked.append(name)
        if name is not None:
            raise OSError(f"Error loading shared library {name}: No such file or directory")
        return load(None)

    monkeypatch.setattr(ctypes, "CDLL", without)
    address = x86.address_of.__wrapped__("tgamma")
    assert asked == ["libm.so.6", None]
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)(address)(5.0) == 24.0
    with pytest.raises(OSError, match="the C library has no function 'no_such_function'"):
        x86.address_of.__wrapped__("no_such_function")


@pytest.mark.skipif("QEMU" in os.environ, reason="an emulated Python starts no programs")
def test_other_interpreters_are_refused() -> None:
    program = "import sys; sys.implementation.name = 'pypy'; import penlight"
    path = str(Path(torch.__file__).resolve().parents[1])
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join([path, *sys.path])}
    )  # fmt: skip
    assert result.returncode == 1
    assert "ImportError: Penlight runs on CPython only, and this is pypy: it counts references" in result.stderr


@pytest.mark.parametrize("size", [3, 40, 100])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_products_do_not_warn(size: int, dtype: torch.dtype) -> None:
    """NumPy on ARM warns of divisions by zero in products without any. It would here, too, of overflows: both are silenced alike."""
    F = torch.nn.functional
    a = torch.full((size, size), 1e30 if dtype is torch.float32 else 1e300, dtype=dtype)
    batch, row, weight = a.expand(3, size, size), a[0], a.clone().requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = [
            a @ a, batch @ batch, batch @ a, a @ row, row @ row, torch.einsum("ij,jk->ik", a, a), torch.addmm(a, a, a), torch.addmv(row, a, row),
            torch.outer(row, row), torch.tensordot(a, a, 1), torch.inner(a, a), torch.vdot(row, row), torch.linalg.multi_dot([a, a, a]),
            torch.baddbmm(batch, batch, batch), F.linear(a, a, row), F.bilinear(a, a, batch),
            torch.conv2d(a[None, None], a[None, None, :3, :3]),
        ]  # fmt: skip
        F.scaled_dot_product_attention(batch, batch, batch)
        (weight @ a).sum().backward()
    assert not any(
        bool(torch.isfinite(r).any()) for r in results
    )  # infinite, or NaN where a BLAS adds infinities of both signs


@pytest.mark.parametrize("machine", ["arm64", "aarch64", "x86_64"])
def test_wrong_products_of_openblas_are_told(machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on Apple's M4, where OpenBLAS adds zero times what was in the result to `x @ x.T`."""

    def matmul(a: Any, b: Any, out: Any) -> None:
        out *= 0
        out += a @ b

    monkeypatch.setattr(executable, "platform", SimpleNamespace(machine=lambda: machine))
    assert executable.wrong_products() is None
    monkeypatch.setattr(executable, "np", SimpleNamespace(**{**vars(np), "matmul": matmul}))
    told = executable.wrong_products()
    if machine == "x86_64":
        assert told is None
    else:
        assert told is not None and "set OPENBLAS_CORETYPE=NEOVERSEN1 before Python starts" in told


def test_indices_and_counts_are_int64() -> None:
    integers.check()
