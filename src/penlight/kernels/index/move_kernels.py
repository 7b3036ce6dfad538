"""Elements that indices along a dimension point at: read, written or added to, one after the other. Who calls these: kernels/index/moves.py.

Note [Moves by machine code]
NumPy makes flat positions of such indices first, which are as large as the indices, and checks each position. Here the indices are
checked once, eight a few instructions, and the positions are computed as they are needed. Rows are shared between threads where each
writes to a part of its own.
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
from .scatter_kernels import combine

_UNROLLED = 4
_STACKED = 8 * (len(_table.SAVED) + 1)  # where the seventh argument is


def _pointers(asm: Assembler, *registers: int) -> None:
    """From arrays to their data."""
    for register in registers:
        asm.load_register(register, Address(register, None, executable.DATA_OFFSET))


@lru_cache(None)
def inside_kernel() -> Any:
    """The result is negative if one of the indices is, or is not less than the limit."""

    def write(asm: Assembler) -> None:
        count, limit, index, result = RDI, RSI, RDX, RCX
        _pointers(asm, index, result)
        asm.binary("vxorps", 0, 0, 0)
        asm.binary("vxorps", 1, 1, 1)
        asm.add_number(limit, -1)
        asm.store_register(Address(result), limit)
        asm.broadcast_long(2, Address(result))
        asm.zero(RBX)
        asm.label("vectors")
        asm.add_number(count, -8)
        asm.jump("rest", "less")
        for i in range(2):  # a number that is too large is negative when it is subtracted from the largest
            asm.move(3 + i, Address(index, None, 32 * i))
            asm.binary("vpsubq", 5 + i, 2, 3 + i)
            asm.binary("vpor", i, i, 3 + i)
            asm.binary("vpor", i, i, 5 + i)
        asm.add_number(index, 64)
        asm.jump("vectors")
        asm.label("rest")
        asm.add_number(count, 8)
        asm.jump("all", "zero")
        asm.label("one")
        asm.load_register(RAX, Address(index))
        asm.or_register(RBX, RAX)
        asm.negate(RAX)
        asm.add(RAX, limit)
        asm.or_register(RBX, RAX)
        asm.add_number(index, 8)
        _table.count(asm, count, "one")
        asm.label("all")
        asm.binary("vpor", 0, 0, 1)
        asm.add_number(RSP, -32)
        asm.store(Address(RSP), 0)
        for i in range(4):
            asm.load_register(RAX, Address(RSP, None, 8 * i))
            asm.or_register(RBX, RAX)
        asm.add_number(RSP, 32)
        asm.store_register(Address(result), RBX)

    return _table.load_function(write, "count, limit, index: i64[count], result: written i64[1]")


@lru_cache(None)
def along_kernel(act: str, kind: str, size: int, along: bool) -> Any:
    """Rows of elements of an array that indices point at, beside rows of others that lie in order.

    It runs over rows of `count` indices, which the caller has looked at. The indices of a row are `index_stride` bytes behind those of the row before, and point at elements that are `step` bytes apart; `rows` rows
    share a part of the array, and parts are `stride` bytes apart. With `along` the n-th index of a row counts from the n-th element on.
    The `act` is "take" (the others become the elements), "put" (the elements become the others), "add", or "mul", "max", "min" of floats; `kind` is
    "f" or "i" for these.
    """

    def write(asm: Assembler) -> None:
        count, stride, array, index, others, place = R14, RCX, R8, R9, R10, R11
        step, first_index, index_stride, left = RBP, R13, R15, R12
        asm.copy_register(count, RDX)
        asm.load_register(others, Address(RSP, None, _STACKED))
        rows = Address(RSP, None, _STACKED + 8)
        asm.load_register(step, Address(RSP, None, _STACKED + 16))
        asm.load_register(index_stride, Address(RSP, None, _STACKED + 24))
        _pointers(asm, array, index, others)
        asm.copy_register(first_index, RDI)
        asm.multiply(first_index, index_stride)
        asm.add(first_index, index)
        asm.copy_register(RAX, RDI)
        asm.multiply(RAX, count)
        asm.multiply_number(RAX, size)
        asm.add(others, RAX)
        asm.label("row")
        asm.copy_register(RAX, RDI)
        if along:
            asm.load_register(RBX, rows)
            asm.divide(RBX)
        asm.multiply(RAX, stride)
        asm.copy_register(place, array)
        asm.add(place, RAX)
        asm.copy_register(index, first_index)
        asm.copy_register(left, count)
        for several in (_UNROLLED, 1):
            asm.label(f"by {several}")
            asm.add_number(left, -several)
            asm.jump(f"fewer than {several}", "less")
            for i in range(several):
                asm.load_register(RAX, Address(index, None, 8 * i))
                asm.multiply(RAX, step)
                there = Address(place, RAX, i * size * along)
                _write_act(asm, act, kind, size, there, Address(others, None, i * size))
            asm.add_number(index, 8 * several)
            asm.add_number(others, several * size)
            if along:
                asm.add_number(place, several * size)
            asm.jump(f"by {several}")
            asm.label(f"fewer than {several}")
            asm.add_number(left, several)
        asm.add(first_index, index_stride)
        asm.add_number(RDI, 1)
        asm.compare_numbers(RDI, RSI)
        asm.jump("row", "less")

    into_array, into_others = ("", "written ") if act == "take" else ("written ", "")
    signature = (
        f"low, high, count, stride, array: {into_array}b{size}[(high + rows - 1) // rows * stride // {size}], "
        "index: i64[high * count if index_stride else count], "
        f"others: {into_others}b{size}[high * count], rows, step, index_stride"
    )
    return _table.load_function(write, signature)


def _write_act(asm: Assembler, act: str, kind: str, size: int, there: Address, other: Address) -> None:
    if act == "take" or act == "put":
        source, target = (there, other) if act == "take" else (other, there)
        if size == 16:
            asm.move_half(0, source)
            asm.store_half(target, 0)
        else:
            asm.load_part(RDX, source, size)
            asm.store_part(target, RDX, size)
    elif kind == "f":
        asm.load_one(0, other, size == 8)
        asm.load_one(1, there, size == 8)
        combine(asm, act, size == 8)
        asm.store_one(there, 0, size == 8)
    else:
        asm.load_register(RDX, other)
        asm.add_to_memory(there, RDX)


@lru_cache(None)
def swap_kernel() -> Any:
    """Exchange each number in turn with the one at its target. The caller has looked at the targets."""

    def write(asm: Assembler) -> None:
        count, numbers, targets, here = RDI, RSI, RDX, RBX
        _pointers(asm, numbers, targets)
        asm.copy_register(here, numbers)
        asm.label("swap")
        asm.load_register(RAX, Address(targets))
        asm.load_register(RCX, Address(here))
        asm.load_register(R8, Address(numbers, RAX, 0, 8))
        asm.store_register(Address(numbers, RAX, 0, 8), RCX)
        asm.store_register(Address(here), R8)
        asm.add_number(here, 8)
        asm.add_number(targets, 8)
        _table.count(asm, count, "swap")

    return _table.load_function(write, "count, numbers: written i64[count], targets: i64[count]")


@lru_cache(None)
def select_kernel(act: str, size: int) -> Any:
    """What a mask selects, all of whose bytes are 0 or 1; `count` of them are 1.

    The `act` is "elements" (`few` becomes those of the array that are selected), "places" (it becomes their positions, and there is
    no array), "spread" (the selected elements become the `few`), or "fill" (they become the one number in `few`).
    """
    length, end, mask, array, few, place, chosen = RDI, RSI, RDX, RCX, R8, R10, RAX
    unit = 8 if act == "places" else size

    def write(asm: Assembler) -> None:
        _pointers(asm, mask, few)
        if act != "places":
            _pointers(asm, array)
        asm.multiply_number(end, unit)
        asm.add(end, few)
        asm.zero(place)
        if act == "fill":
            asm.load_part(R9, Address(few), size)
        asm.copy_register(RBP, length)
        asm.and_number(RBP, -8)
        asm.label("eight")
        asm.compare_numbers(place, RBP)
        asm.jump("one", "not less")
        asm.load_register(RAX, Address(mask, place))
        asm.compare_number(RAX, 0)
        asm.jump("some", "not zero")
        asm.add_number(place, 8)
        asm.jump("eight")
        asm.label("some")
        for _ in range(8):
            one(asm)
        asm.jump("eight")
        asm.label("one")
        asm.compare_numbers(place, length)
        asm.jump("done", "not less")
        one(asm)
        asm.jump("one")
        asm.label("done")

    def one(asm: Assembler) -> None:
        """Without a jump that depends on the mask, which could not be foreseen; nothing behind the end of `few` is touched."""
        if act != "fill":
            asm.compare_numbers(few, end)
            asm.jump("done", "not less")
        asm.load_part(chosen, Address(mask, place), 1)
        if act == "places":
            asm.store_register(Address(few), place)
        elif act == "elements":
            asm.load_part(RBX, Address(array, place, 0, size), size)
            asm.store_part(Address(few), RBX, size)
        else:
            if act == "spread":
                asm.load_part(R9, Address(few), size)
            asm.load_part(RBX, Address(array, place, 0, size), size)
            asm.copy_if_not_zero(RBX, R9, chosen)
            asm.store_part(Address(array, place, 0, size), RBX, size)
        if act != "fill":
            asm.shift_left(chosen, unit.bit_length() - 1)
            asm.add(few, chosen)
        asm.add_number(place, 1)

    array_word = {"elements": "", "places": "optional "}.get(act, "written ")
    few_word = "written " if act in ("elements", "places") else ""
    signature = (
        f"length, count, mask: bool[length], array: {array_word}b{size}[length], "
        f"few: {few_word}b{unit}[{1 if act == 'fill' else 'count'}]"
    )
    return _table.load_function(write, signature)


@lru_cache(None)
def coordinates_kernel() -> Any:
    """The rows, then the columns, of the bytes of a matrix that are 1; the others are 0, and `count` are not."""
    rows, columns, end, mask, result, row, column, chosen, apart = RDI, RSI, RDX, RCX, R8, R9, R10, RAX, R11

    def write(asm: Assembler) -> None:
        _pointers(asm, mask, result)
        asm.shift_left(end, 3)
        asm.copy_register(apart, end)
        asm.add(end, result)
        asm.zero(row)
        asm.label("row")
        asm.zero(column)
        asm.label("column")
        asm.compare_numbers(result, end)
        asm.jump("done", "not less")
        asm.load_part(chosen, Address(mask, column), 1)
        asm.store_register(Address(result), row)
        asm.store_register(Address(result, apart), column)
        asm.shift_left(chosen, 3)
        asm.add(result, chosen)
        asm.add_number(column, 1)
        asm.compare_numbers(column, columns)
        asm.jump("column", "less")
        asm.add(mask, columns)
        asm.add_number(row, 1)
        asm.compare_numbers(row, rows)
        asm.jump("row", "less")
        asm.label("done")

    signature = "rows, columns, count, mask: bool[rows * columns], result: written i64[2 * count]"
    return _table.load_function(write, signature)
