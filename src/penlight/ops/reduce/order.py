"""Sorting and functions based on it: top k, k-th values, medians, modes, quantiles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import dtypes
from ...kernels.copies.order import empty_like as memory_like
from ...kernels.numpy_calls import moveaxis
from ...kernels.reduce import quantiles
from ...tensor import Tensor, wrap
from ..machinery import dispatch
from ..machinery.arguments import as_int, check_keepdim, values_of, wrap_dim
from ..machinery.declare import differentiable, method, plain
from ..machinery.guards import lazy, unrecorded
from ..machinery.op import traits
from .extremes import _scatter_rule
from .sums import named_result

__all__ = ["argsort", "kthvalue", "median", "mode", "msort", "nanmedian", "nanquantile", "quantile", "sort", "topk"]

# ----- Sorting ------------------------------------------------------------------------------------------------------


def _put_back(grads: Any, input_shape: tuple[int, ...], indices: Any, dim: int, xp: Any) -> Any:
    """The gradient of reordered elements, scattered to their original positions."""
    return None if grads[0] is None else xp.value_selecting_backward(grads[0], indices, input_shape, dim, True)


def _laid_out_as(input: Any, result: Any) -> Any:
    if input.flags.c_contiguous:
        return result
    out = memory_like(input, result.dtype)
    out[...] = result
    return out


_sort_array, _argsort_array = lazy("sorting", "sort"), lazy("sorting", "argsort")
_NO_COMPLEX = {"c": RuntimeError(" Sort does not support complex dtypes on CPU")}


def _sort_kernel(input: Any, dim: int, descending: bool) -> Any:
    return tuple([_laid_out_as(input, part) for part in _sort_array(input, dim, descending)])


@differentiable(_sort_kernel, node="SortBackward0", results=("values", "indices"), input=_put_back)
@traits(any_layout=True, refuses=_NO_COMPLEX)
def _sort(input: Tensor, dim: int, descending: bool) -> tuple[Tensor, Tensor]: ...


@differentiable(lambda input, dim, descending, stable: _sort_kernel(input, dim, descending), node="SortBackward1",
                results=("values", "indices"), input=_put_back)  # fmt: skip
@traits(any_layout=True, refuses=_NO_COMPLEX)
def _sort_stable(input: Tensor, dim: int, descending: bool, stable: bool) -> tuple[Tensor, Tensor]: ...


_Sort, _Topk = named_result("sort", "values indices"), named_result("topk", "values indices")


@method
def sort(input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None, out: Any = None) -> Any:
    """The elements sorted along a dimension, and their original indices. The sort is stable.

    >>> torch.sort(torch.tensor([3, 1, 2]))
    torch.return_types.sort(
    values=tensor([1, 2, 3]),
    indices=tensor([1, 2, 0]))
    """
    if isinstance(dim, bool):
        raise TypeError("sort() received an invalid combination of arguments - got (Tensor, bool): dim must be int")
    axis = wrap_dim(dim, input.dim())
    if stable is None:
        return _Sort(*_sort(input, axis, bool(descending), out=out))
    return _Sort(*_sort_stable(input, axis, bool(descending), stable, out=out))


@plain(lambda input, dim, descending: _laid_out_as(input, _argsort_array(input, dim, descending)))
@traits(any_layout=True, refuses=_NO_COMPLEX)
def _argsort(input: Tensor, dim: int, descending: bool) -> Tensor: ...


@method
def argsort(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool | None = None, out: Tensor | None = None
) -> Tensor:
    """The indices that would sort a dimension.

    >>> torch.argsort(torch.tensor([3, 1, 2]))
    tensor([1, 2, 0])
    """
    if out is not None and stable is None:
        raise TypeError("argsort() received an invalid combination of arguments - got out=Tensor without stable")
    return _argsort(input, wrap_dim(dim, input.dim()), bool(descending), out=out)


@method
def msort(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The elements sorted along the first dimension.

    >>> torch.msort(torch.tensor([3, 1, 2]))
    tensor([1, 2, 3])
    """
    if out is None:
        return sort(input, 0).values
    sort(input, 0, out=(out, wrap(np.empty(0, np.int64))))
    return out


_topk_array = lazy("sorting", "topk")


def _topk_kernel(input: Any, k: int, dim: int, largest: bool) -> Any:
    if input.ndim == 0:
        return input.copy(), np.zeros((), np.int64)
    return _topk_array(input, k, dim, largest)


@differentiable(_topk_kernel, node="TopkBackward0", results=("values", "indices"), input=_put_back)
@traits(refuses={"c": RuntimeError(" topk does not support complex dtypes on CPU"),
                 "b": RuntimeError("topk does not support bool dtypes on CPU")})  # fmt: skip
def _topk(input: Tensor, k: int, dim: int, largest: bool) -> tuple[Tensor, Tensor]: ...


@method
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True, sorted: bool = True, *, out: Any = None) -> Any:
    """The k largest (or smallest) elements along a dimension, in order, and their indices.

    >>> torch.topk(torch.tensor([1.0, 5.0, 3.0]), 2).values
    tensor([5., 3.])
    """
    k, dim = as_int(k), wrap_dim(dim, input.dim())
    if not 0 <= k <= (input.shape[dim] if input.dim() else 1):
        raise RuntimeError("selected index k out of range")
    return _Topk(*_topk(input, k, dim, bool(largest), out=out))


# ----- One element by its rank --------------------------------------------------------------------------------------

_Kthvalue, _Mode = named_result("kthvalue", "values indices"), named_result("mode", "values indices")
_Median, _Nanmedian = named_result("median", "values indices"), named_result("nanmedian", "values indices")


@differentiable(
    lazy("sorting", "kthvalue"), node="KthvalueBackward0", results=("values", "indices"), input=_scatter_rule
)
@traits(refuses={"bc": "kthvalue_cpu"})
def _kthvalue(input: Tensor, k: int, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]: ...


@method
def kthvalue(input: Tensor, k: int, dim: Any = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The k-th smallest element along a dimension, counted from 1, and its index.

    >>> torch.kthvalue(torch.tensor([3.0, 1.0, 2.0]), 2).values
    tensor(2.)
    """
    check_keepdim(keepdim, "kthvalue")
    return _Kthvalue(*_kthvalue(input, as_int(k), wrap_dim(dim, input.dim()), keepdim, out=out))


@differentiable(lazy("sorting", "mode"), node="ModeBackward0", results=("values", "indices"), input=_scatter_rule)
@traits(refuses={"c": "mode_cpu"})
def _mode(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]: ...


@method
def mode(input: Tensor, dim: Any = -1, keepdim: bool = False, *, out: Any = None) -> Any:
    """The most frequent element along a dimension, and its index.

    >>> torch.mode(torch.tensor([3, 1, 1])).values
    tensor(1)
    """
    check_keepdim(keepdim, "mode")
    return _Mode(*_mode(input, wrap_dim(dim, input.dim()), keepdim, out=out))


def _median_along(name: str) -> Any:
    kernel = lazy("sorting", name)

    def run(input: Any, dim: int, keepdim: bool) -> Any:
        if input.ndim and input.shape[dim] == 0:
            raise IndexError(f"median(): Expected reduction dim {dim} to have non-zero size.")
        return kernel(input, dim, keepdim)

    return run


def _median_of_all(name: str) -> Any:
    kernel, of_all = lazy("sorting", name), lazy("sorting", "median_of_all")

    def run(input: Any, lead: int) -> Any:
        shape = input.shape[:lead]
        if input.size == 0:  # NaN, which C converts to the smallest integer of at least 32 bits
            least = np.iinfo(input.dtype).min if input.dtype.kind in "iu" and input.itemsize >= 4 else 0
            return np.full(shape, math.nan if input.dtype.kind in "fV" else least, input.dtype)
        if not lead:
            return of_all(input, name == "nanmedian")
        return kernel(np.ascontiguousarray(input).reshape(*shape, -1), lead, False)[0]

    return run


def _all_equal_rule(grad: Any, input: Any, result: Any, lead: int, xp: Any) -> Any:
    """The gradient shared by all elements that equal the median; NaN equals NaN here."""
    ndim = len(input.shape)
    if lead:
        shape = (*tuple(input.shape)[:lead], *(1,) * (ndim - lead))
        grad, result = xp.reshape(grad, shape), xp.reshape(result, shape)
    hits = (input == result) | (xp.isnan(input) & xp.isnan(result))
    counted = xp.cast(hits, xp.np_dtype(grad))
    if not lead:
        return xp._masked_fill_tensor(xp.zeros_like(input), hits, grad / xp._sum_all(counted))
    if ndim > lead:
        grad = grad / xp._sum_dims(counted, tuple(range(lead, ndim)), True)
    return xp.where(hits, grad, 0.0)  # others get 0 even if the gradient is NaN


# `lead` is the number of leading dimensions with separate medians: those of vmap.


@differentiable(_median_of_all("median"), node="MedianBackward0", input=_all_equal_rule)
@traits(refuses={"bc": "median_cpu"})
def _median_all(input: Tensor, lead: int) -> Tensor: ...


@differentiable(_median_of_all("nanmedian"), node="NanmedianBackward0", input=_all_equal_rule)
@traits(refuses={"bc": "median_cpu"})
def _nanmedian_all(input: Tensor, lead: int) -> Tensor: ...


@differentiable(_median_along("median"), node="MedianBackward1", results=("values", "indices"), input=_scatter_rule)
@traits(refuses={"bc": "median_out"})
def _median_dim(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]: ...


@differentiable(
    _median_along("nanmedian"), node="NanmedianBackward1", results=("values", "indices"), input=_scatter_rule
)
@traits(refuses={"bc": "median_out"})
def _nanmedian_dim(input: Tensor, dim: int, keepdim: bool) -> tuple[Tensor, Tensor]: ...


@method
def median(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The median of all elements (the lower of two), or along a dimension together with its index.

    >>> torch.median(torch.tensor([3.0, 1.0, 2.0]))
    tensor(2.)
    """
    check_keepdim(keepdim, "median")
    if dim is None:
        return _median_all(input, 0, out=out)
    return _Median(*_median_dim(input, wrap_dim(dim, input.dim()), keepdim, out=out))


@method
def nanmedian(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Any = None) -> Any:
    """The median of the elements that are not NaN, of all or along a dimension together with its index.

    >>> torch.nanmedian(torch.tensor([3.0, float("nan"), 2.0]))
    tensor(2.)
    """
    check_keepdim(keepdim, "nanmedian")
    if dim is None:
        return _nanmedian_all(input, 0, out=out)
    return _Nanmedian(*_nanmedian_dim(input, wrap_dim(dim, input.dim()), keepdim, out=out))


# ----- Quantiles ----------------------------------------------------------------------------------------------------

_MODES = ("linear", "lower", "higher", "midpoint", "nearest")


def _check_quantile(input: Tensor, q: Any, interpolation: str) -> Tensor:
    """Check the arguments as PyTorch does; returns q as a tensor."""
    if interpolation not in _MODES:
        raise RuntimeError(
            f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    number = not isinstance(q, Tensor)
    if number:
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        q = wrap(np.asarray(q, input.dtype.np if input.dtype.category == dtypes.FLOATING else np.float64))
    if input.numel() == 0:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if q.dim() > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if q.dtype is not input.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if not number:
        found = values_of(q)
        if not ((found >= 0) & (found <= 1)).all():
            raise RuntimeError("quantile() q values must be in the range [0, 1]")
    return q


def _quantiles(name: str, input: Tensor, q: Any, dim: Any, keepdim: bool, interpolation: str, out: Any) -> Tensor:
    """Sorts, then interpolates at the fractional ranks: differentiable in the values and in q."""
    q = _check_quantile(input, q, interpolation)
    axis = None if dim is None else wrap_dim(dim, input.dim())
    if unrecorded((input, q)):
        array = input._array
        values = quantiles(array, q._array, axis, interpolation, name == "nanquantile")
        if values is not None:
            if keepdim and array.ndim:
                lead = (1,) * array.ndim if axis is None else (*array.shape[:axis], 1, *array.shape[axis + 1 :])
                values = values.reshape((*lead, *values.shape[values.ndim - q._array.ndim :]))
            values = moveaxis(values, -1, 0) if q._array.ndim else values
            return dispatch.given("quantile", wrap(values), out)
    shape = [1] * input.dim() if axis is None else [1 if d == axis else n for d, n in enumerate(input.shape)]
    if axis is None:
        ordered = sort(input.flatten()).values
    elif input.dim() == 0 or axis == input.dim() - 1:
        ordered = sort(input.unsqueeze(-1) if input.dim() == 0 else input).values
    else:
        ordered = sort(input.unsqueeze(-1).transpose(axis, -1)).values
    if not keepdim:
        shape = [] if axis is None else [n for d, n in enumerate(shape) if d != axis]
    ordered = ordered.view(*shape, ordered.shape[-1])
    ranks = _ranks(name, ordered, q.unsqueeze(0) if q.dim() == 0 else q)
    result = _read(ordered, ranks, interpolation)
    result = result.squeeze_(-1) if q.dim() == 0 else result.unsqueeze_(0).transpose_(0, -1).squeeze_(-1)
    return dispatch.given("quantile", result, out)


def _ranks(name: str, ordered: Tensor, q: Tensor) -> Tensor:
    """The fractional positions of the quantiles in sorted rows; NaN sorts last unless it is ignored."""
    missing = ordered.detach().isnan()
    if name == "nanquantile":
        ranks = q * ((~missing).sum(-1, keepdim=True) - 1)
        return ranks.masked_fill(ranks < 0, 0)
    last = ordered.shape[-1] - 1
    return (q * last).masked_fill(missing.any(-1, keepdim=True), last)


def _read(ordered: Tensor, ranks: Tensor, interpolation: str) -> Tensor:
    if interpolation in ("lower", "higher", "nearest"):
        positions = {"lower": Tensor.floor, "higher": Tensor.ceil, "nearest": Tensor.round}[interpolation](
            ranks.detach()
        )
        return ordered.gather(-1, positions.long())
    below, above = ranks.detach().long(), ranks.detach().ceil().long()
    weights = ranks.detach() * 0 + 0.5 if interpolation == "midpoint" else ranks - below
    return ordered.gather(-1, below).lerp(ordered.gather(-1, above), weights)


@method
def quantile(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *,
             interpolation: str = "linear", out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Quantiles of all elements or along a dimension; several values of q give a new first dimension.

    >>> torch.quantile(torch.tensor([1.0, 2.0, 3.0, 4.0]), 0.5)
    tensor(2.5000)
    """
    return _quantiles("quantile", input, q, dim, keepdim, interpolation, out)


@method
def nanquantile(input: Tensor, q: Any, dim: int | None = None, keepdim: bool = False, *,
                interpolation: str = "linear", out: Tensor | None = None) -> Tensor:  # fmt: skip
    """Quantiles of the elements that are not NaN.

    >>> torch.nanquantile(torch.tensor([1.0, float("nan"), 3.0]), 0.5)
    tensor(2.)
    """
    return _quantiles("nanquantile", input, q, dim, keepdim, interpolation, out)
