"""Ops whose results keep the channels-last memory format of their input.

# Note [Channels last]
PyTorch propagates `channels_last` (and `channels_last_3d`) from op to op: the result has the strides of the input's format. The
kernels here compute with channels first; if the input is in channels-last format, their result is copied into that format.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...kernels.copies import contiguous
from ...tensor.memory import torch_strides
from .op import Op

# The permutations to channels-last order, and their inverses.
_LAST = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}
_FIRST = {4: (0, 3, 1, 2), 5: (0, 4, 1, 2, 3)}


def channels_last(array: np.ndarray[Any, Any]) -> bool:
    """Whether an array of 4 or 5 dimensions is channels-last and not also channels-first (contiguous)."""
    if min(array.shape) > 1 and array.transpose(_LAST[array.ndim]).flags.c_contiguous:
        return True
    order = (1, *range(array.ndim - 1, 1, -1), 0)
    strides, least = torch_strides(array), 0
    for d in order:
        step, size = strides[d], array.shape[d]
        if size == 0 or step < least or step <= 0:
            return False
        least = step * size
    return array.shape[1] > 1  # type: ignore[no-any-return]


def with_channels_last(array: Any) -> Any:
    """A copy of the array in channels-last format; an array without spatial dimensions is returned unchanged."""
    ndim = getattr(array, "ndim", 0)
    if ndim < 4:
        return array
    return contiguous(array.transpose(_LAST[ndim])).transpose(_FIRST[ndim])


def following(op: Op) -> Callable[..., Any]:
    """An op's kernel, with results in the memory format of its input (or of one of its first inputs, if the declaration says so)."""
    kernel, ranks, looked_at = op.kernel, op.traits.channels_last, op.traits.channels_last_of
    if not ranks:
        return kernel

    def run(*args: Any) -> Any:
        found = kernel(*args)
        for array in args[:looked_at]:
            if not array.flags.c_contiguous and array.ndim in ranks and channels_last(array):
                return tuple(map(with_channels_last, found)) if type(found) is tuple else with_channels_last(found)
        return found

    return run
