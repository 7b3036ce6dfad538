"""a * b + c with one rounding, of contiguous arrays of float32 or float64. The same in NumPy: kernels/fma.py."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ..compiler.rows import Rows
from ..compiler.values import fma
from . import kernel, over_elements

_SMALL = 1 << 12  # elements; from here on, how a kernel is called matters less


@lru_cache(4)
def _run_of(define: Any, kind: np.dtype[Any]) -> Any:
    return kernel(define, flat=True, kind=kind.name).run


def scaled_and_shifted(a: np.ndarray, b: float, c: float) -> np.ndarray:
    """a * b + c for numbers b and c."""
    out = np.empty(a.shape, a.dtype)
    if a.size < _SMALL:
        _run_of(_with_numbers, a.dtype)(0, a.size, a, out, b, c)
    else:
        over_elements(_with_numbers, a, out, numbers=(b, c), kind=a.dtype.name)
    return out


def scaled_and_added(a: np.ndarray, b: float, c: np.ndarray) -> np.ndarray:
    """a * b + c for a number b and an array as large as a."""
    out = np.empty(a.shape, a.dtype)
    if a.size < _SMALL:
        _run_of(_with_array, a.dtype)(0, a.size, a, c, out, b)
    else:
        over_elements(_with_array, a, c, out, numbers=(b,), kind=a.dtype.name)
    return out


def _with_numbers(rows: Rows, kind: str) -> None:
    a, out = rows.array(kind=kind), rows.array(kind=kind)
    b, c = rows.number(), rows.number()
    rows.each(lambda: out.store(fma(a.load(), b(), c())))


def _with_array(rows: Rows, kind: str) -> None:
    a, c, out = rows.array(kind=kind), rows.array(kind=kind), rows.array(kind=kind)
    b = rows.number()
    rows.each(lambda: out.store(fma(a.load(), b(), c.load())))
