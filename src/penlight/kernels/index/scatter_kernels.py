"""Rows added to computed rows, multiplied into them, or compared with them: the gradient of an embedding, `index_add`, `index_reduce`. The same
in NumPy: `_at_rows` in kernels/index/scatter.py.

Repeated rows come one after the other, in their order, as with NumPy. Threads take columns: each goes through all rows.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import call, executable, waiting_threads
from ..native._x86 import BYTES, R8, R9, R10, R11, RAX, RBX, RCX, RDI, RDX, RSI, RSP, Address, Assembler

_CHUNK = 256  # bytes of a row that a thread takes at a time
_SHARED_FROM = 1 << 16  # elements
_KINDS = {np.dtype(np.float32): False, np.dtype(np.float64): True}
_INDEX = np.dtype(np.int64)


def reduce_rows(target: np.ndarray, index: np.ndarray, rows: np.ndarray, way: str = "add") -> bool:
    """target[index] += rows of contiguous float matrices, every repetition counted; also "mul", "max" and "min". Whether that was possible."""
    count, columns = rows.shape
    double = _KINDS.get(rows.dtype)
    if double is None or not executable.available() or not count or not columns or target.dtype != rows.dtype:
        return False
    if index.dtype != _INDEX or index.shape != (count,) or target.shape[1:] != (columns,):
        return False
    if not (
        index.flags.c_contiguous and rows.flags.c_contiguous and target.flags.c_contiguous and target.flags.writeable
    ):
        return False
    places = index.view(np.uint64)
    if places.item(places.argmax()) >= len(target):  # a negative one is huge
        raise IndexError("index out of range in self")
    size = columns * rows.itemsize
    chunks = -(-size // _CHUNK)
    grain = 1 if rows.size >= _SHARED_FROM else chunks
    waiting_threads.over(_kernel(way, double), chunks, grain, count, size, index, rows, target)
    return True


def combine(asm: Assembler, way: str, double: bool) -> None:
    """Register 0: what becomes of registers 0, an element of a row, and 1, what stands there. NaN stays, as in NumPy."""
    kind = "pd" if double else "ps"
    if way in ("add", "mul"):
        asm.binary(f"v{way}{kind}", 0, 0, 1)
        return
    asm.compare("unordered", 2, 0, 0, double)
    asm.binary(f"v{way}{kind}", 1, 0, 1)  # the second, if one is NaN
    asm.blend(0, 1, 0, 2, double)


@lru_cache(None)
def _kernel(way: str, double: bool) -> Any:
    """A kernel over chunks of the bytes of a row. The caller has looked at the index."""
    asm = Assembler()
    index, source, target, row, whole = R8, R9, R10, R11, RBX
    asm.load_register(target, Address(RSP, None, 8))  # the seventh argument
    asm.push(whole)
    for pointer in (index, source, target):
        asm.load_register(pointer, Address(pointer, None, executable.DATA_OFFSET))
    asm.multiply_number(RDI, _CHUNK)
    asm.multiply_number(RSI, _CHUNK)
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
    asm.move(1, Address(row, RAX))
    combine(asm, way, double)
    asm.store(Address(row, RAX), 0)
    asm.add_number(RAX, BYTES)
    asm.compare_numbers(RAX, whole)
    asm.jump("vector", "less")
    asm.label("last")
    asm.compare_numbers(RAX, RSI)
    asm.jump("done", "not less")
    asm.load_some(0, 15, Address(source, RAX))
    asm.load_some(1, 15, Address(row, RAX))
    combine(asm, way, double)
    asm.store_some(Address(row, RAX), 15, 0)
    asm.label("done")
    asm.add(source, RCX)
    asm.add_number(index, 8)
    asm.add_number(RDX, -1)
    asm.jump("row", "not zero")
    asm.forget_upper()
    asm.pop(whole)
    asm.leave()
    element, size = ("f64", 8) if double else ("f32", 4)
    arrays = f"index: i64[count], rows: {element}[count * bytes // {size}], target: written {element}"
    return call.load(asm.finish(), f"low, high, count, bytes, {arrays}")


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
