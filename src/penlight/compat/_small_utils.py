"""Facts for other libraries' optimisers, and helpers around the `_foreach_` functions that they use."""

from __future__ import annotations

from typing import Any


def _get_foreach_kernels_supported_devices() -> list[str]:
    return ["cuda", "xpu", "mtia"]


def _get_fused_kernels_supported_devices() -> list[str]:
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia"]


def _has_foreach_support(tensors: Any, device: Any) -> bool:
    return device.type in {"cpu", *_get_foreach_kernels_supported_devices()}


def _device_has_foreach_support(device: Any) -> bool:
    return device.type in {"cpu", *_get_foreach_kernels_supported_devices()}


def _group_tensors_by_device_and_dtype(tensorlistlist: Any, with_indices: bool = False) -> dict[Any, Any]:
    """Rows of tensors in columns of one dtype each: by (device, dtype) of the first row, the rows and the indices."""
    groups: dict[Any, Any] = {}
    for index, column in enumerate(zip(*tensorlistlist)):
        first = next(t for t in column if t is not None)
        rows, indices = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for row, t in zip(rows, column):
            row.append(t)
        indices.append(index)
    return groups if with_indices else {key: (rows, []) for key, (rows, _) in groups.items()}
