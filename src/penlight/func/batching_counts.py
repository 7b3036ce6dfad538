"""Batching rules of histograms and counts: bins of all samples side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..ops import OPS
from .batched import physical
from .batching import DYNAMIC, rule

if TYPE_CHECKING:
    from .level import BatchLevel


@rule("histc")
def histc(level: BatchLevel, input: Any, bins: int, min: Any, max: Any) -> Any:
    rows = input._value.reshape(level.size, -1)
    if bins <= 0 or min > max or not rows.shape[1] or not rows.dtype.is_floating_point:
        return OPS["histc"].function(rows[:1], bins, min, max).expand(level.size, bins)  # refused, or all zeros
    wide = rows.float() if rows.dtype.itemsize == 2 else rows
    if min == max:
        low, high = (found.double() for found in (wide.amin(1, True), wide.amax(1, True)))
    else:
        low, high = (wide.new_full((1, 1), value, dtype=dtypes.float64) for value in (min, max))
    ends = physical(low)._array.min(), physical(high)._array.max()
    if not np.isfinite(ends).all():
        raise RuntimeError(f"torch.histc: range of [{ends[0]:g}, {ends[1]:g}] is not finite")
    flat = (low == high).double()
    low, high = low - flat, high + flat
    low, high = low.to(wide.dtype), high.to(wide.dtype)
    index = ((wide - low) * bins / (high - low)).clamp(0, bins - 1).long()
    inside = (wide >= low) & (wide <= high)
    return wide.new_zeros((level.size, bins)).scatter_add(1, index, inside.to(wide.dtype)).to(rows.dtype)


@rule("_histogram")
def histogram(level: BatchLevel, input: Any, bins: Any, limits: Any, weight: Any, density: bool, lead: int) -> Any:
    given = None if weight is None else level.full(weight)
    return OPS["_histogram"].function(level.full(input), bins, limits, given, density, lead + 1)


@rule("bincount")
def bincount(level: BatchLevel, input: Any, weights: Any, minlength: int) -> Any:
    """How many bins there are depends on the values: they must be as many for each sample."""
    array = physical(input)._array
    if input.dim() != 1 or array.dtype.kind not in "iu" or minlength < 0 or (array.size and array.min() < 0):
        OPS["bincount"].function(physical(input).reshape(array.shape), None, minlength)  # refused
    if weights is not None and weights.shape != input.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    lengths = array.max(-1, initial=-1) + 1
    count = max(int(lengths.max(initial=0)), minlength)
    if count > minlength and lengths.min() != count:
        raise RuntimeError(DYNAMIC.format("bincount"))
    rows = level.full(input).long()
    if weights is None:
        return rows.new_zeros((level.size, count)).scatter_add(1, rows, rows.new_ones(rows.shape))
    given = level.full(weights)
    total = given.new_zeros((level.size, count), dtype=dtypes.float64).scatter_add(1, rows, given.double())
    return total.float() if given.dtype is dtypes.float32 else total
