"""A function of a library, called by machine code: one LAPACK routine for each matrix of a batch."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .. import call, executable
from ..native._x86 import R8, R9, R12, RAX, RBX, RCX, RDI, RDX, RSI, RSP, Address, Assembler

_IN_REGISTERS = (RDI, RSI, RDX, RCX, R8, R9)  # the first arguments of a call; the others are on the stack
_SAVED = (RBX, R12)


@lru_cache(64)
def repeat(count: int, positions: tuple[int, ...]) -> Any:
    """A function of a table and arrays that calls a function of `count` integers, of which those at `positions` are where arrays begin.

    The table has the function, how often it is called, its numbers for the first call, and what is added to each of them for the next.
    """
    behind = max(count - len(_IN_REGISTERS), 0)
    room = behind + count
    frame = 8 * (room + 1 - room % 2)  # with what is saved and the way back, a multiple of 16 bytes
    numbers = [Address(RSP, None, 8 * (behind + i)) for i in range(count)]
    asm = Assembler()
    for register in _SAVED:
        asm.push(register)
    asm.add_number(RSP, -frame)
    asm.copy_register(RBX, RDI)
    for position, array in zip(positions, _IN_REGISTERS[1:], strict=False):
        asm.load_register(RAX, Address(array, None, executable.DATA_OFFSET))
        asm.store_register(numbers[position], RAX)
    for i in sorted(set(range(count)) - set(positions)):
        asm.load_register(RAX, Address(RBX, None, 8 * (2 + i)))
        asm.store_register(numbers[i], RAX)
    asm.load_register(R12, Address(RBX, None, 8))
    asm.label("next")
    for i in range(behind):
        asm.load_register(RAX, numbers[len(_IN_REGISTERS) + i])
        asm.store_register(Address(RSP, None, 8 * i), RAX)
    for register, number in zip(_IN_REGISTERS, numbers):
        asm.load_register(register, number)
    asm.load_register(RAX, Address(RBX))
    asm.call(RAX)
    for position in positions:
        asm.load_register(RAX, Address(RBX, None, 8 * (2 + count + position)))
        asm.add_to_memory(numbers[position], RAX)
    asm.add_number(R12, -1)
    asm.compare_number(R12, 0)
    asm.jump("next", "not zero")
    asm.add_number(RSP, frame)
    for register in reversed(_SAVED):
        asm.pop(register)
    asm.leave()
    return call.load(asm.finish(), ", ".join(["table", *[f"a{i}: strided any" for i in range(len(positions))]]))
