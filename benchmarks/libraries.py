"""The processes that the libraries run in: which they are, how they are started, what they may use."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from .work import ALL
from .work.peers import PEERS

ROOT = Path(__file__).resolve().parent.parent
THREADS = int(
    os.environ.get("PENLIGHT_BENCHMARK_THREADS", "2")
)  # `--threads` sets it, and measured processes inherit it
OWN, REFERENCE = "penlight", "torch"


def environment() -> dict[str, str]:
    """What a measured process sees: this checkout's package, so many threads, compiled files kept."""
    found = [str(ROOT / "src"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(found), "PENLIGHT_BENCHMARK_THREADS": str(THREADS)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR"):
        env[f"{name}_NUM_THREADS"] = str(THREADS)
    return env


def run(python: str, *arguments: str) -> dict[str, Any]:
    """What a process of its own prints as its last line, which is JSON."""
    done = subprocess.run([python, *arguments], env=environment(), capture_output=True, text=True, cwd=ROOT)
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}"}
    return json.loads(done.stdout.strip().splitlines()[-1])


def limit_threads(library: Any) -> None:
    """So many threads and processors, for every library alike."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-THREADS:])
    if hasattr(library, "set_num_threads"):
        library.set_num_threads(THREADS)


def load(name: str) -> Any:
    """Import a library; ours must be the one of this checkout."""
    library = importlib.import_module(name)
    if name == OWN and ROOT not in Path(library.__file__ or "").resolve().parents:
        raise SystemExit(f"penlight is imported from {library.__file__}, not from this checkout")
    limit_threads(library)
    return library


def makers(name: str, library: Any) -> dict[str, Any]:
    """How this library prepares each workload that it can express."""
    if name in PEERS:
        return {key: lambda _, make=make: make() for key, make in PEERS[name]().items()}
    return {key: workload.make for key, workload in ALL.items()}


def installed(names: tuple[str, ...], python: str) -> list[str]:
    """Those of the libraries that an interpreter finds."""
    code = (
        "import importlib.util, json, sys; print(json.dumps([n for n in sys.argv[1:] if importlib.util.find_spec(n)]))"
    )
    found = subprocess.run([python, "-c", code, *names], capture_output=True, text=True, env=environment(), check=True)
    return json.loads(found.stdout)


class Worker:
    """A library in a process of its own that answers with times."""

    def __init__(self, library: str, python: str = sys.executable) -> None:
        self.library = library
        self._process = subprocess.Popen(
            [python, "-m", "benchmarks.worker", library],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment(),
            cwd=ROOT,
        )
        hello = self._answer()
        self.version: str = hello.get("version", "?")
        self.workloads: set[str] = set(hello.get("workloads", ()))

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.library} ended with {self._process.wait()}")
        return json.loads(line)

    def time(self, workload: str, seconds: float) -> dict[str, Any]:
        """The best time of a step in slices of so many seconds, or why there is none."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{workload} {seconds}\n")
        self._process.stdin.flush()
        return self._answer()

    def end(self) -> None:
        """Let the process end by itself."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
