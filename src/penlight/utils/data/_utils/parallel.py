"""Loading in worker processes: the side of the main process."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
import weakref
from collections import deque
from itertools import cycle
from multiprocessing.connection import wait
from pickle import PicklingError
from typing import Any

from penlight._common.interrupts import interrupts_deferred
from penlight._common.user_warnings import warn_user
from penlight.utils.data._utils import channel
from penlight.utils.data._utils.blocks import MappedBlocks
from penlight.utils.data._utils.exceptions import ExceptionWrapper
from penlight.utils.data._utils.worker import (
    BEGIN_EPOCH,
    STATUS_CHECK_INTERVAL,
    EndOfStream,
    Result,
    Task,
    WorkerSetup,
    _worker_loop,
)
from penlight.utils.data.dataloader import DataLoader, _BaseDataLoaderIter, _DatasetKind

# The main process's ends of all connections to workers. A forked worker closes its copies.
_open_ends: weakref.WeakSet[Any] = weakref.WeakSet()


class _Pool:
    """The worker processes of one iterator. It does not refer to the iterator; when that is gone, the pool shuts down."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._owner = os.getpid()
        self.processes: list[Any] = []
        self.connections: list[Any] = []
        self.mapped: list[MappedBlocks] = []

    def start(self, setup: WorkerSetup) -> None:
        """Start one more worker."""
        ours, theirs = self._context.Pipe(duplex=True)
        _open_ends.add(ours)
        # Other start methods do not copy connections, and would have to pickle them.
        inherited = list(_open_ends) if self._context.get_start_method() == "fork" else []
        process = self._context.Process(target=_worker_loop, args=(setup, theirs, inherited), daemon=True)
        try:
            with interrupts_deferred():
                process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        self.processes.append(process)
        self.connections.append(ours)
        self.mapped.append(MappedBlocks())

    def send(self, worker: int, epoch: int, number: int, index: Any = None) -> None:
        """Send a task to a worker, with the blocks that it may reuse."""
        released = self.mapped[worker].take_released()
        channel.send(self.connections[worker], Task(epoch, number, index, released))

    def receive(self, worker: int) -> Result:
        """The next result of a worker."""
        return channel.receive(self.connections[worker], self.mapped[worker])

    def shutdown(self) -> None:
        """Stop the workers by closing the connections, and wait for them: none is left behind."""
        if os.getpid() != self._owner:
            return
        for connection in self.connections:
            connection.close()
        deadline = time.monotonic() + STATUS_CHECK_INTERVAL
        for process in self.processes:
            process.join(max(0.0, deadline - time.monotonic()))
        for process in self.processes:
            if process.is_alive():
                process.terminate()
                process.join(STATUS_CHECK_INTERVAL)
            if process.is_alive():
                process.kill()
                process.join()


def _why_it_ended(process: Any) -> str:
    process.join(STATUS_CHECK_INTERVAL)
    code = process.exitcode
    if code is not None and code < 0:
        message = f"DataLoader worker (pid {process.pid}) is killed by signal: {signal.strsignal(-code)}. "
        if -code == getattr(signal, "SIGBUS", None):
            message += (
                "It is possible that dataloader's workers are out of shared memory. "
                "Please try to raise your shared memory limit."
            )
        return message
    return (
        f"DataLoader worker (pid {process.pid}) exited unexpectedly with exit code {code}. "
        "Details are lost due to multiprocessing. Rerunning with num_workers=0 may give better error trace."
    )


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Sends tasks to the workers in turn, and returns their batches in the order of the tasks."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        self._prefetch_factor: int = loader.prefetch_factor  # type: ignore[assignment]
        self._in_order = loader.in_order
        for name, number in (("num_workers", self._num_workers), ("prefetch_factor", self._prefetch_factor)):
            if number <= 0:
                raise AssertionError(f"{name} must be greater than 0 for MultiProcessingDataLoaderIter")
        self._pool = _Pool(loader.multiprocessing_context or multiprocessing)
        self._workers = self._pool.processes
        self._shutdown_workers = weakref.finalize(self, self._pool.shutdown)
        try:
            for worker_id in range(self._num_workers):
                self._pool.start(self._setup_for(worker_id, loader))
        except BaseException:
            self._shutdown_workers()
            raise
        self._epoch = 0
        self._start_epoch()

    def _setup_for(self, worker_id: int, loader: DataLoader[Any]) -> WorkerSetup:
        return WorkerSetup(
            kind=self._dataset_kind,
            dataset=self._dataset,
            auto_collation=self._auto_collation,
            collate_fn=self._collate_fn,
            drop_last=self._drop_last,
            base_seed=self._base_seed,
            init_fn=loader.worker_init_fn,
            worker_id=worker_id,
            num_workers=self._num_workers,
        )

    def _reset(self, loader: DataLoader[Any]) -> None:
        """Start a new epoch with the same workers (`persistent_workers=True`)."""
        super()._reset(loader)
        self._epoch += 1
        for worker in range(self._num_workers):
            # Unfinished or unread tasks of the previous epoch carry its number, and both sides drop them.
            self._pool.send(worker, self._epoch, BEGIN_EPOCH)
        self._start_epoch()

    def _start_epoch(self) -> None:
        self._sent = 0
        self._pending: deque[tuple[int, int]] = deque()  # (task, worker) in the order they were sent
        self._arrived: dict[int, Any] = {}
        self._active = [True] * self._num_workers  # may have more data in this epoch
        self._busy = [0] * self._num_workers  # tasks sent and not yet returned
        self._turns = cycle(range(self._num_workers))
        for _ in range(self._prefetch_factor * self._num_workers):
            self._hand_out_task()

    def _hand_out_task(self) -> None:
        try:
            index = self._next_index()
        except StopIteration:
            return
        share = self._prefetch_factor * self._num_workers // max(1, sum(self._active))
        for worker in (next(self._turns) for _ in range(self._num_workers)):
            if self._active[worker] and (self._in_order or self._busy[worker] < share):
                break
        else:
            return
        try:  # noqa: SIM105
            self._pool.send(worker, self._epoch, self._sent, index)
        except (BrokenPipeError, ConnectionResetError):
            pass  # It has died, which is reported when its batch is awaited.
        self._pending.append((self._sent, worker))
        self._busy[worker] += 1
        self._sent += 1

    def _next_data(self) -> Any:
        while True:
            self._drop_unanswered()
            if not self._pending:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            number, worker = self._next_to_give()
            if number in self._arrived:
                self._pending.remove((number, worker))
                return self._give(self._arrived.pop(number), worker)
            self._receive(worker)

    def _drop_unanswered(self) -> None:
        """Forget the first tasks if their worker has no more data."""
        while self._pending and not self._active[self._pending[0][1]] and self._pending[0][0] not in self._arrived:
            self._pending.popleft()

    def _next_to_give(self) -> tuple[int, int]:
        """The task whose batch comes next: the oldest or, with `in_order=False`, any that has arrived."""
        if not self._in_order and self._arrived:
            first = next(iter(self._arrived))
            return next(task for task in self._pending if task[0] == first)
        return self._pending[0]

    def _give(self, data: Any, worker: int) -> Any:
        self._busy[worker] -= 1
        self._hand_out_task()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return data

    def _receive(self, wanted: int) -> None:
        """Wait for a message and process it: from the wanted worker if it has one, else from all."""
        active = [worker for worker in range(self._num_workers) if self._active[worker]]
        by_source = {self._pool.connections[worker]: worker for worker in active}
        sentinels = {self._workers[worker].sentinel: worker for worker in active}
        ready = wait([*by_source, *sentinels], self._timeout or None)
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
        talking = {by_source[source] for source in ready if source in by_source}
        # A dead worker may have sent something before: its death counts once nothing is left to read.
        ended = {sentinels[source] for source in ready if source in sentinels} - talking
        for worker in [wanted] if wanted in talking and self._in_order else talking:
            try:
                self._take_in(self._pool.receive(worker))
            except (EOFError, ConnectionResetError):
                ended.add(worker)
        if ended:
            self._report_ended(sorted(ended))

    def _take_in(self, result: Result) -> None:
        if result.epoch != self._epoch:
            return
        if isinstance(result.data, EndOfStream) and self._dataset_kind == _DatasetKind.Iterable:
            self._active[result.data.worker_id] = False
            if not self._persistent_workers:
                self._pool.connections[result.data.worker_id].close()  # makes it exit
            self._hand_out_task()
            return
        self._arrived[result.number] = result.data

    def _report_ended(self, workers: list[int]) -> None:
        for worker in workers:
            self._active[worker] = False
        processes = [self._workers[worker] for worker in workers]
        pids = ", ".join(str(process.pid) for process in processes)
        cause = RuntimeError(_why_it_ended(processes[0]))
        raise RuntimeError(f"DataLoader worker (pid(s) {pids}) exited unexpectedly") from cause


def start_workers(loader: DataLoader[Any]) -> _MultiProcessingDataLoaderIter:
    """An iterator with worker processes; if they cannot be started because of pickling, the error explains it."""
    try:
        return _MultiProcessingDataLoaderIter(loader)
    except (TypeError, AttributeError, PicklingError) as error:
        if "pickle" in str(error).lower():
            warn_user(
                "Got pickle error when attempting to start a worker Process. "
                "This might be because the worker Process arguments are not picklable. "
                "Python 3.14+ changed the multiprocessing start method in non-Mac POSIX platforms "
                "to 'forkserver', which requires the worker Process arguments to be picklable. "
                "You can also try multiprocessing.set_start_method('fork').",
            )
        raise
