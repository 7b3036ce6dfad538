"""Ops whose results and gradients keep the channels-last memory format of their input.

# Note [Channels last]
PyTorch propagates `channels_last` (and `channels_last_3d`) from op to op: the result has the strides of the input's format, and so
has the gradient of the input. The kernels here compute with channels first; if the input is in channels-last format, what they
return is copied into that format.
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
    return _ordered_last(array.shape, torch_strides(array))


def _ordered_last(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether strides grow from the channels over the spatial dimensions to the batch."""
    least = 0
    for d in (1, *range(len(shape) - 1, 1, -1), 0):
        step, size = strides[d], shape[d]
        if size == 0 or step < least or step <= 0:
            return False
        least = step * size
    return shape[1] > 1


def with_channels_last(array: Any) -> Any:
    """A copy of the array in channels-last format; an array without spatial dimensions is returned unchanged."""
    ndim = getattr(array, "ndim", 0)
    if ndim < 4:
        return array
    return contiguous(array.transpose(_LAST[ndim])).transpose(_FIRST[ndim])


def follow(op: Op) -> None:
    """Give an op's results the memory format of its input (or of one of its first inputs, if the declaration says so), and its
    gradients the same format, or that of the incoming gradient."""
    ranks, looked_at = op.traits.channels_last, op.traits.channels_last_of
    if not ranks:
        return
    kernel = op.kernel

    def run(*args: Any) -> Any:
        found = kernel(*args)
        for array in args[:looked_at]:
            if not array.flags.c_contiguous and array.ndim in ranks and channels_last(array):
                return tuple(map(with_channels_last, found)) if type(found) is tuple else with_channels_last(found)
        return found

    op.kernel = run
    if op.traits.gradient_format:
        op.rules = {i: _following(op, rule, op.wants[i]) for i, rule in op.rules.items()}
        op.wants = {i: rule.wants for i, rule in op.rules.items()}  # type: ignore[attr-defined]


def _following(op: Op, rule: Callable[..., Any], wants: tuple[str, ...]) -> Callable[..., Any]:
    """A rule whose gradient has the memory format that the op's traits say."""
    count, ranks = len(wants), op.traits.channels_last
    looked_at = op.inputs[: op.traits.channels_last_of] if op.traits.gradient_format == "input" else ()

    def run(*values: Any) -> Any:
        found = rule(*values[:count])
        if type(found) is not np.ndarray or found.ndim not in ranks:
            return found
        formats = zip(values[count::2], values[count + 1 :: 2]) if looked_at else [(values[0].shape, values[0].strides)]
        return with_channels_last(found) if any(_ordered_last(*format) for format in formats) else found

    run.wants = (*wants, *[f"{i}_{what}" for i in looked_at for what in ("shape", "strides")])  # type: ignore[attr-defined]
    return run
