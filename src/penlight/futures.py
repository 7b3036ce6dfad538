"""torch.futures: results that are computed later, by other threads.

>>> import penlight as torch
>>> future = torch.futures.Future()
>>> future.then(lambda f: f.wait() + 1).done()
False
>>> future.set_result(1); future.value()
1
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ._common.arguments import explain as _explain

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """A result that is set once, waited for, and followed by callbacks. `devices` is accepted.

    >>> future = torch.futures.Future()
    >>> future.set_result(1); future.wait()
    1
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._lock = threading.Condition()
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future[T]], Any]] = []
        self._drive: Callable[[], None] | None = None  # computes the result, if no other thread does

    def done(self) -> bool:
        """Whether there is a result or an error."""
        return self._done

    def wait(self) -> T:
        """Wait for the result and return it; raises the error if one was set instead."""
        if self._drive is not None and not self._done:
            self._drive()
        with self._lock:
            self._lock.wait_for(lambda: self._done)
        return self._get()

    def value(self) -> T:
        """The result, which must have been set."""
        if not self._done:
            raise RuntimeError("Future::value() called on a Future that is not completed")
        return self._get()

    def _get(self) -> T:
        if self._error is not None:
            raise self._error
        return self._value

    def then(self, callback: Callable[[Future[T]], Any]) -> Future[Any]:
        """A future for the result of `callback(self)`, which is called when this future is done."""
        following: Future[Any] = Future()
        following._drive = self._drive

        def run(this: Future[T]) -> None:
            try:
                following.set_result(callback(this))
            except Exception as error:
                following.set_exception(error)

        self.add_done_callback(run)
        return following

    def add_done_callback(self, callback: Callable[[Future[T]], None]) -> None:
        """Call `callback(self)` when this future is done, or now if it is already."""
        with self._lock:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def set_result(self, result: T) -> None:
        """Set the result and run the callbacks; only once."""
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Set an error instead, which `wait` raises."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _finish(self, value: Any, error: BaseException | None) -> None:
        with self._lock:
            if self._done:
                raise RuntimeError(
                    "Attempting to mark a completed Future as complete again. Note that a Future can only be marked "
                    "completed once."
                )
            self._value, self._error, self._done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
            self._lock.notify_all()
        for callback in callbacks:
            callback(self)


def collect_all(futures: list[Future[Any]]) -> Future[list[Future[Any]]]:
    """A future for the list of futures, done when all of them are.

    Args:
        futures: the futures.

    Returns:
        a future.

    >>> first, second = torch.futures.Future(), torch.futures.Future()
    >>> both = torch.futures.collect_all([first, second])
    >>> first.set_result(1); second.set_result(2)
    >>> [each.value() for each in both.wait()]
    [1, 2]
    """
    result: Future[list[Future[Any]]] = Future()
    left = [len(futures)]
    lock = threading.Lock()
    drives = [future._drive for future in futures if future._drive is not None]

    def drive_all() -> None:
        for drive in drives:
            drive()

    if drives:
        result._drive = drive_all

    def one_done(_: Any) -> None:
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            result.set_result(futures)

    if not futures:
        result.set_result(futures)
    for future in futures:
        future.add_done_callback(one_done)
    return result


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """Wait for all futures and return their results.

    Args:
        futures: the futures.

    Returns:
        a list of results.

    >>> future = torch.futures.Future()
    >>> future.set_result(3)
    >>> torch.futures.wait_all([future])
    [3]
    """
    return [future.wait() for future in collect_all(futures).wait()]


_explain(globals())
