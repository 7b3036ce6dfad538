"""Moving a batch to pinned memory, which only matters where there is an accelerator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import penlight
from penlight._common.docstrings import example
from penlight.utils.data._utils.structure import mapping_like, sequence_like


@example('torch.utils.data._utils.pin_memory.pin_memory({"name": "a", "n": [1, 2]})', "{'name': 'a', 'n': [1, 2]}")
def pin_memory(data: Any, device: Any = None) -> Any:
    """`data` with `pin_memory()` called on every tensor, and on every object that has such a method."""
    if isinstance(data, penlight.Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return mapping_like(data, lambda key: pin_memory(data[key], device))
    if isinstance(data, tuple):
        pinned = [pin_memory(item, device) for item in data]
        return type(data)(*pinned) if hasattr(data, "_fields") else type(data)(pinned)
    if isinstance(data, Sequence):
        return sequence_like(data, len(data), lambda i: pin_memory(data[i], device))
    return data
