"""Correlation with implicit im2col: the rows of the second matrix are read from the images. kernels/conv/implicit.py calls this.

The inputs that a kernel element meets along a row of results are contiguous in the images, or in a copy of them. So the row of
columns for a channel and a kernel element is one offset, and a vector of columns in it another. There are lists of both: of eight
columns each or, if rows are short, of four, which are first copied to a panel of sixteen columns. For float64 these counts are
half as large: vectors, half vectors and panels have the same number of bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import Any

from ..compiler.asm import R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDX, RSI, Address, Assembler
from .products import G_ROWS, X_ROWS, add_double_totals, add_totals, clear, in_groups, outer_products
from .tables import Table, count, function

# x, offsets, inner, inner step: the images, the list of byte offsets of channels and kernel elements, its length, and how many are done at a time;
# vectors, pairs: a list of the offsets of each two vectors of columns, first in the images, then in the result, and its length; `chunk` of them at a
# time are accumulated over all inner indices;
# rows, weight: the number of rows of the weights, and their address: in groups as in `in_groups`, and within a group one inner index after the other;
# y, y plane, bias: the result, its planes' stride in bytes, one bias per plane; panel: a buffer of sixteen columns.
# `x block`, `y block`: increments of these addresses after each call.
CORRELATE = Table(
    ["x", "x block", "offsets", "inner", "inner step", "vectors", "pairs", "chunk", "rows", "weight", "y", "y block"]
    + ["y plane", "bias", "panel", "chunk left", "chunk now", "chunk vectors", "pair left", "offset"]
    + ["inner left", "inner now", "weight before", "weight after"],
    masks=[],
)
# g, g row, g rows: the gradient, its rows' stride in bytes, and their number; x, offsets, x groups: as above, in groups of four;
# vectors, length: a list of each vector's offsets in the gradient and in the images; `chunk` of them at a time, in four rows of
# `panel`; sums, sums row: the array that products are added to, and its stride.
WEIGH = Table(
    ["g", "g block", "g row", "g rows", "x", "x block", "offsets", "x groups", "vectors", "length", "sums", "sums row"]
    + ["chunk", "panel", "offset", "sums now", "group left", "g left", "chunk left", "chunk now", "chunk vectors"],
    masks=[],
)


@lru_cache(4)
def correlate(fours: bool, double: bool) -> Any:
    """A kernel that writes the products of the weights with the windows of `x`, plus the bias, to `y`; with `fours`, a vector is
    two groups of four columns."""
    return function(lambda asm: _correlate(asm, fours, double))


@lru_cache(4)
def weigh(fours: bool, double: bool) -> Any:
    """A kernel that adds the products of `g` with the windows of `x` to the sums."""
    return function(lambda asm: _add_products(asm, fours, double))


def _correlate(asm: Assembler, fours: bool, double: bool) -> None:
    """For two vectors of columns, whose offsets are in the list at `rdx`: `rax` iterates over the offsets, `r15` over the
    weights, `r13` over the bias.

    All columns of a chunk are done for some inner indices, then for the next: their inputs for a few columns stay in the L1
    cache. The results go to the offsets in the list, with a row stride of `rbp` bytes.
    """
    at, set, again = CORRELATE.at, CORRELATE.set, CORRELATE.again
    entry = 64 if fours else 32
    asm.load_register(RBX, at("y plane"))
    set(asm, "chunk left", "pairs")
    set(asm, "chunk vectors", "vectors")
    asm.label("chunk")
    _next(asm, "chunk")
    set(asm, "inner left", "inner")
    set(asm, "offset", "offsets")
    asm.zero(RAX)
    asm.store_register(at("weight before"), RAX)
    asm.label("part")
    _next(asm, "inner")
    asm.load_register(RAX, at("inner left"))
    asm.shift_left(RAX, 3 if double else 2)
    asm.store_register(at("weight after"), RAX)
    asm.load_register(RDX, at("chunk vectors"))
    set(asm, "pair left", "chunk now")
    asm.label("pair")
    for i, pointer in enumerate((RSI, R10, R11, R12)[: 4 if fours else 2]):
        asm.load_register(pointer, Address(RDX, None, 8 * i))
        asm.add(pointer, at("x"))
    if fours:
        _fill_panel(asm)
    else:
        for i, pointer in enumerate((R11, R12)):
            asm.load_register(pointer, Address(RDX, None, 16 + 8 * i))
            asm.add(pointer, at("y"))
    asm.zero(RBP)
    asm.load_register(R15, at("weight"))
    asm.load_register(R13, at("bias"))
    asm.load_register(R8, at("rows"))
    in_groups(asm, R8, lambda some: _rows(asm, some, fours, double))
    asm.add_number(RDX, entry)
    again(asm, "pair left", "pair")
    asm.load_register(RAX, at("inner now"))
    asm.shift_left(RAX, 3 if double else 2)
    asm.add_to_memory(at("weight before"), RAX)
    if not double:
        asm.shift_left(RAX, 1)
    asm.add_to_memory(at("offset"), RAX)
    asm.load_register(RAX, at("inner left"))
    asm.compare_number(RAX, 1)
    asm.jump("part", "not less")
    asm.store_register(at("chunk vectors"), RDX)
    asm.load_register(RAX, at("chunk left"))
    asm.compare_number(RAX, 1)
    asm.jump("chunk", "not less")
    CORRELATE.advance(asm, "x", "x block")
    CORRELATE.advance(asm, "y", "y block")


def _fill_panel(asm: Assembler) -> None:
    """Copy sixteen columns, four from each of `rsi`, `r10`, `r11`, `r12`, for the next inner indices."""
    asm.load_register(RAX, CORRELATE.at("offset"))
    asm.load_register(R9, CORRELATE.at("inner now"))
    asm.load_register(R14, CORRELATE.at("panel"))
    asm.label("fill")
    asm.load_register(RCX, Address(RAX))
    for i, pointer in enumerate((RSI, R10, R11, R12)):
        asm.move_half(i, Address(pointer, RCX))
        asm.store_half(Address(R14, None, 16 * i), i)
    asm.add_number(RAX, 8)
    asm.add_number(R14, 64)
    count(asm, R9, "fill")


def _next(asm: Assembler, of: str, table: Table = CORRELATE) -> None:
    """Set how many pairs, vectors or inner indices are next, and how many are left after them."""
    at = table.at
    asm.load_register(RCX, at("inner step" if of == "inner" else of))
    asm.load_register(RAX, at(f"{of} left"))
    asm.compare_numbers(RAX, RCX)
    asm.jump(f"whole {of}", "not less")
    asm.copy_register(RCX, RAX)
    asm.label(f"whole {of}")
    asm.store_register(at(f"{of} now"), RCX)
    asm.negate(RCX)
    asm.add(RAX, RCX)
    asm.store_register(at(f"{of} left"), RAX)


def _results(asm: Assembler, some: int, fours: bool, write: bool) -> None:
    """Read or write two vectors of results for some rows; `rcx` and `r14` are used."""
    y = CORRELATE.at("y")
    if not fours:
        asm.copy_register(RCX, RBP)
        for row in range(some):
            for side, pointer in enumerate((R11, R12)):
                address, register = Address(pointer, RCX), 2 * row + side
                if write:
                    asm.store(address, register)
                else:
                    asm.move(register, address)
            asm.add(RCX, RBX)
        return
    for quarter in range(4):
        asm.load_register(R14, Address(RDX, None, 32 + 8 * quarter))
        asm.add(R14, y)
        asm.copy_register(RCX, RBP)
        for row in range(some):
            address, register = Address(R14, RCX), 2 * row + quarter // 2
            if write:
                (asm.store_upper if quarter % 2 else asm.store_half)(address, register)
            elif quarter % 2:
                asm.join(register, register, address)
            else:
                asm.move_half(register, address)
            asm.add(RCX, RBX)


def _rows(asm: Assembler, some: int, fours: bool, double: bool) -> None:
    """Multiply two vectors of columns with the next rows of the weights, and add to the bias, or to the current result."""
    at, item = CORRELATE.at, 8 if double else 4
    broadcast = asm.broadcast_long if double else asm.broadcast
    for _ in range(some):
        asm.add(R15, at("weight before"))
    asm.load_register(RCX, at("weight before"))
    asm.compare_number(RCX, 1)
    asm.jump(f"new {some}", "less")
    _results(asm, some, fours, False)
    asm.jump(f"begun {some}")
    asm.label(f"new {some}")
    for row in range(some):
        broadcast(2 * row, Address(R13, None, item * row))
        asm.move(2 * row + 1, 2 * row)
    asm.label(f"begun {some}")
    asm.load_register(RAX, at("panel" if fours else "offset"))
    asm.load_register(R9, at("inner now"))

    def term(number: int, left: int, right: int) -> Iterator[int]:
        if fours:
            asm.move(left, Address(RAX))
            asm.move(right, Address(RAX, None, 32))
        else:
            asm.load_register(RCX, Address(RAX))
            asm.move(left, Address(RSI, RCX))
            asm.move(right, Address(R10, RCX))
        for row in range(some):
            broadcast(number, Address(R15, None, item * row))
            yield row
        asm.add_number(R15, item * some)
        asm.add_number(RAX, 64 if fours else 8)

    outer_products(asm, some, R9, term, double)
    _results(asm, some, fours, True)
    for _ in range(some):
        asm.add(RBP, RBX)
        asm.add(R15, at("weight after"))
    asm.add_number(R13, item * some)
    asm.add_number(R8, -some)


def _add_products(asm: Assembler, fours: bool, double: bool) -> None:
    """`r8` to `r10` are rows of `g`; four rows of channels and kernel elements of `x` are copied to the panel, over which `rcx` iterates.

    `r15` iterates over the rows of the sums, with a stride of `rbp` bytes.
    """
    at, set = WEIGH.at, WEIGH.set
    asm.load_register(RBP, at("sums row"))
    set(asm, "chunk left", "length")
    set(asm, "chunk vectors", "vectors")
    asm.label("chunk")
    _next(asm, "chunk", WEIGH)
    set(asm, "offset", "offsets")
    set(asm, "sums now", "sums")
    set(asm, "group left", "x groups")
    asm.label("x group")
    _fill_rows(asm, fours)
    asm.load_register(R15, at("sums now"))
    asm.load_register(R8, at("g"))
    set(asm, "g left", "g rows")
    asm.label("g group")
    asm.load_register(RAX, at("g left"))
    for some in range(G_ROWS, 0, -1):
        asm.compare_number(RAX, some)
        asm.jump(f"fewer than {some}", "less")
        asm.add_number(RAX, -some)
        asm.store_register(at("g left"), RAX)
        _dots(asm, some, 24 if fours else 16, double)
        asm.jump("g group")
        asm.label(f"fewer than {some}")
    for name, step in (("offset", 8 * X_ROWS), ("sums now", (8 if double else 4) * X_ROWS)):
        asm.load_number(RAX, step)
        asm.add_to_memory(at(name), RAX)
    WEIGH.again(asm, "group left", "x group")
    asm.load_register(RAX, at("chunk now"))
    asm.multiply_number(RAX, RAX, 24 if fours else 16)
    asm.add_to_memory(at("chunk vectors"), RAX)
    asm.load_register(RAX, at("chunk left"))
    asm.compare_number(RAX, 1)
    asm.jump("chunk", "not less")
    WEIGH.advance(asm, "g", "g block")
    WEIGH.advance(asm, "x", "x block")


def _fill_rows(asm: Assembler, fours: bool) -> None:
    """Copy vectors of four channels and kernel elements of `x`, at `r11` to `r14`, to the panel."""
    at = WEIGH.at
    rows = (R11, R12, R13, R14)
    asm.load_register(RAX, at("offset"))
    for i, pointer in enumerate(rows):
        asm.load_register(pointer, Address(RAX, None, 8 * i))
        asm.add(pointer, at("x"))
    asm.load_register(RAX, at("panel"))
    asm.load_register(RDX, at("chunk vectors"))
    asm.load_register(RBX, at("chunk now"))
    asm.label("fill")
    asm.load_register(RCX, Address(RDX, None, 8))
    if fours:
        asm.load_register(RSI, Address(RDX, None, 16))
    for i, pointer in enumerate(rows):
        if fours:
            asm.move_half(0, Address(pointer, RCX))
            asm.move_half(1, Address(pointer, RSI))
            asm.store_half(Address(RAX, None, 32 * i), 0)
            asm.store_half(Address(RAX, None, 32 * i + 16), 1)
        else:
            asm.move(0, Address(pointer, RCX))
            asm.store(Address(RAX, None, 32 * i), 0)
    asm.add_number(RDX, 24 if fours else 16)
    asm.add_number(RAX, 32 * X_ROWS)
    count(asm, RBX, "fill")


def _dots(asm: Assembler, some: int, entry: int, double: bool) -> None:
    """The sums of products of some rows of `g` with the panel; `rdx` iterates over the list of vectors, whose entries have `entry` bytes."""
    at = WEIGH.at
    rows = (R8, R9, R10)[:some]
    for before, after in pairwise(rows):
        asm.copy_register(after, before)
        asm.add(after, at("g row"))
    clear(asm, some * X_ROWS)
    asm.load_register(RDX, at("chunk vectors"))
    asm.load_register(RBX, at("chunk now"))
    asm.load_register(RCX, at("panel"))
    asm.label(f"dot {some}")
    asm.load_register(RAX, Address(RDX))
    for i, pointer in enumerate(rows):
        asm.move(12 + i, Address(pointer, RAX))
    for j in range(X_ROWS):
        asm.move(15, Address(RCX, None, 32 * j))
        for i in range(some):
            asm.binary("vfmadd231pd" if double else "vfmadd231ps", X_ROWS * i + j, 12 + i, 15)
    asm.add_number(RDX, entry)
    asm.add_number(RCX, 32 * X_ROWS)
    count(asm, RBX, f"dot {some}")
    (add_double_totals if double else add_totals)(asm, R15, RBP, some)
    for _ in rows:
        asm.add(R8, at("g row"))
