"""Rows added to computed rows: the gradient of an embedding, `index_add`. The same in NumPy: `_add_rows` in kernels/scatter.py.

Repeated rows are added one after the other, in their order, as NumPy does. Threads take columns: each goes through all rows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from . import _pages, _pool
from ._build import BYTES
from ._x86 import R8, R9, R10, R11, RAX, RBX, RCX, RDI, RDX, RSI, RSP, Address, Assembler

_CHUNK = 64  # columns that a thread takes at a time
_SHARED_FROM = 1 << 16  # elements


def add_rows(target: np.ndarray, index: np.ndarray, rows: np.ndarray) -> bool:
    """target[index] += rows of contiguous float32 matrices, every repetition counted; whether that was possible."""
    count, columns = rows.shape
    if not _pages.available() or not count or not columns or target.dtype != np.float32 or rows.dtype != np.float32:
        return False
    if index.dtype != np.int64 or index.shape != (count,) or target.shape[1:] != (columns,):
        return False
    if not (
        index.flags.c_contiguous and rows.flags.c_contiguous and target.flags.c_contiguous and target.flags.writeable
    ):
        return False
    if index.view(np.uint64).max() >= len(target):  # a negative one is huge
        raise IndexError("index out of range in self")
    chunks = -(-columns // _CHUNK)
    step = _pool.step(chunks, 1) if rows.size >= _SHARED_FROM else chunks
    arguments = count, columns, id(index), id(rows), id(target)
    if step < chunks:
        _kernel(True)(step, chunks, *arguments)
    else:
        _kernel(False)(0, chunks, *arguments)
    return True


@lru_cache(2)
def _kernel(shared: bool) -> Any:
    """`run(low, high, rows, columns, id(index), id(rows), id(target))`, where `low` and `high` count chunks of columns."""
    if shared:
        return _pool.shared(_kernel(False).address, 7, 0)
    asm = Assembler()
    index, source, target, row, whole = R8, R9, R10, R11, RBX
    asm.load_register(target, Address(RSP, None, 8))  # the seventh argument
    asm.push(whole)
    for pointer in (index, source, target):
        asm.load_register(pointer, Address(pointer, None, _pages.DATA_OFFSET))
    asm.multiply_number(RDI, 4 * _CHUNK)  # from here on sizes are in bytes
    asm.multiply_number(RSI, 4 * _CHUNK)
    asm.shift_left(RCX, 2)
    asm.compare_numbers(RSI, RCX)
    asm.jump("inside", "less")
    asm.copy_register(RSI, RCX)
    asm.label("inside")
    _write_mask(asm, whole)
    asm.label("row")
    asm.load_register(row, Address(index))
    asm.multiply(row, RCX)
    asm.add(row, target)
    asm.copy_register(RAX, RDI)
    asm.compare_numbers(RAX, whole)
    asm.jump("last", "not less")
    asm.label("vector")
    asm.move(0, Address(source, RAX))
    asm.binary("vaddps", 0, 0, Address(row, RAX))
    asm.store(Address(row, RAX), 0)
    asm.add_number(RAX, BYTES)
    asm.compare_numbers(RAX, whole)
    asm.jump("vector", "less")
    asm.label("last")
    asm.compare_numbers(RAX, RSI)
    asm.jump("done", "not less")
    asm.load_some(0, 15, Address(source, RAX))
    asm.load_some(1, 15, Address(row, RAX))
    asm.binary("vaddps", 0, 0, 1)
    asm.store_some(Address(row, RAX), 15, 0)
    asm.label("done")
    asm.add(source, RCX)
    asm.add_number(index, 8)
    asm.add_number(RDX, -1)
    asm.jump("row", "not zero")
    asm.forget_upper()
    asm.pop(whole)
    asm.leave()
    return _pages.load_kernel(asm.finish(), 7, 0)


def _write_mask(asm: Assembler, whole: int) -> None:
    """`whole`: where, between `rdi` and `rsi`, whole vectors end; register 15: a mask of the elements that follow."""
    asm.copy_register(RAX, RSI)
    asm.copy_register(whole, RDI)
    asm.negate(whole)
    asm.add(RAX, whole)
    asm.and_number(RAX, BYTES - 1)
    asm.negate(RAX)
    asm.copy_register(whole, RSI)
    asm.add(whole, RAX)
    asm.address_of_lanes(R11)
    asm.move(15, Address(R11, RAX, BYTES))
