"""Activations with a weight or a gate: prelu and glu, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..copies.order import in_layout, laid_out_like
from ..reduce import reduce_sum
from ..rows import narrow, quiet, split_shape, widen
from . import Elementwise, attempt
from .activation import blend, drop, sigmoid
from .strategies import COMPILED


def _channel_weight(weight: np.ndarray, x: np.ndarray) -> np.ndarray:
    """One weight, or one per channel (dim 1), shaped to broadcast against x."""
    if weight.size == 1:
        return weight.reshape(())
    return weight.reshape((-1,) + (1,) * (x.ndim - 2)) if x.ndim > 1 else weight


def _prelu_of(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.where(x > 0.0, x, x * weight)


def _prelu_slope_of(x: np.ndarray, weight: np.ndarray, g: np.ndarray) -> np.ndarray:
    return np.where(x > 0.0, g, g * weight)


@Elementwise
def _prelu_share(x: np.ndarray, g: np.ndarray, out: np.ndarray) -> None:
    drop(x * g, x > 0.0, out)


def _prelu_by_machine(function: Callable[..., Any], x: np.ndarray, weight: np.ndarray, *rest: Any) -> np.ndarray | None:
    """The function by machine code, with the weight as one scalar, or one per row, which is a channel of an image."""
    if weight.size == 1:
        return attempt(function, (x, weight.reshape(()), *rest))
    if x.ndim < 3:
        return attempt(function, (x, weight, *rest)) if x.ndim == 2 else None
    broadcast = np.broadcast_to(_channel_weight(weight, x), (*x.shape[:2], *(1,) * (x.ndim - 2)))
    return attempt(function, (x, np.ascontiguousarray(broadcast), *rest))


@quiet
def prelu(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """x for x > 0, weight * x below; one weight, or one per channel (dim 1)."""
    wide = np.asarray(widen(x), order="C")
    if wide.size >= COMPILED:
        result = _prelu_by_machine(_prelu_of, wide, widen(weight))
        if result is not None:
            return narrow(laid_out_like(result, x), x.dtype)
    out = np.asarray(np.multiply(wide, _channel_weight(widen(weight), x)))
    blend(wide, wide > 0, out)
    return narrow(laid_out_like(out, x), x.dtype)


@quiet
def prelu_backward(grad: np.ndarray, x: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(dx, dweight) of `prelu`."""
    wide, g = np.asarray(widen(x), order="C"), np.asarray(widen(grad), order="C")
    dx = share = None
    if wide.size >= COMPILED:
        dx = _prelu_by_machine(_prelu_slope_of, wide, widen(weight), g)
        share = attempt(_prelu_share, (wide, g))
    if dx is None or share is None:
        positive = wide > 0
        dx = np.asarray(np.multiply(g, _channel_weight(widen(weight), x)))
        blend(g, positive, dx)
        share = np.asarray(np.multiply(g, wide))
        drop(share, positive, share)
    if weight.size == 1:
        dweight = reduce_sum(share, tuple(range(share.ndim)))
    else:
        dweight = np.add.reduce(share, tuple(k for k in range(x.ndim) if k != 1)) if x.ndim > 1 else share
    return narrow(laid_out_like(dx, x), x.dtype), np.asarray(dweight, weight.dtype).reshape(weight.shape)


def _gated(x: np.ndarray, gate: np.ndarray) -> np.ndarray:
    return x * np.reciprocal(np.exp(-gate) + 1.0)


@quiet
def glu(x: np.ndarray, dim: int) -> np.ndarray:
    """The first half of x along `dim`, times the sigmoid of the second."""
    halves = widen(x)
    before, middle = (slice(None),) * dim, x.shape[dim] // 2
    first, second = halves[(*before, slice(middle))], halves[(*before, slice(middle, None))]
    return narrow(_glu_of(first, second) if x.flags.c_contiguous else in_layout(_glu_of, first, second), x.dtype)


def _glu_of(x: np.ndarray, gate: np.ndarray) -> np.ndarray:
    found = attempt(_gated, (x, gate)) if x.size >= COMPILED // 2 else None
    if found is None:
        found = sigmoid(gate)
        found *= x
    return found


@quiet
def glu_backward(grad: np.ndarray, x: np.ndarray, dim: int) -> np.ndarray:
    """Gradient of `glu`."""
    outer, n, inner = split_shape(x.shape, dim)
    halves = widen(x).reshape(outer, 2, n // 2 * inner)
    out = np.empty(halves.shape, halves.dtype)
    first, second = out[:, 0], out[:, 1]
    gate = sigmoid(halves[:, 1])
    np.multiply(widen(grad).reshape(gate.shape), gate, first)
    np.subtract(1.0, gate, second)
    second *= halves[:, 0]
    second *= first
    return narrow(out.reshape(x.shape), x.dtype)
