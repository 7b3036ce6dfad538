"""Correlation of planes with a kernel each. kernels/conv/depthwise.py calls this.

A plane is copied to a scratch plane with a border of zeros, which stays in the first cache; where windows are two columns apart, even columns and odd
ones go to halves of their own. Then what a tap meets of eight neighbouring results lies side by side, and eight such vectors are computed at a time.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..native._table import Table, count, function_over
from ..native._x86 import R8, R9, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RCX, RDX, RSI, RSP, Address, Assembler

# Of the input `x` and of the gradient `g`:
#   (its name), plane, line: where it begins, and bytes from plane to plane and from row to row; rows: how many there are to copy;
#   whole: how often 8 columns, or 16 of two halves; even, odd: where the columns go in the scratch plane, in bytes from its beginning.
#   pitch: bytes from one of its rows to the next.
# scratch, scratch step, clear: memory for scratch planes, bytes that it is further on for each plane that a range begins later, and vectors of a
# scratch plane. vectors, groups: offsets in the scratch plane for vectors, and then in the result, eight of each, and how many such groups;
# or for sums of products, offsets for two vectors, one after the other. taps, tap count: offsets, and how many (groups of four). weight,
# weight plane, bias: numbers for each plane. y, y plane: the result. sums, sums plane: of products.
TABLE = Table(
    [f"{of} {what}".strip() for of in "xg" for what in ("", "plane", "line", "rows", "whole", "even", "odd", "pitch")]
    + ["scratch", "scratch step", "clear", "vectors", "groups", "taps", "tap count"]
    + ["weight", "weight plane", "bias", "y", "y plane", "sums", "sums plane"],
    masks=["x", "x second", "g"],
)
_at = TABLE.at
# On the stack, for each range: what is done next, and how many planes are left.
_ROOM = 64
_X, _G, _WEIGHT, _BIAS, _RESULT, _SCRATCH, _LEFT = (Address(RSP, None, 8 * i) for i in range(7))


@lru_cache(2)
def correlate(stride: int) -> Any:
    """A kernel over planes whose windows are 1 or 2 columns apart."""
    return function_over(lambda asm: _planes(asm, stride, ((_X, "x"), (_RESULT, "y"), (_WEIGHT, "weight")), _correlate))


@lru_cache(2)
def weigh(stride: int) -> Any:
    """A kernel over planes: for each tap, the sum of the products of `g` with what it meets."""
    return function_over(lambda asm: _planes(asm, stride, ((_X, "x"), (_G, "g"), (_RESULT, "sums")), _weigh))


def _planes(asm: Assembler, stride: int, arrays: Any, body: Any) -> None:
    """Copy and work on one plane after the other; `arrays` are where they are on the stack, and their names."""
    asm.add_number(RSP, -_ROOM)
    for address, name in arrays:
        asm.load_register(RAX, _at(f"{name} plane"))
        asm.multiply(RAX, RBX)
        asm.add(RAX, _at(name))
        asm.store_register(address, RAX)
    asm.copy_register(RAX, RBX)
    asm.shift_left(RAX, 2)
    asm.add(RAX, _at("bias"))
    asm.store_register(_BIAS, RAX)
    asm.load_register(RAX, _at("scratch step"))
    asm.multiply(RAX, RBX)
    asm.add(RAX, _at("scratch"))
    asm.store_register(_SCRATCH, RAX)
    asm.store_register(_LEFT, RBP)
    asm.load_register(RCX, _at("clear"))
    asm.binary("vxorps", 0, 0, 0)
    asm.label("clear")
    asm.store(Address(RAX), 0)
    asm.add_number(RAX, 32)
    count(asm, RCX, "clear")
    asm.label("plane")
    for address, name in arrays:
        if name in ("x", "g"):
            _copy(asm, address, name, stride if name == "x" else 1)
    body(asm)
    for address, name in arrays:
        asm.load_register(RAX, _at(f"{name} plane"))
        asm.add_to_memory(address, RAX)
    asm.zero(RAX)
    asm.add_number(RAX, 4)
    asm.add_to_memory(_BIAS, RAX)
    asm.load_register(RAX, _LEFT)
    asm.add_number(RAX, -1)
    asm.store_register(_LEFT, RAX)
    asm.jump("plane", "not zero")
    asm.add_number(RSP, _ROOM)


def _copy(asm: Assembler, address: Address, of: str, stride: int) -> None:
    """The rows of a plane to its scratch plane, the last columns under a mask, with zeros behind them."""
    asm.load_register(R8, address)
    asm.load_register(R9, _SCRATCH)
    asm.copy_register(R10, R9)
    asm.add(R9, _at(f"{of} even"))
    asm.add(R10, _at(f"{of} odd"))
    asm.load_register(R11, _at(f"{of} line"))
    asm.load_register(R12, _at(f"{of} pitch"))
    asm.load_register(RBP, _at(f"{of} rows"))
    asm.move(14, TABLE.mask(of))
    if stride == 2:
        asm.move(15, TABLE.mask(f"{of} second"))
    asm.label(f"{of} line")
    for source, target in ((R8, RSI), (R9, RBX), (R10, RCX)):
        asm.copy_register(target, source)
    asm.load_register(RDX, _at(f"{of} whole"))
    asm.compare_number(RDX, 1)
    asm.jump(f"{of} rest", "less")
    asm.label(f"{of} vector")
    asm.move(0, Address(RSI))
    if stride == 2:
        asm.move(1, Address(RSI, None, 32))
    _put(asm, stride)
    for register, step in ((RSI, 32 * stride), (RBX, 32), (RCX, 32)):
        asm.add_number(register, step)
    count(asm, RDX, f"{of} vector")
    asm.label(f"{of} rest")
    asm.load_some(0, 14, Address(RSI))
    if stride == 2:
        asm.load_some(1, 15, Address(RSI, None, 32))
    _put(asm, stride)
    asm.add(R8, R11)
    asm.add(R9, R12)
    asm.add(R10, R12)
    count(asm, RBP, f"{of} line")


def _put(asm: Assembler, stride: int) -> None:
    if stride == 1:
        asm.store(Address(RBX), 0)
        return
    for target, order, register in ((2, 0x88, RBX), (3, 0xDD, RCX)):
        asm.pick(target, 0, 1, order)
        asm.pairs(target, target, 0xD8)
        asm.store(Address(register), target)


_EIGHT = (R8, R9, R10, R11, R12, R13, R14, R15)


def _correlate(asm: Assembler) -> None:
    """Eight vectors at a time: `rax` goes along the taps, `rdx` along the weights, `rsi` along the vectors."""
    asm.load_register(RSI, _at("vectors"))
    asm.load_register(RBP, _at("groups"))
    asm.label("group")
    asm.load_register(RAX, _BIAS)
    for i, pointer in enumerate(_EIGHT):
        asm.load_register(pointer, _SCRATCH)
        asm.add(pointer, Address(RSI, None, 8 * i))
        asm.broadcast(i, Address(RAX))
    asm.load_register(RAX, _at("taps"))
    asm.load_register(RDX, _WEIGHT)
    asm.load_register(RBX, _at("tap count"))
    asm.label("tap")
    asm.load_register(RCX, Address(RAX))
    asm.broadcast(8, Address(RDX))
    for i, pointer in enumerate(_EIGHT):
        asm.binary("vfmadd231ps", i, 8, Address(pointer, RCX))
    asm.add_number(RAX, 8)
    asm.add_number(RDX, 4)
    count(asm, RBX, "tap")
    asm.load_register(RAX, _RESULT)
    for i in range(8):
        asm.load_register(RCX, Address(RSI, None, 64 + 8 * i))
        asm.store(Address(RAX, RCX), i)
    asm.add_number(RSI, 128)
    count(asm, RBP, "group")


def _weigh(asm: Assembler) -> None:
    """Four taps at a time, which `r8` to `r11` meet first; `rsi` goes along the vectors of `x`, `r12` along those of `g`. `r13` goes along the sums."""
    asm.load_register(RDX, _at("taps"))
    asm.load_register(RBX, _at("tap count"))
    asm.load_register(R13, _RESULT)
    asm.label("four taps")
    for i, pointer in enumerate((R8, R9, R10, R11)):
        asm.load_register(pointer, _SCRATCH)
        asm.add(pointer, Address(RDX, None, 8 * i))
    asm.load_register(R12, _SCRATCH)
    asm.add(R12, _at("g even"))
    asm.load_register(RSI, _at("vectors"))
    asm.load_register(RBP, _at("groups"))
    for register in range(8):
        asm.binary("vxorps", register, register, register)
    asm.label("two vectors")
    for half in (0, 1):
        asm.load_register(RCX, Address(RSI, None, 8 * half))
        asm.move(8, Address(R12, None, 32 * half))
        for i, pointer in enumerate((R8, R9, R10, R11)):
            asm.binary("vfmadd231ps", 4 * half + i, 8, Address(pointer, RCX))
    asm.add_number(RSI, 16)
    asm.add_number(R12, 64)
    count(asm, RBP, "two vectors")
    for i in range(4):
        asm.binary("vaddps", i, i, 4 + i)
    asm.binary("vhaddps", 0, 0, 1)
    asm.binary("vhaddps", 2, 2, 3)
    asm.binary("vhaddps", 0, 0, 2)
    asm.swap_halves(1, 0)
    asm.binary("vaddps", 0, 0, 1)
    asm.store_half(Address(R13), 0)
    asm.add_number(R13, 16)
    asm.add_number(RDX, 32)
    count(asm, RBX, "four taps")
