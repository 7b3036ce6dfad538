"""Callable kernels from Python functions.

Note [The signature of a compiled kernel]
A kernel's requirements follow from its IR: the dtype of each array; whether it is written; its minimum number of elements, which
`bounds.py` derives from every index; and which integers must not be negative. They are the kernel's signature, and
`kernels/call.py` checks every call against it. So nothing outside an array is read or written, whatever sizes a caller passes.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .. import call, executable
from ..parallel import parallel_for
from . import bounds, python, text, verify, x86
from .interpret import interpret
from .ir import DTYPES, F32, F64, Buffer, Kernel, Type

_BLOCK = 1 << 15  # iterations per interpreting thread, at least
_TYPES = {dtype: Type.of(name) for name, dtype in DTYPES.items()}


def signature(kernel: Kernel, *conditions: str) -> call.Signature:
    """A kernel's requirements on its arguments, plus these conditions."""
    found = bounds.requirements(kernel)
    arguments = []
    for parameter in kernel.parameters:
        if isinstance(parameter, Buffer):
            name, least = parameter.name, found.sizes.get(parameter.name)
            words = {"written" if parameter.shared else "new"} if parameter.access != "reads" else set()
            if parameter.strided:
                words.add("strided")
            elif least is None:
                words.add("unused")
            arguments.append(call.Argument(name, parameter.type.element, least, frozenset(words)))
        else:
            kind = "float" if parameter.type.is_float else "int"
            arguments.append(call.Argument(parameter.attribute, kind, None, frozenset()))
    return call.Signature(tuple(arguments), " and ".join((*conditions, *found.conditions)) or None)


def machine_code(kernel: Kernel, *conditions: str) -> Any:
    """A function of kernels/call.py that runs a kernel, or None where no machine code runs."""
    verify.verify(kernel)
    made = signature(kernel, *conditions)
    _dump(kernel, "built")
    backend = executable.backend()
    try:
        if backend == "x86":
            emitter = x86.Emitter(kernel)
            _dump(kernel, "allocated", emitter)
            return call.load(emitter.finish(), made)
        if backend == "llvm":
            from . import llvm_engine

            return call.callable_kernel(llvm_engine.load(kernel), made)
    except OSError:  # the system refuses more executable memory, or there is no C library
        pass
    return None


def interpreted(kernel: Kernel) -> Any:
    """A function with the same arguments that runs the kernel in the interpreter; its parallel loop runs from `begin` to `end`."""
    names = [p.name if isinstance(p, Buffer) else p.attribute for p in kernel.parameters]

    def run(*arguments: Any) -> None:
        named = dict(zip(names, arguments, strict=True))

        def part(low: int, high: int) -> None:
            interpret(kernel, {**named, "begin": low, "end": high})

        if not named["begin"] and named["end"] >= 4 * _BLOCK:
            parallel_for(part, named["end"], _BLOCK)
        else:
            interpret(kernel, named)

    function = call.checked(run, signature(kernel), by_id=False)
    function.address = None
    return function


def _dump(kernel: Kernel, stage: str, emitter: x86.Emitter | None = None) -> None:
    """Print a kernel if PENLIGHT_DUMP names it, with the locations of its values if they are known."""
    if os.environ.get("PENLIGHT_DUMP") == kernel.name:
        note = None if emitter is None else lambda op: x86.named(emitter.locations.get(op))
        print(f"# {stage}\n{text.printed(kernel, note)}", file=sys.stderr)


@lru_cache(None)
def elementwise(function: Callable[..., float], element: Type, compute: Type) -> Any:
    """`python.elementwise` as machine code, or in the interpreter where none runs."""
    kernel = python.elementwise(function, element, compute)
    return machine_code(kernel) or interpreted(kernel)


def loops(function: Callable[..., None], dtype: np.dtype[Any], wide: bool = False, **known: Any) -> Any:
    """`python.loops` as machine code; None where there is no source to read."""
    floats = Type.of("bf16") if dtype.name == "bfloat16" else _TYPES[dtype]
    compute = F32 if floats.is_short else floats if floats.is_float and not wide else F64
    try:
        return machine_code(python.loops(function, floats, compute, **known))
    except OSError:
        return None
