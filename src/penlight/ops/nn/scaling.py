"""Scaling by neighbouring channels, and to length one."""

from __future__ import annotations

from typing import Any

from ...kernels.lazy import lazy_import
from ...tensor import Tensor
from ..machinery.declare import OPS

__all__ = ["local_response_norm", "normalize"]

_padding = lazy_import(globals(), "_padding", ".padding")
_pool = lazy_import(globals(), "_pool", ".pool")


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Each element divided by a power of the mean square over neighbouring channels.

    >>> torch.nn.functional.local_response_norm(torch.ones(1, 2, 3), 2).shape
    torch.Size([1, 2, 3])
    """
    ndim = input.dim()
    if ndim < 3:
        gap = " " * 26
        raise ValueError(f"Expected 3D or higher dimensionality{gap}input (got {ndim} dimensions)")
    if input.numel() == 0:
        return input
    squares = input.mul(input)
    if ndim == 3:
        padded = _padding.pad(squares.unsqueeze(1), (0, 0, size // 2, (size - 1) // 2))
        mean = _pool.avg_pool2d(padded, (size, 1), stride=1).squeeze(1)
    else:
        shape = input.shape
        padded = _padding.pad(
            squares.view(shape[0], 1, shape[1], shape[2], -1), (0, 0, 0, 0, size // 2, (size - 1) // 2)
        )
        mean = _pool.avg_pool3d(padded, (size, 1, 1), stride=1).squeeze(1).view(shape)
    return input / mean.mul(alpha).add(k).pow(beta)


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """The input divided by its norm along a dimension.

    >>> torch.nn.functional.normalize(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    length = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / length if out is None else OPS["_div"].function(input, length, out=out)
