"""Converting the weights of convolutions to a memory format."""

from __future__ import annotations

from typing import Any

from penlight.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: Any, memory_format: Any, kinds: tuple[type[Any], ...]) -> Any:
    for part in module.modules():
        if isinstance(part, kinds):
            part.weight.data = part.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Gives the weights of all 2-d convolutions in a module a memory format, in place.

    >>> m = torch.nn.utils.convert_conv2d_weight_memory_format(torch.nn.Conv2d(2, 2, 2), torch.channels_last)
    >>> m.weight.shape
    torch.Size([2, 2, 2, 2])
    """
    return _convert(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Gives the weights of all 3-d convolutions in a module a memory format, in place.

    >>> m = torch.nn.utils.convert_conv3d_weight_memory_format(torch.nn.Conv3d(1, 1, 1), torch.channels_last_3d)
    >>> m.weight.shape
    torch.Size([1, 1, 1, 1, 1])
    """
    return _convert(module, memory_format, (Conv3d, ConvTranspose3d))
