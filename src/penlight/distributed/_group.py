"""Process groups: their queries, and the operations that run in them.

# Note [Agreement before data]
Ranks that call a collective with different sizes, dtypes or reductions would hang, or read out of bounds. So each
collective begins with a small reduction that checks whether all ranks request the same operation. If they do
not, the ranks exchange their requests instead of data, and each raises an error that lists them. An argument
error on one rank reaches the others in the same way.

Both steps are asynchronous, so ranks may be at different steps, but MPI matches the collectives of a communicator by
their order. So the agreements use a separate communicator, and data transfers start in the order of the calls.
"""

from __future__ import annotations

import enum
import functools
import os
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np

from penlight._common.docstrings import example
from penlight._common.user_warnings import warn_user
from penlight.futures import Future

from . import _mpi
from ._mpi import DONE, Alone, Array, Chunks, Engine, Request
from ._store import PrefixStore, Store

NOT_MEMBER = -100
GRACE = 1.0  # seconds after which a rank that has left counts as absent

example_in_group = functools.partial(  # a group of one process, which needs no MPI
    example,
    before=(
        ">>> import penlight.distributed as dist",
        '>>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)',
    ),
    after=(">>> dist.destroy_process_group()",),
)


# ----- Operations -----------------------------------------------------------------------------------------------------


@example_in_group("dist.all_reduce(torch.ones(2), async_op=True).wait()", "True")
class Work:
    """A running or queued operation, returned by `isend`, `irecv` and with `async_op=True`."""

    def __init__(
        self, group: ProcessGroup, name: str, start: Callable[[], Request], finish: Callable[[], None] | None,
        result: Any, size: int, peers: frozenset[int], said: str
    ) -> None:  # fmt: skip
        self._group, self._name, self._start, self._finish = group, name, start, finish
        self._result, self._size, self._peers, self._said = result, size, peers, said
        self._agreement: Request = DONE
        self._signature: Any = None
        self._request: Request | None = None
        self._error: Exception | None = None
        self._done = False
        self._left_since: float | None = None
        self._future: Future[Any] | None = None

    def _test(self) -> bool:
        """Make progress, and return whether this rank's part is done."""
        if not self._done and self._request is not None:
            try:
                if not self._request.Test():
                    return False
                self._end(None)
            except Exception as error:
                self._end(_translated(error))
        return self._done

    def _end(self, error: Exception | None) -> None:
        """Copy the results to their tensors."""
        self._done = True
        self._group._running.pop(self, None)
        if error is None and self._finish is not None:
            try:
                self._finish()
            except RuntimeError as refusal:
                error = refusal
        self._error = error
        if self._future is not None and not self._future._done:
            self._complete(self._future)

    @example_in_group(
        "work = dist.all_reduce(torch.ones(2), async_op=True); done = work.wait(); work.is_completed()", "True"
    )
    def is_completed(self) -> bool:
        """Whether it has ended, successfully or not."""
        self._group._progress()
        return self._done

    @example_in_group("dist.all_reduce(torch.ones(2), async_op=True).wait()", "True")
    def wait(self, timeout: timedelta | None = None) -> bool:
        """Wait until the operation has ended, and return True.

        Args:
            timeout: how long to wait here. After the group's own timeout the operation fails, and the group with it.

        Raises RuntimeError if the operation failed, or did not end in time.
        """
        limit = (self._group._timeout if timeout is None else timeout).total_seconds()
        if not self._done and not _mpi.wait(self.is_completed, limit, self._size, self._alarm):
            self._give_up(timeout, limit)
        if self._error is not None:
            raise self._error
        return True

    def _lost(self) -> set[int]:
        """The absent ranks that this operation waits for."""
        if _mpi.job is None:
            return set()
        dead, left = _mpi.job.gone()
        if left & self._peers:
            self._left_since = self._left_since or time.monotonic()
            if time.monotonic() - self._left_since > GRACE:
                dead = dead | left
        return dead & self._peers

    def _alarm(self) -> bool:
        return bool(self._lost())

    def _give_up(self, timeout: timedelta | None, limit: float) -> None:
        lost = self._lost()
        if lost:
            names = ", ".join(map(str, sorted(lost)))
            who = f"rank {names} has ended" if len(lost) == 1 else f"ranks {names} have ended"
            error = RuntimeError(
                f"Connection closed by peer: {who} while rank {self._group._global_rank} waits for "
                f"{self._name}. This is typically caused by a remote worker crashing. Check the logs of the remote "
                "worker before reporting an error."
            )
            self._group._broken = str(error)
        elif timeout is not None and timeout < self._group._timeout:
            raise RuntimeError("Operation timed out!")
        else:
            direction = "send" if self._name in ("send", "isend") else "recv"
            error = RuntimeError(
                f"Timed out waiting {limit * 1000:.0f}ms for {direction} operation to complete: {self._name} on rank "
                f"{self._group._global_rank} of {len(self._group._everyone)}. A rank may hang, or not call it."
            )
            self._group._broken = "Application timeout caused pair closure"
        if _mpi.job is not None:
            _mpi.job.failed = True
        _abandoned.append(self)  # MPI may still write into its memory
        self._end(error)

    @example_in_group(
        "work = dist.all_reduce(torch.ones(2), async_op=True); done = work.wait(); work.is_success()", "True"
    )
    def is_success(self) -> bool:
        """Whether it has ended without an error."""
        return self.is_completed() and self._error is None

    @example_in_group("work = dist.all_reduce(torch.ones(2), async_op=True); done = work.wait(); work.exception()")
    def exception(self) -> Exception | None:
        """The error that it ended with.

        Returns:
            the error; None if there is none.
        """
        return self._error

    @example_in_group(
        "work = dist.all_reduce(torch.ones(2), async_op=True); done = work.wait(); work.result()", "[tensor([1., 1.])]"
    )
    def result(self) -> Any:
        """The tensors that it has filled.

        Returns:
            a list of tensors.
        """
        return self._result

    @example_in_group("dist.all_reduce(torch.ones(2), async_op=True).synchronize()")
    def synchronize(self) -> None:
        """Wait."""
        self.wait()

    @example_in_group(
        "if dist.get_world_size() == 2 and dist.get_rank() == 1: dist.irecv(torch.empty(2), src=0).source_rank()"
    )
    def source_rank(self) -> int:
        """The rank that a receive came from."""
        source = getattr(self._request, "source", None)
        if source is None:
            raise RuntimeError(
                "sourceRank() may only be called on work objects that correspond to a recv or recv-from-any call."
            )
        return self._group._ranks[source]

    _source_rank = source_rank

    @example_in_group("dist.all_reduce(torch.ones(2), async_op=True).get_future().wait()", "[tensor([1., 1.])]")
    def get_future(self) -> Future[Any]:
        """A future of the filled tensors. Waiting for it, or for a future derived from it, makes progress on this work.

        Returns:
            a `torch.futures.Future`.
        """
        if self._future is None:
            self._future = Future()
            self._future._drive = self._wait_quietly
            if self._done:
                self._complete(self._future)
        return self._future

    def _wait_quietly(self) -> None:
        try:  # noqa: SIM105
            self.wait()
        except RuntimeError:
            pass  # the future stores the error

    def _complete(self, future: Future[Any]) -> None:
        if self._error is None:
            future.set_result(self._result)
        else:
            future.set_exception(self._error)


_abandoned: list[Work] = []


class _After:
    """A request that is done when an operation is, and forwards that operation's error to the next."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def Test(self) -> bool:
        return self.work._test()


def _translated(error: Exception) -> Exception:
    """Translate an MPI error into PyTorch's error."""
    if "TRUNCATE" in str(error).upper():
        return RuntimeError(
            "Received data size doesn't match expected size. Is there a distributed collective mismatch in your code? "
            "The message is longer than the tensor that receives it."
        )
    return RuntimeError(f"Connection closed by peer, or another failure of the network: {error}")


# ----- Groups ---------------------------------------------------------------------------------------------------------


@example_in_group("dist.group.WORLD.rank(), dist.group.WORLD.size()", "(0, 1)")
class ProcessGroup:
    """A set of ranks in which collectives run. `new_group` creates one; `group.WORLD` has all ranks."""

    @example("torch.distributed.ProcessGroup.BackendType.GLOO.name", "'GLOO'")
    class BackendType(enum.Enum):
        """The kinds of engines."""

        UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, CUSTOM = range(7)

    def __init__(
        self, data: Engine, agreements: Engine, ranks: Sequence[int], backend: str, number: str, timeout: timedelta,
        store: PrefixStore, desc: str,
    ) -> None:  # fmt: skip
        self._data, self._agreements, self._ranks = data, agreements, list(ranks)
        self._everyone = frozenset(ranks)
        self._global_rank = self._ranks[data.rank]
        self._backend, self._timeout, self._store = backend, timeout, store
        self.group_name, self.group_desc = number, desc
        self._broken: str | None = None
        self._waiting: deque[Work] = deque()
        self._running: dict[Work, None] = {}
        self._latest: Request = DONE
        self._lock = threading.RLock()

    @example_in_group("dist.group.WORLD.rank()", "0")
    def rank(self) -> int:
        """The rank of this process in the group."""
        return self._data.rank

    @example_in_group("dist.group.WORLD.size()", "1")
    def size(self) -> int:
        """The number of ranks."""
        return self._data.size

    @example_in_group("dist.group.WORLD.name()", "'gloo'")
    def name(self) -> str:
        """The name of the engine.

        Returns:
            the name, as it was requested.
        """
        return self._backend

    def _begin(
        self, name: str, start: Callable[[], Request], *, same: Sequence[Any] | None,
        finish: Callable[[], None] | None = None, result: Any = (), size: int = 0, peers: frozenset[int] | None = None,
        after: Work | None = None,
    ) -> Work:  # fmt: skip
        """Start an operation.

        Args:
            name: its public name.
            start: starts it in the engine.
            same: values that must be equal on all ranks; None skips the check. See Note [Agreement before data].
            finish: called when it is done, to copy the results to their tensors.
            result: the tensors that it fills.
            size: the approximate number of bytes transferred.
            peers: the ranks that it needs; all of the group, if not given.
            after: an operation that must end first.
        """
        said = f"{name}({', '.join(map(str, same or ()))})"
        work = Work(self, name, start, finish, result, size, self._everyone if peers is None else peers, said)
        if self._broken is not None:
            work._end(RuntimeError(self._broken))
            return work
        with self._lock:
            self._running[work] = None
            if peers is not None:  # between two ranks: MPI matches them by their tags
                work._request = start()
                return work
            if same is not None and self.size() > 1:
                number = zlib.crc32(said.encode())
                work._signature = np.array([number, -number], np.int64)
                work._agreement = self._agreements.all_reduce(work._signature, "MAX")
            if after is not None:
                work._agreement = _After(after)
            self._waiting.append(work)
            self._progress()
        return work

    def _token(self, name: str, way: Callable[[Array, int, int], Request], peer: int, tag: int) -> Work:
        """Start to send or receive an empty message."""
        peers = frozenset([self._ranks[peer]])
        return self._begin(name, lambda: way(np.zeros(0, np.uint8), peer, tag), same=None, peers=peers)

    def _progress(self) -> None:
        """Make progress: start, in order, the operations that all ranks agree on, and test the running ones."""
        with self._lock:
            while self._waiting and not self._in_chunks() and self._waiting[0]._agreement.Test():
                work = self._waiting.popleft()
                agreed = work._signature is None or work._signature[0] == -work._signature[1]
                before = work._agreement.work if isinstance(work._agreement, _After) else None
                if before is not None and before._error is not None:
                    work._end(before._error)
                else:
                    work._request = self._latest = work._start() if agreed else self._explain(work)
            for work in list(self._running):
                work._test()

    def _in_chunks(self) -> bool:
        """Whether the latest operation has chunks that have not started. See Note [Chunks]."""
        return isinstance(self._latest, Chunks) and bool(self._latest.rest)

    def _explain(self, work: Work) -> Request:
        """Handle a collective on which ranks disagree: exchange their requests, and raise an error that lists them."""
        size = 200
        mine = np.zeros(size, np.uint8)
        text = work._said.encode()[:size]
        mine[: len(text)] = np.frombuffer(text, np.uint8)
        table = np.zeros((self.size(), size), np.uint8)

        def finish() -> None:
            calls = [bytes(row).rstrip(b"\0").decode(errors="replace") for row in table]
            running = ", but ".join(
                f"Rank {self._ranks[position]} is running collective: {call}" for position, call in _distinct(calls)
            )
            raise RuntimeError(f"Detected mismatch between collectives on ranks. {running}.")

        work._finish = finish
        return self._data.all_gather(mine, table)

    def _refuse(self, name: str, error: Exception) -> Exception:
        """Raise an argument error of this rank, and report it to the others. See Note [Agreement before data]."""
        self._begin(f"refused {name}", lambda: DONE, same=[f"{type(error).__name__}: {error}"])
        return error

    def _apart(self) -> ProcessGroup:
        """A separate group of the same ranks, for operations that need no agreement because nothing can come between them."""
        return ProcessGroup(
            self._data.copy(),
            Alone(),
            self._ranks,
            self._backend,
            self.group_name,
            self._timeout,
            self._store,
            self.group_desc,
        )

    def _drain(self, seconds: float) -> bool:
        """Wait briefly for unfinished operations. Returns whether all have ended."""

        def done() -> bool:
            self._progress()
            return not self._running

        return self._broken is None and _mpi.wait(done, seconds, 0, lambda: False)

    def _free(self) -> None:
        drained = self._drain(GRACE)
        self._broken = self._broken or "Connection closed: this process group was destroyed"
        if drained:
            for part in (self._data, self._agreements):
                part.free()
        elif _mpi.job is not None:
            _mpi.job.failed = True


def _distinct(calls: Sequence[str]) -> list[tuple[int, str]]:
    """The first position of each different call."""
    return [(position, call) for position, call in enumerate(calls) if call not in calls[:position]]


Group = ProcessGroup | None  # None: the default group
Rank = int | None


class _Groups:
    """The groups of this process, in the order of their creation."""

    def __init__(self) -> None:
        self.all: list[ProcessGroup] = []
        self.made = 0

    def default(self) -> ProcessGroup:
        if not self.all:
            raise ValueError(
                "Default process group has not been initialized, please make sure to call init_process_group."
            )
        return self.all[0]

    def find(self, group: Any) -> ProcessGroup:
        """Resolve a `group` argument: None is the default group."""
        if group is None:
            return self.default()
        if not isinstance(group, ProcessGroup):
            raise ValueError(
                f"Process group {group} is not initialized in the world group map. Please initialize the group first."
            )
        return group

    def member(self, group: Any, name: str) -> ProcessGroup | None:
        """As `find`, but None with a warning if this rank is not in the group."""
        if group == NOT_MEMBER:
            warn_user(f"Running {name} on global rank {get_rank()} which does not belong to the given group.")
            return None
        return self.find(group)


groups = _Groups()


def check_timeout(timeout: Any) -> timedelta:
    """Raise unless the argument is a `timedelta`."""
    if not isinstance(timeout, timedelta):
        raise TypeError(f"Expected timeout argument to be of type datetime.timedelta, got {timeout}")
    return timeout


class _WorldMeta(type):
    """`group.WORLD` is the default group."""

    @property
    def WORLD(cls) -> ProcessGroup | None:
        return groups.all[0] if groups.all else None

    @WORLD.setter
    def WORLD(cls, made: Group) -> None:
        groups.all[:1] = [] if made is None else [made]


@example_in_group("dist.group.WORLD.size()", "1")
class group(metaclass=_WorldMeta):
    """`group.WORLD`: the group of all ranks, or None before `init_process_group`."""


@example("torch.distributed.GroupMember.NON_GROUP_MEMBER", "-100")
class GroupMember(metaclass=_WorldMeta):
    """`GroupMember.NON_GROUP_MEMBER` is what `new_group` returns on a rank that is not in the group."""

    NON_GROUP_MEMBER = NOT_MEMBER


# ----- Questions ------------------------------------------------------------------------------------------------------


@example_in_group("dist.is_initialized()", "True")
def is_initialized() -> bool:
    """Whether `init_process_group` was called without a later `destroy_process_group`."""
    return bool(groups.all)


@example_in_group("dist.get_rank()", "0")
def get_rank(group: Group = None) -> int:
    """The rank of this process in a group.

    Returns:
        the rank; -1 if this process is not in the group.
    """
    if group == NOT_MEMBER:
        return -1
    found = groups.find(group)
    _registered(found)
    return found.rank()


@example_in_group("dist.get_world_size()", "1")
def get_world_size(group: Group = None) -> int:
    """The number of ranks of a group.

    Returns:
        the number; -1 if this process is not in the group.
    """
    if group == NOT_MEMBER:
        return -1
    return groups.find(group).size()


def _registered(group: ProcessGroup) -> None:
    if group not in groups.all:
        raise ValueError(f"Group {group} is not registered, please create group with torch.distributed.new_group API")


@example_in_group("dist.get_backend()", "'gloo'")
def get_backend(group: Group = None) -> str:
    """The name of a group's backend, as it was requested.

    Returns:
        the name.
    """
    return groups.find(group)._backend


@example_in_group("dist.get_backend_config()", "'cpu:gloo,cuda:gloo'")
def get_backend_config(group: Group = None) -> str:
    """The backend for each device type.

    Returns:
        the devices and names, with commas between them.
    """
    name = get_backend(group)
    return "cpu:gloo" if name == "undefined" else f"cpu:{name},cuda:{name}"


@example_in_group("dist.get_process_group_ranks(dist.group.WORLD)", "[0]")
def get_process_group_ranks(group: Group) -> list[int]:
    """The members of a group, by their ranks in the default group.

    Returns:
        a list of ranks.
    """
    return list(groups.find(group)._ranks)


@example_in_group("dist.get_global_rank(dist.group.WORLD, 0)", "0")
def get_global_rank(group: ProcessGroup, group_rank: int) -> int:
    """Convert a rank of a group to its rank in the default group.

    Args:
        group: the group.
        group_rank: the rank in it.

    Returns:
        the rank in the default group.
    """
    _registered(group)
    if not 0 <= group_rank < group.size():
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return group._ranks[group_rank]


@example_in_group("dist.get_group_rank(dist.group.WORLD, 0)", "0")
def get_group_rank(group: ProcessGroup, global_rank: int) -> int:
    """Convert a rank of the default group to its rank in a group.

    Args:
        group: the group.
        global_rank: the rank in the default group.

    Returns:
        the rank in the group.
    """
    _registered(group)
    if global_rank not in group._ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return group._ranks.index(global_rank)


@example("torch.distributed.get_node_local_rank(fallback_rank=0)", "0")
def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """The rank among the processes on this machine, which the launcher put into LOCAL_RANK.

    Args:
        fallback_rank: the result if no launcher started this process; without it that is an error.

    Returns:
        the rank.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work, "
        "assuming you are not running in a multi-device context and want the code to run locally instead."
    )


@example_in_group("dist.new_group([0]) and dist.get_pg_count()", "2")
def get_pg_count() -> int:
    """The number of groups created so far.

    Returns:
        the number.
    """
    return groups.made


def _get_default_group() -> ProcessGroup:
    return groups.default()


def _get_default_store() -> Store:
    return groups.default()._store
