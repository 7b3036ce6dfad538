"""Sums, products and extrema of large arrays, of all elements or along rows, by native kernels.

Note [Folds in pieces]
One long sum in float32 loses digits, so all elements are folded as rows of `_PIECE` of them, each of which has 64 partial sums, and
NumPy folds the pieces' results. A row that is longer is cut likewise, if it is a multiple of a piece. See Note [Native kernels].
"""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from .convert import cast

FROM = 1 << 14  # elements; below, NumPy's own reductions take no longer
_PIECE = 1 << 12
_FLOAT = np.dtype(np.float32)
_OF: dict[str, Any] = {
    "squares": np.square,
    "size": np.abs,
    "numbers": lambda x: np.where(np.isnan(x), _FLOAT.type(0), x),
}
_UFUNCS = {"sum": np.add, "product": np.multiply, "largest": np.maximum, "smallest": np.minimum}


@lru_cache(None)
def _kernel(how: str, of: str, dtype: np.dtype[Any]) -> Any:
    """The kernel, or None if there is none for this dtype."""
    from . import native
    from .native import reduce, traced

    kind = traced.kind_of(dtype)
    return None if kind is None else native.kernel(reduce.row_folds, fold=how, of=of, kind=kind)


def fold(
    x: np.ndarray, how: str, dims: tuple[int, ...] | None = None, keepdim: bool = False, of: str = ""
) -> np.ndarray | None:
    """The "sum", "product", "largest" or "smallest" over `dims`, or of all elements; None if there is no kernel for that.

    The result is float32, also of 16-bit floats. `of` is "", "squares", "size" or "numbers". Where there is NaN, it is the extremum.
    """
    if x.size < FROM or not x.flags.c_contiguous:
        return None
    if x.dtype.itemsize > 4 or x.dtype.kind not in "fV":
        return None
    from . import native

    if not native.available():
        return None
    kernel = _kernel(how, of, x.dtype)
    if kernel is None:
        return None
    shape = x.shape
    if dims is None or len(dims) == x.ndim:
        total = _whole(x, how, of, kernel)
        return total.reshape((1,) * x.ndim) if keepdim else total
    lead = x.ndim - len(dims)
    if dims != tuple(range(lead, x.ndim)):
        return _down_columns(x, dims, keepdim) if how == "sum" and not of else None
    rows, columns = prod(shape[:lead]), prod(shape[lead:])
    pieces = columns // _PIECE or 1
    if columns < 8 or (pieces > 1 and columns % _PIECE) or (kernel.narrow and columns % 8):
        return None
    out = np.empty(shape[:lead] + ((1,) * len(dims) if keepdim else ()), _FLOAT)
    if pieces == 1:
        _run(kernel, rows, columns, x, out)
        return out
    parts = np.empty((rows, pieces), _FLOAT)
    _run(kernel, rows * pieces, _PIECE, x, parts)
    _UFUNCS[how].reduce(parts, 1, out=out.reshape(rows))
    return out


def _down_columns(x: np.ndarray, dims: tuple[int, ...], keepdim: bool) -> np.ndarray | None:
    """The sum over the first dimensions of float32; see Note [Sums over rows]."""
    from . import native
    from .native import reduce

    count = len(dims)
    rows, columns = prod(x.shape[:count]), prod(x.shape[count:])
    if dims != tuple(range(count)) or columns < 8 or x.dtype != _FLOAT:
        return None
    sums = native.sums((rows, columns))
    native.over_rows(reduce.column_sums, (rows, columns), x, sums)
    return native.summed(sums).reshape((1,) * count + x.shape[count:] if keepdim else x.shape[count:])


def _run(kernel: Any, rows: int, columns: int, x: np.ndarray, out: np.ndarray) -> None:
    kernel.over(rows, -(-kernel.grain // columns), columns, id(x), id(out))


def _whole(x: np.ndarray, how: str, of: str, kernel: Any) -> np.ndarray:
    """The fold of all elements; their last few, which fill no piece, by NumPy if they do not even fill vectors."""
    rows, rest = divmod(x.size, _PIECE)
    parts = np.empty(rows + (rest > 0), _FLOAT)
    _run(kernel, rows, _PIECE, x, parts)
    if rest:
        tail = x.reshape(-1)[-rest:]
        if kernel.narrow and rest % 8:
            tail = cast(tail, _FLOAT)
            tail = _OF[of](tail) if of else tail
            parts[rows] = _UFUNCS[how].reduce(tail)
        else:
            last = parts[rows:]
            kernel.run(0, 1, rest, id(tail), id(last))
    return np.asarray(_UFUNCS[how].reduce(parts))
