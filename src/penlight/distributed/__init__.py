"""torch.distributed: Penlight runs in one process. Questions are answered; everything else is refused when it is used.

>>> import penlight as torch
>>> torch.distributed.is_available(), torch.distributed.is_initialized()
(False, False)
"""

from __future__ import annotations

import os
import sys
from datetime import timedelta
from typing import Any

from penlight._refused import refuse

_INSTEAD = "Train in one process: leave out init_process_group and DistributedDataParallel."

_WHY = "Penlight runs in one process and has no distributed training."
__getattr__ = refuse(__name__, _WHY, _INSTEAD)


class group:
    """The groups of processes: there is none."""

    WORLD: Any = None


class GroupMember(group):
    """The groups that this process is in: none."""

    NON_GROUP_MEMBER = -100


def _decorate(function: Any) -> Any:
    """The function itself: for decorators that only matter with several processes."""
    return function


def _fill_modules() -> None:
    """What packages need of the modules below when they are imported."""

    def module(name: str) -> Any:
        return sys.modules[f"{__name__}.{name}"]

    module("distributed_c10d").group, module("distributed_c10d").GroupMember = group, GroupMember
    module("distributed_c10d")._pg_map = {}
    module("constants").default_pg_timeout = module("distributed_c10d").default_pg_timeout = timedelta(minutes=30)
    module("rpc").is_available = lambda: False
    module("rpc.api")._require_initialized = _decorate
    module("rpc.api").UNSET_RPC_TIMEOUT = -1.0
    module("elastic.multiprocessing.errors").record = _decorate


_fill_modules()


def is_available() -> bool:
    """False: there is one process."""
    return False


def is_initialized() -> bool:
    """False: there is no process group."""
    return False


def is_nccl_available() -> bool:
    """False: there is one process."""
    return False


is_gloo_available = is_mpi_available = is_ucc_available = is_xccl_available = is_nccl_available


def is_torchelastic_launched() -> bool:
    """Whether `torchrun` started this process, which its environment tells."""
    return os.getenv("TORCHELASTIC_RUN_ID") is not None


def _no_group(*args: Any, **kwargs: Any) -> Any:
    raise ValueError(
        "Default process group has not been initialized, please make sure to call init_process_group. Penlight runs in one "
        f"process and has no distributed training. {_INSTEAD}"
    )


def get_rank(group: Any = None) -> int:
    """Refused, as PyTorch does without a process group."""
    return _no_group()


def get_world_size(group: Any = None) -> int:
    """Refused, as PyTorch does without a process group."""
    return _no_group()


def get_backend(group: Any = None) -> str:
    """Refused, as PyTorch does without a process group."""
    return _no_group()


all_gather = all_gather_into_tensor = all_gather_object = all_reduce = all_to_all = all_to_all_single = barrier = (
    _no_group
)
broadcast = broadcast_object_list = gather = gather_object = irecv = isend = monitored_barrier = new_group = recv = (
    _no_group
)
reduce = reduce_scatter = reduce_scatter_tensor = scatter = scatter_object_list = send = _no_group


def destroy_process_group(group: Any = None) -> None:
    """Refused, as PyTorch does without a process group."""
    raise AssertionError("Process group cannot be None. Penlight runs in one process: there is no group to destroy")


def get_default_backend_for_device(device: Any) -> str:
    """The library that processes on a device would talk by."""
    return "gloo" if str(getattr(device, "type", device)).partition(":")[0] == "cpu" else "nccl"
