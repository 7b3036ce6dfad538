"""Vector norms of every order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.function_code import pytorch_names_only
from ...kernels.lazy import lazy_import
from ...kernels.reduce import square_sum
from ...kernels.reduce.compiled import reduce_compiled
from ...kernels.reduce.strategies import LEAST_REDUCED
from ...tensor import Tensor
from ..machinery.arguments import check_keepdim, wrap_dims
from ..machinery.declare import differentiable, in_float32, method

__all__ = ["norm", "vector_norm"]

_linalg_norms = lazy_import(globals(), "_linalg_norms", "..linalg.norms")


_add_reduce: Any = np.add.reduce
_REDUCTIONS = {1: "sum", math.inf: "max", -math.inf: "min"}  # of absolute values
_MANY = 1 << 13  # elements; below, plain NumPy is fastest


@in_float32
def _norm_array(input: Any, ord: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    if ord == 2 and input.size > _MANY and input.dtype.kind == "f":
        total = square_sum(input, dim)
        return np.sqrt(total, total) if keepdim else np.asarray(np.sqrt(total, total)).squeeze(dim)
    if ord in _REDUCTIONS and input.size >= LEAST_REDUCED:
        result = reduce_compiled(input, _REDUCTIONS[ord], dim, keepdim, of="absolute")
        if result is not None:
            return result
    if ord == 2 and input.dtype.kind == "f" and input.flags.c_contiguous and 0 < len(dim) < input.ndim:
        kept = input.shape[: input.ndim - len(dim)]
        if dim == tuple(range(len(kept), input.ndim)) and input.size:
            rows = input.reshape(math.prod(kept), -1)  # see Note [Row sums] in kernels/reduce/__init__.py
            return np.sqrt(np.vecdot(rows, rows)).reshape(kept + (1,) * len(dim) if keepdim else kept)
    size = np.absolute(input)
    axes = dim if input.ndim else None
    if ord != 0 and (input.size == 1 or (len(dim) == 1 and input.shape[dim[0]] == 1)):
        return size.sum(axis=axes, keepdims=keepdim)  # the norm of one value, without powers that overflow
    if ord == 2:
        return np.sqrt(_add_reduce(size * size, axes, keepdims=keepdim))
    if ord == 1:
        return size.sum(axis=axes, keepdims=keepdim)
    if ord == 0:
        return (size != 0).sum(axis=axes, keepdims=keepdim).astype(size.dtype)
    if ord == math.inf:
        return size.max(axis=axes, keepdims=keepdim)
    if ord == -math.inf:
        return size.min(axis=axes, keepdims=keepdim)
    return np.asarray(np.power(np.power(size, ord).sum(axis=axes, keepdims=keepdim), 1 / ord)).astype(
        size.dtype, copy=False
    )


def _norm_rule(grad: Any, input: Any, result: Any, ord: Any, dim: tuple[int, ...], keepdim: bool, xp: Any) -> Any:
    """The derivative of each order, 0 where the norm is 0: there the divisor is infinity, which also works in forward mode."""
    shape = tuple(input.shape)
    wide_grad, norm = xp.broadcast_back(grad, shape, dim, keepdim), xp.broadcast_back(result, shape, dim, keepdim)
    if ord == 0:
        return xp.zeros_like(wide_grad)
    if ord == 1:
        return wide_grad * xp.sgn(input)
    if ord == 2:
        if xp.np_dtype(input).itemsize == 2:
            # A gradient divided by a small norm overflows 16 bits.
            return wide_grad * (input / xp.where(norm == 0, math.inf, norm))
        return input * xp.broadcast_back(grad / xp.where(result == 0, math.inf, result), shape, dim, keepdim)
    if ord in (math.inf, -math.inf):
        size = xp.abs(input)
        hits = xp.cast(size == norm, xp.np_dtype(size))
        count = xp.count_hits(hits, dim, keepdim)
        return xp.sgn(input) * hits * xp.broadcast_back(grad / count, shape, dim, keepdim)
    if ord < 1:
        scale = xp.where(input == 0, 0.0, xp._pow(xp.abs(input), ord - 1))
        return xp.sgn(input) * scale * wide_grad * xp.where(norm == 0, 0.0, xp._pow(norm, 1 - ord))
    scale = xp.broadcast_back(grad / xp._pow(xp.where(result == 0, math.inf, result), ord - 1), shape, dim, keepdim)
    if ord < 2:
        return xp.sgn(input) * xp._pow(xp.abs(input), ord - 1) * scale
    return input * xp._pow(xp.abs(input), ord - 2) * scale


@differentiable(_norm_array, node="LinalgVectorNormBackward0", input=_norm_rule)
def _vector_norm(input: Tensor, ord: Any, dim: tuple[int, ...], keepdim: bool) -> Tensor: ...


def _refuse_no_elements(x: Tensor, ord: Any, dims: tuple[int, ...]) -> None:
    """Refuse the maximum (or similar) of no elements; over `dims`, or over all if there are none."""
    empty = [d for d in dims if x.shape[d] == 0]
    if dims and not empty:
        return
    which = f"on the dimension {empty[0]}because this dimension is empty and" if empty else "on an empty tensor because"
    raise RuntimeError(
        f"linalg.vector_norm cannot compute the {ord} norm {which} the operation does not have an identity"
    )


def check_norm_dtype(function: str, input: Tensor, dtype: Any) -> None:
    """Refuse a dtype for a norm that would lose information of the input."""
    name, own = dtypes.LEGACY[dtype], dtypes.LEGACY[input.dtype]
    if dtype.category < dtypes.FLOATING:
        raise RuntimeError(f"{function}: dtype should be floating point or complex, but got {name}")
    if input.is_complex() != dtype.is_complex:
        kind = "complex" if input.is_complex() else "real"
        raise RuntimeError(f"{function}: dtype should be {kind} for {kind} inputs, but got {name}")
    if dtypes.promote_types(input.dtype, dtype) is not dtype:
        raise RuntimeError(
            f"{function}: the dtype of the input ({own}) should be convertible without narrowing to the specified dtype ({name})"
        )


def vector_norm(
    x: Tensor, ord: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """The norm of all elements, or along dimensions.

    >>> torch.linalg.vector_norm(torch.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
    tensor([ 5., 10.])
    """
    dtype = dtypes.given(dtype)
    if x.dtype.category < dtypes.FLOATING:
        name = dtypes.LEGACY[x.dtype]
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {name}")
    if dtype is not None:
        check_norm_dtype("linalg.vector_norm", x, dtype)
        x = x.to(dtype)
    dims = wrap_dims(dim, x.dim())
    if x.numel() == 0 and (ord < 0 or ord == math.inf):
        _refuse_no_elements(x, ord, () if dim is None else dims)
    return _vector_norm(x, ord, dims, keepdim, out=out)


@pytorch_names_only
@method
def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None
) -> Tensor:
    """The norm of order `p` of all elements, or along dimensions.

    >>> torch.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    dtype = dtypes.given(dtype)
    check_keepdim(keepdim, "norm")
    if p is None or p == "fro":
        p = 2
    elif isinstance(p, str):  # the nuclear norm, or an unknown one
        dims = (-2, -1) if dim is None and input.dim() < 2 else wrap_dims(dim, input.dim())
        return _linalg_norms.matrix_norm(input, p, dims, keepdim, dtype=dtype, out=out)
    return vector_norm(input, p, dim, keepdim, dtype=dtype, out=out)
