"""Softmax and log-softmax down the columns of large float32 matrices, by native kernels: pass after pass, each row by row.

See Note [Native kernels]. The same in NumPy: the functions of __init__.py whose names end in `columns`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .. import native
from ..parallel import parallel_for
from ..reduce import reduce_sum
from . import kernels as definitions

_GRAIN = 1 << 17  # elements; the least that is worth waking a thread for


def run(name: str, *arrays: np.ndarray) -> None:
    """Do `name` down the columns of (count, rows, columns) arrays, the result being the last."""
    count, rows, columns = arrays[0].shape
    body = _BODIES[name]

    def each(low: int, high: int) -> None:
        for i in range(low, high):
            body(*[a[i] for a in arrays])

    parallel_for(each, count, -(-_GRAIN // (rows * columns)), blas=False)


def _exponentials(x: np.ndarray, *out: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The largest element of each column and the sum of e^(x - largest), which are written to `out` if that is given."""
    top, total = np.full(x.shape[1], -np.inf, x.dtype), np.zeros(x.shape[1], x.dtype)
    native.in_order(definitions.column_tops, x.shape, x, top)
    native.in_order(definitions.column_exponentials, x.shape, x, top, total, *out, keep=bool(out))
    return top, total


def _softmax(x: np.ndarray, out: np.ndarray) -> None:
    _, total = _exponentials(x, out)
    native.in_order(definitions.column_scaled, x.shape, out, np.reciprocal(total, total))


def _log_softmax(x: np.ndarray, out: np.ndarray) -> None:
    top, total = _exponentials(x)
    native.in_order(definitions.column_shifted, x.shape, x, top, np.log(total, total), out)


def _softmax_backward(y: np.ndarray, grad: np.ndarray, out: np.ndarray) -> None:
    along = np.zeros(y.shape[1], y.dtype)
    native.in_order(definitions.column_products, y.shape, y, grad, along)
    native.in_order(definitions.column_softmax_backward, y.shape, y, grad, along, out)


def _log_softmax_backward(y: np.ndarray, grad: np.ndarray, out: np.ndarray) -> None:
    native.in_order(definitions.column_log_softmax_backward, y.shape, y, grad, reduce_sum(grad, (0,)), out)


_BODIES: dict[str, Callable[..., None]] = {
    "softmax": _softmax,
    "log_softmax": _log_softmax,
    "softmax_backward": _softmax_backward,
    "log_softmax_backward": _log_softmax_backward,
}
