"""Matrix products by BLAS, shared between the threads that wait in machine code.

Note [One set of threads]
OpenBLAS has threads of its own. After a product they wait for the next one in a loop, for some 25 milliseconds, and leave their
processors to nobody meanwhile, our helpers (_pool.py) included: after each product, kernels would be on their own. So large products
are cut here, into ranges of rows or columns or of a batch, and each of our threads calls BLAS for its own ranges. BLAS is told to use one
thread as long as that takes. What is too small to be shared runs in one thread anyway.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from typing import Any

import numpy as np

from .. import parallel
from . import _pages, _pool
from ._x86 import R8, R9, R12, R13, RAX, RBX, RCX, RDI, RDX, RSI, RSP, Address, Assembler

SHARED_FROM = 1 << 20  # multiplications: some 20 microseconds
_CUTS = "rows", "columns", "batch"
_LEAST = 8  # rows, columns and inner size; smaller ones are other functions of BLAS
_UNIT = 16  # ranges of rows and columns are multiples of that, as are BLAS's own
_LONG = 256  # rows or columns of a range that is worth another one
_ROW_ORDER, _STRAIGHT, _TURNED = 101, 111, 112  # BLAS's words

# The table that describes a product. A factor's and the result's `_step` is to the next row, column or matrix, `_leap` to the next
# `together` matrices of a batch.
_TABLE = ["function", "one", "together", "rows", "columns", "inner", "first_turned", "second_turned"]
_TABLE += [f"{array}{what}" for array in ("first", "second", "result") for what in ("", "_apart", "_step", "_leap")]
_PLACES = {name: 8 * i for i, name in enumerate(_TABLE)}
_pack = Struct(f"<{len(_TABLE) + 4}q").pack  # with room, since a vector is read at `one`
_FORMS = {"f4": ("scipy_cblas_sgemm64_", 0x3F800000), "f8": ("scipy_cblas_dgemm64_", 0x3FF0000000000000)}
_SAVED = (RBX, R12, R13)


@lru_cache(1)
def _functions() -> dict[str, tuple[int, int]]:
    """For each dtype the address of BLAS's product with 64-bit sizes, and the bits of 1; nothing if NumPy has another BLAS."""
    import ctypes

    try:
        from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

        library = ctypes.CDLL(_multiarray_umath.__file__)
        return {
            code: (ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0, one)
            for code, (name, one) in _FORMS.items()
        }
    except (ImportError, OSError, AttributeError):
        return {}


@lru_cache(len(_CUTS))
def _by(cut: str) -> Any:
    """`run(step, total, table)`: the product, by ranges of so many rows, columns, or matrices of a batch."""
    asm = Assembler()
    low, high = R12, R13
    for register in _SAVED:
        asm.push(register)
    asm.copy_register(low, RDI)
    asm.copy_register(high, RSI)
    asm.copy_register(RBX, RDX)
    asm.label("next")
    asm.add_number(RSP, -48)
    _write_places(asm, low, cut == "batch")
    asm.zero(RDI)
    asm.add_number(RDI, _ROW_ORDER)
    for register, name in (
        (RSI, "first_turned"),
        (RDX, "second_turned"),
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
    asm.add_number(RSP, 48)
    if cut == "batch":
        asm.add_number(low, 1)
        asm.compare_numbers(low, high)
        asm.jump("next", "less")
    for register in reversed(_SAVED):
        asm.pop(register)
    asm.leave()
    return _pool.shared(_pages.load_kernel(asm.finish(), 3, 0).address, 3, 0)


def _at(name: str) -> Address:
    return Address(RBX, None, _PLACES[name])


def _write_places(asm: Assembler, index: int, batch: bool) -> None:
    """Put on the stack where the factors and the result begin, and how far their rows are apart: BLAS's last arguments."""
    if batch:
        asm.copy_register(RAX, index)
        asm.load_register(RCX, _at("together"))
        asm.divide(RCX)
        asm.copy_register(RSI, RDX)  # which of those that lie together
        asm.copy_register(RDI, RAX)
    for place, name in enumerate(("first", "second", "result")):
        asm.copy_register(RAX, RSI if batch else index)
        asm.multiply(RAX, _at(f"{name}_step"))
        asm.load_register(RCX, _at(name))
        asm.add(RAX, Address(RCX, None, _pages.DATA_OFFSET))
        if batch:
            asm.copy_register(RDX, RDI)
            asm.multiply(RDX, _at(f"{name}_leap"))
            asm.add(RAX, RDX)
        asm.store_register(Address(RSP, None, 16 * place), RAX)
        asm.load_register(RAX, _at(f"{name}_apart"))
        asm.store_register(Address(RSP, None, 16 * place + 8), RAX)


def _layout(array: np.ndarray) -> tuple[int, int] | None:
    """How BLAS reads the matrices of an array: which way, and how many elements rows (or columns) are apart. None if it cannot."""
    rows, columns = array.shape[-2:]
    down, along = array.strides[-2:]
    size = array.itemsize
    if along == size and down >= columns * size and not down % size:
        return _STRAIGHT, down // size
    if down == size and along >= rows * size and not along % size:
        return _TURNED, along // size
    return None


def product(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray | None:
    """a @ b of matrices, or of batches of them in one or two dimensions, if it is worth sharing; None if it is not, or not here.

    `out` must not overlap with the others.
    """
    batch, (rows, inner), columns = a.shape[:-2], a.shape[-2:], b.shape[-1]
    count = 1
    for n in batch:
        count *= n
    if count * rows * inner * columns < SHARED_FROM or min(rows, inner, columns) < _LEAST:
        return None
    threads = parallel.thread_count()
    code = a.dtype.str[1:]
    if threads < 2 or len(batch) > 2 or a.dtype is not b.dtype or code not in _FORMS or not _pages.available():
        return None
    function = _functions().get(code)
    first, second = _layout(a), _layout(b)
    if function is None or first is None or second is None or b.shape[:-1] != (*batch, inner):
        return None
    result = np.empty((*batch, rows, columns), a.dtype) if out is None else out
    third = _layout(result)
    if third is None or third[0] != _STRAIGHT or result.shape != (*batch, rows, columns) or result.dtype is not a.dtype:
        return None
    if not (a.flags.aligned and b.flags.aligned and result.flags.behaved):
        return None
    if count > 1:
        cut, total, each = "batch", count, -(-count // (4 * threads))
    else:
        cut, total = ("rows", rows) if rows >= columns else ("columns", columns)
        ranges = threads * (2 if total >= 2 * threads * _LONG else 1)
        each = -(-total // (ranges * _UNIT)) * _UNIT
    steps = [_steps(x, cut, i) for i, x in enumerate((a, b, result))]
    table = _pack(
        *function, batch[-1] if batch else 1, rows, columns, inner, first[0], second[0], id(a), first[1], *steps[0], id(b), second[1],
        *steps[1], id(result), third[1], *steps[2], 0, 0, 0, 0,
    )  # fmt: skip
    _pool.step(total, 1)  # starts the helpers
    with parallel.blas_alone():
        _by(cut)(each, total, table)
    return result


def multiply(a: np.ndarray, b: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
    """a @ b, shared between our threads if it is worth it."""
    result = product(a, b, out)
    return np.matmul(a, b, out) if result is None else result


def _steps(array: np.ndarray, cut: str, which: int) -> tuple[int, int]:
    """How many bytes it is to the next row, column or matrix, and to the next matrices that lie together."""
    strides = array.strides
    if cut == "batch":
        return strides[-3], strides[0] if len(strides) == 4 else 0
    if cut == "rows":
        return (0 if which == 1 else strides[-2]), 0
    return (0 if which == 0 else strides[-1]), 0
