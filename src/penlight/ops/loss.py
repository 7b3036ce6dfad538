"""Losses with rules of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..tensor import Tensor
from ._declare import differentiable

__all__ = [
    "reduce",
    "unreduce",
]

# Reductions as PyTorch numbers them (they show in `_saved_reduction`).
REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def reduce(values: Any, reduction: int) -> Any:
    """All losses, their mean or their sum."""
    return values if reduction == 0 else values.mean() if reduction == 1 else values.sum()


def unreduce(grad: Any, shape: tuple[int, ...], reduction: int) -> Any:
    """The gradient of each loss from the gradient of their reduction (a number, unless nothing was reduced)."""
    if reduction != 1:
        return grad
    count = 1
    for n in shape:
        count *= n
    return grad / count


# ----- Mean squared error -------------------------------------------------------------------------------------------


def _mse_rule(sign: int) -> Any:
    def rule(grad: Any, input: Any, target: Any, reduction: int, xp: Any) -> Any:
        return (unreduce(grad, tuple(input.shape), reduction) * (2 * sign)) * (input - target)

    return rule


def _mse_jvp(tangents: dict[str, Any], env: dict[str, Any], xp: Any) -> Any:
    input, target = env["input"], env["target"]
    move = tangents.get("input")
    if tangents.get("target") is not None:
        move = -tangents["target"] if move is None else move - tangents["target"]
    return reduce(2 * (input - target) * move, env["reduction"])


def _mse_array(input: Any, target: Any, reduction: int) -> Any:
    difference = input - target
    if reduction and difference.flags.c_contiguous and difference.dtype.kind == "f" and difference.itemsize > 2:
        flat = difference.reshape(-1)
        total = np.dot(flat, flat)
        return total / flat.size if reduction == 1 else total
    return reduce(np.square(difference, out=difference) if difference.ndim else difference * difference, reduction)


@differentiable(_mse_array, node="MseLossBackward0", jvp=_mse_jvp, method=False, input=_mse_rule(1), target=_mse_rule(-1))
def _mse_loss(input: Tensor, target: Tensor, reduction: int) -> Tensor: ...


# ----- Binary cross entropy -----------------------------------------------------------------------------------------


def _bce_logits_array(input: Any, target: Any, weight: Any, pos_weight: Any, reduction: int) -> Any:
    """(1 - t) x + l (log(1 + exp(-|x|)) + max(-x, 0)), with l = 1 + (pos_weight - 1) t."""
    soft = np.log1p(np.exp(-np.abs(input))) + np.maximum(-input, 0)
    if pos_weight is not None:
        soft = soft * (1 + (pos_weight - 1) * target)
    losses = (1 - target) * input + soft
    return reduce(losses if weight is None else losses * weight, reduction)


def _bce_logits_rule(grad: Any, input: Any, target: Any, weight: Any, pos_weight: Any, reduction: int, xp: Any) -> Any:
    slope = xp.sigmoid(input)
    if pos_weight is None:
        slope = slope - target
    else:
        t = pos_weight * target
        slope = (t + 1 - target) * slope - t
    if weight is not None:
        slope = slope * weight
    return slope * unreduce(grad, tuple(input.shape), reduction)


def _bce_target_rule(grad: Any, input: Any, target: Any, weight: Any, pos_weight: Any, reduction: int, xp: Any) -> Any:
    slope = -input
    if pos_weight is not None:
        slope = xp.log(1 - xp.sigmoid(input)) - pos_weight * xp.log(xp.sigmoid(input))
    if weight is not None:
        slope = slope * weight
    return slope * unreduce(grad, tuple(input.shape), reduction)


@differentiable(_bce_logits_array, node="BinaryCrossEntropyWithLogitsBackward0", method=False,
                input=_bce_logits_rule, target=_bce_target_rule)  # fmt: skip
def _bce_with_logits(input: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None, reduction: int) -> Tensor: ...
