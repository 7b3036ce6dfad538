"""Flatten and Unflatten."""

from __future__ import annotations

from typing import Any

from penlight import Tensor

from ._options import Options

__all__ = ["Flatten", "Unflatten"]


class Flatten(Options):
    """Makes one dimension of a range of them; by default of all but the first.

    >>> import penlight as torch
    >>> torch.nn.Flatten()(torch.zeros(32, 1, 5, 5)).shape
    torch.Size([32, 25])
    """

    _shown = "start_dim={self.start_dim}, end_dim={self.end_dim}"

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        self._set_options(locals())

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Options):
    """Makes several dimensions of one.

    >>> import penlight as torch
    >>> torch.nn.Unflatten(1, (2, 5))(torch.zeros(2, 10)).shape
    torch.Size([2, 2, 5])
    """

    _shown = "dim={self.dim}, unflattened_size={self.unflattened_size}"

    def __init__(self, dim: int, unflattened_size: Any) -> None:
        self._set_options(locals())
        if not isinstance(unflattened_size, (tuple, list)):
            kind = type(unflattened_size).__name__
            raise TypeError(f"unflattened_size must be a tuple of ints, but found type {kind}")
        for pos, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                kind = type(size).__name__
                raise TypeError(
                    f"unflattened_size must be tuple of ints, but found element of type {kind} at pos {pos}"
                )

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)
