"""Runs a sequence of native kernels many times in one call: the steps of a recurrent layer.

Note [Repeated calls]
A call from Python costs about a microsecond, more than a step of a small recurrent layer. So the loop over the steps is machine
code, too: it reads a table of calls, each with a function's address and its arguments, makes the calls in order, and then adds to
each argument its increment. An array whose address changes from step to step is passed as a table entry that looks like an array
to a kernel: the data pointer is at the same offset as in an ndarray. Samples are independent, so each thread takes a part of the
batch through all steps, with its own table.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import call, executable, waiting_threads
from ..addresses import address
from ..compiler.assembler import R8, R9, R12, R13, R14, R15, RAX, RBX, RCX, RDI, RDX, RSI, RSP, Address, Assembler

_REGISTERS = (RDI, RSI, RDX, RCX, R8, R9)  # of the first six arguments; others are on the stack
_SAVED = (RBX, R12, R13, R14, R15)


class Counting(NamedTuple):
    """An argument that starts at `first` and grows by `step` each time."""

    first: int
    step: int


class Moving(NamedTuple):
    """An array whose address grows by `step` bytes each time."""

    array: np.ndarray
    step: int


Argument = int | np.ndarray | Counting | Moving
Call = tuple[Any, list[Argument]]  # a loaded kernel without float arguments, and its arguments


def repeat(times: int, *shares: list[Call]) -> None:
    """Make the calls of each share in order, `times` times. Several shares, which differ only in arrays and integers, run in
    parallel. The caller keeps the arrays alive."""
    if times < 1:
        return
    for calls in shares:
        for function, arguments in calls:
            _check(times, function, arguments)
    tables = [_table(calls) for calls in shares]
    first = tables[0]
    size = len(first.words) + len(first.steps)
    memory = np.empty((len(tables), size), np.int64)
    start = address(memory)
    for i, table in enumerate(tables):
        for at, home in table.moving:
            table.words[at] = start + 8 * (size * i + home) - executable.DATA_OFFSET
        memory[i] = table.words + table.steps
    counts = tuple([len(arguments) for _, arguments in shares[0]])
    form = counts, tuple(first.changing), len(first.words)
    if len(shares) > 1 and waiting_threads.step(len(shares), 1) < len(shares):
        _shared_driver(*form)(1, len(shares), times, start, 8 * size)
    else:
        _driver(*form)(0, len(shares), times, start, 8 * size)


def _check(times: int, function: Any, arguments: list[Argument]) -> None:
    """Refuse arguments that are invalid in one of the calls. Counters are offsets into arrays, so checking the largest and the
    smallest suffices; a moving array must stay in its base's memory."""
    given: list[Any] = list(arguments)
    for i, argument in enumerate(arguments):
        if type(argument) is Counting:
            ends = argument.first, argument.first + argument.step * (times - 1)
            given[i] = max(ends)
            if min(ends) < 0:
                raise ValueError("machine code was given a counter that becomes negative")
        elif type(argument) is Moving:
            given[i] = argument.array
            if argument.step and not _stays(argument.array, argument.step * (times - 1)):
                raise ValueError("machine code was given an array that moves out of its memory")
    call.check_of(function)(*given)


def _stays(array: np.ndarray, by: int) -> bool:
    """Whether an array, moved by so many bytes, is still inside its base's memory."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    start = address(array) - address(owner)
    return owner.flags.c_contiguous and start >= -min(by, 0) and start + max(by, 0) + array.nbytes <= owner.nbytes


class _Table(NamedTuple):
    """The table of a share's calls."""

    words: list[int]  # for each call its function and arguments; then the addresses of moving arrays
    changing: list[int]  # which words change from one time to the next
    steps: list[int]  # their increments
    moving: list[tuple[int, int]]  # which arguments are moving arrays, and the index of their addresses


def _table(calls: list[Call]) -> _Table:
    table = _Table([], [], [], [])
    words, changing, steps, moving = table
    arrays: list[tuple[int, Moving]] = []
    for function, arguments in calls:
        words.append(function.address)
        for argument in arguments:
            if isinstance(argument, int):
                words.append(argument)
            elif isinstance(argument, np.ndarray):
                words.append(id(argument))
            elif isinstance(argument, Counting):
                changing.append(len(words))
                steps.append(argument.step)
                words.append(argument.first)
            else:
                arrays.append((len(words), argument))
                words.append(0)
    for at, argument in arrays:
        moving.append((at, len(words)))
        changing.append(len(words))
        steps.append(argument.step)
        words.append(address(argument.array))
    return table


@lru_cache(64)
def _shared_driver(counts: tuple[int, ...], changing: tuple[int, ...], words: int) -> Any:
    return waiting_threads.shared(_driver(counts, changing, words))


@lru_cache(64)
def _driver(counts: tuple[int, ...], changing: tuple[int, ...], words: int) -> Any:
    """`run(low, high, times, tables, apart)`: the loop over tables of calls with so many arguments each, `apart` bytes apart.

    The words at `changing` grow by the increments that follow the first `words` words.
    """
    asm = Assembler()
    for register in _SAVED:
        asm.push(register)
    asm.copy_register(R12, RDI)
    asm.multiply(R12, R8)
    asm.add(R12, RCX)  # the first table
    asm.copy_register(R13, RSI)
    asm.negate(RDI)
    asm.add(R13, RDI)  # the number of tables
    asm.copy_register(R14, RDX)
    asm.copy_register(R15, R8)
    asm.label("table")
    asm.copy_register(RBX, R14)
    asm.label("again")
    position = 0
    for count in counts:
        extra = max(0, count - len(_REGISTERS))
        for i in range(count, len(_REGISTERS), -1):
            asm.load_register(RAX, Address(R12, None, 8 * (position + i)))
            asm.push(RAX)
        for i, register in enumerate(_REGISTERS[:count]):
            asm.load_register(register, Address(R12, None, 8 * (position + 1 + i)))
        asm.load_register(RAX, Address(R12, None, 8 * position))
        asm.call(RAX)
        asm.add_number(RSP, 8 * extra)
        position += 1 + count
    for i, at in enumerate(changing):
        asm.load_register(RAX, Address(R12, None, 8 * (words + i)))
        asm.add_to_memory(Address(R12, None, 8 * at), RAX)
    asm.add_number(RBX, -1)
    asm.jump("again", "not zero")
    asm.add(R12, R15)
    asm.add_number(R13, -1)
    asm.jump("table", "not zero")
    for register in reversed(_SAVED):
        asm.pop(register)
    asm.leave()
    return call.load(asm.finish(), "low, high, times, tables, apart")
