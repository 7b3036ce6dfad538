"""The only way into a compiled kernel.

Note [Entering a kernel]
An `Entry` is called with the kernel's parameters in order: whole numbers, floats and arrays. In place of an array
that the kernel only writes there can be a shape: the array is then made here. Before anything runs, each array is
looked at: that it is an ndarray of the kernel's dtype (kind, size and byte order), contiguous, writable if it is
written, and as large as the kernel's indices require (Note [Bounds]); that no array that is written overlaps another;
and that no size is negative. If any of this does not hold, the entry returns None, and nothing was done: the caller
converts the arrays, or does without the kernel. Else it returns what the kernel has written: an array, or a tuple of
them. The checks are a Python function that is generated for each kernel. Where no machine code runs, the interpreter
does the same work.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .. import executable, waiting_threads
from ..parallel import parallel_for
from . import bounds, python, verify, x86
from .interpret import interpret
from .ir import Buffer, Kernel, Type

_BLOCK = 1 << 15  # iterations that a thread interprets at least
_INDENT = "\n    "


class Entry:
    """A compiled kernel: `entry(*arguments)` runs it. See Note [Entering a kernel].

    With `grain`, threads share the range from `begin`, which is 0, to `end` if that is at least twice as many.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        verify.verify(kernel)
        self.requirements = bounds.requirements(kernel)
        _dump(kernel, "built")
        self.names = [p.name if isinstance(p, Buffer) else p.attribute for p in kernel.parameters]
        self._floats = sum([op.type.is_float for op in kernel.arguments])
        self._shared: Any = None
        self._machine = self._load()
        self.enter: Callable[..., Any] = self._generated()

    @property
    def is_machine_code(self) -> bool:
        return self._machine is not None

    def __call__(self, *arguments: Any, grain: int = 0) -> Any:
        return self.enter(*arguments, grain)

    def _load(self) -> Any:
        """The kernel as machine code, or None where that cannot run."""
        if not executable.available():
            return None
        emitter = x86.Emitter(self.kernel)
        _dump(self.kernel, "allocated", emitter)
        try:
            return executable.load_kernel(emitter.finish(), len(self.names) - self._floats, self._floats, double=True)
        except (
            OSError
        ):  # the system lets no more memory become executable, or there is no C library where it is expected
            return None

    def _generated(self) -> Callable[..., Any]:
        """The function that checks the arguments, and runs the kernel."""
        source = self.source()
        known = {
            "ndarray": np.ndarray,
            "empty": np.empty,
            "overlap": np.may_share_memory,
            "run": self._machine,
            "shared": self._run_shared,
            "interpreted": self._interpreted,
            **{f"dtype_of_{buffer.name}": buffer.type.dtype for buffer in self.kernel.buffers.values()},
        }
        exec(compile(source, f"<entry of {self.kernel.name}>", "exec"), known)
        return known["enter"]  # type: ignore[no-any-return]

    def source(self) -> str:
        """The source of that function."""
        kernel = self.kernel
        buffers = [*kernel.buffers.values()]
        sizes = [op.attribute for op in kernel.arguments if not op.type.is_float]
        lines = []
        if sizes:
            lines.append(f"if {' or '.join([f'{name} < 0' for name in sizes])}: return None")
        checked: list[str] = []
        for buffer in sorted(buffers, key=lambda buffer: buffer.access != "reads"):
            name = buffer.name
            refused = f"type({name}) is not ndarray or {name}.dtype != dtype_of_{name} or not {name}.flags.c_contiguous"
            if buffer.access != "reads":
                refused += f" or not {name}.flags.writeable"
                refused += "".join([f" or overlap({name}, {other})" for other in checked])
            if buffer.access == "writes":
                lines.append(f"if type({name}) is tuple: {name} = empty({name}, dtype_of_{name})")
            lines.append(f"{'elif' if buffer.access == 'writes' else 'if'} {refused}: return None")
            checked.append(name)
        for requirement in self.requirements:
            limit = "0 <= " if requirement.buffer is None else ""
            below = "" if requirement.buffer is None else f" < {requirement.buffer}.size"
            lines.append(f"if not {limit}{requirement.expression}{below}: return None")
        names = ", ".join(self.names)
        if self._machine is None:
            lines.append(f"interpreted(({names},), grain)")
        else:
            buffered = kernel.buffers
            passed = [f"id({name})" if name in buffered else name for name in self.names]
            floats = [op.attribute for op in kernel.arguments if op.type.is_float]
            ordered = ", ".join([p for p, name in zip(passed, self.names, strict=True) if name not in floats] + floats)
            lines.append(f"if not grain or end < 2 * grain: run({ordered})" if "end" in sizes else f"run({ordered})")
            if "end" in sizes:
                lines.append(f"else: shared(grain, end, {ordered})")
        written = ", ".join([buffer.name for buffer in buffers if buffer.access != "reads"])
        lines.append(f"return {written}")
        return f"def enter({names}, grain):{_INDENT}{_INDENT.join(lines)}\n"

    def _run_shared(self, grain: int, end: int, begin: int, _: int, *arguments: Any) -> None:
        step = waiting_threads.step(end, grain)
        if begin or step >= end:
            self._machine(begin, end, *arguments)
            return
        if self._shared is None:
            whole = len(self.names) - self._floats
            code = waiting_threads.shared_code(self._machine.address, whole, self._floats)
            self._shared = executable.load_kernel(code, whole, self._floats, double=True)
        self._shared(step, end, *arguments)

    def _interpreted(self, arguments: tuple[Any, ...], grain: int) -> None:
        named = dict(zip(self.names, arguments, strict=True))
        if grain and not named["begin"] and named["end"] >= 4 * _BLOCK:
            parallel_for(
                lambda low, high: interpret(self.kernel, {**named, "begin": low, "end": high}), named["end"], _BLOCK
            )
        else:
            interpret(self.kernel, named)


def _dump(kernel: Kernel, stage: str, emitter: x86.Emitter | None = None) -> None:
    """Print a kernel if PENLIGHT_DUMP asks for it, with the locations of its values if they are known."""
    if os.environ.get("PENLIGHT_DUMP") == kernel.name:
        from . import text

        note = None if emitter is None else lambda op: x86.named(emitter.places.get(op))
        print(f"# {stage}\n{text.printed(kernel, note)}", file=sys.stderr)


@lru_cache(None)
def elementwise(function: Callable[..., float], element: Type, compute: Type) -> Entry:
    """The entry of `python.elementwise`, made once."""
    return Entry(python.elementwise(function, element, compute))


@lru_cache(None)
def loops(function: Callable[..., None], floats: Type, compute: Type, **known: Any) -> Entry:
    """The entry of `python.loops`, made once."""
    return Entry(python.loops(function, floats, compute, **known))
