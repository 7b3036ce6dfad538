"""Runs a function as several ranks: real processes, which find each other by MASTER_ADDR and MASTER_PORT."""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import socket
import time
import traceback
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

needs_mpi = pytest.mark.skipif(
    importlib.util.find_spec("mpi4py") is None or "fork" not in multiprocessing.get_all_start_methods(),
    reason="several ranks need the extra penlight[mpi]",
)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return found.getsockname()[1]


def _rank(
    library: Any, rank: int, size: int, port: int, seconds: float, function: Any, args: Any, results: Any
) -> None:
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    library.set_num_threads(1)
    dist = library.distributed
    try:
        dist.init_process_group("gloo", timeout=timedelta(seconds=seconds))
        results.put((rank, function(library, rank, size, *args), None))
    except BaseException:
        results.put((rank, None, traceback.format_exc()))
    results.close()
    results.join_thread()
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
    context = multiprocessing.get_context("fork")
    results, port = context.Queue(), free_port()
    ranks = [
        context.Process(target=_rank, args=(library, rank, size, port, seconds, function, args, results))
        for rank in range(size)
    ]
    for rank in ranks:
        rank.start()
    found: list[Any] = [None] * size
    errors = []
    try:
        end = time.monotonic() + 2 * seconds + 60
        left = size - missing
        while left and time.monotonic() < end:
            if not results.empty() or any(rank.is_alive() for rank in ranks):
                try:
                    rank, value, error = results.get(timeout=0.2)
                except Exception:
                    continue
                found[rank] = value
                left -= 1
                if error is not None:
                    errors.append(f"rank {rank}: {error}")
            else:
                break
        assert not errors, "\n".join(errors)
        assert left == 0, f"{left} ranks ended without a result"
        for process in ranks:
            process.join(30)
            assert process.exitcode is not None, "a rank did not end"
    finally:
        for process in ranks:
            if process.is_alive():
                process.kill()
                process.join()
    return found
