"""Machine code that calls kernels, listed in a table: the steps of a recurrent layer or of a convolution, in one call.

Note [Tables of calls]
A call from Python costs about a microsecond, more than a step of a small recurrent layer. So the loop over the steps is machine
code, too. It reads a table: the number of repetitions, of calls and of changes; then the calls, each with its function's address,
the size of its arguments on the stack, and its arguments; then the changes, each with the offset of a word that grows after each
repetition, and its increment. An array whose address changes is passed as a word of the table that looks like an array to a
kernel: the data pointer is at the same offset as in an ndarray. Threads share a list of tables, one for each part of a batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .. import call, executable, waiting_threads
from ..addresses import offset as offset_in
from ..compiler.asm import ARGUMENTS, R10, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RSP, SAVED, Address, Assembler

_HEAD, _CALL = 24, 16  # bytes before the first call, and before a call's first argument


class Calls:
    """A table of calls under construction: all calls, then all changes. See Note [Tables of calls]."""

    def __init__(self, times: int) -> None:
        self.words = [times, 0, 0]

    def add(self, function: Any, arguments: Sequence[int]) -> int:
        """Append a call of a loaded kernel without float arguments; return the position of its first argument."""
        stacked = max(0, len(arguments) - len(ARGUMENTS))
        stacked += stacked % 2  # the stack is aligned to 16 bytes at a call
        self.words[1] += 1
        self.words += (function.address, 8 * stacked)
        first = len(self.words)
        self.words += arguments
        self.words += (0,) * (len(ARGUMENTS) + stacked - len(arguments))
        return first

    def finish(self, changes: list[tuple[int, int]], arrays: list[tuple[int, int]]) -> int:
        """Let words at some positions grow by some number after each repetition. Arguments at other positions are arrays whose
        addresses stand at the end of the table, and grow likewise; return the position of the first address."""
        end = len(self.words) + 2 * (len(changes) + len(arrays))
        changes = changes + [(i, step) for i, (_, step) in enumerate(arrays, end)]
        self.words[2] = len(changes)
        for position, step in changes:
            self.words += (8 * position, step)
        for i, (position, _) in enumerate(arrays, end):
            self.words[position] = 8 * i - executable.DATA_OFFSET  # from the beginning of the table
        self.words += (0,) * len(arrays)
        return end


@lru_cache(2)
def driver(nested: bool = False) -> Any:
    """`run(low, high, tables, offset, apart)`: runs tables that are `apart` bytes apart, the first of which is at an offset in an
    array; a `nested` one is called by another, with the tables' address."""
    asm = Assembler()
    for register in SAVED:
        asm.push(register)
    asm.add_number(RSP, -8)
    low, high, tables, offset, apart = ARGUMENTS[:5]
    if not nested:
        asm.load_register(tables, Address(tables, None, executable.DATA_OFFSET))
    asm.copy_register(RBX, low)
    asm.multiply(RBX, apart)
    asm.add(RBX, tables)
    asm.add(RBX, offset)  # the first table
    asm.copy_register(R13, high)
    asm.negate(low)
    asm.add(R13, low)  # the number of tables
    asm.copy_register(R14, apart)
    asm.label("table")
    asm.load_register(R15, Address(RBX))
    asm.label("again")
    asm.copy_register(R12, RBX)
    asm.add_number(R12, _HEAD)
    asm.load_register(RBP, Address(RBX, None, 8))
    asm.label("call")
    asm.load_register(R10, Address(R12, None, 8))
    asm.label("stacked")
    asm.compare_number(R10, 1)
    asm.jump("registers", "less")
    asm.load_register(RAX, Address(R12, R10, _CALL + 8 * len(ARGUMENTS) - 8))
    asm.push(RAX)
    asm.add_number(R10, -8)
    asm.jump("stacked")
    asm.label("registers")
    for i, register in enumerate(ARGUMENTS):
        asm.load_register(register, Address(R12, None, _CALL + 8 * i))
    asm.load_register(RAX, Address(R12))
    asm.call(RAX)
    asm.load_register(R10, Address(R12, None, 8))
    asm.add(RSP, R10)
    asm.add(R12, R10)
    asm.add_number(R12, _CALL + 8 * len(ARGUMENTS))
    asm.add_number(RBP, -1)
    asm.jump("call", "not zero")
    asm.load_register(RBP, Address(RBX, None, 16))
    asm.label("change")
    asm.add_number(RBP, -1)
    asm.jump("changed", "less")
    asm.load_register(RAX, Address(R12))
    asm.load_register(RCX, Address(R12, None, 8))
    asm.add_to_memory(Address(RBX, RAX), RCX)
    asm.add_number(R12, 16)
    asm.jump("change")
    asm.label("changed")
    asm.add_number(R15, -1)
    asm.jump("again", "not zero")
    asm.add(RBX, R14)
    asm.add_number(R13, -1)
    asm.jump("table", "not zero")
    asm.add_number(RSP, 8)
    for register in reversed(SAVED):
        asm.pop(register)
    asm.leave()
    return call.load(asm.finish(), "low, high, tables: written i64, offset, apart")


def run(tables: np.ndarray, count: int, start: int, apart: int, helpers: bool) -> None:
    """Run `count` tables; threads share them if there are helpers."""
    if helpers:
        waiting_threads.shared(driver())(1, count, tables, start, apart)
    else:
        driver()(0, count, tables, start, apart)


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
    tables = [_table(times, calls) for calls in shares]
    size = len(tables[0].words)
    memory = np.empty((len(tables), size), np.int64)
    for row, table in zip(memory, tables):
        count = len(table.moving)
        positions = [*table.passed, *range(size - count, size)]
        call.add_addresses(table.words, positions, [row, *table.moving], [*[0] * count, *range(1, count + 1)])
        row[:] = table.words
    run(memory, len(shares), 0, 8 * size, len(shares) > 1 and waiting_threads.step(len(shares), 1) < len(shares))


def _stays(array: np.ndarray, by: int) -> bool:
    """Whether an array, moved by so many bytes, is still inside its base's memory."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    start = offset_in(array, owner)
    return owner.flags.c_contiguous and start >= -min(by, 0) and start + max(by, 0) + array.nbytes <= owner.nbytes


class _Table(NamedTuple):
    """The table of a share's calls, still without addresses."""

    words: list[int]  # the last ones are for the addresses of moving arrays
    passed: list[int]  # the positions of the arguments that stand for these
    moving: list[np.ndarray]


def _table(times: int, calls: list[Call]) -> _Table:
    """Refuses arguments that are invalid in one of the calls. Counters are offsets into arrays, so checking the largest and the
    smallest suffices; a moving array must stay in its base's memory."""
    table, changes, passed, moving = Calls(times), [], [], []
    for function, arguments in calls:
        words: list[int] = []
        checked: list[Any] = []
        first = len(table.words) + 2
        for argument in arguments:
            if type(argument) is int:
                words.append(argument)
                checked.append(argument)
            elif type(argument) is Counting:
                start, step = argument
                end = start + step * (times - 1)
                if start < 0 or end < 0:
                    raise ValueError("machine code was given a counter that becomes negative")
                changes.append((first + len(words), step))
                words.append(start)
                checked.append(max(start, end))
            elif type(argument) is Moving:
                array, step = argument
                if step and not _stays(array, step * (times - 1)):
                    raise ValueError("machine code was given an array that moves out of its memory")
                passed.append(first + len(words))
                moving.append(argument)
                words.append(0)
                checked.append(array)
            else:
                words.append(call.object_address(argument))
                checked.append(argument)
        call.check_of(function)(*checked)
        table.add(function, words)
    table.finish(changes, [(at, step) for at, (_, step) in zip(passed, moving)])
    return _Table(table.words, passed, [array for array, _ in moving])
