"""From how many elements on elementwise work is given to machine code, to blocks, or to threads. See Note [Elementwise work]."""

from __future__ import annotations

from typing import Any

import numpy as np

# Elements; below, not even the costliest ufunc gains from a second thread, and cheap ones nothing from machine code
LARGE = 1 << 15
HALVES = 1 << 10  # elements of 16-bit floats, which NumPy converts one by one
COSTLY = 1 << 12  # elements of a rule that calls more than one machine instruction for each
# Elements of 16-bit floats whose results are looked up: making a table takes as long as computing 65,536 elements
LEAST_LOOKED_UP = 1 << 12
MOST_TABLES = 64  # that are kept, of 128 KB each
MOST_ASKED = 1 << 10  # functions without a table, whose elements are counted
# Elements of a kernel with 16-bit floats, and of an optimiser's update: below, NumPy rounds and does them
COMPILED = 1 << 12
OUTER = 1 << 17  # elements of two operands, multiplied; below, the result is small, or as large as one of them
BLOCK = 1 << 16  # elements of a block in NumPy: a result and a temporary of them fit in a second-level cache
# Elements, of which NumPy selects by a mask faster than by bits: Note [Selecting without branches]
FEW_SELECTED = 1 << 10
FASTER_FROM = 1 << 9  # elements of float32, from which on the Python calls in faster_ufuncs.py pay
MOST_SUMMED = 1 << 13  # elements along a row that are summed in float32 on the way; longer rows lose digits
SUMMED = 1 << 12  # elements that are summed in float32 where all are: those sums are added in float64
LEAST_COLUMNS = 32  # elements of a row: shorter ones cost more in loops than in arithmetic, so NumPy does them
# Offsets of rows that are kept; more are computed each time, in a small part of the time that the rows take
MOST_OFFSETS = 1 << 14
MOST_PLANS = 4096  # plans that are kept; one for each layout of operands that are not contiguous
MOST_VARIANTS = 64  # kernels of one function that differ in the scalars that it looks at

# Threads: how many elements are worth waking one for.
GRAIN, CHEAP_GRAIN = 1 << 15, 1 << 16  # of machine code: of a kernel of more than LONG operations, of a shorter one
LONG = 40  # operations; a kernel of fewer waits for memory most of the time
NUMPY_GRAIN = LARGE // 2  # of NumPy's costly ufuncs, and of rules
# Of ufuncs that are one machine instruction: they wait for memory, which a second thread does not speed up
CHEAP_NUMPY_GRAIN = 1 << 20

# From how many contiguous elements of one shape on machine code is faster than NumPy's loop, by how slow that is: Note [Native kernels]. NumPy does
# ufuncs that are not here, except on 16-bit floats. One instruction is as fast in NumPy until threads share it; operands that broadcast gain from
# LARGE on.
COMPILED_FROM: dict[Any, int] = {
    **dict.fromkeys((np.expm1, np.log1p, np.exp2, np.log2, np.log10, np.tan, np.arcsin, np.arccos, np.arctan, np.arctan2), 1 << 10),
    **dict.fromkeys((np.sinh, np.cosh, np.arcsinh, np.arccosh, np.arctanh, np.copysign), 1 << 10),
    **dict.fromkeys((np.tanh,), 1 << 12),
    **dict.fromkeys((np.exp, np.log, np.power), 1 << 13),
    **dict.fromkeys((np.sin, np.cos), 1 << 14),
    **dict.fromkeys((np.logical_not, np.logical_and, np.logical_or, np.logical_xor), LARGE),
    **dict.fromkeys((np.add, np.subtract, np.multiply, np.divide, np.negative, np.square, np.abs, np.reciprocal, np.sqrt), 1 << 17),
    **dict.fromkeys((np.maximum, np.minimum), 1 << 17),
}  # fmt: skip

# Ufuncs that are one machine instruction in NumPy.
CHEAP = frozenset(
    (np.add, np.subtract, np.multiply, np.divide, np.negative, np.maximum, np.minimum, np.abs, np.square, np.less, np.greater)
    + (np.less_equal, np.greater_equal, np.equal, np.not_equal, np.positive, np.sign, np.rint, np.floor, np.ceil, np.trunc)
    + (np.reciprocal, np.sqrt, np.logical_not, np.isfinite, np.isnan, np.isinf)
)  # fmt: skip

# Ufuncs that NumPy computes in float32 for float16; in others it looks at bits.
IN_SINGLE = (COMPILED_FROM.keys() | CHEAP) - {
    np.negative, np.positive, np.abs, np.sign, np.isfinite, np.isnan, np.isinf, np.copysign,
    np.logical_not, np.logical_and, np.logical_or, np.logical_xor,
}  # fmt: skip


def least_size(kernel: Any) -> int:
    """From how many elements on an op gives its kernel, a ufunc or a function that `one_pass` marked, to `apply`."""
    if type(kernel) is not np.ufunc:
        return int(kernel.one_pass)
    return min(COMPILED_FROM.get(kernel, LARGE), LARGE)
