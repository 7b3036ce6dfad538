"""Data parallelism. There are no GPUs here: DataParallel runs its module, everything else says so."""

from __future__ import annotations

import warnings
from typing import Any

from ...kernels.lazy import lazy_import
from .data_parallel import DataParallel, data_parallel
from .distributed import DistributedDataParallel
from .parallel_apply import parallel_apply
from .replicate import replicate
from .scatter_gather import gather, scatter

_refused = lazy_import(globals(), "_refused", "penlight._refused")


__all__ = [
    "DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter",
]  # fmt: skip


class DistributedDataParallelCPU(DistributedDataParallel):
    """Deprecated: `DistributedDataParallel` is the same."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "`torch.nn.parallel.DistributedDataParallelCPU` is deprecated, please use "
            "`torch.nn.parallel.DistributedDataParallel` instead.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)


def __getattr__(name: str) -> Any:
    raise _refused.missing(__name__, name)
