"""The product of a small matrix with one that stays the same for many products, such as the weights of a recurrent layer.

BLAS packs the second matrix for each product, which costs a third of the time if the first has only a few rows. Here it is packed
once, in consecutive row-major panels of sixteen columns (`panels`); if its columns are not a multiple of sixteen, the last
sixteen are one more panel, and some columns are computed twice (`products` takes care of that). The kernel multiplies a panel
with six rows of the first matrix at a time: twelve registers hold their sums, two the panel's row, one a scalar of the first
matrix.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import executable
from ..compiler.asm import ARGUMENTS, R10, R11, R12, R13, R14, R15, RAX, RBP, RBX, RSP, Address, Assembler
from .calls import Argument, Call, Moving
from .products import AHEAD, in_groups, panel_product
from .tables import SEVENTH, count, load_function

WIDTH = 16  # columns of a panel
RDI, RSI, RDX, RCX, R8, R9 = ARGUMENTS
_FRAME = 24  # bytes of the stack
# `rdi` counts rows, `rdx` panels, `rcx` the inner dimension, whose length is in `rsi`. `r15` iterates over the rows of the first
# matrix, `rax` over the panel at `r8`, `rbp` over the rows of the result, whose stride is `rbx` bytes.
_ALL_ROWS, _FIRST, _RESULT = (Address(RSP, None, offset) for offset in (0, 8, 16))


def panels(matrix: np.ndarray) -> np.ndarray:
    """A float32 matrix (inner, at least WIDTH columns), packed for the kernel."""
    inner, columns = matrix.shape
    whole = columns // WIDTH
    result = np.empty((-(-columns // WIDTH), inner, WIDTH), np.float32)
    result[:whole] = matrix[:, : whole * WIDTH].reshape(inner, whole, WIDTH).transpose(1, 0, 2)
    if whole < len(result):
        result[whole] = matrix[:, -WIDTH:]
    return result


def products(first: Argument, arranged: np.ndarray, result: np.ndarray) -> list[Call]:
    """The calls for `repeat` that multiply `first` with a packed matrix, into `result`."""
    rows, columns = result.shape
    inner, whole = arranged.shape[1], columns // WIDTH
    calls: list[Call] = [(product(), [rows, inner, whole, first, arranged, result, columns])]
    if whole < len(arranged):
        ending = Moving(arranged[whole:], 0), Moving(result[:, -WIDTH:], 0)
        calls.append((product(), [rows, inner, 1, first, *ending, columns]))
    return calls


@lru_cache(1)
def product() -> Any:
    """The product with `panels(second)`; the result's row stride is `columns`. Only machine code calls it: calls.py."""
    signature = "rows, inner, panels, first: f32[rows * inner], second: f32, result: strided written f32, columns"
    return load_function(_write, signature)


def _write(asm: Assembler) -> None:
    asm.add_number(RSP, -_FRAME)
    for pointer in (RCX, R8, R9):
        asm.load_register(pointer, Address(pointer, None, executable.DATA_OFFSET))
    asm.store_register(_ALL_ROWS, RDI)
    asm.store_register(_FIRST, RCX)
    asm.store_register(_RESULT, R9)
    asm.copy_register(R10, RSI)
    asm.shift_left(R10, 2)
    for before, after in ((R10, R11), (R11, R12), (R12, R13), (R13, R14)):
        asm.copy_register(after, before)
        asm.add(after, R10)
    asm.load_register(RBX, Address(RSP, None, _FRAME + SEVENTH))
    asm.shift_left(RBX, 2)
    asm.label("panel")
    asm.load_register(R15, _FIRST)
    asm.load_register(RBP, _RESULT)
    asm.load_register(RDI, _ALL_ROWS)
    in_groups(asm, RDI, lambda some: _rows(asm, some))
    asm.copy_register(R8, RAX)
    asm.load_register(R9, _RESULT)
    asm.add_number(R9, 4 * WIDTH)
    asm.store_register(_RESULT, R9)
    count(asm, RDX, "panel")
    asm.add_number(RSP, _FRAME)


def _rows(asm: Assembler, some: int) -> None:
    """Multiply a panel with the next rows."""
    asm.copy_register(RAX, R8)
    asm.copy_register(RCX, RSI)

    def advance() -> None:
        asm.add_number(R15, 4)
        asm.add_number(RAX, 4 * WIDTH)

    panel_product(asm, some, RCX, advance)
    ahead = AHEAD[some - 1]  # the first row has been advanced already
    if ahead is not None:
        asm.add(R15, ahead)
    asm.add_number(RDI, -some)
