"""Folds (sums, products, extrema) along rows and down columns of arrays of any number type. Who calls them: kernels/reduce/large.py.

Note [Folds in registers]
Sums of many numbers lose digits if they are added one after the other. Along a row eight vectors of partial sums take `_BLOCK` elements, and are
then added up and added to a ninth. Down columns up to eight vectors of neighbouring columns take `GROUP` rows before they are added to the
result, and kernels/reduce/large.py gives at most some thousand rows at a time. 16-bit floats are widened to float32 as they are loaded, whole numbers
to int64. What fills no vector at the end of a row is read together with what stands before it, which counts as neutral, or is not stored twice;
so rows must be of at least one vector (`lanes`).
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

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
    Pooled,
)

GROUP = 32  # rows
_BLOCK = 1024  # elements
_WIDEST = 8  # vectors of columns at a time
_HELD, _VALUE, _MASK, _NEUTRAL, _LAST = 8, 9, 13, 14, 15  # registers; the first eight are partial results


class Kind(NamedTuple):
    """How the elements of a dtype are loaded and folded."""

    size: int  # of an element in memory, in bytes
    result_name: str  # the key in KINDS of what they are folded to
    result: np.dtype[Any]
    suffix: str  # of arithmetic instructions, "" for whole numbers
    load: str = ""  # the instruction that widens, if any

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return 32 // self.result.itemsize

    @property
    def step(self) -> int:
        """Bytes of memory that fill a vector."""
        return self.size * self.lanes


_SINGLE, _DOUBLE, _WHOLE = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.int64)
KINDS = {
    "float32": Kind(4, "float32", _SINGLE, "ps"),
    "float64": Kind(8, "float64", _DOUBLE, "pd"),
    "float16": Kind(2, "float32", _SINGLE, "ps", "vcvtph2ps"),
    "bfloat16": Kind(2, "float32", _SINGLE, "ps", "vpmovzxwd"),
    "int64": Kind(8, "int64", _WHOLE, ""),
    "int32": Kind(4, "int64", _WHOLE, "", "vpmovsxdq"),
    "int16": Kind(2, "int64", _WHOLE, "", "vpmovsxwq"),
    "int8": Kind(1, "int64", _WHOLE, "", "vpmovsxbq"),
    "uint8": Kind(1, "int64", _WHOLE, "", "vpmovzxbq"),
}
_TYPES = {
    "float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "int64": "i64", "int32": "i32", "int16": "b2", "int8": "b1",
    "uint8": "u8",
}  # fmt: skip
_OPERATIONS = {"sum": "vadd", "product": "vmul", "largest": "vmax", "smallest": "vmin"}
_START = {"sum": 0.0, "product": 1.0, "largest": float("-inf"), "smallest": float("inf")}


class _Fold:
    """The instructions of one fold of one kind, which act on registers that the caller names."""

    def __init__(self, asm: Assembler, kind: Kind, how: str, of: str) -> None:
        self.asm, self.kind, self.of = asm, kind, of
        self.extreme = how in ("largest", "smallest")
        self.operation = _OPERATIONS[how] + kind.suffix if kind.suffix else "vpaddq"
        self.double = kind.suffix == "pd"
        self._start = _START[how]

    def begin(self) -> None:
        """Load the neutral element."""
        code = "<d" if self.double else "<f"
        self.asm.move(_NEUTRAL, Pooled(int.from_bytes(struct.pack(code, self._start), "little")))

    def clear(self, count: int) -> None:
        for register in range(count):
            self.asm.move(register, _NEUTRAL)

    def load(self, source: Address) -> None:
        """Elements as they are to be folded, in register _VALUE."""
        asm, kind = self.asm, self.kind
        if kind.load:
            asm.unary(kind.load, _VALUE, source)
            if kind.load == "vpmovzxwd":
                asm.shift("vpslld", _VALUE, _VALUE, 16)
        else:
            asm.move(_VALUE, source)
        if self.of == "squares":
            asm.binary("vmul" + kind.suffix, _VALUE, _VALUE, _VALUE)
        elif self.of == "size":
            asm.binary("vandps", _VALUE, _VALUE, Pooled((1 << 63) - 1 if self.double else (1 << 31) - 1))
        elif self.of == "numbers":
            asm.compare("unordered", _MASK, _VALUE, _VALUE, self.double)
            asm.binary("vandnps", _VALUE, _MASK, _VALUE)

    def combine(self, held: int, value: int) -> None:
        """Fold a register into another. The instructions for extrema give their second operand if there is NaN."""
        self.asm.binary(self.operation, held, value, held)
        if self.extreme:
            self.asm.compare("unordered", _MASK, value, value, self.double)
            self.asm.blend(held, held, value, _MASK, self.double)

    def take(self, held: int, source: Address) -> None:
        """Fold elements in memory into a register."""
        if self.extreme or self.of or self.kind.load:
            self.load(source)
            self.combine(held, _VALUE)
        else:
            self.asm.binary(self.operation, held, held, source)

    def across(self, held: int) -> None:
        """Fold the lanes of a register."""
        self.asm.swap_halves(_VALUE, held)
        self.combine(held, _VALUE)
        for order in (0x4E, 0xB1)[: 1 if self.kind.lanes == 4 else 2]:
            self.asm.shuffle(_VALUE, held, order)
            self.combine(held, _VALUE)

    def lanes_before_last(self, length: int, scratch: int) -> None:
        """Register _LAST: all lanes but as many as elements are left of `length` bytes by whole vectors. Uses `rax`."""
        asm = self.asm
        asm.copy_register(RAX, length)
        asm.and_number(RAX, self.kind.step - 1)
        asm.multiply_number(RAX, 32 // self.kind.step)
        asm.address_of_lanes(scratch)
        asm.move(_LAST, Address(scratch, RAX))


def _write_rows(fold: _Fold) -> None:
    """`(low, high, length, stride in bytes, id(x), id(out))` over rows."""
    asm, step = fold.asm, fold.kind.step
    length, stride, x, out, bulk, whole, block = RDX, RCX, R8, R9, R10, R11, RBX
    for pointer in (x, out):
        asm.load_register(pointer, Address(pointer, None, executable.DATA_OFFSET))
    asm.copy_register(RAX, RDI)
    asm.multiply(RAX, stride)
    asm.add(x, RAX)
    asm.copy_register(RAX, RDI)
    asm.multiply_number(RAX, fold.kind.result.itemsize)
    asm.add(out, RAX)
    asm.multiply_number(length, fold.kind.size)
    for limit, unit in ((bulk, _WIDEST * step), (whole, step)):
        asm.copy_register(limit, length)
        asm.and_number(limit, -unit)
    fold.lanes_before_last(length, RBX)
    fold.begin()
    asm.label("row")
    asm.move(_HELD, _NEUTRAL)
    asm.zero(RAX)
    asm.label("block")
    asm.compare_numbers(RAX, bulk)
    asm.jump("few", "not less")
    asm.copy_register(block, RAX)
    asm.add_number(block, _BLOCK * fold.kind.size)
    asm.compare_numbers(block, bulk)
    asm.jump("whole block", "less")
    asm.copy_register(block, bulk)
    asm.label("whole block")
    fold.clear(_WIDEST)
    asm.label("bulk")
    for i in range(_WIDEST):
        fold.take(i, Address(x, RAX, i * step))
    asm.add_number(RAX, _WIDEST * step)
    asm.compare_numbers(RAX, block)
    asm.jump("bulk", "less")
    for i, j in ((0, 1), (2, 3), (4, 5), (6, 7), (0, 2), (4, 6), (0, 4), (_HELD, 0)):
        fold.combine(i, j)
    asm.jump("block")
    asm.label("few")
    asm.compare_numbers(RAX, whole)
    asm.jump("last", "not less")
    fold.take(_HELD, Address(x, RAX))
    asm.add_number(RAX, step)
    asm.jump("few")
    asm.label("last")
    asm.compare_numbers(RAX, length)
    asm.jump("across", "not less")
    fold.load(Address(x, length, -step))
    asm.blend(_VALUE, _VALUE, _NEUTRAL, _LAST)
    fold.combine(_HELD, _VALUE)
    asm.label("across")
    fold.across(_HELD)
    asm.store_one(Address(out), _HELD, fold.kind.result.itemsize == 8)
    asm.add(x, stride)
    asm.add_number(out, fold.kind.result.itemsize)
    asm.add_number(RDI, 1)
    asm.compare_numbers(RDI, RSI)
    asm.jump("row", "less")


def _write_columns(fold: _Fold) -> None:
    """`(low, high, rows of a unit, columns, id(x), id(out), row stride, outer stride, units of an outer one, its rows)` over units."""
    asm, wider = fold.asm, 32 // fold.kind.step
    columns, x, out, stride, left, base, target, group, offset, later = RCX, R8, R9, R12, R13, R14, R15, RBX, R10, RDX
    for pointer in (x, out):
        asm.load_register(pointer, Address(pointer, None, executable.DATA_OFFSET))
    asm.push(RDX)
    unit_rows = Address(RSP)
    row_stride, outer_stride, units, rows = (Address(RSP, None, 8 * (8 + i)) for i in range(4))
    asm.load_register(stride, row_stride)
    asm.multiply_number(columns, fold.kind.size)
    fold.lanes_before_last(columns, RBX)
    asm.binary("vxorps", _LAST, _LAST, Pooled(0xFFFFFFFF))
    fold.begin()
    asm.label("unit")
    asm.copy_register(RAX, RDI)
    asm.load_register(RBX, units)
    asm.divide(RBX)
    asm.multiply(RAX, outer_stride)
    asm.copy_register(base, x)
    asm.add(base, RAX)
    asm.multiply(RDX, unit_rows)
    asm.load_register(left, rows)
    asm.copy_register(RAX, RDX)
    asm.negate(RAX)
    asm.add(left, RAX)
    asm.compare_numbers(left, unit_rows)
    asm.jump("last unit", "less")
    asm.load_register(left, unit_rows)
    asm.label("last unit")
    asm.multiply(RDX, stride)
    asm.add(base, RDX)
    asm.copy_register(target, RDI)
    asm.multiply(target, columns)
    asm.multiply_number(target, wider)
    asm.add(target, out)
    asm.zero(later)
    asm.label("group")
    asm.load_number(group, GROUP)
    asm.compare_numbers(left, group)
    asm.jump("whole group", "not less")
    asm.copy_register(group, left)
    asm.label("whole group")
    asm.zero(offset)
    _write_blocks(fold)
    asm.load_number(later, 1)
    asm.copy_register(RAX, group)
    asm.negate(RAX)
    asm.add(left, RAX)
    asm.multiply(group, stride)
    asm.add(base, group)
    asm.compare_number(left, 1)
    asm.jump("group", "not less")
    asm.add_number(RDI, 1)
    asm.compare_numbers(RDI, RSI)
    asm.jump("unit", "less")
    asm.pop(RDX)


def _write_blocks(fold: _Fold) -> None:
    """All columns of a group of rows, in blocks of up to eight vectors."""
    asm, step, wider = fold.asm, fold.kind.step, 32 // fold.kind.step
    columns, stride, base, target, group, offset, later = RCX, R12, R14, R15, RBX, R10, RDX
    result, row = R11, RBP

    def down(count: int, name: str = "") -> None:
        """`count` vectors down the rows, from `row` on; then `result` is where they belong."""
        asm.copy_register(RAX, group)
        fold.clear(count)
        asm.label(f"{name}down {count}")
        for i in range(count):
            fold.take(i, Address(row, None, i * step))
        asm.add(row, stride)
        asm.add_number(RAX, -1)
        asm.jump(f"{name}down {count}", "not zero")
        asm.multiply_number(result, wider)
        asm.add(result, target)
        asm.compare_number(later, 0)
        asm.jump(f"{name}store {count}", "zero")
        for i in range(count):
            asm.move(_HELD, Address(result, None, 32 * i))
            fold.combine(i, _HELD)
        asm.label(f"{name}store {count}")

    asm.label("columns")
    asm.copy_register(RAX, columns)
    asm.copy_register(row, offset)
    asm.negate(row)
    asm.add(RAX, row)
    for left in (2 * _WIDEST, *range(2 * _WIDEST - 1, 0, -1)):  # near the end two blocks of much the same width
        width = _WIDEST if left >= 2 * _WIDEST - 1 else (left + 1) // 2 if left > _WIDEST else left
        asm.compare_number(RAX, left * step)
        asm.jump(f"block {width}", "not less")
    asm.jump("last columns")
    for width in range(1, _WIDEST + 1):
        asm.label(f"block {width}")
        asm.copy_register(row, base)
        asm.add(row, offset)
        asm.copy_register(result, offset)
        down(width)
        for i in range(width):
            asm.store(Address(result, None, 32 * i), i)
        asm.add_number(offset, width * step)
        asm.jump("columns")
    asm.label("last columns")
    asm.compare_numbers(offset, columns)
    asm.jump("end of rows", "not less")
    asm.copy_register(row, base)
    asm.add(row, columns)
    asm.add_number(row, -step)
    asm.copy_register(result, columns)
    asm.add_number(result, -step)
    down(1, "last ")
    asm.store_some(Address(result), _LAST, 0)
    asm.label("end of rows")


@lru_cache(None)
def rows_kernel(kind: str, how: str, of: str) -> Any:
    """The fold of each row. `how` is a key of _START; `of` is "", "squares", "size" or "numbers" (those that are not NaN)."""
    given, result = _TYPES[kind], _TYPES[KINDS[kind].result_name]
    signature = f"low, high, length, stride, x: strided {given}, out: written {result}[high]"
    return _table.load_function(lambda asm: _write_rows(_Fold(asm, KINDS[kind], how, of)), signature)


@lru_cache(None)
def columns_kernel(kind: str, how: str, of: str) -> Any:
    """The fold of each column of units of rows."""
    given, result = _TYPES[kind], _TYPES[KINDS[kind].result_name]
    signature = (
        f"low, high, rows, columns, x: strided {given}, out: written {result}[high * columns], "
        "row_stride, outer_stride, units, all_rows"
    )
    return _table.load_function(lambda asm: _write_columns(_Fold(asm, KINDS[kind], how, of)), signature)
