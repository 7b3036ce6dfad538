"""Schedulers made of schedulers."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from penlight.optim.lr_scheduler._base import LRScheduler, _set, _values
from penlight.optim.lr_scheduler._plateau import ReduceLROnPlateau
from penlight.optim.optimizer import Optimizer


class _Combined(LRScheduler):
    """A scheduler that holds others, of one optimiser."""

    _members = ("_schedulers",)
    _schedulers: Sequence[LRScheduler]

    def _check(self, optimizer: Optimizer, schedulers: Sequence[Any]) -> None:
        name = type(self).__name__
        for index, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(f"{name} at index {index} should have `optimizer` as its attribute.")
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                    f"specified when calling `step`, but got one at index {index} in the given schedulers sequence."
                )
            if optimizer != scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                    f"{type(scheduler).__name__} at index {index} has {scheduler.optimizer}, which is different from "
                    f"{type(optimizer).__name__}."
                )


class SequentialLR(_Combined):
    """One scheduler after the other: the next takes over at each of the ``milestones``.

    >>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> warmup = torch.optim.lr_scheduler.ConstantLR(opt, factor=0.5, total_iters=2)
    >>> decay = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.5)
    >>> scheduler = torch.optim.lr_scheduler.SequentialLR(opt, [warmup, decay], milestones=[2])
    >>> for epoch in range(4):
    ...     opt.step()
    ...     print(scheduler.get_last_lr())
    ...     scheduler.step()
    [0.5]
    [0.5]
    [1.0]
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        if not schedulers:
            raise ValueError(f"{type(self).__name__} expects at least one scheduler, but got no scheduler.")
        self._check(optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Making the schedulers has taken a first step of each; undo them and take that of the first one only.
        for group in optimizer.param_groups:
            _set(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back the epoch that the making of each scheduler has counted."""
        waiting = [self if sched is None else sched]
        while waiting:
            scheduler = waiting.pop()
            inner = getattr(scheduler, "_schedulers", None)
            if inner is not None:
                waiting += inner
            elif hasattr(scheduler, "last_epoch"):
                scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Go to the next epoch."""
        self.last_epoch += 1
        passed = bisect_right(self._milestones, self.last_epoch)
        current = self._schedulers[passed]
        if passed and self._milestones[passed - 1] == self.last_epoch:
            current._update_lr(0)
        else:
            current.step()
        self._last_lr = current.get_last_lr()


class ChainedScheduler(_Combined):
    """Several schedulers that all change the same rate, one after the other, at every step.

    >>> opt = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    >>> first = torch.optim.lr_scheduler.ExponentialLR(opt, gamma=0.5)
    >>> second = torch.optim.lr_scheduler.StepLR(opt, step_size=1, gamma=0.5)
    >>> scheduler = torch.optim.lr_scheduler.ChainedScheduler([first, second])
    >>> opt.step(); scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            name = type(self).__name__
            raise ValueError(f"{name} expects at least one scheduler to be chained, but got no scheduler.")
        self._check(optimizer or schedulers[0].optimizer, schedulers)
        self._schedulers = schedulers
        self.optimizer = optimizer or schedulers[0].optimizer
        self._last_lr = _values(self.optimizer)

    def step(self) -> None:  # type: ignore[override]
        """Step every scheduler."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = _values(self.optimizer)
