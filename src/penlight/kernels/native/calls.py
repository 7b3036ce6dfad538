"""A function of a library, called again and again by machine code: one LAPACK routine for each matrix of a batch."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from . import _pages
from ._x86 import R8, R9, R12, R13, RAX, RBX, RCX, RDI, RDX, RSI, RSP, Address, Assembler

_IN_REGISTERS = (RDI, RSI, RDX, RCX, R8, R9)  # the first arguments of a call; the others are on the stack
_SAVED = (RBX, R12, R13)


@lru_cache(32)
def repeat(count: int) -> Any:
    """`run(function, table, times)`: calls a function of `count` whole numbers.

    The table has the numbers for the first call, and what is added to each of them for the next one.
    """
    behind = max(count - len(_IN_REGISTERS), 0)
    room = behind + count
    frame = 8 * (room + room % 2)  # with what is saved and the way back, a multiple of 16 bytes
    numbers = [Address(RSP, None, 8 * (behind + i)) for i in range(count)]
    asm = Assembler()
    for register in _SAVED:
        asm.push(register)
    asm.add_number(RSP, -frame)
    asm.copy_register(RBX, RDI)
    asm.copy_register(R12, RSI)
    asm.copy_register(R13, RDX)
    for i, number in enumerate(numbers):
        asm.load_register(RAX, Address(R12, None, 8 * i))
        asm.store_register(number, RAX)
    asm.label("next")
    for i in range(behind):
        asm.load_register(RAX, numbers[len(_IN_REGISTERS) + i])
        asm.store_register(Address(RSP, None, 8 * i), RAX)
    for register, number in zip(_IN_REGISTERS, numbers):
        asm.load_register(register, number)
    asm.call(RBX)
    for i, number in enumerate(numbers):
        asm.load_register(RAX, Address(R12, None, 8 * (count + i)))
        asm.add_to_memory(number, RAX)
    asm.add_number(R13, -1)
    asm.compare_number(R13, 0)
    asm.jump("next", "not zero")
    asm.add_number(RSP, frame)
    for register in reversed(_SAVED):
        asm.pop(register)
    asm.leave()
    return _pages.load_kernel(asm.finish(), 3, 0)
