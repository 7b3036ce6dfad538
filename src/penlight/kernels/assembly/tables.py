"""Kernels with many parameters take one pointer to a table, which also holds the addresses of their arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import call, parallel, waiting_threads
from ..addresses import aligned
from ..compiler.asm import RAX, RDI, SAVED, Address, Assembler
from . import calls

SEVENTH = 8 * (len(SAVED) + 1)  # the offset on the stack of the seventh argument of a function from `load_function`
_GRAIN_NS = 20_000  # of work per thread, at least


def scratch(size: int) -> np.ndarray:
    """A buffer of `size` float32, aligned to a cache line."""
    return aligned(size, np.float32)


class Table:
    """The layout of a table: named 64-bit integers, then masks of eight lanes. `rdi` points to it while a kernel runs."""

    def __init__(self, names: list[str], masks: list[str]) -> None:
        self.positions = {name: position for position, name in enumerate(names)}
        self.masks = {name: len(names) + 4 * i for i, name in enumerate(masks)}
        self.size = len(names) + 4 * len(masks)

    # For writing kernels

    def at(self, name: str) -> Address:
        return Address(RDI, None, 8 * self.positions[name])

    def mask(self, name: str) -> Address:
        return Address(RDI, None, 8 * self.masks[name])

    def set(self, asm: Assembler, name: str, source: str) -> None:
        """Set a field; clobbers `rax`."""
        asm.load_register(RAX, self.at(source))
        asm.store_register(self.at(name), RAX)

    def advance(self, asm: Assembler, name: str, by: str) -> None:
        """Add to a field; clobbers `rax`."""
        asm.load_register(RAX, self.at(by))
        asm.add_to_memory(self.at(name), RAX)

    def again(self, asm: Assembler, counter: str, label: str) -> None:
        """Decrement a field and jump to a label while it is not 0; clobbers `rax`."""
        asm.load_register(RAX, self.at(counter))
        asm.add_number(RAX, -1)
        asm.store_register(self.at(counter), RAX)
        asm.jump(label, "not zero")  # the store does not change the flags


def job_count(items: int, cost: float) -> int:
    """The number of jobs (copies of a table) to split `items` into, for work of about `cost` ns; starts helpers if it is more than one."""
    if items < 2 or cost < 2 * _GRAIN_NS:
        return 1
    threads = parallel.native_thread_count()
    if threads > 1:
        waiting_threads.start(threads - 1)
    # Twice as many as threads if that is cheap: late threads do fewer.
    return min(
        items, 2 * threads if threads > 1 and cost > 16 * threads * _GRAIN_NS else threads, int(cost / _GRAIN_NS)
    )


def ranges(items: int, jobs: int) -> np.ndarray:
    """The first item of each job, and the end of the last job."""
    return np.arange(jobs + 1) * items // jobs


class At(NamedTuple):
    """An address: the name of an array, and an offset in bytes."""

    array: str
    offset: Any = 0  # an integer, or an array of integers


class Passed(NamedTuple):
    """An array argument of a kernel: the address of its first element, which grows by `step` bytes at each repetition."""

    address: At
    step: int = 0


Step = tuple[Any, list[int | At | Passed]]  # a kernel, and its arguments


class Plan:
    """Tables for kernels, and the data they point to, for calls that differ only in the addresses of arrays.

    Filling in a table takes longer than many small kernels run. So callers cache a plan for given sizes: a call copies its
    integers and adds the addresses of its arrays to the entries that are offsets in them. The array name "plan" means the array
    of these integers itself.
    """

    def __init__(self) -> None:
        self._words: list[np.ndarray] = []
        self._size = 0
        self._positions: dict[str, list[np.ndarray]] = {}
        self._held: dict[int, np.ndarray] = {}  # arrays that are part of the plan, by the positions of their addresses
        self._finished: tuple[np.ndarray, list[str], np.ndarray, np.ndarray] | None = None

    def table(
        self, layout: Table, numbers: dict[str, int | np.ndarray | At], masks: dict[str, int] | None = None
    ) -> At:
        """Append a table; a mask is given as the number of lanes it selects."""
        words = np.zeros(layout.size, np.int64)
        for name, lanes in (masks or {}).items():
            start = 2 * layout.masks[name]
            words.view(np.int32)[start : start + max(0, min(lanes, 8))] = -1
        return self.words(words, {layout.positions[name]: number for name, number in numbers.items()})

    def words(self, words: np.ndarray, numbers: dict[int, int | np.ndarray | At]) -> At:
        """Append integers, some of which are addresses."""
        for position, number in numbers.items():
            if isinstance(number, At):
                self._positions.setdefault(number.array, []).append(np.array([self._size + position]))
                words[position] = number.offset
            elif isinstance(number, np.ndarray):
                self._held[self._size + position] = number
            else:
                words[position] = number
        return self._append(words)

    def records(self, columns: list[Any]) -> At:
        """Append a list of records: each column is a list of integers or addresses, all of the same length, or one integer for all."""
        count = max(np.size(c.offset if isinstance(c, At) else c) for c in columns)
        words = np.zeros((count, len(columns)), np.int64)
        for i, column in enumerate(columns):
            if isinstance(column, At):
                positions = self._size + i + np.arange(count) * len(columns)
                self._positions.setdefault(column.array, []).append(positions)
                column = column.offset
            words[:, i] = column
        return self._append(words.reshape(-1))

    def _append(self, words: np.ndarray) -> At:
        position = At("plan", 8 * self._size)
        self._words.append(words)
        self._size += words.size
        return position

    def calls(self, steps: list[list[Step]], times: int = 1) -> tuple[At, int]:
        """Append tables that make each list's calls in order, `times` times; return the first one's address, and the distance
        between tables in bytes. See Note [Tables of calls]."""
        tables = []
        for some in steps:
            table = calls.Calls(times)
            given: dict[int, int | np.ndarray | At] = {}
            passed: list[tuple[int, Passed]] = []
            for kernel, arguments in some:
                first = table.add(kernel, [a if isinstance(a, int) else 0 for a in arguments])
                for i, argument in enumerate(arguments, first):
                    if isinstance(argument, At):
                        given[i] = argument
                    elif isinstance(argument, Passed):
                        passed.append((i, argument))
            end = table.finish([], [(i, array.step) for i, array in passed])
            given |= {end + i: array.address for i, (_, array) in enumerate(passed)}
            tables.append((table.words, given, passed))
        size = max(len(words) for words, *_ in tables)  # equally far apart
        start = At("plan", 8 * self._size)
        for words, given, passed in tables:
            given |= {i: At("plan", 8 * self._size + words[i]) for i, _ in passed}
            self.words(np.array(words + [0] * (size - len(words))), given)
        return start, 8 * size

    def nested(self, steps: list[Step], times: int) -> Step:
        """One step that makes several calls, `times` times."""
        tables, apart = self.calls([steps], times)
        return calls.driver(nested=True), [0, 1, tables, 0, apart]

    def run(self, tables: tuple[At, int], jobs: int, arrays: dict[str, np.ndarray]) -> None:
        """Run tables of calls, in parallel if there are threads."""
        if self._finished is None:
            lengths = [sum(map(len, found)) for found in self._positions.values()]
            positions = np.concatenate([position for found in self._positions.values() for position in found])
            numbers = np.concatenate(self._words)
            call.add_addresses(numbers, [*self._held], [*self._held.values()], slice(None))
            self._finished = numbers, list(self._positions), positions, np.repeat(np.arange(len(lengths)), lengths)
        numbers, names, positions, which = self._finished
        memory = numbers.copy()
        given = [memory if name == "plan" else arrays[name] for name in names]
        call.add_addresses(memory, positions, given, which)
        if jobs > 1:
            waiting_threads.start(parallel.native_thread_count() - 1)
        start, apart = tables
        calls.run(memory, jobs, start.offset, apart, jobs > 1)


def function(write: Callable[[Assembler], None]) -> Any:
    """A kernel that takes a table, from a function that emits its instructions."""
    return load_function(write, "table")


def load_function(write: Callable[[Assembler], None], signature: str) -> Any:
    """A kernel with this signature (Note [Calling machine code]), from a function that emits its instructions, which may use all registers."""
    asm = Assembler()
    for register in SAVED:
        asm.push(register)
    write(asm)
    asm.forget_upper()
    for register in reversed(SAVED):
        asm.pop(register)
    asm.leave()
    return call.load(asm.finish(), signature)


def count(asm: Assembler, register: int, label: str) -> None:
    """Decrement a register and jump to a label while it is not 0."""
    asm.add_number(register, -1)
    asm.jump(label, "not zero")


def multiples(asm: Assembler, one: int, two: int, three: int) -> None:
    """Set registers to two and three times the first one."""
    asm.copy_register(two, one)
    asm.add(two, one)
    asm.copy_register(three, two)
    asm.add(three, one)
