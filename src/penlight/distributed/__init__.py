"""torch.distributed: programs of several processes that exchange tensors over MPI. docs/distributed.md is the guide.

>>> import penlight.distributed as dist
>>> dist.is_available(), dist.is_initialized()
(True, False)
"""

from __future__ import annotations

import sys
from typing import Any

from penlight._common.arguments import explain as _explain
from penlight._refused import refuse

from ._arguments import ReduceOp as ReduceOp
from ._collectives import (
    all_gather as all_gather,
    all_gather_coalesced as all_gather_coalesced,
    all_gather_into_tensor as all_gather_into_tensor,
    all_gather_single as all_gather_single,
    all_reduce as all_reduce,
    all_reduce_coalesced as all_reduce_coalesced,
    all_to_all as all_to_all,
    all_to_all_single as all_to_all_single,
    barrier as barrier,
    broadcast as broadcast,
    gather as gather,
    monitored_barrier as monitored_barrier,
    reduce as reduce,
    reduce_scatter as reduce_scatter,
    reduce_scatter_single as reduce_scatter_single,
    reduce_scatter_tensor as reduce_scatter_tensor,
    scatter as scatter,
)
from ._group import (
    GroupMember as GroupMember,
    ProcessGroup as ProcessGroup,
    Work as Work,
    get_backend as get_backend,
    get_backend_config as get_backend_config,
    get_global_rank as get_global_rank,
    get_group_rank as get_group_rank,
    get_node_local_rank as get_node_local_rank,
    get_pg_count as get_pg_count,
    get_process_group_ranks as get_process_group_ranks,
    get_rank as get_rank,
    get_world_size as get_world_size,
    group as group,
    is_initialized as is_initialized,
)
from ._messages import (
    P2POp as P2POp,
    batch_isend_irecv as batch_isend_irecv,
    irecv as irecv,
    isend as isend,
    recv as recv,
    send as send,
)
from ._objects import (
    all_gather_object as all_gather_object,
    broadcast_object_list as broadcast_object_list,
    gather_object as gather_object,
    recv_object_list as recv_object_list,
    scatter_object_list as scatter_object_list,
    send_object_list as send_object_list,
)
from ._reducer import GradBucket as GradBucket, Reducer as Reducer
from ._start import (
    Backend as Backend,
    default_pg_timeout as default_pg_timeout,
    destroy_process_group as destroy_process_group,
    get_default_backend_for_device as get_default_backend_for_device,
    init_process_group as init_process_group,
    is_available as is_available,
    is_backend_available as is_backend_available,
    is_gloo_available as is_gloo_available,
    is_mpi_available as is_mpi_available,
    is_nccl_available as is_nccl_available,
    is_torchelastic_launched as is_torchelastic_launched,
    is_ucc_available as is_ucc_available,
    is_xccl_available as is_xccl_available,
    new_group as new_group,
    new_subgroups as new_subgroups,
    new_subgroups_by_enumeration as new_subgroups_by_enumeration,
    rendezvous as rendezvous,
)
from ._store import (
    DistBackendError as DistBackendError,
    DistError as DistError,
    DistNetworkError as DistNetworkError,
    DistStoreError as DistStoreError,
    FileStore as FileStore,
    HashStore as HashStore,
    PrefixStore as PrefixStore,
    QueueEmptyError as QueueEmptyError,
    Store as Store,
)
from ._tcp_store import TCPStore as TCPStore

_WHY = "Penlight has data parallelism: collectives and DistributedDataParallel."
_INSTEAD = "Use torch.nn.parallel.DistributedDataParallel."

# Our modules that provide the names of PyTorch's submodules.
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
    "constants": ["penlight.distributed._start"],
    "distributed_c10d": [
        __name__,
        *(f"{__name__}.{file}" for file in ("_group", "_start", "_collectives", "_messages")),
    ],
    "optim": ["penlight.distributed._zero", *_HOOKS],
    "optim.post_localSGD_optimizer": _HOOKS,
    "optim.zero_redundancy_optimizer": ["penlight.distributed._zero"],
    "rendezvous": ["penlight.distributed._start"],
    "tensor": ["penlight.distributed._placements"],
    "tensor.placement_types": ["penlight.distributed._placements"],
}

_explain({name: value for name, value in globals().items() if not isinstance(value, type)})
for _class in (ProcessGroup, Store, Work):
    _explain(vars(_class))
__getattr__ = refuse(__name__, _WHY, _INSTEAD, _PROVIDED, files=("run",))


def _decorate(function: Any) -> Any:
    """Return the function unchanged: for decorators of features that Penlight does not have.

    Args:
        function: the function

    Returns:
        the function

    >>> from penlight.distributed.elastic.multiprocessing.errors import record
    >>> record(abs) is abs
    True
    """
    return function


def _fill_modules() -> None:
    """Define the submodule names that packages need at import."""

    def module(name: str) -> Any:
        return sys.modules[f"{__name__}.{name}"]

    module("distributed_c10d")._pg_map = {}
    module("rpc.api")._require_initialized = _decorate
    module("rpc.api").UNSET_RPC_TIMEOUT = -1.0
    module("elastic.multiprocessing.errors").record = _decorate


_fill_modules()
