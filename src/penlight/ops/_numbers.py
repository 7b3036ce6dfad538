"""Numbers beside tensors, as arrays.

# Note [Numbers as arrays]
NumPy takes nearly as long to make an array of a Python number as for the rest of a small op. So the arrays of the numbers that
programs use (2, 0.5, a learning rate) are kept, in tables by dtype, and the generated functions look there first. Zero is
never kept: 0.0 and -0.0 are one key.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..autograd.modes import NAMESPACE

NUMBERS: dict[Any, dict[Any, Any]] = {d.np: {} for d in (dtypes.float16, dtypes.float32, dtypes.float64)}
BESIDE_INT: dict[Any, dict[Any, Any]] = {**NUMBERS, dtypes.int64.np: {}}  # where the number is an int
_MOST = 1000  # kept in one table

# In the namespace of the generated code, so that a number too large for its dtype becomes inf without a warning.
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


NAMESPACE.update(NUMBERS=NUMBERS, BESIDE_INT=BESIDE_INT, NUMBERS32=NUMBERS[dtypes.float32.np], keep_number=keep_number)
