"""Native kernels on small arrays, called in as few steps as can be.

Note [Small arrays in machine code]
NumPy takes more than half a microsecond for each of its functions, however few the elements; a native kernel takes about one for all
that it does. So what needs several of NumPy's calls is done in machine code on small arrays of float32 and float64 too. A kernel is compiled when
it is first used, which takes some milliseconds, and from the first call on: results must not depend on how often
something was called before.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from .. import native
from ..compiler.rows import Rows
from ..compiler.trace import define_flat, define_total
from ..norm.kernels import _mean_and_variance
from . import available, kernel
from .traced import kernel_of, run_kernel

SMALL = 1 << 12  # elements; from here on, how a kernel is called matters less
_FLOAT, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_KINDS = {_FLOAT: "float32", _DOUBLE: "float64"}
_runs: dict[Any, Any] = {}  # by body and what it holds: the compiled function, or None if there is none


def _held(body: Callable[..., None]) -> tuple[Any, ...] | None:
    """What makes a body what it is, as the key of a table; None if that is not easily told. See `signature` in traced.py."""
    cells = body.__closure__  # type: ignore[attr-defined]
    if cells is None:
        return ()
    held = []
    for cell in cells:
        value = cell.cell_contents
        kind = type(value)
        if kind is FunctionType:
            if value.__closure__ is not None or value.__defaults__ is not None:
                return None
            value = value.__code__
        elif kind is float:
            if not value:
                value = repr(value)  # 0.0 and -0.0 are one key
            elif value != value:
                return None
        elif kind is not int and kind is not bool and value is not None:
            return None
        held.append(value)
    return tuple(held)


def _run_of(define: Any, body: Any, arrays: int, numbers: int, kind: str = "float32") -> Any:
    held = _held(body)
    if held is None or body.__defaults__ is not None:
        return None
    key = (body.__code__, define, arrays, numbers, kind, *held)
    try:
        return _runs[key]
    except KeyError:
        kinds: Any = (kind,) * arrays if define is define_flat else arrays
        made = kernel_of(define, body, kinds, numbers) if available() else None
        _runs[key] = run = None if made is None or made.partial else made.run
        return run


def _suited(arrays: tuple[np.ndarray, ...], size: int, dtype: np.dtype[Any]) -> tuple[np.ndarray, ...] | None:
    """The arrays, contiguous all, if they are of this dtype and size. A gradient of one element may be one of NumPy's
    numbers, which is no array: its memory must not be read as one."""
    scattered = False
    for array in arrays:
        if array.dtype != dtype or array.size != size:
            return None
        scattered |= type(array) is not np.ndarray or not array.flags.c_contiguous
    if size >= SMALL and (scattered or not native.available()):
        return None  # it may be one number everywhere, which needs no copy
    return tuple([np.ascontiguousarray(array) for array in arrays]) if scattered else arrays


def elementwise(
    body: Callable[..., None], arrays: tuple[np.ndarray, ...], numbers: tuple[float, ...] = ()
) -> np.ndarray | None:
    """What `body(*arrays, out, *numbers)` writes to `out`, which is as large as each of the arrays, of float32 or float64, of as few elements as one thread does;
    None if there is no machine code, or not for such arrays."""
    first = arrays[0]
    size, dtype = first.size, first.dtype
    plain = _suited(arrays, size, dtype) if size else None
    kind = _KINDS.get(dtype)
    run = None if plain is None or kind is None else _run_of(define_flat, body, len(arrays) + 1, len(numbers), kind)
    if run is None or plain is None:
        return None
    out = np.empty(first.shape, dtype)
    run(0, size, *plain, out, *numbers)
    return out


def of_doubles(body: Callable[..., None], x: np.ndarray) -> np.ndarray | None:
    """What `body(x, out)` writes to `out` for a contiguous array of float64, of any size; None if there is no machine code, or if it cannot tell
    all values (Note [Partial functions] in compiler/math.py)."""
    key = (body.__code__, "doubles", *(_held(body) or ()))
    try:
        made = _runs[key]
    except KeyError:
        simple = _held(body) is not None and available()
        _runs[key] = made = kernel_of(define_flat, body, ("float64", "float64"), 0) if simple else None
    if made is None or not x.size or x.dtype != _DOUBLE or type(x) is not np.ndarray:
        return None
    out = np.empty(x.shape, _DOUBLE)
    if x.size < SMALL:
        made.run(0, x.size, x, out)
    else:
        run_kernel(made, (x, out), (), ())
    if made.partial and has_nan(out):
        return None
    return out


def has_nan(x: np.ndarray) -> bool:
    """Whether there is NaN among these floats."""
    if x.size >= SMALL:
        return bool(np.isnan(x).any())
    square = np.vdot(x, x)  # NaN then and only then, and found by one call
    return bool(square != square)


def total(body: Callable[..., None], arrays: tuple[np.ndarray, ...]) -> float | None:
    """The sum of what `body(*arrays, out)` would write to `out`; None if there is no machine code."""
    size = arrays[0].size
    plain = _suited(arrays, size, _FLOAT) if size else None
    run = None if plain is None else _run_of(define_total, body, len(arrays), 0)
    if run is None or plain is None:
        return None
    out = np.empty(1, _FLOAT)
    run(0, 1, size, *plain, out)
    return out.item()


def run_over_rows(define: Callable[..., None]) -> Any:
    """The compiled function of a kernel over rows: call it with 0, the number of rows and of columns, and the arrays.
    None if this machine has no native kernels."""
    try:
        return _runs[define]
    except KeyError:
        _runs[define] = run = kernel(define).run if available() else None
        return run


def _broadcast(b: Rows) -> None:
    """The mean and the variance of each row."""
    x, mean, variance = b.array(), b.per_row(), b.per_row()
    columns = b.number()
    middle, square = _mean_and_variance(b, x, columns())
    mean.put(middle)
    variance.put(square)


def spreads(x: np.ndarray, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray] | None:
    """The mean and the variance of each of so many rows of a contiguous float32 array; None if there is no machine code."""
    run = run_over_rows(_broadcast)
    if (
        run is None
        or x.dtype != _FLOAT
        or x.size != rows * columns
        or not x.flags.c_contiguous
        or type(x) is not np.ndarray
    ):
        return None
    mean, variance = np.empty(rows, _FLOAT), np.empty(rows, _FLOAT)
    run(0, rows, columns, x, mean, variance, columns)
    return mean, variance
