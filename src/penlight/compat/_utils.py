"""torch._utils: a few private helpers that programs use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penlight._checks import get_device_module
from penlight._refused import NotAvailable, message
from penlight._serialization import rebuild
from penlight.device import device as Device
from penlight.ops import cat
from penlight.tensor import Tensor
from penlight.utils.data._utils.exceptions import (
    ExceptionWrapper as ExceptionWrapper,
    KeyErrorMessage as KeyErrorMessage,
)


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """Concatenate tensors into one vector.

    >>> torch._utils._flatten_dense_tensors([torch.zeros(2), torch.ones(1, 1)])
    tensor([0., 0., 1.])
    """
    return cat([tensor.contiguous().view(-1) for tensor in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Split a vector into consecutive views with the shapes of `tensors`."""
    outputs, offset = [], 0
    for tensor in tensors:
        outputs.append(flat.narrow(0, offset, tensor.numel()).view_as(tensor))
        offset += tensor.numel()
    return tuple(outputs)


def _get_available_device_type() -> None:
    """None: there is only the CPU."""
    return None


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """The index of a device; -1 for the CPU, if allowed."""
    found = Device(device) if isinstance(device, str) else device
    if isinstance(found, Device):
        if found.type == "cpu" and allow_cpu:
            return -1
        if found.index is not None:
            return found.index
    if isinstance(found, int):
        return found
    raise ValueError(f"Expected a torch.device with a specified index or an integer, but got:{device}")


class classproperty:
    """A property of the class itself."""

    def __init__(self, func: Any) -> None:
        self.func = func

    def __get__(self, instance: Any, owner: Any) -> Any:
        return self.func(owner)


def _element_size(dtype: Any) -> int:
    """The bytes of an element."""
    return int(dtype.itemsize)


def _get_device_module(device_type: str) -> Any:
    """The module of a device type, such as `torch.cuda`."""
    return get_device_module(device_type)


# ----- torch.utils._foreach_utils -----------------------------------------------------------------------------------------


def _get_foreach_kernels_supported_devices() -> list[str]:
    return ["cuda", "xpu", "mtia"]


def _get_fused_kernels_supported_devices() -> list[str]:
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia"]


def _has_foreach_support(tensors: Any, device: Any) -> bool:
    return device.type in {"cpu", *_get_foreach_kernels_supported_devices()}


def _device_has_foreach_support(device: Any) -> bool:
    return device.type in {"cpu", *_get_foreach_kernels_supported_devices()}


def _group_tensors_by_device_and_dtype(tensorlistlist: Any, with_indices: bool = False) -> dict[Any, Any]:
    """Group lists of tensors by the (device, dtype) of the first list's tensors; each group has its lists and the original indices."""
    groups: dict[Any, Any] = {}
    for index, column in enumerate(zip(*tensorlistlist)):
        first = next(t for t in column if t is not None)
        rows, indices = groups.setdefault((first.device, first.dtype), ([[] for _ in tensorlistlist], []))
        for row, t in zip(rows, column):
            row.append(t)
        indices.append(index)
    return groups if with_indices else {key: (rows, []) for key, (rows, _) in groups.items()}


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(f"module 'torch._utils' has no attribute '{name}'")
    if name.startswith("_rebuild"):
        return getattr(rebuild, name)
    raise NotAvailable(message(f"_utils.{name}", "it is a private helper of PyTorch that Penlight does not have."))
