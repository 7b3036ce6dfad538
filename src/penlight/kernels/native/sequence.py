"""Several native kernels one after the other, many times, in one call: the steps of a recurrent layer.

Note [Repeated calls]
A call from Python costs about a microsecond, more than a step of a small recurrent layer. So the loop over the steps is machine code,
too: it goes through a table of calls, each with a function's address and its arguments, calls them in order, and adds to
each argument what it changes by from one time to the next. An array whose data moves on is passed as a place in the table that
looks like an array to a kernel: the pointer to the data is where an array would have it.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from . import _pages
from ._x86 import R8, R9, R12, RAX, RBX, RCX, RDI, RDX, RSI, RSP, Address, Assembler

_REGISTERS = (RDI, RSI, RDX, RCX, R8, R9)  # what the first six arguments are passed in; others on the stack


class Counting(NamedTuple):
    """An argument that is `first` at first, and then more by `step` each time."""

    first: int
    step: int


class Moving(NamedTuple):
    """An array that lies `step` bytes further on each time."""

    array: np.ndarray
    step: int


Argument = int | np.ndarray | Counting | Moving
Call = tuple[Any, list[Argument]]  # a loaded kernel without numbers, and what it is called with


def repeat(times: int, calls: list[Call]) -> None:
    """Do `calls` one after the other, `times` times. Nothing is checked; the caller holds the arrays."""
    if times < 1:
        return
    words: list[int] = []  # for each call its function and arguments; then the places of moving arrays
    steps: list[tuple[int, int]] = []  # which words change, and by how much
    moving: list[tuple[int, Moving]] = []
    for function, arguments in calls:
        words.append(function.address)
        for argument in arguments:
            if isinstance(argument, Counting):
                steps.append((len(words), argument.step))
                words.append(argument.first)
            elif isinstance(argument, Moving):
                moving.append((len(words), argument))
                words.append(0)
            else:
                words.append(argument if isinstance(argument, int) else id(argument))
    table = np.empty(len(words) + len(moving) + len(steps) + len(moving), np.int64)
    start = table.__array_interface__["data"][0]
    for at, argument in moving:
        words[at] = start + 8 * len(words) - _pages.DATA_OFFSET
        steps.append((len(words), argument.step))
        words.append(argument.array.__array_interface__["data"][0])
    table[: len(words)] = words
    table[len(words) :] = [step for _, step in steps]
    driver = _driver(tuple(len(arguments) for _, arguments in calls), tuple(at for at, _ in steps), len(words))
    driver(times, start)


@lru_cache(64)
def _driver(counts: tuple[int, ...], changing: tuple[int, ...], words: int) -> Any:
    """The loop over calls with so many arguments each, whose words at `changing` grow by those that follow the first `words`."""
    asm = Assembler()
    asm.push(RBX)
    asm.push(R12)
    asm.copy_register(RBX, RDI)
    asm.copy_register(R12, RSI)
    asm.label("again")
    place = 0
    for count in counts:
        extra = max(0, count - len(_REGISTERS))
        for i in range(count, len(_REGISTERS), -1):
            asm.load_register(RAX, Address(R12, None, 8 * (place + i)))
            asm.push(RAX)
        for i, register in enumerate(_REGISTERS[:count]):
            asm.load_register(register, Address(R12, None, 8 * (place + 1 + i)))
        asm.load_register(RAX, Address(R12, None, 8 * place))
        asm.call(RAX)
        asm.add_number(RSP, 8 * extra)
        place += 1 + count
    for i, at in enumerate(changing):
        asm.load_register(RAX, Address(R12, None, 8 * (words + i)))
        asm.add_to_memory(Address(R12, None, 8 * at), RAX)
    asm.add_number(RBX, -1)
    asm.jump("again", "not zero")
    asm.pop(R12)
    asm.pop(RBX)
    asm.leave()
    return _pages.load_kernel(asm.finish(), 2, 0)
