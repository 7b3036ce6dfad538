"""SciPy's special functions, used if it is installed and there is no machine code: for small arrays they are up to 60 times as fast as ours.

The results differ from ours by rounding. At poles, at NaN and where results overflow the libraries differ by more, so SciPy is called only if all elements
lie in intervals in which both are known to agree (tests/kernels/test_by_scipy.py).
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from math import inf
from typing import Any, NamedTuple

import numpy as np

from . import MOST_BY_SCIPY

Array = np.ndarray


class Function(NamedTuple):
    """SciPy's version of a function: its name (or a function that makes it from `scipy.special`), the intervals of its arguments, and the number of elements up to which it is faster."""

    name: str | Callable[[Any], Callable[..., Array]]
    intervals: tuple[tuple[float, float], ...]
    most: float = MOST_BY_SCIPY


def _upper_gamma(special: Any) -> Callable[..., Array]:
    """gammaincc through gammainc, which takes a twentieth of the time if the first argument is small."""

    def run(a: Array, x: Array) -> Array:
        if a.shape != x.shape:
            a, x = np.broadcast_arrays(a, x)
        lower = special.gammainc(a.astype(np.float64), x)
        upper = np.asarray(1.0 - lower)
        inexact = lower > 0.9  # no `where=`: SciPy's functions then write outside of it
        upper[inexact] = special.gammaincc(a[inexact], x[inexact])
        return upper.astype(a.dtype, copy=False)

    return run


FUNCTIONS = {
    "i0": Function("i0", ((-80.0, 80.0),)),
    "i0e": Function("i0e", ((-500.0, 500.0),)),
    "i1": Function("i1", ((-80.0, 80.0),)),
    "i1e": Function("i1e", ((-500.0, 500.0),)),
    "modified_bessel_i0": Function("i0", ((-80.0, 80.0),)),
    "modified_bessel_i1": Function("i1", ((-80.0, 80.0),)),
    "modified_bessel_k0": Function("k0", ((1e-3, 80.0),)),
    "modified_bessel_k1": Function("k1", ((1e-3, 80.0),)),
    "scaled_modified_bessel_k0": Function("k0e", ((1e-3, 500.0),)),
    "scaled_modified_bessel_k1": Function("k1e", ((1e-3, 500.0),)),
    "bessel_j0": Function("j0", ((-100.0, 100.0),), inf),
    "bessel_j1": Function("j1", ((-100.0, 100.0),), inf),
    "bessel_y0": Function("y0", ((1e-3, 100.0),), inf),
    "bessel_y1": Function("y1", ((1e-3, 100.0),), inf),
    "erf": Function("erf", ((-6.0, 6.0),), 256),
    "erfc": Function("erfc", ((-6.0, 20.0),), 256),
    "erfinv": Function("erfinv", ((-0.999, 0.999),)),
    "ndtri": Function("ndtri", ((1e-6, 1 - 1e-6),), inf),
    "log_ndtr": Function("log_ndtr", ((-50.0, 10.0),)),
    "digamma": Function("digamma", ((1e-3, 1e6),), inf),
    "gammaln": Function("gammaln", ((1e-3, 1e6),), 256),
    "entr": Function("entr", ((1e-3, 1e3),), 256),
    "gammainc": Function("gammainc", ((1e-3, 100.0), (1e-3, 100.0)), inf),
    "gammaincc": Function(_upper_gamma, ((1e-3, 100.0), (1e-3, 100.0))),
    "zeta": Function("zeta", ((1.01, 15.0), (1e-2, 1e3)), inf),
    "airy_ai": Function("airy", ((-10.0, 10.0),), inf),
    "erfcx": Function("erfcx", ((-5.0, 500.0),)),
    "xlogy": Function("xlogy", ((-1e3, 1e3), (1e-3, 1e3)), 256),
    "xlog1py": Function("xlog1py", ((-1e3, 1e3), (1e-3, 1e3)), 256),
}


def instead(name: str, ours: Callable[..., Array]) -> Callable[..., Array]:
    """A function that calls SciPy's version if the arguments fit it, otherwise ours; ours alone if there is no SciPy or no version."""
    row = FUNCTIONS.get(name)
    if row is None or find_spec("scipy") is None:
        return ours
    try:
        special = import_module("scipy.special")
        theirs = getattr(special, row.name) if type(row.name) is str else row.name(special)  # type: ignore[operator]
    except Exception:  # imports fail while the interpreter shuts down
        return ours

    def run(*arrays: Array) -> Array:
        if not _fits(row, arrays):
            return ours(*arrays)
        made = theirs(*arrays)
        return np.asarray(made[0] if type(made) is tuple else made, order="C")  # `airy` returns Ai first

    run.__name__ = name
    return run


def _fits(row: Function, arrays: tuple[Any, ...]) -> bool:
    """Whether the arrays have one dtype, float32 or float64, and all elements lie in the intervals."""
    kind = arrays[0].dtype
    if kind.char not in "fd":
        return False
    for array, (low, high) in zip(arrays, row.intervals, strict=True):
        if array.dtype != kind or not 0 < array.size <= row.most:
            return False
        if not (
            np.minimum.reduce(array, None) >= low and np.maximum.reduce(array, None) <= high
        ):  # also if there is a NaN
            return False
    return True
