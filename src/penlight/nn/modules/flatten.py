"""Flatten and Unflatten."""

from __future__ import annotations

from typing import Any

from penlight import Tensor

from ._options import Unary

__all__ = ["Flatten", "Unflatten"]


class Flatten(Unary, function=Tensor.flatten, shown="start_dim={self.start_dim}, end_dim={self.end_dim}",
              example=("()(torch.zeros(32, 1, 5, 5)).shape", "torch.Size([32, 25])")):  # fmt: skip
    """Makes one dimension of a range of them; by default of all but the first."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None: ...


class Unflatten(Unary, function=Tensor.unflatten, shown="dim={self.dim}, unflattened_size={self.unflattened_size}",
                example=("(1, (2, 5))(torch.zeros(2, 10)).shape", "torch.Size([2, 2, 5])")):  # fmt: skip
    """Makes several dimensions of one."""

    def __init__(self, dim: int, unflattened_size: Any) -> None: ...

    def _check(self) -> None:
        sizes, refused = self.unflattened_size, "unflattened_size must be"
        if not isinstance(sizes, (tuple, list)):
            raise TypeError(f"{refused} a tuple of ints, but found type {type(sizes).__name__}")
        for pos, size in enumerate(sizes):
            if not isinstance(size, int):
                raise TypeError(
                    f"{refused} tuple of ints, but found element of type {type(size).__name__} at pos {pos}"
                )
