"""Inputs that are the same for both libraries, and the gradients of what is made of them."""

from __future__ import annotations

from typing import Any

import numpy as np


def array(lib: Any, *shape: int, seed: int = 0, scale: float = 1.0, grad: bool = False, dtype: Any = np.float32) -> Any:
    """A tensor of either library with the same normal numbers."""
    values = np.asarray(np.random.default_rng(seed).standard_normal(shape) * scale, dtype)
    return lib.from_numpy(values).requires_grad_(grad)


def integers(lib: Any, high: int, *shape: int, seed: int = 0) -> Any:
    """A tensor of either library with the same integers from 0 to high - 1."""
    return lib.from_numpy(np.random.default_rng(seed).integers(0, high, shape))


def gradients(outputs: Any, leaves: dict[str, Any], lib: Any) -> dict[str, Any]:
    """The gradients of a fixed weighting of all floating point outputs."""
    tensors = []

    def collect(value: Any) -> None:
        if isinstance(value, lib.Tensor):
            if value.is_floating_point() and value.requires_grad:
                tensors.append(value)
        elif isinstance(value, (list, tuple)):
            for item in value:
                collect(item)

    collect(outputs)
    total = sum((t * array(lib, *t.shape, seed=7 + i).to(t.dtype)).sum() for i, t in enumerate(tensors))
    if isinstance(total, int):
        return {}
    total.backward()
    return {name: leaf.grad for name, leaf in leaves.items() if leaf.grad is not None}
