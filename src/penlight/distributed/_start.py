"""Creates and destroys process groups: rendezvous, `init_process_group`, `new_group`."""

from __future__ import annotations

import os
import socket
import zlib
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qsl, urlparse

from penlight._common.docstrings import example

from . import _mpi
from ._group import NOT_MEMBER, Group, ProcessGroup, check_timeout, example_in_group, groups
from ._mpi import Alone, Communicator, Engine
from ._store import FileStore, PrefixStore, Store
from ._tcp_store import TCPStore

default_pg_timeout = timedelta(minutes=30)
MEETING_TAG = 30001


class Backend(str):
    """The names of engines. Here "gloo" and "mpi" both mean MPI; there is no other.

    Args:
        name: the name, in any case.

    >>> from penlight.distributed import Backend
    >>> Backend("GLOO"), Backend.MPI
    ('gloo', 'mpi')
    """

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO}
    backend_type_map = {
        name: ProcessGroup.BackendType.__members__.get(name.upper(), ProcessGroup.BackendType.CUSTOM)
        for name in (UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE)
    }

    def __new__(cls, name: str) -> Any:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return getattr(cls, name.upper(), name.lower())


@example('torch.distributed.get_default_backend_for_device("cpu")', "'gloo'")
def get_default_backend_for_device(device: Any) -> str:
    """The engine that PyTorch uses for a device.

    Args:
        device: a device, or its name.

    Returns:
        the name of the engine.
    """
    kind = str(getattr(device, "type", device)).partition(":")[0]
    if kind not in Backend.default_device_backend_map:
        raise ValueError(f"Default backend not registered for device : {device}")
    return Backend.default_device_backend_map[kind]


@example("torch.distributed.is_available()", "True")
def is_available() -> bool:
    """True. Groups of several ranks need the extra `penlight[mpi]`."""
    return True


@example('torch.distributed.is_mpi_available() == torch.distributed.is_backend_available("mpi")', "True")
def is_mpi_available() -> bool:
    """Whether mpi4py is installed."""
    return _mpi.available()


@example("torch.distributed.is_gloo_available()", "True")
def is_gloo_available() -> bool:
    """True: "gloo" is another name of the engine here."""
    return True


@example("torch.distributed.is_nccl_available()", "False")
def is_nccl_available() -> bool:
    """False: it is for GPUs."""
    return False


is_ucc_available = is_xccl_available = is_nccl_available


@example('torch.distributed.is_backend_available("nccl")', "False")
def is_backend_available(backend: str) -> bool:
    """Whether a backend of this name is available.

    Args:
        backend: the name, in any case.
    """
    return backend.lower() == "gloo" or (backend.lower() == "mpi" and is_mpi_available())


@example("torch.distributed.is_torchelastic_launched()", "False")
def is_torchelastic_launched() -> bool:
    """Whether `penlight launch` or `torchrun` started this process."""
    return os.getenv("TORCHELASTIC_RUN_ID") is not None


def _rendezvous_error(scheme: str, words: str) -> ValueError:
    return ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {words}")


def rendezvous(url: str, rank: int = -1, world_size: int = -1, **kwargs: Any) -> Iterator[tuple[Store, int, int]]:
    """Resolve an `init_method` to a store, a rank and the number of ranks.

    Args:
        url: as `init_method` of `init_process_group`.
        rank: the rank of this process, if the URL does not contain it.
        world_size: the number of processes, if the URL does not contain it.
        kwargs: `timeout`, the time to wait for the store.

    Returns:
        an iterator with one item: the store, the rank and the number of ranks.

    >>> store, rank, world_size = next(torch.distributed.rendezvous("tcp://127.0.0.1:0", rank=0, world_size=1))
    >>> store.set("key", "value"); store.get("key"), rank, world_size
    (b'value', 0, 1)
    """
    parsed = urlparse(url)
    scheme, query = parsed.scheme, dict(parse_qsl(parsed.query))
    timeout: timedelta = kwargs.get("timeout", default_pg_timeout)
    if scheme not in ("env", "tcp", "file"):
        raise RuntimeError(f"No rendezvous handler for {scheme}://")
    environment = scheme == "env"

    def number(given: int, key: str, variable: str) -> int:
        if given >= 0:
            return given
        if key in query:
            return int(query[key])
        if not environment:
            raise _rendezvous_error(scheme, f"{key.replace('_', ' ')} parameter missing")
        return int(_variable(variable))

    rank = number(rank, "rank", "RANK")
    world_size = number(world_size, "world_size", "WORLD_SIZE")
    if scheme == "file":
        yield FileStore(parsed.path, world_size), rank, world_size
        return
    if environment:
        host, port = _variable("MASTER_ADDR"), int(_variable("MASTER_PORT"))
        if os.getenv("TORCHELASTIC_USE_AGENT_STORE") == "True":  # PyTorch's torchrun serves a store at that address
            port += 1
    else:
        if parsed.port is None:
            raise _rendezvous_error(scheme, "port number missing")
        host, port = parsed.hostname or "", parsed.port
    yield TCPStore(host, port, world_size, rank == 0, timeout), rank, world_size


def _variable(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise _rendezvous_error("env", f"environment variable {name} expected, but not set")
    return value


def _over_tcp(store: Store, rank: int, size: int, timeout: timedelta) -> TCPStore:
    """A TCPStore for ranks that share another kind of store."""
    if isinstance(store, TCPStore):
        return store
    hosts = _mpi.exchange(store, "host", rank, size, socket.gethostname())
    address = "127.0.0.1" if len(set(hosts)) == 1 else hosts[0]
    if rank == 0:
        made = TCPStore(address, 0, size, True, timeout, wait_for_workers=False)
        store.set("mpi/port", str(made.port))
        return made
    return TCPStore(address, int(store.get("mpi/port")), size, False, timeout)


def _engine_name(backend: Any) -> str:
    """The name of the requested backend; raises if it is not available."""
    if backend is None:
        return "undefined"
    name = Backend(backend)
    if ":" in name:  # "cpu:gloo,cuda:nccl"
        devices = dict(part.split(":", 1) for part in name.split(","))
        name = devices.get("cpu", next(iter(devices.values())))
    if name in ("nccl", "ucc", "xccl"):
        raise RuntimeError(
            f"Distributed package doesn't have {name.upper()} built in. It is for GPUs, and Penlight runs on the CPU: "
            'use "gloo".'
        )
    if name not in ("gloo", "mpi", "undefined"):
        raise AssertionError(f"Unknown backend type {name}")
    return name


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: timedelta | None = None, world_size: int = -1,
    rank: int = -1, store: Store | None = None, group_name: str = "", pg_options: Any = None, device_id: Any = None,
    _ranks: Any = None
) -> None:  # fmt: skip
    """Join the other processes of a job. Every process calls it, and it returns when all have.

    Args:
        backend: "gloo" or "mpi", which are the same here: MPI. "nccl" is refused.
        init_method: how the processes find each other: "env://" by the variables MASTER_ADDR, MASTER_PORT, RANK and
            WORLD_SIZE, "tcp://address:port" or "file:///path". Under `mpiexec` nothing is needed.
        timeout: the time after which an unfinished operation fails; 30 minutes if it is not given.
        world_size: the number of processes, if `init_method` does not contain it.
        rank: the rank of this process.
        store: a store that the processes share, instead of `init_method`.
        group_name, pg_options, device_id: accepted and ignored.

    Several processes need the extra `penlight[mpi]`; one does not.

    >>> import penlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.get_rank(), dist.get_world_size()
    (0, 1)
    >>> dist.destroy_process_group()
    """
    if groups.all:
        raise ValueError("trying to initialize the default process group twice!")
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    limit = default_pg_timeout if timeout is None else check_timeout(timeout)
    name = _engine_name(backend)
    if store is not None:
        if world_size <= 0:
            raise AssertionError("world_size must be positive if using store")
        if rank < 0:
            raise AssertionError("rank must be non-negative if using store")
    known = _mpi.job if _mpi.job is not None and _mpi.job.process == os.getpid() else None
    if known is not None and rank < 0:  # initialised again: MPI is still running
        rank, world_size = known.rank, known.size
    elif known is None and store is None and init_method in (None, "env://") and _mpi.started_by_mpiexec():
        known = _mpi.start_under_mpiexec()
        rank, world_size = known.rank, known.size
    elif known is None and store is None:
        store, rank, world_size = next(iter(rendezvous(init_method or "env://", rank, world_size, timeout=limit)))
    if world_size == 1:
        _register((Alone(), Alone()), [0], name, limit, store or TCPStore("127.0.0.1", 0, is_master=True), "default_pg")
        return
    if known is None:
        assert store is not None
        known = _mpi.start(_over_tcp(store, rank, world_size, limit), rank, world_size)
    else:
        known = _mpi.start(None, rank, world_size)
    shared = known.store
    assert shared is not None
    shared.set_timeout(limit)
    engines = Communicator(known.MPI, known.world.Dup()), Communicator(known.MPI, known.world.Dup())
    _register(engines, range(world_size), name, limit, shared, "default_pg")


def _register(
    engines: tuple[Engine, Engine], ranks: Sequence[int], backend: str, timeout: timedelta, store: Store, desc: str
) -> ProcessGroup:
    number = str(groups.made)
    made = ProcessGroup(*engines, ranks, backend, number, timeout, PrefixStore(f"group/{number}", store), desc)
    groups.all.append(made)
    groups.made += 1
    return made


def destroy_process_group(group: Group = None) -> None:
    """Leave a group. Without an argument, leave the default group and all others.

    >>> import penlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> dist.destroy_process_group(); dist.is_initialized()
    False
    """
    if group == NOT_MEMBER:
        return
    if not groups.all:
        raise AssertionError("Process group cannot be None")
    if group is None or group is groups.all[0]:
        while groups.all:
            groups.all.pop()._free()
        groups.made = 0
        return
    if group not in groups.all:
        raise ValueError("Invalid process group specified")
    groups.all.remove(group)
    group._free()


@example_in_group("dist.new_group([0]).size()", "1")
def new_group(
    ranks: Sequence[int] | None = None, timeout: timedelta | None = None, backend: str | None = None,
    pg_options: Any = None, use_local_synchronization: bool = False, group_desc: str | None = None,
    device_id: Any = None, sort_ranks: bool = True,
) -> Any:  # fmt: skip
    """Create a group of some of the ranks. All ranks call it, including those outside the group.

    Args:
        ranks: the ranks in the group; all, if they are not given.
        timeout: the group's own timeout; that of the default group, if it is not given.
        backend: as for `init_process_group`.
        pg_options, device_id: accepted and ignored.
        use_local_synchronization: only the ranks in the group call this.
        group_desc: a text that describes the group.
        sort_ranks: whether to number the group's ranks in ascending order, or as listed.

    Returns:
        the group, or `GroupMember.NON_GROUP_MEMBER` on a rank that is not in it.
    """
    world = groups.default()
    limit = world._timeout if timeout is None else check_timeout(timeout)
    name = world._backend if backend is None else _engine_name(backend)
    chosen = list(range(world.size())) if ranks is None else list(ranks)
    for rank in chosen:
        if not 0 <= rank < world.size():
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {world.size() - 1} (world_size={world.size()})"
            )
    if len(set(chosen)) != len(chosen):
        raise ValueError(f"ranks list must not contain duplicate entries, got {chosen}")
    if not chosen:
        raise TypeError("a group needs at least one rank, but got an empty list")
    if sort_ranks:
        chosen.sort()
    inside = world.rank() in chosen
    if use_local_synchronization:
        if not inside:
            return None
        _meet(world, chosen)
    else:
        world._begin("new_group", world._data.barrier, same=[chosen]).wait()
    if not inside:
        groups.made += 1
        return NOT_MEMBER
    number = zlib.crc32(str(chosen).encode()) % 30000
    parts = world._data.part(chosen, number), world._data.part(chosen, number)
    store = world._store._underlying_non_prefix_store
    return _register(parts, chosen, name, limit, store, group_desc or "undefined")


def _meet(world: ProcessGroup, ranks: Sequence[int]) -> None:
    """Wait until these ranks have reached this call."""
    others, ways = [rank for rank in ranks if rank != world.rank()], (world._data.send, world._data.receive)
    for work in [world._token("new_group", way, rank, MEETING_TAG) for rank in others for way in ways]:
        work.wait()


@example_in_group("own, every = dist.new_subgroups(group_size=1); own.size(), len(every)", "(1, 1)")
def new_subgroups(
    group_size: int | None = None, group: Group = None, timeout: timedelta | None = None, backend: Any = None,
    pg_options: Any = None, group_desc: str | None = None,
) -> tuple[Any, list[Any]]:  # fmt: skip
    """Create groups of consecutive ranks.

    Args:
        group_size: the number of ranks in each group; it must divide the number of all ranks.
        group: accepted and ignored: the groups are parts of the default group.
        timeout: each group's own timeout; that of the default group, if it is not given.
        backend: as for `init_process_group`.
        pg_options: accepted and ignored.
        group_desc: a text that describes the groups.

    Returns:
        this rank's group, and a list of all of them.
    """
    size = groups.default().size()
    if group_size is None:
        raise ValueError(
            "Default group size only takes effect when CUDA is available.If your subgroup using a backend that does "
            "not depend on CUDA,please pass in 'group_size' correctly."
        )
    if group_size <= 0:
        raise ValueError(f"The arg 'group_size' ({group_size}) must be positive")
    if size < group_size:
        raise ValueError(f"The arg 'group_size' ({group_size}) must not exceed the world size ({size})")
    if size % group_size:
        raise ValueError(f"The world size ({size}) must be divisible by 'group_size={group_size}'")
    lists = [list(range(start, start + group_size)) for start in range(0, size, group_size)]
    return new_subgroups_by_enumeration(lists, timeout, backend, pg_options, group_desc)


@example_in_group("own, every = dist.new_subgroups_by_enumeration([[0]]); own.size(), len(every)", "(1, 1)")
def new_subgroups_by_enumeration(
    ranks_per_subgroup_list: Sequence[Sequence[int]], timeout: timedelta | None = None, backend: Any = None,
    pg_options: Any = None, group_desc: str | None = None
) -> tuple[Any, list[Any]]:  # fmt: skip
    """Create a group for each of several lists of ranks.

    Args:
        ranks_per_subgroup_list: the lists; no rank may be in two of them.
        timeout: each group's own timeout; that of the default group, if it is not given.
        backend: as for `init_process_group`.
        pg_options: accepted and ignored.
        group_desc: a text that describes the groups.

    Returns:
        this rank's group, None if it is in none, and a list of all of them.
    """
    if not ranks_per_subgroup_list:
        raise ValueError("The arg 'ranks_per_subgroup_list' cannot be empty")
    owner: dict[int, Sequence[int]] = {}
    for ranks in ranks_per_subgroup_list:
        for rank in ranks:
            if rank in owner:
                raise ValueError(f"Rank {rank} has appeared in both subgroup {owner[rank]} and {ranks}")
            owner[rank] = ranks
    made = [new_group(ranks, timeout, backend, group_desc=group_desc) for ranks in ranks_per_subgroup_list]
    return next((one for one in made if isinstance(one, ProcessGroup)), None), made
