"""A store over TCP: its server and its clients.

# Note [Watching ranks]
The server of a `TCPStore` also notifies the ranks of a job when one of them ends. Every rank keeps a second connection to it
open, which the operating system closes whenever and however the process dies. The server then sends the others a line
`dead RANK`, or `left RANK` after a normal exit. A rank that waits for others reads these lines: see `Watch`.
"""

from __future__ import annotations

import io
import os
import pickle
import socket
import struct
import threading
import time
from collections.abc import Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any, TypeVar

from ._store import DistNetworkError, DistStoreError, Store, Table

T = TypeVar("T")


def _send(connection: socket.socket, value: Any) -> None:
    data = pickle.dumps(value)
    connection.sendall(struct.pack("!Q", len(data)) + data)


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        some = connection.recv(min(size - len(data), 1 << 20))
        if not some:
            raise ConnectionError("Connection was closed")
        data += some
    return data


class _Plain(pickle.Unpickler):
    """An unpickler for numbers, bytes, strings and lists only: a message from the network cannot construct objects."""

    def find_class(self, module: str, name: str) -> Any:
        raise pickle.UnpicklingError(f"{module}.{name} is not expected here")


def _receive(connection: socket.socket) -> Any:
    return _Plain(io.BytesIO(_read(connection, struct.unpack("!Q", _read(connection, 8))[0]))).load()


class _Server:
    """Serves the clients of a store, with one thread per client. See Note [Watching ranks]."""

    def __init__(self, host: str, port: int, listener: socket.socket | None = None) -> None:
        self.table = Table()
        self.watching: dict[int, socket.socket] = {}
        self.gone: list[bytes] = []
        self.lock = threading.Lock()
        self.listener = listener or _listen(host, port)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, name="penlight-store", daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                connection, _ = self.listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._serve, args=(connection,), name="penlight-store", daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, suppress(OSError, pickle.UnpicklingError):
            while True:
                name, args, seconds = _receive(connection)
                if name == "watch":
                    self._watch(connection, args[0])
                    return
                try:
                    reply = ("result", self.table.call(name, args, seconds))
                except Exception as error:
                    reply = ("error", f"{type(error).__name__}: {error}")
                _send(connection, reply)

    def _watch(self, connection: socket.socket, rank: int) -> None:
        with self.lock:
            self.watching[rank] = connection
            connection.sendall(b"watched\n" + b"".join(self.gone))
        said = b""
        with suppress(OSError):
            said = connection.recv(16)
        if said:
            self._tell(b"left %d\n" % rank)
            with suppress(OSError):
                connection.recv(16)  # until it is closed: a rank that waits for the others to end listens too
        with self.lock:
            del self.watching[rank]
        if not said:
            self._tell(b"dead %d\n" % rank)

    def _tell(self, word: bytes) -> None:
        with self.lock:
            self.gone.append(word)
            for other in self.watching.values():
                with suppress(OSError):
                    other.sendall(word)

    def close(self) -> None:
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


def _listen(host: str, port: int) -> socket.socket:
    """A socket that listens on this address only."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address[:2], family=family, backlog=1024)
    except OSError as error:
        raise DistNetworkError(
            f"The server socket has failed to listen on any local network address. port: {port}, host: {host}, "
            f"code: -{error.errno}, message: {os.strerror(error.errno or 0).lower()}"
        ) from None


class TCPStore(Store):
    """A store at a network address: one process is the server, the others are clients.

    Args:
        host_name: the address of the server; it listens on this address only.
        port: the port of the server; 0 selects a free one, which the attribute `port` then contains.
        world_size: the number of processes that use it; None if unknown.
        is_master: whether this process is the server.
        timeout: how long to wait for the server, for the other processes, and later for keys.
        wait_for_workers: whether the server waits until `world_size` processes have connected.
        multi_tenant, use_libuv: accepted and ignored.
        master_listen_fd: the descriptor of a socket that already listens, for the server.

    >>> from penlight.distributed import TCPStore
    >>> server = TCPStore("127.0.0.1", 0, is_master=True)
    >>> client = TCPStore("127.0.0.1", server.port)
    >>> client.set("key", "value"); server.get("key")
    b'value'
    """

    def __init__(
        self, host_name: str, port: int, world_size: int | None = None, is_master: bool = False,
        timeout: timedelta = timedelta(seconds=300), wait_for_workers: bool = True, multi_tenant: bool = False,
        master_listen_fd: int | None = None, use_libuv: bool = True,
    ) -> None:  # fmt: skip
        self._host, self._port, self._timeout = host_name, port, timeout
        self._server: _Server | None = None
        self._lock = threading.Lock()
        self._idle: list[socket.socket] = []
        self._process = os.getpid()
        if is_master:
            listener = None if master_listen_fd is None else socket.socket(fileno=master_listen_fd)
            self._server = _Server(host_name, port, listener)
            self._port = self._server.port
        self._give_back(self._connect())
        if world_size is not None and world_size > 0:
            joined = self.add("worker-count", 1)
            if wait_for_workers and is_master:
                self._wait_for_workers(world_size, joined)

    def _wait_for_workers(self, expected: int, joined: int) -> None:
        end = time.monotonic() + self._timeout.total_seconds()
        while joined < expected:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Timed out after {round(self._timeout.total_seconds()) + 1} seconds waiting for clients. "
                    f"{joined}/{expected} clients joined."
                )
            time.sleep(0.005)
            joined = self.add("worker-count", 0)

    def _connect(self) -> socket.socket:
        end = time.monotonic() + self._timeout.total_seconds()
        while True:
            try:
                connection = socket.create_connection((self._host, self._port), max(0.1, end - time.monotonic()))
                if connection.getsockname() == connection.getpeername():  # a TCP self-connection to the server's port
                    connection.close()
                    raise ConnectionRefusedError
            except OSError:
                if time.monotonic() > end:
                    raise DistNetworkError(
                        f"The client socket has timed out after {self._timeout // timedelta(milliseconds=1)}ms while "
                        f"trying to connect to ({self._host}, {self._port})."
                    ) from None
                time.sleep(0.02)
            else:
                connection.settimeout(None)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return connection

    @contextmanager
    def _connection(self) -> Any:
        """A connection for exclusive use by this thread."""
        with self._lock:
            if self._process != os.getpid():  # after a fork: the connections belong to the parent
                self._process, self._idle, self._server = os.getpid(), [], None
            connection = self._idle.pop() if self._idle else None
        connection = connection or self._connect()
        try:
            yield connection
        except BaseException:  # its answer may still arrive, and no other request may read it
            connection.close()
            raise
        self._give_back(connection)

    def _give_back(self, connection: socket.socket) -> None:
        with self._lock:
            self._idle.append(connection)

    def _call(self, name: str, args: Sequence[Any], seconds: float = 0.0) -> Any:
        try:
            with self._connection() as connection:
                _send(connection, (name, list(args), seconds))
                kind, value = _receive(connection)
        except (OSError, EOFError) as error:
            raise DistNetworkError(
                f"Failed to talk to the store at ({self._host}, {self._port}): {error}. The process that serves it may "
                "have ended."
            ) from None
        if kind == "error":
            raise DistStoreError(value)
        return value

    def _timed_out(self, keys: Sequence[str], waited: timedelta) -> Exception:
        names = ", ".join(f"/{key}" for key in keys)
        return DistStoreError(f"wait timeout after {waited // timedelta(milliseconds=1)}ms, keys: {names}")

    def address_here(self) -> str:
        """The address of this machine in the network of the server."""
        with self._connection() as connection:
            return connection.getsockname()[0]

    def watch(self, rank: int) -> Watch:
        """Open the connection that tells this rank when another one ends. See Note [Watching ranks]."""
        connection = self._connect()
        _send(connection, ("watch", [rank], 0.0))
        return Watch(connection)

    @property
    def host(self) -> str:
        """The address of the server."""
        return self._host

    @property
    def port(self) -> int:
        """The port of the server."""
        return self._port

    @property
    def libuvBackend(self) -> bool:
        """False: the server is in Python."""
        return False

    def __repr__(self) -> str:
        return f"TCPStore(host={self._host!r}, port={self._port}, is_master={self._server is not None})"

    def __del__(self) -> None:
        for connection in self.__dict__.get("_idle", ()):
            connection.close()
        server = self.__dict__.get("_server")
        if server is not None and self._process == os.getpid():
            server.close()


class Watch:
    """One rank's connection to the server that reports ended ranks. See Note [Watching ranks]."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._unread = connection, b""
        self.dead: set[int] = set()
        self.left: set[int] = set()
        while b"watched\n" not in self._unread:
            self._unread += _read(connection, 1)
        self._unread = b""
        connection.setblocking(False)

    def look(self) -> None:
        """Read new lines from the server, without waiting."""
        while 0 not in self.dead:
            try:
                some = self._connection.recv(4096)
            except BlockingIOError:
                return
            except OSError:
                some = b""
            if not some:  # the server runs in rank 0
                self.dead.add(0)
                return
            *lines, self._unread = (self._unread + some).split(b"\n")
            for line in lines:
                word, rank = line.split()
                (self.dead if word == b"dead" else self.left).add(int(rank))

    def leave(self) -> None:
        """Report a normal exit to the others."""
        with suppress(OSError):
            self._connection.sendall(b"left")
