"""Kernels that know more numbers than there are registers: those stand in a table, whose address is their only argument."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from . import _pages, _pool
from ._x86 import R12, R13, R14, R15, RAX, RBP, RBX, RDI, RDX, RSI, Address, Assembler

_Word = ctypes.c_size_t
_SAVED = (RBX, RBP, R12, R13, R14, R15)


def address(array: np.ndarray) -> int:
    """Where an array's data begin, read as kernels do; NumPy's own ways to say so take ten times as long."""
    return int(_Word.from_address(id(array) + _pages.DATA_OFFSET).value)


class Table:
    """The layout of a table: 64-bit numbers by their names, then masks of eight lanes. `rdi` points to it while a kernel runs."""

    def __init__(self, names: list[str], masks: list[str]) -> None:
        self.places = {name: place for place, name in enumerate(names)}
        self.masks = {name: len(names) + 4 * i for i, name in enumerate(masks)}
        self.size = len(names) + 4 * len(masks)

    # For whoever writes a kernel

    def at(self, name: str) -> Address:
        return Address(RDI, None, 8 * self.places[name])

    def mask(self, name: str) -> Address:
        return Address(RDI, None, 8 * self.masks[name])

    def set(self, asm: Assembler, name: str, source: str) -> None:
        """Copy a number, by way of `rax`."""
        asm.load_register(RAX, self.at(source))
        asm.store_register(self.at(name), RAX)

    def advance(self, asm: Assembler, name: str, by: str) -> None:
        """Add a number to another, by way of `rax`."""
        asm.load_register(RAX, self.at(by))
        asm.add_to_memory(self.at(name), RAX)

    def again(self, asm: Assembler, counter: str, label: str) -> None:
        """Count down, by way of `rax`, and back to a label while that is not 0."""
        asm.load_register(RAX, self.at(counter))
        asm.add_number(RAX, -1)
        asm.store_register(self.at(counter), RAX)
        asm.jump(label, "not zero")  # writing to memory leaves the condition as it is


class Numbers:
    """A table that is filled in."""

    def __init__(self, layout: Table) -> None:
        self._layout = layout
        self._numbers = np.zeros(layout.size, np.int64)

    def put(self, numbers: dict[str, int]) -> None:
        """Set numbers by their names."""
        places = self._layout.places
        self._numbers[[places[name] for name in numbers]] = list(numbers.values())

    def mask(self, name: str, lanes: int) -> None:
        """Let a mask select the first so many lanes."""
        at = 2 * self._layout.masks[name]
        self._numbers.view(np.int32)[at : at + max(0, min(lanes, 8))] = -1

    def run(self, kernel: Any) -> None:
        kernel(address(self._numbers))

    def step(self, total: int, grain: int) -> int:
        """How much of `total` is done at a time by `over`."""
        return min(_pool.step(total, grain), total)

    def over(self, kernel: Any, total: int, step: int) -> None:
        """Call a kernel of `function_over` for all of `total`, with `step` from the method, shared between threads if that is less."""
        if step < total:
            shared_form(kernel)(step, total, address(self._numbers))
        else:
            kernel(0, total, address(self._numbers))

    def __getitem__(self, name: str) -> int:
        return int(self._numbers[self._layout.places[name]])


def function(write: Callable[[Assembler], None]) -> Any:
    """A kernel of a table, from what writes its instructions."""
    return load_function(write, 1)


def function_over(write: Callable[[Assembler], None]) -> Any:
    """A kernel of a range and a table, which is not written to, since threads share it. `rbx` is where the range begins, `rbp` how long it is."""

    def begin(asm: Assembler) -> None:
        asm.copy_register(RBX, RDI)
        asm.copy_register(RBP, RSI)
        asm.copy_register(RDI, RDX)
        asm.copy_register(RAX, RBX)
        asm.negate(RAX)
        asm.add(RBP, RAX)
        write(asm)

    return load_function(begin, 3)


_shared: dict[int, Any] = {}  # by their addresses, kernels for several threads


def shared_form(kernel: Any, arguments: int = 3) -> Any:
    """A kernel of a range, such as those of `function_over`, for several threads, see _pool.py."""
    if kernel.address not in _shared:
        _shared[kernel.address] = _pool.shared(kernel.address, arguments, 0)
    return _shared[kernel.address]


def load_function(write: Callable[[Assembler], None], arguments: int) -> Any:
    """A kernel of so many whole numbers, from what writes its instructions, which may use all registers."""
    asm = Assembler()
    for register in _SAVED:
        asm.push(register)
    write(asm)
    asm.forget_upper()
    for register in reversed(_SAVED):
        asm.pop(register)
    asm.leave()
    return _pages.load_kernel(asm.finish(), arguments, 0)


def count(asm: Assembler, register: int, label: str) -> None:
    """Count a register down, and back to a label while it is not 0."""
    asm.add_number(register, -1)
    asm.jump(label, "not zero")


def multiples(asm: Assembler, one: int, two: int, three: int) -> None:
    """Registers with two and three times what the first one holds."""
    asm.copy_register(two, one)
    asm.add(two, one)
    asm.copy_register(three, two)
    asm.add(three, one)
