"""Max and average pooling and their transposes, on raw arrays ``(*, *spatial)``: the strategy tables. See kernels/strategy.py."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from operator import floordiv, mod
from typing import Any

import numpy as np

from ..rows import in_float32
from ..strategy import Strategy, apply
from . import kernels, windows
from .kernels import Loops, VectorLoops, compiles, supports
from .windows import (
    NumPyWindows,
    Problem,
    Sizes,
    fractional_max_pool as fractional_max_pool,
    output_sizes as output_sizes,
)

_MOST_TAPS = 16  # elements of a window along a row: vector loops unroll them
_LEAST_COLUMNS = 4  # of a result: with fewer, most of the eight lanes of a vector would be empty
_LEAST_VECTOR_ELEMENTS = 1 << 10  # of an input: for fewer, vectors save less than their scratch memory costs
_MOST_POSITIONS = 1 << 24  # of a plane: float32 represents all of them exactly


def suits_vectors(p: Problem) -> bool:
    """Whether the windows have one size, and rows of windows can be vectorised."""
    if not suits_loops(p) or p.kernel is None:
        return False
    fits = p.kernel[-1] <= _MOST_TAPS and prod(p.sizes) <= _MOST_POSITIONS
    return fits and p.out[-1] >= _LEAST_COLUMNS and prod(p.shape) >= _LEAST_VECTOR_ELEMENTS


def suits_loops(p: Problem) -> bool:
    """Whether there is machine code for the dtype, and any work."""
    return supports(p.dtype) and compiles() and 0 not in p.shape and 0 not in p.out


def _suits_loops_at(does: str, x: np.ndarray, indices: np.ndarray, shape: Sizes, dims: int) -> bool:
    """`suits_loops` for elements at indices."""
    return supports(x.dtype) and indices.dtype == np.int64 and x.size > 0 and indices.size > 0 and compiles()


# fmt: off
WINDOWS = (
    Strategy(suits_vectors, VectorLoops, "2 to 10 times windows one by one; up to 2 times NumPy, 10 times where arrays are small"),
    Strategy(suits_loops, Loops, "10 times NumPy for small arrays; as fast or twice as fast for large ones"),
    Strategy(None, NumPyWindows, "every dtype and machine"),
)
AT_INDICES = (
    Strategy(_suits_loops_at, kernels.at_indices, "2 to 6 times NumPy"),
    Strategy(None, windows.at_indices, "every dtype and machine; tells which index is outside"),
)
# fmt: on


@lru_cache(256)
def _sliding(shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool, include_pad: bool,
             dtype: Any) -> Any:  # fmt: skip
    out = output_sizes(shape[-len(kernel) :], kernel, stride, padding, dilation, ceil_mode)
    problem = Problem(shape, out, kernel, stride, padding, dilation, include_pad, dtype)
    return apply(WINDOWS, problem)


@lru_cache(256)
def _even(shape: Sizes, out: Sizes, dtype: Any) -> Any:
    sizes, ones = shape[-len(out) :], (1,) * len(out)
    problem = Problem(shape, out, None, ones, (0,) * len(out), ones, False, dtype)
    if 0 not in out and not any(map(mod, sizes, out)):
        kernel = tuple(map(floordiv, sizes, out))
        problem = problem._replace(kernel=kernel, stride=kernel)
    return apply(WINDOWS, problem)


@in_float32
def max_pool(
    x: np.ndarray, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
) -> tuple[np.ndarray, np.ndarray]:
    """The largest element of each window, and its int64 index in the flattened plane.

    The first of equal elements wins, and a NaN wins over everything (the last NaN, if there are several).

    >>> import numpy as np
    >>> max_pool(np.array([[[1.0, 3.0, 2.0, 2.0]]]), (2,), (2,), (0,), (1,), False)
    (array([[[3., 2.]]]), array([[[1, 2]]]))
    """
    return _sliding(x.shape, kernel, stride, padding, dilation, ceil_mode, False, x.dtype).max_pool(x)


@in_float32
def adaptive_max_pool(x: np.ndarray, output_size: Sizes) -> tuple[np.ndarray, np.ndarray]:
    """The largest element of each of the windows that divide a plane evenly, and its index in the flattened plane."""
    return _even(x.shape, output_size, x.dtype).max_pool(x)


@in_float32
def max_pool_backward(grad: np.ndarray, indices: np.ndarray, input_shape: Sizes, dims: int) -> np.ndarray:
    """Add each gradient to the element it came from: the transpose of picking the elements at `indices`."""
    return apply(AT_INDICES, "add", grad, indices, input_shape, dims)


def pick(x: np.ndarray, indices: np.ndarray, dims: int) -> np.ndarray:
    """The elements of each plane at the flat `indices`: the transpose of `max_pool_backward` and of `max_unpool`."""
    return apply(AT_INDICES, "read", x, indices, indices.shape, dims)


def max_unpool(x: np.ndarray, indices: np.ndarray, output_size: Sizes) -> np.ndarray:
    """Zeros, with each element of `x` written at its index in the flattened plane; of equal indices the last wins.

    >>> import numpy as np
    >>> max_unpool(np.array([[[3.0, 2.0]]]), np.array([[[1, 2]]]), (4,))
    array([[[0., 3., 2., 0.]]])
    """
    dims = len(output_size)
    return apply(AT_INDICES, "write", x, indices, (*x.shape[:-dims], *output_size), dims)


@in_float32
def avg_pool(
    x: np.ndarray, kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool, count_include_pad: bool,
    divisor_override: int | None = None,
) -> np.ndarray:  # fmt: skip
    """The mean of each window.

    >>> import numpy as np
    >>> avg_pool(np.array([[[1.0, 3.0, 2.0, 2.0]]]), (2,), (2,), (0,), False, True)
    array([[[2., 2.]]])
    """
    ones = (1,) * len(kernel)
    plan = _sliding(x.shape, kernel, stride, padding, ones, ceil_mode, count_include_pad, x.dtype)
    return plan.avg_pool(x, divisor_override)


@in_float32
def avg_pool_backward(
    grad: np.ndarray, input_shape: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, ceil_mode: bool,
    count_include_pad: bool, divisor_override: int | None = None,
) -> np.ndarray:  # fmt: skip
    """The transpose of `avg_pool`."""
    ones = (1,) * len(kernel)
    plan = _sliding(input_shape, kernel, stride, padding, ones, ceil_mode, count_include_pad, grad.dtype)
    return plan.avg_pool_backward(grad, divisor_override)


@in_float32
def adaptive_avg_pool(x: np.ndarray, output_size: Sizes) -> np.ndarray:
    """The mean of each of the windows that divide a plane evenly.

    >>> import numpy as np
    >>> adaptive_avg_pool(np.array([[[1.0, 2.0, 6.0]]]), (2,))
    array([[[1.5, 4. ]]])
    """
    return _even(x.shape, output_size, x.dtype).avg_pool(x, None)


@in_float32
def adaptive_avg_pool_backward(grad: np.ndarray, input_shape: Sizes, dims: int) -> np.ndarray:
    """The transpose of `adaptive_avg_pool`."""
    plan = _even(tuple(input_shape), grad.shape[-dims:], grad.dtype)
    return plan.avg_pool_backward(grad, None)
