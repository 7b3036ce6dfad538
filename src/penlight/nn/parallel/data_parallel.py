"""DataParallel, which without GPUs is its module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penlight.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Runs its module, as PyTorch does where there are no GPUs; `device_ids` and the rest are accepted.

    >>> import penlight as torch
    >>> torch.nn.DataParallel(torch.nn.ReLU())(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: Any = None,
) -> Any:
    """Raises, as PyTorch does where there are no GPUs."""
    raise RuntimeError("device type could not be determined. There is no GPU here: call the module itself.")
