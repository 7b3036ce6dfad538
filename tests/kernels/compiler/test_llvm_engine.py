"""Machine code of LLVM's: kept on disk, and nothing but what was kept is run; called by several threads; chosen by a setting."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from every_kernel import machine_code

from penlight.kernels import executable, parallel, waiting_threads
from penlight.kernels.compiler import llvm_engine, load, python
from penlight.kernels.compiler.ir import F64
from penlight.kernels.compiler.loops import Floats
from tests.faults.common import can_refuse_written_memory

needs_llvm = pytest.mark.skipif(executable.llvm_obstacle() is not None, reason="llvmlite is not installed")


def doubled(begin: int, end: int, x: Floats, out: Floats) -> None:
    for i in range(begin, end):
        out[i] = x[i] + x[i]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An empty cache directory."""
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    llvm_engine.directory.cache_clear()
    yield llvm_engine.directory
    llvm_engine.directory.cache_clear()


def anew(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Use an engine that knows no kernel yet; what it compiles from now on."""
    engine = llvm_engine._Engine()
    compiled: list[str] = []
    make = engine.compiled
    monkeypatch.setattr(engine, "compiled", lambda said: compiled.append(said) or make(said))
    monkeypatch.setattr(llvm_engine, "engine", lambda: engine)
    return compiled


def run() -> list[float]:
    x, out = np.arange(5.0), np.zeros(5)
    machine_code(python.loops(doubled, F64, F64), None)({"begin": 0, "end": 5, "x": x, "out": out})
    return out.tolist()


@needs_llvm
def test_code_is_compiled_once(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = anew(monkeypatch)
    assert run() == run() == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert len(compiled) == 1
    compiled = anew(monkeypatch)
    assert run() == [0.0, 2.0, 4.0, 6.0, 8.0] and not compiled
    assert len(list(folder().iterdir())) == 1


@needs_llvm
@pytest.mark.parametrize("damage", ["truncated", "changed", "empty", "foreign", "a directory"])
def test_a_damaged_file_is_replaced(damage: str, folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    anew(monkeypatch)
    run()
    (file,) = folder().iterdir()
    content = file.read_bytes()
    if damage == "a directory":
        file.unlink()
        file.mkdir()
    else:
        middle = len(content) // 2
        file.write_bytes(
            {
                "truncated": content[:-1],
                "changed": content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :],
                "empty": b"",
                "foreign": b"#!/bin/sh\nexit 1\n",
            }[damage]
        )
    compiled = anew(monkeypatch)
    assert run() == [0.0, 2.0, 4.0, 6.0, 8.0] and len(compiled) == 1
    assert list(folder().iterdir()) == [file]
    if damage != "a directory":
        assert file.read_bytes() == content


@needs_llvm
def test_a_full_disk_keeps_nothing(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, content: bytes) -> int:
        self.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    anew(monkeypatch)
    assert run() == [0.0, 2.0, 4.0, 6.0, 8.0] and not list(folder().iterdir())


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="variables of other systems")
def test_a_relative_cache_directory_is_ignored(folder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "here")
    assert folder() == tmp_path / ".cache" / "penlight" / "machine_code" and not Path("here").exists()


@needs_llvm
@pytest.mark.skipif(not hasattr(os, "getuid"), reason="rights of files as in POSIX")
@pytest.mark.parametrize("refused", ["others may write", "others may read", "of another user", "a file", "no home"])
def test_nothing_is_kept_where_others_could_change_it(
    refused: str, folder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "penlight" / "machine_code"
    if refused == "no home":
        monkeypatch.delenv("XDG_CACHE_HOME")
        monkeypatch.setattr(Path, "home", lambda: (_ for _ in ()).throw(RuntimeError("no home")))
    elif refused == "a file":
        place.parent.write_text("")
    else:
        place.mkdir(mode=0o700, parents=True)
        if refused == "of another user":
            monkeypatch.setattr(os, "getuid", lambda: -1)
        else:
            place.chmod(0o722 if refused == "others may write" else 0o744)
    assert folder() is None
    compiled = anew(monkeypatch)
    assert run() == [0.0, 2.0, 4.0, 6.0, 8.0] and len(compiled) == 1
    assert not place.is_dir() or not list(place.iterdir())


@needs_llvm
def test_threads_share_a_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executable, "available", lambda: False)
    monkeypatch.setattr(parallel, "_limit", 2)
    function = load.machine_code(python.loops(doubled, F64, F64))
    seen = set()
    plain = function.run

    def run(*arguments: Any) -> Any:
        seen.add(threading.get_ident())
        time.sleep(0.001)  # on a busy machine one thread would do all before another begins
        return plain(*arguments)

    function.run = run
    x = np.arange(100_003.0)
    for _ in range(10):
        monkeypatch.setattr(parallel, "_alone_until", 0.0)  # nor share any after it waited for another
        assert np.array_equal(waiting_threads.over(function, x.size, 1000, x, x.shape), x + x)
    assert len(seen) > 1
    with pytest.raises(ValueError, match="it has 3 elements"):
        waiting_threads.over(function, x.size, 1000, x[:3], x.shape)


REFUSED = """
import pytest
from tests.faults.common import *
from penlight.kernels import executable
if later:
    assert torch.randn(5000).erf().isfinite().all()
refuse_written_memory()
if later:
    with pytest.raises(RuntimeError, match="began to refuse executable memory while this program ran; PENLIGHT_NATIVE=0 does"):
        ops()
else:
    ops()
    assert executable.backend() is None and "the system refuses executable memory" in executable.llvm_obstacle()
print("ok")
"""


@needs_llvm
@pytest.mark.parametrize("later", [False, True])
def test_written_memory_may_not_be_run(later: bool) -> None:
    """LLVM itself ends the process then."""
    if not can_refuse_written_memory():
        pytest.skip("this Linux has no MemoryDenyWriteExecute")
    root = Path(__file__).resolve().parents[3]
    paths = os.pathsep.join([str(root / "src"), str(root), *sys.path])
    result = subprocess.run(
        [sys.executable, "-c", f"later = {later}{REFUSED}"], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": paths, "PENLIGHT_NATIVE": "llvm"}
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (0, "ok\n"), result.stderr[-2000:]


@needs_llvm
@pytest.mark.parametrize(("setting", "chosen"), [("llvm", "llvm"), ("0", None)])
def test_a_setting_chooses_it(setting: str, chosen: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENLIGHT_NATIVE", setting)
    for name in ("available", "llvm_available"):
        monkeypatch.setattr(executable, name, getattr(executable, name).__wrapped__)
    assert executable.backend() == chosen


def test_why_it_does_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENLIGHT_NATIVE", raising=False)
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    assert executable.llvm_obstacle() == "it needs the package llvmlite; pip install 'penlight[llvm]'"
    monkeypatch.setitem(sys.modules, "llvmlite", type(sys)("llvmlite"))
    sys.modules["llvmlite"].__version__ = "0.39.1"
    assert "0.45 or newer, and this is 0.39.1" in str(executable.llvm_obstacle())
    sys.modules["llvmlite"].__version__ = "0.45.0"

    def engine() -> None:
        raise OSError("no libstdc++")

    monkeypatch.setattr(llvm_engine, "engine", engine)
    assert (
        executable.llvm_obstacle()
        == "llvmlite cannot start LLVM here (no libstdc++); pip install --force-reinstall llvmlite"
    )
    monkeypatch.setattr(llvm_engine, "engine", lambda: None)
    assert executable.llvm_obstacle() is None
