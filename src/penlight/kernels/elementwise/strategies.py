"""Thresholds: from which size on elementwise work goes to machine code, blocks, or threads. See Note [Elementwise work]."""

from __future__ import annotations

from typing import Any

import numpy as np

# Elements; below, not even the costliest ufunc gains from a second thread, and cheap ufuncs gain nothing from machine code
LARGE = 1 << 15
HALVES = 1 << 10  # elements of 16-bit floats, which NumPy converts one by one
COSTLY = 1 << 12  # elements of a rule that takes more than one machine instruction for each
# Elements of 16-bit floats from which on a lookup table pays: making it takes as long as computing 65,536 elements
LEAST_LOOKED_UP = 1 << 12
MOST_TABLES = 64  # lookup tables that are cached, of 128 KB each
MOST_ASKED = 1 << 10  # functions without a table, whose elements are counted
# Elements of a kernel with 16-bit floats, and of an optimiser's update: below, NumPy does the work
COMPILED = 1 << 12
# Elements of a dot product of float32; a longer one loses digits, and takes longer than blocks of it
LONG_DOT = 1 << 17
OUTER = 1 << 17  # product of two operands' sizes; below, the result is small, or as large as one of them
BLOCK = 1 << 16  # elements of a block in NumPy: a result and a temporary of them fit in a second-level cache
# Elements up to which NumPy selects faster by a mask than by bits: Note [Selecting without branches]
FEW_SELECTED = 1 << 10
FASTER_FROM = 1 << 9  # elements of float32, from which on the Python calls in faster_ufuncs.py pay
MOST_SUMMED = 1 << 13  # elements along a row that are summed in float32; longer rows lose digits
SUMMED = 1 << 12  # elements per float32 sum in a sum of everything: those sums are added in float64
LEAST_COLUMNS = 32  # elements of a row: in shorter ones the loop costs more than the arithmetic, so NumPy does them
# Row offsets that are cached; more are computed each time, in a small part of the rows' time
MOST_OFFSETS = 1 << 14
MOST_PLANS = 4096  # plans that are cached; one for each layout of non-contiguous operands
MOST_VARIANTS = 64  # kernels of one function that branches on scalars, one for each of their values

# Elements per thread, at least.
GRAIN, CHEAP_GRAIN = 1 << 15, 1 << 16  # of machine code: kernels of more than LONG operations, and shorter ones
LONG = 40  # operations; a kernel with fewer is limited by memory
NUMPY_GRAIN = LARGE // 2  # of NumPy's costly ufuncs, and of rules
# Of ufuncs that are one machine instruction: they are limited by memory, which a second thread does not speed up
CHEAP_NUMPY_GRAIN = 1 << 20

# The number of contiguous elements from which on machine code beats NumPy's loop, by the slowness of that loop:
# Note [Native kernels]. NumPy runs ufuncs that are not listed, except on 16-bit floats. A single instruction is as fast in NumPy
# until threads share it; operands that broadcast gain from LARGE on.
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

# Ufuncs that NumPy computes in float32 for float16; others work on bits.
IN_SINGLE = (COMPILED_FROM.keys() | CHEAP) - {
    np.negative, np.positive, np.abs, np.sign, np.isfinite, np.isnan, np.isinf, np.copysign,
    np.logical_not, np.logical_and, np.logical_or, np.logical_xor,
}  # fmt: skip


def least_size(kernel: Any) -> int:
    """The least number of elements for which an op passes its kernel, a ufunc or a function marked by `one_pass`, to `apply`."""
    if type(kernel) is not np.ufunc:
        return int(kernel.one_pass)
    return min(COMPILED_FROM.get(kernel, LARGE), LARGE)
