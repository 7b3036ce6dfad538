"""Reductions of consecutive segments of the rows of a tensor."""

from __future__ import annotations

import math
from typing import Any

import penlight
from penlight import Tensor

__all__ = [
    "segment_reduce",
]

_START = {"sum": 0.0, "mean": 0.0, "max": -math.inf, "min": math.inf, "prod": 1.0}
_NAMES = {"sum": "sum", "mean": "sum", "max": "amax", "min": "amin", "prod": "prod"}


def segment_reduce(
    data: Tensor, reduce: str, *, lengths: Tensor | None = None, indices: Tensor | None = None, offsets: Tensor | None = None,
    axis: int = 0, unsafe: bool = False, initial: Any = None,
) -> Tensor:  # fmt: skip
    """The sum, mean, max, min or product of each segment of the rows, given by `lengths` or by `offsets`.

    >>> import penlight as torch
    >>> torch.segment_reduce(torch.arange(4.0), "sum", lengths=torch.tensor([1, 3]))
    tensor([0., 6.])
    """
    if reduce not in _START:
        raise RuntimeError(f"unsupported reduction given: {reduce}")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    lengths = offsets.diff() if lengths is None else lengths  # type: ignore[union-attr]
    if axis != 0 or lengths.dim() != 1:
        raise NotImplementedError("segment_reduce: Penlight has it for axis 0 and one row of lengths")
    if not unsafe and (lengths.min() < 0 or int(lengths.sum()) != data.shape[0]):
        raise RuntimeError(
            "segment_reduce(): Expected all rows of lengths along axis to sum to data.size(lengths.dim()-1) when !unsafe."
        )
    count = lengths.shape[0]
    owner = penlight.arange(count).repeat_interleave(lengths)
    owner = owner.view(-1, *[1] * (data.dim() - 1)).expand_as(data)
    start = penlight.full((count, *data.shape[1:]), _START[reduce] if initial is None else initial, dtype=data.dtype)
    result = start.scatter_reduce(0, owner, data, _NAMES[reduce])
    if reduce != "mean":
        return result
    sizes = lengths.to(data.dtype).view(-1, *[1] * (data.dim() - 1))
    mean = result / sizes
    return mean if initial is None else penlight.where(sizes == 0, start, mean)
