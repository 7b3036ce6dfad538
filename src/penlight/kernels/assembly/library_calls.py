"""Machine code that calls functions of a library: BLAS's product in ranges that threads share, LAPACK's routines for a batch."""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import Any

from .. import call, executable, waiting_threads
from ..compiler.asm import ARGUMENTS, R8, R9, R12, R13, RAX, RBX, RCX, RDI, RDX, RSI, RSP, Address, Assembler

# ----- BLAS -----------------------------------------------------------------------------------------------------------

# The table that describes a product. For the factors and the result, `_step` is the stride to the next row, column or matrix,
# `_leap` that to the next `together` matrices of a batch.
_ARRAYS = "first", "second", "result"
_TABLE = ["function", "one", "together", "rows", "columns", "inner", "first_transposed", "second_transposed"]
_TABLE += [f"{array}{what}" for array in _ARRAYS for what in ("_apart", "_step", "_leap")]
_OFFSETS = {name: 8 * i for i, name in enumerate(_TABLE)}
product_table = Struct(f"<{len(_TABLE)}q").pack
_PRESERVED = (RBX, R12, R13)
_FRAME = 48 + 24 + 8  # bytes of the stack: BLAS's last arguments, the arrays, and alignment
_ROW_ORDER = 101  # BLAS's constant


@lru_cache(3)
def product(cut: str) -> Any:
    """BLAS's product in ranges of rows, columns, or matrices of a batch, as `cut` says. The caller has made the table for arrays with
    these layouts."""
    asm = Assembler()
    low, high = R12, R13
    for register in _PRESERVED:
        asm.push(register)
    asm.add_number(RSP, -_FRAME)
    asm.copy_register(low, RDI)
    asm.copy_register(high, RSI)
    asm.copy_register(RBX, RDX)
    for position, register in zip(_HOMES, (RCX, R8, R9)):
        asm.load_register(register, Address(register, None, executable.DATA_OFFSET))
        asm.store_register(position, register)
    asm.label("next")
    _write_addresses(asm, low, cut == "batch")
    asm.load_number(RDI, _ROW_ORDER)
    for register, name in (
        (RSI, "first_transposed"),
        (RDX, "second_transposed"),
        (RCX, "rows"),
        (R8, "columns"),
        (R9, "inner"),
    ):
        asm.load_register(register, _at(name))
    if cut != "batch":
        size = RCX if cut == "rows" else R8
        asm.copy_register(size, low)
        asm.negate(size)
        asm.add(size, high)
    asm.move(0, _at("one"))
    asm.binary("vxorps", 1, 1, 1)
    asm.forget_upper()
    asm.load_register(RAX, _at("function"))
    asm.call(RAX)
    if cut == "batch":
        asm.add_number(low, 1)
        asm.compare_numbers(low, high)
        asm.jump("next", "less")
    asm.add_number(RSP, _FRAME)
    for register in reversed(_PRESERVED):
        asm.pop(register)
    asm.leave()
    signature = "low, high, table, first: strided any, second: strided any, result: strided written any"
    return waiting_threads.shared(call.load(asm.finish(), signature))


_HOMES = [Address(RSP, None, 48 + 8 * i) for i in range(3)]  # the arrays' data pointers


def _at(name: str) -> Address:
    return Address(RBX, None, _OFFSETS[name])


def _write_addresses(asm: Assembler, index: int, batch: bool) -> None:
    """Put the addresses and row strides of the factors and the result on the stack: BLAS's last arguments."""
    if batch:
        asm.copy_register(RAX, index)
        asm.load_register(RCX, _at("together"))
        asm.divide(RCX)
        asm.copy_register(RSI, RDX)  # the index within `together`
        asm.copy_register(RDI, RAX)
    for position, name in enumerate(_ARRAYS):
        asm.copy_register(RAX, RSI if batch else index)
        asm.multiply(RAX, _at(f"{name}_step"))
        asm.add(RAX, _HOMES[position])
        if batch:
            asm.copy_register(RDX, RDI)
            asm.multiply(RDX, _at(f"{name}_leap"))
            asm.add(RAX, RDX)
        asm.store_register(Address(RSP, None, 16 * position), RAX)
        asm.load_register(RAX, _at(f"{name}_apart"))
        asm.store_register(Address(RSP, None, 16 * position + 8), RAX)


# ----- LAPACK ---------------------------------------------------------------------------------------------------------


@lru_cache(64)
def routine(count: int, positions: tuple[int, ...]) -> Any:
    """A function of a table and arrays that calls a LAPACK routine for each matrix of a batch: a function of `count` integers, of
    which those at `positions` are the arrays' addresses.

    The table has the function, the number of calls, the integers for the first call, and the increment of each for the next.
    """
    behind = max(count - len(ARGUMENTS), 0)
    room = behind + count
    frame = 8 * (room + 1 - room % 2)  # with saved registers and the return address, a multiple of 16 bytes
    numbers = [Address(RSP, None, 8 * (behind + i)) for i in range(count)]
    asm = Assembler()
    for register in (RBX, R12):
        asm.push(register)
    asm.add_number(RSP, -frame)
    asm.copy_register(RBX, RDI)
    for position, array in zip(positions, ARGUMENTS[1:], strict=False):
        asm.load_register(RAX, Address(array, None, executable.DATA_OFFSET))
        asm.store_register(numbers[position], RAX)
    for i in sorted(set(range(count)) - set(positions)):
        asm.load_register(RAX, Address(RBX, None, 8 * (2 + i)))
        asm.store_register(numbers[i], RAX)
    asm.load_register(R12, Address(RBX, None, 8))
    asm.label("next")
    for i in range(behind):
        asm.load_register(RAX, numbers[len(ARGUMENTS) + i])
        asm.store_register(Address(RSP, None, 8 * i), RAX)
    for register, number in zip(ARGUMENTS, numbers):
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
    for register in reversed((RBX, R12)):
        asm.pop(register)
    asm.leave()
    return call.load(asm.finish(), ", ".join(["table", *[f"a{i}: strided any" for i in range(len(positions))]]))
