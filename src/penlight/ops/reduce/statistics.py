"""Variance and standard deviation, with or without the mean; sums that skip NaN, aminmax, covariance."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.user_warnings import warn_user
from ...kernels.lazy import lazy_import
from ...kernels.numpy_warnings import silent
from ...tensor import Tensor
from ..machinery import dispatch
from ..machinery.arguments import check_keepdim, sizes, values_of, wrap_dim, wrap_dims
from ..machinery.declare import differentiable, in_float32, method, warning_free
from ..machinery.guards import lazy, not_implemented
from ..machinery.op import traits
from .extremes import _share
from .sums import _FLOAT32, _add_reduce, _count, _mean_array, in_out, named_result

__all__ = ["aminmax", "corrcoef", "cov", "nanmean", "nansum", "std", "std_mean", "var", "var_mean"]

# ----- Variance and standard deviation --------------------------------------------------------------------------------


_row_moments = lazy("norm.kernels", "row_moments")


def _of_rows(input: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    """The mean and the variance over the last dimensions of a small float32 array, and the shape of the result; None in other cases."""
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
    """Whether a single-precision variance is not finite: the squares or their sum may overflow float32."""
    if input.dtype.char not in "fF":
        return False
    return not (math.isfinite(variance.item()) if variance.size == 1 else np.isfinite(variance).all())


_ROUNDING = 64 * float(np.finfo(np.float64).eps)  # the relative error of the mean of equal values


def _zero_of_equals(input: Any, dim: tuple[int, ...], keepdim: bool, variance: Any) -> Any:
    """The variance in double precision, with 0 where all elements are equal: their mean has a rounding error, and no wider dtype is available."""
    if input.dtype.char not in "dD" or not input.size:
        return variance
    first = input[tuple([slice(1) if d in dim else slice(None) for d in range(input.ndim)])]
    with silent():
        bound = np.square(np.abs(first) * _ROUNDING).reshape(np.shape(variance))
        if not ((variance > 0) & (variance <= bound)).any():
            return variance
    return np.where((input == first).all(dim, keepdims=keepdim), 0.0, variance)


def in_double_precision(input: Any, dim: tuple[int, ...], correction: Any, keepdim: bool) -> tuple[Any, Any]:
    """The variance and the mean of single-precision values, computed in double precision."""
    wide = input.astype(np.result_type(input.dtype, np.float64))
    count = _count(input.shape, dim)
    with silent():
        mean = wide.sum(dim, keepdims=True) / np.asarray(count, np.float64)
        squares = np.square(np.abs(wide - mean)).sum(dim, keepdims=keepdim)
        variance = squares / np.asarray(max(count - correction, 0), np.float64)
    return variance, mean if keepdim else mean.reshape(squares.shape)


def _variance(measure: Any) -> Any:
    """A kernel of the variance, or of a function of it (its root)."""

    @in_float32
    def kernel(input: Any, dim: tuple[int, ...], correction: Any, keepdim: bool) -> Any:
        variance = _zero_of_equals(input, dim, keepdim, np.asarray(_quick_variance(input, dim, correction, keepdim)))
        if overflowed(input, variance):
            return measure(in_double_precision(input, dim, correction, keepdim)[0]).astype(variance.dtype)
        return measure(variance)

    return kernel


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
    if free <= 0 and (type(dim) is _AllDims or not shape):
        steep = xp.cast(xp.where(input == mean, math.nan, math.inf), xp.np_dtype(input))
        return xp.broadcast_back(grad, shape, dim, keepdim) * steep
    scale, centred = 2.0 / free if free else math.inf, input - mean
    return xp.factor_back(xp.times(grad, scale), shape, dim, keepdim or type(dim) is _AllDims) * centred


class _AllDims(tuple[int, ...]):
    """All dimensions, used when none were given: `_saved_dim` is then None, as in PyTorch."""

    __slots__ = ()


class _One(int):
    """The correction when neither it nor dimensions were given: `_saved_correction` is then None."""

    __slots__ = ()


_all_dims = cache(lambda count: _AllDims(range(count)))
_ONE = _One(1)
AS_GIVEN = traits(
    hides=("dim", "correction"),
    shows={
        "dim": property(lambda node: None if type(node.s_dim) is _AllDims else node.s_dim),
        "correction": property(lambda node: None if node.s_correction is _ONE else node.s_correction),
    },
)


@differentiable(_variance(np.asarray), node="VarBackward0", input=_var_rule)
@AS_GIVEN
def _var(input: Tensor, dim: tuple[int, ...], correction: Any, keepdim: bool) -> Tensor: ...


def _through_root(grad: Any, deviation: Any, xp: Any) -> Any:
    """The gradient of a variance, given that of its root; 0 where all elements are equal."""
    return xp.cleared(grad / xp.times(deviation, 2), deviation == 0)


def _std_rule(grad: Any, input: Any, result: Any, dim: tuple[int, ...], correction: Any, keepdim: bool, xp: Any) -> Any:
    return _var_rule(_through_root(grad, result, xp), input, dim, correction, keepdim, xp)


@differentiable(_variance(np.sqrt), node="StdBackward0", input=_std_rule)
@AS_GIVEN
def _std(input: Tensor, dim: tuple[int, ...], correction: Any, keepdim: bool) -> Tensor: ...


def _variance_arguments(name: str, input: Tensor, dim: Any, unbiased: Any, correction: Any, keepdim: Any) -> Any:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    check_keepdim(keepdim, name)
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError("std and var only support floating point and complex dtypes")
    if correction is None:
        correction = int(unbiased) if unbiased is not None else _ONE if dim is None else 1
    dims = _all_dims(input.dim()) if dim is None else wrap_dims(dim, input.dim())
    if _count(input._array.shape, dims) <= correction:
        warn_user(
            f"{name}(): degrees of freedom is <= 0. Correction should be strictly less than the reduction factor (input numel "
            "divided by output numel)."
        )  # fmt: skip
    return dims, correction, keepdim


@method
def var(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The variance; divides by the count minus `correction` (1 by default).

    >>> torch.var(torch.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    return _var(input, *_variance_arguments("var", input, dim, unbiased, correction, keepdim), out=out)


@method
def std(
    input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The standard deviation; the square root of `var`.

    >>> torch.std(torch.tensor([1.0, 2.0, 3.0]))
    tensor(1.)
    """
    return _std(input, *_variance_arguments("std", input, dim, unbiased, correction, keepdim), out=out)


_angles = lazy_import(globals(), "_angles", "..pointwise.complex")


_MOST_SMALL = 4096  # elements, up to which no blocks are needed
_var_mean_kernel, _nansum_kernel = lazy("reduce", "var_mean"), lazy("reduce", "nansum")

# ----- Variance and mean --------------------------------------------------------------------------------------------


def _with_mean(measure: Any) -> Any:
    """A kernel of the variance, or of a function of it, and the mean."""

    @warning_free
    def kernel(input: Any, dim: tuple[int, ...], correction: Any, keepdim: bool) -> Any:
        found, mean = _quick_var_mean(input, dim, correction, keepdim)
        found = _zero_of_equals(input, dim, keepdim, found)
        if not overflowed(input, found):
            return measure(found), mean
        variance, mean = in_double_precision(input, dim, correction, keepdim)
        mean = np.where(np.isfinite(mean), mean, np.nan)  # PyTorch sums differences: that of an infinity is NaN
        return measure(variance).astype(found.dtype), mean.astype(input.dtype)

    return kernel


@warning_free
def _quick_var_mean(input: Any, dim: tuple[int, ...], correction: Any, keepdim: bool) -> Any:
    found = _of_rows(input, dim, keepdim)
    if found is not None:
        mean, variance, shape = found
        count = _count(input.shape, dim)
        variance *= count / (count - correction) if count > correction else np.inf
        return variance.reshape(shape), mean.reshape(shape)
    if 0 < input.size <= _MOST_SMALL and input.dtype.char in "fd":
        count = _count(input.shape, dim)
        if len(dim) == input.ndim and not keepdim:
            mean = _add_reduce(input, None) / count
            centred = (input - mean).reshape(-1)
            return centred.dot(centred) / max(count - correction, 0), mean
        mean = _add_reduce(input, dim, keepdims=True) / count
        centred = input - mean
        total = _add_reduce(centred * centred, dim, keepdims=keepdim)
        variance = total / np.asarray(max(count - correction, 0), total.dtype)
        return variance, mean if keepdim else np.asarray(mean).reshape(np.shape(variance))
    return _var_mean_kernel(input, dim, correction, keepdim)


def _through_mean(grad: Any, shape: tuple[int, ...], dim: tuple[int, ...], keepdim: bool, xp: Any) -> Any:
    return xp.average(grad, _count(shape, dim) or 1, shape, dim, keepdim or type(dim) is _AllDims)


def _sum_of_present(first: Any, second: Any) -> Any:
    return second if first is None else first if second is None else first + second


def _var_mean_rule(grads: Any, input: Any, dim: tuple[int, ...], correction: Any, keepdim: bool, xp: Any) -> Any:
    through_var = None if grads[0] is None else _var_rule(grads[0], input, dim, correction, keepdim, xp)
    through_mean = None if grads[1] is None else _through_mean(grads[1], tuple(input.shape), dim, keepdim, xp)
    return _sum_of_present(through_var, through_mean)


def _std_mean_rule(
    grads: Any, input: Any, dim: tuple[int, ...], correction: Any, keepdim: bool, result0: Any, xp: Any
) -> Any:
    of_var = None if grads[0] is None else _through_root(grads[0], result0, xp)
    return _var_mean_rule([of_var, grads[1]], input, dim, correction, keepdim, xp)


@differentiable(_with_mean(np.asarray), node="VarMeanBackward0", results=("result0", "result1"), input=_var_mean_rule)
@AS_GIVEN
def _var_mean(input: Tensor, dim: tuple[int, ...], correction: Any, keepdim: bool) -> tuple[Tensor, Tensor]: ...


@differentiable(_with_mean(np.sqrt), node="StdMeanBackward0", results=("result0", "result1"), input=_std_mean_rule)
@AS_GIVEN
def _std_mean(input: Tensor, dim: tuple[int, ...], correction: Any, keepdim: bool) -> tuple[Tensor, Tensor]: ...


def _both_of(name: str, run: Any, input: Tensor, *arguments: Any) -> tuple[Tensor, Tensor]:
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"{name} only support floating point and complex dtypes")
    return run(input, *_variance_arguments(name, input, *arguments))


def var_mean(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The variance and the mean.

    >>> torch.var_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    return _both_of("var_mean", _var_mean, input, dim, unbiased, correction, keepdim)


def std_mean(input: Tensor, dim: Any = None, unbiased: Any = None, keepdim: bool = False, *, correction: Any = None) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The standard deviation and the mean.

    >>> torch.std_mean(torch.tensor([1.0, 2.0, 3.0]))
    (tensor(1.), tensor(2.))
    """
    return _both_of("std_mean", _std_mean, input, dim, unbiased, correction, keepdim)


# ----- Without NaN --------------------------------------------------------------------------------------------------


def _nansum_array(input: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    if input.dtype.kind in "biu":
        return input.sum(axis=dim, keepdims=keepdim, dtype=np.int64)
    if input.dtype.itemsize >= 4 and input.size <= _MOST_SMALL:
        return _add_reduce(input, dim, keepdims=keepdim, where=input == input)
    return _nansum_kernel(input, dim, keepdim)


def _nansum_rule(grad: Any, input: Any, dim: tuple[int, ...], keepdim: bool, xp: Any) -> Any:
    return xp.broadcast_back(grad, tuple(input.shape), dim, keepdim) * xp.cast(~xp.isnan(input), xp.np_dtype(grad))


@differentiable(_nansum_array, node="NansumBackward0", input=_nansum_rule)
@traits(refuses={"c": RuntimeError("nansum on CPU does not support complex inputs")})
def _nansum(input: Tensor, dim: tuple[int, ...], keepdim: bool) -> Tensor: ...


@method
def nansum(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """The sum of the elements that are not NaN, of all or over dimensions.

    >>> torch.nansum(torch.tensor([1.0, float("nan"), 2.0]))
    tensor(3.)
    """
    dtype = dtypes.given(dtype)
    check_keepdim(keepdim, "nansum")
    if out is not None:
        if input.is_floating_point() and not out.is_floating_point():
            raise not_implemented("nansum_cpu", out.dtype.np)
        return in_out("nansum", out, dtype, lambda kind: nansum(input, dim, keepdim, dtype=kind))
    if dtype is None or dtype.category >= dtypes.FLOATING:
        return _nansum(input if dtype is None else input.to(dtype), wrap_dims(dim, input.dim()), keepdim)
    return _nansum(input.to(dtype), wrap_dims(dim, input.dim()), keepdim).to(dtype)


@method
def nanmean(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """The mean of the elements that are not NaN, of all or over dimensions.

    >>> torch.nanmean(torch.tensor([1.0, float("nan"), 2.0]))
    tensor(1.5000)
    """
    dtype = dtypes.given(dtype)
    check_keepdim(keepdim, "nanmean")
    if input.dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {dtypes.LEGACY[input.dtype]}"
        )
    if out is not None and not out.is_floating_point():
        raise not_implemented("nansum_cpu", out.dtype.np)
    total = nansum(input, dim, keepdim, dtype=dtype)
    count = (~input.detach().isnan()).sum(dim, keepdim)
    result = total / count
    return dispatch.given("nanmean", result, out)


# ----- Extremes together --------------------------------------------------------------------------------------------


def _aminmax_array(input: Any, dim: Any, keepdim: bool) -> Any:
    least, greatest = np.minimum.reduce, np.maximum.reduce
    return least(input, axis=dim, keepdims=keepdim), greatest(input, axis=dim, keepdims=keepdim)  # type: ignore[call-overload]


def _aminmax_rule(grads: Any, input: Any, dim: Any, keepdim: bool, min: Any, max: Any, xp: Any) -> Any:
    dims = tuple(range(len(input.shape))) if dim is None else (dim,) if input.shape else ()
    low = None if grads[0] is None else _share(grads[0], input, min, dims, keepdim, xp)
    high = None if grads[1] is None else _share(grads[1], input, max, dims, keepdim, xp)
    return _sum_of_present(low, high)


@differentiable(_aminmax_array, node="AminmaxBackward0", results=("min", "max"), input=_aminmax_rule)
@traits(refuses={"c": "aminmax_cpu"})
def _aminmax(input: Tensor, dim: int | None, keepdim: bool) -> tuple[Tensor, Tensor]: ...


_Aminmax = named_result("aminmax", "min max")


@method
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False, out: Any = None) -> Any:
    """The smallest and the largest element, of all or along a dimension.

    >>> torch.aminmax(torch.tensor([1, 3, 2])).max
    tensor(3)
    """
    if dim is None and input.numel() == 0:
        raise RuntimeError(
            "aminmax(): cannot compute aminmax over an empty dimension as the operation has no identity."
        )
    axis = None if dim is None else wrap_dim(dim, input.dim())
    if axis is not None and input.dim() and input.shape[axis] == 0:
        raise IndexError(f"aminmax: Expected reduction dim {axis} to have non-zero size.")
    return _Aminmax(*_aminmax(input, axis if input.dim() else None, keepdim, out=out))


# ----- Covariance ---------------------------------------------------------------------------------------------------


def _observation_weights(weights: Tensor | None, name: str, count: int, integral: bool) -> None:
    if weights is None:
        return
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.dim()} dimensions"
        )
    if (weights.dtype.category == dtypes.INTEGRAL) != integral:
        wanted = "integral" if integral else "floating point"
        raise RuntimeError(
            f"cov(): expected {name} to have {wanted} dtype but got {name} with {dtypes.LEGACY[weights.dtype]} dtype"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got "
            f"{weights.numel()} != {count}"
        )
    if weights.numel() and not values_of(weights).min() >= 0:  # nor NaN
        raise RuntimeError(f"cov(): {name} cannot be negative")


@method
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariance matrix of variables (rows) over observations (columns), optionally weighted.

    >>> torch.cov(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )
    if input.dtype is dtypes.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    table = input.view(1, -1) if input.dim() < 2 else input
    count = table.shape[1]
    _observation_weights(fweights, "fweights", count, True)
    _observation_weights(aweights, "aweights", count, False)
    weights = aweights if fweights is None else fweights if aweights is None else fweights * aweights
    size: Any
    total: Any = None if weights is None else weights.sum()
    if total is not None and (values_of(total) == 0).any():
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    if weights is None or (count == 1 and weights is aweights):  # the weight of a single observation does not matter
        weights = None
        mean, size = table.sum(1) / count, count - correction
    else:
        mean = (table * weights).sum(1) / total
        size = total - (correction if aweights is None else correction * (weights * aweights).sum() / total)
    if size <= 0:
        warn_user(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations."
        )
        size = max(size, 0) if not isinstance(size, Tensor) else size.clamp(min=0)
    centred = table - mean.unsqueeze(1)
    products = centred.mm((centred if weights is None else centred * weights).t().conj())
    return (products / size).squeeze()


@method
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of variables (rows) over observations (columns).

    >>> torch.corrcoef(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )
    covariance = cov(input)
    if covariance.dim() == 0:
        return covariance / covariance
    variances = covariance.diagonal()
    deviation = (variances.real if variances.is_complex() else variances).sqrt()
    result = covariance / deviation.view(-1, 1) / deviation.view(1, -1)
    if not result.is_complex():
        return result.clamp(-1, 1)
    return _angles.complex(result.real.clamp(-1, 1), result.imag.clamp(-1, 1))


# ----- Sums to a shape ----------------------------------------------------------------------------------------------


@method
def sum_to_size(input: Tensor, *args: Any, size: Any = None) -> Tensor:
    """The sum over the dimensions that broadcasting from `size` would add or expand.

    >>> torch.ones(2, 3).sum_to_size(1, 3)
    tensor([[2., 2., 2.]])
    """
    target = sizes(args if size is None else (size,), "sum_to_size")
    extra = input.dim() - len(target)
    shape = tuple(input.shape)
    if extra < 0 or any(n not in (1, m) for n, m in zip(target, shape[extra:])):
        raise RuntimeError(f"size {{{list(target)}}} is not expandable to size {{{list(shape)}}}.")
    wide = tuple(range(extra)) + tuple(d for d in range(extra, input.dim()) if target[d - extra] == 1 and shape[d] != 1)
    if not target:
        return input.sum()
    summed = input.sum(wide, keepdim=True) if wide else input
    return summed.view(target) if extra > 0 else summed
