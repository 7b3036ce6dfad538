"""Runs a function as several ranks: real processes, which find each other by MASTER_ADDR and MASTER_PORT.

Ranks are forked from a process that has imported the libraries and nothing else. The test's own process has threads,
and a process that is forked from one with threads may hang.
"""

from __future__ import annotations

import importlib
import importlib.util
import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import pytest

from penlight.distributed.run import reserved_port

needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or "forkserver" not in multiprocessing.get_all_start_methods(),
    reason="several ranks need the extra penlight[mpi]",
)

HANG = 300  # seconds


def _shared_memory() -> set[str]:
    return {str(path) for path in Path("/dev/shm").glob("mpich_shm*")}


@contextmanager
def nothing_left_behind() -> Iterator[None]:
    """Check that no shared memory of MPICH stays. Ranks of other tests have a file while they start: these vanish."""
    before = _shared_memory()
    yield
    left, end = _shared_memory() - before, time.monotonic() + HANG
    while left and time.monotonic() < end:
        time.sleep(0.02)
        left &= _shared_memory()
    assert not left


def _rank(library: str, rank: int, size: int, port: int, seconds: float, function: Any, args: Any, pipe: Any) -> None:
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch = importlib.import_module(library)
    torch.set_num_threads(1)
    dist = torch.distributed
    try:
        dist.init_process_group("gloo", timeout=timedelta(seconds=seconds))
        pipe.send((function(torch, rank, size, *args), None))
    except BaseException:
        pipe.send((None, traceback.format_exc()))
    pipe.close()
    if dist.is_initialized():
        dist.destroy_process_group()


def run(
    library: Any, size: int, function: Callable[..., Any], *args: Any, seconds: float = 60.0, missing: int = 0
) -> list[Any]:
    """What `function(library, rank, size, *args)` gives on each rank; None for ranks that end without.

    Args:
        library: Penlight or PyTorch.
        size: how many ranks.
        function: what each of them runs.
        seconds: the timeout of the group.
        missing: how many ranks die.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["penlight.distributed", "numpy.testing", "pytest", library.__name__])
    found: list[Any] = [None] * size
    errors, ranks, pipes = [], [], {}
    with reserved_port() as port:
        try:
            for rank in range(size):
                ours, theirs = context.Pipe(duplex=False)
                told = (library.__name__, rank, size, port, seconds, function, args, theirs)
                ranks.append(context.Process(target=_rank, args=told))
                ranks[-1].start()
                theirs.close()
                pipes[ours] = rank
            while pipes:  # a rank that dies closes its end
                ready = wait(list(pipes), HANG)
                assert ready, f"ranks hang: {sorted(pipes.values())}"
                for pipe in ready:
                    rank = pipes.pop(pipe)
                    try:
                        found[rank], error = pipe.recv()
                    except EOFError:
                        missing -= 1
                        continue
                    if error is not None:
                        errors.append(f"rank {rank}: {error}")
            assert not errors, "\n".join(errors)
            assert missing == 0, f"{-missing} more ranks than expected ended without a result"
            for process in ranks:
                process.join()
        finally:
            for process in ranks:
                if process.is_alive():
                    process.kill()
                    process.join()
    return found
