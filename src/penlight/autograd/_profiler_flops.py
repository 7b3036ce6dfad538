"""How many floating-point operations an op takes, for those that PyTorch's profiler counts."""

from __future__ import annotations

from typing import Any

from ..tensor import Tensor


def count(name: str, arguments: Any, result: Tensor) -> int:
    """Multiplications and additions of one call; 0 for ops that are not counted."""
    name = name.removeprefix("aten::").rstrip("_")
    tensors = [a for a in arguments if isinstance(a, Tensor)]
    if name in ("mm", "bmm") and len(tensors) == 2:
        return 2 * result.numel() * tensors[0].shape[-1]
    if name in ("addmm", "baddbmm") and len(tensors) == 3:
        return 2 * result.numel() * tensors[1].shape[-1]
    if name in ("mul", "add") and tensors:
        return result.numel()
    if name == "convolution" and len(tensors) >= 2:
        weight = tensors[1]
        return 2 * result.numel() * (weight.numel() // max(weight.shape[0], 1))
    return 0
