"""Variance and standard deviation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.user_warnings import warn_user
from ...kernels.numpy_warnings import silent
from ...tensor import Tensor
from ..machinery.arguments import check_keepdim, wrap_dims
from ..machinery.declare import differentiable, method, warning_free
from ..machinery.guards import lazy
from ..machinery.half_precision import in_float32
from .sums import _FLOAT32, _add_reduce, _count, _mean_array

__all__ = ["std", "var"]

_MOST_SMALL = 4096  # elements
_row_moments = lazy("norm.kernels", "row_moments")


def _of_rows(input: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    """The mean and the variance over the last dimensions of a small float32 array, and the shape of the result; None for any other."""
    shape = input.shape
    last = len(shape) - len(dim)
    if (
        input.dtype is not _FLOAT32
        or not 0 < input.size <= _MOST_SMALL
        or dim != tuple(range(last, len(shape)))
        or not dim
    ):
        return None
    count = _count(shape, dim)
    found = _row_moments(input, input.size // count, count)
    return None if found is None else (*found, shape[:last] + (1,) * (len(dim) if keepdim else 0))


def overflowed(input: Any, variance: Any) -> bool:
    """Whether the variance of single-precision numbers is not finite: their squares or their sum may be too large for float32."""
    if input.dtype.char not in "fF":
        return False
    return not (math.isfinite(variance.item()) if variance.size == 1 else np.isfinite(variance).all())


def in_double_precision(input: Any, dim: tuple[int, ...], correction: Any, keepdim: bool) -> tuple[Any, Any]:
    """The variance and the mean of single-precision numbers in double precision."""
    wide = input.astype(np.result_type(input.dtype, np.float64))
    count = _count(input.shape, dim)
    with silent():
        mean = wide.sum(dim, keepdims=True) / np.asarray(count, np.float64)
        squares = np.square(np.abs(wide - mean)).sum(dim, keepdims=keepdim)
        variance = squares / np.asarray(max(count - correction, 0), np.float64)
    return variance, mean if keepdim else mean.reshape(squares.shape)


@in_float32
def _var_array(input: Any, dim: tuple[int, ...], correction: Any, keepdim: bool) -> Any:
    variance = np.asarray(_quick_variance(input, dim, correction, keepdim))
    if overflowed(input, variance):
        variance = in_double_precision(input, dim, correction, keepdim)[0].astype(variance.dtype)
    return variance


@warning_free
def _quick_variance(input: Any, dim: tuple[int, ...], correction: Any, keepdim: bool) -> Any:
    count = _count(input.shape, dim)
    found = _of_rows(input, dim, keepdim)
    if found is not None:
        variance = found[1]
        variance *= count / (count - correction) if count > correction else np.inf
        return variance.reshape(found[2])
    if dim == (0,) and input.ndim == 2 and input.size <= _MOST_SMALL and input.dtype is _FLOAT32:
        variance = _quick_variance(np.ascontiguousarray(input.T), (1,), correction, False)
        return variance[None] if keepdim else variance
    centred = input - _mean_array(input, dim, True)
    squares = np.square(centred) if input.dtype.kind != "c" else (centred * centred.conj()).real
    total = _add_reduce(squares, dim, keepdims=keepdim)
    return total / np.asarray(max(count - correction, 0), total.dtype)


def _var_rule(grad: Any, input: Any, dim: tuple[int, ...], correction: Any, keepdim: bool, xp: Any) -> Any:
    shape = tuple(input.shape)
    free = _count(shape, dim) - correction
    mean = xp._mean_dims(input, dim, True)
    if free <= 0 and len(dim) == len(shape):
        steep = xp.cast(xp.where(input == mean, math.nan, math.inf), xp.np_dtype(input))
        return xp.broadcast_back(grad, shape, dim, keepdim) * steep
    scale, centred = 2.0 / free if free else math.inf, input - mean
    return xp.broadcast_back(grad * scale, shape, dim, keepdim) * centred


@differentiable(_var_array, node="VarBackward0", input=_var_rule)
def _var(input: Tensor, dim: tuple[int, ...], correction: Any, keepdim: bool) -> Tensor: ...


def _std_rule(grad: Any, input: Any, result: Any, dim: tuple[int, ...], correction: Any, keepdim: bool, xp: Any) -> Any:
    """Through the variance; where all elements are equal the gradient is 0."""
    inner = grad / xp.where(result == 0, math.inf, result * 2)
    return _var_rule(inner, input, dim, correction, keepdim, xp)


@in_float32
def _std_array(input: Any, dim: tuple[int, ...], correction: Any, keepdim: bool) -> Any:
    variance = np.asarray(_quick_variance(input, dim, correction, keepdim))
    if overflowed(input, variance):
        return np.sqrt(in_double_precision(input, dim, correction, keepdim)[0]).astype(variance.dtype)
    return np.sqrt(variance)


@differentiable(_std_array, node="StdBackward0", input=_std_rule)
def _std(input: Tensor, dim: tuple[int, ...], correction: Any, keepdim: bool) -> Tensor: ...


def _variance_arguments(name: str, input: Tensor, dim: Any, unbiased: Any, correction: Any, keepdim: Any) -> Any:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    check_keepdim(keepdim, name)
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    dims = wrap_dims(dim, input.dim())
    if _count(input._array.shape, dims) <= correction:
        warn_user(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
            "divided by output numel)."
        )  # fmt: skip
    return dims, correction, keepdim


@method
def var(
    input: Tensor,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The variance; divides by the count less `correction` (1 unless told otherwise).

    >>> torch.var(torch.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    return _var(input, *_variance_arguments("var", input, dim, unbiased, correction, keepdim), out=out)


@method
def std(
    input: Tensor,
    dim: Any = None,
    unbiased: Any = None,
    keepdim: bool = False,
    *,
    correction: Any = None,
    out: Tensor | None = None,
) -> Tensor:
    """The standard deviation; the square root of `var`.

    >>> torch.std(torch.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    return _std(input, *_variance_arguments("std", input, dim, unbiased, correction, keepdim), out=out)
