"""Running maxima and minima with their positions (cummax, cummin). The same in NumPy: kernels/scan/.

An element that is at least as good as the best so far, or NaN, takes its place; nothing but NaN takes the place of NaN. Rows are
walked along in pairs, so that one need not wait for the other's comparison. Down columns it is two vectors of them; the last ones overlap with
those before, and both write the same.
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from .. import executable
from ..native import _table, available
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
from ..waiting_threads import over

_GRAIN = 1 << 14  # elements that are worth waking a thread for
_KINDS = {np.dtype(np.float32): "float32", np.dtype(np.float64): "float64", np.dtype(np.int64): "int64"}
_TYPES = {"float32": "f32", "float64": "f64", "int64": "i64"}
_STACKED = 8 * (len(_table.SAVED) + 1)
_WORST = {"float32": (0xFF800000, 0x7F800000), "float64": (0xFFF << 52, 0x7FF << 52), "int64": (1 << 63, (1 << 63) - 1)}
_MASK, _NAN = 8, 9  # registers


def run(x: np.ndarray, dim: int, largest: bool) -> tuple[np.ndarray, np.ndarray] | None:
    """(values, indices) of a contiguous array; None if there is no kernel for it, or its columns are too few."""
    kind = _KINDS.get(x.dtype)
    if kind is None or not available() or not x.size or not x.flags.c_contiguous:
        return None
    n = x.shape[dim]
    inner = prod(x.shape[dim + 1 :])
    lanes = 32 // x.itemsize
    if n >= 1 << 31 or 1 < inner < lanes:
        return None
    values, indices = np.empty(x.shape, x.dtype), np.empty(x.shape, np.int64)
    outer = x.size // (n * inner)
    if inner == 1:
        over(_rows_kernel(kind, largest), outer, -(-_GRAIN // n), n, x, values, indices)
    else:
        width = 2 if inner >= 2 * lanes else 1
        blocks = -(-inner // (width * lanes))
        kernel = _columns_kernel(kind, largest, width)
        over(kernel, outer * blocks, -(-_GRAIN // (width * lanes * n)), n, inner, x, values, indices, blocks)
    return values, indices


def _take_better(asm: Assembler, kind: str, largest: bool, best: int, place: int, value: int, now: int) -> None:
    """Where the value is at least as good, it becomes the best, and its place, `now`, the best's."""
    double = kind != "float32"
    if kind == "int64":
        first, second = (best, value) if largest else (value, best)
        asm.binary("vpcmpgtq", _MASK, first, second)
        asm.blend(best, value, best, _MASK, True)
        asm.blend(place, now, place, _MASK, True)
        return
    asm.compare("unordered", _NAN, value, value, double)
    asm.compare("at least" if largest else "at most", _MASK, value, best, double)
    asm.binary("vorps", _MASK, _MASK, _NAN)
    asm.blend(best, best, value, _MASK, double)
    asm.blend(place, place, now, _MASK, double)


@lru_cache(None)
def _rows_kernel(kind: str, largest: bool) -> Any:
    """A kernel over rows."""
    size = 4 if kind == "float32" else 8
    pairs = ((0, 2, 4), (1, 3, 5))  # registers of the best, its place and the value, for each of two rows
    now, one = 6, 7

    def write(asm: Assembler) -> None:
        row, high, length, x, values, indices = RDI, RSI, RDX, RCX, R8, R9
        for pointer in (x, values, indices):
            asm.load_register(pointer, Address(pointer, None, executable.DATA_OFFSET))
        asm.zero(RAX)
        asm.add_number(RAX, 1)
        asm.push(RAX)
        asm.binary("vxorps", one, one, one)
        asm.load_one(one, Address(RSP), double=True)
        asm.pop(RAX)
        asm.label("rows")
        for pointers, number in (((R10, R11, R12), 0), ((R13, R14, R15), 1)):
            asm.copy_register(RAX, row)
            asm.add_number(RAX, number)
            asm.compare_numbers(RAX, high)
            asm.jump(f"row {number}", "less")
            asm.copy_register(RAX, row)  # the last one twice
            asm.label(f"row {number}")
            asm.multiply(RAX, length)
            for target, base, scale in zip(pointers, (x, values, indices), (size, size, 8)):
                asm.copy_register(target, RAX)
                asm.multiply_number(target, scale)
                asm.add(target, base)
        for best, place, _ in pairs:
            asm.move(best, Pooled(_WORST[kind][0 if largest else 1]))
            asm.binary("vxorps", place, place, place)
        asm.binary("vxorps", now, now, now)
        asm.zero(RBX)
        asm.label("element")
        for (best, place, value), (source, target, index) in zip(pairs, ((R10, R11, R12), (R13, R14, R15))):
            asm.load_one(value, Address(source, RBX, 0, size), double=size == 8)
            _take_better(asm, kind, largest, best, place, value, now)
            asm.store_one(Address(target, RBX, 0, size), best, double=size == 8)
            asm.store_quarter(Address(index, RBX, 0, 8), place)
        asm.binary("vpaddq", now, now, one)
        asm.add_number(RBX, 1)
        asm.compare_numbers(RBX, length)
        asm.jump("element", "less")
        asm.add_number(row, 2)
        asm.compare_numbers(row, high)
        asm.jump("rows", "less")

    element, extent = _TYPES[kind], "[high * length]"
    signature = (
        f"low, high, length, x: {element}{extent}, values: written {element}{extent}, indices: written i64{extent}"
    )
    return _table.load_function(write, signature)


@lru_cache(None)
def _columns_kernel(kind: str, largest: bool, width: int) -> Any:
    """A kernel over blocks of columns, of which an outer part has `blocks`."""
    size = 4 if kind == "float32" else 8
    lanes = 32 // size

    def write(asm: Assembler) -> None:
        unit, high, length, columns, x, values, indices = RDI, RSI, R14, RCX, R8, R9, R10
        asm.copy_register(length, RDX)
        asm.load_register(indices, Address(RSP, None, _STACKED))
        for pointer in (x, values, indices):
            asm.load_register(pointer, Address(pointer, None, executable.DATA_OFFSET))
        asm.label("unit")
        asm.copy_register(RAX, unit)
        asm.load_register(RBX, Address(RSP, None, _STACKED + 8))
        asm.divide(RBX)
        asm.multiply(RAX, length)
        asm.multiply(RAX, columns)  # where the outer part begins
        asm.multiply_number(RDX, width * lanes)
        asm.copy_register(RBX, columns)
        asm.add_number(RBX, -width * lanes)
        asm.compare_numbers(RDX, RBX)
        asm.jump("whole block", "less")
        asm.copy_register(RDX, RBX)
        asm.label("whole block")
        asm.add(RAX, RDX)
        source, target, index, left = R11, R12, R13, RBP
        for pointer, base, scale in ((source, x, size), (target, values, size), (index, indices, 8)):
            asm.copy_register(pointer, RAX)
            asm.multiply_number(pointer, scale)
            asm.add(pointer, base)
        asm.copy_register(RBX, columns)
        asm.multiply_number(RBX, size)
        asm.copy_register(R15, columns)
        asm.shift_left(R15, 3)
        asm.copy_register(left, length)
        now, one = 6, 7
        asm.binary("vxorps", now, now, now)
        asm.move(one, Pooled(1))
        if size == 8:
            asm.shift("vpsrlq", one, one, 32)
        for i in range(width):
            asm.move(i, Pooled(_WORST[kind][0 if largest else 1]))
            asm.binary("vxorps", 2 + i, 2 + i, 2 + i)
        asm.label("row")
        for i in range(width):
            asm.move(4 + i, Address(source, None, 32 * i))
            _take_better(asm, kind, largest, i, 2 + i, 4 + i, now)
            asm.store(Address(target, None, 32 * i), i)
            if size == 8:
                asm.store(Address(index, None, 32 * i), 2 + i)
            else:
                asm.widen(10, 2 + i)
                asm.swap_halves(11, 2 + i)
                asm.widen(11, 11)
                asm.store(Address(index, None, 64 * i), 10)
                asm.store(Address(index, None, 64 * i + 32), 11)
        asm.binary("vpaddq" if size == 8 else "vpaddd", now, now, one)
        asm.add(source, RBX)
        asm.add(target, RBX)
        asm.add(index, R15)
        _table.count(asm, left, "row")
        asm.add_number(unit, 1)
        asm.compare_numbers(unit, high)
        asm.jump("unit", "less")

    element, extent = _TYPES[kind], "[high // blocks * length * columns]"
    signature = (
        f"low, high, length, columns, x: {element}{extent}, values: written {element}{extent}, "
        f"indices: written i64{extent}, blocks"
    )
    return _table.load_function(write, signature)
