"""Scalar operands of tensors, as arrays.

# Note [Numbers as arrays]
NumPy needs nearly as long to convert a Python scalar to an array as for the rest of a small op. So the arrays of common
scalars (2, 0.5, a learning rate) are cached, in one table per dtype, which the generated functions consult first. Zero is
never cached, because 0.0 and -0.0 are the same key.

# Note [Numbers beside 16-bit floats]
PyTorch multiplies and divides 16-bit floats by a scalar in float32: the scalar is not rounded to 16 bits, and 70000 is not infinite.
So for these ops (`full_scalars`) the scalar, or a 0-d tensor, becomes a float32 array, and the result, which NumPy
widens, is narrowed; so is the gradient. Other ops round the scalar first, as PyTorch does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...autograd.modes import NAMESPACE

NUMBERS: dict[Any, dict[Any, Any]] = {d.np: {} for d in (dtypes.float16, dtypes.float32, dtypes.float64)}
_INTEGERS = (dtypes.int64, dtypes.int32, dtypes.int16, dtypes.int8, dtypes.uint8)
BESIDE_INT: dict[Any, dict[Any, Any]] = {**NUMBERS, **{d.np: {} for d in _INTEGERS}}  # for int scalars
NUMBERS_IN_FULL = {dtype: table for dtype, table in NUMBERS.items() if dtype.itemsize > 2}
BESIDE_INT_IN_FULL = {dtype: table for dtype, table in BESIDE_INT.items() if dtype.itemsize > 2 or dtype.kind in "iu"}
_MOST = 1000  # the largest number of entries per table

# These run in the namespace of the generated code, so that a scalar too large for its dtype becomes inf without a warning.
exec(
    "def make_number(value, table, dtype):\n"
    "    try: made = asarray(value, dtype)\n"
    "    except OverflowError: return None\n"
    "    keep_number(value, table, made)\n"
    "    return made\n",
    NAMESPACE,
)


def keep_number(value: Any, table: dict[Any, Any], made: np.ndarray[Any, Any]) -> None:
    if value == 0:
        return
    if len(table) >= _MOST:
        table.clear()
    made.flags.writeable = False
    table[value] = made


NAMESPACE.update(
    NUMBERS=NUMBERS,
    BESIDE_INT=BESIDE_INT,
    NUMBERS_IN_FULL=NUMBERS_IN_FULL,
    BESIDE_INT_IN_FULL=BESIDE_INT_IN_FULL,
    NUMBERS32=NUMBERS[dtypes.float32.np],
    keep_number=keep_number,
)
