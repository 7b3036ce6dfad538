"""Reductions: sums, means, products, all and any, log-sum-exp; and running sums."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from ... import dtypes
from ...autograd import views
from ...autograd.accumulate import writable
from ...kernels.numpy_warnings import silent
from ...kernels.reduce import reduce_sum
from ...kernels.reduce.compiled import reduce_compiled
from ...kernels.reduce.strategies import LEAST_REDUCED
from ...kernels.rows import quiet
from ...kernels.scan import running
from ...kernels.softmax import logsumexp as logsumexp_kernel
from ...return_types import named_result as named_result
from ...tensor import Tensor, wrap
from ..machinery import dispatch
from ..machinery.arguments import check_keepdim, wrap_dim, wrap_dims
from ..machinery.array_namespace import both, shared
from ..machinery.declare import differentiable, in_float32, linear, method, plain, warning_free
from ..machinery.guards import not_implemented
from ..machinery.op import traits
from ..machinery.out import check_out
from ..pointwise.arithmetic import _div_number

__all__ = ["all", "any", "cumsum", "logsumexp", "mean", "prod", "sum"]

# ----- Sums and means -----------------------------------------------------------------------------------------------


@warning_free
def _sum_array(input: Any, dim: tuple[int, ...] | None, keepdim: bool) -> Any:
    dtype = input.dtype
    if input.size >= LEAST_REDUCED:
        total = reduce_compiled(input, "sum", dim, keepdim)
        if total is not None:
            return _to_half(total, dtype) if dtype.itemsize == 2 and dtype.kind in "fV" else total
    if dtype.kind in "biu":
        return input.sum(axis=dim, keepdims=keepdim, dtype=np.int64)
    if dtype.itemsize == 2:  # like `in_float32`, without the extra call for other dtypes
        with silent():  # infinities of both signs
            return _to_half(input.sum(axis=dim, keepdims=keepdim, dtype=np.float32), dtype)
    if input.size > _MANY and _down_columns(input.shape, dim):
        return reduce_sum(input, tuple(range(input.ndim)) if dim is None else dim, keepdim)
    return _add_reduce(input, dim, keepdims=keepdim)


_MANY = 1 << 16  # elements


@np.errstate(over="ignore")
def _to_half(total: Any, dtype: Any) -> Any:
    """A float32 sum as a 16-bit float; infinite if it overflows."""
    return total.astype(dtype)


def _down_columns(shape: tuple[int, ...], dim: tuple[int, ...] | None) -> bool:
    """Whether a sum runs over many rows: NumPy adds them sequentially, so rounding errors accumulate."""
    if not dim or len(shape) - 1 in dim:
        return False
    rows: int = math.prod(shape[d] for d in dim)
    return rows > 4096


def _broadcast_back_array(grad: Any, shape: tuple[int, ...], dim: tuple[int, ...], keepdim: bool) -> Any:
    """A reduced gradient expanded over the reduced dimensions, as a writable broadcast."""
    if type(grad) is not np.ndarray or not grad.flags.writeable:
        grad = writable(grad)
    if not keepdim and dim:
        grad = grad.reshape(tuple(1 if d in dim else n for d, n in enumerate(shape)))
    if grad.ndim == len(shape):
        strides = tuple(0 if m == 1 != n else s for m, n, s in zip(grad.shape, shape, grad.strides))
    else:
        strides = (0,) * len(shape)
    if grad.dtype.kind == "V" or not grad.flags.c_contiguous:
        return views.strided_window(grad, shape, strides, 0)
    return np.ndarray(shape, grad.dtype, grad, 0, strides)  # np.broadcast_to takes ten times as long


def _average_array(grad: Any, count: int, shape: tuple[int, ...], dim: tuple[int, ...], keepdim: bool) -> Any:
    """The gradient of a mean, as a read-only broadcast. See Note [Read-only gradients] in autograd/accumulate.py."""
    out = _broadcast_back_array(shared(grad, count), shape, dim, keepdim)
    out.flags.writeable = False
    return out


def _broadcast_back_tensor(grad: Any, shape: tuple[int, ...], dim: tuple[int, ...], keepdim: bool) -> Any:
    return _unsqueezed(grad, shape, dim, keepdim).expand(shape)


def _unsqueezed(value: Any, shape: tuple[int, ...], dim: tuple[int, ...], keepdim: bool) -> Any:
    if not keepdim:
        for d in sorted(dim):
            value = value.unsqueeze(d)
    return value


both("broadcast_back", _broadcast_back_array, _broadcast_back_tensor)
# The same for a factor, which the multiplication broadcasts: PyTorch's graph has no expand node there.
both("factor_back", _broadcast_back_array, _unsqueezed)
both(
    "average",
    _average_array,
    lambda grad, count, shape, dim, keepdim: _div_number(_broadcast_back_tensor(grad, shape, dim, keepdim), count),
)


_FLOAT32 = dtypes.float32.np
_add_reduce: Any = np.add.reduce  # the function behind `sum` and `mean` of an array
_MOST_BY_ONES = 512  # elements, up to which a product with ones is faster
_ONES = np.ones(_MOST_BY_ONES, np.float32)


def _sum_all_array(input: Any) -> Any:
    if input.dtype is _FLOAT32 and 1 < input.size <= _MOST_BY_ONES:  # a single -0.0 must give 0.0
        return input.ravel().dot(_ONES[: input.size])
    return _sum_array(input, None, False)


_COUNT = {"self_sym_numel": property(lambda node: math.prod(node._saved_self_sym_sizes))}


def _mean_all_array(input: Any) -> Any:
    if input.dtype is _FLOAT32 and 0 < input.size <= _MOST_BY_ONES:
        return input.ravel().dot(_ONES[: input.size]) / input.size + 0.0  # a single -0.0 must give 0.0 too
    return _mean_array(input, None, False)


@linear(_sum_all_array, node="SumBackward0",
        input=lambda grad, input_shape, xp: xp.broadcast_back(grad, input_shape, (), True))  # fmt: skip
@traits(keeps_finite=("rules",))
def _sum_all(input: Tensor) -> Tensor: ...


@linear(_sum_array, node="SumBackward1",
        input=lambda grad, input_shape, dim, keepdim, xp: xp.broadcast_back(grad, input_shape, dim, keepdim))  # fmt: skip
@traits(keeps_finite=("rules",))
def _sum_dims(input: Tensor, dim: tuple[int, ...], keepdim: bool) -> Tensor: ...


def _as_dtype(input: Tensor, dtype: Any) -> Tensor:
    return input if dtype is None or input.dtype is dtype else input.to(dtype)


def in_out(name: str, out: Tensor, dtype: Any, compute: Any) -> Tensor:
    """A sum or product with `out`: computed in the requested dtype, else in that of `out`."""
    return dispatch.given(name, compute(out.dtype if dtype is None else dtype), out)


@method
def sum(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """The sum of all elements, or over some dimensions.

    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.sum(x), torch.sum(x, dim=1, keepdim=True)
    (tensor(10.), tensor([[3.],
            [7.]]))
    """
    if dtype is not None:
        dtype = dtypes.given(dtype)
    if keepdim is not False:
        check_keepdim(keepdim, "sum")
    if out is not None:
        return in_out("sum", out, dtype, lambda kind: sum(input, dim, keepdim, dtype=kind))
    if dtype is not None:
        input = _as_dtype(input, dtype)
    if dim is None and not keepdim and (dtype is None or dtype.category >= dtypes.FLOATING):
        return _sum_all(input)
    result = _sum_dims(input, wrap_dims(dim, input.dim()), keepdim)
    return result if dtype is None or result.dtype is dtype else result.to(dtype)


@warning_free
def _mean_array(input: Any, dim: tuple[int, ...] | None, keepdim: bool) -> Any:
    if input.size:
        dtype = input.dtype
        if input.size >= LEAST_REDUCED:
            total = reduce_compiled(input, "sum", dim, keepdim)
            if total is not None:
                total /= _count(input.shape, range(input.ndim) if dim is None else dim)
                return _to_half(total, dtype) if dtype.itemsize == 2 else total
        if dtype.itemsize == 2:
            with silent():
                return _to_half(input.mean(axis=dim, keepdims=keepdim, dtype=np.float32), dtype)
        if input.size > _MANY and _down_columns(input.shape, dim):
            dim = tuple(range(input.ndim)) if dim is None else dim
            return reduce_sum(input, dim, keepdim) / np.asarray(_count(input.shape, dim), dtype)
        total = _add_reduce(input, dim, keepdims=keepdim)
        total /= input.size if dim is None else _count(input.shape, dim)
        return total
    with silent():  # an empty mean is NaN
        count = math.prod(input.shape if dim is None else [input.shape[d] for d in dim])
        return input.sum(axis=dim, keepdims=keepdim) / np.asarray(count, input.dtype)


def _count(shape: tuple[int, ...], dim: Iterable[int]) -> int:
    count = 1
    for d in dim:
        count *= shape[d]
    return count


@linear(_mean_all_array, node="MeanBackward0",
        input=lambda grad, input_shape, xp: xp.average(grad, math.prod(input_shape) or 1, input_shape, (), True))  # fmt: skip
@traits(shows=_COUNT, keeps_finite=("rules",))
def _mean_all(input: Tensor) -> Tensor: ...


@linear(_mean_array, node="MeanBackward1",
        input=lambda grad, input_shape, dim, keepdim, xp:
            xp.average(grad, _count(input_shape, dim) or 1, input_shape, dim, keepdim))  # fmt: skip
@traits(shows=_COUNT, keeps_finite=("rules",))
def _mean_dims(input: Tensor, dim: tuple[int, ...], keepdim: bool) -> Tensor: ...


def _need_float(dtype: dtypes.dtype, name: str, wanted: bool) -> None:
    if dtype.category < dtypes.FLOATING:
        raise RuntimeError(
            f"{name}(): could not infer output dtype. {'Optional' if wanted else 'Input'} dtype must be either a floating point or "
            f"complex dtype. Got: {dtypes.LEGACY[dtype]}"
        )


@method
def mean(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """The mean of all elements, or over some dimensions.

    >>> torch.mean(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    tensor([2., 3.])
    """
    if dtype is not None:
        dtype = dtypes.given(dtype)
    if keepdim is not False:
        check_keepdim(keepdim, "mean")
    _need_float(input.dtype if dtype is None else dtype, "mean", dtype is not None)
    if out is not None:
        if dtype is None and out.dtype.category < dtypes.FLOATING:
            check_out("mean_all" if dim is None else "mean", dtypes.float32, out.dtype)
        if dtype is None and dim is None:
            check_out("mean_all", input.dtype, out.dtype)
        return in_out("mean", out, dtype, lambda kind: mean(input, dim, keepdim, dtype=kind))
    input = _as_dtype(input, dtype)
    if dim is None and not keepdim:
        return _mean_all(input)
    return _mean_dims(input, wrap_dims(dim, input.dim()), keepdim)


# ----- Products -----------------------------------------------------------------------------------------------------


def _prod_rule(grad: Any, input: Any, result: Any, dim: tuple[int, ...], keepdim: bool, xp: Any) -> Any:
    """The product of the other elements. If there are zeros it is computed without division, so zeros are exact."""
    shape = tuple(input.shape)
    wide = xp.factor_back(grad, shape, dim, keepdim)
    if not xp.any_zero(input):
        return wide * xp.conj(xp.factor_back(result, shape, dim, keepdim) / input)
    return wide * xp.conj(xp._others(input, dim))


def _others_array(input: Any, dim: tuple[int, ...]) -> Any:
    """For each element the product of all others along `dim`: prefix product times suffix product."""
    moved = np.moveaxis(input, dim, range(-len(dim), 0)) if dim else input
    lead = moved.shape[: moved.ndim - len(dim)]
    flat = moved.reshape(*lead, -1)
    ones = np.ones((*lead, 1), input.dtype)
    before = np.concatenate([ones, np.cumprod(flat, -1)[..., :-1]], -1)
    after = np.concatenate([np.cumprod(flat[..., ::-1], -1)[..., ::-1][..., 1:], ones], -1)
    others = (before * after).reshape(moved.shape)
    return np.moveaxis(others, range(-len(dim), 0), dim) if dim else others


def _others_graph(input: Any, dim: tuple[int, ...]) -> Any:
    """The same by differentiable ops: a product over a table in which the element itself is replaced by one."""
    ndim = input.dim()
    rest = tuple(d for d in range(ndim) if d not in dim)
    moved = input.permute((*rest, *dim))
    lead = moved.shape[: len(rest)]
    flat = moved.reshape(*lead, -1)
    n = flat.shape[-1]
    table = flat.unsqueeze(-2).expand(*lead, n, n)
    eye = _eye_mask(n)
    others = _prod_dims(table.masked_fill(eye, 1), (len(lead) + 1,), False).reshape(moved.shape)
    order = [0] * ndim
    for position, d in enumerate((*rest, *dim)):
        order[d] = position
    return others.permute(order)


def _eye_mask(n: int) -> Tensor:
    return wrap(np.eye(n, dtype=bool))


# A batched tensor's `_array` is not an array, so its elements cannot be read.
both("any_zero", lambda x: not np.all(x), lambda x: type(x._array) is not np.ndarray or not np.all(x._array))
both("_others", _others_array, _others_graph)


@quiet
def _prod_array(input: Any, dim: tuple[int, ...] | None, keepdim: bool) -> Any:
    if input.size >= LEAST_REDUCED and input.dtype.kind == "f" and input.itemsize > 2:
        product = reduce_compiled(input, "prod", dim, keepdim)
        if product is not None:
            return product
        if input.flags.c_contiguous and (dim is None or len(dim) == input.ndim):
            # NumPy multiplies rows with SIMD, and the elements of a vector one by one.
            flat, width = input.reshape(-1), 512
            whole = flat.size // width * width
            rows = np.multiply.reduce(flat[:whole].reshape(-1, width), 0)
            return np.concatenate((rows, flat[whole:])).prod().reshape((1,) * input.ndim if keepdim else ())
    return input.prod(axis=dim, keepdims=keepdim, dtype=np.int64 if input.dtype.kind in "biu" else None)


@differentiable(lambda input: _prod_array(input, None, False), node="ProdBackward0",
                input=lambda grad, input, result, xp:
                    _prod_rule(grad, input, result, tuple(range(len(input.shape))), False, xp) if input.shape else grad)  # fmt: skip
def _prod_all(input: Tensor) -> Tensor: ...


@differentiable(_prod_array, node="ProdBackward1", input=_prod_rule)
def _prod_dims(input: Tensor, dim: tuple[int, ...], keepdim: bool) -> Tensor: ...


@method
def prod(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Tensor | None = None
) -> Tensor:
    """The product of all elements, or over a dimension.

    >>> torch.prod(torch.tensor([2.0, 3.0]))
    tensor(6.)
    """
    dtype = dtypes.given(dtype)
    check_keepdim(keepdim, "prod")
    if out is not None:
        return in_out("prod", out, dtype, lambda kind: prod(input, dim, keepdim, dtype=kind))
    if dtype is not None:
        result = prod(input.to(dtype), dim, keepdim)
        return result if result.dtype is dtype else result.to(dtype)
    if dim is None:
        return _prod_all(input)
    axis = wrap_dim(dim, input.dim())
    return _prod_dims(input, (axis,) if input.dim() else (), keepdim)


# ----- Running sums and products ------------------------------------------------------------------------------------


def refuse_bool(name: str, dtype: dtypes.dtype) -> None:
    if dtype is dtypes.bool_:
        raise not_implemented(name, dtype.np)


def accumulating(ufunc: Any) -> Any:
    """A kernel of running sums or products."""

    @in_float32
    def kernel(input: Any, dim: int) -> Any:
        if input.ndim == 0:
            return input.astype(np.int64) if input.dtype.kind in "biu" else input.copy()
        if input.dtype.kind == "f":
            return running(input, dim, ufunc)
        wide = np.complex128 if input.dtype.kind == "c" else np.int64
        found = ufunc.accumulate(np.ascontiguousarray(input), dim, dtype=wide)
        return found if wide is np.int64 else found.astype(input.dtype, copy=False)

    return kernel


def _cumsum_rule(grad: Any, dim: int, xp: Any) -> Any:
    if not grad.shape or grad.shape[dim] == 1:
        return grad
    return xp._flip(xp._cumsum(xp._flip(grad, (dim,)), dim), (dim,))


@linear(accumulating(np.add), node="CumsumBackward0", inplace=True, input=_cumsum_rule)
def _cumsum(input: Tensor, dim: int) -> Tensor: ...


@method
def cumsum(input: Tensor, dim: Any = None, *, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """Running sums along a dimension.

    >>> torch.cumsum(torch.tensor([1, 2, 3]), 0)
    tensor([1, 3, 6])
    """
    dtype = dtypes.given(dtype)
    if out is not None:
        return in_out("cumsum", out, dtype, lambda kind: cumsum(input, dim, dtype=kind))
    if dtype is None or dtype.category >= dtypes.FLOATING:
        return _cumsum(_as_dtype(input, dtype), wrap_dim(dim, input.dim()))
    refuse_bool("cumsum_out_cpu", dtype)
    return _cumsum(input.to(dtype), wrap_dim(dim, input.dim())).to(dtype)


# ----- Truth --------------------------------------------------------------------------------------------------------


def _truth(kernel: Any) -> Any:
    def run(input: Any, dim: Any, keepdim: bool) -> Any:
        result = kernel(input, axis=dim, keepdims=keepdim)
        return result.astype(np.uint8) if input.dtype == np.uint8 else result

    return run


@plain(_truth(np.logical_and.reduce))
def _all(input: Tensor, dim: Any, keepdim: bool) -> Tensor: ...


@plain(_truth(np.logical_or.reduce))
def _any(input: Tensor, dim: Any, keepdim: bool) -> Tensor: ...


def _some_dims(dim: Any, input: Tensor) -> tuple[int, ...]:
    """The dimensions of `all` and `any`, for which an empty list means none, not all as in other reductions."""
    return () if isinstance(dim, (tuple, list)) and not dim else wrap_dims(dim, input.dim())


@method
def all(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether all elements are non-zero, in total or along dimensions.

    >>> torch.all(torch.tensor([True, False]))
    tensor(False)
    """
    check_keepdim(keepdim, "all")
    return _all(input, _some_dims(dim, input), keepdim, out=out)


@method
def any(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether any element is non-zero, in total or along dimensions.

    >>> torch.any(torch.tensor([True, False]))
    tensor(True)
    """
    check_keepdim(keepdim, "any")
    return _any(input, _some_dims(dim, input), keepdim, out=out)


# ----- Log-sum-exp --------------------------------------------------------------------------------------------------


@differentiable(logsumexp_kernel, node="LogsumexpBackward0",
                input=lambda grad, input, result, dim, keepdim, xp:
                    xp.factor_back(grad, tuple(input.shape), dim, keepdim) * xp.conj(xp.exp(input - xp.factor_back(result, tuple(input.shape), dim, keepdim))))  # fmt: skip
def _logsumexp(input: Tensor, dim: tuple[int, ...], keepdim: bool) -> Tensor: ...


@method
def logsumexp(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """log(sum(exp(x))) over dimensions, without overflow.

    >>> torch.logsumexp(torch.tensor([1000.0, 1000.0]), 0)
    tensor(1000.6932)
    """
    if dim is None:
        raise TypeError("logsumexp(): argument 'dim' must be tuple of ints, not NoneType")
    if input.dtype.category < dtypes.FLOATING:
        input = input.to(dtypes.get_default_dtype())
    return _logsumexp(input, wrap_dims(dim, input.dim()), keepdim, out=out)
