"""Reductions of consecutive segments along a dimension of a tensor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import penlight
from penlight import Tensor

from ..tensor import wrap

__all__ = [
    "segment_reduce",
]

_START = {"sum": 0.0, "mean": 0.0, "max": -math.inf, "min": math.inf, "prod": 1.0}
_NAMES = {"sum": "sum", "mean": "sum", "max": "amax", "min": "amin", "prod": "prod"}


def segment_reduce(
    data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None,
    axis: int = 0, unsafe: bool = False, initial: Any = None,
) -> Tensor:  # fmt: skip
    """The sum, mean, max, min or product of each segment along `axis`, given by `lengths` or by `offsets`, which have a row for each
    place in the dimensions before it.

    >>> import penlight as torch
    >>> torch.segment_reduce(torch.arange(4.0), "sum", lengths=torch.tensor([1, 3]))
    tensor([0., 6.])
    """
    if reduce not in _START:
        raise RuntimeError(f"unsupported reduction given: {reduce}")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    if not data.is_floating_point():
        kind = data.type().removeprefix("torch.").removesuffix("Tensor")
        raise NotImplementedError(f"\"_segment_reduce_cpu\" not implemented for '{kind}'")
    given = offsets if lengths is None else lengths
    if data.dim() < given.dim():  # type: ignore[union-attr]
        raise RuntimeError(
            f"Expected data.dim() >= {'offsets' if lengths is None else 'lengths'}_value.dim() to be true, but got false."
        )
    axis = axis % data.dim()
    before = 0 if offsets is None else offsets._array[..., :1]
    sizes = lengths._array if offsets is None else np.diff(offsets._array)  # type: ignore[union-attr]
    if not unsafe and (sizes.min(initial=0) < 0 or (offsets is None and (sizes.sum(-1) != data.shape[axis]).any())):
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."
        )
    owner = _owners(sizes, before, data.shape[axis])
    owner = owner.reshape(*owner.shape, *[1] * (data.dim() - axis - 1)).expand(data.shape)
    count = sizes.shape[-1]
    shape = (*data.shape[:axis], count + 2, *data.shape[axis + 1 :])
    first = penlight.full(shape, _START[reduce] if initial is None else initial, dtype=data.dtype)
    alone = reduce in ("max", "min") and initial is not None  # of these the first value takes no share of the gradient
    start = penlight.full(shape, _START[reduce], dtype=data.dtype) if alone else first
    result = start.scatter_reduce(axis, owner, data, _NAMES[reduce])
    if alone:
        result = penlight.where(result >= first if reduce == "max" else result <= first, result, first)
    result = result.narrow(axis, 1, count).contiguous()
    if reduce != "mean":
        return result
    parts = wrap(sizes.astype(data.dtype.np)).reshape(*sizes.shape, *[1] * (data.dim() - axis - 1))
    mean = result / parts
    return mean if initial is None else penlight.where(parts == 0, first.narrow(axis, 1, count), mean)


def _owners(sizes: np.ndarray, before: Any, total: int) -> Tensor:
    """The number of the segment, from 1 on, that each place along the axis belongs to: 0 before the first, one more than the last after."""
    rows = np.empty((*sizes.shape[:-1], sizes.shape[-1] + 2), np.int64)
    rows[..., :1], rows[..., 1:-1] = before, sizes
    rows[..., -1] = total - rows[..., :-1].sum(-1)
    numbers = np.broadcast_to(np.arange(rows.shape[-1]), rows.shape)
    return wrap(np.repeat(numbers.ravel(), rows.ravel()).reshape(*sizes.shape[:-1], total))
