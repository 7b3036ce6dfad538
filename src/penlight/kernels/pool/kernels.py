"""The largest element of each window and its place, and the transpose. The same in NumPy: kernels/pool/, kernels/pool/windows.py."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..native._table import Table, count, function_over
from ..native._x86 import R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDX, RSI, Address, Assembler

# x, x plane: where the planes begin, and bytes from one to the next; y, y plane: the same of the values (of places: twice as many bytes);
# vectors, eights: a list with two numbers for each vector of eight windows: where the first begins, in bytes, and in bytes of values, where results go;
# taps, tap count: a list with two numbers for each tap: its offset in bytes, and its code;
# base, start: for each window, in 32 bits, the place of its first tap, and the code of its first tap inside.
LARGEST = Table(
    ["x", "x plane", "y", "y plane", "places", "vectors", "eights", "taps", "tap count", "base", "start"], masks=[]
)
# result, result plane, vectors, tail: where the planes begin, bytes from one to the next, in vectors, and to the last eight elements;
# size: elements of a plane; grad, grad plane, places, each: gradients, bytes of a plane, their places, how many in a plane.
# wrong: set to 1 if a place is outside.
PLACED = Table(
    ["result", "result plane", "vectors", "tail", "size", "grad", "grad plane", "places", "each", "wrong"], masks=[]
)


@lru_cache(2)
def largest(stride: int) -> Any:
    """A kernel over planes, where windows are 1 or 2 elements apart along the last dimension. See `max_pool` for NaN and equal elements."""
    return function_over(lambda asm: _largest(asm, stride))


def _largest(asm: Assembler, stride: int) -> None:
    """`r8`, `r9`, `r10` are a plane, its values and places; `r13` goes along the vectors, `r15` along the taps."""
    at = LARGEST.at
    for pointer, base, plane in ((R8, "x", "x plane"), (R9, "y", "y plane"), (R10, "places", "y plane")):
        asm.load_register(pointer, at(plane))
        asm.multiply(pointer, RBX)
        if base == "places":
            asm.shift_left(pointer, 1)
        asm.add(pointer, at(base))
    asm.load_register(R11, at("base"))
    asm.load_register(R12, at("start"))
    asm.label("plane")
    asm.load_register(R13, at("vectors"))
    asm.load_register(R14, at("eights"))
    asm.label("eight")
    asm.load_register(RSI, Address(R13))
    asm.add(RSI, R8)
    asm.load_register(RCX, Address(R13, None, 8))
    asm.load_register(R15, at("taps"))
    asm.load_register(RDX, at("tap count"))
    asm.load_register(RAX, Address(R15))
    _load(asm, 0, stride)
    asm.move(1, Address(R12, RCX))
    asm.add_number(RDX, -1)
    asm.compare_number(RDX, 1)
    asm.jump("found", "less")
    asm.label("tap")
    asm.add_number(R15, 16)
    asm.load_register(RAX, Address(R15))
    _load(asm, 2, stride)
    asm.broadcast(3, Address(R15, None, 8))
    asm.compare("greater", 4, 2, 0)
    asm.compare("unordered", 5, 2, 2)
    asm.binary("vorps", 4, 4, 5)
    asm.blend(0, 0, 2, 4)
    asm.blend(1, 1, 3, 4)
    count(asm, RDX, "tap")
    asm.label("found")
    asm.store(Address(R9, RCX), 0)
    asm.binary("vpaddd", 1, 1, Address(R11, RCX))
    asm.swap_halves(2, 1)
    asm.widen(1, 1)
    asm.widen(2, 2)
    asm.add(RCX, RCX)
    asm.store(Address(R10, RCX), 1)
    asm.store(Address(R10, RCX, 32), 2)
    asm.add_number(R13, 16)
    count(asm, R14, "eight")
    asm.add(R8, at("x plane"))
    asm.add(R9, at("y plane"))
    asm.add(R10, at("y plane"))
    asm.add(R10, at("y plane"))
    count(asm, RBP, "plane")


def _load(asm: Assembler, target: int, stride: int) -> None:
    """Eight elements at `rsi` + `rax`, each or each second one; not even one more is read than the last of them."""
    asm.move(target, Address(RSI, RAX))
    if stride == 2:
        asm.move(6, Address(RSI, RAX, 28))
        asm.pick(target, target, 6, 0xD8)
        asm.pairs(target, target, 0xD8)


@lru_cache(1)
def placed() -> Any:
    """A kernel over planes: zeros, and each gradient added at its place."""
    return function_over(_placed)


def _placed(asm: Assembler) -> None:
    at = PLACED.at
    for pointer, base, plane in (
        (R8, "result", "result plane"),
        (R9, "grad", "grad plane"),
        (R10, "places", "grad plane"),
    ):
        asm.load_register(pointer, at(plane))
        asm.multiply(pointer, RBX)
        if base == "places":
            asm.shift_left(pointer, 1)
        asm.add(pointer, at(base))
    asm.load_register(R11, at("size"))
    asm.load_register(R12, at("tail"))
    asm.binary("vxorps", 0, 0, 0)
    asm.label("plane")
    asm.load_register(RCX, at("vectors"))
    asm.copy_register(RSI, R8)
    asm.label("clear")
    asm.store(Address(RSI), 0)
    asm.add_number(RSI, 32)
    count(asm, RCX, "clear")
    asm.store(Address(R8, R12), 0)
    asm.load_register(RCX, at("each"))
    asm.label("place")
    asm.load_register(RAX, Address(R10))
    asm.compare_numbers(RAX, R11)
    asm.jump("wrong", "outside")
    asm.shift_left(RAX, 2)
    asm.broadcast(1, Address(R9))
    asm.broadcast(2, Address(R8, RAX))
    asm.binary("vaddps", 1, 1, 2)
    asm.store_one(Address(R8, RAX), 1)
    asm.label("next")
    asm.add_number(R9, 4)
    asm.add_number(R10, 8)
    count(asm, RCX, "place")
    asm.add(R8, at("result plane"))
    count(asm, RBP, "plane")
    asm.jump("end")
    asm.label("wrong")
    asm.zero(RAX)
    asm.add_number(RAX, 1)
    asm.store_register(at("wrong"), RAX)
    asm.jump("next")
    asm.label("end")
