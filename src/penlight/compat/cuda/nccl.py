"""torch.cuda.nccl: there is none."""

from __future__ import annotations

import warnings
from typing import Any

from penlight._refused import refused_function


def is_available(tensors: Any) -> bool:
    """False, with PyTorch's warning."""
    warnings.warn("PyTorch is not compiled with NCCL support", stacklevel=2)
    return False


_WHY = "PyTorch is not compiled with NCCL support, and Penlight runs in one process on the CPU"
version = refused_function("cuda.nccl.version", _WHY, RuntimeError)
unique_id = refused_function("cuda.nccl.unique_id", _WHY, RuntimeError)
init_rank = refused_function("cuda.nccl.init_rank", _WHY, RuntimeError)
all_reduce = refused_function("cuda.nccl.all_reduce", _WHY, RuntimeError)
all_gather = refused_function("cuda.nccl.all_gather", _WHY, RuntimeError)
broadcast = refused_function("cuda.nccl.broadcast", _WHY, RuntimeError)
reduce = refused_function("cuda.nccl.reduce", _WHY, RuntimeError)
reduce_scatter = refused_function("cuda.nccl.reduce_scatter", _WHY, RuntimeError)
