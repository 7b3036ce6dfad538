"""Distinct elements, positions in sorted sequences, histograms and counts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.function_code import pytorch_names_only
from ...creation.ranges import linspace_array
from ...kernels import index_width
from ...kernels.lazy import lazy_import
from ...kernels.numpy_warnings import hush, silent, unhush
from ...tensor import Tensor, wrap
from ..machinery.arguments import wrap_dim, wrap_dims
from ..machinery.declare import differentiable, method, plain
from ..machinery.guards import c_name, lazy, no_derivative, not_implemented, not_written
from ..machinery.op import traits
from ..pointwise.arithmetic import scalar_like
from .sums import named_result

__all__ = [
    "bincount", "bucketize", "count_nonzero", "hash_tensor", "histc", "histogram", "histogramdd", "searchsorted",
    "unique", "unique_consecutive"
]  # fmt: skip

_ranges = lazy_import(globals(), "_ranges", "...kernels.ranges")


# ----- Distinct elements --------------------------------------------------------------------------------------------


def _filled(found: Any, dim: int | None = None) -> Any:
    """A kernel's (values, inverse, counts), with empty arrays for unrequested results."""
    if dim is not None:  # in PyTorch's layout: the slices one after the other
        slices = np.ascontiguousarray(np.moveaxis(found[0], dim, 0))
        found = (np.moveaxis(slices, 0, dim), *found[1:])
    return tuple(np.empty(0, np.int64) if part is None else part for part in found)


_unique_array, _unique_dim_array = lazy("sorting", "unique"), lazy("sorting", "unique_dim")
_consecutive_array = lazy("sorting", "unique_consecutive")
_RESULTS = ("values", "inverse", "counts")


@differentiable(lambda input, inverse_, counts_: _filled(_unique_array(input, inverse_, counts_)), node="Unique2Backward0", results=_RESULTS,
                input=not_written("_unique2", several=True))  # fmt: skip
@traits(refuses={"c": "unique"})
def _unique(input: Tensor, inverse_: bool, counts_: bool) -> tuple[Tensor, Tensor, Tensor]: ...


@differentiable(lambda input, dim, inverse_, counts_: _filled(_unique_dim_array(input, dim, inverse_, counts_), dim), node="UniqueDimBackward0",
                results=_RESULTS, input=not_written("unique_dim", several=True))  # fmt: skip
@traits(refuses={"c": "unique_dim"})
def _unique_dim(input: Tensor, dim: int, inverse_: bool, counts_: bool) -> tuple[Tensor, Tensor, Tensor]: ...


@differentiable(lambda input, dim, inverse_, counts_: _filled(_consecutive_array(input, dim, inverse_, counts_), dim),
                node="UniqueConsecutiveBackward0", results=_RESULTS, input=not_written("unique_consecutive", several=True))  # fmt: skip
@traits(refuses={"c": "unique"})
def _unique_consecutive(
    input: Tensor, dim: int | None, inverse_: bool, counts_: bool
) -> tuple[Tensor, Tensor, Tensor]: ...


def _asked_for(found: Any, return_inverse: bool, return_counts: bool) -> Any:
    results = [found[0]] + [found[1]] * return_inverse + [found[2]] * return_counts
    return results[0] if len(results) == 1 else tuple(results)


@pytorch_names_only
@method
def unique(
    input: Tensor, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False,
    dim: int | None = None,
) -> Any:  # fmt: skip
    """The distinct elements (or slices along `dim`), sorted; optionally the index of each element among them, and the counts.

    >>> torch.unique(torch.tensor([2, 1, 2]), return_counts=True)
    (tensor([1, 2]), tensor([1, 2]))
    """
    if dim is None:
        found = _unique(input, bool(return_inverse), bool(return_counts))
    else:
        found = _unique_dim(input, wrap_dim(dim, input.dim()), bool(return_inverse), bool(return_counts))
    return _asked_for(found, bool(return_inverse), bool(return_counts))


@pytorch_names_only
@method
def unique_consecutive(
    input: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """The elements (or slices along `dim`) with each run of equal ones reduced to one.

    >>> torch.unique_consecutive(torch.tensor([1, 1, 2, 1]))
    tensor([1, 2, 1])
    """
    axis = None if dim is None else wrap_dim(dim, input.dim())
    found = _unique_consecutive(input, axis, bool(return_inverse), bool(return_counts))
    return _asked_for(found, bool(return_inverse), bool(return_counts))


# ----- Positions in sorted sequences --------------------------------------------------------------------------------

_search_array = lazy("sorting", "searchsorted")


def _search_kernel(sorted_sequence: Any, input: Any, right: bool, int32: bool, sorter: Any) -> Any:
    if sorted_sequence.dtype != input.dtype:
        common = dtypes.promote_types(dtypes.from_np(sorted_sequence.dtype), dtypes.from_np(input.dtype)).np
        sorted_sequence, input = sorted_sequence.astype(common), input.astype(common)
    if input.dtype.kind in "bc":
        raise not_implemented("searchsorted_out_cpu", input.dtype)
    return _search_array(sorted_sequence, input, right, sorter).astype(np.int32 if int32 else np.int64, copy=False)


@plain(_search_kernel)
def _searchsorted(
    sorted_sequence: Tensor, input: Tensor, right: bool, int32: bool, sorter: Tensor | None
) -> Tensor: ...


def searchsorted(sorted_sequence: Tensor, input: Any, *, out_int32: bool = False, right: bool = False, side: str | None = None,
                 sorter: Tensor | None = None, out: Tensor | None = None, **kwargs: Any) -> Tensor:  # fmt: skip
    """The insertion positions of values in sorted rows: before equal elements, or (`right`) after them.

    >>> torch.searchsorted(torch.tensor([1, 3, 5]), torch.tensor([3, 6]))
    tensor([1, 3])
    """
    if "self" in kwargs:
        input = kwargs.pop("self")
    if side is not None:
        if side not in ("left", "right"):
            raise RuntimeError(f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}")
        if right and side == "left":
            raise RuntimeError(
                "torch.searchsorted(): side and right can't be set to opposites, got side of left while right was True"
            )
        right = side == "right"
    return _searchsorted(sorted_sequence, _as_values(input), right, out_int32, sorter, out=out)


def _as_values(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else scalar_like(value)


def bucketize(
    input: Any, boundaries: Tensor, *, out_int32: bool = False, right: bool = False, out: Tensor | None = None
) -> Tensor:
    """The index of the bucket between sorted boundaries that contains each value.

    >>> torch.bucketize(torch.tensor([0.5, 2.0]), torch.tensor([1.0, 3.0]))
    tensor([0, 1])
    """
    if boundaries.dim() != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.dim()})")
    return _searchsorted(boundaries, _as_values(input), right, out_int32, None, out=out)


# ----- Histograms ---------------------------------------------------------------------------------------------------

_histc_array = lazy("sorting", "histc")


def _histc_kernel(input: Any, bins: int, min: Any, max: Any) -> Any:
    if input.dtype.itemsize == 2:
        return _histc_array(input.astype(np.float32), bins, min, max).astype(input.dtype)
    return _histc_array(input, bins, min, max)


@plain(_histc_kernel)
@traits(refuses={"b": "linspace_cpu", "iuc": "histogram_cpu"})
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """The number of elements in each of `bins` equal bins from min to max (of the data, if both are equal).

    >>> torch.histc(torch.tensor([1.0, 2.0, 2.0]), bins=2, min=1, max=3)
    tensor([1., 2.])
    """


def _edges(values: Any, bins: Any, limits: Any, dtype: Any, at: int = 0) -> Any:
    """The bin edges of one dimension: given, or evenly spaced between the limits (of the data, if none are given)."""
    if isinstance(bins, np.ndarray):
        if not bins.size:
            raise RuntimeError(
                f"torch.histogramdd: bins tensor should have at least 1 element, but got 0 elements in the bins tensor for dimension {at}"
            )
        if bins.ndim != 1:
            raise RuntimeError(
                f"torch.histogramdd: bins tensor should have one dimension, but got {bins.ndim} dimensions in the bins tensor for "
                f"dimension {at}"
            )
        if bins.dtype != dtype:
            kinds = c_name(dtypes.from_np(dtype)), c_name(dtypes.from_np(bins.dtype))
            raise RuntimeError(
                f"torch.histogramdd: input tensor and bins tensors should have the same dtype, but got input with dtype {kinds[0]} and "
                f"bins for dimension {at} with dtype {kinds[1]}"
            )
        if bins.size == 1:
            raise RuntimeError(f"torch.histogram(): bins must be > 0, but got 0 for dimension {at}")
        return np.ascontiguousarray(bins)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    if limits is None:
        low, high = (
            (float(np.minimum.reduce(values, None)), float(np.maximum.reduce(values, None)))
            if values.size
            else (0.0, 1.0)
        )
    else:
        low, high = limits
    if not (math.isfinite(low) and math.isfinite(high)):
        raise RuntimeError(f"torch.histogramdd: dimension {at}'s range [{low:g}, {high:g}] is not finite")
    if low > high:
        raise RuntimeError(
            f"torch.histogramdd: min should not exceed max, but got min {low:g} max {high:g} for dimension {at}"
        )
    if low == high:
        low, high = low - 0.5, high + 0.5
    return linspace_array(low, high, bins + 1, dtypes.from_np(dtype))


def _bins(x: Any, edges: Any, uneven: bool, inside: Any) -> Any:
    """The bin index of each value; arbitrary for values outside of all bins."""
    last = len(edges) - 2
    low, high = float(edges[0]), float(edges[-1])
    if uneven or x.size < 1 << 10 or (last + 1) * max(abs(low), abs(high)) > (high - low) * (1 << 18):
        position = edges.searchsorted(x, "right")
        position -= 1
    else:  # equal bins: computed by division, whose rounding is off by at most one edge
        token = hush()
        guess = x - edges[0]
        guess *= (last + 1) / (high - low)
        if inside is not None:
            guess *= inside
        position = guess.astype(np.int64)
        unhush(token)
        np.minimum(np.maximum(position, 0, out=position), last, out=position)
        position -= x < edges.take(position)
        position += x >= edges[1:].take(position)
    np.minimum(position, last, out=position)
    return np.maximum(position, 0, out=position)


def _histogram_kernel(input: Any, bins: Sequence[Any], limits: Any, weight: Any, density: bool) -> Any:
    """Counts (or weights) in the cells of a grid, then the edges along each dimension. Points are rows of `input`."""
    if input.dtype.kind != "f" or input.dtype.itemsize < 4:
        raise not_implemented("histogram_cpu" if isinstance(bins[0], np.ndarray) else "histogramdd", input.dtype)
    points = input.reshape(-1, len(bins))
    spans = [None] * len(bins) if limits is None else [tuple(limits[2 * d : 2 * d + 2]) for d in range(len(bins))]
    edges = [_edges(points[:, d], b, spans[d], input.dtype, d) for d, b in enumerate(bins)]
    shape = tuple([len(e) - 1 for e in edges])
    inside: Any = None
    cell: Any = None
    for d, (e, b) in enumerate(zip(edges, bins)):
        x = points[:, d]
        if limits is not None or isinstance(b, np.ndarray):  # otherwise all points are inside
            within = (x >= e[0]) & (x <= e[-1])
            inside = within if inside is None else inside & within
        position = _bins(x, e, isinstance(b, np.ndarray), inside)
        cell = position if cell is None else cell * shape[d] + position
    weights = None if weight is None else weight.reshape(-1)
    if inside is not None:
        cell, weights = cell[inside], None if weights is None else weights[inside]
    hist = index_width.bincount(cell, weights, math.prod(shape)).astype(input.dtype).reshape(shape)
    if density:
        with silent():
            hist = hist / hist.sum()
            for d, e in enumerate(edges):
                hist = hist / np.diff(e).reshape([-1 if k == d else 1 for k in range(len(edges))])
    return hist.astype(input.dtype, copy=False), *edges


def _row_edges(rows: Any, bins: int) -> Any:
    """Bin edges for the values of each row."""
    _edges(rows, bins, None, rows.dtype)  # raises for non-finite values
    low, high = rows.min(1, keepdims=True).astype(np.float64), rows.max(1, keepdims=True).astype(np.float64)
    margin = np.where(low == high, 0.5, 0)
    return _ranges.linspace(low - margin, high + margin, bins + 1, rows.dtype)


def _histograms(input: Any, bins: Any, limits: Any, weight: Any, density: bool, lead: int) -> Any:
    """Histograms of each sample of a batch, whose dimensions are the first `lead`: (batch..., bins), and the edges."""
    if not lead:
        return _histogram_kernel(input, [bins], limits, weight, density)
    shape = input.shape[:lead]
    rows = input.reshape(int(np.prod(shape)), -1)
    if isinstance(bins, np.ndarray) or limits is not None or not rows.shape[1]:
        edges = _edges(rows, bins, limits or (0.0, 1.0), input.dtype)
        edges = np.broadcast_to(edges, (len(rows), len(edges)))
    else:
        edges = _row_edges(rows, bins)
    count = edges.shape[-1] - 1
    inside = (rows >= edges[:, :1]) & (rows <= edges[:, -1:])
    position = np.clip(_search_array(np.ascontiguousarray(edges), rows, True, None) - 1, 0, count - 1)
    cell = (position + np.arange(len(rows))[:, None] * count)[inside]
    weights = None if weight is None else weight.reshape(rows.shape)[inside]
    hist = index_width.bincount(cell, weights, count * len(rows)).astype(input.dtype).reshape(len(rows), count)
    if density:
        with silent():
            hist = (hist / hist.sum(-1, keepdims=True) / np.diff(edges)).astype(input.dtype, copy=False)
    return hist.reshape(*shape, count), np.ascontiguousarray(edges).reshape(*shape, count + 1)


@differentiable(_histograms, node="NotImplemented", results=("hist", "bin_edges"),
                input=no_derivative("histogram", several=True))  # fmt: skip
def _histogram(
    input: Tensor, bins: Any, limits: Any, weight: Tensor | None, density: bool, lead: int
) -> tuple[Tensor, Tensor]: ...


_Histogram, _Histogramdd = named_result("histogram", "hist bin_edges"), named_result("histogramdd", "hist bin_edges")


def _check_weight(input: Tensor, weight: Tensor | None, shape: tuple[int, ...]) -> None:
    if weight is not None and tuple(weight.shape) != shape:
        raise RuntimeError(
            "torch.histogramdd: if weight tensor is provided it should have the same shape as the input tensor excluding its "
            f"innermost dimension, but got input with shape {list(input.shape)} and weight with shape {list(weight.shape)}"
        )


@method
def histogram(input: Tensor, bins: Any = 100, *, range: Any = None, weight: Tensor | None = None, density: bool = False,
              out: Any = None) -> Any:  # fmt: skip
    """A histogram and its bin edges; `bins` is the number of equal bins, or the edges.

    >>> torch.histogram(torch.tensor([1.0, 2.0, 2.0]), 2, range=(1.0, 3.0)).hist
    tensor([1., 2.])
    """
    if isinstance(bins, Tensor):
        bins = bins._array
    _check_weight(input, weight, tuple(input.shape))
    return _Histogram(*_histogram(input, bins, range, weight, density, 0, out=out))


def histogramdd(
    input: Tensor, bins: Any, *, range: Any = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """A histogram over several dimensions of points (the last dimension of `input`), and its bin edges.

    >>> torch.histogramdd(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), bins=[2, 2]).hist
    tensor([[0., 1.],
            [1., 0.]])
    """
    if input.dim() < 2:
        raise RuntimeError(f"torch.histogramdd: input tensor should have at least 2 dimensions, but got {input.dim()}")
    count = input.shape[-1]
    each = [bins] * count if isinstance(bins, int) else list(bins)
    if len(each) != count:
        raise RuntimeError("histogramdd: The size of bins must be equal to the innermost dimension of the input.")
    _check_weight(input, weight, tuple(input.shape[:-1]))
    arrays = [b._array if isinstance(b, Tensor) else b for b in each]
    hist, *edges = _histogram_kernel(input._array, arrays, range, None if weight is None else weight._array, density)
    return _Histogramdd(wrap(hist), tuple(wrap(e) for e in edges))


def _hash_array(input: Any, dim: tuple[int, ...], keepdim: bool) -> Any:
    wide = input.astype(np.int64 if input.dtype.kind in "biu" else np.float64)
    xor: Any = np.bitwise_xor
    return xor.reduce(wide.view(np.uint64), axis=dim, keepdims=keepdim)


@plain(_hash_array)
@traits(refuses={"c": "xor_sum_cpu"})
def _hash_tensor(input: Tensor, dim: tuple[int, ...], keepdim: bool) -> Tensor: ...


@method
def hash_tensor(
    input: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0, out: Tensor | None = None
) -> Tensor:
    """A checksum of elements: the exclusive or of their bits as 64-bit integers.

    >>> torch.hash_tensor(torch.tensor([1, 3]))
    tensor(2, dtype=torch.uint64)
    """
    if mode != 0:
        raise RuntimeError(f"hash_tensor: Unknown hash mode: {mode}")
    return _hash_tensor(input, wrap_dims(dim, input.dim()), keepdim, out=out)


# ----- Counts -------------------------------------------------------------------------------------------------------


@plain(lazy("sorting", "bincount"))
@traits(out=False, refuses={"bfhc": "bincount_cpu"})
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int = 0) -> Tensor:
    """The number of occurrences of 0, 1, 2, ... among non-negative integers, or the sums of their weights.

    >>> torch.bincount(torch.tensor([0, 1, 1, 3]))
    tensor([1, 2, 0, 1])
    """


@plain(lambda input, dim: np.asarray(np.count_nonzero(input, axis=None if len(dim) == input.ndim else dim), np.int64))
def _count_nonzero(input: Tensor, dim: tuple[int, ...]) -> Tensor: ...


@method
def count_nonzero(input: Tensor, dim: Any = None) -> Tensor:
    """The number of nonzero elements, in total or along dimensions.

    >>> torch.count_nonzero(torch.tensor([0, 3, 5]))
    tensor(2)
    """
    return _count_nonzero(input, wrap_dims(dim, input.dim()))
