"""Key-value stores that processes share, mainly to find each other."""

from __future__ import annotations

import functools
import os
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeVar

from penlight._common.docstrings import example

T = TypeVar("T")

example_of_store = functools.partial(example, before=(">>> store = torch.distributed.HashStore()",))


@example("issubclass(torch.distributed.DistError, RuntimeError)", "True")
class DistError(RuntimeError):
    """An error of the distributed package."""


@example("issubclass(torch.distributed.DistBackendError, RuntimeError)", "True")
class DistBackendError(DistError):
    """An error of the communication backend."""


@example("issubclass(torch.distributed.DistNetworkError, RuntimeError)", "True")
class DistNetworkError(DistError):
    """A connection that could not be made, or was lost."""


class DistStoreError(DistError):
    """A store that did not answer in time.

    >>> import datetime
    >>> torch.distributed.HashStore().wait(["key"], datetime.timedelta(milliseconds=1))
    Traceback (most recent call last):
    penlight.distributed._store.DistStoreError: Wait timeout
    """


class QueueEmptyError(DistStoreError):
    """Raised when a store's queue is empty.

    >>> torch.distributed.HashStore().queue_pop("jobs", block=False)
    Traceback (most recent call last):
    penlight.distributed._store.QueueEmptyError: queue is empty
    """


def _bytes(value: str | bytes) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    raise TypeError(
        f"set(): incompatible function arguments: a store keeps str and bytes, but got {type(value).__name__}"
    )


class Table:
    """The contents of a store and its atomic operations; owned by the server or by a `HashStore`."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.queues: dict[str, list[bytes]] = {}
        self.changed = threading.Condition()

    def set(self, key: str, value: bytes) -> None:
        self.values[key] = value

    def try_get(self, keys: Sequence[str]) -> list[bytes] | None:
        """The values of these keys, or None if one of them is missing."""
        return [self.values[key] for key in keys] if all(key in self.values for key in keys) else None

    def add(self, key: str, amount: int) -> int:
        total = int(self.values.get(key, b"0")) + amount
        self.values[key] = b"%d" % total
        return total

    def append(self, key: str, value: bytes) -> None:
        self.values[key] = self.values.get(key, b"") + value

    def compare_set(self, key: str, expected: bytes, desired: bytes) -> bytes:
        present = self.values.get(key)
        if present is None and expected:
            return expected
        if (present or b"") == expected:
            self.values[key] = desired
        return self.values[key]

    def delete(self, key: str) -> bool:
        return self.values.pop(key, None) is not None

    def count(self) -> int:
        return len(self.values)

    def keys(self) -> list[str]:
        return list(self.values)

    def push(self, key: str, value: bytes) -> None:
        self.queues.setdefault(key, []).append(value)

    def try_pop(self, key: str) -> list[bytes] | None:
        """The first value of a queue in a list, or None if it is empty."""
        queue = self.queues.get(key)
        return [queue.pop(0)] if queue else None

    def length(self, key: str) -> int:
        return len(self.queues.get(key, ()))

    def call(self, name: str, args: Sequence[Any], seconds: float = 0.0) -> Any:
        """Run one of the methods above, and wake waiting threads. A `try_` method is repeated until it returns a value."""
        with self.changed:
            if name.startswith("try_"):
                result = self.changed.wait_for(lambda: getattr(self, name)(*args), seconds)
            else:
                result = getattr(self, name)(*args)
            self.changed.notify_all()
            return result


@example("isinstance(torch.distributed.HashStore(), torch.distributed.Store)", "True")
class Store:
    """A key-value table of bytes that processes share; the base class of all stores.

    A subclass implements `_call(name, args, seconds)`, which calls the `Table` method of that name.
    """

    _timeout = timedelta(seconds=300)

    def _call(self, name: str, args: Sequence[Any], seconds: float = 0.0) -> Any:
        raise NotImplementedError(f"{type(self).__name__} is the base of stores: use TCPStore, FileStore or HashStore")

    def _timed_out(self, keys: Sequence[str], waited: timedelta) -> Exception:
        return DistStoreError("Wait timeout")

    @property
    @example_of_store("store.timeout", "datetime.timedelta(seconds=300)")
    def timeout(self) -> timedelta:
        """How long `get` and `wait` wait for a key."""
        return self._timeout

    @example_of_store("store.set_timeout(2 * store.timeout); store.timeout", "datetime.timedelta(seconds=600)")
    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long `get` and `wait` wait for a key, a `timedelta`: `timeout`."""
        self._timeout = timeout

    @example_of_store('store.set("key", "value"); store.get("key")', "b'value'")
    def set(self, key: str, value: str | bytes) -> None:
        """Set the value of `key` to `value`, replacing any earlier value."""
        self._call("set", (key, _bytes(value)))

    def _waited(self, name: str, argument: Any, keys: Sequence[str], timeout: timedelta | None) -> list[bytes]:
        limit = self._timeout if timeout is None else timeout
        found = self._call(name, (argument,), limit.total_seconds())
        if found is None or found is False:
            raise self._timed_out(keys, limit)
        return found

    @example_of_store('store.set("key", "value"); store.get("key")', "b'value'")
    def get(self, key: str) -> bytes:
        """Wait for `key` and return its value; DistStoreError after the timeout.

        Returns:
            bytes.
        """
        return self._waited("try_get", [key], [key], None)[0]

    @example_of_store('store.set("key", "value"); store.wait(["key"])')
    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Wait until all `keys` exist; DistStoreError after `timeout`, by default that of the store."""
        if keys:
            self._waited("try_get", list(keys), keys, timeout)

    @example_of_store('store.check(["key"])', "False")
    def check(self, keys: Sequence[str]) -> bool:
        """Whether all `keys` exist."""
        return bool(not keys or self._call("try_get", (list(keys),)))

    @example_of_store('store.add("count", 2), store.add("count", 3)', "(2, 5)")
    def add(self, key: str, amount: int) -> int:
        """Add `amount` to the counter of `key`, which starts at 0.

        Returns:
            the sum.
        """
        return self._call("add", (key, int(amount)))

    @example_of_store('store.append("key", "a"); store.append("key", "b"); store.get("key")', "b'ab'")
    def append(self, key: str, value: str | bytes) -> None:
        """Append `value` to the value of `key`."""
        self._call("append", (key, _bytes(value)))

    @example_of_store('store.compare_set("key", "", "a"), store.compare_set("key", "b", "c")', "(b'a', b'a')")
    def compare_set(self, key: str, expected_value: str | bytes, desired_value: str | bytes) -> bytes:
        """Set `key` to `desired_value` if its value is `expected_value` ("" matches a missing key).

        Returns:
            the value after that, as bytes.
        """
        return self._call("compare_set", (key, _bytes(expected_value), _bytes(desired_value)))

    @example_of_store('store.set("key", "value"); store.delete_key("key"), store.delete_key("key")', "(True, False)")
    def delete_key(self, key: str) -> bool:
        """Delete `key`, and return whether it existed."""
        return self._call("delete", (key,))

    @example_of_store('store.set("key", "value"); store.num_keys()', "1")
    def num_keys(self) -> int:
        """The number of keys."""
        return self._call("count", ())

    @example_of_store('store.set("key", "value"); store.list_keys()', "['key']")
    def list_keys(self) -> list[str]:
        """All keys.

        Returns:
            a list of names.
        """
        return self._call("keys", ())

    @example_of_store('store.multi_set(["a", "b"], ["1", "2"]); store.multi_get(["a", "b"])', "[b'1', b'2']")
    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Wait for several `keys`.

        Returns:
            a list of their values, as bytes.
        """
        return self._waited("try_get", list(keys), keys, None)

    @example_of_store('store.multi_set(["a", "b"], ["1", "2"]); store.num_keys()', "2")
    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Set the `values` of several `keys`."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    @example_of_store('store.queue_push("jobs", "a"); store.queue_len("jobs")', "1")
    def queue_push(self, key: str, value: str | bytes) -> None:
        """Append `value` to the queue `key`."""
        self._call("push", (key, _bytes(value)))

    @example_of_store('store.queue_push("jobs", "a"); store.queue_pop("jobs")', "b'a'")
    def queue_pop(self, key: str, block: bool = True) -> bytes:
        """Remove the first value of the queue `key`; without `block`, QueueEmptyError if it is empty.

        Returns:
            the value, as bytes.
        """
        if block:
            return self._waited("try_pop", key, [key], None)[0]
        found = self._call("try_pop", (key,))
        if not found:
            raise QueueEmptyError("queue is empty")
        return found[0]

    @example_of_store('store.queue_len("jobs")', "0")
    def queue_len(self, key: str) -> int:
        """The number of values in the queue `key`."""
        return self._call("length", (key,))

    @example_of_store("store.has_extended_api()", "True")
    def has_extended_api(self) -> bool:
        """Whether the store supports `append`, `multi_get` and `multi_set`."""
        return True

    @example_of_store("store.clone() is store", "True")
    def clone(self) -> Store:
        """A store with the same contents for another thread: this store itself, which is thread-safe.

        Returns:
            the store.
        """
        return self


class HashStore(Store):
    """A store within one process, for its threads.

    >>> store = torch.distributed.HashStore()
    >>> store.set("key", "value"); store.get("key")
    b'value'
    """

    def __init__(self) -> None:
        self._table = Table()

    def _call(self, name: str, args: Sequence[Any], seconds: float = 0.0) -> Any:
        return self._table.call(name, args, seconds)


class PrefixStore(Store):
    """A view of another store that prepends a prefix to each key.

    Args:
        prefix: the prefix of the keys.
        store: the other store.

    >>> from penlight.distributed import HashStore, PrefixStore
    >>> whole = HashStore()
    >>> PrefixStore("part", whole).set("key", "value"); whole.get("part/key")
    b'value'
    """

    def __init__(self, prefix: str, store: Store) -> None:
        self._prefix, self._store = prefix, store

    @property
    def underlying_store(self) -> Store:
        """The store behind this view."""
        return self._store

    @property
    def _underlying_non_prefix_store(self) -> Store:
        inner = self._store
        return inner._underlying_non_prefix_store if isinstance(inner, PrefixStore) else inner

    @property
    def timeout(self) -> timedelta:
        """How long the other store waits for a key."""
        return self._store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Set how long the other store waits for a key."""
        self._store.set_timeout(timeout)

    def _call(self, name: str, args: Sequence[Any], seconds: float = 0.0) -> Any:
        if args:
            first = args[0]
            own = [self._name(key) for key in first] if isinstance(first, list) else self._name(first)
            args = (own, *args[1:])
        return self._store._call(name, args, seconds)

    def _waited(self, name: str, argument: Any, keys: Sequence[str], timeout: timedelta | None) -> list[bytes]:
        own = [self._name(key) for key in keys]
        return self._store._waited(name, own if isinstance(argument, list) else own[0], own, timeout)

    def _name(self, key: str) -> str:
        return f"{self._prefix}/{key}"

    def has_extended_api(self) -> bool:
        """Whether the other store supports it."""
        return self._store.has_extended_api()


@example("issubclass(torch.distributed.FileStore, torch.distributed.Store)", "True")
class FileStore(Store):
    """A store in a file that all processes can read and write.

    Args:
        file_name: the file; it is created if missing, and removed when the last process is done with it.
        world_size: the number of processes that use it; -1 keeps the file.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        self.path, self._world_size, self._lock = str(file_name), world_size, threading.Lock()
        self._open = True
        self._locked(lambda table: table.add("refcount/", 1))

    def _locked(self, action: Callable[[Table], T]) -> T:
        import fcntl

        with self._lock, open(self.path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            data, table = file.read(), Table()
            if data:
                table.values = pickle.loads(data)
            before = dict(table.values)
            result = action(table)
            if table.values != before:
                file.seek(0)
                file.truncate()
                file.write(pickle.dumps(table.values))
                file.flush()
            return result

    def _call(self, name: str, args: Sequence[Any], seconds: float = 0.0) -> Any:
        if name in ("push", "try_pop", "length"):
            raise NotImplementedError("queue support is not implemented.")
        end = time.monotonic() + seconds
        while True:
            result = self._locked(lambda table: table.call(name, args))
            if result or not name.startswith("try_") or time.monotonic() >= end:
                return result
            time.sleep(0.01)

    def _timed_out(self, keys: Sequence[str], waited: timedelta) -> Exception:
        return RuntimeError("Wait timeout")

    def get(self, key: str) -> bytes:
        """Wait for a key and return its value; RuntimeError after the timeout."""
        if not self._call("try_get", ([key],), self._timeout.total_seconds()):
            waited = self._timeout // timedelta(milliseconds=1)
            raise RuntimeError(f"Timeout waiting for key: {key} after {waited} ms")
        return super().get(key)

    def has_extended_api(self) -> bool:
        """False."""
        return False

    def __del__(self) -> None:
        if not self.__dict__.get("_open"):
            return
        self._open = False
        with suppress(OSError, ImportError):
            if os.path.exists(self.path):
                left = self._locked(lambda table: (table.add("left/", 1), int(table.values["refcount/"])))
                if self._world_size > 0 and left[0] >= max(left[1], self._world_size):
                    os.unlink(self.path)
