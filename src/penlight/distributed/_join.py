"""Uneven inputs: a rank that has none left still takes part in the collectives of the others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import TracebackType
from typing import Any

import penlight
from penlight._common.user_warnings import warn_user

from .._common.arguments import explain as _explain
from ._arguments import ReduceOp
from ._collectives import all_reduce
from ._group import ProcessGroup


class JoinHook:
    """Callbacks for a rank without inputs: `main_hook` in each iteration of the others, `post_hook` when all have ended.

    >>> from penlight.distributed.algorithms.join import JoinHook
    >>> JoinHook().main_hook()
    """

    def main_hook(self) -> None:
        """Take part in the collectives of one iteration."""

    def post_hook(self, is_last_joiner: bool) -> None:
        """Called when all ranks have ended; `is_last_joiner` says whether this rank was among the last."""


class Joinable(ABC):
    """Base class of objects whose iterations run collectives, such as DistributedDataParallel. A subclass implements
    `join_hook`, `join_device` and `join_process_group`.

    >>> from penlight.distributed.algorithms.join import Joinable
    >>> issubclass(torch.nn.parallel.DistributedDataParallel, Joinable)
    True
    """

    @classmethod
    def __subclasshook__(cls, other: type) -> Any:
        return True if cls is Joinable and hasattr(other, "join_hook") else NotImplemented

    @abstractmethod
    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook for a rank without inputs."""

    @property
    @abstractmethod
    def join_device(self) -> Any:
        """The device of its collectives."""

    @property
    @abstractmethod
    def join_process_group(self) -> ProcessGroup:
        """The group of its collectives."""


class Join:
    """A context in which ranks may have different numbers of inputs.

    Args:
        joinables: the `Joinable` objects, such as a DistributedDataParallel.
        enable: False if all ranks have equally many inputs: then nothing is done.
        throw_on_early_termination: whether to raise on all ranks when the first one has no inputs left.
        kwargs: passed to `join_hook` of each.

    >>> import penlight.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> from penlight.distributed.algorithms.join import Join
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
    >>> with Join([model]):
    ...     model(torch.ones(1, 2)).sum().backward()
    >>> dist.destroy_process_group()
    """

    def __init__(
        self, joinables: list[Any], enable: bool = True, throw_on_early_termination: bool = False, **kwargs: Any
    ) -> None:
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables, self._enabled, self._throw = joinables, enable, throw_on_early_termination
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._group: ProcessGroup = joinables[0].join_process_group
        for position, joinable in enumerate(joinables):
            joinable._join_context = self if position == 0 and enable else None

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self._enabled and kind is None:
                self._shadow()
        finally:
            for joinable in self._joinables:
                joinable._join_context = None

    def _shadow(self) -> None:
        last, iterations = True, 0
        while True:
            active = self._count(0)
            if active == 0:
                break
            if self._throw:
                raise RuntimeError(f"Rank {self._group._global_rank} exhausted all inputs.")
            iterations += 1
            if iterations == 1000:
                warn_user(
                    "Detected uneven input skew of greater than 1000. This means that rank "
                    f"{self._group._global_rank} has at least 1000 fewer inputs than other currently-active ranks.",
                )
            for hook in self._hooks:
                hook.main_hook()
            last = False
        for hook in self._hooks:
            hook.post_hook(last)

    def _count(self, mine: int) -> int:
        """The number of ranks that still have inputs; `mine` is 1 if this one has."""
        total = penlight.tensor([mine])
        all_reduce(total, ReduceOp.SUM, self._group)
        return int(total)

    @staticmethod
    def notify_join_context(joinable: Any) -> None:
        """Called by a joinable at the beginning of each iteration: this rank has inputs."""
        context: Join | None = getattr(joinable, "_join_context", None)
        if context is None:
            return
        active = context._count(1)
        if context._throw and active < context._group.size():
            raise RuntimeError("Detected at least one rank that exhausted inputs. Throwing across all ranks.")
        joinable._active_ranks = active


_explain(globals())
