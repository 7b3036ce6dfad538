"""Shared by the losses: reductions, their legacy flags, and unequal shapes."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ... import dtypes
from ..._common.user_warnings import warn_user
from ...kernels.reduce.compiled import reduce_compiled
from ...kernels.reduce.strategies import LEAST_REDUCED
from ...kernels.rows import is_half
from ...tensor import Tensor
from ..machinery.arguments import broadcast_shape
from ..machinery.array_namespace import shared

WORDS = ("none", "mean", "sum")  # indexed by PyTorch's numbers, which `_saved_reduction` shows
_NUMBERS = {word: number for number, word in enumerate(WORDS)}


def reduction_number(reduction: str, size_average: Any = None, reduce: Any = None) -> int:
    """The number of a reduction, given as a word or by the two legacy flags."""
    if size_average is not None or reduce is not None:
        reduction = legacy_word(size_average, reduce)
    found = _NUMBERS.get(reduction)
    if found is None:
        if reduction == "elementwise_mean":
            warn_user("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
            return 1
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return found


def legacy_word(size_average: Any, reduce: Any) -> str:
    """The word for the two legacy flags, after a warning."""
    average, all_together = size_average is None or size_average, reduce is None or reduce
    word = "none" if not all_together else "mean" if average else "sum"
    warn_user(f"size_average and reduce args will be deprecated, please use reduction='{word}' instead.")
    return word


def reduce_values(values: Any, reduction: int) -> Any:
    """All losses, their mean or their sum."""
    if reduction == 0:
        return values
    if not isinstance(values, np.ndarray):
        return values.mean() if reduction == 1 else values.sum()
    if is_half(values.dtype):
        return reduce_values(values.astype(np.float32), reduction).astype(values.dtype)
    if reduction == 1 and not values.size:
        return np.full((), np.nan, values.dtype)  # NumPy would warn about an empty mean
    total: Any = reduce_compiled(values, "sum") if values.size >= LEAST_REDUCED else None
    if total is None and values.dtype.kind != "f":
        return values.mean() if reduction == 1 else values.sum()
    if total is None:
        total = np.add.reduce(values, None)
    return total / total.dtype.type(values.size) if reduction == 1 else total


def unreduce(grad: Any, shape: tuple[int, ...], reduction: int) -> Any:
    """The gradient of each loss from the gradient of their reduction (a scalar, unless nothing was reduced)."""
    return grad if reduction != 1 else shared(grad, prod(shape))


def same_shape(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Input and target in one shape and dtype; warns as PyTorch does if the shapes differ."""
    a, b = input._array, target._array
    if a.shape != b.shape:
        warn_user(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). This will likely "
            "lead to incorrect results due to broadcasting. Please ensure they have the same size."
        )
        shape = broadcast_shape(a.shape, b.shape)
        input, target = input.expand(shape), target.expand(shape)
    if a.dtype is not b.dtype and input.dtype is not target.dtype:
        common = dtypes.result_dtype([input._array, target._array])  # after expansion, a 0-d tensor's dtype counts
        input, target = input.to(common), target.to(common)
    return input, target


def not_differentiable(function: str, **tensors: Tensor | None) -> None:
    """Refuse inputs that require grad where PyTorch has no derivative."""
    for name, tensor in tensors.items():
        if tensor is not None and tensor.requires_grad:
            raise RuntimeError(
                f"The function '{function}' is not differentiable with respect to argument '{name}'. This input cannot have "
                "requires_grad True."
            )
