"""Runs cases in child processes, one for each side: Penlight in machine code, Penlight in NumPy, PyTorch.

A child gets scripts, one at a time, and answers what came out of each. When it dies, its parent knows of which script.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import struct
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
SIDES = ("native", "plain", "torch")
LONGEST = 120  # seconds that a script may take: a child that takes longer says where it is, and dies


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

    faulthandler.enable()
    channel = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if side == "torch":
        import torch as t
    else:
        import penlight as t
    t.set_num_threads(1 if side == "torch" else 2)
    names = helpers()
    if guarded:
        from . import guard

        guard.fence_all()
        guard.refuse_overlaps()
    while head := sys.stdin.buffer.read(4):
        text = sys.stdin.buffer.read(struct.unpack("<I", head)[0]).decode()
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        answer = pickle.dumps(run(t, text, names), protocol=5)
        faulthandler.cancel_dump_traceback_later()
        channel.write(struct.pack("<I", len(answer)) + answer)
        channel.flush()
    os._exit(0)


# ----- In the parent ------------------------------------------------------------------------------------------------


class Child:
    """A side in a process of its own, made anew after it died and after every `lifetime` scripts."""

    def __init__(self, side: str, guarded: bool = False, lifetime: int = 2000) -> None:
        self.side, self.guarded, self.lifetime = side, guarded, lifetime
        self.history: list[str] = []
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.close()
        # MALLOC_PERTURB_ fills new and freed memory, so that whoever reads it gets nonsense rather than zeros.
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT), *sys.path]),
            "MALLOC_PERTURB_": "165",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        }
        if self.side == "plain":
            environment["PENLIGHT_NATIVE"] = "0"
        self.process = subprocess.Popen(
            [sys.executable, "-c", f"from tests.fuzz.running import serve; serve({self.side!r}, {self.guarded})"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE if self.side != "torch" else subprocess.DEVNULL, env=environment, cwd=ROOT,
        )  # fmt: skip
        self.history = []

    def send(self, text: str) -> None:
        if self.process is None or len(self.history) >= self.lifetime:
            self.start()
        assert self.process is not None and self.process.stdin is not None
        self.history.append(text)
        data = text.encode()
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(struct.pack("<I", len(data)) + data)
            self.process.stdin.flush()

    def receive(self) -> Outcome:
        assert self.process is not None and self.process.stdout is not None
        head = self.process.stdout.read(4)
        if len(head) < 4:
            said = self.process.stderr.read().decode(errors="replace") if self.process.stderr else ""
            self.process.wait()
            outcome = Outcome("died", f"{self.process.returncode}: {said[-1500:]}", [])
            self.process = None
            return outcome
        return pickle.loads(self.process.stdout.read(struct.unpack("<I", head)[0]))

    def ask(self, text: str) -> Outcome:
        self.send(text)
        return self.receive()

    def close(self) -> None:
        if self.process is not None:
            assert self.process.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                self.process.stdin.close()
            self.process.wait()
            for pipe in (self.process.stdout, self.process.stderr):
                if pipe is not None:
                    pipe.close()
            self.process = None
