"""Reductions of consecutive segments along a dimension of a tensor."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ...kernels.index.scatter import covered, reduce_segments
from ...kernels.index_width import native_counts
from ...tensor import Tensor, wrap
from ..machinery.arguments import as_int
from ..machinery.declare import differentiable
from ..machinery.guards import not_implemented

__all__ = ["segment_reduce"]

_REDUCTIONS = ("sum", "mean", "max", "min", "prod")


def _others(rows: Any, owners: Any, count: int, initial: float | None, xp: Any) -> Any:
    """For each row, the product of the others in its segment, with zeros ignored; and where another element is 0, or NaN."""
    missing = rows != rows
    zero = rows == 0
    kind = xp.np_dtype(rows)
    safe = xp.where(zero | missing, 1.0, rows)
    start = xp.zeros_for(rows, (count, rows.shape[1]))
    product = xp._index_reduce(start + (1.0 if initial is None else initial), 0, owners, safe, "prod", True)
    zeros, missings = (
        xp._index_select(xp._index_add(start, 0, owners, xp.cast(which, kind), 1), 0, owners) - xp.cast(which, kind)
        for which in (zero, missing)
    )
    return xp._index_select(product, 0, owners) / safe, zeros > 0, missings > 0


def _segment_rule(
    grad: Any, input: Any, owners: Any, row_counts: Any, result: Any, reduce: str, initial: float | None, xp: Any
) -> Any:
    """The gradient of the reduced elements. That of a maximum goes to all elements that equal it, and to NaN: in equal shares, or in full
    to each of them if it is negative, as in PyTorch."""
    shape = tuple(input.shape)
    if not owners.shape[0]:  # all segments are empty
        return xp.zeros_like(input)
    inner = math.prod(shape) // owners.shape[0]
    grad, input = xp.reshape(grad, (-1, inner)), xp.reshape(input, (-1, inner))
    if reduce == "sum":
        rows = xp._index_select(grad, 0, owners)
    elif reduce == "mean":
        rows = xp._index_select(grad / xp.where(row_counts == 0, 1.0, row_counts), 0, owners)
    elif reduce == "prod":
        rows = _through_product(grad, input, owners, xp.reshape(result, (-1, inner)), initial, xp)
    else:
        hits = (input == xp._index_select(xp.reshape(result, (-1, inner)), 0, owners)) | (input != input)
        hits = xp.cast(hits, xp.np_dtype(input))
        count = xp._index_add(xp.zeros_like(grad), 0, owners, hits, 1)
        rows = hits * xp._index_select(grad / xp.where((count == 0) | (grad < 0), 1.0, count), 0, owners)
    return xp.reshape(rows, shape)


def _through_product(grad: Any, input: Any, owners: Any, result: Any, initial: float | None, xp: Any) -> Any:
    if not xp.any_true((input == 0) | (input != input)):
        return xp._index_select(grad * result, 0, owners) / input
    product, zero, missing = _others(input, owners, grad.shape[0], initial, xp)
    return xp._index_select(grad, 0, owners) * xp.where(missing, math.nan, xp.where(zero, 0.0, product))


@differentiable(reduce_segments, node="SegmentReduceBackward0", method=False, input=_segment_rule)
def _segment_reduce(
    input: Tensor, owners: Tensor, row_counts: Tensor | None, shape: tuple[int, ...], reduce: str, initial: float | None
) -> Tensor: ...


def segment_reduce(
    data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None,
    axis: int = 0, unsafe: bool = False, initial: Any = None,
) -> Tensor:  # fmt: skip
    """The sum, mean, max, min or product of each segment along `axis`, given by `lengths` or by `offsets`, which have a row for each
    index of the dimensions before it.

    >>> torch.segment_reduce(torch.arange(4.0), "sum", lengths=torch.tensor([1, 3]))
    tensor([0., 6.])
    """
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    reduce = {"amax": "max", "amin": "min"}.get(reduce, reduce)
    if reduce not in _REDUCTIONS:
        raise RuntimeError(f"unsupported reduction given: {reduce}")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    shape = data._array.shape
    if data._array.dtype.kind not in "fV":
        raise not_implemented("_segment_reduce_cpu", data._array.dtype)
    given = offsets if lengths is None else lengths
    if len(shape) < given.dim():  # type: ignore[union-attr]
        raise RuntimeError(
            f"Expected data.dim() >= {'offsets' if lengths is None else 'lengths'}_value.dim() to be true, but got false."
        )
    axis = as_int(axis) % len(shape)
    sizes = lengths._array if offsets is None else np.diff(offsets._array)  # type: ignore[union-attr]
    counts = sizes.reshape(-1)
    try:
        owners = np.repeat(_numbers(counts.size), native_counts(counts))
    except ValueError:
        raise RuntimeError("lengths contains negative value!" if offsets is None else _SUMS) from None
    if not unsafe and offsets is None and not _cover(sizes, owners.size, shape[axis]):
        raise RuntimeError(_SUMS)
    if owners.size != math.prod(shape[: axis + 1]):  # some elements belong to no segment
        data = data.reshape(-1, *shape[axis + 1 :])
        starts = np.arange(0, len(data), shape[axis] or 1).reshape(sizes.shape[:-1])
        data = data[wrap(covered(sizes, starts if offsets is None else starts + offsets._array[..., 0]))]
    row_counts = wrap(counts.astype(data._array.dtype)[:, None]) if reduce == "mean" else None
    result = (*shape[:axis], sizes.shape[-1], *shape[axis + 1 :])
    return _segment_reduce(data, wrap(owners), row_counts, result, reduce, None if initial is None else float(initial))


_SUMS = "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."
_numbers = lru_cache(32)(np.arange)


def _cover(sizes: Any, total: int, n: int) -> bool:
    """Whether the sizes of the segments, which sum to `total`, cover `n` elements in each row."""
    return total == n if sizes.ndim == 1 else bool((sizes.sum(-1) == n).all())
