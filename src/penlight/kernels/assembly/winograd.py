"""Correlation with kernels of 3 x 3 by Winograd's minimal filtering, and its transpose in the weights.

The mathematics is in Note [Winograd's products] of kernels/conv/winograd.py, which calls this. Here a block of images, or a part of one, goes
through all steps while it is in the cache, in one call:

- `_mix_planes`: each plane is copied to a scratch plane with a border of zeros, even and odd columns apart, so that the elements of eight
  neighbouring tiles are contiguous; from there it is transformed ("mixed") to sixteen elements per tile. Rows of tiles follow each
  other: eight elements are written even if fewer tiles are left, and the next row overwrites the excess.
- `_multiply`: sixteen matrix products over the channels.
- `_gather`: the output transform, the transpose of mixing, into a scratch plane whose rows are then copied to the result.

The sizes are in a table of integers (`TABLE`), since there are more of them than registers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from itertools import pairwise
from typing import Any

from ..compiler.asm import R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDI, RDX, RSI, Address, Assembler
from .products import G_ROWS, X_ROWS, add_totals, clear, dot_step, in_groups, panel_product
from .tables import Table, count, function, multiples

_SOURCE = (
    "plane",
    "others",
    "line",
    "whole",
    "first",
    "first odd",
    "pitch",
    "scratch",
    "back",
    "planes",
    "into",
    "apart",
)
# The parameters of one block form a record, which is copied to the table's beginning. For the input `x` and the gradient `g`:
#   source, rows: the address of the first row to copy, and the number of rows;
#   even, odd: the addresses of its columns in the scratch plane.
# Then the numbers of images and rows of tiles, and of panels of sixteen columns for `_multiply`; in the tiles of a channel, the images' stride
# `image` and the total `length`, in bytes; the address of the result `y` and its number of rows.
RECORD = ("x source", "x rows", "x even", "x odd", "g source", "g rows", "g even", "g odd",
          "images", "tile rows", "panels", "image", "length", "y", "y rows")  # fmt: skip
# The table. For the input and the gradient, with strides in bytes:
#   plane, others, line: strides of planes and rows, and the bytes of other channels to skip between images;
#   whole: the number of full groups of sixteen columns;
#   first, first odd, pitch, scratch: the scratch plane's addresses, its row stride, its size in vectors;
#   back: bytes from the end of a row of tiles to the beginning of the next;
#   planes, into, apart: the number of channels, the address of the transformed elements, and the stride of the sixteen.
# In common: `eights` vectors for a row of tiles, `skip` bytes from their end to the next row's beginning, `row` the stride of channels.
# Products: rows and inner dimension, the first factor and its strides. Sums of products: groups of channels of the
# input and of the gradient. The result: `tail` is the byte offset of its last eight columns. Then variables.
TABLE = Table(
    [*RECORD, "blocks", "record", *[f"{of} {what}" for of in "xg" for what in _SOURCE], "eights", "skip", "row"]
    + ["rows", "inner", "weight", "weight row", "weight inner", "weight apart", "products", "products apart"]
    + ["x groups", "g groups", "sums", "sums row", "sums apart"]
    + ["y plane", "y others", "y line", "y whole", "y tail", "y scratch", "y pitch", "bias"]
    + ["image left", "channel left", "source", "into image", "into", "factor", "second", "result", "bias now"]
    + ["panel left", "frequency left", "group left"],
    masks=["x", "x second", "g", "g second", "y"],  # for the tails of rows
)
_at, _mask, _set, _advance, _again = TABLE.at, TABLE.mask, TABLE.set, TABLE.advance, TABLE.again


@lru_cache(1)
def correlate() -> Any:
    """A function of a table's address: correlates `x` with the weights, into `y`."""
    return _function(lambda asm: _mix_planes(asm, "x"), _multiply, _gather)


@lru_cache(1)
def weigh() -> Any:
    """A function of a table's address: adds the products of `g` and `x` to the sums."""
    stages = [partial(stage, of=of) for stage in (_mix_planes, _end_rows) for of in "xg"]
    return _function(*stages, _add_products)


def _function(*stages: Callable[[Assembler], None]) -> Any:
    """Runs all stages, block by block."""

    def write(asm: Assembler) -> None:
        asm.label("block")
        asm.load_register(RBX, _at("record"))
        for i in range(len(RECORD)):
            asm.load_register(RAX, Address(RBX, None, 8 * i))
            asm.store_register(Address(RDI, None, 8 * i), RAX)
        asm.add_number(RBX, 8 * len(RECORD))
        asm.store_register(_at("record"), RBX)
        for stage in stages:
            stage(asm)
        _again(asm, "blocks", "block")

    return function(write)


# Mixing


def _mix_planes(asm: Assembler, of: str) -> None:
    """Copy and transform all planes of all images."""
    asm.load_register(RBX, _at(f"{of} first"))
    asm.load_register(RCX, _at(f"{of} scratch"))
    asm.binary("vxorps", 0, 0, 0)
    asm.label(f"{of} clear")
    asm.store(Address(RBX), 0)
    asm.add_number(RBX, 32)
    count(asm, RCX, f"{of} clear")
    _set(asm, "image left", "images")
    _set(asm, "source", f"{of} source")
    _set(asm, "into image", f"{of} into")
    asm.label(f"{of} image")
    _set(asm, "channel left", f"{of} planes")
    _set(asm, "into", "into image")
    asm.label(f"{of} plane")
    _copy_plane(asm, of)
    _mix_plane(asm, of)
    _advance(asm, "source", f"{of} plane")
    _advance(asm, "into", "row")
    _again(asm, "channel left", f"{of} plane")
    _advance(asm, "source", f"{of} others")
    _advance(asm, "into image", "image")
    _again(asm, "image left", f"{of} image")


def _copy_plane(asm: Assembler, of: str) -> None:
    """`r8` iterates over the rows of the source, `r9` and `r10` over those of the scratch plane; `rbx`, `rsi`, `rbp` over columns."""
    for register, name in ((R8, "source"), (R9, f"{of} even"), (R10, f"{of} odd"), (RCX, f"{of} rows")):
        asm.load_register(register, _at(name))
    asm.load_register(R11, _at(f"{of} line"))
    asm.load_register(R12, _at(f"{of} pitch"))
    asm.move(14, _mask(of))
    asm.move(15, _mask(f"{of} second"))
    asm.compare_number(RCX, 1)
    asm.jump(f"{of} copied", "less")
    asm.label(f"{of} line")
    asm.copy_register(RBX, R8)
    asm.copy_register(RSI, R9)
    asm.copy_register(RBP, R10)
    asm.load_register(RDX, _at(f"{of} whole"))
    asm.compare_number(RDX, 1)
    asm.jump(f"{of} rest", "less")
    asm.label(f"{of} sixteen")
    asm.move(0, Address(RBX))
    asm.move(1, Address(RBX, None, 32))
    _part(asm)
    for register, step in ((RBX, 64), (RSI, 32), (RBP, 32)):
        asm.add_number(register, step)
    count(asm, RDX, f"{of} sixteen")
    asm.label(f"{of} rest")
    asm.load_some(0, 14, Address(RBX))
    asm.load_some(1, 15, Address(RBX, None, 32))
    _part(asm)
    asm.add(R8, R11)
    asm.add(R9, R12)
    asm.add(R10, R12)
    count(asm, RCX, f"{of} line")
    asm.label(f"{of} copied")


def _part(asm: Assembler) -> None:
    """Split sixteen elements in registers 0 and 1: even ones to `rsi`, odd ones to `rbp`."""
    for target, order, register in ((2, 0x88, RSI), (3, 0xDD, RBP)):
        asm.pick(target, 0, 1, order)
        asm.pairs(target, target, 0xD8)
        asm.store(Address(register), target)


def _end_rows(asm: Assembler, of: str) -> None:
    """Write zeros after the last tile of each channel, so that sums can run over full vectors."""
    asm.load_register(RBX, _at(f"{of} into"))
    asm.load_register(RDX, _at("length"))
    asm.load_register(R8, _at(f"{of} apart"))
    asm.load_register(R9, _at("row"))
    asm.load_register(R10, _at(f"{of} planes"))
    asm.binary("vxorps", 0, 0, 0)
    asm.load_number(RCX, 16)
    asm.label(f"{of} end")
    asm.copy_register(RSI, RBX)
    asm.copy_register(RAX, R10)
    asm.label(f"{of} end row")
    asm.store(Address(RSI, RDX), 0)
    asm.add(RSI, R9)
    count(asm, RAX, f"{of} end row")
    asm.add(RBX, R8)
    count(asm, RCX, f"{of} end")


# `r8` and `r9` iterate over the even and odd columns of a scratch plane, whose next rows are at `r10`, `r11`, `r12` bytes from
# there. The sixteen elements of a tile are four times four, which go to these addresses, and to `r14`, `r15`, `rax` bytes from
# there.
_QUARTERS = (RBX, RBP, RSI, R13)
_WITHIN = (None, R14, R15, RAX)
_BELOW = (None, R10, R11, R12)


def _mix_plane(asm: Assembler, of: str) -> None:
    for register, name in ((R8, "first"), (R9, "first odd"), (R10, "pitch")):
        asm.load_register(register, _at(f"{of} {name}"))
    multiples(asm, R10, R11, R12)
    asm.load_register(R14, _at(f"{of} apart"))
    multiples(asm, R14, R15, RAX)
    _quarter_pointers(asm, "into", R14)
    asm.load_register(RDX, _at("tile rows"))
    asm.label(f"{of} tile row")
    asm.load_register(RCX, _at("eights"))
    asm.label(f"{of} eight")
    (_mix_input if of == "x" else _mix_gradient)(asm)
    for register in (R8, R9, *_QUARTERS):
        asm.add_number(register, 32)
    count(asm, RCX, f"{of} eight")
    for register in (R8, R9):
        asm.add(register, _at(f"{of} back"))
    for register in _QUARTERS:
        asm.add(register, _at("skip"))
    count(asm, RDX, f"{of} tile row")


def _quarter_pointers(asm: Assembler, start: str, apart: int) -> None:
    """Set _QUARTERS from a table entry: consecutive pointers differ by four times `apart`."""
    asm.load_register(_QUARTERS[0], _at(start))
    for before, after in pairwise(_QUARTERS):
        asm.copy_register(after, apart)
        asm.shift_left(after, 2)
        asm.add(after, before)


def _mix_input(asm: Assembler) -> None:
    """d0 - d2, d1 + d2, d2 - d1, d1 - d3 of the rows, then the same of the columns."""
    for quarter, (operation, a, b) in enumerate(
        (("vsubps", 0, 2), ("vaddps", 1, 2), ("vsubps", 2, 1), ("vsubps", 1, 3))
    ):
        for register, (base, shift) in enumerate(((R8, 0), (R9, 0), (R8, 4), (R9, 4))):
            asm.move(register, Address(base, _BELOW[a], shift))
            asm.binary(operation, register, register, Address(base, _BELOW[b], shift))
        asm.binary("vsubps", 4, 0, 2)
        asm.binary("vaddps", 5, 1, 2)
        asm.binary("vsubps", 6, 2, 1)
        asm.binary("vsubps", 7, 1, 3)
        for i, step in enumerate(_WITHIN):
            asm.store(Address(_QUARTERS[quarter], step), 4 + i)


def _mix_gradient(asm: Assembler) -> None:
    """e0, e0 + e1, e0 - e1, e1 of the rows, then the same of the columns; the sign of the last is applied later."""
    for i, base in enumerate((R8, R9)):
        asm.move(8 + i, Address(base))
        asm.move(10 + i, Address(base, R10))
    for quarter, operation in enumerate(("", "vaddps", "vsubps", "")):
        left, right = (8, 9) if quarter == 0 else (10, 11) if quarter == 3 else (0, 1)
        if operation:
            asm.binary(operation, 0, 8, 10)
            asm.binary(operation, 1, 9, 11)
        asm.binary("vaddps", 2, left, right)
        asm.binary("vsubps", 3, left, right)
        for step, register in zip(_WITHIN, (left, 2, 3, right)):
            asm.store(Address(_QUARTERS[quarter], step), register)


# Products


def _multiply(asm: Assembler) -> None:
    """The sixteen products: `rsi` is a panel of sixteen columns, `rax` iterates over its rows; `r15` over the weights, `rbp` over
    the result's rows."""
    _set(asm, "factor", "weight")
    _set(asm, "second", "x into")
    _set(asm, "result", "products")
    asm.load_register(R10, _at("weight row"))
    multiples(asm, R10, R11, R12)
    for before, after in ((R12, R13), (R13, R14)):
        asm.copy_register(after, before)
        asm.add(after, R10)
    asm.load_register(RBX, _at("row"))
    asm.load_register(R9, _at("weight inner"))
    asm.load_number(RCX, 16)
    asm.store_register(_at("frequency left"), RCX)
    asm.label("frequency")
    asm.load_register(RSI, _at("second"))
    asm.load_register(RDX, _at("result"))
    _set(asm, "panel left", "panels")
    asm.label("panel")
    asm.load_register(R15, _at("factor"))
    asm.load_register(R8, _at("rows"))
    asm.copy_register(RBP, RDX)
    in_groups(asm, R8, lambda some: _rows(asm, some))
    asm.add_number(RSI, 64)
    asm.add_number(RDX, 64)
    _again(asm, "panel left", "panel")
    _advance(asm, "factor", "weight apart")
    _advance(asm, "second", "x apart")
    _advance(asm, "result", "products apart")
    _again(asm, "frequency left", "frequency")


def _rows(asm: Assembler, some: int) -> None:
    """Multiply a panel with the next rows of the weights."""
    asm.copy_register(RAX, RSI)
    asm.load_register(RCX, _at("inner"))
    asm.push(R15)

    def advance() -> None:
        asm.add(R15, R9)
        asm.add(RAX, RBX)

    panel_product(asm, some, RCX, advance)
    asm.pop(R15)
    for _ in range(some):
        asm.add(R15, R10)
    asm.add_number(R8, -some)


# The result


def _gather(asm: Assembler) -> None:
    """Transform the sixteen products of each tile to its four results, plane by plane."""
    _set(asm, "image left", "images")
    _set(asm, "source", "y")
    _set(asm, "into image", "products")
    asm.label("y image")
    _set(asm, "channel left", "rows")
    _set(asm, "into", "into image")
    _set(asm, "bias now", "bias")
    asm.label("y plane")
    asm.load_register(R14, _at("products apart"))
    multiples(asm, R14, R15, RAX)
    _quarter_pointers(asm, "into", R14)
    asm.load_register(R10, _at("bias now"))
    asm.broadcast(15, Address(R10))
    asm.load_register(R8, _at("y scratch"))
    asm.load_register(R12, _at("y pitch"))
    asm.load_register(RDX, _at("tile rows"))
    asm.label("y tile row")
    asm.load_register(RCX, _at("eights"))
    asm.copy_register(R9, R8)
    asm.copy_register(R10, R8)
    asm.add(R10, R12)
    asm.label("y eight")
    _unmix(asm)
    for register, step in ((R9, 64), (R10, 64), *((quarter, 32) for quarter in _QUARTERS)):
        asm.add_number(register, step)
    count(asm, RCX, "y eight")
    asm.add(R8, R12)
    asm.add(R8, R12)
    for register in _QUARTERS:
        asm.add(register, _at("skip"))
    count(asm, RDX, "y tile row")
    _copy_result(asm)
    _advance(asm, "source", "y plane")
    _advance(asm, "into", "row")
    asm.load_number(RAX, 4)
    asm.add_to_memory(_at("bias now"), RAX)
    _again(asm, "channel left", "y plane")
    _advance(asm, "source", "y others")
    _advance(asm, "into image", "image")
    _again(asm, "image left", "y image")


def _unmix(asm: Assembler) -> None:
    """m0 + m1 + m2 and m1 - m2 - m3 of the rows, then the same of the columns; then interleave the columns."""
    for i, step in enumerate(_WITHIN):
        upper, lower = i, 4 + i
        asm.move(8, Address(_QUARTERS[1], step))
        asm.move(9, Address(_QUARTERS[2], step))
        asm.binary("vaddps", upper, 8, 9)
        asm.binary("vsubps", lower, 8, 9)
        asm.binary("vaddps", upper, upper, Address(_QUARTERS[0], step))
        asm.binary("vsubps", lower, lower, Address(_QUARTERS[3], step))
    for first, target in ((0, R9), (4, R10)):
        asm.binary("vaddps", 8, first + 1, first + 2)
        asm.binary("vsubps", 9, first + 1, first + 2)
        asm.binary("vaddps", 8, 8, first)
        asm.binary("vsubps", 9, 9, first + 3)
        asm.binary("vaddps", 8, 8, 15)
        asm.binary("vaddps", 9, 9, 15)
        asm.binary("vunpcklps", 10, 8, 9)
        asm.binary("vunpckhps", 11, 8, 9)
        asm.halves(12, 10, 11, 0x20)
        asm.halves(13, 10, 11, 0x31)
        asm.store(Address(target), 12)
        asm.store(Address(target, None, 32), 13)


def _copy_result(asm: Assembler) -> None:
    """Copy the rows of the scratch plane to the result; its last eight columns are written again if they do not fill a vector."""
    for register, name in ((R8, "y scratch"), (R9, "source"), (RCX, "y rows"), (R11, "y line"), (R12, "y pitch")):
        asm.load_register(register, _at(name))
    asm.load_register(R10, _at("y tail"))
    asm.move(15, _mask("y"))
    asm.label("y line")
    asm.copy_register(RBX, R8)
    asm.copy_register(RSI, R9)
    asm.load_register(RDX, _at("y whole"))
    asm.compare_number(RDX, 1)
    asm.jump("y narrow", "less")
    asm.label("y vector")
    asm.move(0, Address(RBX))
    asm.store(Address(RSI), 0)
    asm.add_number(RBX, 32)
    asm.add_number(RSI, 32)
    count(asm, RDX, "y vector")
    asm.move(0, Address(R8, R10))
    asm.store(Address(R9, R10), 0)
    asm.jump("y line end")
    asm.label("y narrow")
    asm.move(0, Address(R8))
    asm.store_some(Address(R9), 15, 0)
    asm.label("y line end")
    asm.add(R8, R12)
    asm.add(R9, R11)
    count(asm, RCX, "y line")


# Sums of products


def _add_products(asm: Assembler) -> None:
    """For each of the sixteen, each row of `g` and each of `x`: add the sum of their products. The rows come in full groups.

    `r8` to `r10` are rows of `g`, `r11` to `r14` of `x`; `rax` is the offset in them. `r15` iterates over the sums, four of which
    are contiguous.
    """
    _set(asm, "factor", "g into")
    _set(asm, "second", "x into")
    _set(asm, "result", "sums")
    asm.load_number(RCX, 16)
    asm.store_register(_at("frequency left"), RCX)
    asm.load_register(RBX, _at("row"))
    asm.load_register(RSI, _at("length"))
    asm.load_register(RBP, _at("sums row"))
    asm.label("sums")
    asm.load_register(R11, _at("second"))
    asm.load_register(RDX, _at("result"))
    _set(asm, "group left", "x groups")
    asm.label("x group")
    for before, after in ((R11, R12), (R12, R13), (R13, R14)):
        asm.copy_register(after, before)
        asm.add(after, RBX)
    asm.load_register(R8, _at("factor"))
    asm.load_register(RCX, _at("g groups"))
    asm.copy_register(R15, RDX)
    asm.label("g group")
    for before, after in ((R8, R9), (R9, R10)):
        asm.copy_register(after, before)
        asm.add(after, RBX)
    _dot(asm)
    asm.copy_register(R8, R10)
    asm.add(R8, RBX)
    count(asm, RCX, "g group")
    asm.copy_register(R11, R14)
    asm.add(R11, RBX)
    asm.add_number(RDX, 4 * X_ROWS)
    _again(asm, "group left", "x group")
    _advance(asm, "factor", "g apart")
    _advance(asm, "second", "x apart")
    _advance(asm, "result", "sums apart")
    _again(asm, "frequency left", "sums")


def _dot(asm: Assembler) -> None:
    clear(asm, G_ROWS * X_ROWS)
    asm.zero(RAX)
    asm.label("dot")
    dot_step(asm, (R8, R9, R10), (R11, R12, R13, R14))
    asm.add_number(RAX, 32)
    asm.compare_numbers(RAX, RSI)
    asm.jump("dot", "less")
    add_totals(asm, R15, RBP)
