"""Running products, extremes and log-sums along a dimension. (`cumsum` is with the sums.)"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import dtypes
from ...tensor import Tensor, wrap
from ..machinery import dispatch
from ..machinery.arguments import ABSENT, wrap_dim
from ..machinery.array_namespace import both
from ..machinery.declare import OPS, differentiable, method
from ..machinery.guards import lazy, without_numpy_warnings
from ..machinery.op import traits
from .sums import accumulating, in_out, named_result, refuse_bool

__all__ = ["cummax", "cummin", "cumprod", "logcumsumexp"]

# ----- Products -----------------------------------------------------------------------------------------------------


def _cumprod_back_graph(grad: Any, input: Any, result: Any, dim: int) -> Any:
    """For each factor, the sum over the products that contain it of grad times the other factors.

    Without zeros this is a sum over grad * result, divided by the factor. With zeros it uses a table whose row k has a one in place of
    factor k: without divisions, zeros are exact at every order.
    """
    if input._array.all():
        tail = (result.conj() * grad).flip(dim).cumsum(dim).flip(dim)
        return tail / input.conj()
    rows, n = input.movedim(dim, -1).conj(), input.shape[dim]
    own = wrap(np.eye(n, dtype=bool))
    table = rows.unsqueeze(-2).expand(*rows.shape[:-1], n, n).masked_fill(own, 1)
    others = cumprod(table, -1).triu()
    return (others * grad.movedim(dim, -1).unsqueeze(-2)).sum(-1).movedim(-1, dim)


both("cumprod_backward", lazy("scan", "cumprod_backward"), _cumprod_back_graph)


def _cumprod_rule(grad: Any, input: Any, result: Any, dim: int, xp: Any) -> Any:
    if not grad.shape or grad.shape[dim] == 1:
        return grad
    return xp.cumprod_backward(grad, input, result, dim)


@differentiable(
    without_numpy_warnings(accumulating(np.multiply)), node="CumprodBackward0", inplace=True, input=_cumprod_rule
)
def _cumprod(input: Tensor, dim: int) -> Tensor: ...


@method
def cumprod(input: Tensor, dim: Any = None, *, dtype: Any = None, out: Tensor | None = None) -> Tensor:
    """Running products along a dimension.

    >>> torch.cumprod(torch.tensor([1, 2, 3]), 0)
    tensor([1, 2, 6])
    """
    dtype = dtypes.given(dtype)
    if dim is None:
        raise TypeError('cumprod() missing 1 required positional arguments: "dim"')
    axis = wrap_dim(dim, input.dim())
    if out is not None:
        return in_out("cumprod", out, dtype, lambda kind: cumprod(input, axis, dtype=kind))
    if dtype is None or dtype.category >= dtypes.FLOATING:
        return _cumprod(input if dtype is None else input.to(dtype), axis)
    refuse_bool("cumprod_out_cpu", dtype)
    return _cumprod(input.to(dtype), axis).to(dtype)


def _scanned_in_place(name: str, input: Tensor, dim: Any, dtype: Any) -> Tensor:
    if dtype is not None and dtype is not input.dtype:
        raise RuntimeError(
            f"Bad in-place call: input tensor dtype {dtypes.LEGACY[input.dtype]} and output tensor dtype "
            f"{dtypes.LEGACY[dtype]} should match"
        )
    return dispatch.run_in_place(OPS["_" + name], (input, wrap_dim(dim, input.dim())))


@method
def cumprod_(input: Tensor, dim: int = ABSENT, *, dtype: Any = None) -> Tensor:
    """In-place version of `cumprod`.

    >>> torch.tensor([1.0, 2.0, 3.0]).cumprod_(0)
    tensor([1., 2., 6.])
    """
    dtype = dtypes.given(dtype)
    return _scanned_in_place("cumprod", input, dim, dtype)


@method
def cumsum_(input: Tensor, dim: int = ABSENT, *, dtype: Any = None) -> Tensor:
    """In-place version of `cumsum`.

    >>> torch.tensor([1.0, 2.0, 3.0]).cumsum_(0)
    tensor([1., 3., 6.])
    """
    dtype = dtypes.given(dtype)
    return _scanned_in_place("cumsum", input, dim, dtype)


# ----- Extremes -----------------------------------------------------------------------------------------------------


def _extreme_rule(grads: Any, input_shape: tuple[int, ...], indices: Any, dim: int, xp: Any) -> Any:
    return None if grads[0] is None else xp._scatter_add(xp.zeros_for(grads[0], input_shape), dim, indices, grads[0])


@differentiable(lazy("scan", "cummax"), node="CummaxBackward0", results=("values", "indices"), input=_extreme_rule)
@traits(refuses={"c": "cummax_cpu"})
def _cummax(input: Tensor, dim: int) -> tuple[Tensor, Tensor]: ...


@differentiable(lazy("scan", "cummin"), node="CumminBackward0", results=("values", "indices"), input=_extreme_rule)
@traits(refuses={"c": "cummin_cpu"})
def _cummin(input: Tensor, dim: int) -> tuple[Tensor, Tensor]: ...


_Cummax, _Cummin = named_result("cummax", "values indices"), named_result("cummin", "values indices")


@method
def cummax(input: Tensor, dim: Any = None, *, out: Any = None) -> Any:
    """Running maxima along a dimension, and their indices.

    >>> torch.cummax(torch.tensor([1, 3, 2]), 0).values
    tensor([1, 3, 3])
    """
    return _Cummax(*_cummax(input, wrap_dim(dim, input.dim()), out=out))


@method
def cummin(input: Tensor, dim: Any = None, *, out: Any = None) -> Any:
    """Running minima along a dimension, and their indices.

    >>> torch.cummin(torch.tensor([3, 1, 2]), 0).values
    tensor([3, 1, 1])
    """
    return _Cummin(*_cummin(input, wrap_dim(dim, input.dim()), out=out))


# ----- Log-sums -----------------------------------------------------------------------------------------------------


TABLE = 1024  # the longest dimension for which the table of all pairs is used


def _log_back_long(grad: Any, input: Any, result: Any, dim: int) -> Any:
    """`_log_back_graph` for long dimensions, without the table: a log-sum from the end. Only complex gradients have a logarithm for
    either sign: for real ones, the positive and the negative part are summed separately."""
    lowest = float(np.finfo(input._array.dtype).min) / 2
    input, result = input.conj(), result.conj()

    def from_the_end(grad: Any, present: Any) -> Any:
        logs = grad.masked_fill(~present, 1.0).log().masked_fill(~present, lowest)
        return ((logs - result).flip(dim).logcumsumexp(dim).flip(dim) + input).exp()

    if input.is_complex():
        return from_the_end(grad, grad != 0)
    return from_the_end(grad, grad > 0) - from_the_end(-grad, grad < 0)


def _log_back_graph(grad: Any, input: Any, result: Any, dim: int) -> Any:
    """The sum over i >= k of grad_i * exp(input_k - result_i), from the table of all pairs, in which no exponential exceeds 1."""
    if not input.dim():
        return grad
    if input.dtype.itemsize == 2:  # rounded to 16 bits, it is no longer the logarithm of the sum
        single = input.float()
        return _log_back_graph(grad.float(), single, single.logcumsumexp(dim), dim).to(input.dtype)
    if input.shape[dim] > TABLE:
        return _log_back_long(grad, input, result, dim)
    rows, sums = input.movedim(dim, -1), result.movedim(dim, -1)
    n = input.shape[dim]
    kept = wrap(np.triu(np.ones((n, n), bool)))
    table = (rows.unsqueeze(-1) - sums.unsqueeze(-2)).masked_fill(~kept, -np.inf).exp()
    return (table.conj() * grad.movedim(dim, -1).unsqueeze(-2)).sum(-1).movedim(-1, dim)


def _log_back_array(grad: Any, input: Any, result: Any, dim: int) -> Any:
    if input.ndim == 0:
        return grad
    if input.dtype.kind != "c":
        return _log_kernel(grad, input, result, dim)
    return _log_back_graph(wrap(grad), wrap(input), wrap(result), dim)._array


_log_kernel = lazy("scan", "logcumsumexp_backward")
both("logcumsumexp_backward", _log_back_array, _log_back_graph)


@differentiable(lazy("scan", "logcumsumexp"), node="LogcumsumexpBackward0",
                input=lambda grad, input, result, dim, xp: xp.logcumsumexp_backward(grad, input, result, dim))  # fmt: skip
@traits(refuses={"biu": "logcumsumexp_out_cpu"})
def _logcumsumexp(input: Tensor, dim: int) -> Tensor: ...


@method
def logcumsumexp(input: Tensor, dim: Any = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the running sum of exp(x), without overflow.

    >>> torch.logcumsumexp(torch.tensor([1000.0, 1000.0]), 0)
    tensor([1000.0000, 1000.6932])
    """
    return _logcumsumexp(input, wrap_dim(dim, input.dim()), out=out)
