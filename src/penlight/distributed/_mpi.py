"""The engine: messages between processes by MPI, through mpi4py.

# Note [MPI without mpiexec]
MPICH asks its launcher for the addresses of the other ranks, in a small text protocol (PMI-1) over an inherited
socket. If `mpiexec` started the ranks, it answers. Otherwise a thread of each rank answers its own MPICH from the
ranks' shared store: MPICH needs only `put`, `get` and a barrier. So any launcher works that gives the ranks a common
store. MPI_Init is called through ctypes, which releases the GIL for that thread; mpi4py does not.

# Note [Waiting]
Nothing here blocks in MPI. An operation is started, and its request is polled: so timeouts hold, Ctrl-C works, and a
dead rank is noticed. MPI transfers data only while it is called, so a waiting rank
first polls without a pause, for a time that depends on the size of the data, and then ever less often. The pauses are
sleeps: on a busy machine `sched_yield` gives a full time slice to every other process.

# Note [Chunks]
MPICH allocates a temporary buffer as large as the data of a reduction. For many megabytes that is new memory in each call, and
its page faults take longer than the reduction. So large arrays are reduced in chunks of 4 MB, two at a
time, whose buffers are reused. The next operation of a group starts after the last chunk has started, because MPI matches
collectives by their order.

# Note [The end of a rank]
MPI_Finalize waits for all ranks, so it is called only if all of them end normally. A rank with an
error, or with unfinished operations, exits without it: the others notice through Note [Watching ranks], or
`mpiexec` ends them.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np

from ._store import DistError, Store
from ._tcp_store import TCPStore, Watch

Array = np.ndarray[Any, Any]

# Variables set by `mpiexec` or a cluster's equivalent.
_STARTERS = ("PMI_RANK", "PMI_FD", "PMI_PORT", "PMIX_RANK", "OMPI_COMM_WORLD_RANK")


CHUNK = 1 << 22  # bytes; see Note [Chunks]


class Request(Protocol):
    """An operation that was started."""

    def Test(self) -> bool:
        """Make progress, and return whether it is done."""


class Done:
    """A request that completed immediately."""

    def Test(self) -> bool:
        return True


DONE = Done()


def available() -> bool:
    """Whether mpi4py is installed."""
    return find_spec("mpi4py") is not None


def load() -> Any:
    """Import `mpi4py.MPI` without starting MPI; ImportError if it is not installed."""
    try:
        import mpi4py

        if "mpi4py.MPI" not in sys.modules:
            mpi4py.rc.initialize = mpi4py.rc.finalize = False
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        raise ImportError(
            "torch.distributed with several processes needs mpi4py and an MPI library: pip install 'penlight[mpi]' "
            f"({type(error).__name__}: {error})"
        ) from None
    return MPI


def started_by_mpiexec() -> bool:
    """Whether `mpiexec` or a cluster's equivalent started this process."""
    return any(name in os.environ for name in _STARTERS)


# ----- Starting -------------------------------------------------------------------------------------------------------


class Job:
    """This process's membership in a set of ranks started together. A process has one, since MPI can start only once."""

    def __init__(self, MPI: Any, rank: int, size: int) -> None:
        self.MPI, self.rank, self.size = MPI, rank, size
        self.process = os.getpid()
        self.failed = False  # an error ended this process, or an operation never finished
        self.watch: Watch | None = None
        self.store: Store | None = None
        comm = MPI.COMM_WORLD
        comm.Set_errhandler(MPI.ERRORS_RETURN)
        self.world = comm.Dup()
        self.ending = comm.Dup()

    def gone(self) -> tuple[set[int], set[int]]:
        """The ranks that died, and the ranks that exited normally."""
        if self.watch is None:
            return set(), set()
        self.watch.look()
        return self.watch.dead, self.watch.left


job: Job | None = None


def start(store: TCPStore | None, rank: int, size: int) -> Job:
    """Start MPI in this process, one of `size` ranks that share a store. Returns None if MPI is already running."""
    global job
    if job is not None:
        if job.process != os.getpid():
            raise RuntimeError("MPI was started before this process was forked. Start processes with spawn instead.")
        if (job.rank, job.size) != (rank, size):
            raise RuntimeError(
                f"This process has been rank {job.rank} of {job.size}, and MPI starts once in a process: it can't "
                f"become rank {rank} of {size}. Start new processes."
            )
        return job
    MPI = load()
    if not MPI.Is_initialized():
        assert store is not None
        _initialize_by_store(MPI, store, rank, size)
    elif MPI.COMM_WORLD.Get_size() != size:
        raise RuntimeError(
            f"MPI runs in this process already, but not as one of {size} ranks: mpi4py.MPI was imported before "
            "init_process_group. Import it later, or start the ranks with `penlight launch`."
        )
    _unname_shared_memory(MPI)
    job = Job(MPI, rank, size)
    job.store, job.watch = _watched(job, store)
    _at_the_end(job)
    return job


def start_under_mpiexec() -> Job:
    """Start MPI in a process that `mpiexec` started: MPI knows its rank."""
    MPI = load()
    if not MPI.Is_initialized():
        _initialize(MPI)
    return start(None, MPI.COMM_WORLD.Get_rank(), MPI.COMM_WORLD.Get_size())


def _initialize(MPI: Any) -> None:
    os.environ.setdefault("MPIR_CVAR_CH4_NETMOD", "ofi")  # the faster of MPICH's two TCP transports
    provided = ctypes.c_int()
    ctypes.CDLL(MPI.__file__).MPI_Init_thread(None, None, MPI.THREAD_MULTIPLE, ctypes.byref(provided))


def _finalize(MPI: Any) -> None:
    ctypes.CDLL(MPI.__file__).MPI_Finalize()
    if _answering:  # MPICH asks once more after Python has ended: the answer is sent now, and the sockets stay open
        _answering[0].sendall(b"cmd=finalize_ack rc=0\n")
        for connection in _answering:
            connection.detach()


def _unname_shared_memory(MPI: Any) -> None:
    """Unlink MPICH's shared memory once all ranks have mapped it, so that a killed job leaves nothing behind."""
    MPI.COMM_WORLD.Barrier()
    with suppress(OSError), open("/proc/self/maps") as maps:
        for line in maps:
            path = line.split()[-1]
            if path.startswith("/dev/shm/mpich_shm"):
                with suppress(OSError):
                    os.unlink(path)


def _initialize_by_store(MPI: Any, store: TCPStore, rank: int, size: int) -> None:
    """See Note [MPI without mpiexec]."""
    hosts = exchange(store, "host", rank, size, socket.gethostname())
    if rank == 0:
        store.set("mpi/name", f"penlight_{os.getpid()}_{time.time_ns()}")
    name = store.get("mpi/name").decode()  # MPICH names its shared memory after it
    # MPICH would pick any network interface. Ranks on one machine need sockets on the loopback interface only.
    interface = "lo" if len(set(hosts)) == 1 else _interface(store.address_here())
    os.environ.setdefault("FI_PROVIDER", "tcp")
    if interface is not None:
        os.environ.setdefault("FI_TCP_IFACE", interface)
    ours, theirs = socket.socketpair()
    given = {"PMI_FD": str(theirs.fileno()), "PMI_RANK": str(rank), "PMI_SIZE": str(size)}
    os.environ.update(given)
    answers = threading.Thread(target=_answer_or_end, args=(ours, store, name, hosts), name="penlight-pmi", daemon=True)
    answers.start()
    try:
        _initialize(MPI)
    finally:
        for variable in given:  # so that child processes do not inherit them
            del os.environ[variable]
    _answering.extend([ours, theirs])


def _interface(address: str) -> str | None:
    """The name of the network interface that has this IPv4 address (Linux), or None."""
    if sys.platform != "linux":
        return None
    import fcntl

    with socket.socket(type=socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            with suppress(OSError):  # without an address
                answer = fcntl.ioctl(asking, 0x8915, struct.pack("256s", name.encode()))  # SIOCGIFADDR
                if socket.inet_ntoa(answer[20:24]) == address:
                    return name
    return None


_answering: list[socket.socket] = []


def exchange(store: Store, what: str, rank: int, size: int, value: str) -> list[str]:
    store.set(f"mpi/{what}/{rank}", value)
    return [found.decode() for found in store.multi_get([f"mpi/{what}/{other}" for other in range(size)])]


def _mapping(hosts: Sequence[str]) -> str:
    """The ranks of each machine in MPICH's format: runs of (machine, number of machines, ranks on each)."""
    numbers: dict[str, int] = {}
    runs: list[list[int]] = []
    for host in hosts:
        machine = numbers.setdefault(host, len(numbers))
        if runs and runs[-1][0] == machine:
            runs[-1][2] += 1
        else:
            runs.append([machine, 1, 1])
    return f"(vector,{','.join(f'({a},{b},{c})' for a, b, c in runs)})"


def _answer(connection: socket.socket, store: Store, name: str, hosts: Sequence[str]) -> None:
    """Answer the PMI-1 requests of this process's MPICH."""
    size, barriers = len(hosts), 0
    fixed = {
        "init": "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0",
        "get_maxes": "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024",
        "get_appnum": "cmd=appnum appnum=0",
        "get_my_kvsname": f"cmd=my_kvsname kvsname={name}",
        "get_universe_size": f"cmd=universe_size size={size}",
        "finalize": "cmd=finalize_ack rc=0",
    }
    with connection.makefile("rwb", buffering=0) as stream:
        for line in stream:
            words = dict(word.split("=", 1) for word in line.decode().split() if "=" in word)
            command = words.get("cmd", "")
            if command == "put":
                store.set(f"mpi/put/{words['key']}", words["value"])
                reply = "cmd=put_result rc=0 msg=success"
            elif command == "get":
                key = f"mpi/put/{words['key']}"
                value = _mapping(hosts) if words["key"] == "PMI_process_mapping" else None
                if value is None and store.check([key]):
                    value = store.get(key).decode()
                found = "cmd=get_result rc=0 msg=success value=" + str(value)
                reply = found if value is not None else "cmd=get_result rc=-1 msg=key_not_found value=unknown"
            elif command == "barrier_in":
                barriers += 1
                if store.add(f"mpi/barrier/{barriers}", 1) == size:
                    store.set(f"mpi/barrier/{barriers}/open", "")
                store.wait([f"mpi/barrier/{barriers}/open"])
                reply = "cmd=barrier_out rc=0"
            else:
                reply = fixed.get(command, f"cmd={command}_result rc=-1 msg=unknown")
            stream.write(reply.encode() + b"\n")


def _answer_or_end(connection: socket.socket, store: Store, name: str, hosts: Sequence[str]) -> None:
    """Answer MPICH. If the store fails, or a rank is late, close the connection, which MPICH notices."""
    try:
        _answer(connection, store, name, hosts)
    except DistError as error:
        sys.stderr.write(f"MPI can't start: {error}\n")
        connection.shutdown(socket.SHUT_RDWR)


def _watched(this: Job, store: TCPStore | None) -> tuple[Store, Watch]:
    """The job's store, and the connection that reports ended ranks. Under `mpiexec` rank 0 opens the store now."""
    if store is None:
        hosts = this.world.allgather(socket.gethostname())
        address = "127.0.0.1" if len(set(hosts)) == 1 else hosts[0]
        if this.rank == 0:
            store = TCPStore(address, 0, is_master=True)
        port = this.world.bcast(store.port if store is not None else None)
        if store is None:
            store = TCPStore(address, port)
    return store, store.watch(this.rank)


def _at_the_end(this: Job) -> None:
    """Register `leave` for the end of the process, also in processes that `multiprocessing` starts."""
    from multiprocessing import util

    util.Finalize(None, leave, exitpriority=0)
    shown = sys.excepthook

    def excepthook(kind: Any, error: Any, trace: Any) -> None:
        this.failed = True
        shown(kind, error, trace)

    sys.excepthook = excepthook


def leave() -> None:
    """Finalize MPI if all ranks do. See Note [The end of a rank]."""
    error = sys.exc_info()[1]
    if isinstance(error, SystemExit):
        error = error if error.code else None
    if job is None or job.process != os.getpid() or job.failed or error is not None or job.watch is None:
        return
    job.watch.leave()
    request = job.ending.Ibarrier()
    if wait(request.Test, 1800.0, 0, lambda: bool(job.gone()[0])):
        _finalize(job.MPI)


def wait(done: Callable[[], bool], seconds: float, size: int, alarm: Callable[[], bool]) -> bool:
    """Poll `done` until it or `alarm` is True, or the time is up; returns whether it was `done`. See Note [Waiting].

    Args:
        done: whether the wait is over.
        seconds: how long to wait at most.
        size: the number of bytes in transit.
        alarm: called at intervals; True ends the wait.
    """
    start = now = time.monotonic()
    eager, end, look, pause = start + 0.00005 + size * 1e-10, start + seconds, start + 0.05, 0.00002
    while not done():
        if now > eager:
            time.sleep(pause)
            pause = min(0.002, pause * 1.02)
        now = time.monotonic()
        if now > look:
            if alarm():
                return done()
            look = now + 0.02
        if now > end:
            return done()
    return True


# ----- Operations -----------------------------------------------------------------------------------------------------


class Alone:
    """A group of one rank, which needs no MPI. It has the methods of `Communicator`."""

    rank, size = 0, 1

    def _nothing(self, *arguments: Any) -> Request:
        return DONE

    all_reduce = broadcast = reduce = barrier = _nothing

    def all_gather(self, sent: Array | None, received: Array | None, *arguments: Any) -> Request:
        if sent is not None and received is not None:
            received.reshape(-1)[...] = sent.reshape(-1)
        return DONE

    gather = scatter = reduce_scatter = all_gather

    def all_to_all(self, sent: Array, sizes: Sequence[int], received: Array, expected: Sequence[int]) -> Request:
        return self.all_gather(sent, received)

    def send(self, array: Array, to: int, tag: int) -> Request:
        raise ValueError(
            "Invalid destination rank: destination rank should not be the same as the rank of the current process."
        )

    def receive(self, array: Array, source: int | None, tag: int) -> Request:
        raise ValueError("Invalid source rank: source rank should not be the same as the rank of the current process.")

    def part(self, ranks: Sequence[int], number: int) -> Engine:
        return self

    def copy(self) -> Engine:
        return self

    def free(self) -> None:
        pass


class Communicator:
    """A group of ranks connected by MPI. Each method starts an operation and returns its request.

    Arrays are contiguous, and must not change until the operation is done. Reductions are named as in `ReduceOp`.
    """

    def __init__(self, MPI: Any, comm: Any) -> None:
        self.MPI, self.comm = MPI, comm
        self.rank: int = comm.Get_rank()
        self.size: int = comm.Get_size()

    def all_reduce(self, array: Array, op: str) -> Request:
        (data, datatype), operation = self._typed(array, op)

        def start(chunk: Array) -> Request:
            return self.comm.Iallreduce(self.MPI.IN_PLACE, [chunk, datatype], operation)

        return start(data) if data.nbytes <= CHUNK else Chunks(start, data.reshape(-1))

    def broadcast(self, array: Array, root: int) -> Request:
        return self.comm.Ibcast(self._bytes(array), root)

    def reduce(self, array: Array, op: str, root: int) -> Request:
        data, operation = self._typed(array, op)
        if self.rank == root:
            return self.comm.Ireduce(self.MPI.IN_PLACE, data, operation, root)
        return self.comm.Ireduce(data, None, operation, root)

    def barrier(self) -> Request:
        return self.comm.Ibarrier()

    def all_gather(self, sent: Array, received: Array) -> Request:
        return self.comm.Iallgather(self._bytes(sent), self._bytes(received))

    def gather(self, sent: Array, received: Array | None, root: int) -> Request:
        return self.comm.Igather(self._bytes(sent), None if received is None else self._bytes(received), root)

    def scatter(self, sent: Array | None, received: Array, root: int) -> Request:
        return self.comm.Iscatter(None if sent is None else self._bytes(sent), self._bytes(received), root)

    def reduce_scatter(self, sent: Array, received: Array, op: str) -> Request:
        data, operation = self._typed(sent, op)
        return self.comm.Ireduce_scatter_block(data, self._typed(received, op)[0], operation)

    def all_to_all(self, sent: Array, sizes: Sequence[int], received: Array, expected: Sequence[int]) -> Request:
        """`sizes` and `expected` are the numbers of bytes to and from each rank."""
        both = [
            [self._bytes(array)[0], (counts, _starts(counts)), self.MPI.BYTE]
            for array, counts in ((sent, sizes), (received, expected))
        ]
        return self.comm.Ialltoallv(*both)

    def send(self, array: Array, to: int, tag: int) -> Request:
        return self.comm.Isend(self._bytes(array), to, tag)

    def receive(self, array: Array, source: int | None, tag: int) -> Request:
        request = self.comm.Irecv(self._bytes(array), self.MPI.ANY_SOURCE if source is None else source, tag)
        return _Receive(request, self.MPI.Status())

    def part(self, ranks: Sequence[int], number: int) -> Engine:
        """A communicator for some of the ranks, which all call this."""
        if len(ranks) == 1:
            return Alone()
        everyone = self.comm.Get_group()
        some = everyone.Incl(list(ranks))
        try:
            return Communicator(self.MPI, self.comm.Create_group(some, number))
        finally:
            some.Free()
            everyone.Free()

    def copy(self) -> Engine:
        """A communicator of the same ranks, whose operations are matched separately; all ranks call this."""
        return Communicator(self.MPI, self.comm.Dup())

    def free(self) -> None:
        """Free MPI's resources of the group."""
        self.comm.Free()

    def _bytes(self, array: Array) -> list[Any]:
        return [array.reshape(-1).view(np.uint8), self.MPI.BYTE]

    def _typed(self, array: Array, op: str) -> tuple[list[Any], Any]:
        """An array in MPI's form, and the MPI reduction. Booleans are bytes 0 and 1; NumPy reduces 16-bit floats."""
        dtype = array.dtype
        if dtype == np.bool_:
            return [array.view(np.uint8), self.MPI.UINT8_T], getattr(self.MPI, _LOGICAL[op])
        if dtype.itemsize == 2 and dtype.kind not in "iu":
            return [array.view(np.uint16), self.MPI.UINT16_T], _half_operation(self.MPI, dtype, op)
        kind = {"f": "DOUBLE" if dtype.itemsize == 8 else "FLOAT", "i": f"INT{dtype.itemsize * 8}_T"}
        name = kind.get(dtype.kind, f"UINT{dtype.itemsize * 8}_T")
        return [array, getattr(self.MPI, name)], getattr(self.MPI, _ARITHMETIC[op])


Engine = Communicator | Alone


class Chunks:
    """The request of a large reduction. See Note [Chunks]."""

    def __init__(self, start: Callable[[Array], Request], data: Array) -> None:
        step = CHUNK // data.itemsize
        self.start, self.rest = start, deque(data[begin : begin + step] for begin in range(0, data.size, step))
        self.running: deque[Request] = deque()
        self.Test()

    def Test(self) -> bool:
        while self.running and self.running[0].Test():
            self.running.popleft()
        while self.rest and len(self.running) < 2:
            self.running.append(self.start(self.rest.popleft()))
        return not self.running


class _Receive:
    """The request of a receive; it knows the sender afterwards."""

    def __init__(self, request: Any, status: Any) -> None:
        self.request, self.status, self.source = request, status, -1

    def Test(self) -> bool:
        done = self.request.Test(self.status)
        if done:
            self.source = self.status.Get_source()
        return done


_ARITHMETIC = {op: op for op in ("SUM", "MIN", "MAX", "BAND", "BOR", "BXOR")} | {"AVG": "SUM", "PRODUCT": "PROD"}
_LOGICAL = {"SUM": "LOR", "PRODUCT": "LAND", "MIN": "LAND", "MAX": "LOR", "BAND": "LAND", "BOR": "LOR", "BXOR": "LXOR"}
_UFUNCS = {"SUM": np.add, "AVG": np.add, "PRODUCT": np.multiply, "MIN": np.minimum, "MAX": np.maximum}
_half_operations: dict[tuple[str, str], Any] = {}


def _half_operation(MPI: Any, dtype: np.dtype[Any], op: str) -> Any:
    """A reduction of 16-bit floats, in NumPy."""
    key = (dtype.name, _ARITHMETIC[op])
    if key not in _half_operations:
        ufunc = _UFUNCS[op]

        def apply(sent: Any, kept: Any, datatype: Any) -> None:
            into = np.frombuffer(kept, dtype)
            ufunc(np.frombuffer(sent, dtype), into, out=into)

        _half_operations[key] = MPI.Op.Create(apply, commute=True)
    return _half_operations[key]


def _starts(counts: Sequence[int]) -> list[int]:
    return [sum(counts[:position]) for position in range(len(counts))]
