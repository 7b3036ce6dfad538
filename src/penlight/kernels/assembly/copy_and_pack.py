"""Strided copies of blocks, and packing of weights, for convolutions."""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import Any

from ..compiler.asm import R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDX, RSI, Address, Assembler
from .tables import Table, count, function

# from, into: byte offsets of a box, and their increments after each call;
# planes, layers, rows, columns: its size, and its strides in bytes in both arrays; tail: byte offset of the last vector in a row.
COPY = Table(
    ["from", "into", "from block", "into block", "planes", "layers", "rows", "columns", "tail"]
    + [f"{of} {what}" for of in ("from", "into") for what in ("plane", "layer", "row", "column")],
    masks=[],
)
# rows, row: the start of some rows of weights, and their stride in bytes; offsets, inner: a list of element offsets, and its length; `into`.
PACK = Table(["rows", "row", "offsets", "inner", "into"], masks=[])


@lru_cache(None)
def copy(kind: str, item: int) -> Any:
    """A kernel that copies a box of elements of `item` bytes; `kind` is from `kind_of`."""
    return function(lambda asm: _copy(asm, kind, item == 8))


def kind_of(columns: int, source: int, target: int, item: int) -> str:
    """How to copy rows of `columns` elements of `item` bytes, with these strides in bytes; the names count float32 elements, for float64 too."""
    if source == target == item and item * columns >= 16:
        return "eights" if item * columns >= 32 else "fours"
    return "halves" if source == 2 * item and target == item and item * columns > 32 else "singles"


@lru_cache(None)
def pack(some: int, item: int) -> Any:
    """A kernel that interleaves rows: the first elements of `some` rows, then the second ones, and so on."""
    return function(lambda asm: _pack(asm, some, item == 8))


def _copy(asm: Assembler, kind: str, double: bool) -> None:
    """`r8`, `r10`, `r12`, `rsi` iterate over planes, layers, rows and columns of the source; `r9`, `r11`, `r13`, `rbp` over those
    of the target."""
    at = COPY.at
    asm.load_register(R8, at("from"))
    asm.load_register(R9, at("into"))
    asm.load_register(R15, at("planes"))
    asm.label("plane")
    asm.copy_register(R10, R8)
    asm.copy_register(R11, R9)
    asm.load_register(R14, at("layers"))
    asm.label("layer")
    asm.copy_register(R12, R10)
    asm.copy_register(R13, R11)
    asm.load_register(RDX, at("rows"))
    asm.label("row")
    _copy_row(asm, kind, double)
    for level, source, target, left in (("row", R12, R13, RDX), ("layer", R10, R11, R14), ("plane", R8, R9, R15)):
        asm.add(source, at(f"from {level}"))
        asm.add(target, at(f"into {level}"))
        count(asm, left, level)
    COPY.advance(asm, "from", "from block")
    COPY.advance(asm, "into", "into block")


def _copy_row(asm: Assembler, kind: str, double: bool) -> None:
    """Copy the row at `r12` to `r13`."""
    at = COPY.at
    if kind == "fours":  # two vectors of four that may overlap
        asm.load_register(RCX, at("tail"))
        asm.move_half(0, Address(R12))
        asm.move_half(1, Address(R12, RCX))
        asm.store_half(Address(R13), 0)
        asm.store_half(Address(R13, RCX), 1)
        return
    if kind == "eights":  # full vectors, and a last one that may overlap
        asm.load_register(RCX, at("tail"))
        asm.zero(RAX)
        asm.label("eight")
        asm.move(0, Address(R12, RAX))
        asm.store(Address(R13, RAX), 0)
        asm.add_number(RAX, 32)
        asm.compare_numbers(RAX, RCX)
        asm.jump("eight", "less")
        asm.move(0, Address(R12, RCX))
        asm.store(Address(R13, RCX), 0)
        return
    asm.copy_register(RSI, R12)
    asm.copy_register(RBP, R13)
    asm.load_register(RCX, at("columns"))
    if kind == "halves":  # every second element: sixteen (or eight) are read, so more than half of them must be left
        each = 4 if double else 8
        asm.label("sixteen")
        asm.move(0, Address(RSI))
        asm.move(1, Address(RSI, None, 32))
        asm.pick(0, 0, 1, 0x44 if double else 0x88)
        asm.pairs(0, 0, 0xD8)
        asm.store(Address(RBP), 0)
        asm.add_number(RSI, 64)
        asm.add_number(RBP, 32)
        asm.add_number(RCX, -each)
        asm.compare_number(RCX, each + 1)
        asm.jump("sixteen", "not less")
    asm.load_register(RAX, at("from column"))
    asm.load_register(RBX, at("into column"))
    asm.label("single")
    asm.load_one(0, Address(RSI), double)
    asm.store_one(Address(RBP), 0, double)
    asm.add(RSI, RAX)
    asm.add(RBP, RBX)
    count(asm, RCX, "single")


def _pack(asm: Assembler, some: int, double: bool) -> None:
    """`rax` iterates over the offsets, `rbp` over the target."""
    item = 8 if double else 4
    rows = (R8, R9, R10, R11, R12, R13)[:some]
    asm.load_register(R8, PACK.at("rows"))
    for before, after in pairwise(rows):
        asm.copy_register(after, before)
        asm.add(after, PACK.at("row"))
    for register, name in ((RAX, "offsets"), (RDX, "inner"), (RBP, "into")):
        asm.load_register(register, PACK.at(name))
    asm.label("number")
    asm.load_register(RCX, Address(RAX))
    for i, row in enumerate(rows):
        asm.load_one(i, Address(row, RCX), double)
    for i in range(some):
        asm.store_one(Address(RBP, None, item * i), i, double)
    asm.add_number(RAX, 8)
    asm.add_number(RBP, item * some)
    count(asm, RDX, "number")
