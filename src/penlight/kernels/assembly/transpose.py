"""Transposed copies of matrices of four-byte elements, in squares of eight by eight; called by kernels/copies/.

For these NumPy copies one element at a time, and reads a cache line for each.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .. import executable
from ..compiler.asm import R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBX, RCX, RDI, RDX, RSI, RSP, Address, Assembler
from . import tables

SQUARE = 8  # elements per vector
_FIRST = tables.SEVENTH
# Arguments: the range of the first dimension, the sizes of the next two, the two arrays, and those on the stack.
_LENGTH, _FROM, _INTO = _FIRST, [_FIRST + 8 * (1 + i) for i in range(4)], [_FIRST + 8 * (5 + i) for i in range(4)]
_FROM_OFFSET, _INTO_OFFSET = _FIRST + 8 * 9, _FIRST + 8 * 10


def _on_stack(offset: int) -> Address:
    return Address(RSP, None, offset)


@lru_cache(None)
def kernel() -> Any:
    """A kernel over the first of four dimensions; offsets and strides in both arrays are in bytes. The source is contiguous along
    the third dimension, the target along the last."""

    def write(asm: Assembler) -> None:
        source, target = R8, R9
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
        _write_squares(asm)
        asm.add(R10, _on_stack(_FROM[1]))
        asm.add(R11, _on_stack(_INTO[1]))
        tables.count(asm, RBX, "second")
        asm.add(source, _on_stack(_FROM[0]))
        asm.add(target, _on_stack(_INTO[0]))
        asm.add_number(RDI, 1)
        asm.compare_numbers(RDI, RSI)
        asm.jump("first", "less")

    steps = ", ".join(f"{array}{i}" for array in ("source", "target") for i in range(4))
    arrays = "source: strided b4, target: strided written b4"
    signature = f"low, high, second, third, {arrays}, length, {steps}, source_offset, target_offset"
    return tables.load_function(write, signature)


def _write_squares(asm: Assembler) -> None:
    """Transpose a matrix of at least eight by eight from `r10`, contiguous along the third dimension, to `r11`, contiguous along the last."""
    rows_left, columns_left, source, target = R12, R13, R14, R15

    def back(left: int, label: str, *moves: tuple[int, int | Address]) -> None:
        """If one to seven elements are left, move each pointer back so that the last eight are done again."""
        asm.compare_number(left, SQUARE)
        asm.jump(label, "not less")
        for pointer, step in moves:
            asm.copy_register(RAX, left)
            asm.add_number(RAX, -SQUARE)
            if isinstance(step, Address):
                asm.multiply(RAX, step)
            else:
                asm.multiply_number(RAX, RAX, step)
            asm.add(pointer, RAX)
        asm.load_number(left, SQUARE)
        asm.label(label)

    asm.copy_register(rows_left, RCX)
    asm.push(R10)
    asm.push(R11)
    shift = 16  # bytes that were pushed
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
    asm.multiply_number(RAX, RAX, SQUARE)
    asm.add(R11, RAX)
    asm.add_number(rows_left, -SQUARE)
    asm.jump("eight rows", "not zero")
    asm.pop(R11)
    asm.pop(R10)


def _transpose(asm: Assembler) -> None:
    """Transpose: the first eight registers hold the rows of a matrix, the other eight receive its columns."""
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
