"""Sums, products and extrema of large arrays over any dimensions, by native kernels: see native/folds.py."""

from __future__ import annotations

from typing import Any

import numpy as np

FROM = 1 << 14  # elements; below, NumPy's own reductions take no longer
_load: Any = None


def fold(
    x: np.ndarray, how: str, dims: tuple[int, ...] | None = None, keepdim: bool = False, of: str = ""
) -> np.ndarray | None:
    """The "sum", "product", "largest" or "smallest" over `dims`, or of all elements; None if there is no kernel for that.

    The result is float32 also of 16-bit floats, and int64 of whole numbers, of which there are sums only. `of` is "", "squares", "size" or
    "numbers", which are those that are not NaN. Where there is NaN, it is the extremum.
    """
    global _load
    if x.size < FROM:
        return None
    if _load is None:
        from .native import folds as _load
    return _load.fold(x, how, dims, keepdim, of)  # type: ignore[no-any-return]
