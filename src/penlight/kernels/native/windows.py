"""Correlation without columns: the rows of the second matrix are where the windows lie already. kernels/conv_flat.py calls this.

Images are stored as in Note [Flat phases] of kernels/conv_scatter.py: the numbers that a tap of the kernel meets are a part of a plane, shifted by some
elements. So the row of columns for a channel and a tap is an offset, and eight columns of it are another, of which there are lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from ._products import G_ROWS, X_ROWS, add_totals, clear, dot_step, in_groups, outer_products
from ._table import Table, count, function
from ._x86 import R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDX, RSI, Address, Assembler

# images: how many, and `x step`, `g step`, `y step` bytes from one to the next;
# x, offsets, inner, inner step: where the planes begin, the list of offsets of channels and taps in bytes, its length, and how many are done at a time;
# vectors, pairs: a list with four numbers for each two vectors of columns: where they are in the planes, and where in the result; and its length;
# rows, weight: the rows of the weights, and where they begin: in groups as in `in_groups`, and of a group, the numbers for one inner index after the other;
# y, y plane, bias: the result, bytes from one of its planes to the next, a number for each;
# g, g row, length: the gradient, bytes from one of its rows to the next, and how many of them count. For this, `vectors` has one
# number for each vector of columns. g groups, x groups, sums, sums row: groups of rows, and their sums of products.
TABLE = Table(
    [
        "images",
        "x",
        "x step",
        "offsets",
        "inner",
        "inner step",
        "vectors",
        "pairs",
        "rows",
        "weight",
        "y",
        "y step",
        "y plane",
        "bias",
    ]
    + ["g", "g step", "g row", "length", "g groups", "x groups", "sums", "sums row"]
    + ["image left", "pair left", "group left", "left", "offset", "x now", "y now"]
    + ["inner left", "inner now", "weight before", "weight after"],
    masks=[],
)
_at, _set, _advance, _again = TABLE.at, TABLE.set, TABLE.advance, TABLE.again


@lru_cache(1)
def correlate() -> Any:
    """A kernel: the weights with the windows of `x`, and the bias, to `y`."""
    return function(_correlate)


@lru_cache(1)
def weigh() -> Any:
    """A kernel: adds the products of `g` with the windows of `x` to the sums."""
    return function(_add_products)


def _correlate(asm: Assembler) -> None:
    """For two vectors of columns, which begin at `rsi` and `r10`: `rax` goes along the offsets, `r15` along the weights, `r13` along the bias.

    This for all columns and images, then for the next inner indices: what some of these meet of a few columns stays in the first cache.
    The results go to where `r11` and `r12` are, and from there `rbp` bytes further on.
    """
    _set(asm, "inner left", "inner")
    _set(asm, "offset", "offsets")
    asm.zero(RAX)
    asm.store_register(_at("weight before"), RAX)
    asm.load_register(RBX, _at("y plane"))
    asm.label("part")
    _next_part(asm)
    _set(asm, "image left", "images")
    _set(asm, "x now", "x")
    _set(asm, "y now", "y")
    asm.label("image")
    asm.load_register(RDX, _at("vectors"))
    _set(asm, "pair left", "pairs")
    asm.label("pair")
    for i, (pointer, base) in enumerate(((RSI, "x now"), (R10, "x now"), (R11, "y now"), (R12, "y now"))):
        asm.load_register(pointer, Address(RDX, None, 8 * i))
        asm.add(pointer, _at(base))
    asm.zero(RBP)
    asm.load_register(R15, _at("weight"))
    asm.load_register(R13, _at("bias"))
    asm.load_register(R8, _at("rows"))
    in_groups(asm, R8, lambda some: _rows(asm, some))
    asm.add_number(RDX, 32)
    _again(asm, "pair left", "pair")
    _advance(asm, "x now", "x step")
    _advance(asm, "y now", "y step")
    _again(asm, "image left", "image")
    asm.load_register(RAX, _at("inner now"))
    asm.shift_left(RAX, 2)
    asm.add_to_memory(_at("weight before"), RAX)
    asm.shift_left(RAX, 1)
    asm.add_to_memory(_at("offset"), RAX)
    asm.load_register(RAX, _at("inner left"))
    asm.compare_number(RAX, 1)
    asm.jump("part", "not less")


def _next_part(asm: Assembler) -> None:
    """How many inner indices are next, and how many are left after them."""
    asm.load_register(RCX, _at("inner step"))
    asm.load_register(RAX, _at("inner left"))
    asm.compare_numbers(RAX, RCX)
    asm.jump("whole part", "not less")
    asm.copy_register(RCX, RAX)
    asm.label("whole part")
    asm.store_register(_at("inner now"), RCX)
    asm.negate(RCX)
    asm.add(RAX, RCX)
    asm.store_register(_at("inner left"), RAX)
    asm.shift_left(RAX, 2)
    asm.store_register(_at("weight after"), RAX)


def _rows(asm: Assembler, some: int) -> None:
    """Two vectors of columns with the next rows of the weights: added to the bias, or to what is in the result already."""
    for _ in range(some):
        asm.add(R15, _at("weight before"))
    asm.load_register(RCX, _at("weight before"))
    asm.compare_number(RCX, 1)
    asm.jump(f"new {some}", "less")
    asm.copy_register(RCX, RBP)
    for row in range(some):
        asm.move(2 * row, Address(R11, RCX))
        asm.move(2 * row + 1, Address(R12, RCX))
        asm.add(RCX, RBX)
    asm.jump(f"begun {some}")
    asm.label(f"new {some}")
    for row in range(some):
        asm.broadcast(2 * row, Address(R13, None, 4 * row))
        asm.move(2 * row + 1, 2 * row)
    asm.label(f"begun {some}")
    asm.load_register(RAX, _at("offset"))
    asm.load_register(R9, _at("inner now"))

    def term(number: int, left: int, right: int) -> Iterator[int]:
        asm.load_register(RCX, Address(RAX))
        asm.move(left, Address(RSI, RCX))
        asm.move(right, Address(R10, RCX))
        for row in range(some):
            asm.broadcast(number, Address(R15, None, 4 * row))
            yield row
        asm.add_number(R15, 4 * some)
        asm.add_number(RAX, 8)

    outer_products(asm, some, R9, term)
    for row in range(some):
        asm.store(Address(R11, RBP), 2 * row)
        asm.store(Address(R12, RBP), 2 * row + 1)
        asm.add(RBP, RBX)
        asm.add(R15, _at("weight after"))
    asm.add_number(R13, 4 * some)
    asm.add_number(R8, -some)


def _add_products(asm: Assembler) -> None:
    """`r8` to `r10` are rows of `g`, `r11` to `r14` channels and taps of `x`; `rax` counts along them, `rsi` is the length, `rcx` a vector's offset.

    `r15` goes down the sums, `rbp` bytes from one row to the next. `rdx` is a group of `g`, then where the offsets of vectors are.
    """
    _set(asm, "offset", "offsets")
    _set(asm, "group left", "x groups")
    asm.load_register(RSI, _at("length"))
    asm.load_register(RBP, _at("sums row"))
    asm.label("x group")
    asm.load_register(R15, _at("sums"))
    asm.load_register(R8, _at("g"))
    _set(asm, "left", "g groups")
    asm.label("g group")
    asm.push(R8)
    asm.load_register(RBX, _at("g row"))
    for before, after in ((R8, R9), (R9, R10)):
        asm.copy_register(after, before)
        asm.add(after, RBX)
    asm.load_register(RAX, _at("offset"))
    for i, pointer in enumerate((R11, R12, R13, R14)):
        asm.load_register(pointer, Address(RAX, None, 8 * i))
        asm.add(pointer, _at("x"))
    clear(asm, G_ROWS * X_ROWS)
    asm.load_register(RBX, _at("images"))
    asm.label("image")
    asm.load_register(RDX, _at("vectors"))
    asm.zero(RAX)
    asm.label("dot")
    asm.load_register(RCX, Address(RDX))
    dot_step(asm, (R8, R9, R10), (R11, R12, R13, R14), RCX)
    asm.add_number(RDX, 8)
    asm.add_number(RAX, 32)
    asm.compare_numbers(RAX, RSI)
    asm.jump("dot", "less")
    for pointer in (R8, R9, R10):
        asm.add(pointer, _at("g step"))
    for pointer in (R11, R12, R13, R14):
        asm.add(pointer, _at("x step"))
    count(asm, RBX, "image")
    add_totals(asm, R15, RBP)
    asm.pop(R8)
    for _ in range(G_ROWS):
        asm.add(R8, _at("g row"))
    _again(asm, "left", "g group")
    for name, step in (("offset", 8 * X_ROWS), ("sums", 4 * X_ROWS)):
        asm.zero(RAX)
        asm.add_number(RAX, step)
        asm.add_to_memory(_at(name), RAX)
    _again(asm, "group left", "x group")
