"""torch.multiprocessing: the standard library's `multiprocessing`, with PyTorch's names.

Tensors are pickled for other processes; those in shared memory (`share_memory_()`) stay shared.
"""

from __future__ import annotations

import multiprocessing as _std
from importlib import import_module
from multiprocessing import *  # noqa: F403
from typing import Any

from penlight._common.docstrings import example
from penlight._refused import missing

from ._shared import init_reductions as init_reductions
from .spawn import (
    ProcessContext as ProcessContext,
    ProcessExitedException as ProcessExitedException,
    ProcessRaisedException as ProcessRaisedException,
    SpawnContext as SpawnContext,
    spawn as spawn,
    start_processes as start_processes,
)

__all__ = [*_std.__all__]
__all__ += ["get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes"]

_strategy = ["file_descriptor"]


@example("sorted(torch.multiprocessing.get_all_sharing_strategies())", "['file_descriptor', 'file_system']")
def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` accepts.

    Returns:
        a set of names.
    """
    return {"file_descriptor", "file_system"}


@example("torch.multiprocessing.get_sharing_strategy()", "'file_descriptor'")
def get_sharing_strategy() -> str:
    """The name of the current sharing strategy.

    Returns:
        the name.
    """
    return _strategy[0]


@example('torch.multiprocessing.set_sharing_strategy("file_descriptor")')
def set_sharing_strategy(new_strategy: str) -> None:
    """Accepted without effect: shared tensors are always sent by file descriptor.

    Args:
        new_strategy: one of `get_all_sharing_strategies`.

    Returns:
        None
    """
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of {get_all_sharing_strategies()}"
        )
    _strategy[0] = new_strategy


def __getattr__(name: str) -> Any:
    if hasattr(_std, name):
        return getattr(_std, name)
    if name == "reductions":  # a row of the table
        return import_module(f"{__name__}.{name}")
    raise missing(__name__, name)


init_reductions()
