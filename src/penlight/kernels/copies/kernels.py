"""Copies between arrays of any strides: rows forwards, backwards, by single elements, and transposed. Who calls these: kernels/copies/.

NumPy copies one element after the other wherever rows do not lie forwards in both arrays, and takes long to go on to the next row. Here a row
goes by vectors, also backwards, and its last vector overlaps with the one before; transposed matrices go by squares of eight by eight. The sizes
of four dimensions, and how many bytes apart they are in both arrays, are arguments.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .. import executable
from ..native import _table
from ..native._x86 import (
    R8,
    R9,
    R10,
    R11,
    R12,
    R13,
    R14,
    R15,
    RAX,
    RBP,
    RBX,
    RCX,
    RDI,
    RDX,
    RSI,
    RSP,
    Address,
    Assembler,
)
from ..waiting_threads import over

__all__ = ["available", "copy_kernel", "over"]

SQUARE = 8  # elements of four bytes, as many as a vector has
_FIRST = 8 * (len(_table.SAVED) + 1)  # where on the stack the seventh argument is
# Arguments: the range of the first dimension, the sizes of the next two, the two arrays, and those on the stack.
_LENGTH, _FROM, _INTO = _FIRST, [_FIRST + 8 * (1 + i) for i in range(4)], [_FIRST + 8 * (5 + i) for i in range(4)]
_FROM_OFFSET, _INTO_OFFSET = _FIRST + 8 * 9, _FIRST + 8 * 10
_UNROLLED = 4
_TURN = 1  # a register


def available() -> bool:
    """Whether kernels run here."""
    return executable.available()


def _on_stack(offset: int) -> Address:
    return Address(RSP, None, offset)


@lru_cache(None)
def copy_kernel(way: str, size: int) -> Any:
    """A kernel over the first of four dimensions, which have so many bytes from one element to the next in both arrays, from an offset in bytes
    on. The `way` is "forwards", "backwards", "singles" or "transposed", for elements of `size` bytes. The last elements lie beside each other where
    they are written to, but for "singles"."""

    def write(asm: Assembler) -> None:
        source, target = R8, R9
        if way == "backwards" and size < 4:
            _load_turn(asm, size)
        for pointer, strides, offset in ((source, _FROM, _FROM_OFFSET), (target, _INTO, _INTO_OFFSET)):
            asm.load_register(pointer, Address(pointer, None, executable.DATA_OFFSET))
            asm.add(pointer, _on_stack(offset))
            asm.copy_register(RAX, RDI)
            asm.multiply(RAX, _on_stack(strides[0]))
            asm.add(pointer, RAX)
        asm.label("first")
        asm.copy_register(R10, source)
        asm.copy_register(R11, target)
        asm.copy_register(RBX, RDX)
        asm.label("second")
        if way == "transposed":
            _write_squares(asm)
        else:
            asm.copy_register(R12, R10)
            asm.copy_register(R13, R11)
            asm.copy_register(RBP, RCX)
            asm.label("third")
            {"forwards": _write_forwards, "backwards": _write_backwards, "singles": _write_singles}[way](asm, size)
            asm.add(R12, _on_stack(_FROM[2]))
            asm.add(R13, _on_stack(_INTO[2]))
            _table.count(asm, RBP, "third")
        asm.add(R10, _on_stack(_FROM[1]))
        asm.add(R11, _on_stack(_INTO[1]))
        _table.count(asm, RBX, "second")
        asm.add(source, _on_stack(_FROM[0]))
        asm.add(target, _on_stack(_INTO[0]))
        asm.add_number(RDI, 1)
        asm.compare_numbers(RDI, RSI)
        asm.jump("first", "less")

    arrays = f"source: strided b{size}, target: strided written b{size}"
    steps = ", ".join(f"{array}{i}" for array in ("source", "target") for i in range(4))
    signature = f"low, high, second, third, {arrays}, length, {steps}, source_offset, target_offset"
    return _table.load_function(write, signature)


def _write_forwards(asm: Assembler, size: int) -> None:
    """A row of at least one vector, from `r12` to `r13`."""
    length, offset, last = R14, RAX, R15
    asm.load_register(length, _on_stack(_LENGTH))
    asm.multiply_number(length, size)
    asm.copy_register(last, length)
    asm.add_number(last, -32)
    asm.zero(offset)
    asm.jump("enter")
    asm.label("vector")
    asm.move(0, Address(R12, offset))
    asm.store(Address(R13, offset), 0)
    asm.add_number(offset, 32)
    asm.label("enter")
    asm.compare_numbers(offset, last)
    asm.jump("vector", "less")
    asm.move(0, Address(R12, last))
    asm.store(Address(R13, last), 0)


def _load_turn(asm: Assembler, size: int) -> None:
    """The numbers of the bytes of 16 whose elements of less than four bytes are turned round within each eight."""
    sources = [8 * (i // 8) + (7 - i % 8) // size * size + i % size for i in range(16)]
    asm.add_number(RSP, -32)
    for i in range(0, 32, 4):
        asm.load_number(RAX, int.from_bytes(sources[i % 16 : i % 16 + 4], "little"))
        asm.store_part(_on_stack(i), RAX, 4)
    asm.move(_TURN, _on_stack(0))
    asm.add_number(RSP, 32)


def _write_backwards(asm: Assembler, size: int) -> None:
    """The same, whose first element is the last in memory where it is read from."""
    length, offset, last, there = R14, RAX, R15, RSI
    asm.push(there)
    asm.load_register(length, _on_stack(_LENGTH + 8))
    asm.multiply_number(length, size)
    asm.copy_register(last, length)
    asm.add_number(last, -32)
    asm.zero(offset)
    asm.copy_register(there, R12)
    asm.jump("enter")

    def vector(at: int) -> None:
        asm.move(0, Address(there, None, size - 32))
        if size != 4:
            asm.pairs(0, 0, 0x1B)
            if size < 4:
                asm.shuffle_bytes(0, 0, _TURN)
        else:
            asm.swap_halves(0, 0)
            asm.shuffle(0, 0, 0x1B)
        asm.store(Address(R13, at), 0)

    asm.label("vector")
    vector(offset)
    asm.add_number(offset, 32)
    asm.add_number(there, -32)
    asm.label("enter")
    asm.compare_numbers(offset, last)
    asm.jump("vector", "less")
    asm.copy_register(there, R12)
    asm.copy_register(offset, last)
    asm.negate(offset)
    asm.add(there, offset)
    vector(last)
    asm.pop(there)


def _write_singles(asm: Assembler, size: int) -> None:
    """Elements that lie anyhow."""
    left, source, target, value = R14, RAX, R15, RSI
    asm.push(value)
    asm.load_register(left, _on_stack(_LENGTH + 8))
    asm.copy_register(source, R12)
    asm.copy_register(target, R13)
    for several in (_UNROLLED, 1):
        asm.label(f"by {several}")
        asm.add_number(left, -several)
        asm.jump(f"fewer than {several}", "less")
        for _ in range(several):
            asm.load_part(value, Address(source), size)
            asm.store_part(Address(target), value, size)
            asm.add(source, _on_stack(_FROM[3] + 8))
            asm.add(target, _on_stack(_INTO[3] + 8))
        asm.jump(f"by {several}")
        asm.label(f"fewer than {several}")
        asm.add_number(left, several)
    asm.pop(value)


def _write_squares(asm: Assembler) -> None:
    """A matrix from `r10` to `r11`, of at least eight by eight: the third dimension lies side by side in the first, the last in the other."""
    rows_left, columns_left, source, target = R12, R13, R14, R15

    def back(left: int, label: str, *moves: tuple[int, int | Address]) -> None:
        """Where fewer than eight are left, but some, go back so that there are eight: each pointer by as many times a step."""
        asm.compare_number(left, SQUARE)
        asm.jump(label, "not less")
        for pointer, step in moves:
            asm.copy_register(RAX, left)
            asm.add_number(RAX, -SQUARE)
            if isinstance(step, Address):
                asm.multiply(RAX, step)
            else:
                asm.multiply_number(RAX, step)
            asm.add(pointer, RAX)
        asm.load_number(left, SQUARE)
        asm.label(label)

    asm.copy_register(rows_left, RCX)
    asm.push(R10)
    asm.push(R11)
    shift = 16  # what was pushed
    asm.label("eight rows")
    back(rows_left, "whole rows", (R10, 4), (R11, _on_stack(_INTO[2] + shift)))
    asm.load_register(columns_left, _on_stack(_LENGTH + shift))
    asm.copy_register(source, R10)
    asm.copy_register(target, R11)
    asm.label("square")
    back(columns_left, "whole square", (source, _on_stack(_FROM[3] + shift)), (target, 4))
    asm.copy_register(RAX, source)
    for i in range(SQUARE):
        asm.move(i, Address(RAX))
        asm.add(RAX, _on_stack(_FROM[3] + shift))
    asm.copy_register(source, RAX)
    _transpose(asm)
    asm.copy_register(RAX, target)
    for i in range(SQUARE):
        asm.store(Address(RAX), 8 + i)
        asm.add(RAX, _on_stack(_INTO[2] + shift))
    asm.add_number(target, 4 * SQUARE)
    asm.add_number(columns_left, -SQUARE)
    asm.jump("square", "not zero")
    asm.add_number(R10, 4 * SQUARE)
    asm.load_register(RAX, _on_stack(_INTO[2] + shift))
    asm.multiply_number(RAX, SQUARE)
    asm.add(R11, RAX)
    asm.add_number(rows_left, -SQUARE)
    asm.jump("eight rows", "not zero")
    asm.pop(R11)
    asm.pop(R10)


def _transpose(asm: Assembler) -> None:
    """The first eight registers as the rows of a matrix; the other eight become its columns."""
    for i in range(4):
        asm.binary("vunpcklps", 8 + 2 * i, 2 * i, 2 * i + 1)
        asm.binary("vunpckhps", 9 + 2 * i, 2 * i, 2 * i + 1)
    for half in (0, 4):  # rows 0 to 3, then 4 to 7: columns in pairs of one half each
        low = 8 + half
        asm.pick(half, low, low + 2, 0x44)
        asm.pick(half + 1, low, low + 2, 0xEE)
        asm.pick(half + 2, low + 1, low + 3, 0x44)
        asm.pick(half + 3, low + 1, low + 3, 0xEE)
    for i in range(4):
        asm.halves(8 + i, i, 4 + i, 0x20)
        asm.halves(12 + i, i, 4 + i, 0x31)
