"""Shapes of gradients."""

from __future__ import annotations

from typing import Any


def sum_to(grad: Any, shape: tuple[int, ...]) -> Any:
    """Sum a gradient (an array) over the dimensions that broadcasting had added or widened."""
    extra = grad.ndim - len(shape)
    if extra > 0:
        grad = grad.sum(axis=tuple(range(extra)))
    axes = tuple(i for i, n in enumerate(shape) if n == 1 and grad.shape[i] != 1)
    return grad.sum(axis=axes, keepdims=True) if axes else grad


def fitted(grad: Any, shape: tuple[int, ...]) -> Any:
    """A gradient brought to its leaf's shape, or PyTorch's error if that can't be."""
    extra = grad.ndim - len(shape)
    if extra < 0 or any(m not in (1, n) for n, m in zip(grad.shape[extra:], shape)):
        raise RuntimeError(
            f"invalid gradient at index 0 - got {list(grad.shape)} but expected shape compatible with {list(shape)}"
        )
    return sum_to(grad, shape)
