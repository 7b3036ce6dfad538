"""DataParallel, which without GPUs is its module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penlight._common.docstrings import example
from penlight.nn.modules.module import Module

from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter_kwargs

__all__ = ["DataParallel", "data_parallel"]


@example("torch.nn.DataParallel(torch.nn.ReLU())(torch.tensor([-1.0, 1.0]))", "tensor([0., 1.])")
class DataParallel(Module):
    """Runs its module, as PyTorch does where there are no GPUs; `device_ids` and the rest are accepted."""

    def __init__(self, module: Module, device_ids: Sequence[Any] | None = None, output_device: Any = None,
                 dim: int = 0) -> None:  # fmt: skip
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        return self.module(*inputs, **kwargs)

    def replicate(self, module: Any, device_ids: Sequence[Any]) -> list[Any]:
        """See `parallel.replicate`."""
        return replicate(module, device_ids)

    def scatter(self, inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, device_ids: Sequence[Any]) -> Any:
        """See `parallel.scatter`."""
        return scatter_kwargs(inputs, kwargs, device_ids)

    def parallel_apply(self, replicas: Sequence[Any], inputs: Sequence[Any], kwargs: Any) -> list[Any]:
        """See `parallel.parallel_apply`."""
        return parallel_apply(replicas, inputs, kwargs)

    def gather(self, outputs: Any, output_device: Any) -> Any:
        """See `parallel.gather`."""
        return gather(outputs, output_device)


def data_parallel(module: Module, inputs: Any, device_ids: Sequence[Any] | None = None, output_device: Any = None,
                  dim: int = 0, module_kwargs: Any = None) -> Any:  # fmt: skip
    """Raises, as PyTorch does where there are no GPUs."""
    raise RuntimeError("device type could not be determined. There is no GPU here: call the module itself.")
