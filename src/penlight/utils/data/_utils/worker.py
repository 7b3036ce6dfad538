"""The loop of a worker process: wait for a task, fetch its batch, send it back."""

from __future__ import annotations

import os
import queue
import random
import threading
from typing import Any, NamedTuple

import numpy as np
from numpy.random import SeedSequence

import penlight
from penlight._common.docstrings import example
from penlight._common.interrupts import allow_interrupts
from penlight.utils.data._utils.exceptions import ExceptionWrapper

STATUS_CHECK_INTERVAL = 5.0
"""Seconds between two looks whether the other side still lives, where nothing else would tell."""


class WorkerInfo(NamedTuple):
    """The id of a worker, the number of workers, its seed and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str | None = "multiprocessing"


_worker_info: WorkerInfo | None = None


@example("torch.utils.data.get_worker_info() is None", "True")
def get_worker_info() -> WorkerInfo | None:
    """The `WorkerInfo` of the current worker process; None in the main process."""
    return _worker_info


class WorkerSetup(NamedTuple):
    """The arguments with which a worker is started."""

    kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Any
    drop_last: bool
    base_seed: int
    init_fn: Any
    worker_id: int
    num_workers: int


class Task(NamedTuple):
    """To a worker: fetch the batch of these indices. An `index` of None starts a new epoch.

    `released` are the memory blocks over which the main process no longer has arrays, once for each array.
    """

    epoch: int
    number: int
    index: Any
    released: tuple[int, ...] = ()


class Result(NamedTuple):
    """From a worker: the batch of a task, or an ExceptionWrapper, or an `EndOfStream`."""

    epoch: int
    number: int
    data: Any


class EndOfStream(NamedTuple):
    """From a worker whose IterableDataset is exhausted."""

    worker_id: int


BEGIN_EPOCH = -1
"""The number of a Task that only announces a new epoch."""


def _seed_everything(base_seed: int, worker_id: int) -> int:
    """Seed Python, Penlight and NumPy for this worker as PyTorch does; returns the seed."""
    seed = base_seed + worker_id
    random.seed(seed)
    penlight.manual_seed(seed)
    np.random.seed(_generate_state(base_seed, worker_id))
    return seed


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four numbers that seed NumPy's generator. Python's is of the same kind, so mixing the seed keeps their streams different."""
    entropy = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return SeedSequence(entropy).generate_state(4).tolist()


class _Inbox:
    """Reads tasks in its own thread, so that the main process never waits when it sends one.

    It also detects, between or during tasks, that the main process has closed the connection or died.
    """

    def __init__(self, connection: Any, shared: Any) -> None:
        self._connection, self._shared = connection, shared
        self._tasks: queue.SimpleQueue[Task | None] = queue.SimpleQueue()
        self.epoch = 0
        self.closed = False
        threading.Thread(target=self._read, name="penlight-tasks", daemon=True).start()

    def _read(self) -> None:
        from penlight.utils.data._utils import channel

        parent = os.getppid()
        try:
            while True:
                while not self._connection.poll(STATUS_CHECK_INTERVAL):
                    if os.getppid() != parent:
                        return
                task = channel.receive(self._connection)
                if self._shared is not None:
                    self._shared.released(task.released)
                self.epoch = task.epoch
                self._tasks.put(task)
        except (EOFError, OSError):
            pass
        finally:
            self.closed = True
            self._tasks.put(None)

    def next(self) -> Task | None:
        """The next task of the current epoch; None if there are no more."""
        while (task := self._tasks.get()) is not None and not self.closed:
            if task.epoch == self.epoch:
                return task
        return None


class _Worker:
    """Fetches batches; an exception becomes the result."""

    def __init__(self, setup: WorkerSetup) -> None:
        self._setup, self.where = setup, f"in DataLoader worker process {setup.worker_id}"
        self._fetcher: Any = None
        self._broken: Any = None
        self.ended = False
        self._guarded(self._initialise)

    def _guarded(self, action: Any) -> None:
        try:
            action()
        except Exception:
            self._broken = ExceptionWrapper(where=self.where)

    def _initialise(self) -> None:
        if self._setup.init_fn is not None:
            self._setup.init_fn(self._setup.worker_id)
        self._make_fetcher()

    def _make_fetcher(self) -> None:
        from penlight.utils.data.dataloader import _DatasetKind

        s = self._setup
        self._fetcher = _DatasetKind.create_fetcher(s.kind, s.dataset, s.auto_collation, s.collate_fn, s.drop_last)

    def begin_epoch(self) -> None:
        """Start an epoch: a stream is iterated again from its start."""
        self.ended = False
        if self._fetcher is not None:
            self._broken = None
            self._guarded(self._make_fetcher)

    def run(self, index: Any) -> Any:
        """The batch for `index`, or the exception or end of stream."""
        from penlight.utils.data.dataloader import _DatasetKind

        if self._broken is not None:
            return self._broken
        try:
            return self._fetcher.fetch(index)
        except Exception as error:
            if isinstance(error, StopIteration) and self._setup.kind == _DatasetKind.Iterable:
                self.ended = True
                return EndOfStream(self._setup.worker_id)
            return ExceptionWrapper(where=self.where)


def _worker_loop(setup: WorkerSetup, connection: Any, inherited: list[Any]) -> None:
    """The main function of a worker process.

    `inherited` are connections of the main process that a fork has copied. They are closed here: while a copy is open, no worker would
    notice that the main process has closed its own.
    """
    from penlight.utils.data._utils import blocks, channel

    global _worker_info
    try:
        allow_interrupts(True)
        for copied in inherited:
            copied.close()
        penlight.set_num_threads(1)
        seed = _seed_everything(setup.base_seed, setup.worker_id)
        _worker_info = WorkerInfo(setup.worker_id, setup.num_workers, seed, setup.dataset)
        shared = blocks.worker_blocks = blocks.SharedBlocks() if blocks.HAVE_MEMORY_FILES else None
        worker = _Worker(setup)
        inbox = _Inbox(connection, shared)
        outbox = channel.Outbox(connection, shared)
        while (task := inbox.next()) is not None:
            if task.number == BEGIN_EPOCH:
                worker.begin_epoch()
                continue
            if not worker.ended:
                outbox.send(Result(task.epoch, task.number, worker.run(task.index)), worker.where)
    except (KeyboardInterrupt, BrokenPipeError, ConnectionResetError):
        pass  # The main process is interrupted too, and reports it; or it no longer needs the data.
    finally:
        allow_interrupts(False)
