"""Matrix products by BLAS, split between the threads of waiting_threads.py.

Note [One set of threads]
OpenBLAS has its own threads. After a product they spin for some 25 milliseconds, waiting for the next one, and occupy their
processors meanwhile, so that our helpers (waiting_threads.py) get none: after each product, kernels would run single-threaded. So
large products are split here into ranges of rows, columns or matrices of a batch, and each of our threads calls BLAS for its own
ranges. BLAS is set to one thread for that time, and also for products that are too small to split, but large enough for BLAS to
wake its threads.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache
from math import prod
from struct import Struct
from typing import Any, NamedTuple

import numpy as np

from .. import call, executable, parallel, waiting_threads
from ..compiler.assembler import R8, R9, R12, R13, RAX, RBX, RCX, RDI, RDX, RSI, RSP, Address, Assembler
from ..numpy_warnings import hush, unhush
from . import strategies

_CUTS = "rows", "columns", "batch"
_UNIT = 16  # ranges of rows and columns are multiples of this, like BLAS's own
_ROW_ORDER, _AS_IT_IS, _TRANSPOSED = 101, 111, 112  # BLAS's constants

# The table that describes a product. For the factors and the result, `_step` is the stride to the next row, column or matrix,
# `_leap` that to the next `together` matrices of a batch.
_ARRAYS = "first", "second", "result"
_TABLE = ["function", "one", "together", "rows", "columns", "inner", "first_transposed", "second_transposed"]
_TABLE += [f"{array}{what}" for array in _ARRAYS for what in ("_apart", "_step", "_leap")]
_OFFSETS = {name: 8 * i for i, name in enumerate(_TABLE)}
_pack = Struct(f"<{len(_TABLE)}q").pack
_FORMS: dict[np.dtype[Any], tuple[str, int]] = {
    np.dtype(np.float32): ("scipy_cblas_sgemm64_", 0x3F800000),
    np.dtype(np.float64): ("scipy_cblas_dgemm64_", 0x3FF0000000000000),
}
_SAVED = (RBX, R12, R13)
_FRAME = 48 + 24 + 8  # bytes of the stack: BLAS's last arguments, the arrays, and alignment


@lru_cache(1)
def _functions() -> dict[np.dtype[Any], tuple[int, int]]:
    """For each dtype the address of BLAS's product with 64-bit sizes, and the bits of 1; empty if NumPy has another BLAS."""
    library = parallel.numpy_library()
    try:
        return {
            dtype: (ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0, one)
            for dtype, (name, one) in _FORMS.items()
        }
    except AttributeError:
        return {}


@lru_cache(len(_CUTS))
def _by(cut: str) -> Any:
    """The product, in ranges of rows, columns, or matrices of a batch. The caller has made the table for arrays with these layouts."""
    asm = Assembler()
    low, high = R12, R13
    for register in _SAVED:
        asm.push(register)
    asm.add_number(RSP, -_FRAME)
    asm.copy_register(low, RDI)
    asm.copy_register(high, RSI)
    asm.copy_register(RBX, RDX)
    for position, register in zip(_HOMES, (RCX, R8, R9)):
        asm.load_register(register, Address(register, None, executable.DATA_OFFSET))
        asm.store_register(position, register)
    asm.label("next")
    _write_addresses(asm, low, cut == "batch")
    asm.zero(RDI)
    asm.add_number(RDI, _ROW_ORDER)
    for register, name in (
        (RSI, "first_transposed"),
        (RDX, "second_transposed"),
        (RCX, "rows"),
        (R8, "columns"),
        (R9, "inner"),
    ):
        asm.load_register(register, _at(name))
    if cut != "batch":
        size = RCX if cut == "rows" else R8
        asm.copy_register(size, low)
        asm.negate(size)
        asm.add(size, high)
    asm.move(0, _at("one"))
    asm.binary("vxorps", 1, 1, 1)
    asm.forget_upper()
    asm.load_register(RAX, _at("function"))
    asm.call(RAX)
    if cut == "batch":
        asm.add_number(low, 1)
        asm.compare_numbers(low, high)
        asm.jump("next", "less")
    asm.add_number(RSP, _FRAME)
    for register in reversed(_SAVED):
        asm.pop(register)
    asm.leave()
    signature = "low, high, table, first: strided any, second: strided any, result: strided written any"
    return waiting_threads.shared(call.load(asm.finish(), signature))


_HOMES = [Address(RSP, None, 48 + 8 * i) for i in range(3)]  # the arrays' data pointers


def _at(name: str) -> Address:
    return Address(RBX, None, _OFFSETS[name])


def _write_addresses(asm: Assembler, index: int, batch: bool) -> None:
    """Put the addresses and row strides of the factors and the result on the stack: BLAS's last arguments."""
    if batch:
        asm.copy_register(RAX, index)
        asm.load_register(RCX, _at("together"))
        asm.divide(RCX)
        asm.copy_register(RSI, RDX)  # the index within `together`
        asm.copy_register(RDI, RAX)
    for position, name in enumerate(_ARRAYS):
        asm.copy_register(RAX, RSI if batch else index)
        asm.multiply(RAX, _at(f"{name}_step"))
        asm.add(RAX, _HOMES[position])
        if batch:
            asm.copy_register(RDX, RDI)
            asm.multiply(RDX, _at(f"{name}_leap"))
            asm.add(RAX, RDX)
        asm.store_register(Address(RSP, None, 16 * position), RAX)
        asm.load_register(RAX, _at(f"{name}_apart"))
        asm.store_register(Address(RSP, None, 16 * position + 8), RAX)


def _layout(array: np.ndarray) -> tuple[int, int] | None:
    """How BLAS reads the matrices of an array: transposed or not, and the stride of rows (or columns) in elements. None if it cannot."""
    rows, columns = array.shape[-2:]
    down, along = array.strides[-2:]
    size = array.itemsize
    if along == size and down >= columns * size and not down % size:
        return _AS_IT_IS, down // size
    if down == size and along >= rows * size and not along % size:
        return _TRANSPOSED, along // size
    return None


class _Plan(NamedTuple):
    """How a product with given shapes and layouts is computed."""

    run: Any
    each: int  # rows, columns or matrices per range
    total: int
    table: bytes
    shape: tuple[int, ...]  # of the result


_plans: dict[Any, _Plan | None] = {}


def product(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray | None:
    """a @ b of matrices, or of batches in one or two dimensions, if it is large enough to split; None if not, or if this BLAS does not allow it.

    `out` must not overlap with the others.
    """
    threads, work = parallel.native_thread_count(), a.size * b.shape[-1]
    if threads < 2 or work < strategies.LEAST_SHARED:
        return None
    given = None if out is None else (out.dtype, out.shape, out.strides)
    key = threads, a.dtype, a.shape, a.strides, b.dtype, b.shape, b.strides, given
    try:
        plan = _plans[key]
    except KeyError:
        if len(_plans) >= strategies.MOST_PLANS:
            _plans.clear()
        plan = _plans[key] = _plan(threads, a, b, out)
    if plan is None or not (a.flags.aligned and b.flags.aligned):
        return None
    if out is None:
        out = np.empty(plan.shape, a.dtype)
    elif not out.flags.behaved:
        return None
    if waiting_threads._working != threads - 1:
        waiting_threads.start(threads - 1)
    with parallel.blas_alone():
        plan.run(plan.each, plan.total, plan.table, a, b, out)
    return out


def _plan(threads: int, a: np.ndarray, b: np.ndarray, out: np.ndarray | None) -> _Plan | None:
    if not 2 <= a.ndim == b.ndim <= 4 or a.dtype != b.dtype or not executable.available():
        return None
    batch, (rows, inner), columns = a.shape[:-2], a.shape[-2:], b.shape[-1]
    shape, function = (*batch, rows, columns), _functions().get(a.dtype)
    if function is None or b.shape != (*batch, inner, columns) or min(rows, inner, columns) < strategies.LEAST_SIZE:
        return None
    result = np.empty(shape, a.dtype) if out is None else out
    layouts = [_layout(array) for array in (a, b, result)]
    first, second, third = layouts
    if first is None or second is None or third is None or third[0] != _AS_IT_IS:
        return None
    if result.shape != shape or result.dtype != a.dtype:
        return None
    count = prod(batch)
    if count > 1:
        cut, total, each = "batch", count, -(-count // (4 * threads))
    else:
        cut, total = ("rows", rows) if rows >= columns else ("columns", columns)
        ranges = threads * (2 if total >= 2 * threads * strategies.LEAST_RANGE else 1)
        each = -(-total // (ranges * _UNIT)) * _UNIT
    numbers = [*function, batch[-1] if batch else 1, rows, columns, inner, first[0], second[0]]
    for which, (layout, array) in enumerate(zip((first, second, third), (a, b, result))):
        numbers += [layout[1], *_steps(array, cut, which)]
    return _Plan(_by(cut), each, total, _pack(*numbers), shape)


def multiply(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """a @ b without BLAS's threads if ours are available: split between them if it is large enough, else in the calling thread."""
    work = a.size * b.shape[-1]
    by_blas = work >= strategies.LEAST_HUGE and parallel.thread_limit() > parallel.MAX_NATIVE_THREADS
    if work >= strategies.LEAST_SHARED and not by_blas:
        result = product(a, b, out)
        if result is None and a.dtype == b.dtype and a.dtype in _FORMS and not (_layout(a) and _layout(b)):
            a, b = [x if _layout(x) else np.ascontiguousarray(x) for x in (a, b)]  # as NumPy does, too
            result = product(a, b, out)
        if result is not None:
            return result
    token = hush()  # overflows, and on ARM spurious divisions by zero
    try:
        if by_blas or parallel.native_thread_count() < 2 or not executable.available():
            return np.matmul(a, b, out)
        with parallel.blas_alone():
            return np.matmul(a, b, out)
    finally:
        unhush(token)


def _steps(array: np.ndarray, cut: str, which: int) -> tuple[int, int]:
    """The stride in bytes to the next row, column or matrix, and to the next group of `together` matrices."""
    strides = array.strides
    if cut == "batch":
        return strides[-3], strides[0] if len(strides) == 4 else 0
    if cut == "rows":
        return (0 if which == 1 else strides[-2]), 0
    return (0 if which == 0 else strides[-1]), 0
