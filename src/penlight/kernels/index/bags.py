"""Sums of bags of rows of a table: embedding_bag. The same in NumPy: `_bag_array` in ops/nn/embedding.py.

Up to eight vectors of columns are summed up in registers, one row of the bag after the other; the last vector of columns overlaps with the one before.
"""

from __future__ import annotations

from functools import lru_cache
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
)
from ..waiting_threads import over
from .moves import all_inside

_GRAIN = 1 << 15  # numbers that are worth waking a thread for
_LANES = 8
_WIDTHS = (8, 4, 2, 1)  # vectors at a time
_STACKED = 8 * (len(_table.SAVED) + 1)


def sums(table: np.ndarray, picks: np.ndarray, bounds: np.ndarray) -> np.ndarray | None:
    """The sums of bags of rows of a float32 table, bag i being rows `picks[bounds[i] : bounds[i + 1]]`; None if that is not possible."""
    columns = table.shape[1]
    if not available() or table.dtype != np.float32 or not table.flags.c_contiguous or columns < _LANES:
        return None
    if (
        picks.dtype != np.int64
        or bounds.dtype != np.int64
        or not (picks.flags.c_contiguous and bounds.flags.c_contiguous)
    ):
        return None
    if not len(picks) or bounds[0] < 0 or bounds[-1] > len(picks) or (bounds[1:] < bounds[:-1]).any():
        return None
    if not all_inside(picks, len(table)):
        return None
    count = len(bounds) - 1
    out = np.empty((count, columns), np.float32)
    grain = -(-_GRAIN * count // (len(picks) * columns))
    over(_kernel(), count, grain, columns, table, picks, bounds, out)
    return out


@lru_cache(1)
def _kernel() -> Any:
    """A kernel over bags. The caller has looked at the picks and the bounds."""
    signature = "low, high, columns, table: f32, picks: i64, bounds: i64[high + 1], out: written f32[high * columns]"
    return _table.load_function(_write, signature)


def _write(asm: Assembler) -> None:
    bag, width, table, picks, bounds, out = RDI, RDX, RCX, R8, R9, R10
    first, last, place, left = R11, R12, R13, R14
    asm.load_register(out, Address(RSP, None, _STACKED))
    for pointer in (table, picks, bounds, out):
        asm.load_register(pointer, Address(pointer, None, executable.DATA_OFFSET))
    asm.shift_left(width, 2)
    asm.copy_register(RAX, bag)
    asm.multiply(RAX, width)
    asm.add(out, RAX)
    asm.label("bag")
    for register, offset in ((first, 0), (last, 8)):
        asm.load_register(register, Address(bounds, bag, offset, 8))
        asm.shift_left(register, 3)
        asm.add(register, picks)
    asm.zero(place)
    asm.label("columns")
    asm.copy_register(left, place)
    asm.negate(left)
    asm.add(left, width)
    for count in _WIDTHS:
        asm.compare_number(left, 32 * count)
        asm.jump(f"by {count}", "not less")
    asm.compare_number(left, 0)
    asm.jump("done", "zero")
    asm.copy_register(place, width)  # the last vector, which overlaps with the one before
    asm.add_number(place, -32)
    asm.jump("by 1")
    for count in _WIDTHS:
        asm.label(f"by {count}")
        _sum(asm, count, first, last, place)
        asm.jump("columns")
    asm.label("done")
    asm.add(out, width)
    asm.add_number(bag, 1)
    asm.compare_numbers(bag, RSI)
    asm.jump("bag", "less")


def _sum(asm: Assembler, count: int, first: int, last: int, place: int) -> None:
    """So many vectors of the columns from `place` on, which goes on behind them."""
    width, table, out, pick, row, base = RDX, RCX, R10, RBX, RAX, RBP
    asm.copy_register(base, table)
    asm.add(base, place)
    for i in range(count):
        asm.binary("vxorps", i, i, i)
    asm.copy_register(pick, first)
    asm.jump(f"enter {count}")
    asm.label(f"row {count}")
    asm.load_register(row, Address(pick))
    asm.multiply(row, width)
    for i in range(count):
        asm.binary("vaddps", i, i, Address(base, row, 32 * i))
    asm.add_number(pick, 8)
    asm.label(f"enter {count}")
    asm.compare_numbers(pick, last)
    asm.jump(f"row {count}", "less")
    asm.copy_register(R15, out)
    asm.add(R15, place)
    for i in range(count):
        asm.store(Address(R15, None, 32 * i), i)
    asm.add_number(place, 32 * count)
