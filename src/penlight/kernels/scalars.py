"""Functions of scalars, applied to arrays element by element.

Note [Functions of scalars]
A function such as the incomplete gamma function takes other steps for other numbers: another formula in each region,
and of a series as many terms as it takes. It is written down once, as a Python function of scalars, and `elementwise`
marks it; the compiler makes a kernel of it when it is first applied (Note [What a kernel may say] in
compiler/python.py). Where no machine code runs, few elements are given to the function itself, one after the other, as
Python's floats (which are float64). For more of them, and where Python raises an error instead of giving an infinity or NaN, the compiler's
interpreter runs the same kernel in NumPy, for all elements at once (Note [Iterations as threads] in
compiler/interpret.py).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from itertools import repeat
from typing import Any

import numpy as np

from .call import Unfit
from .lazy import lazy_import
from .numpy_warnings import silent
from .special import MOST_IN_PYTHON
from .waiting_threads import over

load = lazy_import(globals(), "load", ".compiler.load")
ir = lazy_import(globals(), "ir", ".compiler.ir")

Array = np.ndarray
FUNCTIONS: list[Any] = []  # all that `elementwise` has marked
_GRAIN = 1 << 13  # elements that are worth a thread


def elementwise(function: Any, in_dtype: bool = False) -> Any:
    """Mark a function of scalars that is applied to arrays. It is computed in float64."""
    function.in_dtype = in_dtype
    FUNCTIONS.append(function)
    return function


def elementwise_in_dtype(function: Any) -> Any:
    """The same for a function that is computed in the dtype of its arrays."""
    return elementwise(function, True)


def wide(function: Any) -> Any:
    """Mark a part of such a function that is computed in float64 all the same."""
    function.wide = True
    return function


_entries: dict[Any, Any] = {}


def _entry(function: Any, char: str) -> Any:
    """The kernel of a function for arrays of float32 ("f") or float64 ("d")."""
    key = function, char
    found = _entries.get(key)
    if found is None:
        found = _entries[key] = load.elementwise(function, *types_of(function, char))
    return found


def types_of(function: Any, char: str) -> tuple[Any, Any]:
    """The types of its elements, and of what it computes."""
    element = ir.F32 if char == "f" else ir.F64
    return element, element if function.in_dtype else ir.F64


def apply(function: Callable[..., float], *arrays: Array) -> Array:
    """`function(*scalars)` for the elements of arrays that broadcast; the result has their dtype."""
    first = arrays[0]
    for array in arrays:
        if array.shape:
            first = array
            break
    shape, count, char = first.shape, first.size, first.dtype.char
    steps = []
    for array in arrays:
        steps.append(1 if array.shape == shape else 0)
        if array.shape != shape and array.shape != ():
            return _converted(function, arrays)
    if not count or char not in "fd":
        return _converted(function, arrays)
    try:
        return _run(function, char, count, shape, arrays, steps)
    except Unfit:
        return _converted(function, arrays)


def _run(
    function: Callable[..., float], char: str, count: int, shape: tuple[int, ...], arrays: Any, steps: list[int]
) -> Array:
    run = _entry(function, char)
    if run.address is None and count <= MOST_IN_PYTHON and (char == "d" or not function.in_dtype):  # type: ignore[attr-defined]
        made = _one_by_one(function, char, count, shape, arrays, steps)
        if made is not None:
            return made
    if count < 2 * _GRAIN or run.address is None:
        return run(0, count, shape, *arrays, *steps)
    return over(run, count, _GRAIN, shape, *arrays, *steps)


def _one_by_one(
    function: Callable[..., float], char: str, count: int, shape: tuple[int, ...], arrays: Any, steps: list[int]
) -> Array | None:
    """The function itself for each element; None if it raises an error for one of them."""
    columns = [array.ravel().tolist() if step else repeat(array.item(), count) for array, step in zip(arrays, steps)]
    try:
        with silent():
            values = list(map(function, *columns))
    except (ArithmeticError, ValueError):
        return None
    return np.array(values, char).reshape(shape)


def _converted(function: Callable[..., float], arrays: tuple[Array, ...]) -> Array:
    """The same of all that is not simple: several shapes or dtypes, halves, bytes in another order, arrays with gaps,
    NumPy's scalars, nothing."""
    dtype, shape = np.result_type(*arrays), np.broadcast_shapes(*[array.shape for array in arrays])
    kind = np.dtype(np.float64 if dtype == np.float64 else np.float32)
    count = math.prod(shape)
    if not count:
        return np.empty(shape, dtype)
    columns = [
        np.array(array if array.size == 1 else np.broadcast_to(array, shape), kind, order="C") for array in arrays
    ]
    steps = [0 if column.size == 1 else 1 for column in columns]
    return _run(function, kind.char, count, shape, columns, steps).astype(dtype, copy=False)


@lru_cache(None)
def constant(value: float, dtype: np.dtype) -> Array:
    """A number that all elements share, as an array."""
    return np.full((), value, dtype)
