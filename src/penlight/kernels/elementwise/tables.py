"""Functions of one 16-bit float as tables of all their results, where no machine code runs.

Note [Functions as tables]
NumPy converts 16-bit floats one after the other, and each function of them takes four to twelve passes. There are 65,536 such floats. So a function of
one array, whose other arguments are numbers, is computed for each of them once it has been asked for enough of them, and looked up from then on: one
pass, whatever the function. The table is what the function gives for an array of all floats, so results do not depend on which way they took.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..copies.convert import is_half
from ..numpy_warnings import silent
from ..rows import each_block
from .plans import signature
from .strategies import LEAST_LOOKED_UP, MOST_ASKED, MOST_TABLES

_BLOCK = 1 << 15  # elements, whose indices stay in the cache
_NOT_MADE = np.empty(0)
_tables: dict[Any, np.ndarray | None] = {}
_asked: dict[Any, int] = {}  # for how many elements, of functions that have no table yet


def looked_up(
    function: Any, values: tuple[Any, ...], compute: Callable[[Any, tuple[Any, ...]], Any] | None = None
) -> np.ndarray | None:
    """function(*values), or compute(function, values), by a table; None if that is no function of one contiguous array of 16-bit floats, or of too few so far."""
    x = values[0]
    if type(x) is not np.ndarray or not is_half(x.dtype) or not x.flags.c_contiguous:
        return None
    others = values[1:]
    try:
        key = signature(function), x.dtype, signature(others)
        table = _tables.get(key, _NOT_MADE)
        if table is _NOT_MADE:
            asked = _asked.pop(key, 0) + x.size
            if asked < LEAST_LOOKED_UP:
                if len(_asked) >= MOST_ASKED:
                    _asked.clear()
                _asked[key] = asked
                return None
            if len(_tables) >= MOST_TABLES:
                _tables.clear()
            every = np.arange(1 << 16, dtype=np.uint16).view(x.dtype)
            with silent():  # among them are signalling NaN
                made = function(every, *others) if compute is None else compute(function, (every, *others))
            table = _tables[key] = made if type(made) is np.ndarray and made.shape == every.shape else None
    except TypeError:  # an argument that cannot be looked up: another array
        return None
    if table is None:
        return None
    out = np.empty(x.shape, table.dtype)
    flat, indices = out.reshape(-1), x.reshape(-1).view(np.uint16)

    def look_up(part: slice) -> None:
        table.take(indices[part], out=flat[part], mode="clip")  # of all modes the one without a copy of the result

    each_block(look_up, x.size, 1, block=_BLOCK)
    return out
