"""Cutting batches up for several devices and joining the results, for devices that are not there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penlight import Tensor

__all__ = ["gather", "scatter", "scatter_kwargs"]


def _contains_tensor(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_contains_tensor(item) for pair in value.items() for item in pair)
    if isinstance(value, (list, tuple)):
        return any(_contains_tensor(item) for item in value)
    return isinstance(value, Tensor)


def scatter(inputs: Any, target_gpus: Sequence[Any], dim: int = 0) -> list[Any]:
    """The inputs once for each device; tensors cannot be put on one, which raises."""
    if _contains_tensor(inputs):
        raise RuntimeError(
            "Cannot scatter tensors to devices that are not available. There is no GPU here: "
            "use tensor.chunk(n) to cut a batch up."
        )
    return [inputs for _ in target_gpus]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Any], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """`scatter` for positional and keyword arguments."""
    positional = scatter(inputs, target_gpus, dim) if inputs else []
    named = scatter(kwargs, target_gpus, dim) if kwargs else []
    count = max(len(positional), len(named))
    positional += [()] * (count - len(positional))
    named += [{}] * (count - len(named))
    return tuple(positional), tuple(named)


def gather(outputs: Any, target_device: Any, dim: int = 0) -> Any:
    """Raises for tensors, as PyTorch does where there are no GPUs; None stays None."""
    if _contains_tensor(outputs):
        raise AssertionError(
            "Gather function not implemented for CPU tensors. There is no GPU here: use torch.cat(outputs, dim)."
        )
    first = outputs[0]
    if first is None:
        return None
    raise TypeError(f"gather: expected tensors or containers of tensors, but got {type(first).__name__}")
