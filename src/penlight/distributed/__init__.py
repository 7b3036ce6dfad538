"""torch.distributed: programs of several processes, which exchange tensors by MPI. docs/distributed.md is the guide.

>>> import penlight.distributed as dist
>>> dist.is_available(), dist.is_initialized()
(True, False)
"""

from __future__ import annotations

import sys
from typing import Any

from penlight._refused import refuse

from ._collectives import P2POp as P2POp
from ._collectives import all_gather as all_gather
from ._collectives import all_gather_coalesced as all_gather_coalesced
from ._collectives import all_gather_into_tensor as all_gather_into_tensor
from ._collectives import all_gather_single as all_gather_single
from ._collectives import all_reduce as all_reduce
from ._collectives import all_reduce_coalesced as all_reduce_coalesced
from ._collectives import all_to_all as all_to_all
from ._collectives import all_to_all_single as all_to_all_single
from ._collectives import barrier as barrier
from ._collectives import batch_isend_irecv as batch_isend_irecv
from ._collectives import broadcast as broadcast
from ._collectives import gather as gather
from ._collectives import irecv as irecv
from ._collectives import isend as isend
from ._collectives import monitored_barrier as monitored_barrier
from ._collectives import recv as recv
from ._collectives import reduce as reduce
from ._collectives import reduce_scatter as reduce_scatter
from ._collectives import reduce_scatter_single as reduce_scatter_single
from ._collectives import reduce_scatter_tensor as reduce_scatter_tensor
from ._collectives import scatter as scatter
from ._collectives import send as send
from ._group import Backend as Backend
from ._group import GroupMember as GroupMember
from ._group import ProcessGroup as ProcessGroup
from ._group import ReduceOp as ReduceOp
from ._group import Work as Work
from ._group import default_pg_timeout as default_pg_timeout
from ._group import destroy_process_group as destroy_process_group
from ._group import get_backend as get_backend
from ._group import get_backend_config as get_backend_config
from ._group import get_default_backend_for_device as get_default_backend_for_device
from ._group import get_global_rank as get_global_rank
from ._group import get_group_rank as get_group_rank
from ._group import get_node_local_rank as get_node_local_rank
from ._group import get_pg_count as get_pg_count
from ._group import get_process_group_ranks as get_process_group_ranks
from ._group import get_rank as get_rank
from ._group import get_world_size as get_world_size
from ._group import group as group
from ._group import init_process_group as init_process_group
from ._group import is_available as is_available
from ._group import is_backend_available as is_backend_available
from ._group import is_gloo_available as is_gloo_available
from ._group import is_initialized as is_initialized
from ._group import is_mpi_available as is_mpi_available
from ._group import is_nccl_available as is_nccl_available
from ._group import is_torchelastic_launched as is_torchelastic_launched
from ._group import is_ucc_available as is_ucc_available
from ._group import is_xccl_available as is_xccl_available
from ._group import new_group as new_group
from ._group import new_subgroups as new_subgroups
from ._group import new_subgroups_by_enumeration as new_subgroups_by_enumeration
from ._group import rendezvous as rendezvous
from ._objects import all_gather_object as all_gather_object
from ._objects import broadcast_object_list as broadcast_object_list
from ._objects import gather_object as gather_object
from ._objects import recv_object_list as recv_object_list
from ._objects import scatter_object_list as scatter_object_list
from ._objects import send_object_list as send_object_list
from ._reducer import GradBucket as GradBucket
from ._reducer import Reducer as Reducer
from ._store import DistBackendError as DistBackendError
from ._store import DistError as DistError
from ._store import DistNetworkError as DistNetworkError
from ._store import DistStoreError as DistStoreError
from ._store import FileStore as FileStore
from ._store import HashStore as HashStore
from ._store import PrefixStore as PrefixStore
from ._store import QueueEmptyError as QueueEmptyError
from ._store import Store as Store
from ._store import TCPStore as TCPStore

_WHY = "Penlight has data parallelism: collectives and DistributedDataParallel."
_INSTEAD = "Use torch.nn.parallel.DistributedDataParallel."

# The modules of ours that have names of the modules below this one.
_HOOKS, _JOIN = ["penlight.distributed._comm_hooks"], ["penlight.distributed._join"]
_PROVIDED = {
    "algorithms": _JOIN,
    "algorithms.ddp_comm_hooks.default_hooks": _HOOKS,
    "algorithms.ddp_comm_hooks.post_localSGD_hook": _HOOKS,
    "algorithms.join": _JOIN,
    "algorithms.model_averaging.averagers": _HOOKS,
    "checkpoint": ["penlight.distributed._checkpoint"],
    "checkpoint.filesystem": ["penlight.distributed._checkpoint"],
    "checkpoint.state_dict_loader": ["penlight.distributed._checkpoint"],
    "checkpoint.state_dict_saver": ["penlight.distributed._checkpoint"],
    "constants": ["penlight.distributed._group"],
    "distributed_c10d": ["penlight.distributed", "penlight.distributed._group", "penlight.distributed._collectives"],
    "optim": ["penlight.distributed._zero", *_HOOKS],
    "optim.post_localSGD_optimizer": _HOOKS,
    "optim.zero_redundancy_optimizer": ["penlight.distributed._zero"],
    "rendezvous": ["penlight.distributed._group"],
}

__getattr__ = refuse(__name__, _WHY, _INSTEAD, _PROVIDED, files=("run",))


def _decorate(function: Any) -> Any:
    """The function itself: for decorators that only matter to what Penlight has not."""
    return function


def _fill_modules() -> None:
    """What packages need of the modules below when they are imported."""

    def module(name: str) -> Any:
        return sys.modules[f"{__name__}.{name}"]

    module("distributed_c10d")._pg_map = {}
    module("rpc").is_available = lambda: False
    module("rpc.api")._require_initialized = _decorate
    module("rpc.api").UNSET_RPC_TIMEOUT = -1.0
    module("elastic.multiprocessing.errors").record = _decorate


_fill_modules()
