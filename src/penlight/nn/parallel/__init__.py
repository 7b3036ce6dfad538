"""Data parallelism. There are no GPUs here: DataParallel runs its module, the rest raises. `distributed` uses processes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._common.module_table import declare_modules, lazy_names
from ...kernels.lazy import lazy_import

if TYPE_CHECKING:
    from ...distributed._data_parallel import DistributedDataParallel as DistributedDataParallel

_refused = lazy_import(globals(), "_refused", "penlight._refused")

declare_modules(
    __name__,
    data_parallel={
        "parallel_apply": "parallel_apply", "replicate": "replicate", "scatter_gather": "gather scatter scatter_kwargs",
    },
)  # fmt: skip
_HOMES = declare_modules(
    __name__, **{"penlight.distributed._data_parallel": {"distributed": "DistributedDataParallel"}}
) | {"DistributedDataParallelCPU": "distributed"}

from .data_parallel import DataParallel, data_parallel, gather, parallel_apply, replicate, scatter  # noqa: E402

__all__ = [
    "DataParallel", "DistributedDataParallel", "data_parallel", "gather", "parallel_apply", "replicate", "scatter",
]  # fmt: skip

__getattr__, __dir__ = lazy_names(__name__, _HOMES, ("distributed",), lambda *name: _refused.missing(*name))
