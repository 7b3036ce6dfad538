"""Runs cases in child processes, one for each side: Penlight in machine code, Penlight in NumPy, PyTorch.

A child gets scripts and answers what came out of each, in order. It imports its library once and forks a worker, which runs the scripts.
When the worker dies, the answer to its script is that it died, and the child forks another one.
"""

from __future__ import annotations

import mmap
import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SIDES = ("native", "plain", "torch")
LONGEST = 120  # seconds that a script may take: a worker that takes longer says where it is, and dies
RENEWED = 3  # the exit code of a worker that makes way for the next one


class Fact(NamedTuple):
    """What is compared of a tensor, or of another result."""

    label: str
    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...]
    version: int
    requires_grad: bool
    value: Any


class Outcome(NamedTuple):
    """How a script ended: an error's class and words, or facts. A child's death is the error "died"."""

    error: str
    words: str
    facts: list[Fact]

    def refused(self) -> bool:
        """Whether there was an error of the kinds that PyTorch refuses arguments with."""
        kinds = (
            "RuntimeError",
            "TypeError",
            "ValueError",
            "IndexError",
            "NotImplementedError",
            "_LinAlgError",
            "OutOfMemoryError",
        )
        return self.error in kinds and not self.words.startswith("machine code")


# ----- In the child -------------------------------------------------------------------------------------------------


def fact(label: str, value: Any) -> Fact:
    if not hasattr(value, "requires_grad"):
        return Fact(
            label,
            type(value).__name__,
            (),
            (),
            0,
            False,
            value if isinstance(value, (int, float, complex, str, bool)) else repr(value),
        )
    plain = value.detach().resolve_conj()
    dtype = str(value.dtype)
    array = (plain.float() if dtype == "torch.bfloat16" else plain.resolve_neg()).numpy()
    if array.dtype == np.bool_:
        array = array.view(np.uint8) != 0
    stride = tuple([s for s, n in zip(value.stride(), value.shape) if n > 1]) if value.numel() else ()
    return Fact(
        label,
        dtype,
        tuple(value.shape),
        stride,
        value._version,
        value.requires_grad,
        np.array(array, copy=True, subok=False),
    )


def run(t: Any, text: str, names: dict[str, Any]) -> Outcome:
    from . import arrays

    space: dict[str, Any] = {"t": t, "np": np, **names}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            exec(text, space)
            facts = [fact(f"result {i}", r) for i, r in enumerate(arrays.flat(space.get("r")))]
            facts += [fact(f"gradient {i}", g) for i, g in enumerate(space.get("g") or [])]
            facts += [fact(key, v) for key, v in space.items() if key[0] == "x" and key[1:].isdigit()]
    except Exception as error:
        return Outcome(type(error).__name__, str(error), [])
    return Outcome("", "", facts)


def helpers() -> dict[str, Any]:
    """What scripts use by name."""
    from . import arrays, cases  # noqa: F401  # cases for the records' own kinds of operands

    found = {k: v for k, v in vars(arrays).items() if not k.startswith("_")}
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("records_"):
            found.update({k: v for k, v in vars(module).items() if isinstance(v, type) and k not in found})
    return found


def serve(side: str, guarded: bool) -> None:
    """Answer scripts until there are no more."""
    import faulthandler

    channel, told = os.dup(1), os.dup(2)
    if side == "torch":
        import torch as t
    else:
        import penlight as t
    t.set_num_threads(1 if side == "torch" else 2)
    names = helpers()
    with tempfile.TemporaryFile() as errors:
        os.dup2(errors.fileno(), 1)
        os.dup2(errors.fileno(), 2)
        faulthandler.enable(errors)
        faulthandler.register(signal.SIGALRM, errors, chain=True)
        busy = mmap.mmap(-1, 1)  # shared with the worker: 1 while a script has no answer
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then closes stdin
        while True:
            errors.seek(0)
            errors.truncate()
            busy[0] = 0
            worker = os.fork()
            if not worker:
                _work(t, names, channel, busy, guarded)
            code = os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])
            if code == 0:
                os._exit(0)
            if code != RENEWED:
                errors.seek(0)
                words = f"{code}: {errors.read().decode(errors='replace')[-1500:]}"
                if busy[0]:
                    _answer(channel, Outcome("died", words, []))
                else:  # between two scripts: the next answer is for the next script
                    os.write(told, f"{side} died after its last answer: {words}\n".encode())


def _work(t: Any, names: dict[str, Any], channel: int, busy: mmap.mmap, guarded: bool) -> None:
    """Answer scripts until one is empty or there are no more."""
    if guarded:
        from . import guard

        guard.fence_all()
        guard.refuse_overlaps()
    while head := _read(4):
        text = _read(struct.unpack("<I", head)[0]).decode()
        if not text:
            os._exit(RENEWED)
        busy[0] = 1
        signal.alarm(LONGEST)
        outcome = run(t, text, names)
        signal.alarm(0)
        _answer(channel, outcome, busy)
    os._exit(0)


def _read(count: int) -> bytes:
    """So many bytes of stdin, of which nothing is read ahead: the rest is for the next worker. Nothing at its end."""
    found = b""
    while len(found) < count and (part := os.read(0, count - len(found))):
        found += part
    return found


def _answer(channel: int, outcome: Outcome, busy: mmap.mmap | None = None) -> None:
    data = pickle.dumps(outcome, protocol=5)
    data = struct.pack("<I", len(data)) + data
    if busy is not None:
        busy[0] = 0  # nothing but the writing is left, which a worker with broken memory still does
    while data:
        data = data[os.write(channel, data) :]


# ----- In the parent ------------------------------------------------------------------------------------------------


class Child:
    """A side in a process of its own, whose worker is a new one after every `lifetime` scripts."""

    def __init__(self, side: str, guarded: bool = False, lifetime: int = 10_000) -> None:
        self.side, self.guarded, self.lifetime = side, guarded, lifetime
        self.history: list[str] = []  # of the present worker
        self.process: subprocess.Popen[bytes] | None = None
        self.answers: queue.SimpleQueue[Outcome] = queue.SimpleQueue()

    def start(self) -> None:
        # MALLOC_PERTURB_ fills new and freed memory, so that whoever reads it gets nonsense rather than zeros. Some virtual machines
        # say that they have AMX, and refuse it: PyTorch has no products of bfloat16 there, unless it is told to do without.
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT), *sys.path]),
            "MALLOC_PERTURB_": "165",
            "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        if self.side == "plain":
            environment["PENLIGHT_NATIVE"] = "0"
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"from tests.fuzz.running import serve; serve({self.side!r}, {self.guarded})"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, cwd=ROOT,
        )  # fmt: skip
        threading.Thread(target=self._collect, args=(self.process.stdout,), daemon=True).start()

    def _collect(self, stdout: BinaryIO) -> None:
        """Read the answers as they come: a side whose answers nobody reads would read no more scripts, and both would wait for ever."""
        with stdout:
            while head := stdout.read(4):
                self.answers.put(pickle.loads(stdout.read(struct.unpack("<I", head)[0])))

    def renew(self) -> None:
        """Let the next script run in a worker that has run nothing."""
        self._write("")
        self.history = []

    def send(self, text: str) -> None:
        if len(self.history) >= self.lifetime:
            self.renew()
        self.history.append(text)
        self._write(text)

    def _write(self, text: str) -> None:
        if self.process is None:
            self.start()
        assert self.process is not None and self.process.stdin is not None
        data = text.encode()
        self.process.stdin.write(struct.pack("<I", len(data)) + data)
        self.process.stdin.flush()

    def receive(self) -> Outcome:
        """The answer to the first script that has none yet."""
        outcome = self.answers.get(timeout=10 * LONGEST)
        self.history = [] if outcome.error == "died" else self.history
        return outcome

    def ask(self, text: str) -> Outcome:
        self.send(text)
        return self.receive()

    def close(self) -> None:
        if self.process is not None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait()
            self.process = None
